"""Who may report a prompt: a process below one of the host that it names. The chain is a value here."""

import pytest

from tests.consent.prompting import Desk, chain_below, session_of
from tests.simulators.worlds import leaves_of, refusal_of
from timeline import service
from timeline.guard.errors import HookPeerError
from timeline.guard.hook_peer import check_hook_peer, is_started_by_agent


@pytest.mark.requirement("T6")
@pytest.mark.parametrize(
    ("names", "host"),
    [
        (("python3", "codex", "bash", "systemd"), "codex"),
        (("python3", "bash", "codex", "codex", "bash"), "codex"),
        (("python3", "sh", "claude", "zsh"), "claude"),
        (("python3", "sh", "kimi-code", "bash"), "kimi"),
        (("python3", "king"), "king"),
        (("python3", "codex", "claude"), "codex"),
    ],
)
def test_a_hook_below_its_host_may_report(names: tuple[str, ...], host: str) -> None:
    """Shells may stand between; the nearest host counts, also where it was started by another one."""
    check_hook_peer(chain_below(*names), host)


@pytest.mark.requirement("T6")
@pytest.mark.parametrize(
    ("names", "variables", "is_started"),
    [
        (("python3", "codex", "bash", "xterm"), {"PATH"}, False),
        (("python3", "codex", "codex", "bash"), {"AGENTSPINE_TIMELINE_SESSION_CAPABILITY"}, False),
        (("python3", "codex", "bash", "claude"), set(), True),
        (("python3", "codex", "bash"), {"PATH", "CLAUDECODE"}, True),
        (("python3", "codex", "codex"), {"CODEX_THREAD_ID"}, True),
    ],
)
def test_a_host_that_a_model_has_started_is_told(
    names: tuple[str, ...], variables: set[str], *, is_started: bool
) -> None:
    """By the host above it, or by what hosts give to the commands of their models; no person prompts it."""
    chain = chain_below(*names)
    assert is_started_by_agent(chain, check_hook_peer(chain, "codex"), variables) == is_started


@pytest.mark.requirement("T6")
@pytest.mark.parametrize(
    ("names", "host"),
    [
        ((), "codex"),
        (("python3",), "codex"),
        (("python3", "bash", "sshd", "systemd"), "codex"),
        (("codex", "bash"), "codex"),
        (("python3", "claude", "bash"), "codex"),
        (("python3", "claude", "codex"), "codex"),
        (("python3", "bash", "mycodex"), "codex"),
    ],
    ids=[
        "nobody",
        "itself alone",
        "a terminal",
        "the host itself",
        "another host",
        "another host between",
        "a like name",
    ],
)
def test_nobody_else_may_report(names: tuple[str, ...], host: str) -> None:
    """A terminal is no host, and no host speaks for another."""
    with pytest.raises(HookPeerError) as refused:
        check_hook_peer(chain_below(*names), host)
    assert refused.value.reason == "hook-peer-unverified"


@pytest.mark.requirement("T6")
def test_a_prompt_from_elsewhere_gives_no_receipt(codex: Desk) -> None:
    """Nothing is issued, and nothing is written."""
    session, event = session_of(codex.world), codex.event()
    before = len(leaves_of(codex.world))
    chain = chain_below("python3", "bash", "sshd")
    refused = refusal_of(lambda: service.receive_prompt(session, "codex", event, peer=chain))
    assert refused == "hook-peer-unverified"
    assert service.list_receipts(session, codex.world.root) == ()
    assert len(leaves_of(codex.world)) == before


def test_a_receipt_says_whether_its_host_was_seen(codex: Desk) -> None:
    """A command may report a prompt too; it is a receipt of its own, and does not stand for the host's."""
    session, event = session_of(codex.world), codex.event()
    by_hand = service.receive_prompt(session, "codex", event)
    by_host = service.receive_prompt(session, "codex", event, peer=chain_below("python3", "codex"))
    assert (by_hand.attested, by_host.attested) == (False, True)
    assert by_hand.id != by_host.id
    assert service.receive_prompt(session, "codex", event) == by_hand
