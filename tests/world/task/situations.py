"""Tasks as they stand when a result of suite 4 comes at a hundred seconds: agreed on, and in all ways not."""

from typing import Any

import msgspec

from tests.world.task.story import (
    OTHER_ROUTE,
    SECOND,
    T0,
    TASK,
    Story,
    corrected,
    entry,
    scope_of,
)
from timeline.world.continuation import parse_continuation
from timeline.world.correction import correct
from timeline.world.outcome_contract import CONTRACT_PREDICATE

THEN = {"status": "active", "nextStep": {"id": "step:publish", "summary": "Publish"}}
FINISHED = {"status": "completed", "nextStep": None}


def agreed(**fields: Any) -> Story:
    """A task under way with a contract about its next step, agreed on at ten seconds."""
    story = Story()
    story.begin()
    story.at(10)
    story.agree(**fields)
    story.at(100)
    return story


def contract_value(story: Story, **fields: Any) -> dict[str, Any]:
    """The value of a contract about the step that is next now."""
    step = parse_continuation(story.state().continuations.usable[0].value).next_step
    return {
        "schema": "agentspine.timeline-continuation-outcome-contract/v1",
        "taskId": TASK,
        "step": msgspec.to_builtins(step),
        "measurement": {"testLabel": "suite-4", "total": 12, "successCount": 12},
        "onSuccess": THEN,
        **fields,
    }


def contract_entry(name: str, value: dict[str, Any], **fields: Any) -> Any:
    """An outcome contract by the owner's word, unless fields say otherwise."""
    return entry(name, value, **{"predicate": CONTRACT_PREDICATE, **fields})


def nothing_begun() -> Story:
    """Nobody has said anything."""
    return Story()


def only_suggested() -> Story:
    """A model has suggested a continuation."""
    story = Story()
    story.record(entry("suggestion", kind="model-suggestion"))
    return story


def expired_continuation() -> Story:
    """The continuation ends at the moment of the result."""
    story = Story()
    story.begin(expires_at=T0 + 100 * SECOND)
    story.at(10)
    story.agree()
    story.at(100)
    return story


def shared_continuation() -> Story:
    """The continuation is one that others read."""
    story = Story()
    story.record(entry("shared", scope=scope_of(privacy="shared")))
    return story


def two_continuations() -> Story:
    """Two established continuations differ."""
    story = agreed()
    story.record(entry("rival"))
    return story


def two_equal_continuations() -> Story:
    """Two established continuations say the same."""
    story = Story()
    story.record(entry("one"))
    story.record(entry("two"))
    return story


def imported_rival() -> Story:
    """Another system's record says something else."""
    story = Story()
    story.record(entry("one"))
    story.record(entry("old", {"was": 1}, recorder="import", knowledge=None, origin=None))
    return story


def shared_rival() -> Story:
    """Beside the private continuation stands a shared one."""
    story = Story()
    story.record(entry("one"))
    story.record(entry("two", scope=scope_of(privacy="shared")))
    return story


def no_contract() -> Story:
    """Nothing was agreed on."""
    story = Story()
    story.begin()
    return story


def expired_contract() -> Story:
    """The contract ends at the moment of the result."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), at=T0, expires_at=T0 + 100 * SECOND))
    story.at(100)
    return story


def imported_contract() -> Story:
    """The contract is another system's record."""
    story = Story()
    story.begin()
    story.record(
        contract_entry("contract", contract_value(story), recorder="import", knowledge=None, origin=None)
    )
    return story


def foreign_route_contract() -> Story:
    """The contract was made in another conversation."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), scope=scope_of(route=OTHER_ROUTE)))
    return story


def foreign_project_contract() -> Story:
    """The contract is of another project."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), scope=scope_of(project="/srv/other")))
    return story


def foreign_user_contract() -> Story:
    """The contract is another user's."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), scope=scope_of(user="bob")))
    return story


def foreign_tenant_contract() -> Story:
    """The contract is another tenant's."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), scope=scope_of(tenant="work")))
    return story


def general_contract() -> Story:
    """The contract is of no project."""
    story = Story()
    story.begin()
    story.record(contract_entry("contract", contract_value(story), scope=scope_of(project=None)))
    return story


def two_contracts() -> Story:
    """Two contracts differ."""
    story = agreed()
    story.record(contract_entry("rival", contract_value(story, onSuccess=FINISHED)))
    return story


def two_equal_contracts() -> Story:
    """Two contracts say the same."""
    story = Story()
    story.begin()
    story.record(contract_entry("one", contract_value(story)))
    story.record(contract_entry("two", contract_value(story)))
    return story


def replaced_contract() -> Story:
    """The one that named the present step was replaced by one that names another."""
    story = agreed()
    value = contract_value(story, step={"id": "step:other", "summary": "Run suite 4"})
    story.record(
        contract_entry(
            "newer", value, at=story.now, supersedes=[one[10:] for one in story.state().contracts.ids]
        )
    )
    return story


def other_words() -> Story:
    """The id is the same, what is to be done is not."""
    story = Story()
    story.begin()
    step = {**contract_value(story)["step"], "summary": "Run suite 5"}
    story.record(contract_entry("contract", contract_value(story, step=step)))
    return story


def corrected_since() -> Story:
    """The user has corrected the next step after the contract was made."""
    story = agreed()
    story.at(50)
    story.replace(correct(story.state(), corrected("Wait for the review", at=story.now)))
    story.at(100)
    return story


def open_question() -> Story:
    """Success would complete a task that still asks something."""
    story = Story()
    story.begin(questions=("Which tag?",))
    story.at(10)
    story.agree(status="completed", next_step=None)
    story.at(100)
    return story
