"""``closed``: the second reading of events and leaves accepts exactly what the first one does."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecars.closed import canonical_json, event_id, read_event, read_leaf
from sidecars.errors import SidecarError
from sidecars.event import EVENT_BYTES_MAX, Outcome, format_event, parse_event
from sidecars.event import event_id as compiled_event_id
from sidecars.identity import strict_loads
from sidecars.leaf import Kind, format_leaf, parse_leaf
from tests.sidecars.samples import SOURCE, digest_text, make_enrollment, make_event, make_statement
from tests.sidecars.simulator import REVOCATION, LogSimulator, entry, key_epoch, policy

LOG = LogSimulator()
EVENTS = [
    format_event(make_event(0)),
    format_event(
        make_event(
            7,
            label="unit",
            failed=0,
            errors=1,
            skipped=2,
            warnings=3,
            packages_ok=4,
            packages_failed=5,
            duration_ms=6,
            exit_code=-9,
            flags=("masked", "partial"),
            outcome=Outcome.UNKNOWN,
        )
    ),
    format_event(make_statement(3)),
    format_event(make_statement(4, kind="correction", at=None)),
]
LEAVES = {
    Kind.POLICY: format_leaf(LOG.make_leaf(policy(), 2, 1)),
    Kind.KEY_EPOCH: format_leaf(LOG.make_leaf(key_epoch(), 2, 1)),
    Kind.SIDECAR: format_leaf(LOG.make_leaf(entry("a"), 1, 4)),
}


def verdict(read: Callable[[bytes], object], raw: bytes) -> str | None:
    """Give the reason of the refusal, ``None`` where there is none."""
    try:
        read(raw)
    except SidecarError as error:
        return error.reason
    return None


def agree(first: Callable[[bytes], object], second: Callable[[bytes], object], raw: bytes) -> None:
    """Both accept, or both refuse."""
    assert (verdict(first, raw) is None) == (verdict(second, raw) is None), raw


def parse_as(kind: Kind) -> Callable[[bytes], object]:
    """The compiled reading of a kind of leaf."""
    return lambda raw: parse_leaf(raw, kind)


def read_as(kind: Kind) -> Callable[[bytes], object]:
    """The plain reading of the same."""
    return lambda raw: read_leaf(raw, str(kind))


def test_good_examples_are_read_by_both() -> None:
    """What is damaged below is good."""
    for raw in EVENTS:
        assert canonical_json(read_event(raw)) == raw == format_event(parse_event(raw))
        assert event_id(SOURCE, read_event(raw)) == compiled_event_id(SOURCE, parse_event(raw).lines)
    for kind, raw in LEAVES.items():
        assert canonical_json(read_leaf(raw, str(kind))) == raw == format_leaf(parse_leaf(raw, kind))


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("epoch", [0, 1, 2])
@pytest.mark.parametrize("reason", ["first", "rotation", "lost", "compromised", "stolen", "", None])
def test_the_first_epoch_and_no_other_is_called_first(epoch: int, reason: str | None) -> None:
    """A change of the key says why; the beginning changes none."""
    leaf: Any = strict_loads(LEAVES[Kind.KEY_EPOCH])
    leaf["body"] |= {"epoch": epoch, "reason": reason}
    raw = canonical_json(leaf)
    fine = reason == "first" if epoch == 0 else reason in {"rotation", "lost", "compromised"}
    for read in (parse_as(Kind.KEY_EPOCH), read_as(Kind.KEY_EPOCH)):
        assert (verdict(read, raw) is None) == fine


def test_another_kind_is_refused() -> None:
    """A leaf is read as the kind that was signed, and a kind that no proof shows is not read at all."""
    for kind, raw in LEAVES.items():
        for other in Kind:
            assert (verdict(read_as(other), raw) is None) == (kind is other)
    for body in (make_enrollment(), REVOCATION):
        leaf = LOG.make_leaf(body, 2, 1)
        assert verdict(read_as(leaf.kind), format_leaf(leaf)) == "payload-type-mismatch"


_VALUES = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        5,
        256,
        257,
        4096,
        4097,
        2**31,
        -(2**31),
        -(2**31) - 1,
        2**32 - 1,
        2**32,
        2**53 - 1,
        2**53,
        -(2**53),
        253_402_300_799_999,
        253_402_300_800_000,
        1.0,
        1.5,
        "",
        "a",
        "A",
        "a" * 64,
        "a" * 65,
        "a\n",
        "é",
        "\ud800",
        "pass",
        "unknown",
        "policy",
        "first",
        "rotation",
        "source:" + "0" * 32,
        "timeline-event:" + "0" * 32,
        "A" * 22,
        "A" * 21 + "B",
        digest_text("x"),
        digest_text("x")[:-1] + "B",
        [],
        ["masked"],
        ["partial", "masked"],
        ["masked", "masked"],
        [["call", 0, 1, digest_text("x"), 0]],
        [["call", 0, 1, digest_text("x")]],
        [["call", 0, 1, digest_text("x"), 0, 0]],
        [["call", 0, 1, digest_text("x"), 0], ["output", 1, 1, digest_text("x"), 0]],
        [["call", 0, 1, digest_text("x"), 0], ["output", 2, 1, digest_text("x"), 0]],
        [["call", 2**53 - 1, 1, digest_text("x"), 0]],
        [["call", 9 * n, 1, digest_text("x"), 0] for n in range(7)],
        sorted({digest_text(n) for n in range(3)}),
        sorted({digest_text(n) for n in range(3)}, reverse=True),
        {},
        {"kind": "policy"},
    ]
)


@st.composite
def changed_objects(draw: st.DrawFn, good: bytes) -> bytes:
    """Give a good object with fields set, taken away, added or spelled otherwise."""
    value: Any = strict_loads(good)
    for _ in range(draw(st.integers(1, 3))):
        place = value["body"] if "body" in value and draw(st.booleans()) else value
        if not isinstance(place, dict) or not place:
            continue
        name = draw(st.sampled_from([*sorted(place), "flags", "label", "exit_code", "other", "at", "é"]))
        if draw(st.integers(0, 4)) == 0:
            place.pop(name, None)
        else:
            place[name] = draw(_VALUES)
    try:
        raw = canonical_json(value)
    except (SidecarError, UnicodeEncodeError):
        return good
    if draw(st.integers(0, 5)) == 0:
        old, new = draw(
            st.sampled_from(
                [(b",", b", "), (b"{", b'{"id":1,'), (b"0", b"0.0"), (b"1", b"1e0"), (b'"a', b'"\\u0061')]
            )
        )
        raw = raw.replace(old, new, 1)
    return raw


def with_lines(*lines: list[object]) -> bytes:
    """Give a good event with other lines; its id is not looked at here."""
    value: Any = strict_loads(EVENTS[0])
    return canonical_json(value | {"lines": list(lines)})


@pytest.mark.parametrize(
    ("raw", "accepted"),
    [
        (with_lines(["call", 0, 1, digest_text("x"), 0]), True),
        (with_lines(["call", 0, 1, digest_text("x"), 0], ["output", 2, 1, digest_text("x"), 3]), True),
        (with_lines(["call", 0, 1, digest_text("x"), 0], ["output", 1, 1, digest_text("x"), 0]), False),
        (with_lines(["call", 5, 1, digest_text("x"), 0], ["output", 1, 1, digest_text("x"), 0]), False),
        (with_lines(["call", 2**53 - 2, 1, digest_text("x"), 0]), True),
        (with_lines(["call", 2**53 - 1, 1, digest_text("x"), 0]), False),
        (with_lines(["call", True, 1, digest_text("x"), 0]), False),
        (with_lines(["call", 0, 1, digest_text("x")]), False),
        (with_lines(), False),
    ],
)
def test_the_places_of_an_event_are_in_order_for_both(raw: bytes, *, accepted: bool) -> None:
    """File order, no overlap, and ends that every JSON reader keeps exactly."""
    assert (verdict(parse_event, raw) is None, verdict(read_event, raw) is None) == (accepted, accepted)


@given(st.sampled_from(EVENTS).flatmap(changed_objects))
@example(b"null")
@example(b"[]")
@example(b"[" * 5000)
@example(b"x" * (EVENT_BYTES_MAX + 1))
@example(EVENTS[0].replace(b'"passed":3,', b'"passed":null,'))
@example(EVENTS[0].replace(b'"exit_code":0,', b'"exit_code":0,"flags":[],').replace(b'"label"', b'"label"'))
def test_both_readings_of_an_event_agree(raw: bytes) -> None:
    """Whatever a field is changed to, both accept it or both refuse it."""
    agree(parse_event, read_event, raw)


@pytest.mark.parametrize("kind", sorted(LEAVES))
@given(data=st.data())
def test_both_readings_of_a_leaf_agree(kind: Kind, data: st.DataObject) -> None:
    """The same for the three kinds that a proof shows."""
    raw = data.draw(changed_objects(LEAVES[kind]))
    agree(parse_as(kind), read_as(kind), raw)


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_with_a_declared_error(raw: bytes) -> None:
    """Random bytes are no event and no leaf."""
    assert verdict(read_event, raw) is not None
    assert verdict(read_as(Kind.POLICY), raw) is not None
