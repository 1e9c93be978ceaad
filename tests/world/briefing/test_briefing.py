"""The short view: bounded whatever stands there, whole or counted, and of suggestions a number."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from tests.world.task.story import ADA, T0, TASK, completed, continuation, scope_of
from tests.world.task.story import entry as task_entry
from timeline.world.assertion import Assertion, Evidence, make_entry, read_assertion
from timeline.world.briefing import BRIEFING_BYTES_MAX, briefing

NOW = T0 + 1_000_000


def log(*entries: Any) -> tuple[Assertion, ...]:
    """The entries as they come from the log."""
    return tuple(read_assertion(leaf, NOW, one) for leaf, one in enumerate(entries))


def fact(name: str, value: Any, *, kind: str = "explicit-user-feedback", at: int = T0, **fields: Any) -> Any:
    """Something that is held of the project, unless it is only suggested."""
    return make_entry(
        **{
            "id": f"assertion:{name}",
            "recorder": "owner" if kind == "explicit-user-feedback" else "model",
            "subject": "project:parser",
            "predicate": f"build.{name}",
            "value": value,
            "evidence": Evidence(kind, f"evidence:{name}", Digest.of(name.encode()), at),  # type: ignore[arg-type]  # one of the kinds
            "scope": scope_of(privacy="shared", route=None),
            **fields,
        }
    )


def told_of(*entries: Any, bytes_max: int = BRIEFING_BYTES_MAX, unread: int = 0) -> dict[str, Any]:
    """The briefing, which fits."""
    told = briefing(log(*entries), ADA, NOW, bytes_max=bytes_max, unread=unread)
    assert len(msgspec.json.encode(told)) <= bytes_max
    assert told["authority"] == "context-only"
    return told


@pytest.mark.requirement("W19", "W28", "W36", "W49", "W61")
def test_a_task_a_dispute_and_a_fact_are_told_apart() -> None:
    """The task with its next step, the fact with its value, the dispute without either value."""
    told = told_of(
        task_entry(),
        fact("tool", "make"),
        fact("color", "green", predicate="build.color"),
        fact("colour", "red", predicate="build.color"),
        fact("idea", "rewrite it all", kind="model-suggestion"),
        unread=7,
    )

    (task,) = told["tasks"]
    assert (task["taskId"], task["status"]) == (TASK, "active")
    assert task["nextStep"] == {"id": "step:suite", "summary": "Run suite 4"}
    assert [(one["predicate"], one["value"]) for one in told["facts"]] == [("build.tool", "make")]
    assert [(one["predicate"], one["values"]) for one in told["conflicts"]] == [("build.color", 2)]
    assert told["counts"] == {"facts": 1, "conflicts": 1, "proposals": 1, "stale": 0}
    assert told["omitted"] == {"tasks": 0, "terminal": 0, "conflicts": 0, "facts": 0, "unread": 7}
    assert told["uncertainty"]["requiresResolution"] is True
    assert "rewrite" not in json.dumps(told)
    assert "green" not in json.dumps(told)


@pytest.mark.requirement("W17", "W28", "W37")
def test_what_is_suggested_replaced_or_stale_is_not_told() -> None:
    """A suggested continuation is none; a number says what has expired."""
    told = told_of(
        task_entry("idea", kind="model-suggestion"),
        fact("old", "sh"),
        fact("new", "make", at=T0 + 1, predicate="build.old", supersedes=("assertion:old",)),
        fact("gone", "yesterday", expires_at=NOW),
    )

    assert told["tasks"] == []
    assert [one["value"] for one in told["facts"]] == ["make"]
    assert told["counts"] == {"facts": 1, "conflicts": 0, "proposals": 1, "stale": 1}


@pytest.mark.requirement("W41", "W49")
def test_the_own_task_comes_first_and_a_completed_one_stands_apart() -> None:
    """However many others are newer."""
    others = [
        task_entry(
            f"other-{number}",
            continuation(taskId=f"task:other-{number}"),
            subject=f"task:other-{number}",
            at=T0 + number,
        )
        for number in range(1, 12)
    ]
    done = task_entry("done", completed(), kind="objective-measurement")

    told = told_of(*others, done, bytes_max=100_000)

    (own,) = told["terminal"]
    assert (own["taskId"], own["status"], own["nextStep"]) == (TASK, "completed", None)
    assert {task["status"] for task in told["tasks"]} == {"active"}
    assert len(told["tasks"]) + told["omitted"]["tasks"] == 11
    (kept,) = told_of(*others, done, bytes_max=1300)["terminal"]
    assert kept["taskId"] == TASK


@pytest.mark.requirement("W28", "W49")
def test_facts_about_the_own_task_come_before_newer_ones() -> None:
    """What does not fit is what bears on the session least."""
    told = told_of(
        fact("mine", 1, subject=TASK, predicate="task.note"),
        fact("newer", 2, at=T0 + 5),
        fact("newest", 3, at=T0 + 9),
    )

    assert [one["value"] for one in told["facts"]] == [1, 3, 2]


@pytest.mark.requirement("W28")
def test_a_task_that_is_too_long_loses_whole_fields_by_name() -> None:
    """Nothing is cut in the middle: the questions go first, and the status never."""
    long = "ä" * 500
    questions = [{"id": f"question:{n}", "question": "ä" * 300} for n in range(8)]
    one = task_entry(
        "long",
        continuation(objective=long, openQuestions=questions, nextStep={"id": "step:a", "summary": long}),
    )

    (most,) = told_of(one)["tasks"]
    (least,) = told_of(one, bytes_max=1000)["tasks"]

    assert most["fieldsOmitted"] == ["openQuestions"]
    assert (most["objective"], most["nextStep"]["summary"]) == (long, long)
    assert least["fieldsOmitted"] == ["openQuestions", "objective", "lastVerifiedStep", "nextStep"]
    assert (least["taskId"], least["status"]) == (TASK, "active")


@pytest.mark.requirement("W28")
@given(
    values=st.lists(st.text(max_size=300) | st.integers(0, 9), max_size=30),
    bytes_max=st.integers(900, 6000),
)
def test_any_briefing_fits_and_counts_what_it_left_out(values: list[Any], bytes_max: int) -> None:
    """Facts are whole, each as it is held."""
    held = {f"build.f{number}": value for number, value in enumerate(values)}

    told = told_of(
        task_entry(),
        *(fact(name.removeprefix("build."), value) for name, value in held.items()),
        bytes_max=bytes_max,
    )

    assert all(held[one["predicate"]] == one["value"] for one in told["facts"])
    assert len(told["facts"]) + told["omitted"]["facts"] == told["counts"]["facts"] == len(held)
    assert len(told["tasks"]) + told["omitted"]["tasks"] == 1


def test_a_bound_that_holds_nothing_is_our_own_mistake() -> None:
    """A briefing that is cut is none."""
    with pytest.raises(ValueError, match="needs more"):
        briefing((), ADA, NOW, bytes_max=100)
