"""``Event``: the bounded, redacted fact that is kept, with the place and digest of the lines it came from.

An event holds numbers, closed words and short identifiers, and no text of a transcript (T2): what does not fit the
types cannot be stored. Of what a person typed it holds only that there is a statement, and where. Raw text has another
type in another package; nothing here can hold it.

The JSON form is in ``docs/spec/sidecar.md``.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, get_args

import msgspec

from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError
from sidecars.wire import Count, DigestText, Identifier, TimeMs, format_struct, parse_struct

EVENT_BYTES_MAX: Final = 2048
"""Longest event line that is read; six line references and all fields at their longest need less."""

LINES_MAX: Final = 6
"""Lines of one event: the call, its output, a poll and what it saw, and where a host splits them, finished items."""

EVENT_ID_PREFIX: Final = "timeline-event:"
IDENTITY_SCHEMA: Final = "timeline-event-id/v1"

_ID_HEX_DIGITS: Final = 32
"""128 bits: ids are unique within what one owner keeps, and are no proof; the digests are."""


class Outcome(StrEnum):
    """What is known about how a run ended. Absence of a statement is ``UNKNOWN``, never success."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    TIMEOUT = "timeout"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


ObjectiveKind = Literal["test-run", "measurement", "check"]
StatementKind = Literal["user-message", "correction"]
"""What a person typed: a reference to the line, and nothing of what it says (T35)."""

EventKind = ObjectiveKind | StatementKind
LineRole = Literal["call", "output", "item", "prompt"]
ToolClass = Literal["shell"]
Binding = Literal["direct", "script"]
Flag = Literal["conflict", "inconsistent", "masked", "partial", "truncated"]

EventId = Annotated[str, msgspec.Meta(pattern=r"^timeline-event:[0-9a-f]{32}\Z")]
Fingerprint = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{21}[AQgw]\Z")]
"""16 bytes in the one spelling of unpadded base64url."""

ExitCode = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**32 - 1)]
"""POSIX, signalled (negative) and Windows (unsigned 32 bit) exit codes."""


class EventLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One exact line of the transcript: role, offset and length in bytes without the newline, and its SHA-256.

    ``part`` is the number, from 0, of the content block of the line that tells of this event.
    """

    role: LineRole
    offset: Count
    length: Count
    sha256: DigestText
    part: Count = 0

    @property
    def end(self) -> int:
        """Offset of the newline after the line."""
        return self.offset + self.length


class Run(NamedTuple):
    """What every objective result has: what ran, how it was reached, how it ended, the command's fingerprint."""

    tool: ToolClass
    runner: Identifier
    binding: Binding
    outcome: Outcome
    fingerprint: Fingerprint


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One objective result, or one statement of a person, reduced to what may be kept.

    ``at`` is UTC milliseconds or ``None``; ``lines`` are 1 to 6 in file order. An objective result has all fields of
    ``run``; a number that the runner did not print is ``None``; ``fingerprint`` is the keyed fingerprint of the
    normalised command. A statement has ``at`` and the one line with the role ``prompt``, and no other field.
    """

    id: EventId
    kind: EventKind
    lines: Annotated[tuple[EventLine, ...], msgspec.Meta(min_length=1, max_length=LINES_MAX)]
    tool: ToolClass | None = None
    runner: Identifier | None = None
    binding: Binding | None = None
    outcome: Outcome | None = None
    fingerprint: Fingerprint | None = None
    at: TimeMs | None = None
    label: Identifier | None = None
    passed: Count | None = None
    failed: Count | None = None
    errors: Count | None = None
    skipped: Count | None = None
    warnings: Count | None = None
    total: Count | None = None
    packages_ok: Count | None = None
    packages_failed: Count | None = None
    exit_code: ExitCode | None = None
    duration_ms: Count | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def sort_key(self) -> tuple[int, str]:
        """The order of events in a sidecar: place of the first line, then id."""
        return (self.lines[0].offset, self.id)

    @property
    def is_statement(self) -> bool:
        """Whether a person typed it; every other event is an objective result."""
        return self.kind in STATEMENT_KINDS

    @property
    def run(self) -> Run | None:
        """What ran and how it ended, of an objective result; ``None`` for a statement."""
        if (
            self.tool is None
            or self.runner is None
            or self.binding is None
            or self.outcome is None
            or self.fingerprint is None
        ):
            return None
        return Run(self.tool, self.runner, self.binding, self.outcome, self.fingerprint)


USER_MESSAGE: Final = "user-message"
CORRECTION: Final = "correction"
STATEMENT_KINDS: Final = frozenset(get_args(StatementKind))
_STATEMENT_FIELDS: Final = frozenset({"id", "kind", "lines", "at"})
_DECODER: Final = msgspec.json.Decoder(Event)


def parse_event(encoded: bytes) -> Event:
    """Read one event line (without its newline).

    Raises:
        MalformedError: too long, not an event, or against a rule; ``NonCanonicalError`` for another spelling.
    """
    if len(encoded) > EVENT_BYTES_MAX:
        raise MalformedError(f"an event must be at most {EVENT_BYTES_MAX} bytes")
    event = parse_struct(encoded, _DECODER, "event")
    _check_event(event)
    return event


def format_event(event: Event) -> bytes:
    """The one spelling of an event, without a newline.

    Raises:
        MalformedError: the event is against a rule.
    """
    encoded = format_struct(event, _DECODER, "event")
    _check_event(event)
    return encoded


def event_id(source: str, lines: Sequence[EventLine]) -> str:
    """The id of the event of ``source`` that these lines tell: position and content, never a host's call id."""
    # Keys in order, integers and ASCII: these are the bytes of RFC 8785 (a test compares them with ``rfc8785``),
    # at a fraction of its cost. Every event of every sidecar passes here.
    identity = msgspec.json.encode(
        {
            "lines": [[line.offset, line.length, line.sha256, line.part] for line in lines],
            "schema": IDENTITY_SCHEMA,
            "source": source,
        }
    )
    return EVENT_ID_PREFIX + hashlib.sha256(identity).hexdigest()[:_ID_HEX_DIGITS]


def _check_event(event: Event) -> None:
    """The rules between fields that types cannot state."""
    border = -1
    for line in event.lines:
        if line.offset <= border:
            raise MalformedError("an event's lines must be in file order and must not overlap")
        border = line.end
    if border > INTEGER_MAX:
        raise MalformedError("an event's lines must end within 2^53 - 1")
    if list(event.flags) != sorted(set(event.flags)):
        raise MalformedError("an event's flags must be sorted and unique")
    if event.is_statement:
        _check_statement(event)
    elif event.run is None or any(line.role == "prompt" for line in event.lines):
        raise MalformedError(
            "an objective result must have all fields of a run and no line with the role prompt"
        )


def _check_statement(event: Event) -> None:
    if len(event.lines) != 1 or event.lines[0].role != "prompt" or event.lines[0].part:
        raise MalformedError("a statement must have one line, with the role prompt and part 0")
    stated = {name for name in event.__struct_fields__ if getattr(event, name) not in {None, ()}}
    if not stated <= _STATEMENT_FIELDS:
        raise MalformedError("a statement must have no field but id, kind, lines and at")
