"""Reads one session line by line: counts every record, and returns prompts and results of reviewed commands.

The hot path is ``feed_block``: for a record that carries nothing one look-up in a table and one count. A
record is counted only after everything that is read of it was found sound; else it is a ``Defect``.
"""

from collections.abc import Container, Iterable, Sequence
from copy import deepcopy

from adapters.base import Cursor, Header, OpenLine, Tallies, Understanding, add_to, note_defect
from adapters.claude.calls import Told, told_by
from adapters.claude.check import understanding_of
from adapters.claude.envelope import record_of, records_of
from adapters.claude.ledger import Ledger
from adapters.claude.origin import NOWHERE, Origin
from adapters.claude.records import PLAIN, how_to_read
from adapters.claude.state import State
from adapters.decode import Fields
from adapters.errors import CursorError, DefectKind, TranscriptChangedError, TranscriptSyntaxError
from adapters.lines import Block, Line, Overlong, Place, lines_of
from adapters.names import count_name
from adapters.record import Defect, LineRef, Record, Unknown
from adapters.resuming import is_that_line, open_lines_of, wanted_lines


class Reader:
    """One file's reader; see ``adapters.base.Reader``."""

    __slots__ = ("_awaited", "_header", "_next", "_state")

    def __init__(
        self, header: Header, cursor: Cursor | None = None, elsewhere: Container[str] = NOWHERE
    ) -> None:
        """Start at the beginning, or at ``cursor``. Raises: ``CursorError`` if it is not of this file."""
        if cursor is not None and (cursor.format, cursor.session_id) != (header.format, header.session_id):
            raise CursorError("the cursor is of another file", host=header.host)
        tallies = deepcopy(cursor.tallies) if cursor is not None else Tallies()
        self._header = header
        self._state = State(tallies, Ledger(tallies), Origin(header, elsewhere))
        self._next = 0
        self._awaited: tuple[OpenLine, ...] = ()
        if cursor is not None:
            self._next = cursor.offset
            self._awaited = cursor.open_lines
            self._state.asked = bool(cursor.flags.get("asked", 0))
            try:
                self._state.ledger.restore(cursor.recent)
            except ValueError as error:
                raise CursorError("the cursor is not of this form", host=header.host) from error

    @property
    def tallies(self) -> Tallies:
        """See ``adapters.base.Reader``."""
        return self._state.tallies

    @property
    def open_lines(self) -> tuple[LineRef, ...]:
        """See ``adapters.base.Reader``."""
        return wanted_lines(self._awaited)

    def resume(self, lines: Iterable[Line]) -> None:
        """See ``adapters.base.Reader``."""
        given = {line.offset: line.raw for line in lines}
        calls: dict[int, tuple[bool, list[Told]]] = {}
        for wanted in self._awaited:
            told = _told_again(wanted, given.get(wanted.offset))
            if told is None:
                raise TranscriptChangedError(
                    "a line of an open call is not the one read before",
                    host=self._header.host,
                    offset=wanted.offset,
                )
            calls.setdefault(wanted.call, (wanted.inherited, []))[1].append(told)
        for inherited, told_lines in calls.values():
            self._state.ledger.reopen(told_lines, inherited=inherited)
        self._awaited = ()

    def feed(self, line: Line | Overlong) -> Sequence[Record]:
        """See ``adapters.base.Reader``."""
        self._expect_resumed()
        if isinstance(line, Overlong):
            self._next = line.offset + line.length + 1
            self.tallies.overlong_bytes += line.length
            return self._defect(line.offset, line.length, DefectKind.TOO_LONG)
        offset, raw = line
        self._next = offset + len(raw) + 1
        try:
            return self._read(Place(offset, raw, 0, len(raw)), record_of(raw))
        except TranscriptSyntaxError as error:
            return self._defect(offset, len(raw), error.kind)

    def feed_block(self, block: Block) -> Sequence[Record]:
        """See ``adapters.base.Reader``."""
        self._expect_resumed()
        found: list[Record] = []
        offset, raw = block
        state, counts = self._state, self.tallies.records
        end = -1
        for record, start, end in records_of(raw):
            try:
                read_as = PLAIN.get(bytes(record.get("type", b"")))
                if read_as is None:
                    found.extend(self._read(Place(offset + start, raw, start, end), record))
                    continue
                # `_read`, written out: this runs for nearly every record.
                label, handler = read_as
                if handler is not None:
                    completed = handler(state, Place(offset + start, raw, start, end), record)
                    if completed:
                        found.extend(completed)
                counts[label] = counts.get(label, 0) + 1
            except TranscriptSyntaxError as error:
                found.extend(self._defect(offset + start, end - start, error.kind))
        self._next = offset + end + 1
        for line in lines_of(Block(self._next, raw[end + 1 :])):
            found.extend(self.feed(line))
        return found

    def _read(self, place: Place, record: Fields) -> Sequence[Record]:
        """Return what a sound line gives. Raises: ``TranscriptSyntaxError``."""
        read_as = how_to_read(record)
        if isinstance(read_as, str):
            counted = count_name(self.tallies.unknown_types, read_as)
            add_to(self.tallies.records, counted)
            return (Unknown(place.offset, place.length, counted),)
        label, handler = read_as
        found = handler(self._state, place, record) if handler is not None else ()
        add_to(self._state.tallies.records, label)
        return found

    def _expect_resumed(self) -> None:
        if self._awaited:
            raise RuntimeError("resume comes before feed")

    def finish(self) -> Sequence[Record]:
        """See ``adapters.base.Reader``."""
        return self._state.ledger.close()

    def cursor(self) -> Cursor:
        """See ``adapters.base.Reader``."""
        return Cursor(
            format=self._header.format,
            session_id=self._header.session_id,
            offset=self._next,
            open_lines=self._awaited or open_lines_of(self._state.ledger.open_calls()),
            tallies=deepcopy(self._state.tallies),
            flags={"asked": int(self._state.asked)},
            recent=self._state.ledger.recent(),
        )

    def self_check(self) -> Understanding:
        """See ``adapters.base.Reader``."""
        return understanding_of(self._state.tallies, asked=self._state.asked)

    def _defect(self, offset: int, length: int, kind: DefectKind) -> Sequence[Record]:
        note_defect(self.tallies, kind)
        return (Defect(offset, length, kind),)


def _told_again(wanted: OpenLine, raw: bytes | None) -> Told | None:
    """Return what the line tells if it is exactly the one that ``wanted`` names."""
    if raw is None or not is_that_line(wanted, raw):
        return None
    try:
        told = told_by(record_of(raw), wanted.part, Place(wanted.offset, raw, 0, len(raw)))
    except TranscriptSyntaxError:
        return None
    return told if told is not None and told.ref.role is wanted.role else None
