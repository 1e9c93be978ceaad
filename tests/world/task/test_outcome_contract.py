"""The value of an outcome contract, and the assertion that may carry it."""

from typing import Any

import msgspec
import pytest

from tests.world.task.story import ROUTE, T0, TASK, entry, scope_of
from timeline.world.assertion import canonical_text, read_assertion
from timeline.world.errors import AssertionInvalidError, WorldStateError
from timeline.world.outcome_contract import CONTRACT_PREDICATE, format_contract, parse_contract

ONE_LINE = "must be one printable line that shows something, without space at its ends"


def contract(**fields: Any) -> dict[str, Any]:
    """The value of a contract: when suite 4 passes, publish."""
    return {
        "schema": "agentspine.timeline-continuation-outcome-contract/v1",
        "taskId": TASK,
        "step": {"id": "step:suite", "summary": "Run suite 4"},
        "measurement": {"testLabel": "suite-4", "total": 12, "successCount": 12},
        "onSuccess": {"status": "active", "nextStep": {"id": "step:publish", "summary": "Publish"}},
        **fields,
    }


def measurement(label: Any = "suite-4", total: Any = 12, success: Any = 12) -> dict[str, Any]:
    """Which result counts."""
    return {"testLabel": label, "total": total, "successCount": success}


def then(status: str = "active", next_step: Any = None) -> dict[str, Any]:
    """Where success leads."""
    return {"status": status, "nextStep": next_step}


def agreement(value: Any = None, **fields: Any) -> Any:
    """An outcome contract as an assertion."""
    return entry(
        "contract", contract() if value is None else value, **{"predicate": CONTRACT_PREDICATE, **fields}
    )


PUBLISH = {"id": "step:publish", "summary": "Publish"}
VALID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("to another step", contract()),
    ("to a pause", contract(onSuccess=then("paused", PUBLISH))),
    ("to the end", contract(onSuccess=then("completed"))),
    ("without counts", contract(measurement=measurement("ruff", None, None))),
    ("with fewer than all", contract(measurement=measurement(success=10))),
    ("with none of one", contract(measurement=measurement(total=1, success=0))),
)

INVALID: tuple[tuple[str, Any, str], ...] = (
    ("a list", [], "field value: must be an object of its schema"),
    ("another schema", contract(schema="x"),
     "field value.schema: must be agentspine.timeline-continuation-outcome-contract/v1"),
    ("an unknown field", contract(retry=3), "field value: must hold no other field than those of its schema"),
    ("no step", contract(step=None), "field value.step: must be an object of its schema"),
    ("a step of two lines", contract(step={"id": "step:a", "summary": "a\nb"}),
     f"field value.step.summary: {ONE_LINE}"),
    ("a label in prose", contract(measurement=measurement("Suite 4")),
     "field value.measurement.testLabel: must be a label such as suite-4, or a runner"),
    ("no label", contract(measurement=measurement(None)),
     "field value.measurement.testLabel: must be a label such as suite-4, or a runner"),
    ("a total alone", contract(measurement=measurement(success=None)),
     "field value.measurement: total and successCount must come together or not at all"),
    ("a success count alone", contract(measurement=measurement(total=None)),
     "field value.measurement: total and successCount must come together or not at all"),
    ("more than all", contract(measurement=measurement(success=13)),
     "field value.measurement.successCount: must not be more than total"),
    ("all of none", contract(measurement=measurement(total=0, success=0)),
     "field value.measurement.total: must be at least 1"),
    ("less than none", contract(measurement=measurement(success=-1)),
     "field value.measurement.successCount: must be a count or null"),
    ("a truth as a count", contract(measurement=measurement(total=True)),
     "field value.measurement.total: must be a count or null"),
    ("a fraction", contract(measurement=measurement(total=1.5)),
     "field value.measurement.total: must be a count or null"),
    ("to a block", contract(onSuccess=then("blocked", PUBLISH)),
     "field value.onSuccess.status: must be active, paused or completed"),
    ("to nowhere", contract(onSuccess=then("active")),
     "field value.onSuccess.nextStep: must be null exactly where success completes the task"),
    ("to the end and further", contract(onSuccess=then("completed", PUBLISH)),
     "field value.onSuccess.nextStep: must be null exactly where success completes the task"),
    ("to the same step", contract(onSuccess=then("active", {"id": "step:suite", "summary": "Again"})),
     "field value.onSuccess.nextStep.id: must be that of another step"),
    ("to a step of two lines", contract(onSuccess=then("active", {"id": "step:b", "summary": "a\tb"})),
     f"field value.onSuccess.nextStep.summary: {ONE_LINE}"),
)  # fmt: skip


@pytest.mark.requirement("T52")
@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in VALID])
def test_a_contract_is_read_and_written_back(value: dict[str, Any]) -> None:
    """What is read is what was written, member for member."""
    assert format_contract(parse_contract(value)) == value
    assert agreement(value).value == canonical_text(value)


@pytest.mark.requirement("T52")
@pytest.mark.parametrize(("value", "message"), [pytest.param(v, m, id=name) for name, v, m in INVALID])
def test_a_value_that_is_no_contract_is_refused_by_name(value: Any, message: str) -> None:
    """The error names the field and its rule, and quotes nothing."""
    with pytest.raises(AssertionInvalidError) as refused:
        agreement(value)

    assert refused.value.message == message


@pytest.mark.requirement("T52")
@pytest.mark.parametrize("name", list(contract()))
def test_every_field_of_a_contract_must_be_there(name: str) -> None:
    """Nothing is agreed on by default."""
    with pytest.raises(AssertionInvalidError) as refused:
        agreement({key: part for key, part in contract().items() if key != name})

    assert refused.value.message == f"field value.{name}: is missing"


ENTRIES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("another subject", {"subject": "task:other"}, "field value.taskId: must be the subject of the assertion"),
    ("no kind of knowledge", {"knowledge": None, "origin": None},
     "field knowledge: must be task-state for an outcome contract"),
    ("another kind of knowledge", {"knowledge": "decision", "reason": "agreed"},
     "field knowledge: must be task-state for an outcome contract"),
    ("a model's", {"kind": "model-suggestion"},
     "field evidence: nobody but the owner agrees on an outcome contract"),
    ("shared", {"scope": scope_of(privacy="shared")}, "field privacy: must be private for an outcome contract"),
    ("a group's", {"scope": scope_of(privacy="group", group="team")},
     "field privacy: must be private for an outcome contract"),
    ("without a route", {"scope": scope_of(route=None)},
     "field portal: an outcome contract must belong to the route of its task"),
)  # fmt: skip


@pytest.mark.requirement("T51", "T56")
@pytest.mark.parametrize(("fields", "message"), [pytest.param(f, m, id=name) for name, f, m in ENTRIES])
def test_an_assertion_that_may_not_carry_a_contract_is_refused(fields: dict[str, Any], message: str) -> None:
    """A contract is private, of one route, and never a suggestion."""
    with pytest.raises(AssertionInvalidError) as refused:
        agreement(**fields)

    assert refused.value.message == message


@pytest.mark.requirement("T52")
def test_a_stored_contract_that_breaks_a_rule_is_refused_at_load() -> None:
    """What was written past the rules is not read."""
    broken = msgspec.structs.replace(agreement(), value=canonical_text(contract(onSuccess=then("active"))))

    with pytest.raises(WorldStateError) as refused:
        read_assertion(7, T0, broken)

    assert refused.value.message == (
        "leaf 7: field value.onSuccess.nextStep: must be null exactly where success completes the task"
    )


@pytest.mark.requirement("W27")
def test_an_imported_contract_is_taken_as_it_is() -> None:
    """It is no knowledge, and nothing asks what it says."""
    assert agreement({"was": "agreed"}, recorder="import", knowledge=None, origin=None).portal == ROUTE.portal
