"""Reads one rollout line by line: counts every record, and returns prompts and results of reviewed commands.

The hot path is ``feed_block``: for a record that carries nothing one look-up in a table and one count. A
record is counted only after everything that is read of it was found sound; else it is a ``Defect``.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Final

from adapters.base import Cursor, Header, OpenLine, Tallies, Understanding, add_to, note_defect
from adapters.codex.bare import BARE, bare_envelope_of
from adapters.codex.calls import Told, told_by
from adapters.codex.check import understanding_of
from adapters.codex.envelope import Envelope, envelope_of, envelopes_of, is_object, payload_type
from adapters.codex.header import PAGINATED
from adapters.codex.ledger import Ledger
from adapters.codex.origin import Origin
from adapters.codex.records import BARE_PLAIN, BARE_TYPED, PLAIN, TYPED, ReadAs
from adapters.codex.state import State
from adapters.decode import Raw, fields_of, int_of, refuse, text_of
from adapters.errors import CursorError, DefectKind, TranscriptChangedError, TranscriptSyntaxError
from adapters.lines import Block, Line, Overlong, Place, lines_of
from adapters.names import count_name
from adapters.record import Defect, LineRef, Record, Unknown
from adapters.resuming import is_that_line, open_lines_of, wanted_lines

_LONG: Final = 16
"""Digits from which on a number is looked at more closely."""


class Reader:
    """One file's reader; see ``adapters.base.Reader``."""

    __slots__ = ("_awaited", "_bare", "_next", "_numbered", "_ordinal", "_state")

    def __init__(self, header: Header, cursor: Cursor | None = None) -> None:
        """Start at the beginning, or at ``cursor``. Raises: ``CursorError`` if it is not of this file."""
        if cursor is not None and (cursor.format, cursor.session_id) != (header.format, header.session_id):
            raise CursorError("the cursor is of another file", host=header.host)
        tallies = deepcopy(cursor.tallies) if cursor is not None else Tallies()
        origin = Origin(header.session_id, header.own_from_ordinal)
        self._state = State(header, tallies, Ledger(tallies), origin)
        self._numbered = header.history_mode == PAGINATED or header.own_from_ordinal is not None
        self._bare = header.history_mode == BARE
        self._ordinal = -1
        self._next = 0
        self._awaited: tuple[OpenLine, ...] = ()
        if cursor is not None:
            self._next = cursor.offset
            self._ordinal = cursor.flags.get("ordinal", -1)
            self._awaited = cursor.open_lines
            self._state.ledger.restore(cursor.recent)
            origin.restore(cursor.flags)

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
            told = _told_again(wanted, given.get(wanted.offset), bare=self._bare)
            if told is None:
                raise TranscriptChangedError(
                    "a line of an open call is not the one read before",
                    host=self._state.header.host,
                    offset=wanted.offset,
                )
            if wanted.call != opened:
                ledger.open(told, inherited=wanted.inherited)
                opened = wanted.call
            elif told.polls is not None:
                ledger.poll(told)
            else:
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
            place = Place(offset, raw, 0, len(raw))
            if self._bare:
                record = bare_envelope_of(raw)
                return self._read(place, record, _how_to_read(record, BARE_PLAIN, BARE_TYPED))
            record = envelope_of(raw)
            return self._read(place, record, _how_to_read(record, PLAIN, TYPED))
        except TranscriptSyntaxError as error:
            return self._defect(offset, len(raw), error.kind)

    def feed_block(self, block: Block) -> Sequence[Record]:
        """See ``adapters.base.Reader``."""
        self._expect_resumed()
        found: list[Record] = []
        offset, raw = block
        state, numbered = self._state, self._numbered
        counts = state.tallies.records
        end = -1
        for record, start, end in () if self._bare else envelopes_of(raw):
            try:
                typed = TYPED.get(record.type)
                read_as = (
                    typed.get(payload_type(record))
                    if typed is not None
                    else _how_to_read(record, PLAIN, TYPED)
                )
                if read_as is None:
                    found.extend(self._unknown(Place(offset + start, raw, start, end), record))
                    continue
                # `_read`, written out: this runs for every record, and three in four are read by nobody.
                if numbered:
                    self._number(record.ordinal)
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

    def _read(self, place: Place, record: Envelope, read_as: ReadAs | None) -> Sequence[Record]:
        """Return what a sound line gives. Raises: ``TranscriptSyntaxError``."""
        if read_as is None:
            return self._unknown(place, record)
        if self._numbered:
            self._number(record.ordinal)
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
            flags={"ordinal": self._ordinal, **self._state.origin.flags()},
            recent=self._state.ledger.recent(),
        )

    def self_check(self) -> Understanding:
        """See ``adapters.base.Reader``."""
        return understanding_of(self._state.header, self._state.tallies)

    def _defect(self, offset: int, length: int, kind: DefectKind) -> Sequence[Record]:
        note_defect(self.tallies, kind)
        return (Defect(offset, length, kind),)

    def _unknown(self, place: Place, record: Envelope) -> Sequence[Record]:
        """Return the unknown record. A known type spelled with escapes, as no host does, is a defect."""
        typed = BARE_TYPED if self._bare else TYPED
        if record.type not in typed:
            return self._note_unknown(place, record.type)
        kind = text_of(fields_of(record.payload).get("type"))
        if kind is None:
            refuse(DefectKind.NO_TYPE, "a payload has a type")
        if kind.encode() in typed[record.type]:
            refuse(DefectKind.SHAPE, "a type is written without escapes")
        return self._note_unknown(place, kind if self._bare else f"{record.type}/{kind}")

    def _note_unknown(self, place: Place, name: str) -> Sequence[Record]:
        counted = count_name(self.tallies.unknown_types, name)
        add_to(self.tallies.records, counted)
        return (Unknown(place.offset, place.length, counted),)

    def _number(self, raw: Raw) -> None:
        """Follow the ordinals: they may mark the boundary of copied history; oddities are counted, not refused."""
        plain = bytes(raw)
        ordinal = int(plain) if plain.isdigit() and len(plain) < _LONG else int_of(raw) if plain else None
        if ordinal is None:
            add_to(self.tallies.anomalies, "ordinal-missing")
            return
        if ordinal <= self._ordinal:
            add_to(self.tallies.anomalies, "ordinal-not-increasing")
        self._ordinal = ordinal
        self._state.origin.at_ordinal(ordinal)


def _how_to_read(
    record: Envelope, plain: dict[str, ReadAs], by_type: dict[str, dict[bytes, ReadAs]]
) -> ReadAs | None:
    """Return how a record of this type is read, ``None`` for a type that was never reviewed.

    Raises: ``TranscriptSyntaxError`` where a reviewed type has a payload that is no sound object.
    """
    typed = by_type.get(record.type)
    if typed is not None:
        return typed.get(payload_type(record))
    read_as = plain.get(record.type)
    if read_as is not None and not is_object(record.payload):
        refuse(DefectKind.SHAPE, "a payload is an object")
    return read_as


def _told_again(wanted: OpenLine, raw: bytes | None, *, bare: bool) -> Told | None:
    """Return what the line tells if it is exactly the one that ``wanted`` names."""
    if raw is None or not is_that_line(wanted, raw):
        return None
    try:
        told = told_by(bare_envelope_of(raw) if bare else envelope_of(raw), wanted.offset, raw)
    except TranscriptSyntaxError:
        return None
    return told if told is not None and told.ref.role is wanted.role else None
