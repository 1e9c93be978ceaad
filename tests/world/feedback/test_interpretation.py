"""A model may propose what the user's words mean: about all of them, once, and nothing moves."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from tests.world.feedback.stories import (
    MODEL,
    NOW,
    OTHER_SESSION,
    QUESTION,
    SESSION,
    SOURCE_DIGEST,
    T0,
    TASK,
    THERE,
    Story,
    continuation_entry,
    moment,
    reader,
    value_of,
)
from timeline.world.context import world_context
from timeline.world.feedback import (
    AMBIGUOUS_SET,
    CONFLICTED,
    INTERPRETATION_INVALID,
    SOURCE_MISMATCH,
    TARGET_UNRESOLVED,
    TASK_COMPLETED,
)
from timeline.world.interpretation import Model, interpret, parse_request
from timeline.world.knowledge import structured_knowledge
from timeline.world.task_state import Refused

AFTER_RESTART = Model("codex", OTHER_SESSION)
OTHER_PROVIDER = Model("claude", OTHER_SESSION)

V1 = {
    "schema": "agentspine.timeline-user-feedback-interpretation-request/v1",
    "feedbackAssertionId": "assertion:user-feedback-" + "1" * 32,
    "targetAssertionId": "assertion:start",
    "kind": "next-step-correction",
    "proposedNextStepSummary": "Name the file report.txt",
    "clarificationQuestion": None,
}
V2 = {
    "schema": "agentspine.timeline-user-feedback-clarification-request/v2",
    "feedbackAssertionIds": ["assertion:user-feedback-" + digit * 32 for digit in "12"],
    "targetAssertionId": "assertion:start",
    "clarificationQuestion": QUESTION,
}


def story_of(count: int) -> Story:
    """A task about which the user has said so much."""
    story = Story()
    for number in range(count):
        story.say(f"message {number}", T0 + 1000 * (number + 1))
    return story


# -- requests --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T39", "T40")
@pytest.mark.parametrize("request_", [V1, V2], ids=["v1", "v2"])
def test_a_request_is_closed(request_: dict[str, Any]) -> None:
    """It is read as it is; a field more, a field less or another schema is refused."""
    assert not isinstance(parse_request(request_), Refused)
    wrong = [
        *[{name: value for name, value in request_.items() if name != left} for left in request_],
        request_ | {"note": "x"},
        request_ | {"schema": "agentspine.timeline-user-feedback-interpretation-request/v3"},
        request_ | {"targetAssertionId": "start"},
        request_ | {"targetAssertionId": None},
    ]
    assert {parse_request(one) for one in wrong} == {Refused(INTERPRETATION_INVALID)}


@pytest.mark.requirement("T39", "T43")
@pytest.mark.parametrize(
    "request_",
    [
        None,
        [],
        "correct it",
        V1 | {"kind": "permission"},
        V1 | {"kind": "completion-claim"},
        V1 | {"proposedNextStepSummary": None},
        V1 | {"proposedNextStepSummary": "x" * 501},
        V1 | {"proposedNextStepSummary": "two\nlines"},
        V1 | {"clarificationQuestion": "Which?"},
        V1 | {"kind": "ambiguous"},
        V1 | {"kind": "ambiguous", "proposedNextStepSummary": None, "clarificationQuestion": "x" * 301},
        V2 | {"feedbackAssertionIds": V2["feedbackAssertionIds"][::-1]},
        V2 | {"feedbackAssertionIds": V2["feedbackAssertionIds"][:1]},
        V2 | {"feedbackAssertionIds": [V2["feedbackAssertionIds"][0]] * 2},
        V2 | {"feedbackAssertionIds": ["assertion:user-feedback-" + digit * 32 for digit in "1234"]},
        V2 | {"feedbackAssertionIds": "12"},
        V2 | {"clarificationQuestion": ""},
        V2 | {"clarificationQuestion": "x" * 301},
        V2 | {"clarificationQuestion": None},
    ],
)
def test_what_is_no_request_is_refused(request_: object) -> None:
    """Texts that do not fit the kind, and ids that are not two or three, sorted and unique."""
    assert parse_request(request_) == Refused(INTERPRETATION_INVALID)


# -- one message -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("T39", "T46")
def test_one_message_is_given_a_meaning() -> None:
    """A private suggestion with the provenance of message and model, and with the step that it would replace."""
    story = story_of(1)
    (feedback,) = story.candidates()

    entry = story.interpret()

    assert isinstance(entry, AssertionEntry)
    assert value_of(entry) == {
        "schema": "agentspine.timeline-user-feedback-interpretation/v1",
        "sourceFeedbackAssertionId": feedback,
        "targetAssertionId": "assertion:start",
        "sourceProvider": "codex",
        "sourceDigest": SOURCE_DIGEST,
        "modelProvider": "codex",
        "interpretationStatus": "model-proposed",
        "interpretationKind": "next-step-correction",
        "proposedNextStepSummary": "Name the file report.txt",
        "clarificationQuestion": None,
        "replacedNextStepId": "step:notes",
        "completionVerified": False,
    }
    assert (entry.recorder, entry.evidence_kind, entry.is_established) == ("model", "model-suggestion", False)
    assert (entry.subject, entry.predicate) == (TASK, "task.user-feedback-interpretation")
    assert (entry.privacy, entry.knowledge, entry.observed_at) == ("private", "task-state", NOW)
    assert (entry.session, entry.message) == (SESSION, entry.evidence_id)
    assert entry.id.startswith("assertion:user-feedback-interpretation-")
    assert len(entry.id) == len("assertion:user-feedback-interpretation-") + 24
    quoted = story.assertions[-1].entry
    assert (entry.portal, entry.thread, entry.project, entry.user) == (
        quoted.portal,
        quoted.thread,
        quoted.project,
        quoted.user,
    )


@pytest.mark.requirement("T39")
@pytest.mark.parametrize(
    "texts",
    [
        {"kind": "completion-claim", "proposedNextStepSummary": None},
        {"kind": "not-current-instruction", "proposedNextStepSummary": None},
        {"kind": "ambiguous", "proposedNextStepSummary": None, "clarificationQuestion": QUESTION},
    ],
)
def test_each_kind_can_be_proposed(texts: dict[str, Any]) -> None:
    """And none of them verifies that something is done."""
    story = story_of(1)
    value = value_of(story.interpret(story.request(**texts)))
    assert value["interpretationKind"] == texts["kind"]
    assert value["completionVerified"] is False


# -- several messages ------------------------------------------------------------------------------------------


@pytest.mark.requirement("T40", "T41", "T46")
@pytest.mark.parametrize("count", [2, 3])
def test_two_or_three_messages_are_asked_about(count: int) -> None:
    """Bound to the full sorted set, each message with its own provenance."""
    story = story_of(count)
    by_id = {assertion.id: assertion.entry for assertion in story.assertions}

    value = value_of(story.interpret())

    assert value["schema"] == "agentspine.timeline-user-feedback-clarification/v2"
    assert value["sourceBindings"] == [
        {
            "feedbackAssertionId": id_,
            "eventId": by_id[id_].evidence_id,
            "messageDigest": by_id[id_].evidence_digest,
            "sourceProvider": "codex",
            "sourceDigest": SOURCE_DIGEST,
            "sessionRef": SESSION,
            "messageRef": by_id[id_].evidence_id,
            "observedAt": moment(by_id[id_].observed_at),
        }
        for id_ in sorted(story.candidates())
    ]
    assert value["clarificationQuestion"] == QUESTION
    assert (value["targetAssertionId"], value["replacedNextStepId"]) == ("assertion:start", "step:notes")
    assert (value["modelProvider"], value["interpretationStatus"]) == ("codex", "model-proposed")
    assert value["completionVerified"] is False


@pytest.mark.requirement("T41")
def test_messages_of_several_providers_keep_each_its_own() -> None:
    """Provider, session and source of the one are not those of the other."""
    story = story_of(1)
    story.say("from elsewhere", T0 + 9000, provider="claude", session=OTHER_SESSION, source_digest="cd" * 32)
    bindings = value_of(story.interpret())["sourceBindings"]
    found = {(b["sourceProvider"], b["sessionRef"], b["sourceDigest"]) for b in bindings}
    assert found == {("codex", SESSION, SOURCE_DIGEST), ("claude", OTHER_SESSION, "cd" * 32)}


@pytest.mark.requirement("T39", "T40", "T43")
@given(count=st.integers(0, 5), chosen=st.sets(st.integers(0, 6)), data=st.data())
def test_only_the_full_sorted_set_is_taken(count: int, chosen: set[int], data: st.DataObject) -> None:
    """Whatever ids are named, in whatever order: a part, more, others, and sets of more than three fail."""
    story = story_of(count)
    known = sorted(story.candidates())
    foreign = ["assertion:user-feedback-" + digit * 32 for digit in "0f"]
    pool = [*known, *foreign]
    ids = data.draw(st.permutations([pool[number] for number in sorted(chosen) if number < len(pool)]))
    as_v1 = data.draw(st.booleans())
    request = V2 | {"feedbackAssertionIds": ids}
    if as_v1:
        request = V1 | {"feedbackAssertionId": ids[0] if ids else "none"}
        ids = ids[:1]

    found = story.interpret(request)

    is_whole = ids == known and ((as_v1 and len(ids) == 1) or (not as_v1 and 2 <= len(ids) <= 3))
    assert isinstance(found, AssertionEntry) == is_whole
    if not is_whole:
        assert found in {Refused(INTERPRETATION_INVALID), Refused(AMBIGUOUS_SET)}


@pytest.mark.requirement("T40", "T43")
def test_what_is_wrong_with_a_set_is_said() -> None:
    """A part of the set is ambiguous; an id that is no candidate makes the request invalid."""
    three, four = story_of(3), story_of(4)
    ids = sorted(three.candidates())
    assert three.interpret(three.request(feedbackAssertionIds=ids[:2])) == Refused(AMBIGUOUS_SET)
    assert three.interpret(V1 | {"feedbackAssertionId": ids[0]}) == Refused(AMBIGUOUS_SET)
    assert three.interpret(V2) == Refused(INTERPRETATION_INVALID)
    some = sorted(four.candidates())[:3]
    assert four.interpret(four.request(feedbackAssertionIds=some)) == Refused(AMBIGUOUS_SET)
    other = {"targetAssertionId": "assertion:other"}
    assert three.interpret(three.request() | other) == Refused(INTERPRETATION_INVALID)
    history = story_of(1)
    old = history.request()
    history.record(continuation_entry("next", T0 + 60_000, supersedes=["start"]))
    assert history.interpret(old) == Refused(INTERPRETATION_INVALID)
    history.say("later", T0 + 70_000)
    assert history.interpret(old | {"targetAssertionId": "assertion:next"}) == Refused(INTERPRETATION_INVALID)


# -- the continuation --------------------------------------------------------------------------------------------


def test_without_one_continuation_nothing_is_proposed() -> None:
    """Two that differ are a conflict, and another thread has none."""
    story = story_of(1)
    request = parse_request(story.request())
    assert not isinstance(request, Refused)
    foreign = interpret(
        story.state(route=THERE),
        request,
        MODEL,
        assertions=story.assertions,
        verified=story.messages(),
        now_ms=NOW,
    )
    assert foreign == Refused(TARGET_UNRESOLVED)


@pytest.mark.requirement("T39")
def test_a_completed_task_takes_no_proposal() -> None:
    """There is no next step that it could replace."""
    story = Story(continuation_entry("done", T0, status="completed"))
    story.say()
    assert story.interpret() == Refused(TASK_COMPLETED)


# -- the sources -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("T42", "T43")
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(
    "changes",
    {
        "another line": {"digest": Digest.of(b"other")},
        "another event": {"event_id": "timeline-event:" + "9" * 32},
        "another time": {"observed_at": T0 + 999},
        "another session": {"session": OTHER_SESSION},
        "another provider": {"provider": "king"},
        "another source": {"source_digest": "cd" * 32},
        "other words": {"text": "message x"},
    }.values(),
)
def test_a_source_that_does_not_stand_is_refused(count: int, changes: dict[str, Any]) -> None:
    """Each candidate must be found where and as it was quoted; one that is not is enough."""
    story = story_of(count)
    messages = story.messages()
    for number in range(count):
        changed = list(messages)
        changed[number] = msgspec.structs.replace(changed[number], **changes)
        assert story.interpret(verified=changed) == Refused(SOURCE_MISMATCH)
        assert story.interpret(verified=messages[:number]) == Refused(SOURCE_MISMATCH)
    assert isinstance(story.interpret(verified=messages[::-1]), AssertionEntry)


# -- again, and otherwise --------------------------------------------------------------------------------------


@pytest.mark.requirement("T44")
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("model", [MODEL, AFTER_RESTART, OTHER_PROVIDER])
def test_the_same_words_are_the_same_proposal(count: int, model: Model) -> None:
    """Later, after a restart in a new session, and from another provider: the recorded one is given back."""
    story = story_of(count)
    recorded = story.record(story.interpret())
    assert story.interpret(model=model, at=NOW + 5000) == recorded.entry


@pytest.mark.requirement("T45")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_other_words_about_the_same_set_are_refused(count: int) -> None:
    """Nobody decides between two proposals but the user."""
    story = story_of(count)
    recorded = story.record(story.interpret())
    name = "proposedNextStepSummary" if count == 1 else "clarificationQuestion"
    assert story.interpret(story.request(**{name: "Something else"})) == Refused(CONFLICTED)
    assert story.assertions[-1] == recorded


@pytest.mark.requirement("T42", "T44")
def test_also_what_is_recorded_is_checked_again() -> None:
    """A replay whose source has changed is refused, not answered from memory."""
    story = story_of(1)
    story.record(story.interpret())
    assert story.interpret(verified=[]) == Refused(SOURCE_MISMATCH)


def test_another_message_makes_another_set() -> None:
    """What was proposed about the first alone stays; about both there is a proposal of its own."""
    story = story_of(1)
    first = story.record(story.interpret())
    story.say("one more", T0 + 30_000)
    second = story.record(story.interpret())
    assert first.id != second.id


# -- and nothing moves -----------------------------------------------------------------------------------------


@pytest.mark.requirement("T46", "T47")
@pytest.mark.parametrize("count", [1, 3])
def test_a_proposal_moves_nothing(count: int) -> None:
    """The continuation, the facts and the conflicts are what they were; the proposal is an assumption."""
    story = story_of(count)
    before, facts = story.capsule, world_context(story.assertions, reader(), NOW + 1).facts

    proposal = story.record(story.interpret())

    context = world_context(story.assertions, reader(), NOW + 1)
    assert story.capsule == before
    assert context.facts == facts
    assert context.conflicts == ()
    assert proposal in context.proposals
    status = {
        item.assertion.id: item.status
        for item in structured_knowledge(story.assertions, reader(), NOW + 1).current
    }
    assert status[proposal.id] == "assumption"
