"""What every adapter offers, and the values that pass between it and its caller.

An adapter is a pure machine: lines go in, records come out; it opens no file, keeps no clock and knows no key.
Its caller does this:

1. ``adapter.read_header(first_bytes)``: the file is of this format, or is refused with a reason;
2. ``adapter.reader(header)``; then for every piece of ``LineSplitter.feed_blocks``, the header line included,
   ``reader.feed_block(piece)`` if it is a ``Block``, else ``reader.feed(piece)``;
3. at the end of the snapshot ``reader.finish()``, then ``reader.self_check()``;
4. to stop at any line boundary: ``reader.cursor()``, stored as text by ``encode_cursor``; to go on, in this or
   another process: ``adapter.reader(header, cursor)``, then ``reader.resume(lines)`` with the exact lines that
   ``reader.open_lines`` names, then ``feed`` from ``cursor.offset``. Take the cursor before ``finish``.

Later, for one stored result: ``adapter.derive(header, lines)`` with exactly the lines that it named; and for one
statement: ``adapter.read_statement(header, line)`` with its line, the only way to what a person typed.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from enum import StrEnum
from typing import Final, Protocol

import msgspec

from adapters.errors import CursorError, DefectKind, TranscriptSyntaxError
from adapters.lines import Block, CitedLine, Line, Overlong
from adapters.record import HumanStatement, LineRef, LineRole, Record, Statement, ToolResult

HEADER_BYTES: Final = 1024 * 1024
"""How much of a file's beginning may be asked for to find its header, in bytes. Headers of 96 KiB were reported,
and fixed buffers of 4 to 128 KiB failed in public tools (formats §1.10)."""

CURSOR_BYTES: Final = 16 * 1024
"""Largest cursor in its stored form, in bytes: what a caller keeps for each source that is read in parts."""

ID_CHARS: Final = 128
"""Longest identifier that is kept, in characters; real ones have at most 41."""


class HistoryBase(msgspec.Struct, frozen=True):
    """Where the inherited beginning of a session lies: in another thread's file, up to there."""

    thread_id: str
    end_ordinal: int | None
    end_offset: int | None


class Header(msgspec.Struct, frozen=True):
    """What the beginning of a file says about it. In memory only: ``cwd`` is a path of the user.

    ``length`` counts the bytes of the header line without its ``0x0A``. ``own_from_ordinal`` is the first ordinal
    that is not copied history, where the host states it; ``own_from_offset`` is the same in bytes, where only a
    later record tells it. ``forked_from`` and ``parent_id`` name other sessions.
    """

    host: str
    format: str
    session_id: str
    app_version: str | None
    cwd: str | None
    history_mode: str
    length: int
    is_subagent: bool
    parent_id: str | None
    forked_from: str | None
    history_base: HistoryBase | None
    own_from_ordinal: int | None
    own_from_offset: int = 0


class Outcomes(msgspec.Struct, forbid_unknown_fields=True):
    """Results of tools by what is proved about them. Absent code is not success; a start is not an end."""

    success: int = 0
    failure: int = 0
    unknown: int = 0
    cancelled: int = 0


class Tallies(msgspec.Struct, forbid_unknown_fields=True):
    """Counts of everything that was read, kept across stops. No text: names are of reviewed or cleaned types.

    ``records`` by type as in ``event_msg/user_message``; ``tool_calls`` by tool; ``outcomes`` of tool results, with
    ``failure_codes`` of those that failed (``none`` without a code), and ``executions`` of commands that the host
    reports apart from their result; ``evidence`` by kind and statement of the other structured reports;
    ``anomalies`` are oddities that refuse nothing. The ``inherited_*`` counts are of copied history and not part of
    ``outcomes``, ``executions`` and ``prompts``; the others count what stands in the file. Results of calls that are
    still open are not counted yet.
    """

    records: dict[str, int] = {}
    tool_calls: dict[str, int] = {}
    outcomes: Outcomes = msgspec.field(default_factory=Outcomes)
    failure_codes: dict[str, int] = {}
    executions: Outcomes = msgspec.field(default_factory=Outcomes)
    evidence: dict[str, int] = {}
    inherited_outcomes: Outcomes = msgspec.field(default_factory=Outcomes)
    defects: dict[str, int] = {}
    unknown_types: dict[str, int] = {}
    anomalies: dict[str, int] = {}
    turns: int = 0
    prompts: int = 0
    inherited_prompts: int = 0
    calls_without_result: int = 0
    results_without_call: int = 0
    overlong_bytes: int = 0

    def __deepcopy__(self, _memo: object) -> "Tallies":
        """Return all of it once more; a cursor is taken for each span, and copying in general costs ten times that."""
        copied = copy(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, dict | Outcomes):
                setattr(copied, name, copy(value))
        return copied


class Verdict(StrEnum):
    """How much of a file was understood."""

    UNDERSTOOD = "understood"
    PARTLY = "partly-understood"
    NOT = "not-understood"


class Understanding(msgspec.Struct, frozen=True):
    """The verdict on a whole file, with every reason in kebab case, in the order of weight.

    Reasons of ``PARTLY`` begin with ``unknown-type:`` (which an owner can accept by name) or ``defect:``.
    """

    verdict: Verdict
    reasons: tuple[str, ...]


class OpenLine(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One line of a call that had not ended at the cursor: which call, and the line's identity."""

    call: int
    role: LineRole
    offset: int
    length: int
    sha256: bytes
    inherited: bool
    part: int = 0


class Cursor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where reading stopped, and what is needed to go on; no text of the transcript.

    ``offset`` is the first byte not read. ``flags``, ``recent`` and ``turn`` belong to the adapter.
    """

    format: str
    session_id: str
    offset: int
    open_lines: tuple[OpenLine, ...]
    tallies: Tallies
    flags: dict[str, int]
    recent: tuple[tuple[str, int, int], ...]


def encode_cursor(cursor: Cursor) -> str:
    """Return the stored form of ``cursor``, at most ``CURSOR_BYTES`` long (a bound of the reader, asserted)."""
    encoded = msgspec.json.encode(cursor)
    if len(encoded) > CURSOR_BYTES:
        raise RuntimeError("a reader's cursor is over its bound")
    return encoded.decode("ascii")


def decode_cursor(text: str) -> Cursor:
    """Return the cursor that ``text`` stores. Raises: ``CursorError`` for anything else."""
    if len(text) > CURSOR_BYTES:
        raise CursorError("the cursor is over its bound")
    try:
        cursor = msgspec.json.decode(text, type=Cursor)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise CursorError("the cursor is not of this form") from error
    numbers = [cursor.offset, *(value for line in cursor.open_lines for value in (line.offset, line.length))]
    if min(numbers) < 0 or any(len(line.sha256) != 32 for line in cursor.open_lines):
        raise CursorError("the cursor holds an impossible place")
    return cursor


class Reader(Protocol):
    """Reads the lines of one file in order."""

    @property
    def tallies(self) -> Tallies:
        """The counts so far; the reader's own, not to be changed."""

    @property
    def open_lines(self) -> tuple[LineRef, ...]:
        """The lines that ``resume`` wants, in file order; empty for a new reader."""

    def resume(self, lines: Iterable[Line]) -> None:
        """Take up the open calls of the cursor from the exact ``lines`` that ``open_lines`` names.

        Raises: ``TranscriptChangedError`` where a line's bytes are not those of the cursor.
        """

    def feed(self, line: Line | Overlong) -> Sequence[Record]:
        """Return the records that ``line`` completes, often none. Any bytes give records; nothing is raised."""

    def feed_block(self, block: Block) -> Sequence[Record]:
        """Return the records that the lines of ``block`` complete: what ``feed`` gives for each, several times faster.

        ``cursor`` may be asked for between blocks, as between lines.
        """

    def finish(self) -> Sequence[Record]:
        """Return the results still open at the end of the snapshot, and count them. The reader is then spent."""

    def cursor(self) -> Cursor:
        """Return where reading stands, between two calls of ``feed``."""

    def self_check(self) -> Understanding:
        """Return how much of the file was understood, after ``finish``."""


class Adapter(Protocol):
    """Reads one host's format."""

    @property
    def host(self) -> str:
        """The host's name: ``codex``, ``claude``, ``king``."""

    @property
    def format(self) -> str:
        """The format's name with its version."""

    def read_header(self, first_bytes: bytes) -> Header:
        """Return the header of the file that begins with ``first_bytes``, of which ``HEADER_BYTES`` are enough.

        Raises: ``HeaderError`` or ``UnsupportedFormatError``, each with its reason.
        """

    def reader(self, header: Header, cursor: Cursor | None = None) -> Reader:
        """Return a reader at the beginning, or at ``cursor``. Raises: ``CursorError`` if it is not of this file."""

    def derive(
        self, header: Header, lines: Sequence[CitedLine], *, inherited: bool = False
    ) -> ToolResult | None:
        """Return the result that exactly these lines, in file order, tell about, or ``None``.

        Equal to what the reader gave for them. Whether they are copied history the lines alone cannot say:
        ``inherited`` is what was known when they were read. Any bytes give a value; nothing is raised.
        """

    def read_statement(self, header: Header, line: CitedLine, *, inherited: bool = False) -> Statement | None:
        """Return what the person typed at exactly this line, or ``None`` where it is no own statement of a person.

        The reader decides that: ``None`` wherever it gives no ``HumanStatement`` for the line, or one that is
        inherited. What the line alone cannot say is ``inherited``, as it was known when the line was read. ``None``
        also where the text itself is no sound text. Any bytes give a value; nothing is raised.
        """

    def text_of_statement(self, header: Header, raw: bytes) -> str:
        """Return what was typed at a line of which a reader of this file has given a ``HumanStatement``.

        What ``read_statement`` gives, for who has just read the line and need not ask again what it is.
        Raises: ``TranscriptSyntaxError`` where it is no sound text.
        """


def statement_at(adapter: "Adapter", header: Header, line: CitedLine) -> Statement | None:
    """Return the own statement at ``line``, as ``Adapter.read_statement`` says for lines that are not inherited."""
    said = _said_at(adapter.reader(header), line)
    if said is None:
        return None
    try:
        return Statement(adapter.text_of_statement(header, line.raw), said.at_ms)
    except TranscriptSyntaxError:
        return None


def _said_at(reader: Reader, line: CitedLine) -> HumanStatement | None:
    """Return the own statement that a new ``reader`` of a file finds at ``line``, ``None`` for any other line."""
    if line.part:
        return None
    found = reader.feed(Line(line.offset, line.raw))
    return next((one for one in found if isinstance(one, HumanStatement) and not one.inherited), None)


def add_to(counts: dict[str, int], name: str) -> None:
    """Add one to ``counts[name]``."""
    counts[name] = counts.get(name, 0) + 1


def note_defect(tallies: Tallies, kind: DefectKind) -> None:
    """Count a defect."""
    add_to(tallies.defects, kind.value)
