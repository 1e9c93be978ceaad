"""Before it answers, an agent is reminded of where its task stands and of what the user has said."""

from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from tests.world.feedback.stories import (
    NOW,
    OTHER_SESSION,
    QUESTION,
    SESSION,
    SOURCE_DIGEST,
    T0,
    TASK,
    Story,
    continuation_entry,
    message,
    moment,
)
from timeline.world.assertion import Assertion, Evidence, Origin, Scope, make_entry, read_assertion
from timeline.world.feedback import CONFLICTED
from timeline.world.task_state import Refused

TASK_NOW = {
    "taskId": TASK,
    "status": "active",
    "objective": "Release version 2",
    "lastVerifiedStep": None,
    "nextStep": {"summary": "Write the release notes"},
}


def told(story: Story, number: int) -> dict[str, Any]:
    """One quoted message as a packet shows it."""
    assertion = story.assertions[number]
    assert isinstance(assertion.value, dict)
    return {
        "assertionId": assertion.id,
        "sourceText": assertion.value["sourceText"],
        "observedAt": moment(assertion.entry.observed_at),
        "messageRef": assertion.entry.evidence_id,
        "sessionRef": assertion.entry.session,
        "sourceProvider": assertion.value["sourceProvider"],
        "sourceDigest": assertion.value["sourceDigest"],
    }


@pytest.mark.requirement("T48")
def test_without_messages_the_continuation_and_its_source_are_recalled() -> None:
    """And that no correction has been applied."""
    assert Story().packet() == {
        "schema": "agentspine.pre-answer-recall/v1",
        "order": "review-before-claims-and-actions",
        "authority": "context-only",
        "task": {
            **TASK_NOW,
            "assertionId": "assertion:start",
            "observedAt": "2026-09-21T14:13:20.000Z",
            "source": {"kind": "explicit-user-feedback", "sessionRef": SESSION, "messageRef": "event:start"},
            "scope": {
                "projectId": "/srv/demo",
                "groupId": None,
                "privacy": "private",
                "portalRef": "portal-ref:" + "1" * 32,
                "threadRef": "thread-ref:" + "1" * 32,
            },
            "correctionStatus": "none-current",
        },
    }


@pytest.mark.requirement("T48")
@pytest.mark.parametrize(
    ("recorder", "step", "status"),
    [
        ("capture", "step:user-correction-1", "applied-source-verified"),
        ("capture", "step:notes", "none-current"),
        ("owner", "step:user-correction-1", "none-current"),
    ],
)
def test_a_correction_that_a_capture_has_applied_is_said(recorder: str, step: str, status: str) -> None:
    """A step that somebody else has called so is none."""
    corrected = continuation_entry(
        "start", T0, recorder=recorder, nextStep={"id": step, "summary": "Name it report.txt"}
    )
    assert Story(corrected).packet()["task"]["correctionStatus"] == status


@pytest.mark.requirement("T48")
def test_one_message_is_quoted_with_what_a_request_has_to_name() -> None:
    """The words stand in ``sourceText``; a model's meaning of them stands apart and is a proposal."""
    story = Story()
    said = story.say()
    base = {
        "schema": "agentspine.pre-answer-recall/v1",
        "order": "review-before-claims-and-actions",
        "authority": "context-only",
        "task": TASK_NOW,
        "feedback": {**told(story, 1), "interpretationStatus": "unresolved"},
        "interpretationInput": {"feedbackAssertionId": said.id, "targetAssertionId": "assertion:start"},
    }
    assert story.packet() == base
    assert base["feedback"] == {
        "assertionId": said.id,
        "sourceText": "Please name it report.txt",
        "observedAt": "2026-09-21T14:14:20.000Z",
        "messageRef": message().event_id,
        "sessionRef": SESSION,
        "sourceProvider": "codex",
        "sourceDigest": SOURCE_DIGEST,
        "interpretationStatus": "unresolved",
    }
    proposal = story.record(story.interpret())
    assert story.packet() == {
        **base,
        "modelInterpretation": {
            "status": "model-proposed",
            "kind": "next-step-correction",
            "proposedNextStepSummary": "Name the file report.txt",
            "clarificationQuestion": None,
            "modelProvider": "codex",
            "assertionId": proposal.id,
        },
    }


@pytest.mark.requirement("T48", "T49")
def test_several_messages_are_listed_newest_first() -> None:
    """With a model's question about all of them, if there is one."""
    story = Story()
    story.say("one", T0 + 1000)
    story.say("two", T0 + 2000, session=OTHER_SESSION, provider="claude")
    story.say("three", T0 + 3000)
    review = {
        "status": "multiple-unresolved",
        "completionVerified": False,
        "targetAssertionId": "assertion:start",
    }
    packet = story.packet()
    assert packet["feedbackCandidates"] == [told(story, 3), told(story, 2), told(story, 1)]
    assert packet["feedbackReview"] == review
    assert "feedback" not in packet
    proposal = story.record(story.interpret())
    assert story.packet()["feedbackReview"] == {
        **review,
        "modelClarification": {
            "status": "model-proposed",
            "clarificationQuestion": QUESTION,
            "modelProvider": "codex",
            "assertionId": proposal.id,
        },
    }


@pytest.mark.requirement("T48")
def test_of_more_than_three_messages_the_newest_are_shown() -> None:
    """How many are not is said; a proposal about three of them is not shown for all."""
    story = Story()
    for number in range(1, 4):
        story.say(f"message {number}", T0 + number)
    story.record(story.interpret())
    for number in range(4, 6):
        story.say(f"message {number}", T0 + number)
    packet = story.packet()
    assert [row["sourceText"] for row in packet["feedbackCandidates"]] == [
        "message 5",
        "message 4",
        "message 3",
    ]
    assert packet["feedbackReview"]["omitted"] == 2
    assert "modelClarification" not in packet["feedbackReview"]


@pytest.mark.requirement("T48")
def test_what_was_imported_under_a_proposals_id_is_none() -> None:
    """Only a model's own suggestion, recorded here, is shown as one."""
    story = Story()
    story.say()
    proposal = story.interpret()
    assert isinstance(proposal, AssertionEntry)
    legacy = msgspec.structs.replace(proposal, recorder="import", knowledge=None, session=None, message=None)
    story.record(legacy)
    assert "modelInterpretation" not in story.packet()
    assert story.interpret() == Refused(CONFLICTED)


@pytest.mark.requirement("T48")
def test_a_completed_task_asks_for_no_interpretation() -> None:
    """It is told as completed, with what was said since."""
    story = Story(continuation_entry("done", T0, status="completed"))
    story.say()
    packet = story.packet()
    assert packet["task"]["status"] == "completed"
    assert packet["task"]["nextStep"] is None
    assert packet["task"]["lastVerifiedStep"] == {"summary": "Write the release notes", "result": "passed"}
    assert "interpretationInput" not in packet
    assert "feedback" in packet


@pytest.mark.requirement("T48")
def test_a_packet_survives_a_restart() -> None:
    """It is made of what the log holds, read again entry by entry, in whatever order it comes."""
    story = Story()
    story.say()
    story.record(story.interpret())
    before = story.packet()
    again = [read_assertion(one.leaf, one.recorded_at, one.entry) for one in story.assertions]
    story.assertions = again[::-1]
    assert story.packet() == before


def test_facts_are_told_with_their_evidence() -> None:
    """At most three; what was imported is marked."""
    facts = tuple(fact(number, "import" if number == 1 else "owner") for number in range(4))
    found = Story().packet(facts)["facts"]
    assert [one["value"] for one in found] == [0, 1, 2]
    assert found[0] == {
        "subjectId": "suite:unit",
        "predicate": "test.count",
        "value": 0,
        "evidenceKind": "explicit-user-feedback",
        "observedAt": moment(T0),
    }
    assert [one.get("legacy", False) for one in found] == [False, True, False]


def fact(number: int, recorder: Any) -> Assertion:
    """One fact about something else."""
    entry = make_entry(
        id=f"assertion:fact-{number}",
        recorder=recorder,
        subject="suite:unit",
        predicate="test.count",
        value=number,
        evidence=Evidence("explicit-user-feedback", f"evidence:{number}", Digest.of(b"x"), T0),
        scope=Scope("home", "ada", "/srv/demo"),
        knowledge=None if recorder == "import" else "fact",
        origin=None if recorder == "import" else Origin(SESSION, "event:x"),
    )
    return read_assertion(number, NOW, entry)
