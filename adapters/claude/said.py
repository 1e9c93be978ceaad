"""The text of a statement, from a line that the reader has found to be one; the only place where it is decoded.

A message is one text, or blocks of which those of type ``text`` are text. The host adds blocks of its own to those of
a person (what the editor shows, reminders): they begin with the host's tags and are left out.
"""

from adapters.claude.envelope import object_of, record_of
from adapters.claude.people import said_of, texts_of
from adapters.decode import text_of
from adapters.parts import blocks_of, joined


def text_at(raw: bytes) -> str:
    """Return what was said at the line ``raw``. Raises: ``TranscriptSyntaxError``."""
    message = object_of(record_of(raw).get("message")) or {}
    content = message["content"]
    escaped = said_of(texts_of(content, blocks_of(content)))
    return joined([text_of(b'"' + text + b'"') or "" for text in escaped])
