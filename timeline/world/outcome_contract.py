"""What was agreed beforehand: the value of a ``task.timeline-outcome-contract`` (T51, T52).

``agentspine.timeline-continuation-outcome-contract/v1``: for exactly one step, which measurement counts, what success
is, and where success leads. The owner says it; a model cannot. It is data only: ``advancing`` decides what follows.
Pure. The format is in ``docs/spec/tasks.md``.
"""

from typing import Final, Literal

import msgspec

from sidecars.assertion import ESTABLISHED, AssertionEntry, StableId
from sidecars.identity import JSON
from sidecars.wire import Count, Identifier
from timeline.world.closed_value import broken, check_line, read_closed
from timeline.world.continuation import RULES, NextStep
from timeline.world.errors import AssertionInvalidError

CONTRACT_SCHEMA: Final = "agentspine.timeline-continuation-outcome-contract/v1"
CONTRACT_PREDICATE: Final = "task.timeline-outcome-contract"

_RULES: Final = {
    **RULES,
    "schema": f"must be {CONTRACT_SCHEMA}",
    "status": "must be active, paused or completed",
    "testLabel": "must be a label such as suite-4, or a runner",
    "total": "must be a count or null",
    "successCount": "must be a count or null",
}


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Which measurement counts: its label, how many there are in all, and how many of them are success.

    Both counts, or neither where the runner prints none.
    """

    test_label: Identifier
    total: Count | None
    success_count: Count | None


class OnSuccess(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Where success leads: a status with its next step, or the end of the task."""

    status: Literal["active", "paused", "completed"]
    next_step: NextStep | None


class OutcomeContract(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """The agreement about one step of one task."""

    schema: Literal["agentspine.timeline-continuation-outcome-contract/v1"]
    task_id: StableId
    step: NextStep
    measurement: Expected
    on_success: OnSuccess


def parse_contract(value: JSON) -> OutcomeContract:
    """The contract that a value is.

    Raises:
        AssertionInvalidError: a field is missing, unknown, not of its form, or does not fit another.
    """
    contract = read_closed(value, OutcomeContract, _RULES)
    check_line(".step.summary", contract.step.summary)
    expected, then = contract.measurement, contract.on_success
    if (expected.total is None) != (expected.success_count is None):
        raise broken(".measurement", "total and successCount must come together or not at all")
    if expected.total is not None and expected.success_count is not None:
        if expected.total == 0:
            raise broken(".measurement.total", "must be at least 1")
        if expected.success_count > expected.total:
            raise broken(".measurement.successCount", "must not be more than total")
    if (then.next_step is None) != (then.status == "completed"):
        raise broken(".onSuccess.nextStep", "must be null exactly where success completes the task")
    if then.next_step is not None:
        check_line(".onSuccess.nextStep.summary", then.next_step.summary)
        if then.next_step.id == contract.step.id:
            raise broken(".onSuccess.nextStep.id", "must be that of another step")
    return contract


def format_contract(contract: OutcomeContract) -> dict[str, JSON]:
    """The JSON value of a contract."""
    value: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(contract))
    return value


def check_contract(entry: AssertionEntry, value: JSON) -> None:
    """Return only if an assertion of the predicate ``task.timeline-outcome-contract`` can be agreed on.

    What was imported is no knowledge and never moves a task; its value is taken as it is (W27).

    Raises:
        AssertionInvalidError: it cannot.
    """
    if entry.recorder == "import":
        return
    if entry.knowledge != "task-state":
        raise AssertionInvalidError("field knowledge: must be task-state for an outcome contract")
    if entry.evidence_kind not in ESTABLISHED:
        raise AssertionInvalidError("field evidence: nobody but the owner agrees on an outcome contract")
    if entry.privacy != "private":
        raise AssertionInvalidError("field privacy: must be private for an outcome contract")
    if entry.portal is None:
        raise AssertionInvalidError("field portal: an outcome contract must belong to the route of its task")
    if parse_contract(value).task_id != entry.subject:
        raise broken(".taskId", RULES["taskId"])
