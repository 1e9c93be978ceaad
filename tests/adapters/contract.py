"""The one suite that every adapter passes. A host's test is a factory and a line: ``class TestX(AdapterContract)``."""

import contextlib
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import (
    CURSOR_BYTES,
    HEADER_BYTES,
    Adapter,
    Header,
    Reader,
    Tallies,
    decode_cursor,
    encode_cursor,
)
from adapters.errors import AdapterError, CursorError, TranscriptChangedError
from adapters.lines import Block, CitedLine, Line, LineSplitter, Overlong
from adapters.objective import decide_objective
from adapters.record import Defect, HumanStatement, LineRef, Record, ToolResult, Unknown

MARKER = "hunter2-never-repeat-this"


def feed(reader: Reader, piece: Block | Line | Overlong) -> Sequence[Record]:
    """Feed one piece of a splitter by the method that its kind wants."""
    return reader.feed_block(piece) if isinstance(piece, Block) else reader.feed(piece)


def read(adapter: Adapter, data: bytes, *, piece: int | None = None) -> tuple[list[Record], Reader]:
    """Read a whole file in pieces of ``piece`` bytes; return its records and the spent reader."""
    header = adapter.read_header(data[: 1024 * 1024 + 1])
    reader, splitter = adapter.reader(header), LineSplitter()
    step = piece or max(len(data), 1)
    records: list[Record] = []
    for start in range(0, len(data), step):
        for part in splitter.feed_blocks(data[start : start + step]):
            records.extend(feed(reader, part))
    records.extend(reader.finish())
    return records, reader


def read_by_line(adapter: Adapter, data: bytes) -> tuple[list[Record], Reader]:
    """Read a whole file line by line, never as a block."""
    reader = adapter.reader(adapter.read_header(data))
    records: list[Record] = []
    for line in LineSplitter().feed(data):
        records.extend(reader.feed(line))
    records.extend(reader.finish())
    return records, reader


def raw_of(data: bytes, ref: LineRef) -> bytes:
    """Return the bytes that a reference names."""
    return data[ref.offset : ref.offset + ref.length]


def check_file(adapter: Adapter, data: bytes, *, stop: int = 0) -> bool:
    """Say whether any bytes are a file that can be read; if so, what holds for every file holds for this one.

    Blocks and lines give the same records, every line is counted once, each result is derived again from its own
    lines, and reading that stops behind line ``stop`` goes on to the same end.
    """
    try:
        header: Header = adapter.read_header(data[: HEADER_BYTES + 1])
    except AdapterError:
        return False
    blocks, other = read(adapter, data)
    lines, reader = read_by_line(adapter, data)
    assert blocks == lines
    assert other.tallies == reader.tallies
    tallies = reader.tallies
    assert sum(tallies.records.values()) + sum(tallies.defects.values()) == data.count(b"\n")
    for record in blocks:
        if isinstance(record, ToolResult):
            named = [CitedLine(ref.offset, raw_of(data, ref), ref.part) for ref in record.lines]
            assert adapter.derive(header, named, inherited=record.inherited) == record
            decide_objective(record)
    assert read_in_two(adapter, header, data, stop) == (blocks, tallies)
    check_statements(adapter, header, data, blocks)
    return True


def check_statements(adapter: Adapter, header: Header, data: bytes, records: Sequence[Record]) -> list[str]:
    """Return what was said in a file: a line reads as a statement exactly where the reader found an own one.

    Only a repeat of a statement's whole line reads as the same once more. A text that is none reads as nothing.
    """
    said = {record.offset: record for record in records if isinstance(record, HumanStatement)}
    texts: list[str] = []
    seen: set[bytes] = set()
    for line in LineSplitter().feed(data):
        if isinstance(line, Overlong):
            continue
        record = said.get(line.offset)
        inherited = record is not None and record.inherited
        found = adapter.read_statement(header, CitedLine(*line), inherited=inherited)
        if record is not None and not inherited:
            seen.add(line.raw)
            if found is not None:
                assert found.at_ms == record.at_ms
                texts.append(found.text)
        elif line.raw not in seen:
            assert found is None, line.offset
        assert adapter.read_statement(header, CitedLine(*line, part=1)) is None
    return texts


def read_in_two(adapter: Adapter, header: Header, data: bytes, stop: int) -> tuple[list[Record], Tallies]:
    """Read up to line ``stop``, store the cursor as text, and go on with another reader."""
    first, records = adapter.reader(header), []
    for number, line in enumerate(LineSplitter().feed(data)):
        if number == stop:
            break
        records.extend(first.feed(line))
    cursor = decode_cursor(encode_cursor(first.cursor()))
    second = adapter.reader(header, cursor)
    second.resume(Line(ref.offset, raw_of(data, ref)) for ref in second.open_lines)
    for piece in LineSplitter(cursor.offset).feed_blocks(data[cursor.offset :]):
        records.extend(feed(second, piece))
    records.extend(second.finish())
    return records, second.tallies


class AdapterContract:
    """What holds for every adapter. ``transcripts`` are sound and damaged files that it can read."""

    adapter: ClassVar[Adapter]
    transcripts: ClassVar[Mapping[str, bytes]]

    def test_pieces_of_any_size_give_the_same_records(self) -> None:
        """Whole, byte by byte, in odd pieces and line by line: one and the same list of records and counts."""
        for name, data in self.transcripts.items():
            whole, reader = read(self.adapter, data)
            for piece in (1, 7, 1000):
                records, other = read(self.adapter, data, piece=piece)
                assert records == whole, (name, piece)
                assert other.tallies == reader.tallies, (name, piece)
            records, other = read_by_line(self.adapter, data)
            assert records == whole, name
            assert other.tallies == reader.tallies, name

    def test_an_unfinished_last_line_waits(self) -> None:
        """What stands behind the last newline is pending: the records are those of the file without it."""
        for name, data in self.transcripts.items():
            start = data.rfind(b"\n", 0, len(data) - 1) + 1
            if start == 0:
                continue
            splitter = LineSplitter()
            list(splitter.feed(data[: start + 5]))
            assert splitter.pending == (start, 5), name
            assert read(self.adapter, data[: start + 5])[0] == read(self.adapter, data[:start])[0], name

    def test_reading_stops_and_goes_on_at_every_line(self) -> None:
        """A cursor taken at any line boundary, stored as text, goes on to the same records and the same counts."""
        for name, data in self.transcripts.items():
            whole, spent = read(self.adapter, data)
            header = self.adapter.read_header(data)
            first, before = self.adapter.reader(header), []
            for line in LineSplitter().feed(data):
                before.extend(first.feed(line))
                text = encode_cursor(first.cursor())
                assert len(text) <= CURSOR_BYTES
                assert MARKER not in text
                second = self.adapter.reader(header, decode_cursor(text))
                second.resume(Line(ref.offset, raw_of(data, ref)) for ref in second.open_lines)
                assert encode_cursor(second.cursor()) == text, name
                offset = first.cursor().offset
                after: list[Record] = []
                for piece in LineSplitter(offset).feed_blocks(data[offset:]):
                    after.extend(feed(second, piece))
                after.extend(second.finish())
                assert before + after == whole, (name, line.offset)
                assert second.tallies == spent.tallies, (name, line.offset)
                assert second.self_check() == spent.self_check()

    def test_a_changed_line_of_an_open_call_stops_the_resume(self) -> None:
        """Where a line that the cursor names has other bytes now, reading does not go on."""
        tried = 0
        for data in self.transcripts.values():
            header = self.adapter.read_header(data)
            reader = self.adapter.reader(header)
            for line in LineSplitter().feed(data):
                reader.feed(line)
                cursor = reader.cursor()
                second = self.adapter.reader(header, cursor)
                if not second.open_lines:
                    continue
                tried += 1
                first, *rest = second.open_lines
                raw = bytearray(raw_of(data, first))
                raw[len(raw) // 2] ^= 1
                lines = [Line(first.offset, bytes(raw)), *(Line(r.offset, raw_of(data, r)) for r in rest)]
                with pytest.raises(TranscriptChangedError) as caught:
                    second.resume(lines)
                assert caught.value.offset == first.offset
                with pytest.raises(TranscriptChangedError):
                    self.adapter.reader(header, cursor).resume(())
        assert tried

    def test_a_cursor_of_another_file_is_refused(self) -> None:
        """A cursor names its session and format; text that is no cursor is refused as one."""
        data = next(iter(self.transcripts.values()))
        header = self.adapter.read_header(data)
        text = encode_cursor(self.adapter.reader(header).cursor())
        for bad in ("", "{}", "[" * 500, text[:-1], text.replace('"offset":0', '"offset":-1'), "x" * 20_000):
            with pytest.raises(CursorError):
                decode_cursor(bad)
        other = decode_cursor(text.replace(header.session_id, "another"))
        with pytest.raises(CursorError):
            self.adapter.reader(header, other)

    def test_records_stand_in_file_order_and_name_their_bytes(self) -> None:
        """Lines of a result rise, each digest is of exactly those bytes; prompts and defects follow the file."""
        for name, data in self.transcripts.items():
            records, _ = read(self.adapter, data)
            for record in records:
                match record:
                    case ToolResult():
                        refs = record.lines
                        assert all(a.offset < b.offset for a, b in pairwise(refs)), name
                        for ref in refs:
                            raw = raw_of(data, ref)
                            assert b"\n" not in raw
                            assert sha256(raw).digest() == ref.sha256
                            assert data[ref.offset + ref.length : ref.offset + ref.length + 1] == b"\n"
                    case Defect() | Unknown() | HumanStatement():
                        assert b"\n" not in data[record.offset : record.offset + record.length]
                        assert record.offset == 0 or data[record.offset - 1 : record.offset] == b"\n"
            for kind in (HumanStatement, Defect):  # a command in the background ends after later ones
                offsets = [_first(r) for r in records if isinstance(r, kind)]
                assert offsets == sorted(offsets), (name, kind)

    def test_a_result_is_derived_again_from_its_lines_alone(self) -> None:
        """Exactly the named lines give exactly the result; fewer, more, swapped or other lines never do."""
        found = 0
        for data in self.transcripts.values():
            header = self.adapter.read_header(data)
            records, _ = read(self.adapter, data)
            for record in records:
                if not isinstance(record, ToolResult):
                    continue
                found += 1
                lines = [CitedLine(ref.offset, raw_of(data, ref), ref.part) for ref in record.lines]
                assert self.adapter.derive(header, lines, inherited=record.inherited) == record
                assert self.adapter.derive(header, lines[:-1]) != record
                assert self.adapter.derive(header, [*lines, lines[-1]]) is None
                assert self.adapter.derive(header, [*reversed(lines)]) is None or len(lines) == 1
                moved = [line._replace(offset=line.offset + 1) for line in lines]
                assert self.adapter.derive(header, moved, inherited=record.inherited) != record
        assert found
        assert self.adapter.derive(header, []) is None

    @pytest.mark.requirement("T61", "T62", "T63")
    def test_exactly_the_lines_of_own_statements_read_as_such(self) -> None:
        """Of every line: the reader's decision and ``read_statement`` are one, and each statement has its text."""
        found = 0
        for name, data in self.transcripts.items():
            records, _ = read(self.adapter, data)
            own = [one for one in records if isinstance(one, HumanStatement) and not one.inherited]
            texts = check_statements(self.adapter, self.adapter.read_header(data), data, records)
            assert len(texts) == len(own), name
            assert all(texts), name
            found += len(own)
        assert found

    def test_any_change_gives_records_or_our_error(self) -> None:
        """Bytes flipped, cut out, doubled or put in anywhere: records, defects or an ``AdapterError``."""
        adapter, files = self.adapter, list(self.transcripts.values())

        @given(
            st.sampled_from(files),
            st.integers(0, 10**6),
            st.integers(0, 400),
            st.one_of(st.binary(max_size=40), st.sampled_from(_NASTY)),
        )
        def changed(data: bytes, at: int, cut: int, put: bytes) -> None:
            at %= len(data)
            check_file(adapter, data[:at] + put + data[at + cut :])

        changed()

    def test_any_line_after_a_header_gives_records(self) -> None:
        """Any bytes as a line: fed, counted once as a record or a defect, and nothing raised."""
        data = next(iter(self.transcripts.values()))
        adapter, header = self.adapter, self.adapter.read_header(data)

        @given(st.one_of(st.binary(max_size=200), st.sampled_from(_NASTY), _json_like()))
        def fed(raw: bytes) -> None:
            raw = raw.replace(b"\n", b" ")
            reader = adapter.reader(header)
            reader.feed(Line(0, raw))
            counted = sum(reader.tallies.records.values()) + sum(reader.tallies.defects.values())
            assert counted == 1
            assert adapter.derive(header, [CitedLine(0, raw)]) is None or b"{" in raw
            reader.finish()

        fed()

    def test_any_beginning_is_a_header_or_our_error(self) -> None:
        """Any bytes as a file: a header or an ``AdapterError`` with a reason."""
        adapter = self.adapter

        @given(st.one_of(st.binary(max_size=300), _json_like().map(lambda raw: raw + b"\n")))
        def begun(data: bytes) -> None:
            with contextlib.suppress(AdapterError):
                assert adapter.read_header(data).session_id

        begun()

    def test_no_text_of_the_transcript_is_in_counts_or_errors(self) -> None:
        """A marker planted in every string of a file is in no name, no reason, no cursor and no message."""
        for data in self.transcripts.values():
            secret = data.replace(b"index", MARKER.encode()).replace(b"pytest", MARKER.encode())
            _, reader = read(self.adapter, secret)
            shown = repr(reader.tallies) + repr(reader.self_check()) + encode_cursor(reader.cursor())
            assert MARKER not in shown


_NASTY = [
    b"\n", b"\r\n", b"\0" * 9, b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"}", b"}{", b"[" * 5_000, b'"', b"\\", b'\\"',
    b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\\ud800", b"NaN", b"1e999", b"-0", b"9" * 5_000, b'{"type":"', b",", b"]" * 60,
    b'"type":"response_item",', b'"call_id":"', b"{}\n", b"null\n", b" ", b"\t", b'"exit_code":0,', b"Output:\\n",
]  # fmt: skip


def _json_like() -> st.SearchStrategy[bytes]:
    """Return lines that look like records: known keys and types in any nesting."""
    words = st.sampled_from(
        "type payload timestamp ordinal id call_id output item exit_code command name arguments session_meta"
        " response_item event_msg function_call function_call_output item_completed CommandExecution".split()
    )
    leaves = st.one_of(words, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=6),
        max_leaves=12,
    )
    return st.dictionaries(words, values, max_size=6).map(_dump)


def _dump(value: object) -> bytes:
    import json

    return json.dumps(value, separators=(",", ":")).encode()


def _first(record: Record) -> int:
    return record.lines[0].offset if isinstance(record, ToolResult) else record.offset
