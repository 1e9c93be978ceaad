"""The oldest form of a rollout (2025): response items without an envelope, after one line of bare metadata.

No line has a time, nothing numbers them and nothing frames a turn. So events of such a file have no time, and a
human prompt is a user's message that the host did not put in front of the conversation itself (formats §1.4, §7.8).
What a line says is handled by the same code as in later generations, by way of an envelope made up here.
"""

import re
from typing import Final

from adapters.codex.envelope import ABSENT, Envelope
from adapters.decode import Fields, Raw, defect_of, fields_of, is_utf8, refuse, text_of
from adapters.errors import DefectKind, TranscriptSyntaxError

BARE: Final = "bare"
"""The history mode by which the reader knows this form; no file states it."""

METADATA: Final = "bare-metadata"
STATE: Final = "record_type=state"
ITEM: Final = "response_item"

_START: Final = b'{"type":'
_INJECTED = re.compile(r"<(?:user_instructions|environment_context|ENVIRONMENT_CONTEXT|turn_aborted)>")
"""How texts begin that the host puts in front of a conversation under role ``user``."""


def is_metadata(fields: Fields) -> bool:
    """Say whether an object is the first line of this form."""
    return {"id", "timestamp"} <= fields.keys() and not {"type", "payload", "record_type"} & fields.keys()


def bare_envelope_of(raw: bytes) -> Envelope:
    """Return the line ``raw`` as if it had an envelope; its payload is the whole line.

    Raises: ``TranscriptSyntaxError`` with the kind of the rule broken.
    """
    body = raw[:-1] if raw.endswith(b"\r") else raw
    if not is_utf8(body):
        refuse(defect_of(body, _START) or DefectKind.UTF8)
    try:
        fields = fields_of(body)
    except TranscriptSyntaxError as error:
        refuse(defect_of(body, _START) or error.kind)
    if "type" in fields:
        kind = ITEM
    elif text_of(fields.get("record_type")) == "state":
        kind = STATE
    elif is_metadata(fields):
        kind = METADATA
    else:
        refuse(DefectKind.NO_TYPE, "a record has a type")
    return Envelope(type=kind, payload=Raw(body), timestamp=ABSENT, ordinal=ABSENT, metadata=ABSENT)


def is_human(message: Fields) -> bool:
    """Say whether a ``message`` is what a person typed. Raises: ``TranscriptSyntaxError``."""
    if text_of(message.get("role")) != "user":
        return False
    content = bytes(message.get("content", b""))
    if content[:1] != b"[":
        refuse(DefectKind.SHAPE, "a prompt has contents")
    text = _FIRST_TEXT.match(content)
    return text is None or _INJECTED.match(text[1].decode("utf-8", "replace")) is None


_FIRST_TEXT = re.compile(rb'\[\{"type":"input_text","text":"([^"\\]{0,64})')
