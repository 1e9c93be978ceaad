"""A found result becomes a measurement: once, with where it comes from, for each provider, or not at all."""

import json
import threading
from typing import Any

import pytest

from tests.capture.stage import Stage, capture_of, captured, failing, passing
from tests.guard.agents import Agent, denial
from tests.guard.test_prior_sessions import set_scope
from timeline import permitting
from timeline.answers import session_ref
from timeline.binding import binding_of
from timeline.guard.permit import PermitBook
from timeline.guard.request import Tool
from timeline.limits import PERMIT_SECONDS
from timeline.world.scope import route_refs

PRIOR = {"includePriorSessions": True}


@pytest.mark.requirement("T18", "T27", "T28", "T29", "T63", "W2", "W56", "W61")
def test_a_result_becomes_a_measurement_of_its_task(stage: Stage, host: str) -> None:
    """Closed fields alone, the evidence of the reopened line, the route of the session's own enrollment."""
    agent = stage.session(host, failing)
    with stage.world.session.reading() as state:
        (source,) = state.view.active
    route = route_refs(binding_of(source.enrollment.binding))
    card = agent.ask()["events"][0]

    answer = captured(agent)

    (recorded,) = stage.assertions(agent)
    entry = recorded.entry
    assert (answer["status"], answer["blocked"], answer["reason"]) == ("captured", False, None)
    assert answer["authority"] == answer["captured"]["authority"] == "context-only"
    assert answer["transport"] == ("proved" if host == "codex" else "process")
    assert (answer["completionVerified"], answer["deliveryConfirmed"], answer["automaticRetry"]) == (
        False,
    ) * 3
    assert answer["captured"]["status"] == "confirmed"
    assert entry.id == answer["captured"]["assertionId"]
    assert recorded.value == answer["captured"]["value"]
    assert recorded.value == {
        "schema": "agentspine.timeline-objective-result/v1",
        "outcome": "fail",
        "count": {"value": 11, "total": 12},
        "testLabel": None,
    }
    assert (entry.recorder, entry.evidence_kind, entry.knowledge) == (
        "capture",
        "objective-measurement",
        "task-state",
    )
    assert (entry.subject, entry.predicate) == ("task:default", "task.timeline-result.pytest")
    assert (entry.evidence_id, entry.message, entry.session) == (card["id"], card["id"], card["sessionRef"])
    assert entry.session == session_ref(source.enrollment)
    assert (entry.portal, entry.thread, entry.privacy) == (route.portal, route.thread, "private")
    assert answer["captured"]["observedAt"] == card["at"]
    assert answer["continuationUpdate"]["reason"] == "timeline-continuation-missing"
    assert agent.session not in json.dumps(answer)
    assert str(agent.written.path) not in json.dumps(answer)


@pytest.mark.requirement("T32", "T27", "T63")
def test_the_same_capture_again_is_a_duplicate_also_after_a_restart(stage: Stage, host: str) -> None:
    """Each takes a permit of its own; nothing is added."""
    agent = stage.session(host, failing)
    first = captured(agent)
    size = stage.leaves()
    agent.book = PermitBook()  # the daemon was started anew

    again = captured(agent)

    assert (first["status"], again["status"]) == ("captured", "duplicate")
    assert again["captured"] == first["captured"]
    assert stage.leaves() == size
    asked = capture_of(agent)
    agent.permit(Tool.CAPTURE, asked)
    assert agent.call(Tool.CAPTURE, asked)["status"] == "duplicate"
    assert agent.call(Tool.CAPTURE, asked)["reason"] == "timeline-permit-required"


@pytest.mark.requirement("T32")
def test_a_followed_session_that_grows_gives_the_same_measurement(stage: Stage, host: str) -> None:
    """Another generation is no other source; the search may have another digest of it by then."""
    agent = stage.session(host, failing, follow=True)
    asked = capture_of(agent)
    first = agent.ask(Tool.CAPTURE, asked)
    stage.grow(agent, lambda session: (failing(session), session.prompt("go on")))

    again = agent.ask(Tool.CAPTURE, asked)

    assert (first["status"], again["status"]) == ("captured", "duplicate")
    assert again["captured"] == first["captured"]


@pytest.mark.requirement("T32")
def test_two_captures_at_once_are_one(stage: Stage) -> None:
    """Whoever comes first: captured, and a duplicate."""
    agent = stage.session("codex", failing)
    asked = capture_of(agent)
    calls = []
    for _ in range(2):
        agent.permit(Tool.CAPTURE, asked)
        calls.append(agent.meta)
    answers: list[dict[str, Any]] = []
    start = threading.Barrier(2)

    def call(meta: object) -> None:
        start.wait(10)
        answers.append(agent.call(Tool.CAPTURE, asked, meta=meta))

    threads = [threading.Thread(target=call, args=(meta,)) for meta in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(answer["status"] for answer in answers) == ["captured", "duplicate"]
    assert len(stage.assertions(agent)) == 1


@pytest.mark.requirement("T31", "T58", "T63")
def test_a_later_opposite_result_is_a_conflict_and_no_fact(stage: Stage, host: str) -> None:
    """Both stay measured; nobody chooses."""
    agent = stage.session(host, lambda session: (failing(session), passing(session)))
    captured(agent)

    later = captured(agent, "pytest passed")

    assert later["status"] == "captured"
    view = agent.ask(Tool.CONTEXT, {"includePrivate": True})
    assert view["facts"] == []
    (conflict,) = view["conflicts"]
    assert {one["value"]["outcome"] for one in conflict["assertions"]} == {"pass", "fail"}
    assert view["uncertainty"]["requiresResolution"] is True


@pytest.mark.requirement("W11", "T63")
def test_two_sessions_that_saw_the_same_agree(stage: Stage, host: str) -> None:
    """One fact on two measurements: where it was seen is evidence, and no other value (ADR 0025)."""
    for number in range(2):
        agent = stage.session(host, failing, number=number)
        assert captured(agent)["status"] == "captured"

    view = agent.ask(Tool.CONTEXT, {"includePrivate": True})

    assert view["conflicts"] == []
    (fact,) = view["facts"]
    assert len(fact["assertionIds"]) == 2


@pytest.mark.requirement("T25", "T28", "W47", "W50")
def test_an_earlier_session_of_the_task_is_captured_from_its_own_source(stage: Stage, host: str) -> None:
    """Its provenance, and the same task and route."""
    before = stage.session(host, failing)
    now = stage.session(host, passing, number=1)

    answer = captured(now, **PRIOR)

    assert answer["status"] == "captured"
    (recorded,) = stage.assertions(before)
    assert recorded.entry.session == answer["timeline"]["sessionRef"]
    assert recorded.entry.session != now.ask(given={"query": "pytest passed"})["events"][0]["sessionRef"]
    assert [one.id for one in stage.assertions(now)] == [recorded.id]


@pytest.mark.requirement("T26", "T28", "W2")
def test_another_providers_session_is_captured_with_its_own_provenance(stage: Stage) -> None:
    """Only with both flags and the owner's switch, as it is searched."""
    stage.session("claude", failing)
    now = stage.session("codex", passing, number=1)
    both = {**PRIOR, "includePriorProviders": True}
    asked = {"query": "pytest failed", "eventId": "timeline-event:" + "0" * 32, **both}
    size = stage.leaves()

    assert now.ask(Tool.CAPTURE, asked)["reason"] == "timeline-cross-provider-disabled"
    assert stage.leaves() == size
    settings = stage.world.locations.settings
    settings.write_text("cross_provider = true\n" + settings.read_text(encoding="utf-8"), encoding="utf-8")
    answer = captured(now, **both)

    assert answer["status"] == "captured"
    assert answer["timeline"]["sourceProvider"] == "claude"


# -- what leaves nothing ---------------------------------------------------------------------------------------


def replayed(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """Once permitted and used by another call."""
    agent.permit(Tool.SEARCH, {"query": "pytest failed"})
    return agent.call(Tool.CAPTURE, asked)


def mutated(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """Permitted for another event."""
    agent.permit(Tool.CAPTURE, {**asked, "eventId": "timeline-event:" + "0" * 32})
    return agent.call(Tool.CAPTURE, asked)


def interpreted(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """Permitted without an interpretation."""
    agent.permit(Tool.CAPTURE, asked)
    return agent.call(Tool.CAPTURE, {**asked, "interpretation": {"kind": "ambiguous"}})


def late(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """A minute after its permit."""
    agent.permit(Tool.CAPTURE, asked)
    agent.world.clock.at_ms += PERMIT_SECONDS * 1000
    return agent.call(Tool.CAPTURE, asked)


def changed(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """The transcript has another byte."""
    content = bytearray(agent.written.path.read_bytes())
    content[-3] ^= 1
    agent.written.path.write_bytes(content)
    return agent.ask(Tool.CAPTURE, asked)


def gone(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """The transcript is not there."""
    agent.written.path.unlink()
    return agent.ask(Tool.CAPTURE, asked)


def absent(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """No such event."""
    return agent.ask(Tool.CAPTURE, {**asked, "eventId": "timeline-event:" + "0" * 32})


def unfitting(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """The event is there, and does not have these terms."""
    return agent.ask(Tool.CAPTURE, {**asked, "query": "pytest passed"})


def elsewhen(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """The event is there, and not at this time."""
    return agent.ask(Tool.CAPTURE, {"eventId": asked["eventId"], "at": "2026-01-01T00:00:00Z"})


def unsafe(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """The state's head was tampered with after the permit."""
    agent.permit(Tool.CAPTURE, asked)
    agent.world.locations.head.write_bytes(b"x")
    return agent.call(Tool.CAPTURE, asked)


def given(agent: Agent, asked: dict[str, Any]) -> dict[str, Any]:
    """With a result of the model's own."""
    agent.permit(Tool.CAPTURE, asked)
    return agent.call(Tool.CAPTURE, {**asked, "outcome": "pass"})


@pytest.mark.requirement("T30", "T27", "T63")
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda agent, asked: agent.call(Tool.CAPTURE, asked), "timeline-permit-required"),
        (replayed, None),
        (mutated, None),
        (interpreted, None),
        (late, None),
        (given, "timeline-request-invalid"),
        (changed, "timeline-capture-source-unavailable"),
        (gone, "timeline-capture-source-unavailable"),
        (absent, "timeline-capture-event-not-found"),
        (unfitting, "timeline-capture-event-not-found"),
        (elsewhen, "timeline-capture-event-not-found"),
        (unsafe, None),
    ],
)
def test_what_is_not_permitted_or_not_there_writes_nothing(
    stage: Stage, host: str, call: Any, reason: str | None
) -> None:
    """The log has the size that it had."""
    agent = stage.session(host, failing)
    asked = capture_of(agent)
    agent.meta = None
    size, head = stage.leaves(), stage.world.locations.head.read_bytes()

    answer = call(agent, asked)

    assert (answer["status"], answer["blocked"]) == ("unavailable", True)
    assert answer["reason"] == reason or (reason is None and answer["reason"])
    stage.world.locations.head.write_bytes(head)
    assert stage.leaves() == size


@pytest.mark.requirement("T30", "T8", "T7")
@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ({"groupId": "g"}, "timeline-group-suppressed"),
        ({"agent_spine_scope": {"group_id": ""}}, "timeline-group-suppressed"),
        ({"taskId": "task:other"}, "timeline-scope-mismatch"),
        ({"portalRef": "portal-ref:" + "0" * 32}, "timeline-scope-mismatch"),
        ({"threadRef": "thread-ref:" + "0" * 32}, "timeline-scope-mismatch"),
        ({"accessProof": "x"}, "timeline-proof-smuggled"),
    ],
)
def test_a_claimed_scope_is_refused_at_both_entries(stage: Stage, claim: dict[str, Any], reason: str) -> None:
    """No argument says for whom something is captured."""
    agent = stage.session("codex", failing)
    asked = capture_of(agent)
    size = stage.leaves()

    assert denial(agent.permit(Tool.CAPTURE, {**asked, **claim})) == reason
    assert isinstance(agent.permit(Tool.CAPTURE, asked), permitting.Permitted)
    assert agent.call(Tool.CAPTURE, {**asked, **claim})["reason"] == reason
    assert stage.leaves() == size


@pytest.mark.requirement("T30", "T25")
def test_a_session_of_another_task_captures_nothing_of_this_one(stage: Stage) -> None:
    """By its id, and as an earlier session."""
    agent = stage.session("codex", failing)
    asked = capture_of(agent)
    settings = stage.world.locations.settings
    settings.write_text(
        settings.read_text(encoding="utf-8").replace('task = "default"', 'task = "other"'), encoding="utf-8"
    )
    foreign = stage.session("codex", passing, number=1)
    size = stage.leaves()

    assert foreign.ask(Tool.CAPTURE, asked)["reason"] == "timeline-capture-event-not-found"
    assert denial(foreign.permit(Tool.CAPTURE, {**asked, **PRIOR})) == "timeline-prior-session-unavailable"
    assert stage.leaves() == size


@pytest.mark.requirement("T25", "W50", "X12")
def test_a_session_with_a_goal_moves_nothing_of_the_conversation_without_one(stage: Stage, host: str) -> None:
    """It may look at that session's results; where that task stands it can neither change nor learn."""
    before = stage.session(host, failing)
    stage.start(before)
    stage.agree(before)
    set_scope(stage.world, goal="another")
    now = stage.session(host, passing, number=1)
    asked = capture_of(now, **PRIOR)
    size = stage.leaves()

    answer = now.ask(Tool.CAPTURE, asked)

    assert (answer["status"], answer["reason"]) == ("unavailable", "timeline-capture-target-invalid")
    assert "continuationUpdate" not in answer
    assert stage.leaves() == size


@pytest.mark.requirement("T42")
def test_a_result_takes_no_interpretation(stage: Stage) -> None:
    """What was measured needs none."""
    agent = stage.session("codex", failing)
    size = stage.leaves()

    answer = captured(agent, interpretation={"kind": "ambiguous"})

    assert answer["reason"] == "timeline-capture-target-invalid"
    assert stage.leaves() == size
