"""One task against a plain model of it: begun, agreed on, measured, corrected, disputed, settled, expired."""

from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sidecars.assertion import AssertionEntry
from sidecars.event import Outcome
from tests.world.task.story import (
    SECOND,
    Story,
    completed,
    continuation,
    corrected,
    entry,
    measured,
)
from timeline.world.advancing import advance
from timeline.world.assertion import read_assertion
from timeline.world.continuation import parse_continuation
from timeline.world.correction import correct
from timeline.world.errors import (
    TaskCompletedError,
    TaskDisputedError,
    TaskNotStartedError,
    TaskStartedError,
    WorldError,
)
from timeline.world.outcome_contract import Expected
from timeline.world.owner_task import TaskChange, confirm_task, correct_task, make_contract, start_task
from timeline.world.task_state import Refused, Repeated

OUTCOMES = st.sampled_from(sorted(Outcome))
PASSED = st.sampled_from([12, 11, 0])
AGO = st.sampled_from([0, 0, 0, 1, SECOND, 5 * SECOND])
"""How long before now something was observed, in milliseconds."""
LIFE = st.sampled_from([None, None, 20 * SECOND, 60 * SECOND])
TEXTS = st.sampled_from(["Run suite 4", "Run suite 5", "Publish"])

FAILED = {"fail", "error", "timeout"}
HINDERED = {"blocked", "skipped"}


class Plain:
    """One continuation in plain words; a step is a number and its text."""

    def __init__(self, **fields: Any) -> None:
        """Take the fields as they are given."""
        self.status = "active"
        self.result: str | None = None
        self.questions = 0
        self.ends: int | None = None
        self.step: tuple[int, str] | None = None
        self.at = 0
        self.__dict__.update(fields)

    def like(self, **fields: Any) -> "Plain":
        """The same, but for some fields."""
        return Plain(**{**self.__dict__, **fields})

    @property
    def says(self) -> Any:
        """What it says, without when and since which event."""
        return (self.status, self.result, self.questions, self.step)


class Task(RuleBasedStateMachine):
    """The task as the decisions move it, and as the model says that it should move."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        super().__init__()
        self.story = Story()
        self.held: list[Plain] = []
        self.contract: dict[str, Any] | None = None
        self.steps = 0
        self.events = 0
        self.past: list[tuple[Any, dict[str, Any]]] = []
        self.suggestions = 0
        self.applied: set[int] = set()

    # -- the model ---------------------------------------------------------------------------------------------

    def new_step(self, text: str) -> tuple[int, str]:
        """A step that was never before."""
        self.steps += 1
        return (self.steps, text)

    def in_force(self) -> list[Plain]:
        """The continuations that nothing has replaced and that have not expired."""
        return [one for one in self.held if one.ends is None or one.ends > self.story.now]

    def is_disputed(self) -> bool:
        """Whether those in force say different things."""
        return len({one.says for one in self.in_force()}) > 1

    def expected_advance(self, event: dict[str, Any]) -> str | Plain | None:
        """The reason of a refusal, the continuation that follows, or nothing for what is in force already."""
        live = self.in_force()
        if event["number"] in self.applied:
            return None
        if not live:
            return "timeline-continuation-missing"
        if len(live) > 1:
            return "timeline-continuation-conflicted"
        if self.contract is None:
            return "timeline-outcome-contract-missing"
        (one,) = live
        contract = self.contract
        if one.step is None or one.step != contract["step"]:
            return "timeline-outcome-contract-superseded"
        if event["at"] < contract["recorded"]:
            return "timeline-outcome-contract-postdated"
        if event["at"] < one.at:
            return "timeline-outcome-event-stale"
        if event["label"] != "suite-4":
            return "timeline-outcome-contract-mismatch"
        if event["outcome"] not in {"pass", *FAILED, *HINDERED}:
            return "timeline-outcome-undecided"
        return self.expected_move(one, contract["then"], event)

    @staticmethod
    def expected_move(one: Plain, then: Any, event: dict[str, Any]) -> str | Plain:
        """What a result does that the contract waits for."""
        moved = one.like(at=event["at"])
        if event["outcome"] == "pass" and event["passed"] == 12:
            if then is None:
                if one.questions:
                    return "timeline-outcome-completion-questions-open"
                return moved.like(result="passed", status="completed", step=None)
            return moved.like(result="passed", status="active", step=then)
        return moved.like(result="blocked" if event["outcome"] in HINDERED else "failed")

    # -- what happens ------------------------------------------------------------------------------------------

    def say(self, made: AssertionEntry) -> None:
        """Record what the owner says, now."""
        self.story.record(made)

    def refused_with(self, error: type[WorldError], call: Any) -> None:
        """Expect a refusal that records nothing."""
        before = len(self.story.assertions)
        with pytest.raises(error):
            call()
        assert len(self.story.assertions) == before

    @rule(seconds=st.sampled_from([1, 5, 30]))
    def wait(self, seconds: int) -> None:
        """Time passes."""
        self.story.now += seconds * SECOND

    @rule(text=TEXTS, questions=st.integers(0, 1), life=LIFE)
    def start(self, text: str, questions: int, life: int | None) -> None:
        """The owner begins the task."""
        self.story.now += 1
        ends = None if life is None else self.story.now + life

        def call() -> AssertionEntry:
            return start_task(
                self.story.state(),
                objective="Release",
                next_step=text,
                questions=("Which tag?",) * questions,
                now_ms=self.story.now,
                expires_at=ends,
            )

        live = self.in_force()
        if self.is_disputed():
            self.refused_with(TaskDisputedError, call)
        elif live and live[0].status != "completed":
            self.refused_with(TaskStartedError, call)
        else:
            self.say(call())
            self.replace(Plain(step=self.new_step(text), questions=questions, ends=ends, at=self.story.now))

    def replace(self, plain: Plain) -> None:
        """What is in force is replaced by one; what has expired stays so."""
        live = self.in_force()
        self.held = [one for one in self.held if one not in live] + [plain]

    @rule(then=st.sampled_from(["Publish", None]))
    def agree(self, then: str | None) -> None:
        """The owner agrees on what a result will mean."""
        self.story.now += 1

        def call() -> AssertionEntry:
            status: Any = "completed" if then is None else "active"
            return make_contract(
                self.story.state(),
                Expected("suite-4", 12, 12),
                status=status,
                next_step=then,
                now_ms=self.story.now,
            )

        if (error := self.expected_error()) is not None:
            self.refused_with(error, call)
            return
        self.say(call())
        self.contract = {
            "step": self.in_force()[0].step,
            "then": None if then is None else self.new_step(then),
            "recorded": self.story.now,
        }

    def expected_error(self) -> type[WorldError] | None:
        """Why the owner cannot go on with the task, if he cannot."""
        if self.is_disputed():
            return TaskDisputedError
        if not self.in_force():
            return TaskNotStartedError
        if self.in_force()[0].status == "completed":
            return TaskCompletedError
        return None

    @rule(
        outcome=OUTCOMES | st.just(Outcome.PASS),
        passed=PASSED | st.just(12),
        label=st.sampled_from(["suite-4", "suite-4", "suite-4", "pytest"]),
        ago=AGO,
    )
    def measure(self, outcome: Outcome, passed: int, label: str, ago: int) -> None:
        """A result is captured."""
        self.events += 1
        at = self.story.now - ago
        measurement = measured(self.events, at=at, outcome=outcome, success_count=passed, label=label)
        event = {
            "number": self.events,
            "at": at,
            "outcome": outcome.value,
            "passed": passed,
            "label": label,
        }
        self.past.append((measurement, event))
        self.capture(measurement, event)

    @rule(which=st.integers(0, 100))
    def measure_again(self, which: int) -> None:
        """A result that was captured before is captured again, at any later time."""
        if self.past:
            measurement, event = self.past[which % len(self.past)]
            self.capture(measurement, event)

    def capture(self, measurement: Any, event: dict[str, Any]) -> None:
        """Decide on a result, and record what follows."""
        expected = self.expected_advance(event)
        decided = advance(self.story.state(), measurement)
        if isinstance(expected, str):
            assert decided == Refused(expected)
        elif expected is None:
            assert isinstance(decided, Repeated)
        else:
            self.story.replace(decided)
            self.replace(expected)
            self.applied.add(event["number"])

    @rule(text=TEXTS, ago=AGO)
    def correct(self, text: str, ago: int) -> None:
        """The user types a strict correction."""
        self.events += 1
        at = self.story.now - ago
        decided = correct(self.story.state(), corrected(text, self.events, at=at))
        live = self.in_force()
        reason = None
        if not live:
            reason = "timeline-correction-continuation-missing"
        elif self.is_disputed():
            reason = "timeline-correction-continuation-conflicted"
        elif live[0].status == "completed":
            reason = "timeline-correction-task-completed"
        elif any(at < one.at for one in live):
            reason = "timeline-correction-stale"
        if reason is not None:
            assert decided == Refused(reason)
            return
        newest = max(live, key=lambda one: one.at)
        assertion = self.story.replace(decided)
        self.replace(newest.like(step=self.new_step(text), at=at, ends=assertion.entry.expires_at))

    @rule(status=st.sampled_from([None, "active", "blocked", "paused"]), text=st.none() | TEXTS)
    def change(self, status: Any, text: str | None) -> None:
        """The owner changes status or next step."""
        self.story.now += 1

        def call() -> AssertionEntry:
            return correct_task(
                self.story.state(), TaskChange(status=status, next_step=text), now_ms=self.story.now
            )

        if (error := self.expected_error()) is not None:
            self.refused_with(error, call)
            return
        made = call()
        self.say(made)
        before = max(self.in_force(), key=lambda one: one.at)
        assert before.step is not None
        step = before.step if text in {None, before.step[1]} else self.new_step(str(text))
        self.replace(
            before.like(status=status or before.status, step=step, at=self.story.now, ends=made.expires_at)
        )

    @rule()
    def compete(self) -> None:
        """Another continuation is recorded beside what is in force, replacing nothing."""
        self.story.now += 1
        self.steps += 1
        name = f"rival-{self.steps}"
        step = {"id": f"step:{name}", "summary": "Wait"}
        self.story.record(entry(name, continuation(nextStep=step, status="paused"), at=self.story.now))
        self.held.append(Plain(status="paused", step=(self.steps, "Wait"), at=self.story.now))

    @rule(which=st.integers(0, 100))
    def settle(self, which: int) -> None:
        """The owner chooses one of those in force."""
        self.story.now += 1
        usable = self.story.state().continuations.usable
        if not usable:
            return
        chosen = usable[which % len(usable)]
        plain = next(
            one for one in self.in_force() if one.at == chosen.entry.observed_at and self.is_same(one, chosen)
        )

        def call() -> AssertionEntry:
            return confirm_task(self.story.state(), chosen, now_ms=self.story.now)

        if plain.status == "completed":
            self.refused_with(TaskCompletedError, call)
            return
        self.say(call())
        self.replace(plain.like(at=self.story.now))

    @staticmethod
    def is_same(plain: Plain, assertion: Any) -> bool:
        """Whether a continuation of the model is that of an assertion."""
        said = parse_continuation(assertion.value)
        return (said.status, said.next_step.summary if said.next_step else None) == (
            plain.status,
            plain.step[1] if plain.step else None,
        )

    @rule(claims_completion=st.booleans())
    def suggest(self, claims_completion: bool) -> None:
        """A model suggests something, or tries to say that the task is completed."""
        self.suggestions += 1
        if claims_completion:
            self.refused_with(
                WorldError, lambda: entry("claim", completed(), kind="model-suggestion", at=self.story.now)
            )
            return
        self.story.record(entry(f"suggested-{self.suggestions}", kind="model-suggestion", at=self.story.now))

    @rule()
    def restart(self) -> None:
        """Everything is read again from what was recorded."""
        self.story.assertions = [
            read_assertion(
                one.leaf,
                one.recorded_at,
                msgspec.json.decode(msgspec.json.encode(one.entry), type=AssertionEntry),
            )
            for one in self.story.assertions
        ]

    # -- what always holds -------------------------------------------------------------------------------------

    @invariant()
    def the_view_is_the_models(self) -> None:
        """One capsule for what is in force and undisputed, else none."""
        context = self.story.context()
        live = self.in_force()
        capsule = context.only
        if not live or self.is_disputed():
            assert capsule is None
            return
        assert capsule is not None
        said = capsule.continuation
        assert (said.status, len(said.open_questions)) == (live[0].status, live[0].questions)
        assert (said.next_step.summary if said.next_step else None) == (
            live[0].step[1] if live[0].step else None
        )
        assert (said.last_verified_step.result if said.last_verified_step else None) == live[0].result
        assert bool(context.terminal) == (live[0].status == "completed")

    @invariant()
    def only_a_measurement_completes(self) -> None:
        """Whatever was said, a completed task rests on a passed, measured step."""
        for capsule in self.story.context().terminal:
            assert capsule.assertion.entry.evidence_kind == "objective-measurement"
            assert capsule.continuation.last_verified_step is not None
            assert capsule.continuation.last_verified_step.result == "passed"

    @invariant()
    def history_only_grows(self) -> None:
        """Every id is recorded once, and the leaves are in order."""
        ids = [one.id for one in self.story.assertions]
        assert len(set(ids)) == len(ids)
        assert [one.leaf for one in self.story.assertions] == list(range(len(ids)))


TestTask = pytest.mark.requirement(
    "W35", "W36", "W37", "W38", "W40", "W41", "T51", "T54", "T55", "T56", "T57", "T60", "T61"
)(Task.TestCase)
TestTask.settings = settings(stateful_step_count=25, max_examples=60)
