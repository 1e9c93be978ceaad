"""The three values are closed, and only the right assertion may hold one."""

from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from tests.world.feedback.stories import NOW, T0, Story, message, value_of
from timeline.world.assertion import canonical_text, check_meaning, read_assertion
from timeline.world.errors import AssertionInvalidError, WorldStateError
from timeline.world.feedback_value import (
    broken_kind_rule,
    format_value,
    interpretation_id,
    parse_feedback,
    parse_proposal,
    proposal_digest,
)

QUOTE = Story().quote(message())
assert isinstance(QUOTE, AssertionEntry)


def proposed(count: int) -> AssertionEntry:
    """A proposal about so many messages."""
    story = Story()
    for number in range(count):
        story.say(f"message {number}", T0 + 1000 * (number + 1))
    found = story.interpret()
    assert isinstance(found, AssertionEntry)
    return found


INTERPRETATION = proposed(1)
CLARIFICATION = proposed(3)


@pytest.mark.requirement("T38", "T46")
@pytest.mark.parametrize("entry", [QUOTE, INTERPRETATION, CLARIFICATION], ids=["quote", "v1", "v2"])
def test_a_value_reads_back(entry: AssertionEntry) -> None:
    """What is written is what was read, and the entry is taken from the log."""
    value = value_of(entry)
    parse = parse_feedback if entry is QUOTE else parse_proposal
    assert format_value(parse(value)) == msgspec.json.decode(msgspec.json.encode(value))
    assert read_assertion(3, NOW, entry).value == value


@pytest.mark.parametrize("entry", [QUOTE, INTERPRETATION, CLARIFICATION], ids=["quote", "v1", "v2"])
def test_every_field_must_be_there_and_no_other(entry: AssertionEntry) -> None:
    """Each one taken out is missed, and any one added is too many."""
    value = value_of(entry)
    for name in value:
        refused(entry, {key: item for key, item in value.items() if key != name})
    refused(entry, {**value, "note": "x"})
    refused(entry, [value])
    refused(entry, "words")


@pytest.mark.requirement("T38")
@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "agentspine.timeline-user-feedback/v2"},
        {"sourceText": ""},
        {"sourceText": "two\nlines"},
        {"sourceText": "x" * 2049},
        {"sourceText": 1},
        {"speakerRole": "assistant"},
        {"sourceProvider": "Codex CLI"},
        {"sourceDigest": "AB" * 32},
        {"targetAssertionId": "start"},
        {"interpretationStatus": "resolved"},
        {"completionVerified": True},
        {"completionVerified": None},
        {"completionVerified": 0},
    ],
)
def test_a_quote_says_nothing_else(changes: dict[str, Any]) -> None:
    """Each field has its one form."""
    refused(QUOTE, value_of(QUOTE) | changes)


@pytest.mark.requirement("T46")
@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "agentspine.timeline-user-feedback-interpretation/v2"},
        {"sourceFeedbackAssertionId": "x"},
        {"modelProvider": ""},
        {"interpretationStatus": "confirmed"},
        {"interpretationKind": "permission"},
        {"interpretationKind": "ambiguous"},
        {"interpretationKind": "completion-claim"},
        {"proposedNextStepSummary": None},
        {"proposedNextStepSummary": "x" * 501},
        {"proposedNextStepSummary": " x"},
        {"clarificationQuestion": "Which?"},
        {"replacedNextStepId": None},
        {"completionVerified": True},
    ],
)
def test_an_interpretation_says_nothing_else(changes: dict[str, Any]) -> None:
    """Each field has its one form, and the texts fit the kind."""
    refused(INTERPRETATION, value_of(INTERPRETATION) | changes)


@pytest.mark.requirement("T40", "T41", "T46")
def test_a_clarification_says_nothing_else() -> None:
    """Two or three bindings, sorted and whole, and one question."""
    value = value_of(CLARIFICATION)
    bindings = value["sourceBindings"]
    for wrong in (
        [],
        bindings[:1],
        [*bindings, bindings[0]],
        bindings[::-1],
        [bindings[0], bindings[0]],
        [{**bindings[0], "messageRef": bindings[1]["eventId"]}, *bindings[1:]],
        [{**bindings[0], "eventId": "event:1", "messageRef": "event:1"}, *bindings[1:]],
        [{**bindings[0], "observedAt": "2026-09-22T00:00:00Z"}, *bindings[1:]],
        [{**bindings[0], "observedAt": "yesterday"}, *bindings[1:]],
        [{**bindings[0], "messageDigest": "x"}, *bindings[1:]],
        *[[without(bindings[0], name), *bindings[1:]] for name in bindings[0]],
    ):
        refused(CLARIFICATION, value | {"sourceBindings": wrong})
    for changes in (
        {"clarificationQuestion": ""},
        {"clarificationQuestion": "x" * 301},
        {"clarificationQuestion": None},
        {"clarificationQuestion": "two\nlines"},
        {"completionVerified": True},
        {"interpretationStatus": "unresolved"},
    ):
        refused(CLARIFICATION, value | changes)


@pytest.mark.requirement("T38", "T46")
@pytest.mark.parametrize("entry", [QUOTE, INTERPRETATION, CLARIFICATION], ids=["quote", "v1", "v2"])
@pytest.mark.parametrize(
    "changes",
    {
        "another id": {"id": "assertion:mine"},
        "shared": {"privacy": "shared"},
        "a group's": {"privacy": "group", "group": "team"},
        "without a kind": {"knowledge": None, "session": None, "message": None},
        "a fact": {"knowledge": "fact"},
        "without a route": {"portal": None, "thread": None},
        "without an origin": {"session": None, "message": None},
        "with an end": {"expires_at": T0 * 2},
        "confirmed": {"evidence_kind": "explicit-user-feedback", "recorder": "owner"},
        "measured": {"evidence_kind": "objective-measurement", "recorder": "capture"},
        "under another predicate": {"predicate": "task.note"},
    }.values(),
)
def test_only_the_right_assertion_holds_a_value(entry: AssertionEntry, changes: dict[str, Any]) -> None:
    """Private task state on its route, of its own evidence, under its own id."""
    with pytest.raises(AssertionInvalidError):
        check_meaning(msgspec.structs.replace(entry, **changes), value_of(entry))


def test_a_quote_is_of_its_event_and_a_proposal_of_its_words() -> None:
    """The message reference is the evidence; the evidence digest is that of the proposal (H-f)."""
    other = "timeline-event:" + "0" * 32
    with pytest.raises(AssertionInvalidError, match="messageRef"):
        check_meaning(msgspec.structs.replace(QUOTE, message=other), value_of(QUOTE))
    with pytest.raises(AssertionInvalidError, match="evidenceDigest"):
        changed = msgspec.structs.replace(INTERPRETATION, evidence_digest=QUOTE.evidence_digest)
        check_meaning(changed, value_of(INTERPRETATION))
    with pytest.raises(AssertionInvalidError, match="field id"):
        check_meaning(msgspec.structs.replace(INTERPRETATION, id=CLARIFICATION.id), value_of(INTERPRETATION))
    with pytest.raises(AssertionInvalidError, match="field id"):
        check_meaning(msgspec.structs.replace(QUOTE, id=INTERPRETATION.id), value_of(QUOTE))


def test_nobody_else_takes_the_ids_of_captured_messages() -> None:
    """Else a suggestion could sit where the next proposal has to stand."""
    taken = msgspec.structs.replace(
        INTERPRETATION, predicate="task.note", knowledge=None, session=None, message=None
    )
    with pytest.raises(AssertionInvalidError, match="field id"):
        check_meaning(taken, "words")


@pytest.mark.requirement("T38")
def test_no_other_predicate_holds_uninterpreted_words() -> None:
    """Whatever its id is."""
    other = msgspec.structs.replace(QUOTE, predicate="task.note", id="assertion:note")
    with pytest.raises(AssertionInvalidError, match="evidenceKind"):
        check_meaning(other, value_of(QUOTE))


def test_what_was_imported_is_a_bare_value() -> None:
    """It is neither a quote nor a proposal, whatever it is called (W27)."""
    legacy = msgspec.structs.replace(
        QUOTE,
        recorder="import",
        evidence_kind="model-suggestion",
        knowledge=None,
        session=None,
        message=None,
    )
    check_meaning(legacy, {"any": "value"})


def test_a_changed_value_is_not_read_from_the_log() -> None:
    """The rules hold for what is stored, too (W65)."""
    changed = canonical_text(value_of(QUOTE) | {"completionVerified": True})
    with pytest.raises(WorldStateError, match="completionVerified"):
        read_assertion(7, NOW, msgspec.structs.replace(QUOTE, value=changed))


@pytest.mark.requirement("T39")
@pytest.mark.parametrize(
    ("kind", "summary", "question", "is_good"),
    [
        ("next-step-correction", "Do it", None, True),
        ("next-step-correction", "x" * 500, None, True),
        ("next-step-correction", "x" * 501, None, False),
        ("next-step-correction", "", None, False),
        ("next-step-correction", "two\nlines", None, False),
        ("next-step-correction", None, None, False),
        ("next-step-correction", "Do it", "Which?", False),
        ("ambiguous", None, "Which?", True),
        ("ambiguous", None, "x" * 300, True),
        ("ambiguous", None, "x" * 301, False),
        ("ambiguous", None, "", False),
        ("ambiguous", None, None, False),
        ("ambiguous", "Do it", "Which?", False),
        ("completion-claim", None, None, True),
        ("completion-claim", "Do it", None, False),
        ("completion-claim", None, "Which?", False),
        ("not-current-instruction", None, None, True),
        ("not-current-instruction", "Do it", None, False),
        ("not-current-instruction", None, "Which?", False),
    ],
)
def test_texts_fit_the_kind(kind: Any, summary: str | None, question: str | None, *, is_good: bool) -> None:
    """A step with a correction, a question with what is ambiguous, and else neither."""
    assert (broken_kind_rule(kind, summary, question) is None) == is_good


@pytest.mark.requirement("T44", "T45")
def test_a_proposal_is_known_by_its_words_and_its_set() -> None:
    """Neither the order of the ids nor the model that speaks has a part in it."""
    assert interpretation_id(["assertion:b", "assertion:a"], "assertion:t") == interpretation_id(
        ["assertion:a", "assertion:b"], "assertion:t"
    )
    assert interpretation_id(["assertion:a"], "assertion:t") != interpretation_id(
        ["assertion:a"], "assertion:u"
    )
    proposal = parse_proposal(value_of(INTERPRETATION))
    assert proposal_digest(proposal) == proposal_digest(
        msgspec.structs.replace(proposal, model_provider="king")
    )
    assert proposal_digest(proposal) != proposal_digest(
        msgspec.structs.replace(proposal, replaced_next_step_id="step:x")
    )


def refused(entry: AssertionEntry, value: Any) -> None:
    """The value is refused, alone and in the place of the entry's own, and the error quotes nothing of it."""
    parse = parse_feedback if entry is QUOTE else parse_proposal
    with pytest.raises(AssertionInvalidError):
        check_meaning(entry, value)
    with pytest.raises(AssertionInvalidError) as caught:
        parse(value)
    assert "report.txt" not in str(caught.value)


def without(found: dict[str, Any], name: str) -> dict[str, Any]:
    """An object without one field."""
    return {key: value for key, value in found.items() if key != name}
