"""Transport: which calls are over it, and how surely, case by case and host by host."""

from dataclasses import dataclass, field

import msgspec
import pytest

from tests.guard.callers import (
    CHILD,
    HOME,
    MAIN,
    OTHER,
    capable,
    codex,
    lock,
    plain,
    process,
    rollout,
)
from tests.simulators.worlds import refusal_of
from timeline.guard.transport import (
    Bond,
    Call,
    Caller,
    CallNames,
    HostProcess,
    Misfit,
    attribute_call,
    bind_transport,
    held_thread,
    is_switched,
    nearest_host,
    parse_call_names,
    parse_capability,
    tool_use_digest,
)
from timeline.hosts import HOSTS

SECRET = "astc_" + "A" * 43
SESSION_VARIABLE = "AGENTSPINE_TIMELINE_TRANSPORT_SESSION_ID"
SECRET_VARIABLE = "AGENTSPINE_TIMELINE_SESSION_CAPABILITY"


# -- the nearest host ------------------------------------------------------------------------------------------


@pytest.mark.requirement("X1")
def test_the_nearest_host_counts_and_not_the_top() -> None:
    """Codex's background process hangs below the terminal of whoever started it first."""
    background = process("codex", 25741)
    chain = (
        process("python", 9),
        background,
        process("codex", 25707),
        process("claude", 8),
        process("tmux: server", 7),
    )

    assert nearest_host(chain) == HostProcess("codex", background)


@pytest.mark.requirement("X1")
@pytest.mark.parametrize(
    ("names", "host"),
    [
        (("python", "kimi-code", "timeout"), "kimi"),
        (("python", "sh", "kimi-code"), "kimi"),
        (("python", "sh", "claude"), "claude"),
        (("python", "king"), "king"),
        (("codex", "bash", "systemd"), None),
        (("python", "bash", "xterm", "systemd"), None),
        (("python", "codexx", "my-codex"), None),
        (("codex",), None),
        ((), None),
    ],
)
def test_a_host_is_known_by_its_name_above_the_peer(names: tuple[str, ...], host: str | None) -> None:
    """The peer itself does not count: it is a hook or a relay, whatever it calls itself."""
    chain = tuple(process(name, 100 - place) for place, name in enumerate(names))

    found = nearest_host(chain)

    assert (None if found is None else found.host) == host


def test_a_host_is_known_by_its_executable_as_well() -> None:
    """A program may call itself what it likes; the path of its executable counts too."""
    named = process("main", 2, program="/opt/codex/bin/codex")

    assert nearest_host((process("python", 3), named)) == HostProcess("codex", named)


# -- what a process holds --------------------------------------------------------------------------------------


@pytest.mark.requirement("X1")
def test_a_thread_is_held_with_transcript_and_lock() -> None:
    """Both in one home; the transcript alone is weaker, the lock alone is nothing."""
    held = held_thread("codex", MAIN, (rollout(OTHER), rollout(MAIN), lock(MAIN)))

    assert held is not None
    assert (held.rollout, held.home, held.locked) == (rollout(MAIN), HOME, True)
    without = held_thread("codex", MAIN, (rollout(MAIN), lock(OTHER)))
    assert without is not None
    assert not without.locked


@pytest.mark.parametrize(
    "files",
    [
        (),
        (lock(MAIN),),
        (rollout(OTHER), lock(OTHER)),
        (rollout(MAIN) + " (deleted)", lock(MAIN)),
        (f"/tmp/rollout-x-{MAIN}.jsonl", lock(MAIN)),
        (f"{HOME}/sessions/2026/notes-{MAIN}.jsonl", lock(MAIN)),
        (rollout(MAIN), rollout(MAIN, "/elsewhere/.codex"), lock(MAIN)),
        (rollout(MAIN) + ".zst", lock(MAIN)),
    ],
)
def test_anything_else_is_not_held(files: tuple[str, ...]) -> None:
    """Another place, another name, a removed file, or two of them: not that thread."""
    assert held_thread("codex", MAIN, files) is None


def test_a_lock_of_another_home_is_none() -> None:
    """A model can open files of its own; the lock must lie beside the sessions."""
    held = held_thread("codex", MAIN, (rollout(MAIN), lock(MAIN, "/w/elsewhere")))

    assert held is not None
    assert not held.locked


# -- binding ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X1", "T7")
@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_hook_must_descend_from_its_own_host(host: str) -> None:
    """No host above it, or another one: refused."""
    other = "claude" if host != "claude" else "kimi"

    for caller in (Caller(), plain(other), Caller(open_files=(rollout(MAIN), lock(MAIN)))):
        refused = refusal_of(lambda caller=caller: bind_transport(host, MAIN, MAIN, caller))
        assert refused == "transport-unbound"


@pytest.mark.requirement("X1")
@pytest.mark.parametrize(
    ("thread", "caller"),
    [
        (MAIN, codex()),
        (MAIN, codex(OTHER)),
        (MAIN, codex(CHILD)),
        (CHILD, codex(MAIN)),
        (CHILD, codex(CHILD)),
    ],
)
def test_codex_must_hold_session_and_thread(thread: str, caller: Caller) -> None:
    """A claimed session that the process does not have open, or an agent's thread beside none: unproven."""
    assert refusal_of(lambda: bind_transport("codex", MAIN, thread, caller)) == "transport-unproven"


def test_an_agents_thread_must_lie_in_the_home_of_its_session() -> None:
    """Two homes in one process: not parent and child."""
    files = (rollout(MAIN), lock(MAIN), rollout(CHILD, "/w/.codex"), lock(CHILD, "/w/.codex"))
    caller = Caller(HostProcess("codex", process("codex")), files)

    assert refusal_of(lambda: bind_transport("codex", MAIN, CHILD, caller)) == "transport-unproven"


def test_the_digest_of_a_transport_covers_each_field() -> None:
    """Any other value is another transport."""
    transport = bind_transport("codex", MAIN, MAIN, codex(MAIN))
    changes = {
        "host": "kimi",
        "session": OTHER,
        "thread": OTHER,
        "pid": 7,
        "started": 7,
        "rollout": rollout(OTHER),
        "locked": False,
        "capability": "0" * 64,
    }

    digests = {msgspec.structs.replace(transport, **{name: value}).digest for name, value in changes.items()}

    assert set(changes) == set(transport.__struct_fields__)
    assert len(digests | {transport.digest}) == len(changes) + 1


# -- attributing: Codex ----------------------------------------------------------------------------------------

USE = "call-1"


@dataclass(frozen=True, slots=True)
class Case:
    """A permit's side, the call's side, and what the one is to the other."""

    expected: Bond | Misfit
    session: str = MAIN
    thread: str = MAIN
    hook: Caller = field(default_factory=lambda: codex(MAIN, OTHER, CHILD))
    host: str = "codex"
    caller: Caller = field(default_factory=lambda: codex(MAIN, OTHER, CHILD))
    names: CallNames = field(default_factory=lambda: CallNames(MAIN, MAIN, USE))


CODEX = {
    "the same call": Case(Bond.PROVED),
    "the same call, of a host that does not say the session": Case(
        Bond.PROVED, names=CallNames(MAIN, None, USE)
    ),
    "several sessions in one process, each its own": Case(
        Bond.PROVED, session=OTHER, thread=OTHER, names=CallNames(OTHER, OTHER, USE)
    ),
    "several sessions in one process, another one's call": Case(
        Misfit.OTHER, names=CallNames(OTHER, OTHER, "call-2")
    ),
    "another session's call with the id of the permitted one": Case(
        Misfit.NAMED, names=CallNames(OTHER, OTHER, USE)
    ),
    "an agent's call": Case(Bond.PROVED, thread=CHILD, names=CallNames(CHILD, MAIN, USE)),
    "an agent's call under its session's permit": Case(Misfit.OTHER, names=CallNames(CHILD, MAIN, "call-2")),
    "the session's call under its agent's permit": Case(
        Misfit.OTHER, thread=CHILD, names=CallNames(MAIN, MAIN, "call-2")
    ),
    "an agent of another session": Case(Misfit.NAMED, thread=CHILD, names=CallNames(CHILD, OTHER, USE)),
    "a fork is a thread of its own": Case(
        Misfit.OTHER, names=CallNames(OTHER, OTHER, "call-2"), caller=codex(OTHER)
    ),
    "resumed in another process": Case(Misfit.NAMED, caller=codex(MAIN, pid=101)),
    "a reused pid": Case(Misfit.NAMED, caller=codex(MAIN, started=6)),
    "the id of another use": Case(Misfit.OTHER, names=CallNames(MAIN, MAIN, "call-2")),
    "no thread": Case(Misfit.NAMED, names=CallNames(None, None, USE)),
    "no names at all": Case(Misfit.OTHER, names=CallNames()),
    "the session is not held any more": Case(Misfit.NAMED, caller=codex(OTHER)),
    "no host above the relay": Case(Misfit.NAMED, caller=Caller()),
    "below another host": Case(Misfit.NAMED, caller=plain("claude")),
    "a relay that was started for another host": Case(Misfit.NAMED, host="kimi"),
    "no call id (0.142.5)": Case(Bond.PROCESS, names=CallNames(MAIN, None, None)),
    "no writer lock (0.142.5)": Case(
        Bond.PROCESS, hook=codex(MAIN, locked=False), caller=codex(MAIN, locked=False)
    ),
    "the lock at the call alone": Case(Bond.PROCESS, hook=codex(MAIN, locked=False)),
    "the lock at the hook alone": Case(Bond.PROCESS, caller=codex(MAIN, locked=False)),
    "the thread's transcript in another home": Case(
        Misfit.NAMED,
        caller=Caller(
            HostProcess("codex", process("codex")), (rollout(MAIN, "/w/.codex"), lock(MAIN, "/w/.codex"))
        ),
    ),
    "an agent whose session's lock is not held": Case(
        Bond.PROCESS,
        thread=CHILD,
        hook=Caller(HostProcess("codex", process("codex")), (rollout(MAIN), rollout(CHILD), lock(CHILD))),
        names=CallNames(CHILD, MAIN, USE),
    ),
    "no call id, another thread": Case(Misfit.OTHER, names=CallNames(OTHER, OTHER, None)),
}


@pytest.mark.requirement("X1", "D7")
@pytest.mark.parametrize("name", CODEX)
def test_a_call_of_codex_is_attributed(name: str) -> None:
    """By thread and call id, to the process that holds the thread."""
    case = CODEX[name]
    transport = bind_transport("codex", case.session, case.thread, case.hook)

    found = attribute_call(transport, tool_use_digest(USE), Call(case.host, case.caller, case.names))

    assert found is case.expected


# -- attributing: hosts that name nothing ----------------------------------------------------------------------


@pytest.mark.requirement("X1", "D7")
@pytest.mark.parametrize("host", ["claude", "king", "kimi"])
def test_a_host_that_names_nothing_is_bound_by_its_process(host: str) -> None:
    """The same pid and start, and it is said to be weaker; any other process is another."""
    transport = bind_transport(host, "session-1", "session-1", plain(host))
    use = tool_use_digest(USE)

    assert attribute_call(transport, use, Call(host, plain(host))) is Bond.PROCESS
    for caller in (plain(host, 101), plain(host, started=6), plain("codex"), Caller()):
        assert attribute_call(transport, use, Call(host, caller)) is Misfit.OTHER
    assert attribute_call(transport, use, Call("codex", plain(host))) is Misfit.OTHER


# -- attributing: a launcher's capability ----------------------------------------------------------------------


@pytest.mark.requirement("X1", "T7")
def test_a_capability_rules_where_it_is_set() -> None:
    """The same on both sides, whatever the processes are; on one side only, or another one: nothing."""
    transport = bind_transport("codex", MAIN, MAIN, capable("a" * 64, MAIN))
    use = tool_use_digest(USE)

    assert (transport.pid, transport.rollout) == (None, None)
    assert attribute_call(transport, use, Call("codex", capable("a" * 64, MAIN, pid=7))) is Bond.CAPABILITY
    for caller in (capable("b" * 64, MAIN), capable("a" * 64, OTHER), codex(MAIN), Caller()):
        assert attribute_call(transport, use, Call("codex", caller)) is Misfit.OTHER
    stock = bind_transport("kimi", MAIN, MAIN, plain("kimi"))
    with_capability = msgspec.structs.replace(plain("kimi"), capability=capable("a" * 64, MAIN).capability)
    assert attribute_call(stock, use, Call("kimi", plain("kimi"))) is Bond.PROCESS
    assert attribute_call(stock, use, Call("kimi", with_capability)) is Misfit.OTHER


def test_a_capability_does_not_overrule_what_the_host_says() -> None:
    """A background process hands one environment to all its sessions; the host's own word still counts."""
    transport = bind_transport("codex", MAIN, MAIN, capable("a" * 64, MAIN))
    for names in (CallNames(OTHER, OTHER, None), CallNames(CHILD, MAIN, None), CallNames(MAIN, OTHER, None)):
        call = Call("codex", capable("a" * 64, MAIN), names)
        assert attribute_call(transport, tool_use_digest(USE), call) is Misfit.OTHER


def test_a_capability_of_another_session_is_refused() -> None:
    """The hook says a session that the launcher did not mean."""
    refused = refusal_of(lambda: bind_transport("codex", MAIN, MAIN, capable("a" * 64, OTHER)))

    assert refused == "local-transport-capability-required"


def test_only_the_digest_of_a_capability_is_kept() -> None:
    """The secret stands nowhere, and another secret has another digest."""
    found = parse_capability({SECRET_VARIABLE: SECRET, SESSION_VARIABLE: MAIN})
    other = parse_capability({SECRET_VARIABLE: "astc_" + "B" * 43, SESSION_VARIABLE: MAIN})

    assert found is not None
    assert other is not None
    assert found.session == MAIN
    assert found.digest != other.digest
    assert "A" * 10 not in repr(found)


@pytest.mark.parametrize(
    "environment",
    [
        {SECRET_VARIABLE: SECRET},
        {SESSION_VARIABLE: MAIN},
        {SECRET_VARIABLE: SECRET[:-1], SESSION_VARIABLE: MAIN},
        {SECRET_VARIABLE: SECRET + "A", SESSION_VARIABLE: MAIN},
        {SECRET_VARIABLE: SECRET.replace("astc", "aspt"), SESSION_VARIABLE: MAIN},
        {SECRET_VARIABLE: SECRET[:-1] + "=", SESSION_VARIABLE: MAIN},
        {SECRET_VARIABLE: SECRET, SESSION_VARIABLE: ""},
        {SECRET_VARIABLE: "", SESSION_VARIABLE: MAIN},
    ],
)
def test_half_a_capability_is_refused(environment: dict[str, str]) -> None:
    """It is never taken for none: a launcher that means to bind must not end up unbound."""
    assert refusal_of(lambda: parse_capability(environment)) == "local-transport-capability-required"


def test_no_capability_is_none() -> None:
    """Stock hosts set none."""
    assert parse_capability({"PATH": "/bin"}) is None


@pytest.mark.requirement("T26")
def test_the_switch_is_exactly_one() -> None:
    """Nothing else than 1 is yes."""
    values = ["1", "true", "yes", "01", " 1", "", "0"]

    found = [is_switched({"AGENTSPINE_TIMELINE_CROSS_PROVIDER": value}) for value in values]

    assert found == [True] + [False] * 6
    assert not is_switched({})


# -- what a host says ------------------------------------------------------------------------------------------

TURN = "x-codex-turn-metadata"


@pytest.mark.requirement("X1")
@pytest.mark.parametrize(
    ("meta", "names"),
    [
        (None, CallNames()),
        ({}, CallNames()),
        ({"progressToken": 1}, CallNames()),
        ({"threadId": MAIN, TURN: {"session_id": MAIN, "thread_id": MAIN}}, CallNames(MAIN, MAIN, None)),
        ({"threadId": MAIN, "callId": "exec-1", TURN: {}}, CallNames(MAIN, None, "exec-1")),
        (
            {
                "threadId": CHILD,
                "sessionId": MAIN,
                "callId": "c",
                TURN: {"session_id": MAIN, "thread_id": CHILD},
            },
            CallNames(CHILD, MAIN, "c"),
        ),
    ],
)
def test_what_codex_says_in_a_call(meta: dict[str, object] | None, names: CallNames) -> None:
    """In each version what it says, once or twice."""
    assert parse_call_names("codex", meta) == names


@pytest.mark.parametrize(
    "meta",
    [
        {"threadId": MAIN, TURN: {"thread_id": OTHER}},
        {"threadId": MAIN, "sessionId": MAIN, TURN: {"session_id": OTHER}},
        {"threadId": 7},
        {"threadId": ""},
        {"threadId": MAIN, "callId": ["c"]},
        {"threadId": MAIN, "callId": "a\nb"},
        {"threadId": "x" * 257},
        {"threadId": MAIN, TURN: {"thread_id": 7}},
    ],
)
def test_a_contradiction_in_a_call_is_refused(meta: dict[str, object]) -> None:
    """Two names for one thing, or a name that is none."""
    assert refusal_of(lambda: parse_call_names("codex", meta)) == "transport-unbound"


@pytest.mark.parametrize("host", ["claude", "king", "kimi", "nobody"])
def test_of_other_hosts_no_names_are_taken(host: str) -> None:
    """What is not known to come from the host itself is not believed."""
    assert parse_call_names(host, {"threadId": MAIN, "callId": USE, "sessionId": MAIN}) == CallNames()
