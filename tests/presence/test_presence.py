"""What a chain of processes shows of its owner: each rule by a chain that breaks it, and nothing else."""

import msgspec
import pytest

from sidecars.leaf import Policy
from timeline.guard.presence import OTHER_AGENTS, Ancestry, decide_presence
from timeline.hosts import HOST_VARIABLES, HOSTS
from timeline.owner_errors import OwnerPresenceError
from timeline.processes import Process

ME = 1000
TERMINAL = Policy(owner_presence="terminal", simulated_host=False)
ANY = Policy(owner_presence="any", simulated_host=False)
SIMULATED = Policy(owner_presence="any", simulated_host=True)

Link = tuple[str, int]
"""Name and user of a process."""


def chain(*links: str | Link, leader: int = 1, pids: tuple[int, ...] = ()) -> tuple[Process, ...]:
    """A chain from the command up; the last is the first process, and ``leader`` leads the command's session."""
    numbers = pids or (*range(len(links) * 10, 10, -10), 1)
    found = []
    for place, link in enumerate(links):
        name, uid = (link, ME) if isinstance(link, str) else link
        parent = numbers[place + 1] if place + 1 < len(links) else 0
        found.append(
            Process(
                numbers[place],
                numbers[place],
                parent,
                uid,
                numbers[0],
                numbers[leader],
                7,
                numbers[0],
                name,
                None,
            )
        )
    return tuple(found)


INIT: Link = ("systemd", 0)
GOOD: dict[str, tuple[Process, ...]] = {
    "a terminal on a desktop": chain("timeline", "bash", "gnome-terminal-", "systemd", INIT),
    "a terminal that runs it": chain("timeline", "xterm", "i3", INIT, leader=0),
    "ssh": chain("timeline", "zsh", "sshd", ("sshd", 0), ("sshd", 0), INIT),
    "a console": chain("timeline", "bash", ("login", 0), INIT),
    "a script in a shell": chain("timeline", "make", "sh", "bash", "konsole", "systemd", INIT, leader=3),
    "a recorded terminal": chain("timeline", "bash", "script", "bash", "kitty", "systemd", INIT),
    "a terminal that we do not know, from the desktop": chain(
        "timeline", "bash", "newterm", "gnome-shell", INIT
    ),
    "macOS": chain("timeline", "zsh", ("login", 0), "Terminal", ("launchd", 0)),
    "an entered container": chain("timeline", "bash", pids=(20, 10)),
}
BROKEN: dict[str, tuple[tuple[Process, ...], str]] = {
    "started by the user manager": (chain("timeline", "systemd", INIT, leader=0), "chain"),
    "a shell below the user manager": (chain("timeline", "bash", "systemd", INIT), "chain"),
    "a shell below the first process": (chain("timeline", "bash", ("process", 0)), "chain"),
    "cron with a terminal": (chain("timeline", "script", "sh", ("cron", 0), INIT, leader=0), "chain"),
    "a leader that is no ancestor": (
        tuple(msgspec.structs.replace(p, session=77) for p in chain("timeline", "xterm", INIT)),
        "chain",
    ),
    "a leader that is the first process": (chain("timeline", ("bash", 0)), "chain"),
    "a leader that cannot be seen": (
        tuple(msgspec.structs.replace(p, session=0) for p in chain("timeline", "xterm", INIT)),
        "chain",
    ),
    "an ssh daemon that is not root's": (chain("timeline", "bash", "sshd", INIT), "chain"),
    "a terminal of somebody else": (chain("timeline", "bash", ("xterm", 7), INIT), "chain"),
    "a chain that ends early": (chain("timeline", "bash", "xterm", INIT)[:-1], "chain"),
    "nothing at all": ((), "chain"),
    "no terminal": (
        tuple(msgspec.structs.replace(p, terminal=0) for p in chain("timeline", "bash", "xterm", INIT)),
        "terminal",
    ),
    "another group in the foreground": (
        tuple(msgspec.structs.replace(p, foreground=5) for p in chain("timeline", "bash", "xterm", INIT)),
        "terminal",
    ),
    "a multiplexer without anybody": (chain("timeline", "bash", "tmux: server", INIT), "detached"),
}
CLIENT = chain("tmux: client", "bash", "xterm", "systemd", INIT)


def reason_of(refusal: OwnerPresenceError | None) -> str | None:
    """What follows ``owner-presence-`` in its reason."""
    return None if refusal is None else refusal.reason.removeprefix("owner-presence-")


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("name", GOOD)
def test_a_chain_that_leads_to_a_login_or_terminal_shows_the_owner(name: str) -> None:
    """As owners work."""
    assert decide_presence(Ancestry(GOOD[name]), TERMINAL) is None


@pytest.mark.requirement("X13")
def test_an_entered_container_is_not_believed_in_a_user_namespace() -> None:
    """Whoever has a shell can make one, enter it, and see nobody above; what is seen above still counts."""
    hidden = Ancestry(GOOD["an entered container"], in_user_namespace=True)
    assert reason_of(decide_presence(hidden, TERMINAL)) == "chain"
    assert decide_presence(hidden, ANY) is None
    assert decide_presence(Ancestry(GOOD["ssh"], in_user_namespace=True), TERMINAL) is None


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_chain_is_refused_unless_the_log_waives_it(name: str) -> None:
    """With the reason; a headless machine has no chain, and neither has one without a timeline."""
    found, reason = BROKEN[name]
    assert reason_of(decide_presence(Ancestry(found), TERMINAL)) == reason
    assert decide_presence(Ancestry(found), ANY) is None
    assert decide_presence(Ancestry(found), None) is None


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("rules", [TERMINAL, ANY, None], ids=["terminal", "any", "no timeline"])
@pytest.mark.parametrize("program", sorted(name for host in HOSTS.values() for name in host.programs))
@pytest.mark.parametrize("above", [0, 1, 2, 3])
def test_a_host_anywhere_above_is_refused_and_never_waived(
    program: str, above: int, rules: Policy | None
) -> None:
    """Below the terminal, and above it: whoever started the terminal may type in it."""
    links: list[str | Link] = ["timeline", "bash", "xterm", "sh", INIT]
    links.insert(above + 1, program)
    assert reason_of(decide_presence(Ancestry(chain(*links)), rules)) == "host"


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("program", sorted(OTHER_AGENTS))
def test_an_agent_that_is_no_host_of_ours_is_refused_as_well(program: str) -> None:
    """Its model runs commands in the owner's terminal, in the foreground."""
    found = chain("timeline", "bash", program, "bash", "xterm", INIT)
    for rules in (TERMINAL, ANY, None):
        assert reason_of(decide_presence(Ancestry(found), rules)) == "host"


@pytest.mark.requirement("X13")
def test_a_host_is_known_by_its_executable_too() -> None:
    """A process can give itself another name."""
    found = list(chain("timeline", "bash", "harmless", "xterm", INIT))
    found[2] = msgspec.structs.replace(found[2], program="/opt/x/codex")
    assert reason_of(decide_presence(Ancestry(tuple(found)), ANY)) == "host"


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("rules", [TERMINAL, ANY, None], ids=["terminal", "any", "no timeline"])
@pytest.mark.parametrize("variable", sorted(HOST_VARIABLES))
def test_a_hosts_variable_is_refused_and_never_waived(variable: str, rules: Policy | None) -> None:
    """The error names the variable, and the owner's way out."""
    refusal = decide_presence(Ancestry(GOOD["a console"], (variable,)), rules)
    assert reason_of(refusal) == "variable"
    assert variable in str(refusal)
    assert refusal is not None
    assert "terminal of your own" in refusal.hint


def test_a_simulated_host_has_no_owner_to_ask() -> None:
    """Its log holds nothing of anybody, and every answer says so."""
    hosted = Ancestry(chain("timeline", "codex", INIT), ("CODEX_CI",))
    assert decide_presence(hosted, SIMULATED) is None


@pytest.mark.requirement("X13")
@pytest.mark.parametrize(
    ("attached", "reason"),
    [
        ((CLIENT,), None),
        ((chain("tmux: client", "bash", "python", INIT), CLIENT), None),
        ((chain("tmux: client", "bash", "python", INIT),), "detached"),
        ((chain("tmux: client", "bash", "codex", "xterm", INIT),), "detached"),
        ((chain("tmux: client", "bash", "tmux: server", INIT),), "detached"),
        ((chain("screen", "bash", "xterm", INIT),), "detached"),
        ((tuple(msgspec.structs.replace(p, terminal=0) for p in CLIENT),), "detached"),
        (((),), "detached"),
    ],
    ids=["owner", "owner too", "orphan", "host", "nested", "another multiplexer", "no terminal", "gone"],
)
def test_a_multiplexer_counts_while_an_owner_looks_at_it(
    attached: tuple[tuple[Process, ...], ...], reason: str | None
) -> None:
    """Its server is an orphan; a client in a terminal of its own stands for it."""
    ancestry = Ancestry(BROKEN["a multiplexer without anybody"][0], (), attached)
    assert reason_of(decide_presence(ancestry, TERMINAL)) == reason
