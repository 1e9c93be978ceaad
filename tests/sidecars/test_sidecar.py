"""``sidecar``: a header and its events, accounted for."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.errors import DigestMismatchError, MalformedError, SidecarError, UnsupportedVersionError
from sidecars.event import format_event
from sidecars.identity import canonical_bytes, strict_loads
from sidecars.merkle import EMPTY_ROOT, inclusion_proof, leaf_hash, verify_inclusion
from sidecars.sidecar import (
    CHUNK_BYTES,
    CURSOR_BYTES_MAX,
    EVENTS_MAX,
    HEADER_BYTES_MAX,
    SPAN_BYTES_MAX,
    Bounds,
    SidecarHeader,
    Tallies,
    format_sidecar,
    parse_header,
    parse_sidecar,
    span_chunks,
)
from tests.sidecars.samples import digest_text, make_event, make_header, make_statement


@given(st.sets(st.integers(0, 40), max_size=12))
def test_a_sidecar_comes_back_unchanged_and_each_event_stands_at_its_range(places: set[int]) -> None:
    """Payload and value are inverse; each range cuts out one event line, which proves under the header's root."""
    events = [make_event(200 * place) for place in sorted(places)]
    payload, sidecar = format_sidecar(make_header(200 * 41), events)
    assert parse_sidecar(payload) == sidecar
    assert sidecar.header.count == len(events)
    root = Digest.parse(sidecar.header.root).raw
    for number, (event, place) in enumerate(zip(events, sidecar.ranges, strict=True)):
        line = payload[place.offset : place.offset + place.length]
        assert line == format_event(event)
        proof = inclusion_proof(sidecar.leaf_hashes, number)
        verify_inclusion(leaf_hash(line), number, len(events), proof, root)


def test_an_empty_sidecar_has_the_empty_root() -> None:
    """A span without results is stated as such, not left out."""
    payload, sidecar = format_sidecar(make_header(), [])
    assert payload.count(b"\n") == 1
    assert Digest.parse(sidecar.header.root).raw == EMPTY_ROOT
    assert parse_header(payload[:-1]) == sidecar.header


def changed_lines(change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    """Give a payload of four events with its lines changed."""
    payload, _ = format_sidecar(make_header(), [make_event(200 * place) for place in range(4)])
    return b"\n".join([*change(payload.split(b"\n")[:-1]), b""])


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:-1],
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [*lines, lines[-1]],
        lambda lines: [*lines, format_event(make_event(800))],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [*lines[:4], format_event(make_event(600, passed=4, total=4))],
        lambda lines: [*lines, b""],
        lambda lines: lines[:1],
    ],
)
def test_a_missing_added_changed_or_moved_event_is_noticed(
    change: Callable[[list[bytes]], list[bytes]],
) -> None:
    """Count and root account for every event, in order."""
    with pytest.raises(DigestMismatchError):
        parse_sidecar(changed_lines(change))


@pytest.mark.parametrize("count", [0, 3, 5])
def test_a_count_that_is_not_that_of_the_lines_is_noticed(count: int) -> None:
    """The root alone does not excuse a wrong count."""
    payload = changed_lines(lambda lines: lines).replace(b'"count":4', b'"count":%d' % count)
    with pytest.raises(DigestMismatchError, match="exactly as many"):
        parse_sidecar(payload)


def test_a_header_longer_than_the_bound_is_refused_unread() -> None:
    """Size is checked before anything is decoded."""
    with pytest.raises(MalformedError, match="header must be at most"):
        parse_header(b" " * (HEADER_BYTES_MAX + 1))


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    """A span has a length, from nothing to the bound."""
    with pytest.raises(MalformedError, match="must cover"):
        format_sidecar(make_header(100, start=200, segment=1, chunks=()), [])


def test_every_pair_of_events_that_is_swapped_is_noticed() -> None:
    """Whichever two event lines change places, the root no longer fits."""
    for first in range(1, 5):
        for second in range(first + 1, 5):

            def swap(lines: list[bytes], first: int = first, second: int = second) -> list[bytes]:
                lines[first], lines[second] = lines[second], lines[first]
                return lines

            with pytest.raises(DigestMismatchError):
                parse_sidecar(changed_lines(swap))


@pytest.mark.requirement("T2")
@pytest.mark.parametrize(
    "change",
    [
        {"schema": "timeline-sidecar/v1 "},
        {"origin": "has space"},
        {"origin": "a+b"},
        {"nonce": "3D" * 16},
        {"nonce": "3d" * 15},
        {"source": "source:xyz"},
        {"source": "/srv/u/.codex/sessions/rollout.jsonl"},
        {"host": "two words"},
        {"format": "free text here"},
        {"segment": -1},
        {"start": 1},
        {"end": SPAN_BYTES_MAX + 1},
        {"chunks": ()},
        {"chunks": (digest_text(0), digest_text(1))},
        {"chunks": ("A" * 44,)},
        {"understanding": "fully"},
        {"tallies": Tallies(records=-1)},
        {"tallies": Tallies(unknown_types=("b", "a"))},
        {"tallies": Tallies(unknown_types=("a", "a"))},
        {"tallies": Tallies(unknown_types=("a prompt with words",))},
        {"tallies": Tallies(unknown_types=tuple(f"t{number:02}" for number in range(17)))},
        {"cursor": "with space"},
        {"cursor": "ümlaut"},
        {"cursor": "\n"},
        {"cursor": "c" * (CURSOR_BYTES_MAX + 1)},
        {"evicted": -1},
        {"messages_from": 0},
        {"messages_from": -1},
        {"messages_from": None},
        {"user_messages": 0},
        {"user_messages": None},
    ],
)
def test_a_header_against_a_rule_is_refused(change: dict[str, Any]) -> None:
    """Neither in memory nor read does a header take another form, a path or prose."""
    header = msgspec.structs.replace(make_header(), **change)
    with pytest.raises(MalformedError):
        format_sidecar(header, [])
    value: Any = strict_loads(format_sidecar(make_header(), [])[0])
    value |= msgspec.to_builtins(change)
    with pytest.raises(MalformedError):
        parse_header(canonical_bytes(value))


@pytest.mark.parametrize(
    "missing",
    [
        field.name
        for field in msgspec.structs.fields(SidecarHeader)
        if field.name not in {"messages_from", "user_messages"}
    ],
)
def test_a_header_without_one_of_its_fields_is_refused(missing: str) -> None:
    """Every field is written, so leaving one out is not a default but another format."""
    value: Any = strict_loads(format_sidecar(make_header(), [])[0])
    del value[missing]
    with pytest.raises(MalformedError):
        parse_header(canonical_bytes(value))


def test_events_outside_the_rules_of_their_header_are_refused() -> None:
    """Order, repeats, lines past the span, evicted places, and ids of another source are refused."""
    for header, events in (
        (make_header(), [make_event(200), make_event(0)]),
        (make_header(), [make_event(0), make_event(0)]),
        (make_header(149), [make_event(0)]),
        (make_header(keeps_from=1), [make_event(0)]),
        (make_header(messages_from=1, user_messages=1), [make_statement(0)]),
        (make_header(), [make_statement(0)]),
        (make_header(user_messages=1), [make_statement(0), make_statement(100)]),
        (make_header(source="source:" + "ff" * 16), [make_event(0)]),
        (make_header(), [make_event(0, id="timeline-event:" + "0" * 32)]),
    ):
        with pytest.raises(MalformedError):
            format_sidecar(header, events)


def test_a_call_line_may_stand_before_the_span() -> None:
    """A call of the span before gets its result in this one: only the end is a border."""
    header = make_header(400, start=100, segment=1)
    assert len(parse_sidecar(format_sidecar(header, [make_event(50)])[0]).events) == 1


def test_chunks_are_counted_from_the_start() -> None:
    """One digest for each 256 KiB, the last one shorter, none for an empty span."""
    for start, end, count in ((0, 0, 0), (0, 1, 1), (5, 5 + CHUNK_BYTES, 1), (5, 6 + CHUNK_BYTES, 2)):
        assert span_chunks(start, end) == count
    full = make_header(SPAN_BYTES_MAX)
    assert len(format_sidecar(full, [])[1].header.chunks) == 64


@pytest.mark.requirement("T34")
def test_more_events_than_the_bound_are_refused() -> None:
    """4,096 events are kept at most, on the way in and on the way out."""
    events = [make_event(200 * place) for place in range(EVENTS_MAX + 1)]
    header = make_header(200 * (EVENTS_MAX + 1))
    payload, sidecar = format_sidecar(header, events[:-1])
    assert sidecar.header.count == EVENTS_MAX
    with pytest.raises(MalformedError):
        format_sidecar(header, events)
    with pytest.raises(SidecarError):
        parse_sidecar(payload + format_event(events[-1]) + b"\n")


@pytest.mark.requirement("T33")
def test_user_messages_have_a_bound_of_their_own() -> None:
    """256 at most, above their own place; the bound of the other events is not theirs, nor theirs the others'."""
    statements = [make_statement(100 * place) for place in range(257)]
    header = make_header(100 * 257, user_messages=256)
    assert format_sidecar(header, statements[1:])[1].header.count == 256
    with pytest.raises(MalformedError):
        format_sidecar(msgspec.structs.replace(header, user_messages=300), statements)
    apart = make_header(400, keeps_from=150, user_messages=1)
    payload, _ = format_sidecar(apart, [make_statement(0), make_statement(200, kind="correction")])
    assert len(parse_sidecar(payload).events) == 2
    below = make_header(messages_from=150, user_messages=1)
    assert format_sidecar(below, [make_event(0), make_statement(300)])[1].header.count == 2
    with pytest.raises(MalformedError):
        format_sidecar(apart, [make_statement(0, kind="correction")])


def test_a_header_without_user_messages_is_spelled_as_ever() -> None:
    """Neither bound nor count is written until there is one, so that older sidecars keep their bytes."""
    payload, _ = format_sidecar(make_header(), [make_event(0)])
    assert b"messages_from" not in payload
    assert b"user_messages" not in payload
    assert parse_sidecar(payload).header.bounds == Bounds(0, 0)


def test_a_newer_sidecar_is_told_apart_from_rubbish() -> None:
    """A reader can say that the program is too old."""
    payload, _ = format_sidecar(make_header(), [])
    with pytest.raises(UnsupportedVersionError):
        parse_sidecar(payload.replace(b"timeline-sidecar/v1", b"timeline-sidecar/v2"))


def test_a_malformed_event_is_named_by_its_number() -> None:
    """The one bad line is found by the message, without its content."""
    good = format_event(make_event(0))
    bad = good.replace(b'"shell"', b'"spoon"')
    payload, sidecar = format_sidecar(make_header(), [make_event(0)])
    root = str(Digest(leaf_hash(bad)))
    forged = payload.replace(good, bad).replace(sidecar.header.root.encode(), root.encode())
    with pytest.raises(MalformedError, match=r"sidecar event 0: .*\$\.tool") as caught:
        parse_sidecar(forged)
    assert "spoon" not in caught.value.rule
