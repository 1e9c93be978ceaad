"""Whose call it is, from the hook to the answer: several sessions, agents, forks and resumes, and a launcher's word."""

from pathlib import Path

import pytest

from tests.guard.agents import ASKED, Agent, agent_of, denial, seen, write_session
from tests.guard.callers import capable, codex
from tests.simulators.worlds import World
from timeline.guard.transport import Caller
from timeline.hosts import HOSTS


@pytest.mark.requirement("X1", "D7")
@pytest.mark.parametrize("host", HOSTS)
def test_two_sessions_of_one_process(world: World, host: str) -> None:
    """Codex says whose call it is; where the host does not, neither is served while both could be meant."""
    one, two = agent_of(world, host), agent_of(world, host, seed=1)
    two.book = one.book
    if host == "codex":
        one.caller = two.caller = seen(one.written, two.written)
    one.permit()
    two.permit()

    if host != "codex":
        assert [a.call()["reason"] for a in (one, two)] == ["transport-ambiguous"] * 2
        answer = one.call(given={**ASKED, "sessionId": one.session})
        assert answer["events"]
        assert two.call()["sourceDigest"] != answer["sourceDigest"]
        return
    answers = [a.call() for a in (two, one)]
    assert answers[0]["sourceDigest"] != answers[1]["sourceDigest"]
    assert {answer["transport"] for answer in answers} == {"proved"}


@pytest.mark.requirement("X1", "D7")
def test_an_agent_of_a_session_recalls_the_session(world: World) -> None:
    """A subagent of Codex: hook and call name its thread beside the session; its own file is held, and not enrolled."""
    agent = agent_of(world, "codex")
    child = write_session(world, "codex", seed=5)
    agent.thread, agent.caller = child.session, seen(agent.written, child)

    assert agent.ask()["transport"] == "proved"
    agent.caller = seen(child)
    assert denial(agent.permit()) == "transport-unproven"


@pytest.mark.requirement("X1", "T12")
def test_a_fork_is_a_session_of_its_own(world: World) -> None:
    """Nothing of its parent's enrollment counts for it."""
    agent = agent_of(world, "codex")
    fork = write_session(world, "codex", seed=5)

    refused = agent.permit(hook_session=fork.session, caller=seen(agent.written, fork))

    assert denial(refused) == "private-enrollment-unavailable"


@pytest.mark.requirement("X1", "D7")
def test_a_resumed_session_is_served_in_its_new_process(agent: Agent) -> None:
    """The permit of the old process is not for the new one, which gets its own."""
    agent.permit()
    agent.caller = seen(agent.written, pid=101)

    assert agent.call()["blocked"]
    assert agent.ask()["events"]


@pytest.mark.requirement("X1")
def test_another_file_of_the_sessions_name_is_not_it(world: World, tmp_path: Path) -> None:
    """A process that holds a rollout of that name elsewhere has not the enrolled one."""
    agent = agent_of(world, "codex")

    assert denial(agent.permit(caller=codex(agent.session))) == "transport-unproven"
    agent.thread = "child"
    assert denial(agent.permit(caller=codex(agent.session, "child"))) == "transport-unproven"


@pytest.mark.requirement("X1")
def test_an_old_codex_is_marked_weaker(world: World) -> None:
    """Without writer locks and call ids, 0.142.5: served, and said to be weaker."""
    agent = agent_of(world, "codex")
    agent.caller, agent.names_calls = seen(agent.written, locked=False), False

    assert agent.ask()["transport"] == "process"


@pytest.mark.requirement("X1")
def test_a_launchers_capability_rules(agent: Agent) -> None:
    """The same on both sides serves, whatever else is seen; on one side only it serves nothing."""
    agent.caller = capable("a" * 64, agent.session)
    assert agent.ask()["transport"] == "capability"
    agent.permit()

    for caller in (capable("b" * 64, agent.session), seen(agent.written), Caller()):
        assert agent.call(caller=caller)["blocked"]
    assert agent.call()["events"]
    assert denial(agent.permit(caller=capable("a" * 64, "another"))) == "local-transport-capability-required"


@pytest.mark.requirement("X1")
def test_a_contradiction_in_the_hosts_word_is_refused(world: World) -> None:
    """Two threads named in one call: none of them."""
    agent = agent_of(world, "codex")
    agent.permit()
    meta = {**(agent.meta or {}), "x-codex-turn-metadata": {"thread_id": "another"}}

    assert agent.call(meta=meta)["reason"] == "transport-unbound"
    assert agent.call()["events"]
