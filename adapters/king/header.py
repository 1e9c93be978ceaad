"""Which files are wires that can be read, decided on the first line alone.

- The first line is a ``metadata`` record of exactly the reviewed shape: ``protocol_version``, ``created_at``, and at
  most ``time``, ``app_version`` and ``resumed``. A further key, ``schema_version`` above all, is another shape.
- The protocol is one that was reviewed, or one that the caller maps to a reviewed one (``accepted``).
- Refused by name: the Python kimi-cli, whose protocol numbers overlap, and other hosts' transcripts.
- A wire names neither its session nor its agent: both stand in its path. So a header is known by the digest of its
  line, and who knows the path says the rest (``of_agent``).
- ``forked`` says that everything before it was copied. It is looked for in the bytes that are given; a caller who
  wants it found in a larger file shows the whole file once (``with_forks``).
"""

import codecs
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

import msgspec

from adapters.base import HEADER_BYTES, ID_CHARS, Header
from adapters.decode import Fields, fields_of, int_of, text_of
from adapters.errors import (
    HeaderError,
    HeaderIncompleteError,
    HeaderTooLargeError,
    KimiCliError,
    TranscriptSyntaxError,
    UnknownProtocolError,
    WrongHostError,
)
from adapters.king.envelope import record_of, wire_defect_of
from adapters.lines import Block, Line, Overlong

FORMAT: Final = "king-agent-wire-jsonl/v1"
MAIN: Final = "main"
"""The agent that the person talks to; every other is a subagent."""

REVIEWED_PROTOCOLS: Final = frozenset({"1.1", "1.3", "1.4", "1.5"})
"""Protocols of which files were read and compared with their ground truth. 1.2 was announced and never seen."""

NO_MAPPING: Final[Mapping[str, str]] = MappingProxyType({})

_MAX_TIME_MS: Final = 2**53
"""Largest time in a header, in milliseconds: what the host's own numbers hold exactly."""

_REQUIRED: Final = frozenset({"type", "protocol_version", "created_at"})
_OPTIONAL: Final = frozenset({"time", "app_version", "resumed"})
_PROTOCOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{ID_CHARS - 1}}}")
_FORK: Final = b'\n{"type":"forked"'
_OTHER_HOSTS: Final = {
    frozenset({"parentUuid"}): "claude",
    frozenset({"leafUuid"}): "claude",
    frozenset({"type", "sessionId"}): "claude",
    frozenset({"timestamp", "payload"}): "codex",
    frozenset({"id", "instructions"}): "codex",
}
"""Keys on the first line that, taken together, only another host writes."""
_KIMI_CLI_ROLES: Final = frozenset({"_checkpoint", "_system_prompt", "_usage"})


def accept(mapping: Mapping[str, str]) -> Mapping[str, str]:
    """Return the protocols that are read, each with the reviewed one that it is read as.

    ``mapping`` comes from the owner's configuration or the launcher's variables: declared protocol to reviewed one.
    Raises: ``UnknownProtocolError`` where it maps to a protocol that was not reviewed, or from no protocol.
    """
    for declared, meant in mapping.items():
        if not _PROTOCOL.fullmatch(declared) or meant not in REVIEWED_PROTOCOLS:
            raise UnknownProtocolError("a protocol can only be read as a reviewed one")
    return MappingProxyType({**mapping, **{protocol: protocol for protocol in REVIEWED_PROTOCOLS}})


def read_header(first_bytes: bytes, host: str, accepted: Mapping[str, str]) -> Header:
    """Return the header of the wire that begins with ``first_bytes``.

    Raises: ``HeaderError`` or ``UnsupportedFormatError``.
    """
    end = first_bytes.find(b"\n", 0, HEADER_BYTES + 1)
    if end < 0:
        if len(first_bytes) > HEADER_BYTES:
            raise HeaderTooLargeError(f"the first line is over {HEADER_BYTES} bytes", host=host, offset=0)
        raise HeaderIncompleteError("the first line is not finished", host=host, offset=0)
    line = first_bytes[:end].removeprefix(codecs.BOM_UTF8)
    fields = _first_record(line, host)
    _check_shape(fields, host)
    protocol = protocol_of(fields)
    if protocol not in accepted:
        raise UnknownProtocolError(
            "protocol_version is none that was reviewed or mapped", host=host, offset=0
        )
    digest = sha256(line.removesuffix(b"\r")).hexdigest()
    header = Header(
        host=host,
        format=FORMAT,
        session_id=f"wire-{digest[:32]}",
        app_version=_name(fields, "app_version"),
        cwd=None,
        history_mode=protocol,
        length=end,
        is_subagent=False,
        parent_id=None,
        forked_from=None,
        history_base=None,
        own_from_ordinal=None,
    )
    return _after_fork(header, Block(0, first_bytes[:HEADER_BYTES]))


def protocol_of(fields: Fields) -> str:
    """Return the protocol that a ``metadata`` record names, empty where it names none of that shape.

    Raises: ``TranscriptSyntaxError`` for a lone surrogate.
    """
    protocol = text_of(fields.get("protocol_version"))
    return protocol if protocol is not None and _PROTOCOL.fullmatch(protocol) else ""


def of_agent(header: Header, session: str, agent: str = MAIN) -> Header:
    """Return ``header`` as that of ``agent`` in ``session``, both known from the path.

    ``…/<session or session_<session>>/agents/<agent>/wire.jsonl``. Call ids repeat between agents, so each file
    has an identity of its own. Raises: ``HeaderError`` for names that cannot be kept.
    """
    if not _NAME.fullmatch(session) or not _NAME.fullmatch(agent):
        raise HeaderError("the path names no session and agent", host=header.host)
    if agent == MAIN:
        return msgspec.structs.replace(header, session_id=session)
    return msgspec.structs.replace(
        header, session_id=f"{session}:{agent}", is_subagent=True, parent_id=session
    )


def with_forks(header: Header, pieces: Iterable[Block | Line | Overlong]) -> Header:
    """Return ``header`` with the last ``forked`` record of the whole file, shown in ``pieces`` from its beginning."""
    for piece in pieces:
        if isinstance(piece, Line):
            header = _after_fork(header, Block(piece.offset, piece.raw + b"\n"))
        elif isinstance(piece, Block):
            header = _after_fork(header, piece)
    return header


def _after_fork(header: Header, block: Block) -> Header:
    """Return ``header`` with the last whole ``forked`` record of ``block``, if it has one."""
    raw = b"\n" + block.raw
    start = raw.rfind(_FORK)
    while start >= 0:
        end = raw.find(b"\n", start + 1)
        if end > 0 and _is_fork(raw[start + 1 : end]):
            return msgspec.structs.replace(header, own_from_offset=block.offset + end)
        start = raw.rfind(_FORK, 0, start)
    return header


def _is_fork(line: bytes) -> bool:
    try:
        return text_of(record_of(line).get("type")) == "forked"
    except TranscriptSyntaxError:
        return False


def _first_record(line: bytes, host: str) -> Fields:
    """Return the ``metadata`` of the first line, or refuse the file with the best reason that the line gives."""
    body = line.removesuffix(b"\r")
    try:
        _refuse_known_strangers(body, host)
        fields = record_of(line)
        if text_of(fields.get("type")) == "metadata":
            return fields
    except TranscriptSyntaxError as error:
        kind = wire_defect_of(body) or error.kind
        raise HeaderError(f"the first line is not a record ({kind.value})", host=host, offset=0) from error
    raise HeaderError("the first record is no metadata, so its protocol is unknown", host=host, offset=0)


def _refuse_known_strangers(body: bytes, host: str) -> None:
    """Raise the reason for a first line of a form that is known and is not read here."""
    try:
        fields = fields_of(body)
    except TranscriptSyntaxError:
        return
    other = next((name for keys, name in _OTHER_HOSTS.items() if keys <= fields.keys()), None)
    if other is not None:
        raise WrongHostError(f"the first line is of a {other} transcript", host=host, offset=0)
    kind, role = text_of(fields.get("type")), text_of(fields.get("role"))
    is_wire = (kind == "metadata" and fields.keys() == {"type", "protocol_version"}) or kind == "hello"
    is_message = kind is None and "timestamp" in fields and "message" in fields
    if is_wire or is_message or role in _KIMI_CLI_ROLES:
        raise KimiCliError("the first line is of the Python kimi-cli", host=host, offset=0)


def _check_shape(fields: Fields, host: str) -> None:
    """Refuse a ``metadata`` record of another shape than the reviewed one."""
    if not fields.keys() >= _REQUIRED:
        raise HeaderError("metadata lacks a required field", host=host, offset=0)
    if not fields.keys() <= _REQUIRED | _OPTIONAL:
        raise HeaderError("metadata has a field that was never reviewed", host=host, offset=0)
    try:
        times = [int_of(fields[name]) for name in ("created_at", "time") if name in fields]
        if any(at_ms is None or not 0 < at_ms < _MAX_TIME_MS for at_ms in times) or not protocol_of(fields):
            raise HeaderError("metadata has a field of another kind", host=host, offset=0)
    except TranscriptSyntaxError as error:
        raise HeaderError(f"metadata breaks a rule ({error.kind.value})", host=host, offset=0) from error


def _name(fields: Fields, key: str) -> str | None:
    try:
        text = text_of(fields.get(key))
    except TranscriptSyntaxError:
        return None
    return text if text is not None and _NAME.fullmatch(text) else None
