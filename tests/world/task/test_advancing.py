"""What a measurement does to a task: under the contract that was agreed beforehand, and under no other."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.event import Outcome
from tests.world.task.situations import (
    FINISHED,
    agreed,
    contract_entry,
    contract_value,
    corrected_since,
    expired_continuation,
    expired_contract,
    foreign_project_contract,
    foreign_route_contract,
    foreign_tenant_contract,
    foreign_user_contract,
    general_contract,
    imported_contract,
    imported_rival,
    no_contract,
    nothing_begun,
    only_suggested,
    open_question,
    other_words,
    replaced_contract,
    shared_continuation,
    shared_rival,
    two_continuations,
    two_contracts,
    two_equal_continuations,
    two_equal_contracts,
)
from tests.world.task.story import (
    ADA,
    ORIGIN,
    OTHER_ROUTE,
    ROUTE,
    SECOND,
    SUITE,
    T0,
    TASK,
    Story,
    continuation,
    entry,
    measured,
    scope_of,
)
from timeline.world.advancing import advance
from timeline.world.assertion import Evidence, RouteRefs, Scope, make_entry, read_assertion
from timeline.world.continuation import parse_continuation
from timeline.world.outcome_contract import Expected
from timeline.world.owner_task import TaskChange, correct_task
from timeline.world.scope import Reader
from timeline.world.task_state import Refused, Repeated, Replacement

# -- what follows ----------------------------------------------------------------------------------------------

FOLLOWS: tuple[tuple[Outcome, int | None, str, bool], ...] = (
    # outcome, how many of twelve passed, result of the step, whether the task moves on
    (Outcome.PASS, 12, "passed", True),
    (Outcome.PASS, 11, "failed", False),
    (Outcome.PASS, 0, "failed", False),
    (Outcome.FAIL, 11, "failed", False),
    (Outcome.FAIL, 12, "failed", False),
    (Outcome.ERROR, 12, "failed", False),
    (Outcome.ERROR, 3, "failed", False),
    (Outcome.TIMEOUT, 12, "failed", False),
    (Outcome.TIMEOUT, 3, "failed", False),
    (Outcome.BLOCKED, 12, "blocked", False),
    (Outcome.BLOCKED, 0, "blocked", False),
    (Outcome.SKIPPED, 12, "blocked", False),
    (Outcome.SKIPPED, 0, "blocked", False),
)


@pytest.mark.requirement("T51", "T53", "T54", "T55")
@pytest.mark.parametrize(("outcome", "passed", "result", "moves"), FOLLOWS)
def test_a_result_does_what_its_contract_says(
    outcome: Outcome, passed: int, result: str, moves: bool
) -> None:
    """Success applies the contract's next step; whatever else comes out keeps the agreed one."""
    story = agreed()
    before = parse_continuation(story.state().continuations.usable[0].value)
    measurement = measured(at=story.now, outcome=outcome, success_count=passed)

    decided = advance(story.state(), measurement)
    assertion = story.replace(decided)

    after = parse_continuation(assertion.value)
    assert isinstance(decided, Replacement)
    assert decided.continuation == after
    assert after.last_verified_step is not None
    assert (
        after.last_verified_step.id,
        after.last_verified_step.summary,
        after.last_verified_step.result,
    ) == (
        before.next_step.id if before.next_step else None,
        "Run suite 4",
        result,
    )
    assert after.next_step is not None
    assert after.next_step.summary == ("Publish the release" if moves else "Run suite 4")
    assert moves or after.next_step == before.next_step
    assert (after.status, after.objective, after.open_questions) == ("active", before.objective, ())


@pytest.mark.requirement("T53", "W34")
def test_the_continuation_rests_on_the_measurement() -> None:
    """Its evidence, time and origin, and those of its last step, are the measurement's; it replaces the one before."""
    story = agreed()
    before = story.state().continuations.usable[0]
    measurement = measured(at=story.now)

    made = advance(story.state(), measurement)

    assert isinstance(made, Replacement)
    evidence = (measurement.evidence_id, str(measurement.evidence_digest), measurement.observed_at)
    step = made.continuation.last_verified_step
    assert step is not None
    assert (step.evidence_id, step.evidence_digest, step.observed_at) == evidence
    assert (step.session_ref, step.message_ref) == (measurement.origin.session, measurement.origin.message)
    assert (made.entry.evidence_id, made.entry.evidence_digest, made.entry.observed_at) == evidence
    assert (made.entry.session, made.entry.message) == (step.session_ref, step.message_ref)
    assert (made.entry.recorder, made.entry.evidence_kind) == ("capture", "objective-measurement")
    assert (made.entry.privacy, made.entry.portal, made.entry.thread) == (
        "private",
        ROUTE.portal,
        ROUTE.thread,
    )
    assert made.entry.supersedes == (before.id,)
    assert made.expect_active == {made.entry.id: frozenset({before.id})}


@pytest.mark.requirement("T55", "W35", "W41")
def test_success_completes_the_task_where_the_contract_says_so() -> None:
    """The terminal state of a contract is reached by its measurement alone."""
    story = agreed(status="completed", next_step=None)

    story.replace(advance(story.state(), measured(at=story.now)))

    context = story.context()
    assert context.tasks == ()
    assert [capsule.continuation.status for capsule in context.terminal] == ["completed"]
    assert advance(story.state(), measured(2, at=story.now)) == Refused(
        "timeline-outcome-contract-superseded"
    )


@pytest.mark.requirement("T55")
def test_success_may_lead_to_a_pause() -> None:
    """The status after success is the contract's."""
    story = agreed(status="paused")

    assert (
        parse_continuation(story.replace(advance(story.state(), measured(at=story.now))).value).status
        == "paused"
    )


@pytest.mark.requirement("T54")
@pytest.mark.parametrize("status", ["active", "blocked", "paused"])
def test_failure_leaves_the_status_as_it_is(status: Any) -> None:
    """A blocked or paused task is neither resumed nor blocked by a result that is no success."""
    story = Story()
    story.begin()
    story.at(1)
    story.record(correct_task(story.state(), TaskChange(status=status), now_ms=story.now))
    story.at(10)
    story.agree()
    story.at(100)

    made = story.replace(advance(story.state(), measured(at=story.now, outcome=Outcome.FAIL)))

    assert parse_continuation(made.value).status == status


@pytest.mark.requirement("T54")
def test_the_contract_outlives_a_failure() -> None:
    """After a run that failed, the next one counts under the same agreement."""
    story = agreed()

    story.replace(advance(story.state(), measured(1, at=story.now, outcome=Outcome.FAIL)))
    story.at(200)
    made = story.replace(advance(story.state(), measured(2, at=story.now)))

    after = parse_continuation(made.value)
    assert after.next_step is not None
    assert after.next_step.summary == "Publish the release"


@pytest.mark.requirement("T51", "T54")
@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL])
def test_one_measurement_counts_once(outcome: Outcome) -> None:
    """Captured again, it leads to what is in force already, and nothing is to be recorded."""
    story = agreed()
    made = story.replace(advance(story.state(), measured(at=story.now, outcome=outcome)))

    assert advance(story.state(), measured(at=T0 + 100 * SECOND, outcome=outcome)) == Repeated(made)


@pytest.mark.parametrize("later", [0, 100])
def test_an_older_measurement_does_not_count_again_after_a_newer_one(later: int) -> None:
    """Captured again, it is told what it once led to, also if both were measured at one millisecond."""
    story = agreed()
    first = measured(1, at=story.now, outcome=Outcome.FAIL)
    made = story.replace(advance(story.state(), first))
    story.at(100 + later)
    story.replace(advance(story.state(), measured(2, at=story.now, outcome=Outcome.FAIL)))

    assert advance(story.state(), first) == Repeated(made)
    assert advance(story.state(msgspec.structs.replace(ADA, user="bob")), first) == Refused(
        "timeline-continuation-missing"
    )


def test_a_measurement_does_not_bring_an_expired_continuation_back() -> None:
    """What it once led to has ended; captured again, it leads to nothing new."""
    story = Story()
    story.begin(expires_at=T0 + 150 * SECOND)
    story.at(10)
    story.agree()
    story.at(100)
    made = story.replace(advance(story.state(), measured(at=story.now)))
    story.at(150)

    assert story.context().tasks == ()
    assert advance(story.state(), measured(at=LATE)) == Repeated(made)


def test_an_end_of_the_continuation_stays() -> None:
    """What was to expire expires, whatever is measured in between."""
    story = Story()
    story.begin(expires_at=T0 + 1000 * SECOND)
    story.at(10)
    story.agree()
    story.at(100)

    made = story.replace(advance(story.state(), measured(at=story.now)))

    assert made.entry.expires_at == T0 + 1000 * SECOND


# -- refusals --------------------------------------------------------------------------------------------------


LATE = T0 + 100 * SECOND
REFUSED: tuple[tuple[Callable[[], Story], dict[str, Any], str], ...] = (
    # what is in force, what is measured, the reason
    (nothing_begun, {}, "timeline-continuation-missing"),
    (only_suggested, {}, "timeline-continuation-missing"),
    (expired_continuation, {}, "timeline-continuation-missing"),
    (shared_continuation, {}, "timeline-continuation-missing"),
    (two_continuations, {}, "timeline-continuation-conflicted"),
    (two_equal_continuations, {}, "timeline-continuation-conflicted"),
    (imported_rival, {}, "timeline-continuation-conflicted"),
    (shared_rival, {}, "timeline-continuation-conflicted"),
    (no_contract, {}, "timeline-outcome-contract-missing"),
    (expired_contract, {}, "timeline-outcome-contract-missing"),
    (imported_contract, {}, "timeline-outcome-contract-missing"),
    (foreign_route_contract, {}, "timeline-outcome-contract-missing"),
    (foreign_project_contract, {}, "timeline-outcome-contract-missing"),
    (foreign_user_contract, {}, "timeline-outcome-contract-missing"),
    (foreign_tenant_contract, {}, "timeline-outcome-contract-missing"),
    (general_contract, {}, "timeline-outcome-contract-missing"),
    (two_contracts, {}, "timeline-outcome-contract-conflicted"),
    (two_equal_contracts, {}, "timeline-outcome-contract-conflicted"),
    (replaced_contract, {}, "timeline-outcome-contract-superseded"),
    (other_words, {}, "timeline-outcome-contract-superseded"),
    (corrected_since, {}, "timeline-outcome-contract-superseded"),
    (agreed, {"at": T0 + 10 * SECOND - 1}, "timeline-outcome-contract-postdated"),
    (agreed, {"label": "suite-5"}, "timeline-outcome-contract-mismatch"),
    (agreed, {"label": "pytest"}, "timeline-outcome-contract-mismatch"),
    (agreed, {"total": 13}, "timeline-outcome-contract-mismatch"),
    (agreed, {"total": None}, "timeline-outcome-contract-mismatch"),
    (agreed, {"total": None, "success_count": None}, "timeline-outcome-contract-mismatch"),
    (agreed, {"success_count": None}, "timeline-outcome-contract-mismatch"),
    (agreed, {"outcome": Outcome.UNKNOWN}, "timeline-outcome-undecided"),
    (agreed, {"outcome": Outcome.CANCELLED}, "timeline-outcome-undecided"),
    (agreed, {"outcome": Outcome.CANCELLED, "success_count": 3}, "timeline-outcome-undecided"),
    (open_question, {}, "timeline-outcome-completion-questions-open"),
)


@pytest.mark.requirement("T51", "T52", "T56", "T57")
@pytest.mark.parametrize(
    ("told", "fields", "reason"), [pytest.param(*row, id=f"{row[2]}-{row[0].__name__}") for row in REFUSED]
)
def test_a_result_that_was_not_agreed_on_moves_nothing(
    told: Callable[[], Story], fields: dict[str, Any], reason: str
) -> None:
    """Each refusal has its reason, and the continuation stays as it is."""
    story = told()
    before = story.state()

    assert advance(story.state(), measured(**{"at": LATE, **fields})) == Refused(reason)
    assert story.state() == before


@pytest.mark.requirement("T56")
@pytest.mark.parametrize("kind", ["model-suggestion", "uninterpreted-user-message"])
def test_a_suggested_contract_moves_nothing_however_it_was_recorded(kind: Any) -> None:
    """Past all rules of recording, what is not established is not in force."""
    story = Story()
    story.begin()
    made = contract_entry("contract", contract_value(story))
    suggested = msgspec.structs.replace(made, evidence_kind=kind, recorder="model")
    agreed_by_nobody = msgspec.structs.replace(
        read_assertion(len(story.assertions), T0, made), entry=suggested
    )
    story.assertions.append(agreed_by_nobody)

    assert advance(story.state(), measured(at=LATE)) == Refused("timeline-outcome-contract-missing")


@pytest.mark.requirement("T52")
def test_a_contract_without_counts_wants_a_result_without_a_total() -> None:
    """Where the runner prints no total, the outcome alone is agreed on."""
    story = agreed(expected=Expected("ruff", None, None))

    assert advance(story.state(), measured(at=LATE, label="ruff")) == Refused(
        "timeline-outcome-contract-mismatch"
    )
    decided = advance(story.state(), measured(at=LATE, label="ruff", total=None, success_count=None))
    assert isinstance(decided, Replacement)
    assert decided.continuation.last_verified_step is not None
    assert decided.continuation.last_verified_step.result == "passed"


@pytest.mark.requirement("T52")
def test_success_may_be_less_than_all() -> None:
    """The contract says how many; more than agreed is another result than was agreed."""
    story = agreed(expected=Expected("suite-4", 12, 10))

    results = []
    for passed in (9, 10, 11):
        decided = advance(story.state(), measured(at=LATE, success_count=passed))
        assert isinstance(decided, Replacement)
        assert decided.continuation.last_verified_step is not None
        results.append(decided.continuation.last_verified_step.result)

    assert results == ["failed", "passed", "failed"]


@pytest.mark.requirement("T51", "T56")
def test_other_readers_have_no_such_continuation() -> None:
    """On another route, in another project, for another user or a group, or without a task nothing is in force."""
    story = agreed()
    others = (
        msgspec.structs.replace(ADA, route=OTHER_ROUTE),
        msgspec.structs.replace(ADA, route=None),
        msgspec.structs.replace(ADA, project="/srv/other"),
        msgspec.structs.replace(ADA, project=None),
        msgspec.structs.replace(ADA, user="bob"),
        msgspec.structs.replace(ADA, tenant="work"),
        msgspec.structs.replace(ADA, task="task:other"),
        msgspec.structs.replace(ADA, task=None),
        Reader("home", "ada", ADA.project, task=TASK, route=ROUTE, private=False, group="team"),
    )

    for other in others:
        state = story.state(other)
        assert advance(state, measured(at=LATE)) == Refused("timeline-continuation-missing")


@pytest.mark.requirement("T56", "X12")
def test_what_the_reader_may_not_see_changes_no_decision() -> None:
    """Another user's rival and contract on the same subject leave the same answer."""
    story = agreed()
    alone = advance(story.state(), measured(at=LATE))

    story.record(entry("rival", continuation(status="paused"), scope=scope_of(user="bob")))
    story.record(
        contract_entry("other", contract_value(story, onSuccess=FINISHED), scope=scope_of(user="bob"))
    )
    story.record(entry("group", scope=scope_of(privacy="group", group="team")))

    assert advance(story.state(), measured(at=LATE)) == alone


@pytest.mark.requirement("T57")
def test_a_new_contract_for_the_corrected_step_counts() -> None:
    """The correction wins over the old agreement; a new one, made after it, is what moves the task."""
    story = corrected_since()
    assert advance(story.state(), measured(1, at=LATE)) == Refused("timeline-outcome-contract-superseded")

    story.at(110)
    story.agree(SUITE, status="completed", next_step=None)
    story.at(120)

    assert advance(story.state(), measured(1, at=LATE)) == Refused("timeline-outcome-contract-postdated")
    made = story.replace(advance(story.state(), measured(2, at=story.now)))
    assert parse_continuation(made.value).is_completed


@pytest.mark.requirement("T58")
def test_contradictory_raw_results_stay_a_conflict() -> None:
    """Whatever the continuation does, two raw results that differ are disputed, and neither is a fact."""
    story = agreed()

    def raw(name: str, outcome: str, at: int) -> None:
        story.record(
            make_entry(
                id=f"assertion:raw-{name}",
                recorder="capture",
                subject=TASK,
                predicate="task.timeline-result.suite-4",
                value={"outcome": outcome},
                evidence=Evidence("objective-measurement", f"timeline-event:{name}", Digest.of(b"x"), at),
                scope=scope_of(),
                knowledge="task-state",
                origin=ORIGIN,
            )
        )

    raw("a", "fail", story.now)
    story.replace(advance(story.state(), measured(1, at=story.now, outcome=Outcome.FAIL)))
    story.at(200)
    raw("b", "pass", story.now)
    story.replace(advance(story.state(), measured(2, at=story.now)))

    standing = story.standing()
    assert [[one.id for one in group] for group in standing.disputed] == [
        ["assertion:raw-b", "assertion:raw-a"]
    ]
    assert [
        capsule.continuation.next_step.summary
        for capsule in story.context().tasks
        if capsule.continuation.next_step
    ] == ["Publish the release"]


@pytest.mark.requirement("T51")
def test_one_event_leads_to_one_id_on_each_route() -> None:
    """The id is made of task, project, route and evidence, and of nothing that changes between two captures."""
    ids = set()
    for route in (ROUTE, OTHER_ROUTE, RouteRefs("portal-ref:" + "3" * 32, ROUTE.thread)):
        story = Story(msgspec.structs.replace(ADA, route=route))
        story.begin()
        story.agree()
        for at in (50, 60):
            story.at(at)
            decided = advance(story.state(), measured(at=T0 + 50 * SECOND))
            assert isinstance(decided, Replacement)
            ids.add(decided.entry.id)

    assert len(ids) == 3
    assert all(id_.startswith("assertion:timeline-continuation-") and len(id_) == 64 for id_ in ids)


def test_the_scope_of_what_is_recorded_is_the_readers() -> None:
    """Private, in his project and on his route."""
    assert agreed().state().scope == Scope("home", "ada", ADA.project, "private", None, ROUTE)
