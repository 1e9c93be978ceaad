"""Which files are Codex rollouts that can be read, decided on the first line alone.

- The first line is a ``session_meta`` record with an ``id``; its ``history_mode`` is absent, ``legacy`` or
  ``paginated``. Later ``session_meta`` lines do not change what the first one said.
- Or it is bare metadata: the oldest form, in which no line has an envelope (``adapters.codex.bare``).
- Refused by name: compressed files, other hosts' transcripts, other files.
- A byte order mark is stepped over here; the reader still counts that line as a defect.
- ``session_id`` of a subagent is its parent's; the file's own identity is ``id``.
"""

import codecs
import re
from typing import Final

from adapters.base import HEADER_BYTES, ID_CHARS, Header, HistoryBase
from adapters.codex.bare import BARE, is_metadata
from adapters.codex.envelope import RECORD_START, envelope_of
from adapters.decode import Fields, Raw, defect_of, fields_of, int_of, is_utf8, text_of
from adapters.errors import (
    CompressedError,
    HeaderError,
    HeaderIncompleteError,
    HeaderTooLargeError,
    TranscriptSyntaxError,
    UnknownHistoryModeError,
    WrongHostError,
)

HOST: Final = "codex"
FORMAT: Final = "codex-rollout-jsonl/v1"
LEGACY: Final = "legacy"
PAGINATED: Final = "paginated"

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{ID_CHARS - 1}}}")
_OTHER_HOSTS: Final = {
    "protocol_version": "king",
    "sessionId": "claude",
    "parentUuid": "claude",
    "leafUuid": "claude",
}
"""Keys on the first line that only another host writes."""


def read_header(first_bytes: bytes) -> Header:
    """Return the header of the rollout that begins with ``first_bytes``.

    Raises: ``HeaderError`` or ``UnsupportedFormatError``.
    """
    if first_bytes.startswith(_ZSTD):
        raise CompressedError("the file is zstd-compressed", host=HOST, offset=0)
    end = first_bytes.find(b"\n", 0, HEADER_BYTES + 1)
    if end < 0:
        if len(first_bytes) > HEADER_BYTES:
            raise HeaderTooLargeError(f"the first line is over {HEADER_BYTES} bytes", host=HOST, offset=0)
        raise HeaderIncompleteError("the first line is not finished", host=HOST, offset=0)
    line = first_bytes[:end].removeprefix(codecs.BOM_UTF8)
    bare = _bare_metadata(line)
    if bare is not None:
        return _header(bare, end, BARE)
    payload = _session_meta(line)
    return _header(payload, end, _history_mode(payload))


def session_id_of(payload: Fields) -> str | None:
    """Return the id that a ``session_meta`` payload names, ``None`` where it names none that can be kept."""
    return _identifier(payload.get("id"))


def _session_meta(line: bytes) -> Fields:
    """Return the payload of the first line, or refuse the file with the best reason that the line gives."""
    body = line.removesuffix(b"\r")
    try:
        record = envelope_of(line)
        if record.type == "session_meta":
            return fields_of(record.payload)
    except TranscriptSyntaxError as error:
        _refuse_known_strangers(body)
        kind = defect_of(body, RECORD_START) or error.kind
        raise HeaderError(f"the first line is not a record ({kind.value})", host=HOST, offset=0) from error
    _refuse_known_strangers(body)
    raise HeaderError("the first record is no session_meta", host=HOST, offset=0)


def _refuse_known_strangers(body: bytes) -> None:
    """Raise the reason for a first line of a form that is known and is not read here."""
    try:
        fields = fields_of(body)
    except TranscriptSyntaxError:
        return
    for key, host in _OTHER_HOSTS.items():
        if key in fields:
            raise WrongHostError(f"the first line is of a {host} transcript", host=HOST, offset=0)


def _bare_metadata(line: bytes) -> Fields | None:
    """Return the first line's own fields where it is metadata without an envelope: the oldest form."""
    try:
        fields = fields_of(line.removesuffix(b"\r")) if is_utf8(line) else {}
    except TranscriptSyntaxError:
        return None
    return fields if is_metadata(fields) and not _OTHER_HOSTS.keys() & fields.keys() else None


def _header(payload: Fields, length: int, mode: str) -> Header:
    try:
        session_id = session_id_of(payload)
        if session_id is None:
            raise HeaderError("session_meta has no usable id", host=HOST, offset=0)
        source = payload.get("source")
        subagent = text_of(payload.get("thread_source")) == "subagent" or _names_subagent(source)
        base = _history_base(payload.get("history_base"))
        starts = (int_of(payload.get(name)) for name in _OWN_FROM)
        return Header(
            host=HOST,
            format=FORMAT,
            session_id=session_id,
            app_version=_identifier(payload.get("cli_version")),
            cwd=text_of(payload.get("cwd")),
            history_mode=mode,
            length=length,
            is_subagent=subagent,
            parent_id=_identifier(payload.get("parent_thread_id"))
            or (_identifier(payload.get("session_id")) if subagent else None),
            forked_from=_identifier(payload.get("forked_from_id")),
            history_base=base,
            own_from_ordinal=next((start for start in starts if start is not None), None),
        )
    except TranscriptSyntaxError as error:
        raise HeaderError(f"session_meta breaks a rule ({error.kind.value})", host=HOST, offset=0) from error


_OWN_FROM: Final = ("subagent_history_start_ordinal", "forked_from_ordinal_exclusive")
"""Fields that state the first ordinal which is not copied, the more specific first."""


def _history_mode(payload: Fields) -> str:
    raw = payload.get("history_mode")
    if raw is None or bytes(raw) == b"null":
        return LEGACY
    mode = text_of(raw)
    if mode not in {LEGACY, PAGINATED}:
        raise UnknownHistoryModeError("history_mode is none that was reviewed", host=HOST, offset=0)
    return mode


def _history_base(raw: Raw | None) -> HistoryBase | None:
    if raw is None or bytes(raw) == b"null":
        return None
    fields = fields_of(raw)
    thread_id = _identifier(fields.get("thread_id"))
    if thread_id is None:
        raise HeaderError("history_base names no thread", host=HOST, offset=0)
    return HistoryBase(
        thread_id, int_of(fields.get("end_ordinal_exclusive")), int_of(fields.get("end_byte_offset"))
    )


def _names_subagent(source: Raw | None) -> bool:
    """Say whether ``source`` is the object form ``{"subagent": …}``, guardian reviewers included."""
    return source is not None and bytes(source)[:1] == b"{" and "subagent" in fields_of(source)


def _identifier(raw: Raw | None) -> str | None:
    text = text_of(raw)
    return text if text is not None and _ID.fullmatch(text) else None
