"""The text of a prompt, from a line that the reader has found to be one; the only place where it is decoded.

- Legacy: ``message``, which the host keeps as one text, with its own placeholders for pictures.
- Paginated: the ``text`` parts of the item's contents. Pictures, skills and mentions are no text.
- Oldest form: the ``input_text`` parts of the message.
"""

from typing import Final

from adapters.codex.bare import bare_envelope_of
from adapters.codex.envelope import envelope_of, payload_type
from adapters.decode import fields_of, text_of
from adapters.parts import joined, texts_in

_ITEM: Final = b"item_completed"


def text_at(raw: bytes) -> str:
    """Return what was typed at the line ``raw`` of an event. Raises: ``TranscriptSyntaxError``."""
    record = envelope_of(raw)
    fields = fields_of(record.payload)
    if payload_type(record) != _ITEM:
        return text_of(fields.get("message")) or ""
    return joined(texts_in(fields_of(fields["item"]).get("content"), {"text"}))


def bare_text_at(raw: bytes) -> str:
    """Return what was typed at the line ``raw`` of the oldest form. Raises: ``TranscriptSyntaxError``."""
    return joined(texts_in(fields_of(bare_envelope_of(raw).payload).get("content"), {"input_text"}))
