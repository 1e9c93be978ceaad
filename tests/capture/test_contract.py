"""A captured result moves a task only as agreed beforehand; the raw measurement stays whatever comes of it."""

from typing import Any

import pytest

from tests.capture.stage import Stage, capture_of, captured, failing, passing
from timeline import capturing
from timeline.guard.request import Tool
from timeline.world import ledger
from timeline.world.continuation import CONTINUATION_PREDICATE, Continuation, parse_continuation
from timeline.world.errors import CompareAndSetError, WorldStateError

OTHER = {"codex": "claude", "claude": "king", "king": "codex"}
"""For each provider the one that goes on."""


def standing(stage: Stage, agent: Any) -> Continuation:
    """The one continuation of a session's task."""
    sole = stage.task(agent).state.continuations.sole
    assert sole is not None
    return parse_continuation(sole.value)


def results(stage: Stage, agent: Any) -> list[str]:
    """The outcomes of all raw measurements, in the log's order."""
    return [
        str(one.value["outcome"])  # type: ignore[index,call-overload]  # an objective result
        for one in stage.assertions(agent)
        if one.entry.predicate.startswith("task.timeline-result.")
    ]


@pytest.mark.requirement("T51", "T52", "T53", "T55", "T63", "W35")
def test_a_result_as_agreed_completes_the_task(stage: Stage, host: str) -> None:
    """Another provider's session captures it; both go in one batch, and the same again is a duplicate of both."""
    first = stage.session(host, failing)
    stage.start(first)
    stage.agree(first)
    second = stage.session(OTHER[host], passing, number=1)
    asked = capture_of(second, "pytest passed")
    size = stage.leaves()

    answer = second.ask(Tool.CAPTURE, asked)

    assert stage.leaves() == size + 2
    assert answer["status"] == "captured"
    assert answer["completionVerified"] is True
    update = answer["continuationUpdate"]
    assert (update["schema"], update["status"], update["reason"]) == (
        "agentspine.timeline-continuation-update/v1",
        "updated",
        None,
    )
    assert (update["taskStatus"], update["lastVerifiedResult"], update["nextStepId"]) == (
        "completed",
        "passed",
        None,
    )
    done = standing(stage, first)
    assert (done.status, done.next_step) == ("completed", None)
    assert done.last_verified_step is not None
    assert done.last_verified_step.evidence_id == asked["eventId"]

    again = second.ask(Tool.CAPTURE, asked)

    assert (again["status"], again["continuationUpdate"]["status"]) == ("duplicate", "duplicate")
    assert again["completionVerified"] is True
    assert stage.leaves() == size + 2


@pytest.mark.requirement("T54", "T53", "T58")
def test_a_failure_keeps_the_agreed_step_and_is_remembered(stage: Stage, host: str) -> None:
    """The last verified step has failed; nothing is started again."""
    first = stage.session(host, failing)
    stage.start(first)
    before = standing(stage, first)
    stage.agree(first)
    second = stage.session(host, failing, number=1)

    answer = captured(second)

    update = answer["continuationUpdate"]
    assert (update["status"], update["lastVerifiedResult"]) == ("updated", "failed")
    assert answer["automaticRetry"] is False
    after = standing(stage, first)
    assert (after.status, after.next_step) == ("active", before.next_step)
    assert after.last_verified_step is not None
    assert after.last_verified_step.result == "failed"
    assert results(stage, first) == ["fail"]


@pytest.mark.requirement("T55")
def test_success_goes_where_the_contract_says(stage: Stage) -> None:
    """To its next step and no other."""
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first, next_step="write the notes")
    second = stage.session("codex", passing, number=1)

    answer = captured(second, "pytest passed")

    assert answer["completionVerified"] is False
    after = standing(stage, first)
    assert after.next_step is not None
    assert (after.status, after.next_step.summary) == ("active", "write the notes")


@pytest.mark.requirement("T56", "T53")
def test_a_result_that_was_not_agreed_on_is_measured_and_moves_nothing(stage: Stage, host: str) -> None:
    """Each with its reason: no task, no contract, one made in hindsight, another measurement."""
    agent = stage.session(host, lambda session: (failing(session), passing(session)))

    reasons = [captured(agent)["continuationUpdate"]["reason"]]
    stage.start(agent)
    reasons.append(captured(agent, "pytest passed")["continuationUpdate"]["reason"])
    stage.agree(agent)
    reasons.append(captured(agent, "pytest passed")["continuationUpdate"]["reason"])
    stage.agree(agent, total=99)
    later = stage.session(host, passing, number=1)
    answer = captured(later, "pytest passed")
    reasons.append(answer["continuationUpdate"]["reason"])

    assert reasons == [
        "timeline-continuation-missing",
        "timeline-outcome-contract-missing",
        "timeline-outcome-contract-postdated",
        "timeline-outcome-contract-mismatch",
    ]
    assert answer["status"] == "captured"
    assert results(stage, agent) == ["fail", "pass", "pass"]
    assert standing(stage, agent).last_verified_step is None


def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision is refused."""

    def refuse(*_: object) -> None:
        raise WorldStateError("a stored assertion breaks a rule")

    monkeypatch.setattr(capturing, "advance", refuse)


def overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer has moved the task meanwhile."""
    real = ledger.record

    def lose(state: Any, entries: Any, *, expect_active: Any = None) -> Any:
        if expect_active is not None:
            raise CompareAndSetError("another writer came first")
        return real(state, entries)

    monkeypatch.setattr(ledger, "record", lose)


@pytest.mark.requirement("T53")
@pytest.mark.parametrize("fault", [undecided, overtaken])
def test_where_the_update_is_refused_the_raw_measurement_is_recorded(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    """The update is unavailable, with its reason; nothing of it stands, and the next capture makes up for it."""
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first)
    second = stage.session("codex", passing, number=1)
    fault(monkeypatch)

    answer = captured(second, "pytest passed")

    assert answer["status"] == "captured"
    assert answer["continuationUpdate"]["status"] == "unavailable"
    assert answer["continuationUpdate"]["reason"] == "timeline-continuation-update-unavailable"
    monkeypatch.undo()
    assert results(stage, first) == ["pass"]
    assert standing(stage, first).status == "active"
    assert captured(second, "pytest passed")["continuationUpdate"]["status"] == "updated"


@pytest.mark.requirement("T53")
def test_a_fault_of_our_own_does_not_lose_what_was_measured(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no answer, and the measurement is there."""
    agent = stage.session("codex", failing)

    def fail(*_: object) -> None:
        raise KeyError("no")

    monkeypatch.setattr(capturing, "advance", fail)
    with pytest.raises(KeyError):
        captured(agent)

    assert results(stage, agent) == ["fail"]
    monkeypatch.undo()
    assert captured(agent)["status"] == "duplicate"


@pytest.mark.requirement("T56", "T53")
def test_competing_continuations_are_withheld(stage: Stage) -> None:
    """Two established ones that differ: the result is measured, and neither goes on."""
    agent = stage.session("codex", failing)
    stage.start(agent)
    stage.agree(agent)
    (first,) = (one for one in stage.assertions(agent) if one.entry.predicate == CONTINUATION_PREDICATE)

    def rival(_: object, now_ms: int) -> Any:
        from sidecars.assertion import AssertionEntry

        fields = {name: getattr(first.entry, name) for name in AssertionEntry.__struct_fields__}
        value = first.entry.value.replace("make the tests pass", "begin anew")
        return AssertionEntry(**{**fields, "id": "assertion:rival", "value": value, "observed_at": now_ms})

    stage.say(agent, rival)
    later = stage.session("codex", passing, number=1)

    answer = captured(later, "pytest passed")

    assert answer["status"] == "captured"
    assert answer["continuationUpdate"]["reason"] == "timeline-continuation-conflicted"


@pytest.mark.requirement("T57", "T60", "T63")
def test_what_the_user_has_said_comes_before_what_was_measured(stage: Stage, host: str) -> None:
    """Whichever the model captures first: a result moves nothing while a newer correction waits in the session."""
    first = stage.session(host, failing)
    stage.start(first)
    stage.agree(first)

    def corrected(session: Any) -> None:
        session.prompt("Correction: next step: mend the lexer")
        passing(session)

    second = stage.session(host, corrected, number=1)
    before = standing(stage, first)

    answer = captured(second, "pytest passed")

    assert (answer["status"], answer["completionVerified"]) == ("captured", False)
    assert answer["continuationUpdate"]["reason"] == "timeline-correction-waiting"
    assert standing(stage, first) == before
    assert results(stage, first) == ["pass"]

    assert captured(second, "user correction")["status"] == "captured"
    after = standing(stage, first)
    assert after.next_step is not None
    assert after.next_step.summary == "mend the lexer"
    again = captured(second, "pytest passed")
    assert again["continuationUpdate"]["reason"] == "timeline-outcome-contract-superseded"


@pytest.mark.requirement("T57")
def test_a_correction_of_before_the_continuation_holds_nothing_up(stage: Stage) -> None:
    """The owner has spoken since."""

    def corrected(session: Any) -> None:
        session.prompt("Correction: next step: mend the lexer")
        failing(session)

    first = stage.session("codex", corrected)
    stage.world.clock.at_ms += 3_000_000
    stage.start(first)
    stage.agree(first)
    second = stage.session("codex", passing, number=1)

    assert captured(second, "pytest passed")["completionVerified"] is True
