"""``event``: what can be kept, and that nothing else can."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError, NonCanonicalError
from sidecars.event import EVENT_BYTES_MAX, Event, EventLine, Outcome, event_id, format_event, parse_event
from sidecars.identity import canonical_bytes
from tests.sidecars.samples import SOURCE, digest_text, make_event, make_lines, make_statement

FREE_TEXT = (
    "two words",
    "line\nbreak",
    "UPPER",
    "ümlaut",
    "a" * 65,
    "",
    "-x",
    "a/b",
    "ghp_" + "A1" * 18,
    "password=hunter2",
    "pytest\n",
)
COUNTS = (
    "passed", "failed", "errors", "skipped", "warnings", "total", "packages_ok", "packages_failed", "duration_ms",
)  # fmt: skip


def as_json(event: Event) -> dict[str, Any]:
    """Give an event as plain JSON to change."""
    value: dict[str, Any] = json.loads(format_event(event))
    return value


@given(
    offset=st.integers(0, 2**40),
    outcome=st.sampled_from(Outcome),
    counts=st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTS, st.integers(0, INTEGER_MAX))),
    flags=st.sets(st.sampled_from(["conflict", "inconsistent", "masked", "partial", "truncated"])),
    code=st.none() | st.integers(-(2**31), 2**32 - 1),
)
def test_an_event_comes_back_unchanged_and_in_rfc_8785_form(
    offset: int, outcome: Outcome, counts: dict[str, int], flags: set[str], code: int | None
) -> None:
    """Line and value are inverse, and the line is canonical JSON."""
    event = make_event(offset, outcome=outcome, flags=tuple(sorted(flags)), exit_code=code, **counts)
    line = format_event(event)
    assert parse_event(line) == event
    assert canonical_bytes(json.loads(line)) == line
    assert b"\n" not in line


def test_the_longest_event_fits() -> None:
    """Every field at its longest stays below the bound."""
    big = INTEGER_MAX - 1000
    lines = tuple(EventLine("output", big + 10 * place, 5, digest_text(place)) for place in range(4))
    event = make_event(
        lines=lines,
        label="l" * 64,
        runner="r" * 64,
        flags=("conflict", "inconsistent", "masked", "partial", "truncated"),
        outcome=Outcome.CANCELLED,
        at=253_402_300_799_999,
        exit_code=2**32 - 1,
        **dict.fromkeys(COUNTS, INTEGER_MAX),
    )
    assert len(format_event(event)) < EVENT_BYTES_MAX


@pytest.mark.requirement("T2")
@pytest.mark.parametrize("text", FREE_TEXT)
@pytest.mark.parametrize(
    "field", ["runner", "label", "tool", "id", "kind", "binding", "outcome", "fingerprint"]
)
def test_no_field_takes_free_text(field: str, text: str) -> None:
    """Prose, secrets, paths and controls fit into no field of an event, whether made in memory or read."""
    event = msgspec.structs.replace(make_event(), **{field: text})
    with pytest.raises(MalformedError):
        format_event(event)
    changed = as_json(make_event()) | {field: text}
    with pytest.raises(MalformedError):
        parse_event(canonical_bytes(changed))


@pytest.mark.requirement("T2")
def test_every_string_of_an_event_is_bounded() -> None:
    """The schema itself leaves no string without a pattern or a closed set, so no field can be forgotten."""
    schema = msgspec.json.schema(Event)
    open_strings: list[Any] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if node.get("type") == "string" and not ({"pattern", "enum"} & node.keys()):
                open_strings.append(node)
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(schema)
    assert open_strings == []


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": 1},
        {"text": "x"},
        {"passed": -1},
        {"passed": 1.0},
        {"passed": True},
        {"passed": "1"},
        {"passed": INTEGER_MAX + 1},
        {"passed": None},
        {"flags": []},
        {"flags": ["masked", "conflict"]},
        {"flags": ["masked", "masked"]},
        {"flags": ["other"]},
        {"lines": []},
        {"lines": [["call", 0, 1, digest_text(number)] for number in range(5)]},
        {"lines": [["call", 0, 1, digest_text(0), "more"]]},
        {"lines": [["call", 0, 1]]},
        {"lines": [["other", 0, 1, digest_text(0)]]},
        {"lines": [["call", -1, 1, digest_text(0)]]},
        {"lines": [["call", 100, 1, digest_text(0)], ["output", 0, 1, digest_text(1)]]},
        {"lines": [["call", 0, 100, digest_text(0)], ["output", 100, 1, digest_text(1)]]},
        {"lines": [["call", INTEGER_MAX, 1, digest_text(0)]]},
        {"lines": [["call", 0, 1, "A" * 43 + "="]]},
        {"fingerprint": "A" * 21 + "B"},
        {"at": -1},
        {"at": 253_402_300_800_000},
        {"exit_code": 2**32},
    ],
)
def test_an_event_against_a_rule_is_refused(change: dict[str, Any]) -> None:
    """Unknown fields, wrong types, defaults written out, bounds, order and overlap are refused."""
    line = json.dumps(as_json(make_event()) | change, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(MalformedError):
        parse_event(line)


@pytest.mark.requirement("T35")
@pytest.mark.parametrize("kind", ["user-message", "correction"])
def test_a_statement_is_a_place_and_nothing_else(kind: str) -> None:
    """It has one line with its own role, a time or none, and none of the fields of a run; a run has all of its own."""
    event = make_statement(kind=kind)
    assert parse_event(format_event(event)) == event
    assert (event.is_statement, event.run) == (True, None)
    assert set(as_json(event)) == {"at", "id", "kind", "lines"}
    run = as_json(make_event())
    for name in run.keys() - {"at", "id", "kind", "lines"} | {"label", "flags", "text", "length", "terms"}:
        with pytest.raises(MalformedError):
            parse_event(canonical_bytes(as_json(event) | {name: run.get(name, "a")}))
    for fields in ({"exit_code": 0}, {"passed": 0}, {"flags": ("masked",)}, {"outcome": Outcome.PASS}):
        with pytest.raises(MalformedError):
            format_event(msgspec.structs.replace(event, **fields))
    for name in ("tool", "runner", "binding", "outcome", "fingerprint"):
        with pytest.raises(MalformedError):
            parse_event(canonical_bytes({key: value for key, value in run.items() if key != name}))
        with pytest.raises(MalformedError):
            format_event(msgspec.structs.replace(make_event(), **{name: None}))


@pytest.mark.requirement("T35")
@pytest.mark.parametrize(
    "lines",
    [
        (EventLine("call", 0, 9, digest_text(0)),),
        (EventLine("prompt", 0, 9, digest_text(0), 1),),
        (EventLine("prompt", 0, 9, digest_text(0)), EventLine("prompt", 20, 9, digest_text(1))),
    ],
)
def test_a_statement_has_one_whole_line(lines: tuple[EventLine, ...]) -> None:
    """No other role, no part of a line, no second line; and no run rests on a prompt."""
    with pytest.raises(MalformedError):
        format_event(make_statement(lines=lines))
    with pytest.raises(MalformedError):
        format_event(make_event(lines=(EventLine("prompt", 0, 9, digest_text(0)),)))


def test_another_spelling_of_an_event_is_refused() -> None:
    """Spaces, other key orders, escapes and duplicate keys spell the same value twice."""
    line = format_event(make_event())
    for wrong in (
        line.replace(b":", b": ", 1),
        b" " + line,
        line + b" ",
        line.replace(b"pytest", b"p\\u0079test"),
        line.replace(b'"tool":"shell"', b'"tool":"shell","tool":"shell"'),
        json.dumps(dict(reversed(as_json(make_event()).items())), separators=(",", ":")).encode(),
    ):
        with pytest.raises(NonCanonicalError):
            parse_event(wrong)


def test_an_event_longer_than_the_bound_is_refused_unread() -> None:
    """Size is checked before anything is decoded."""
    with pytest.raises(MalformedError, match="at most"):
        parse_event(b" " * (EVENT_BYTES_MAX + 1))


def test_absence_is_not_a_value() -> None:
    """A number that was not printed is left out of the line and is ``None``, not zero."""
    event = make_event(passed=None, exit_code=None)
    assert b"passed" not in format_event(event)
    assert parse_event(format_event(event)).exit_code is None


def test_an_id_depends_on_source_place_and_content_alone() -> None:
    """Another source, offset, length or digest gives another id; the role of a line does not."""
    lines = make_lines(0)
    base = event_id(SOURCE, lines)
    first = lines[0]
    others = {
        event_id("source:" + "ff" * 16, lines),
        event_id(SOURCE, lines[:1]),
        event_id(SOURCE, (EventLine("call", 1, first.length, first.sha256), lines[1])),
        event_id(SOURCE, (EventLine("call", 0, first.length - 1, first.sha256), lines[1])),
        event_id(SOURCE, (EventLine("call", 0, first.length, digest_text("x")), lines[1])),
    }
    assert len(others) == 5
    assert base not in others
    assert event_id(SOURCE, (EventLine("item", 0, first.length, first.sha256), lines[1])) == base


def test_a_refusal_never_quotes_the_value() -> None:
    """A marker in a field is not repeated by the message."""
    line = format_event(make_event()).replace(b"pytest", b"MARKER 4711")
    with pytest.raises(MalformedError) as caught:
        parse_event(line)
    assert "4711" not in caught.value.rule
    assert "$.runner" in caught.value.rule


def test_an_event_id_is_that_of_the_canonical_identity() -> None:
    """The fast encoder gives the bytes of RFC 8785, which rfc8785 itself confirms."""
    event = make_event(7)
    identity = {
        "lines": [[line.offset, line.length, line.sha256, line.part] for line in event.lines],
        "schema": "timeline-event-id/v1",
        "source": SOURCE,
    }
    expected = hashlib.sha256(rfc8785.dumps(identity)).hexdigest()[:32]
    assert event_id(SOURCE, event.lines) == f"timeline-event:{expected}"
