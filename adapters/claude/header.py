"""Which files are Claude Code sessions. They have no header: the first line that names a session stands for one.

- Lines beside the conversation may come first and name none (``summary``, ``file-history-snapshot``), so lines are
  looked at until one has a ``sessionId``, within ``HEADER_BYTES``. Bad lines are stepped over; the reader counts
  them.
- Version and folder are those of the first line that has them; neither refuses a file.
- In a subagent's own file ``sessionId`` is the parent's and ``agentId`` is the file's identity (formats §3.1).
- Refused by name: the prompt history, settings, journals of workflows, the stream of ``claude -p``, other hosts'
  transcripts, and a beginning that names no session.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NoReturn

import msgspec

from adapters.base import HEADER_BYTES, ID_CHARS, Header
from adapters.claude.envelope import record_of, without_mark
from adapters.decode import Fields, Raw, bool_of, text_of
from adapters.errors import (
    AdapterError,
    CompressedError,
    HeaderError,
    HeaderIncompleteError,
    HeaderTooLargeError,
    HostSettingsError,
    NoSessionError,
    PromptHistoryError,
    StreamOutputError,
    TranscriptSyntaxError,
    WorkflowJournalError,
    WrongHostError,
)

HOST: Final = "claude"
FORMAT: Final = "claude-code-jsonl/v1"

_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\x1f\x8b")
_ID = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{ID_CHARS - 1}}}")
_JOURNAL: Final = frozenset({"started", "result"})
_SETTINGS: Final = frozenset(
    {"permissions", "hooks", "mcpServers", "enabledPlugins", "numStartups", "oauthAccount"}
)
"""Keys of the host's own settings files, whole or as the first keys of a pretty-printed one."""
_SETTING_LINE = re.compile(rb'\s*"([A-Za-z]{1,40})"\s*:')


_Session = tuple[str, Fields, int]
"""The session that a line names, its record, and its length in bytes."""


def read_header(first_bytes: bytes) -> Header:
    """Return the header of the session that begins with ``first_bytes``.

    Raises: ``HeaderError`` or ``UnsupportedFormatError``.
    """
    if first_bytes.startswith(_COMPRESSED):
        raise CompressedError("the file is compressed", host=HOST, offset=0)
    session: _Session | None = None
    lines, whole_lines = _Beginning(), False
    for start, line in _lines(first_bytes):
        whole_lines = True
        record = lines.take(line, start)
        if record is not None and session is None:
            named = _identifier(record.get("sessionId"))
            if named is not None:
                session = (named, record, len(line))
        if session is not None and lines.version is not None:
            break
    if session is None:
        _refuse(first_bytes, lines, whole_lines=whole_lines)
    return _header(session, lines)


def _lines(first_bytes: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines within the bound: where each starts, and its bytes without the ``0x0A``."""
    start = 0
    while start < HEADER_BYTES and (end := first_bytes.find(b"\n", start, HEADER_BYTES + 1)) >= 0:
        yield start, first_bytes[start:end]
        start = end + 1


class _Beginning:
    """What the lines so far say about the file."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.cwd: str | None = None
        self.records = 0
        self._setting = False

    def take(self, line: bytes, offset: int) -> Fields | None:
        """Return the record on ``line``, ``None`` for a defect. Raises: ``AdapterError`` for a known stranger."""
        body = without_mark(line)
        try:
            record = record_of(body)
            if not self.records:
                _refuse_known_strangers(record, offset)
            self.records += 1
            self.version = self.version or _identifier(record.get("version"))
            self.cwd = self.cwd or text_of(record.get("cwd"))
        except TranscriptSyntaxError:
            self._refuse_printed_settings(body, offset)
            return None
        return record

    def _refuse_printed_settings(self, body: bytes, offset: int) -> None:
        """Raise the reason for a settings file that is printed over several lines."""
        key = _SETTING_LINE.match(body)
        if offset == 0:
            self._setting = body.strip() == b"{"
        elif self._setting and key is not None and key[1].decode() in _SETTINGS:
            raise HostSettingsError("the file holds settings of the host", host=HOST, offset=offset)


def _refuse_known_strangers(record: Fields, offset: int) -> None:
    """Raise the reason for a first record of a form that is known and is not read here."""
    for is_one, error, rule in _STRANGERS:
        if is_one(record):
            raise error(rule, host=HOST, offset=offset)


def _is_type(record: Fields, *names: str) -> bool:
    return text_of(record.get("type")) in names


_STRANGERS: Final[tuple[tuple[Callable[[Fields], bool], type[AdapterError], str], ...]] = (
    (
        lambda record: "display" in record and "type" not in record,
        PromptHistoryError,
        "the file is the history of prompts",
    ),
    (
        lambda record: "type" not in record and not _SETTINGS.isdisjoint(record),
        HostSettingsError,
        "the file holds settings of the host",
    ),
    (
        lambda record: _is_type(record, *_JOURNAL) and "sessionId" not in record and "agentId" in record,
        WorkflowJournalError,
        "the file is the journal of a workflow",
    ),
    (
        lambda record: "session_id" in record and "sessionId" not in record and "type" in record,
        StreamOutputError,
        "the file is the streamed output of a run",
    ),
    (
        lambda record: "protocol_version" in record,
        WrongHostError,
        "the first line is of a king transcript",
    ),
    (
        lambda record: _is_type(record, "session_meta") or {"payload", "timestamp"} <= record.keys(),
        WrongHostError,
        "the first line is of a codex transcript",
    ),
)
"""Forms that are known by their first record, with the reason to refuse each."""


def _refuse(first_bytes: bytes, lines: _Beginning, *, whole_lines: bool) -> NoReturn:
    """Raise the reason for a beginning that names no session."""
    if len(first_bytes) > HEADER_BYTES:
        if not whole_lines:
            raise HeaderTooLargeError(f"the first line is over {HEADER_BYTES} bytes", host=HOST, offset=0)
        raise NoSessionError(f"no line of the first {HEADER_BYTES} bytes names a session", host=HOST)
    if not whole_lines:
        raise HeaderIncompleteError("the first line is not finished", host=HOST, offset=0)
    if not lines.records:
        raise HeaderError("no line is a record", host=HOST, offset=0)
    raise NoSessionError("no line names a session", host=HOST)


def _header(session: _Session, lines: _Beginning) -> Header:
    named, record, length = session
    agent = _identifier(record.get("agentId")) if bool_of(record.get("isSidechain")) else None
    origin = record.get("forkedFrom")
    return Header(
        host=HOST,
        format=FORMAT,
        session_id=named if agent is None else agent,
        app_version=lines.version,
        cwd=lines.cwd,
        history_mode="lines",
        length=length,
        is_subagent=agent is not None,
        parent_id=None if agent is None else named,
        forked_from=None if origin is None else _forked_from(origin),
        history_base=None,
        own_from_ordinal=None,
    )


_FORK = msgspec.json.Decoder(dict[str, Raw])


def _forked_from(raw: Raw) -> str | None:
    """Return the session that a copied first line names as its origin."""
    try:
        fields: Mapping[str, Raw] = _FORK.decode(raw)
        return _identifier(fields.get("sessionId"))
    except (msgspec.DecodeError, TranscriptSyntaxError):
        return None


def _identifier(raw: Raw | None) -> str | None:
    text = text_of(raw)
    return text if text is not None and _ID.fullmatch(text) else None
