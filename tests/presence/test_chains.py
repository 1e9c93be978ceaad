"""The owner's commands below real chains of processes: an owner at a terminal, and everybody who plays one."""

import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.presence.chains import CONSENT, PASSPHRASE, TIMELINE, Owned, reason_of
from timeline.owner import find_lock, unlock_owner

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the shapes are made for Linux")

NAMESPACE = ("unshare", "-U", "-r", "-p", "-f", "--mount-proc")
HIDING = """
import pathlib, subprocess, sys
end = sys.argv.index("-")
first = subprocess.Popen([*sys.argv[1:end], "sh", "-c", "echo begun; read end"], stdin=-1, stdout=-1)
first.stdout.readline()
(pid,) = pathlib.Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
subprocess.run(["nsenter", "-t", pid, "-U", "-p", "-m", "--preserve-credentials", *sys.argv[end + 1 :]])
first.communicate(b"end")
"""
"""Makes a namespace of processes, and enters it as a container is entered."""

SHAPES = {
    "setsid": "owner-presence-terminal",
    "no terminal": "owner-presence-terminal",
    "background": "owner-presence-terminal",
    "orphan": "owner-presence-chain",
}
"""How a program gets away from its ancestors, and why it is refused."""


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
@pytest.mark.parametrize("shape", ["terminal", "alone"])
def test_an_owner_at_a_terminal_consents(owned: Owned, shape: str) -> None:
    """Below a shell, and as the one program of a terminal."""
    before = owned.size
    assert reason_of(owned.run(shape)) is None
    assert owned.size == before + 1


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
@pytest.mark.parametrize("shape", SHAPES)
def test_who_got_away_from_its_ancestors_is_refused(owned: Owned, shape: str) -> None:
    """By `setsid`, without a terminal, in the background, by a double fork; the log stays as it is."""
    before = owned.size
    assert reason_of(owned.run(shape)) == SHAPES[shape]
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_an_orphan_that_opens_a_terminal_of_its_own_is_refused(owned: Owned) -> None:
    """As `setsid script` does: above its session stands what adopts orphans, and no terminal program."""
    before = owned.size
    assert reason_of(owned.run("orphan with a terminal", program="python")) == "owner-presence-chain"
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("shape", ["terminal", "no terminal"])
@pytest.mark.parametrize("program", ["codex", "claude", "kimi-code", "king"])
def test_a_host_among_the_ancestors_is_refused(owned: Owned, program: str, shape: str) -> None:
    """Whatever stands between, with every variable stripped, and with another name in its arguments."""
    before = owned.size
    command = ("/usr/bin/env", "-i", *(f"{k}={v}" for k, v in owned.environment().items()))
    shell = ("/bin/sh", "-c", 'exec "$0" "$@"', *command, *TIMELINE, *CONSENT)
    assert reason_of(owned.run(shape, shell, program=program)) == "owner-presence-host"
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
@pytest.mark.parametrize(
    "variable", ["CODEX_THREAD_ID", "CLAUDECODE", "AGENTSPINE_TIMELINE_SESSION_CAPABILITY"]
)
@pytest.mark.parametrize("stripped", [False, True], ids=["carried", "stripped for the command"])
def test_a_variable_of_a_host_is_refused(owned: Owned, variable: str, stripped: bool) -> None:
    """Also where the command alone was started without it: an ancestor still carries it."""
    before = owned.size
    strip = ("/usr/bin/env", "-u", variable) if stripped else ()
    said = owned.run(
        "terminal", (*strip, *TIMELINE, *CONSENT), environment=owned.environment(**{variable: "x"})
    )
    assert reason_of(said) == "owner-presence-variable"
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("program", ["python", "codex"])
def test_who_hides_its_ancestors_in_a_namespace_is_refused(owned: Owned, program: str) -> None:
    """`unshare` makes one and `nsenter` enters it, as a container is entered: no host is to be seen from there."""
    if not all(shutil.which(tool) for tool in ("unshare", "nsenter", "script")):
        pytest.skip("no unshare, nsenter or script")
    if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces may be made here")
    before = owned.size
    inside = ("script", "-qec", shlex.join([*TIMELINE, *CONSENT]), "/dev/null")
    said = owned.run(
        "terminal", (sys.executable, "-S", "-E", "-c", HIDING, *NAMESPACE, "-", *inside), program=program
    )
    assert reason_of(said) == "owner-presence-chain"
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_every_link_forged_passes_for_an_owner(owned: Owned) -> None:
    """What the check cannot tell, as docs/spec/owner.md says: an orphan that builds a terminal of the right name."""
    before = owned.size
    assert reason_of(owned.run("orphan with a terminal", program="xterm")) is None
    assert owned.size == before + 1


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
@pytest.mark.parametrize("typed", ["", "wrong horse battery"])
def test_with_the_key_locked_a_forged_chain_consents_to_nothing(locked: Owned, typed: str) -> None:
    """Whoever built the whole chain still does not know the passphrase."""
    before = locked.size
    said = locked.run("orphan with a terminal", program="xterm", typed=typed)
    assert reason_of(said) == "passphrase-wrong"
    assert locked.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
@pytest.mark.parametrize("shape", ["terminal", "setsid", "no terminal", "orphan"])
def test_the_lock_alone_keeps_every_chain_from_consenting(locked: Owned, shape: str) -> None:
    """As if no chain were ever looked at."""
    before = locked.size
    code = (
        "import sys, timeline.cli.presence as o; o.check_owner = lambda *_: None; "
        "from timeline.entry import main; sys.argv[0] = 'timeline'; main()"
    )
    said = locked.run(shape, (TIMELINE[0], "-c", code, *CONSENT))
    assert reason_of(said) in {"passphrase-wrong", "owner-key-locked"}
    assert locked.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_the_owner_consents_with_the_passphrase(locked: Owned) -> None:
    """It is asked for once, at the terminal; the key stays locked."""
    before = locked.size
    said = locked.run("terminal", typed=PASSPHRASE)
    assert (reason_of(said), said.count("passphrase of the owner key")) == (None, 1)
    assert PASSPHRASE not in said
    assert (locked.size, find_lock(locked.session).locked) == (before + 1, True)


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_the_passphrase_is_not_taken_from_standard_input(locked: Owned) -> None:
    """Not where a terminal is there, and not where none is."""
    before = locked.size
    shell = ("/bin/sh", "-c", f'echo "{PASSPHRASE}" | "$0" "$@"', *TIMELINE, *CONSENT)
    assert reason_of(locked.run("terminal", shell, typed="wrong horse battery")) == "passphrase-wrong"
    assert locked.size == before
    unlock_owner(locked.session, PASSPHRASE)


@pytest.mark.requirement("X13")
def test_who_was_asked_for_the_passphrase_leaves_no_image_of_its_memory(owned: Owned) -> None:
    """A signal would be enough for a core file, and a debugger of the same user could read it at once."""
    code = (
        "import ctypes, resource; from timeline.terminal import ask_passphrase; "
        "look = lambda: (max(resource.getrlimit(resource.RLIMIT_CORE)) != 0, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)); "
        "before = look(); ask_passphrase('key: '); print('seen', *before, *look())"
    )
    said = owned.run("terminal", (sys.executable, "-c", code), typed=PASSPHRASE)
    assert said.rpartition("seen ")[2].split()[1:] == ["1", "False", "0"]


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_a_unit_of_the_user_manager_is_refused(owned: Owned) -> None:
    """`systemd-run --user --pty` gives a terminal, and starts the session itself."""
    asked = shutil.which("systemctl") and subprocess.run(
        ["systemctl", "--user", "show-environment"], capture_output=True, check=False
    )
    if not asked or asked.returncode:
        pytest.skip("no user manager of systemd is running")
    before = owned.size
    given = [f"--setenv={name}={value}" for name, value in owned.environment().items()]
    command = ("systemd-run", "--user", "--pty", "--wait", "--collect", "--quiet", *given)
    program = shutil.which(command[0]) or ""
    said = owned.run("terminal", (program, *command[1:], *TIMELINE, *CONSENT))
    assert reason_of(said) == "owner-presence-chain"
    assert owned.size == before


@contextmanager
def multiplexer(owned: Owned, command: str) -> Iterator[list[str]]:
    """A tmux server that nobody is attached to, with one window in which ``command`` runs."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("tmux is not installed")
    tmux = [program, "-S", str(owned.folder / "tmux"), "-f", "/dev/null"]
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "200", "/bin/sh", "-c", command],
        env=owned.environment(),
        check=True,
    )
    try:
        yield tmux
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)


def in_window(owned: Owned, fifo: Path, before: str = "") -> str:
    """What a shell in a window runs: the consent, with what it says written to ``fifo``."""
    program = " ".join([*TIMELINE, *CONSENT])
    return f"{before}{program} > {fifo} 2>&1"


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_a_multiplexer_that_nobody_looks_at_is_refused(owned: Owned) -> None:
    """`tmux new -d` by a model: the server is an orphan, and nobody is attached to it."""
    before, fifo = owned.size, owned.folder / "said"
    os.mkfifo(fifo)
    with multiplexer(owned, in_window(owned, fifo)):
        said = fifo.read_text(encoding="utf-8")
    assert reason_of(said) == "owner-presence-detached"
    assert owned.size == before


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_host_above")
def test_what_is_typed_into_an_attached_multiplexer_is_believed(owned: Owned) -> None:
    """An owner works so; a model that types there looks the same, and only the lock tells them apart."""
    before, said, attached = owned.size, owned.folder / "said", owned.folder / "attached"
    os.mkfifo(said)
    os.mkfifo(attached)
    window = in_window(owned, said, f"read line < {attached}; ") + "; read line"
    with multiplexer(owned, window) as tmux:
        hook = [*tmux, "set-hook", "-g", "client-attached", f"run-shell 'echo x > {attached}'"]
        subprocess.run(hook, check=True)
        client = threading.Thread(
            target=owned.run,
            args=("alone", (*tmux, "attach")),
            kwargs={"environment": owned.environment(TERM="xterm")},
        )
        client.start()
        answer = said.read_text(encoding="utf-8")
        subprocess.run([*tmux, "kill-server"], check=True)
        client.join(30)
    assert reason_of(answer) is None
    assert owned.size == before + 1
