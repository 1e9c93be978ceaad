"""The text of a statement, from a line that the reader has found to be one; the only place where it is decoded.

The message's ``content`` is one text, or parts of which those of type ``text`` are text; media are none.
"""

from adapters.decode import fields_of, text_of
from adapters.king.envelope import record_of
from adapters.parts import joined, texts_in


def text_at(raw: bytes) -> str:
    """Return what was typed at the line ``raw``. Raises: ``TranscriptSyntaxError``."""
    content = fields_of(record_of(raw)["message"]).get("content")
    whole = text_of(content)
    return joined(texts_in(content, {"text"})) if whole is None else whole
