"""Tables on a terminal of any width: nothing is cut off, ids can be copied, and no text moves the cursor."""

import re
import sys
from typing import Any

import pytest

from sidecars.assertion import AssertionEntry, Recorder
from sidecars.digest import Digest
from timeline.cli.tables import Cell, Table, printable, show_tables, table_lines
from timeline.cli.world_render import value_text
from timeline.world.assertion import Assertion, canonical_text

ID = "assertion:timeline-owner-d029a4cd811e7bcb6ddecac8a2a8bb8d"
ROWS = (
    (
        Cell("●", "good"),
        Cell("service:api deploy.branch"),
        Cell("x" * 200),
        Cell("measured"),
        Cell(ID, "quiet"),
    ),
    (Cell("●", "good"), Cell("service:api a"), Cell('"[bold]no markup[/bold]"'), Cell(""), Cell(ID)),
)
STACKED = (((0,),), ((1, 2), (3,), (4,)))
TABLE = Table("facts", ("", "about", "value", "held on", "assertion"), ROWS, note="a note", stacked=STACKED)


def drawn(capsys: pytest.CaptureFixture[str], *tables: Table) -> list[str]:
    """What a terminal is sent, without its colours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.stdout, "isatty", lambda: True)
        patch.setenv("TERM", "xterm-256color")
        show_tables(tables)
    out, _ = capsys.readouterr()
    return re.sub(r"\x1b\[[0-9;]*m", "", out).split("\n")


@pytest.mark.parametrize("width", [40, 62, 80, 200])
def test_a_table_is_folded_to_the_width_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """From 62 columns on an id stands on one line."""
    monkeypatch.setenv("COLUMNS", str(width))
    lines = drawn(capsys, TABLE)
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    assert text.count("x") == 200
    assert "[bold]nomarkup[/bold]" in text
    assert ID in (text if width < 62 else "\n".join(lines))
    assert lines[0] == "facts"
    assert any("a note" in line for line in lines)


def test_a_list_and_an_empty_table_are_drawn_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One below the other, a line between them."""
    monkeypatch.setenv("COLUMNS", "80")
    fields = Table("one", (), [(Cell("value"), Cell("\x1b[2J\u202e"))])
    lines = [line.rstrip() for line in drawn(capsys, fields, Table("none", ("a",), (), empty="nothing"))]
    assert lines == ["one", "value  \\x1b[2J\\u202e", "", "none", "  nothing", ""]


def test_elsewhere_each_row_is_one_line() -> None:
    """For grep, and whatever a column holds."""
    lines = table_lines([TABLE])
    assert [line.split()[0] for line in lines] == ["facts", "about", "●", "●", "a"]
    assert lines[2].endswith(ID)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä “x”", "plain ä “x”"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202e\u2066\u200b", "\\u202e\\u2066\\u200b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_spelled_out(text: str, shown: str) -> None:
    """And nothing else is changed."""
    assert printable(text) == shown


RESULT = {
    "schema": "agentspine.timeline-objective-result/v1",
    "outcome": "fail",
    "count": {"value": 11, "total": 12},
}
QUOTE = {"schema": "agentspine.timeline-user-feedback/v1", "sourceText": "hm"}
DONE = {"schema": "agentspine.task-continuation/v1", "status": "completed", "nextStep": None}


def recorded(value: Any, predicate: str, recorder: Recorder = "owner") -> Assertion:
    """An assertion as the log could hold it; its rules are not looked at here."""
    entry = AssertionEntry(
        id="assertion:one",
        recorder=recorder,
        subject="task:one",
        predicate=predicate,
        value=canonical_text(value),
        evidence_kind="explicit-user-feedback",
        evidence_id="evidence:one",
        evidence_digest=str(Digest.of(b"one")),
        observed_at=0,
        tenant="local",
        user="ann",
        privacy="private",
    )
    return Assertion(0, 0, entry, value)


@pytest.mark.parametrize(
    ("value", "predicate", "shown"),
    [
        ("main", "deploy.branch", '"main"'),
        (None, "deploy.branch", "null"),
        ({"b": 1.0, "a": []}, "deploy.branch", '{"a":[],"b":1}'),
        (RESULT, "task.timeline-result.pytest", "FAIL, 11 of 12"),
        (RESULT | {"outcome": "pass", "count": None}, "task.timeline-result.pytest", "PASS"),
        (DONE, "task.continuation", "completed"),
        (DONE | {"status": 3}, "task.continuation", None),
        (QUOTE, "task.user-feedback", "“hm”"),
        (QUOTE, "deploy.branch", None),
        ({"schema": ["x"]}, "deploy.branch", '{"schema":["x"]}'),
    ],
)
def test_a_value_is_shown_in_a_few_words_or_as_it_is(value: Any, predicate: str, shown: str | None) -> None:
    """What only looks like one of ours, or stands where nobody has checked it, is shown as JSON."""
    recorder: Recorder = "capture" if "result" in predicate or "feedback" in predicate else "owner"
    said = value_text(recorded(value, predicate, recorder))
    assert said == shown if shown is not None else said == canonical_text(value)


@pytest.mark.requirement("W3", "X13")
@pytest.mark.parametrize("recorder", ["model", "import", "owner"])
def test_what_somebody_else_wrote_is_shown_whole(recorder: Recorder) -> None:
    """Else the owner would confirm, and sign, what he was not shown."""
    value = QUOTE | {"rollout": "skip review"}
    assert "skip review" in value_text(recorded(value, "task.user-feedback", recorder))
