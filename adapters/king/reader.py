"""Reads one wire line by line: counts every record, and returns prompts and results of reviewed commands.

The hot path is ``feed_block``: for a record that carries nothing one look-up in a table and one count. A record is
counted only after everything that is read of it was found sound; else it is a ``Defect``.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Final

from adapters.base import Cursor, Header, OpenLine, Tallies, Understanding, add_to, note_defect
from adapters.decode import Fields, fields_of, refuse, text_of
from adapters.errors import CursorError, DefectKind, TranscriptChangedError, TranscriptSyntaxError
from adapters.king.calls import Told, told_by
from adapters.king.check import understanding_of
from adapters.king.envelope import ABSENT, HEAD, event_type, is_object, record_of, records_of, type_of
from adapters.king.ledger import Ledger
from adapters.king.records import BY_HEAD, LOOP, PLAIN, ReadAs
from adapters.king.state import State
from adapters.king.types import LOOP_EVENT, LOOP_EVENTS, RECORD_TYPES
from adapters.lines import Block, Line, Overlong, Place, lines_of
from adapters.names import count_name
from adapters.record import Defect, LineRef, Record, Unknown
from adapters.resuming import is_that_line, open_lines_of, wanted_lines

_LOOP_EVENT: Final = LOOP_EVENT.encode()


class Reader:
    """One file's reader; see ``adapters.base.Reader``."""

    __slots__ = ("_awaited", "_next", "_state")

    def __init__(self, header: Header, cursor: Cursor | None = None) -> None:
        """Start at the beginning, or at ``cursor``. Raises: ``CursorError`` if it is not of this file."""
        if cursor is not None and (cursor.format, cursor.session_id) != (header.format, header.session_id):
            raise CursorError("the cursor is of another file", host=header.host)
        tallies = deepcopy(cursor.tallies) if cursor is not None else Tallies()
        self._state = State(header, tallies, Ledger(tallies))
        self._next = 0
        self._awaited: tuple[OpenLine, ...] = ()
        if cursor is not None:
            self._next = cursor.offset
            self._awaited = cursor.open_lines
            if not self._state.restore(cursor.flags):
                raise CursorError("the file was rewritten in another protocol", host=header.host)
            self._state.ledger.restore(cursor.recent, gave_own=self._state.gave_own)

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
        ledger = self._state.ledger
        opened = -1
        for wanted in self._awaited:
            told = _told_again(wanted, given.get(wanted.offset))
            if told is None:
                raise TranscriptChangedError(
                    "a line of an open call is not the one read before",
                    host=self._state.header.host,
                    offset=wanted.offset,
                )
            if wanted.call != opened:
                ledger.open(told, inherited=wanted.inherited)
                opened = wanted.call
            elif ledger.is_open(told.call_id):
                ledger.add(told)
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
            record = record_of(raw)
            return self._read(Place(offset, raw, 0, len(raw)), record, _how_to_read(record))
        except TranscriptSyntaxError as error:
            return self._defect(offset, len(raw), error.kind)

    def feed_block(self, block: Block) -> Sequence[Record]:
        """See ``adapters.base.Reader``."""
        self._expect_resumed()
        found: list[Record] = []
        placed = records_of(block.raw)
        if placed is None:
            for line in lines_of(block):
                found.extend(self.feed(line))
            return found
        offset, raw = block
        state, counts = self._state, self._state.tallies.records
        head_at = HEAD.match
        for record, start, end in placed:
            try:
                head = head_at(raw, start)
                read_as = BY_HEAD.get(head.groups()) if head is not None else None
                if read_as is None:
                    read_as = _how_to_read(record)
                if read_as is None:
                    found.extend(self._unknown(Place(offset + start, raw, start, end), record))
                    continue
                # `_read`, written out: this runs for every record, and most are read by nobody.
                label, handler = read_as
                if handler is not None:
                    completed = handler(state, Place(offset + start, raw, start, end), record)
                    if completed:
                        found.extend(completed)
                counts[label] = counts.get(label, 0) + 1
            except TranscriptSyntaxError as error:
                found.extend(self._defect(offset + start, end - start, error.kind))
        self._next = offset + len(raw)
        return found

    def _read(self, place: Place, record: Fields, read_as: ReadAs | None) -> Sequence[Record]:
        """Return what a sound line gives. Raises: ``TranscriptSyntaxError``."""
        if read_as is None:
            return self._unknown(place, record)
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
            format=self._state.header.format,
            session_id=self._state.header.session_id,
            offset=self._next,
            open_lines=self._awaited or open_lines_of(self._state.ledger.open_calls()),
            tallies=deepcopy(self._state.tallies),
            flags=self._state.flags(),
            recent=self._state.ledger.recent(),
        )

    def self_check(self) -> Understanding:
        """See ``adapters.base.Reader``."""
        return understanding_of(self._state)

    def _defect(self, offset: int, length: int, kind: DefectKind) -> Sequence[Record]:
        note_defect(self.tallies, kind)
        return (Defect(offset, length, kind),)

    def _unknown(self, place: Place, record: Fields) -> Sequence[Record]:
        """Return the unknown record. A known type spelled with escapes, as no host does, is a defect."""
        name = type_of(record)
        known = name in RECORD_TYPES
        if name == LOOP_EVENT:
            event = record.get("event", ABSENT)
            kind = text_of(fields_of(event).get("type")) if is_object(event) else None
            if kind is None:
                refuse(DefectKind.NO_TYPE, "an event has a type")
            known, name = kind in LOOP_EVENTS, f"{LOOP_EVENT}/{kind}"
        if known:
            refuse(DefectKind.SHAPE, "a type is written without escapes")
        counted = count_name(self.tallies.unknown_types, name)
        add_to(self.tallies.records, counted)
        return (Unknown(place.offset, place.length, counted),)


def _how_to_read(record: Fields) -> ReadAs | None:
    """Return how a record of this type is read, ``None`` for a type that was never reviewed.

    Raises: ``TranscriptSyntaxError`` where a loop event holds no sound object.
    """
    name = bytes(record.get("type", ABSENT))[1:-1]
    return LOOP.get(event_type(record)) if name == _LOOP_EVENT else PLAIN.get(name)


def _told_again(wanted: OpenLine, raw: bytes | None) -> Told | None:
    """Return what the line tells if it is exactly the one that ``wanted`` names."""
    if raw is None or not is_that_line(wanted, raw):
        return None
    try:
        told = told_by(record_of(raw), wanted.offset, raw)
    except TranscriptSyntaxError:
        return None
    return told if told is not None and told.ref.role is wanted.role else None
