"""A tool call from the hook to the answer, host by host: what is served, what is refused, and what a refusal leaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guard.agents import ASKED, Agent, Written, agent_of, denial, enroll, seen, write_session
from tests.guard.callers import plain
from tests.simulators.worlds import SetClock, World, contents, new_world
from timeline import permitting, recall, service
from timeline.guard.permit import PermitBook
from timeline.guard.request import Tool
from timeline.guard.transport import Caller
from timeline.hosts import HOSTS
from timeline.limits import PERMIT_SECONDS, RECALL_SECONDS_DEFAULT

INDEX = {"maxBytes": 65_536}
EVENT = {**ASKED, "eventId": "timeline-event:" + "0" * 32}
GIVEN: dict[Tool, dict[str, Any]] = {
    Tool.INDEX: INDEX,
    Tool.SEARCH: dict(ASKED),
    Tool.CAPTURE: EVENT,
    Tool.STATUS: {},
    Tool.RECORD: {
        "id": "note:one",
        "subjectId": "task:default",
        "predicate": "build.tool",
        "value": "make",
        "evidenceKind": "model-suggestion",
    },
    Tool.CONTEXT: {},
    Tool.BRIEFING: {},
    Tool.RESOLVE: {"subjectId": "task:default", "predicate": "build.tool"},
    Tool.MEDIATE: {
        "units": [{"id": "u1", "subjectId": "task:default", "predicate": "build.tool", "value": "make"}]
    },
}
OPENING = [Tool.INDEX, Tool.SEARCH]
"""Tools that open a transcript."""


def commits(world: World) -> int:
    """How many leaves the log holds."""
    with world.session.reading() as state:
        return state.belief.size


# -- what is served --------------------------------------------------------------------------------------------


@pytest.mark.requirement("T15", "T17", "T63", "D7", "X1")
def test_a_permitted_search_gives_cards(agent: Agent) -> None:
    """In the reference's shape, context-only, with how surely the call was attributed and times that carry a zone."""
    answer = agent.ask()

    assert answer["schema"] == "agentspine.session-timeline-search/v1"
    assert answer["status"] in {"found", "partly-understood"}
    assert (answer["blocked"], answer["authority"], answer["mode"]) == (
        False,
        "context-only",
        "verified-index",
    )
    assert answer["transport"] == ("proved" if agent.host == "codex" else "process")
    assert answer["events"][0]["outcome"] == "fail"
    assert answer["sourceProvider"] == agent.host
    assert all(event["at"].endswith("Z") for event in answer["events"])
    assert json.loads(json.dumps(answer)) == answer


@pytest.mark.requirement("T16", "T19", "D7")
@pytest.mark.parametrize("host", HOSTS)
def test_a_permitted_index_reads_one_operation(world: World, host: str) -> None:
    """At most the bytes asked for; the next call goes on."""
    agent = agent_of(world, host, index=False)
    before = commits(world)

    answer = agent.ask(Tool.INDEX, INDEX)

    assert (answer["blocked"], answer["authority"]) == (False, "context-only")
    assert answer["transport"] == ("proved" if host == "codex" else "process")
    assert answer["status"] == "indexed"
    assert 0 < answer["indexedBytes"] <= 65_536
    assert answer["events"] > 0
    assert commits(world) > before
    assert agent.ask()["events"]


@pytest.mark.parametrize("tool", [Tool.INDEX, Tool.SEARCH, Tool.STATUS])
def test_a_state_of_a_simulated_host_says_so_in_every_answer(agent: Agent, tool: Tool) -> None:
    """Nobody takes for evidence what `timeline demo` has made."""
    assert agent.ask(tool, GIVEN[tool])["simulatedHost"] is True


@pytest.mark.requirement("T12")
def test_a_consent_that_is_taken_back_while_the_search_runs_ends_it(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The permit is spent by then; the owner's command has the lock between two looks."""

    def revoke_meanwhile(*_: object) -> bool:
        (source,) = service.list_sources(agent.world.session, None)
        service.revoke(agent.world.session, source.source.enrollment.enrollment_id)
        return True

    monkeypatch.setattr(recall, "is_following", lambda *_: True)
    monkeypatch.setattr(recall, "_has_grown", revoke_meanwhile)
    answer = agent.ask()
    assert (answer["blocked"], answer["reason"]) == (True, "private-enrollment-unavailable")


@pytest.mark.requirement("D7", "T27")
def test_a_capture_spends_a_permit_of_its_own(agent: Agent) -> None:
    """Also where there is no such event; the second time there is no permit."""
    answer = agent.ask(Tool.CAPTURE, EVENT)

    assert (answer["schema"], answer["status"]) == ("agentspine.timeline-world-capture/v1", "unavailable")
    assert (answer["blocked"], answer["reason"]) == (True, "timeline-capture-event-not-found")
    assert agent.call(Tool.CAPTURE, EVENT)["reason"] == "timeline-permit-required"


@pytest.mark.requirement("D7", "T12")
def test_status_says_what_is_enrolled_and_opens_nothing(agent: Agent) -> None:
    """Numbers alone, from the signed state; the transcript may be gone."""
    agent.written.path.unlink()

    answer = agent.ask(Tool.STATUS, {})

    assert (answer["status"], answer["freshness"]) == ("enrolled", "source-not-read")
    assert answer["indexedBytes"] == answer["size"] > 0
    assert answer["events"] > 0
    assert answer["priorSessions"] == 0
    assert all(answer[name].endswith("Z") for name in ("confirmedAt", "expiresAt", "recallUntil"))
    assert str(agent.written.path) not in json.dumps(answer)
    assert agent.session not in json.dumps(answer)


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("host", HOSTS)
def test_status_of_a_session_that_is_not_enrolled(world: World, host: str) -> None:
    """It is said, with what the owner does; nothing else may be asked."""
    written = write_session(world, host)
    agent = Agent(world, written, "", seen(written))

    answer = agent.ask(Tool.STATUS, {})

    assert (answer["status"], answer["blocked"]) == ("not-enrolled", False)
    assert "timeline enroll" in answer["hint"]
    for tool in (Tool.INDEX, Tool.SEARCH, Tool.CAPTURE):
        assert denial(agent.permit(tool, GIVEN[tool])) == "private-enrollment-unavailable"
    assert len(agent.book) == 0


@pytest.mark.requirement("D7")
def test_a_tool_that_is_not_ours_is_not_asked_about(agent: Agent) -> None:
    """Whatever stands in its arguments; nothing is looked at."""
    for tool in ("Bash", "mcp__other__session_timeline_search", "session_timeline_search"):
        assert agent.permit(hook_tool=tool, given={"groupId": "g"}) is None
    assert len(agent.book) == 0


def test_what_the_hook_hands_on_is_served_as_well(agent: Agent) -> None:
    """A host that takes changed arguments asks with them; unknown fields of the model are gone."""
    permitted = agent.permit(given={**ASKED, "sourceText": "all tests pass", "evidenceKind": "fact"})

    assert isinstance(permitted, permitting.Permitted)
    assert "sourceText" not in permitted.tool_input
    assert agent.call(given=permitted.tool_input)["events"]


# -- what is not -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("T15", "D7", "T63")
def test_a_call_without_a_permit_is_refused(agent: Agent) -> None:
    """The server demands one: a hook that was skipped opens nothing. A replay is such a call."""
    for tool in Tool:
        before = contents(agent.world.locations.state)
        answer = agent.call(tool, GIVEN[tool])

        assert (answer["blocked"], answer["status"]) == (True, "unavailable")
        assert (answer["reason"], answer["transport"]) == ("timeline-permit-required", None)
        assert answer["hint"]
        assert contents(agent.world.locations.state) == before
        agent.ask(tool, GIVEN[tool])
        assert agent.call(tool, GIVEN[tool])["reason"] == "timeline-permit-required"


@pytest.mark.requirement("T15", "D7")
def test_a_permit_ends(agent: Agent) -> None:
    """After a minute by the clock of the timeline."""
    agent.permit()
    clock = agent.world.clock
    clock.at_ms += PERMIT_SECONDS * 1000

    assert agent.call()["blocked"]
    assert len(agent.book) == 0


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """Give the agent of one session of Codex, for tests that leave everything as it was."""
    return agent_of(new_world(tmp_path_factory.mktemp("settled") / "world"), "codex")


@pytest.mark.requirement("T7", "T8", "T12", "T30", "T63")
@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ({"groupId": "g"}, "timeline-group-suppressed"),
        ({"groupId": ""}, "timeline-group-suppressed"),
        ({"agent_spine_scope": {"group_id": "g"}}, "timeline-group-suppressed"),
        ({"accessProof": "x"}, "timeline-proof-smuggled"),
        ({"invocationPermit": "x"}, "timeline-proof-smuggled"),
        ({"transportDigest": "x"}, "timeline-proof-smuggled"),
        ({"sessionId": "foreign"}, "timeline-scope-mismatch"),
        ({"host": "foreign"}, "timeline-scope-mismatch"),
        ({"userId": "foreign"}, "timeline-scope-mismatch"),
        ({"tenantId": "foreign"}, "timeline-scope-mismatch"),
        ({"projectId": "foreign"}, "timeline-scope-mismatch"),
        ({"root": "/"}, "timeline-scope-mismatch"),
        ({"taskId": "foreign"}, "timeline-scope-mismatch"),
        ({"goalId": "foreign"}, "timeline-scope-mismatch"),
        ({"goalStepId": "foreign"}, "timeline-scope-mismatch"),
        ({"entityId": "foreign"}, "timeline-scope-mismatch"),
        ({"portalRef": "foreign"}, "timeline-scope-mismatch"),
        ({"agent_spine_scope": {"thread_ref": "foreign"}}, "timeline-scope-mismatch"),
        ({"timelineVisibility": "public"}, "timeline-scope-mismatch"),
        ({"enrollmentDigest": "0" * 64}, "timeline-scope-mismatch"),
        ({"tenantId": "local", "tenant_id": "foreign"}, "timeline-scope-conflict"),
        ({"tenantId": 7}, "timeline-scope-invalid"),
    ],
)
def test_foreign_scope_is_refused_at_both_entries(settled: Agent, claim: dict[str, Any], reason: str) -> None:
    """By hook and server alike; the permit stays for the call that it was issued for."""
    agent = settled
    for tool in Tool:
        asked = {**GIVEN[tool], **claim}
        assert denial(agent.permit(tool, asked)) == reason
        assert len(agent.book) == 0
        assert isinstance(agent.permit(tool, GIVEN[tool]), permitting.Permitted)

        answer = agent.call(tool, asked)

        assert (answer["blocked"], answer["reason"]) == (True, reason)
        assert len(agent.book) == 1
        assert agent.call(tool, GIVEN[tool])["transport"] == "proved" or tool is Tool.CAPTURE


@pytest.mark.requirement("T7", "T8")
def test_the_sessions_own_scope_may_be_claimed(agent: Agent) -> None:
    """Equal in every field: it changes nothing."""
    (Path(agent.world.root) / ".git").mkdir()
    claim = {
        "root": f"{agent.world.root}/src",
        "sessionId": agent.session,
        "host": agent.host,
        "tenant_id": "local",
        "taskId": "default",
        "groupId": None,
        "goalId": None,
        "agent_spine_scope": {"project_id": agent.world.root},
        "timelineVisibility": "private-verified",
    }

    assert agent.ask(given={**ASKED, **claim})["events"]


@pytest.mark.requirement("T7", "T12", "T63")
@pytest.mark.parametrize("field", ["tenant", "user", "task", "goal"])
def test_a_binding_that_differs_in_one_field_is_not_enrolled(agent: Agent, field: str) -> None:
    """The owner gives the project another scope: nothing is permitted, and what was permitted is not served."""
    agent.permit()
    settings = agent.world.locations.settings
    text = settings.read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if not line.startswith(f"{field} = ")]
    lines.insert(lines.index("[scope]") + 1, f'{field} = "other"')
    settings.write_text("\n".join(lines), encoding="utf-8")

    assert agent.call()["reason"] == "private-enrollment-unavailable"
    assert denial(agent.permit()) == "private-enrollment-unavailable"
    settings.write_text(text, encoding="utf-8")
    assert len(agent.book) == 1


@pytest.mark.requirement("T7", "T12", "T63")
def test_another_session_or_project_or_host_is_not_enrolled(agent: Agent, tmp_path: Path) -> None:
    """Each refused as if nothing at all were enrolled anywhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = write_session(agent.world, agent.host, seed=9)
    answers = {
        denial(agent.permit(hook_session=other.session, caller=seen(other))),
        denial(agent.permit(cwd=str(elsewhere))),
        denial(agent.permit(host="kimi" if agent.host != "kimi" else "king", caller=plain("kimi")))
        if agent.host != "kimi"
        else denial(agent.permit(host="king", caller=plain("king"))),
    }

    assert answers == {"private-enrollment-unavailable"}
    assert denial(agent.permit(host="nobody")) == "host-receipt-event-not-supported"
    assert denial(agent.permit(cwd="relative")) == "missing-or-unknown-session-scope"
    assert len(agent.book) == 0


@pytest.mark.requirement("X1", "T63")
def test_a_hook_of_no_host_is_refused(agent: Agent) -> None:
    """Neither hook nor call of a process that is not below the host."""
    for caller in (Caller(), plain("claude" if agent.host != "claude" else "king")):
        assert denial(agent.permit(caller=caller)) == "transport-unbound"
    agent.permit()
    assert agent.call(caller=Caller())["blocked"]
    assert agent.call(host="nobody")["blocked"]
    assert agent.call()["events"]


# -- what changes between permit and call ----------------------------------------------------------------------


def revoke(agent: Agent) -> None:
    """The owner takes the consent back."""
    service.revoke(agent.world.session, agent.ref)


def enroll_again(agent: Agent) -> None:
    """The owner consents anew: another enrollment."""
    enroll(agent.world, agent.written, turn="turn-2")


def end(agent: Agent) -> None:
    """The consent's time is over; the permit was issued in its last second."""
    agent.world.clock.at_ms += 1000


@pytest.mark.requirement("T12", "T15", "T63")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (revoke, "private-enrollment-unavailable"),
        (enroll_again, "private-enrollment-unavailable"),
        (end, "private-enrollment-expired"),
    ],
)
def test_a_changed_enrollment_refuses_and_leaves_the_permit(agent: Agent, change: Any, reason: str) -> None:
    """It is checked again before the permit is taken, and before anything is opened."""
    agent.world.clock.at_ms += RECALL_SECONDS_DEFAULT * 1000 - 1000
    calls = {}
    for tool in OPENING:
        assert isinstance(agent.permit(tool, GIVEN[tool]), permitting.Permitted)
        calls[tool] = agent.meta
    change(agent)
    agent.written.path.unlink()  # whoever opened it would say that it is missing

    for tool in OPENING:
        answer = agent.call(tool, GIVEN[tool], meta=calls[tool])
        assert (answer["blocked"], answer["reason"]) == (True, reason)
        assert len(agent.book) == len(OPENING)


@pytest.mark.requirement("T12")
def test_a_clock_that_went_back_permits_nothing(agent: Agent) -> None:
    """It stands before the consent, and says nothing about its end either."""
    agent.world.clock.at_ms -= 1

    assert denial(agent.permit()) == "clock-went-back"


@pytest.mark.requirement("T15", "T12", "T63")
@pytest.mark.parametrize("tool", OPENING)
def test_the_permit_is_taken_before_the_transcript_is_opened(agent: Agent, tool: Tool) -> None:
    """A transcript that is gone is found so only by a call with a permit, which is spent by it."""
    agent.permit(tool, GIVEN[tool])
    agent.written.path.unlink()

    without = agent.call(tool, {**GIVEN[tool], "sessionId": "foreign"})
    before = len(agent.book)
    answer = agent.call(tool, GIVEN[tool])

    assert without["reason"] in {"timeline-permit-required", "timeline-scope-mismatch"}
    assert before == 1
    assert len(agent.book) == 0
    if tool is Tool.SEARCH:
        assert (answer["status"], answer["reason"]) == ("source-gone", "transcript-missing")
    assert agent.call(tool, GIVEN[tool])["reason"] == "timeline-permit-required"


@pytest.mark.requirement("T12", "T13", "T63")
def test_a_changed_transcript_is_stale(agent: Agent) -> None:
    """Changed bytes are seen by the call, not by the permit."""
    agent.permit()
    with agent.written.path.open("ab") as file:
        file.write(b"{}\n")

    answer = agent.call()

    assert (answer["blocked"], answer["status"], answer["events"]) == (True, "stale", [])


@pytest.mark.requirement("T12", "T72")
def test_strict_formats_rule_the_tools_as_well(world: World) -> None:
    """The owner wants nothing of a file that is not understood: neither indexed nor searched."""
    agents = []
    for seed in (0, 1):
        written = write_session(world, "codex", seed)
        with written.path.open("ab") as file:
            file.write(b'{"timestamp":"2026-08-20T11:00:00.000Z","type":"unheard_of","payload":{}}\n')
        agents.append(Agent(world, written, enroll(world, written), seen(written)))
    indexed, fresh = agents
    service.index(world.session, world.root, source_ref=indexed.ref)
    assert indexed.ask()["status"] == "partly-understood"
    settings = world.locations.settings
    settings.write_text("strict_formats = true\n" + settings.read_text(encoding="utf-8"), encoding="utf-8")

    assert indexed.ask()["reason"] == "format-not-strict"
    refused = fresh.ask(Tool.INDEX, INDEX)
    assert (refused["blocked"], refused["reason"]) == (True, "format-not-strict")


def test_the_newest_consent_of_a_session_counts(world: World) -> None:
    """A session whose file was moved is enrolled a second time; the file that is asked is the newest one."""
    agent = agent_of(world, "claude")
    moved = agent.written.path.parent.parent / "-elsewhere" / agent.written.path.name
    moved.parent.mkdir()
    moved.write_bytes(agent.written.path.read_bytes())
    before = agent.ask()
    newer = enroll(world, Written("claude", agent.session, moved), turn="turn-2")
    service.index(world.session, world.root, source_ref=newer)

    after = agent.ask()

    assert after["events"]
    assert after["sourceDigest"] != before["sourceDigest"]


def test_a_state_that_cannot_be_used_denies(agent: Agent) -> None:
    """Recall is unavailable; nothing is let through and nothing raises."""
    agent.permit()
    agent.world.locations.head.write_bytes(b"x")

    assert agent.call()["blocked"]
    assert denial(agent.permit())


# -- restart and clock -----------------------------------------------------------------------------------------


@pytest.mark.requirement("T15")
def test_a_restart_forgets_permits_and_fails_closed(agent: Agent) -> None:
    """Nothing of a permit is on disk."""
    before = contents(agent.world.locations.state)
    agent.permit()
    assert contents(agent.world.locations.state) == before
    agent.book = PermitBook()

    assert agent.call()["reason"] == "timeline-permit-required"


@pytest.mark.requirement("T15")
def test_a_tool_use_is_permitted_once(agent: Agent) -> None:
    """The host's id of it comes again: refused."""
    assert isinstance(agent.permit(tool_use_id="use-1"), permitting.Permitted)

    assert denial(agent.permit(tool_use_id="use-1")) == "timeline-permit-repeated"
    assert (
        denial(agent.permit(given={"query": "pytest passed"}, tool_use_id="use-1"))
        == "timeline-permit-repeated"
    )
    assert isinstance(agent.world.clock, SetClock)
