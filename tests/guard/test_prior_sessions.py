"""Recalling another session: one, of the same private task, under its own consent; another host only by the switch."""

import json
import os
from typing import Any

import msgspec
import pytest

from tests.guard.agents import ASKED, Agent, Written, agent_of, denial, enroll, seen, write_session
from tests.simulators.worlds import World, prompt_event, rollout_of, write_transcript
from timeline import permitting, service
from timeline.binding import Binding, Route
from timeline.guard.request import Tool
from timeline.hosts import HOSTS
from timeline.prior import is_prior

PRIOR = {**ASKED, "includePriorSessions": True}
PROVIDERS = {**PRIOR, "includePriorProviders": True}


def set_scope(world: World, **fields: str) -> None:
    """Give the project another scope, as the owner does."""
    settings = world.locations.settings
    lines = settings.read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if line.partition(" = ")[0] not in fields]
    place = lines.index("[scope]") + 1
    lines[place:place] = [f'{name} = "{value}"' for name, value in fields.items() if value]
    settings.write_text("\n".join(lines), encoding="utf-8")


def set_switch(world: World, value: str) -> None:
    """Set the owner's switch for other hosts in the configuration."""
    settings = world.locations.settings
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"cross_provider = {value}\n{text}", encoding="utf-8")


def switched(agent: Agent) -> Any:
    """The agent's peer with the switch in its environment."""
    return msgspec.structs.replace(agent.caller, switched=True)


@pytest.mark.requirement("T25", "T17", "T63")
@pytest.mark.parametrize("host", HOSTS)
def test_an_earlier_session_of_the_task_is_found(world: World, host: str) -> None:
    """The other session's cards alone, and whose they are as an opaque reference."""
    agent_of(world, host, seed=1)
    now = agent_of(world, host)

    answer, own = now.ask(given=PRIOR), now.ask()

    assert answer["events"]
    assert (answer["mode"], answer["blocked"]) == ("prior-verified-index", False)
    assert answer["sourceDigest"] != own["sourceDigest"]
    assert answer["priorSession"] == answer["events"][0]["sessionRef"] != own["events"][0]["sessionRef"]
    assert "priorProvider" not in answer
    assert "priorSession" not in own


@pytest.mark.requirement("T25", "T12")
def test_without_an_earlier_session_there_is_nothing_to_ask(world: World) -> None:
    """The session itself is not an earlier one."""
    agent = agent_of(world, "codex")

    assert denial(agent.permit(given=PRIOR)) == "timeline-prior-session-unavailable"
    assert len(agent.book) == 0


@pytest.mark.requirement("T25")
def test_the_sessions_own_enrollment_is_needed_for_an_earlier_one(world: World) -> None:
    """Whoever is not enrolled recalls nobody; nor does who was, once he is not."""
    agent_of(world, "codex", seed=1)
    written = write_session(world, "codex")
    agent = Agent(world, written, "", seen(written))
    assert denial(agent.permit(given=PRIOR)) == "private-enrollment-unavailable"
    ref = enroll(world, written)
    agent.permit(given=PRIOR)
    service.revoke(world.session, ref)

    assert agent.call(given=PRIOR)["reason"] == "private-enrollment-unavailable"
    assert len(agent.book) == 1


@pytest.mark.requirement("T25", "T7", "T12")
@pytest.mark.parametrize("field", ["tenant", "user", "task", "goal"])
def test_a_session_of_another_scope_does_not_exist(world: World, field: str) -> None:
    """The same answers, byte by byte, whether it is there or not, found or not."""
    agent = agent_of(world, "codex")
    before = [
        agent.permit(given=PRIOR),
        agent.ask(),
        agent.ask(given={"query": "pytest timeout"}),
        agent.ask(Tool.STATUS, {}),
    ]
    set_scope(world, **{field: "other"})
    foreign = agent_of(world, "codex", seed=1)
    foreign.book = agent.book
    foreign.permit()
    set_scope(
        world, **{field: {"tenant": "local", "task": "default", "goal": ""}.get(field, agent_user(agent))}
    )

    after = [
        agent.permit(given=PRIOR),
        agent.ask(),
        agent.ask(given={"query": "pytest timeout"}),
        agent.ask(Tool.STATUS, {}),
    ]

    assert isinstance(before[0], permitting.Denied)
    assert after == before


def agent_user(agent: Agent) -> str:
    """The user that the agent's session was enrolled for."""
    with agent.world.session.reading() as state:
        return state.view.active[0].enrollment.binding.user


BASE = Binding("codex", "now", "ann", "local", "/srv/demo", "default", "goal-1", Route("p", "t"))


@pytest.mark.requirement("T25", "T7")
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"session": "then"}, True),
        ({"session": "then", "goal": None}, True),
        ({}, False),
        ({"session": "then", "goal": "goal-2"}, False),
        ({"session": "then", "user": "bob"}, False),
        ({"session": "then", "tenant": "foreign"}, False),
        ({"session": "then", "project": "/srv/other"}, False),
        ({"session": "then", "task": "release"}, False),
        ({"session": "then", "route": None}, False),
        ({"session": "then", "route": Route("p", "t2")}, False),
        ({"session": "then", "route": Route("p2", "t")}, False),
        ({"session": "then", "host": "claude"}, False),
        ({"session": "now", "host": "claude"}, False),
    ],
)
def test_which_sessions_are_of_the_same_private_task(change: dict[str, Any], *, wanted: bool) -> None:
    """Every field that must be equal, one by one; another host only where hosts are asked for."""
    other = msgspec.structs.replace(BASE, **change)

    assert is_prior(BASE, other, providers=False) is wanted
    assert is_prior(BASE, other, providers=True) is (wanted or "host" in change)


def test_without_a_goal_a_session_with_one_is_not_of_the_task() -> None:
    """Goal missing means the candidate's: somebody without a goal does not read what belongs to one."""
    mine = msgspec.structs.replace(BASE, goal=None)

    assert not is_prior(mine, msgspec.structs.replace(BASE, session="then"), providers=True)


# -- which one -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T21", "T24", "T25")
def test_one_session_is_opened_the_best_by_the_index(world: World) -> None:
    """The one with a match, though another is newer; of those without, the one written last, and then it is a miss."""
    matching = agent_of(world, "codex", seed=1)
    plain = rollout_of(world, runs=0, seed=2)
    plain.start_turn()
    plain.prompt("go on")
    plain.end_turn("done")
    path = write_transcript(world, plain)
    ref = enroll(world, Written("codex", plain.thread_id, path))
    service.index(world.session, world.root, source_ref=ref)
    now = agent_of(world, "codex")

    found = now.ask(given=PRIOR)
    missed = now.ask(given={**PRIOR, "query": "cargo timeout"})

    assert found["events"]
    assert (missed["status"], missed["mode"], missed["events"]) == ("not-found", "prior-index", [])
    matching.written.path.unlink()
    assert now.ask(given={**PRIOR, "query": "cargo timeout"})["status"] == "not-found"


@pytest.mark.requirement("T25")
def test_of_sessions_without_a_match_the_one_written_last_is_asked(world: World) -> None:
    """By the time of its file, not by when it was enrolled."""
    written = [write_session(world, "codex", seed) for seed in (1, 2)]
    for one, seconds in zip(written, (2_000_000_000, 1_000_000_000), strict=True):
        os.utime(one.path, (seconds, seconds))
        enroll(world, one)
    service.index(world.session, world.root)
    now = agent_of(world, "codex")
    missing = {**PRIOR, "query": "cargo timeout"}

    answer = now.ask(given=missing)
    service.revoke(world.session, source_of(world, written[0].session))

    assert answer["status"] == "not-found"
    assert answer["priorSession"] != now.ask(given=missing)["priorSession"]


def source_of(world: World, session: str) -> str:
    """The reference of a session's source."""
    with world.session.reading() as state:
        return next(
            source.enrollment.source.ref
            for source in state.view.active
            if source.enrollment.binding.session == session
        )


@pytest.mark.requirement("T25", "T12")
def test_a_session_whose_consent_has_ended_is_not_asked(world: World) -> None:
    """Its own time counts, not the caller's; between permit and call as well."""
    written = write_session(world, "codex", 1)
    event = prompt_event(world, written.session, str(written.path))
    receipt = service.receive_prompt(world.session, "codex", event)
    service.enroll(world.session, world.root, receipt.id, confirmed=True, recall_seconds=60)
    service.index(world.session, world.root)
    now = agent_of(world, "codex")
    world.clock.at_ms += 59_000
    assert now.ask(given=PRIOR)["events"]
    now.permit(given=PRIOR)
    world.clock.at_ms += 1000

    assert now.call(given=PRIOR)["reason"] == "private-enrollment-unavailable"
    assert denial(now.permit(given=PRIOR)) == "timeline-prior-session-unavailable"


@pytest.mark.requirement("T24", "T25")
def test_no_second_choice_is_taken(world: World) -> None:
    """The selected session is gone: it is said, and nobody else is asked."""
    first, second = agent_of(world, "codex", seed=1), agent_of(world, "codex", seed=2)
    now = agent_of(world, "codex")
    chosen = now.ask(given=PRIOR)["sourceDigest"]
    mine = now.ask()["sourceDigest"]
    gone = first if chosen == first.ask()["sourceDigest"] else second
    gone.written.path.unlink()

    answer = now.ask(given=PRIOR)

    assert chosen != mine
    assert (answer["status"], answer["events"]) == ("source-gone", [])


@pytest.mark.requirement("T12", "T25")
def test_the_selected_session_must_still_be_enrolled_at_the_call(world: World) -> None:
    """Its consent was taken back in between: refused, unspent, and no other session in its place."""
    for seed in (1, 2):
        agent_of(world, "codex", seed=seed)
    now = agent_of(world, "codex")
    permitted = now.permit(given=PRIOR)
    assert isinstance(permitted, permitting.Permitted)
    service.revoke(world.session, str(permitted.permit.source_ref))

    answer = now.call(given=PRIOR)

    assert answer["reason"] == "private-enrollment-unavailable"
    assert len(now.book) == 1


@pytest.mark.requirement("T15")
def test_the_permit_names_the_selected_session(world: World) -> None:
    """What is indexed in between changes nothing: the call asks the session that was permitted."""
    agent_of(world, "codex", seed=1)
    now = agent_of(world, "codex")
    permitted = now.permit(given=PRIOR)
    newer = agent_of(world, "codex", seed=2)

    answer = now.call(given=PRIOR)

    assert isinstance(permitted, permitting.Permitted)
    assert permitted.permit.source_ref != newer.ref
    assert answer["sourceDigest"] != newer.ask()["sourceDigest"]


# -- other hosts -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("T26", "T63")
@pytest.mark.parametrize("host", HOSTS)
def test_another_host_needs_the_switch_and_both_flags(world: World, host: str) -> None:
    """Without one of the three nothing of it is answered; with all, its own provider stands in the answer."""
    other = "claude" if host != "claude" else "kimi"
    agent_of(world, other, seed=1)
    now = agent_of(world, host)

    assert denial(now.permit(given=PRIOR)) == "timeline-prior-session-unavailable"
    assert denial(now.permit(given={**ASKED, "includePriorProviders": True})) == "timeline-request-invalid"
    now.permit(given=PROVIDERS)
    blocked = now.call(given=PROVIDERS)
    assert (blocked["blocked"], blocked["reason"]) == (True, "timeline-cross-provider-disabled")
    assert len(now.book) == 1
    answer = now.call(given=PROVIDERS, caller=switched(now))
    assert (answer["priorProvider"], answer["sourceProvider"]) == (other, other)
    assert answer["events"][0]["sourceProvider"] == other
    assert answer["mode"] == "prior-verified-index"


@pytest.mark.requirement("T26")
def test_the_switch_may_stand_with_the_hook_the_relay_or_the_owner(world: World) -> None:
    """Any one of them; without any, also a session of the same host is refused once others are asked for."""
    agent_of(world, "codex", seed=1)
    now = agent_of(world, "codex")

    assert now.ask(given=PROVIDERS)["reason"] == "timeline-cross-provider-disabled"
    now.permit(given=PROVIDERS, caller=switched(now))
    assert now.call(given=PROVIDERS)["events"]
    now.permit(given=PROVIDERS)
    assert now.call(given=PROVIDERS, caller=switched(now))["events"]
    set_switch(world, "true")
    assert now.ask(given=PROVIDERS)["events"]


@pytest.mark.requirement("T26")
@pytest.mark.parametrize("value", ["1", '"1"', '"true"', "0"])
def test_another_value_of_the_switch_is_no_configuration(world: World, value: str) -> None:
    """True or false; anything else is refused as a configuration, and so nothing is recalled."""
    agent = agent_of(world, "codex")
    set_switch(world, value)

    assert denial(agent.permit()) == "config-invalid"


@pytest.mark.requirement("T26", "T12")
def test_another_hosts_session_needs_its_own_enrollment(world: World) -> None:
    """Its consent was taken back: it is not there, whatever the switch says."""
    other = agent_of(world, "claude", seed=1)
    now = agent_of(world, "codex")
    now.permit(given=PROVIDERS)
    service.revoke(world.session, other.ref)

    assert now.call(given=PROVIDERS, caller=switched(now))["reason"] == "private-enrollment-unavailable"
    assert denial(now.permit(given=PROVIDERS, caller=switched(now))) == "timeline-prior-session-unavailable"


@pytest.mark.requirement("T26", "T13")
def test_another_hosts_changed_transcript_leaks_nothing(world: World) -> None:
    """Stale, without a card, and without a path."""
    other = agent_of(world, "claude", seed=1)
    now = agent_of(world, "codex")
    with other.written.path.open("ab") as file:
        file.write(b"{}\n")
    now.permit(given=PROVIDERS)

    answer = now.call(given=PROVIDERS, caller=switched(now))

    assert (answer["status"], answer["events"]) == ("stale", [])
    assert str(other.written.path) not in json.dumps(answer)
