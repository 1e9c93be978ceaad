"""The two schemas of a task are closed at every depth, and nothing that was read or decided can be changed."""

import copy
from typing import Any

import msgspec
import pytest

from tests.world.task.story import ADA, TASK, Story, completed, continuation, entry, verified
from timeline.world import (
    advancing,
    capsules,
    correction,
    outcome_contract,
    owner_task,
    task_context,
    task_state,
)
from timeline.world import continuation as continuations
from timeline.world.errors import AssertionInvalidError

MODULES = (
    advancing,
    capsules,
    continuations,
    correction,
    outcome_contract,
    owner_task,
    task_context,
    task_state,
)

EXAMPLES: dict[str, dict[str, Any]] = {
    "task.continuation": continuation(
        lastVerifiedStep=verified(), openQuestions=[{"id": "question:a", "question": "Which tag?"}]
    ),
    "task.timeline-outcome-contract": {
        "schema": "agentspine.timeline-continuation-outcome-contract/v1",
        "taskId": TASK,
        "step": {"id": "step:suite", "summary": "Run suite 4"},
        "measurement": {"testLabel": "suite-4", "total": 12, "successCount": 12},
        "onSuccess": {"status": "active", "nextStep": {"id": "step:publish", "summary": "Publish"}},
    },
}


def objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects in a value, its own first."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    here = [path] if isinstance(value, dict) else []
    return [*here, *(found for key, part in members for found in objects(part, (*path, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    """The part of a value at a path."""
    for key in path:
        value = value[key]
    return value


PLACES = [
    pytest.param(predicate, path, id=f"{predicate}-{'.'.join(map(str, path)) or 'itself'}")
    for predicate, value in EXAMPLES.items()
    for path in objects(value)
]


@pytest.mark.requirement("W31", "W33", "T52")
@pytest.mark.parametrize(("predicate", "path"), PLACES)
def test_no_object_takes_another_field(predicate: str, path: tuple[Any, ...]) -> None:
    """Also deep inside there is no room for what nobody reads, and so for nothing that somebody hides."""
    value = copy.deepcopy(EXAMPLES[predicate])
    entry(value=value, predicate=predicate)
    at(value, path)["extra"] = None

    with pytest.raises(AssertionInvalidError, match="must hold no other field than those of its schema"):
        entry(value=value, predicate=predicate)


@pytest.mark.requirement("W31", "W33", "T52")
@pytest.mark.parametrize(("predicate", "path"), PLACES)
def test_no_object_lacks_a_field(predicate: str, path: tuple[Any, ...]) -> None:
    """What is not said is null, and stands there."""
    for name in at(EXAMPLES[predicate], path):
        value = copy.deepcopy(EXAMPLES[predicate])
        del at(value, path)[name]

        with pytest.raises(AssertionInvalidError, match=rf"\.{name}: is missing"):
            entry(value=value, predicate=predicate)


@pytest.mark.requirement("W31", "W33", "T52")
@pytest.mark.parametrize(("predicate", "path"), PLACES)
def test_no_text_is_empty(predicate: str, path: tuple[Any, ...]) -> None:
    """Neither ids nor lines."""
    for name, part in at(EXAMPLES[predicate], path).items():
        if isinstance(part, str):
            value = copy.deepcopy(EXAMPLES[predicate])
            at(value, path)[name] = ""

            with pytest.raises(AssertionInvalidError, match=rf"\.{name}: must "):
                entry(value=value, predicate=predicate)


def test_what_was_decided_cannot_be_changed() -> None:
    """All structures are frozen."""
    structs = {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }

    assert len(structs) > 20
    assert [kind for kind in structs if not kind.__struct_config__.frozen] == []


def test_who_has_no_task_has_an_empty_state() -> None:
    """And not that of all tasks together."""
    story = Story()
    story.record(entry())
    story.record(entry("two", completed(), kind="objective-measurement"))

    state = story.state(msgspec.structs.replace(ADA, task=None))

    assert (state.task, state.past) == ("", ())
    for found in (state.continuations, state.contracts):
        assert (found.assertions, found.is_disputed, found.usable, found.sole, found.ids) == (
            (),
            False,
            (),
            None,
            (),
        )
