"""Where a raw ``ToolResult`` or a statement becomes a redacted ``Event``, and where a stored event is derived again.

This is the only place where the types meet (ADR 0003). What leaves here is numbers, closed words and digests;
the command becomes a keyed fingerprint, so that two runs of one suite are recognised without keeping its words.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from adapters.base import HEADER_BYTES, Adapter, Header
from adapters.errors import HeaderError
from adapters.lines import Block, CitedLine, Line, LineSplitter, Overlong
from adapters.objective import Objective, decide_objective
from adapters.record import ToolResult
from sidecars.digest import Digest
from sidecars.encoding import to_base64url
from sidecars.event import Event, EventLine, Outcome, event_id
from timeline.limits import KIB, READ_BYTES
from timeline.source import OpenSource
from timeline.statements import StatementLine, refer_to

_FINGERPRINT_BYTES = 16
_HEADER_GUESS_BYTES = 64 * KIB
"""Headers of current hosts have 22 to 27 KB (formats §1.10)."""
_PERSON = b"timeline-command"
"""Domain of the fingerprint: the same key can never be used to mean another thing."""


def event_of(result: ToolResult, *, source_ref: str, fingerprint_key: bytes) -> Event | None:
    """The event that a tool result is, or ``None`` where it proves nothing objective (T29, T73).

    Raises:
        SidecarError: the result has a value that cannot be stored.
    """
    objective = decide_objective(result)
    if objective is None:
        return None
    lines = tuple(
        EventLine(line.role.value, line.offset, line.length, str(Digest(line.sha256)), line.part)
        for line in result.lines
    )
    return Event(
        id=event_id(source_ref, lines),
        kind=objective.kind.value,
        lines=lines,
        tool="shell",
        runner=objective.runner,
        binding=objective.binding.value,
        outcome=Outcome(objective.outcome.value),
        fingerprint=fingerprint_of(objective, fingerprint_key),
        at=_reliable(result.at_ms),
        label=objective.label,
        passed=objective.passed,
        failed=objective.failed,
        errors=objective.errors,
        skipped=objective.skipped,
        warnings=objective.warnings,
        total=objective.total,
        packages_ok=objective.packages_ok,
        packages_failed=objective.packages_failed,
        exit_code=objective.exit_code,
        duration_ms=objective.duration_ms,
        flags=tuple(flag.value for flag in objective.flags),
    )


def statement_event(said: StatementLine, *, source_ref: str) -> Event:
    """The event that a statement of a person is: a reference to its line (T33, T35).

    Raises:
        SidecarError: it has a value that cannot be stored.
    """
    lines = (EventLine("prompt", said.offset, said.length, str(Digest(said.sha256))),)
    return Event(id=event_id(source_ref, lines), kind=said.kind, lines=lines, at=_reliable(said.at_ms))


def _reliable(at_ms: int | None) -> int | None:
    """A host's time, unless it lies before the epoch: its clock was not set, and that is no time."""
    return at_ms if at_ms is None or at_ms >= 0 else None


def read_header(adapter: Adapter, opened: OpenSource) -> Header:
    """The header of an open transcript.

    It mostly stands in the first bytes, so a small piece is read first and a larger one only where that has none.

    Raises:
        AdapterError, SourceError: it has none that is read.
    """
    bound = min(HEADER_BYTES, opened.now.size)
    length = min(_HEADER_GUESS_BYTES, bound)
    while length < bound:
        with contextlib.suppress(HeaderError):
            return adapter.read_header(opened.read(0, length))
        length = min(4 * length, bound)
    return adapter.read_header(opened.read(0, length))


@runtime_checkable
class PathAdapter(Protocol):
    """An adapter of a host whose file says neither whose it is nor, at its beginning, what of it is copied."""

    def of_agent(self, header: Header, session: str, agent: str) -> Header:
        """Return the header of an agent of a session. Raises: ``HeaderError`` for names that cannot be kept."""

    def with_forks(self, header: Header, pieces: Iterable[Block | Line | Overlong]) -> Header:
        """Return the header with what a look at the whole file says about copied history."""


def read_whole_header(adapter: Adapter, opened: OpenSource, size: int) -> Header:
    """The header of an open transcript with what only its path and all its first ``size`` bytes say.

    Whoever reads a file from its beginning needs it: without it, copied history would pass for the session's own.

    Raises:
        AdapterError, SourceError: it has none that is read.
    """
    header = read_header(adapter, opened)
    if not isinstance(adapter, PathAdapter):
        return header
    _, session, agents, agent, _ = ("", "", "", "", *Path(opened.now.path).parts)[-5:]
    if agents == "agents":
        with contextlib.suppress(HeaderError):  # a copy that lies elsewhere belongs to no session
            header = adapter.of_agent(header, session, agent)
    return adapter.with_forks(header, _pieces(opened, size))


def _pieces(opened: OpenSource, size: int) -> Iterator[Block | Line | Overlong]:
    splitter = LineSplitter()
    for position in range(0, size, READ_BYTES):
        yield from splitter.feed_blocks(opened.read(position, min(READ_BYTES, size - position)))


def fingerprint_of(objective: Objective, key: bytes) -> str:
    """The keyed fingerprint of the normalised command: equal commands, equal fingerprints, on this machine only."""
    digest = hashlib.blake2b(
        objective.command.encode("utf-8", "surrogatepass"),
        digest_size=_FINGERPRINT_BYTES,
        key=key,
        person=_PERSON,
    )
    return to_base64url(digest.digest())


def derive_again(
    adapter: Adapter,
    header: Header,
    lines: Sequence[CitedLine],
    *,
    source_ref: str,
    fingerprint_key: bytes,
) -> Event | None:
    """What exactly these lines tell when they are read anew; compared with the stored event (T22, T28).

    Lines of a result tell no statement and a statement's line no result: whichever is found is all that they tell.

    Raises:
        SidecarError: a value cannot be stored.
    """
    if len(lines) == 1 and (said := refer_to(adapter, header, lines[0])) is not None:
        return statement_event(said, source_ref=source_ref)
    result = adapter.derive(header, lines)
    if result is None:
        return None
    return event_of(result, source_ref=source_ref, fingerprint_key=fingerprint_key)
