"""A model suggests: never more than that, under its own session's scope and route, whatever it writes."""

import hashlib
from typing import Any

import pytest

from sidecars.assertion import VALUE_BYTES_MAX
from sidecars.identity import canonical_bytes_with_floats
from tests.capture.stage import Stage, failing, passing
from tests.guard.agents import Agent, denial
from timeline.binding import binding_of
from timeline.clock import format_utc
from timeline.guard.request import Tool
from timeline.mcp_server.answered import prepare
from timeline.permitting import Denied
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.scope import route_refs

TOKEN = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
VALUE: Any = {"steps": ["make", 2.5]}
LESSON: dict[str, Any] = {
    "id": "note:slow",
    "subjectId": "project:parser",
    "predicate": "build.lesson",
    "value": VALUE,
    "evidenceKind": "model-suggestion",
    "knowledgeKind": "error-lesson",
    "privacy": "shared",
}
TASK: dict[str, Any] = {
    **LESSON,
    "id": "note:step",
    "subjectId": "task:default",
    "predicate": "task.note",
    "privacy": "private",
}


def recorded(stage: Stage, answer: dict[str, Any]) -> Assertion:
    """What stands in the log."""
    with stage.world.session.reading() as state:
        found = ledger.find(state, answer["assertion"]["id"])
    assert found is not None
    return found


@pytest.mark.requirement("W1", "W2", "W4", "W48", "W56", "W61", "T63")
def test_what_a_model_says_is_a_suggestion_of_its_session(stage: Stage, host: str) -> None:
    """Evidence, time, scope and route come from the call; nothing is established."""
    agent = stage.session(host, failing)

    answer = agent.ask(Tool.RECORD, LESSON)

    entry = recorded(stage, answer).entry
    assert (answer["status"], answer["blocked"], answer["givenId"]) == ("recorded", False, "note:slow")
    assert answer["authority"] == answer["assertion"]["authority"] == "context-only"
    assert answer["assertion"]["status"] == "proposed"
    assert (entry.recorder, entry.evidence_kind) == ("model", "model-suggestion")
    assert entry.evidence_id.startswith("tool-use:")
    assert entry.observed_at == stage.world.clock.at_ms
    assert (entry.project, entry.privacy, entry.knowledge) == (stage.world.root, "shared", "error-lesson")
    assert (entry.portal, entry.thread) == (None, None)
    view = agent.ask(Tool.CONTEXT, {"subjectId": "project:parser"})
    assert (view["facts"], view["conflicts"]) == ([], [])
    assert [one["id"] for one in view["proposals"]] == [entry.id]


@pytest.mark.requirement("W47", "W48", "W55", "W56")
@pytest.mark.parametrize(
    ("asked", "is_routed"),
    [
        (TASK, True),
        ({**TASK, "subjectId": "task:other"}, False),
        ({name: value for name, value in TASK.items() if name != "knowledgeKind"}, False),
        (LESSON, False),
    ],
)
def test_only_knowledge_about_the_current_task_gets_the_route(
    stage: Stage, asked: dict[str, Any], is_routed: bool
) -> None:
    """From the enrolled binding; there is no field for it."""
    agent = stage.session("codex", failing)
    with stage.world.session.reading() as state:
        route = route_refs(binding_of(state.view.active[0].enrollment.binding))

    entry = recorded(stage, agent.ask(Tool.RECORD, asked)).entry

    assert (entry.portal, entry.thread) == ((route.portal, route.thread) if is_routed else (None, None))
    for name in ("portalRef", "threadRef", "portal_ref"):
        assert denial(agent.permit(Tool.RECORD, {**asked, name: route.portal})) == "timeline-scope-mismatch"


@pytest.mark.requirement("W6", "W7", "T32")
def test_the_same_suggestion_again_is_one_and_another_is_refused(stage: Stage, host: str) -> None:
    """In another call, later, and in another session of the task."""
    agent = stage.session(host, failing)
    first = agent.ask(Tool.RECORD, TASK)
    later = stage.session(host, passing, number=1)
    size = stage.leaves()

    again, elsewhere = agent.ask(Tool.RECORD, TASK), later.ask(Tool.RECORD, TASK)
    other = agent.ask(Tool.RECORD, {**TASK, "value": "another"})

    assert [answer["status"] for answer in (again, elsewhere)] == ["duplicate", "duplicate"]
    assert again["assertion"] == elsewhere["assertion"] == first["assertion"]
    assert (other["status"], other["reason"]) == ("unavailable", "world-assertion-id-reused")
    assert stage.leaves() == size


@pytest.mark.requirement("X12", "W50")
def test_a_name_that_is_used_where_one_cannot_see_is_free(stage: Stage) -> None:
    """A session of another task learns nothing from recording under the same name."""
    agent = stage.session("codex", failing)
    agent.ask(Tool.RECORD, TASK)
    settings = stage.world.locations.settings
    settings.write_text(
        settings.read_text(encoding="utf-8").replace('task = "default"', 'task = "other"'), encoding="utf-8"
    )
    foreign = stage.session("codex", passing, number=1)

    answer = foreign.ask(Tool.RECORD, {**TASK, "subjectId": "task:other", "value": "another"})

    assert answer["status"] == "recorded"


@pytest.mark.requirement("W1", "W2", "W3", "W29", "W62", "D7")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"evidenceKind": "objective-measurement"}, "world-evidence-kind-not-permitted"),
        ({"evidenceKind": "explicit-user-feedback"}, "world-evidence-kind-not-permitted"),
        ({"evidenceKind": "uninterpreted-user-message"}, "world-evidence-kind-not-permitted"),
        ({"evidenceKind": "fact"}, "world-evidence-kind-not-permitted"),
        ({"evidenceDigest": "0" * 64}, "world-evidence-digest-mismatch"),
        ({"subjectId": "Parser"}, "world-assertion-invalid"),
        ({"predicate": "Build Lesson"}, "world-assertion-invalid"),
        ({"evidenceId": "none"}, "world-assertion-invalid"),
        ({"observedAt": "2126-08-20T10:00:00Z"}, "world-assertion-invalid"),
        ({"expiresAt": "2020-08-20T10:00:00Z"}, "world-assertion-invalid"),
        ({"predicate": "deploy.permission"}, "world-authority-shaped"),
        ({"value": {"accessToken": "x"}}, "world-authority-shaped"),
        ({"value": TOKEN}, "world-secret-shaped"),
        ({"reason": TOKEN}, "world-secret-shaped"),
        (
            {"predicate": "task.user-feedback-interpretation", "subjectId": "task:default"},
            "world-assertion-invalid",
        ),
        ({"predicate": "task.user-feedback", "subjectId": "task:default"}, "world-assertion-invalid"),
        ({"predicate": "task.timeline-outcome-contract"}, "world-assertion-invalid"),
    ],
)
def test_what_a_model_may_not_say_is_refused(stage: Stage, changes: dict[str, Any], reason: str) -> None:
    """With the reason, and nothing is written."""
    agent = stage.session("codex", failing)
    size = stage.leaves()

    answer = agent.ask(Tool.RECORD, {**LESSON, **changes})

    assert (answer["status"], answer["blocked"], answer["reason"]) == ("unavailable", True, reason)
    assert stage.leaves() == size


@pytest.mark.requirement("W4", "W37", "W3")
def test_a_suggested_continuation_is_none_however_often_it_is_said(stage: Stage) -> None:
    """It is shown among the proposals, and nobody goes on from it."""
    agent = stage.session("codex", failing)
    stage.start(agent)
    (started,) = stage.assertions(agent)
    value = {**started.value, "nextStep": {"id": "step:mine", "summary": "stop here"}}  # type: ignore[dict-item]  # an object
    asked = {**TASK, "predicate": "task.continuation", "knowledgeKind": "task-state", "value": value}

    for name in ("note:1", "note:2", "note:3"):
        assert agent.ask(Tool.RECORD, {**asked, "id": name})["status"] == "recorded"

    told = agent.ask(Tool.BRIEFING, {})
    assert [task["nextStep"]["summary"] for task in told["tasks"]] == ["make the tests pass"]
    assert told["counts"]["proposals"] == 3
    assert "stop here" not in str(told)


@pytest.mark.requirement("W2", "H-f")
def test_evidence_that_is_given_is_taken_if_it_is_right(stage: Stage) -> None:
    """The digest is that of the value, the time is past; an id is the caller's own."""
    agent = stage.session("codex", failing)
    digest = hashlib.sha256(canonical_bytes_with_floats(VALUE)).hexdigest()
    observed_at = stage.world.clock.at_ms - 1000
    asked = {
        **LESSON,
        "evidenceId": "note:heard",
        "evidenceDigest": digest,
        "observedAt": format_utc(observed_at),
        "expiresAt": format_utc(observed_at + 60_000),
        "reason": "it was slow",
    }

    entry = recorded(stage, agent.ask(Tool.RECORD, asked)).entry

    assert (entry.evidence_id, entry.observed_at) == ("note:heard", observed_at)
    assert (entry.expires_at, entry.reason) == (observed_at + 60_000, "it was slow")


@pytest.mark.requirement("T30", "D7")
def test_without_a_permit_or_an_enrollment_nothing_is_recorded(stage: Stage, host: str) -> None:
    """A call that the hook has not seen; a session that the owner has taken back."""
    agent: Agent = stage.session(host, failing)
    size = stage.leaves()

    assert agent.call(Tool.RECORD, LESSON)["reason"] == "timeline-permit-required"
    assert denial(agent.permit(Tool.RECORD, {**LESSON, "groupId": "g"})) == "timeline-group-suppressed"
    assert denial(agent.permit(Tool.RECORD, {**LESSON, "privacy": "group"})) == "timeline-group-suppressed"
    assert stage.leaves() == size


@pytest.mark.requirement("W28")
def test_the_largest_suggestion_is_answered_with_both_its_ids(stage: Stage) -> None:
    """What was said is left out of the answer where it does not fit; what it is called is not."""
    agent = stage.session("codex", failing)

    answer = agent.ask(Tool.RECORD, {**LESSON, "value": "x" * (VALUE_BYTES_MAX - 2)})

    sent = prepare(answer, is_error=False).structured
    assert sent["fieldsOmitted"] == ["assertion"]
    assert (sent["givenId"], sent["assertionId"]) == (LESSON["id"], answer["assertion"]["id"])


@pytest.mark.requirement("W4", "X12")
def test_suggestions_about_one_subject_are_bounded(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits already can be said again; about another subject there is room."""
    monkeypatch.setattr("timeline.remembering.SUGGESTIONS_PER_SUBJECT_MAX", 3)
    agent = stage.session("codex", failing)

    def suggest(number: int, subject: str = "project:parser") -> Any:
        asked = {**LESSON, "id": f"note:n{number}", "subjectId": subject, "value": number}
        return agent.ask(Tool.RECORD, asked)

    assert [suggest(number)["status"] for number in range(3)] == ["recorded"] * 3
    assert suggest(3)["reason"] == "world-suggestions-full"
    assert suggest(0)["status"] == "duplicate"
    assert suggest(3, "project:other")["status"] == "recorded"
    for_one_use = {**LESSON, "id": "note:use", "subjectId": "project:parser", "purposes": ["planning"]}
    assert agent.ask(Tool.RECORD, for_one_use)["reason"] == "world-suggestions-full"
    others = {**for_one_use, "subjectId": "project:third"}
    told = [agent.ask(Tool.RECORD, {**others, "id": f"note:t{number}"})["reason"] for number in range(4)]
    assert told == [None, None, None, "world-suggestions-full"]


@pytest.mark.requirement("W17", "W14")
def test_a_clock_that_goes_back_does_not_bring_back_what_has_expired(stage: Stage) -> None:
    """The log shows that the time has passed."""
    agent = stage.session("codex", failing)
    now = stage.world.clock.at_ms
    agent.ask(Tool.RECORD, {**LESSON, "id": "note:short", "expiresAt": format_utc(now + 1000)})
    stage.world.clock.at_ms = now + 5000
    agent.ask(Tool.RECORD, {**LESSON, "id": "note:long", "value": "later"})
    stage.world.clock.at_ms = now + 500

    view = agent.ask(Tool.CONTEXT, {"includePrivate": True})

    assert [one["value"] for one in view["proposals"]] == ["later"]
    assert len(view["stale"]) == 1


@pytest.mark.parametrize("depth", [31, 32, 33])
def test_a_value_that_is_too_deep_for_its_digest_is_refused_with_a_hint(stage: Stage, depth: int) -> None:
    """By the tool's own rule, and not somewhere below it."""
    agent = stage.session("codex", failing)
    value: Any = 1
    for _ in range(depth):
        value = [value]
    refused = agent.permit(Tool.RECORD, {**LESSON, "value": value})
    assert isinstance(refused, Denied)
    assert (refused.reason, bool(refused.hint)) == ("timeline-request-invalid", True)
