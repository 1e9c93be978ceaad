"""The value of a continuation, and the assertion that may carry it."""

from typing import Any

import pytest

from sidecars.digest import Digest
from tests.world.task.story import (
    ADA,
    ORIGIN,
    T0,
    TASK,
    completed,
    continuation,
    entry,
    scope_of,
    verified,
)
from timeline.world.assertion import canonical_text, read_assertion
from timeline.world.continuation import (
    CONTINUATION_PREDICATE,
    format_continuation,
    parse_continuation,
)
from timeline.world.errors import AssertionInvalidError, WorldStateError

LINE_RULE = "must be 1 to 500 characters"
ONE_LINE = "must be one printable line that shows something, without space at its ends"
ID_RULE = "must be a namespace and a name"


def question(number: int = 1, text: str = "Which branch?") -> dict[str, Any]:
    """An open question."""
    return {"id": f"question:{number}", "question": text}


VALID: tuple[tuple[str, dict[str, Any]], ...] = (
    ("begun", continuation()),
    ("blocked", continuation(status="blocked")),
    ("paused", continuation(status="paused")),
    ("with a verified step", continuation(lastVerifiedStep=verified())),
    ("with a failed step", continuation(lastVerifiedStep=verified(result="failed"))),
    ("with a blocked step", continuation(lastVerifiedStep=verified(result="blocked"))),
    ("with eight questions", continuation(openQuestions=[question(number) for number in range(8)])),
    ("at the bounds", continuation(objective="x" * 500, openQuestions=[question(text="?" * 300)])),
    ("with other letters", continuation(objective="Größe prüfen — 検査 a\u0308")),
)

STEP = ".lastVerifiedStep"
INVALID: tuple[tuple[str, Any, str], ...] = (
    # what is wrong, the value, the error
    ("no object", "x", "field value: must be an object of its schema"),
    ("another schema", continuation(schema="agentspine.task-continuation/v2"),
     "field value.schema: must be agentspine.task-continuation/v1"),
    ("an unknown field", continuation(lease=True),
     "field value: must hold no other field than those of its schema"),
    ("no namespace in the task", continuation(taskId="release"),
     "field value.taskId: must be the subject of the assertion"),
    ("another status", continuation(status="done"),
     "field value.status: must be active, blocked, paused or completed"),
    ("an empty objective", continuation(objective=""), f"field value.objective: {LINE_RULE}"),
    ("a long objective", continuation(objective="x" * 501), f"field value.objective: {LINE_RULE}"),
    ("an objective of two lines", continuation(objective="a\nb"), f"field value.objective: {ONE_LINE}"),
    ("an objective that hides text", continuation(objective="a\u202eb"), f"field value.objective: {ONE_LINE}"),
    ("space before an objective", continuation(objective=" a"), f"field value.objective: {ONE_LINE}"),
    ("only space", continuation(objective=" "), f"field value.objective: {ONE_LINE}"),
    ("a number as objective", continuation(objective=1), f"field value.objective: {LINE_RULE}"),
    ("nine questions", continuation(openQuestions=[question(number) for number in range(9)]),
     "field value.openQuestions: must be at most 8 questions"),
    ("questions that are none", continuation(openQuestions=["Which?"]),
     "field value.openQuestions[0]: must be an object of its schema"),
    ("one question twice", continuation(openQuestions=[question(), question(text="Why?")]),
     "field value.openQuestions: ids must be unique"),
    ("a long question", continuation(openQuestions=[question(text="?" * 301)]),
     "field value.openQuestions[0].question: must be 1 to 300 characters"),
    ("a question of two lines", continuation(openQuestions=[question(), question(2, "a\tb")]),
     f"field value.openQuestions[1].question: {ONE_LINE}"),
    ("a question without an id", continuation(openQuestions=[{"question": "Why?"}]),
     "field value.openQuestions[0].id: is missing"),
    ("two next steps", continuation(nextStep=[{"id": "step:a", "summary": "a"}]),
     "field value.nextStep: must be a step or null"),
    ("no next step", continuation(nextStep=None),
     "field value.nextStep: must be there until the task is completed"),
    ("a step with more", continuation(nextStep={"id": "step:a", "summary": "a", "tool": "b"}),
     "field value.nextStep: must hold no other field than those of its schema"),
    ("a bare step id", continuation(nextStep={"id": "a", "summary": "a"}), f"field value.nextStep.id: {ID_RULE}"),
    ("a long summary", continuation(nextStep={"id": "step:a", "summary": "x" * 501}),
     f"field value.nextStep.summary: {LINE_RULE}"),
    ("a summary of two lines", continuation(nextStep={"id": "step:a", "summary": "a\u2028b"}),
     f"field value.nextStep.summary: {ONE_LINE}"),
    ("a verified step in words", continuation(lastVerifiedStep="passed"),
     f"field value{STEP}: must be a verified step or null"),
    ("another result", continuation(lastVerifiedStep=verified(result="pass")),
     f"field value{STEP}.result: must be passed, failed or blocked"),
    ("a verified step of two lines", continuation(lastVerifiedStep=verified(summary="a\rb")),
     f"field value{STEP}.summary: {ONE_LINE}"),
    ("no time", continuation(lastVerifiedStep={k: v for k, v in verified().items() if k != "observedAt"}),
     f"field value{STEP}.observedAt: is missing"),
    ("a time as a number", continuation(lastVerifiedStep=verified(observedAt=T0)),
     f"field value{STEP}.observedAt: must be an exact UTC time with milliseconds"),
    ("a time without milliseconds", continuation(lastVerifiedStep=verified(observedAt="2026-09-10T00:26:40Z")),
     f"field value{STEP}.observedAt: must be an exact UTC time with milliseconds"),
    ("a day that is none", continuation(lastVerifiedStep=verified(observedAt="2026-02-30T01:06:40.000Z")),
     f"field value{STEP}.observedAt: must be an exact UTC time with milliseconds"),
    ("a digest in hex", continuation(lastVerifiedStep=verified(evidenceDigest="0" * 64)),
     f"field value{STEP}.evidenceDigest: must be a SHA-256 in unpadded base64url"),
    ("an evidence without namespace", continuation(lastVerifiedStep=verified(evidenceId="1")),
     f"field value{STEP}.evidenceId: {ID_RULE}"),
    ("a raw session id", continuation(lastVerifiedStep=verified(sessionRef="session-ref:1")),
     f"field value{STEP}.sessionRef: must be `session-ref:` and 32 hex digits"),
    ("a message without namespace", continuation(lastVerifiedStep=verified(messageRef="1")),
     f"field value{STEP}.messageRef: {ID_RULE}"),
    ("a completed task with a next step", {**completed(), "nextStep": {"id": "step:a", "summary": "a"}},
     "field value.nextStep: must be null in a completed task"),
    ("a completed task with a question", completed(openQuestions=[question()]),
     "field value.openQuestions: must be empty in a completed task"),
    ("a completed task that nothing verified", {**completed(), "lastVerifiedStep": None},
     f"field value{STEP}: must have passed in a completed task"),
    ("a completed task that failed", {**completed(), "lastVerifiedStep": verified(result="failed")},
     f"field value{STEP}: must have passed in a completed task"),
)  # fmt: skip


@pytest.mark.requirement("W31", "W33")
@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in VALID])
def test_a_continuation_is_read_and_written_back(value: dict[str, Any]) -> None:
    """What is read is what was written, member for member."""
    assert format_continuation(parse_continuation(value)) == value
    assert entry(value=value).value == canonical_text(value)


@pytest.mark.requirement("W31", "W33", "W35")
@pytest.mark.parametrize(("value", "message"), [pytest.param(v, m, id=name) for name, v, m in INVALID])
def test_a_value_that_is_no_continuation_is_refused_by_name(value: Any, message: str) -> None:
    """The error names the field and its rule, and quotes nothing."""
    with pytest.raises(AssertionInvalidError) as refused:
        entry(value=value)

    assert refused.value.message == message


@pytest.mark.requirement("W31", "W33")
@pytest.mark.parametrize("name", list(continuation()))
def test_every_field_of_a_continuation_must_be_there(name: str) -> None:
    """There are no defaults: a field that is left out is refused."""
    value = {key: part for key, part in continuation().items() if key != name}

    with pytest.raises(AssertionInvalidError) as refused:
        entry(value=value)

    assert refused.value.message == f"field value.{name}: is missing"


ENTRIES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("another subject", {"subject": "task:other"}, "field value.taskId: must be the subject of the assertion"),
    ("no kind of knowledge", {"knowledge": None, "origin": None},
     "field knowledge: must be task-state for a continuation"),
    ("another kind of knowledge", {"knowledge": "fact"}, "field knowledge: must be task-state for a continuation"),
    ("no session and message", {"origin": None},
     "field session: a continuation must name its session and message"),
    ("a step that is later", {"value": continuation(lastVerifiedStep=verified()), "at": T0 - 1},
     "field value.lastVerifiedStep.observedAt: must not be later than the assertion's"),
    ("completion by the owner's word", {"value": completed()},
     "field evidence: a completed task must rest on an objective measurement"),
    ("completion by a model", {"value": completed(), "kind": "model-suggestion"},
     "field evidence: a completed task must rest on an objective measurement"),
)  # fmt: skip


@pytest.mark.requirement("W31", "W32", "W34", "W35")
@pytest.mark.parametrize(("fields", "message"), [pytest.param(f, m, id=name) for name, f, m in ENTRIES])
def test_an_assertion_that_may_not_carry_a_continuation_is_refused(
    fields: dict[str, Any], message: str
) -> None:
    """Subject, kind of knowledge, provenance and evidence have to fit."""
    with pytest.raises(AssertionInvalidError) as refused:
        entry(**fields)

    assert refused.value.message == message


@pytest.mark.requirement("W34", "W35")
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("evidenceId", "timeline-event:" + "c" * 32),
        ("evidenceDigest", str(Digest.of(b"another line"))),
        ("observedAt", "2026-09-10T00:26:39.999Z"),
        ("sessionRef", "session-ref:" + "c" * 32),
        ("messageRef", "timeline-event:" + "c" * 32),
    ],
)
def test_a_completed_task_rests_on_the_measurement_of_its_last_step(name: str, other: str) -> None:
    """The assertion's own evidence, time and origin are those of the step; another measurement completes nothing."""
    assert entry(value=completed(), kind="objective-measurement").evidence_kind == "objective-measurement"

    with pytest.raises(AssertionInvalidError) as refused:
        entry(
            value={**completed(), "lastVerifiedStep": verified(**{name: other})}, kind="objective-measurement"
        )

    assert (
        refused.value.message
        == f"field value.lastVerifiedStep.{name}: must be that of the assertion in a completed task"
    )


@pytest.mark.requirement("W33")
def test_a_step_may_be_observed_when_the_assertion_was() -> None:
    """At the same millisecond it is not later."""
    assert entry(value=continuation(lastVerifiedStep=verified()), at=T0).observed_at == T0


@pytest.mark.requirement("W31")
def test_a_stored_continuation_that_breaks_a_rule_is_refused_at_load() -> None:
    """What was written past the rules is not read."""
    import msgspec

    broken = msgspec.structs.replace(entry(), value=canonical_text(continuation(status="done")))

    with pytest.raises(WorldStateError) as refused:
        read_assertion(7, T0, broken)

    assert refused.value.message == (
        "leaf 7: field value.status: must be active, blocked, paused or completed"
    )


@pytest.mark.requirement("W27")
def test_an_imported_value_is_taken_as_it_is_and_is_no_continuation() -> None:
    """Another system's record stays what it was, and is given no kind."""
    imported = entry(value="anything", recorder="import", knowledge=None, origin=None)

    assert imported.predicate == CONTINUATION_PREDICATE
    assert imported.knowledge is None


@pytest.mark.requirement("W32")
def test_the_same_value_may_be_said_of_its_own_task_only() -> None:
    """A continuation that is copied to another task is refused."""
    for subject in (TASK, "task:release-2"):
        value = continuation(taskId=subject)
        assert entry(value=value, subject=subject, scope=scope_of(ADA), origin=ORIGIN).subject == subject
