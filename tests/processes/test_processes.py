"""Reading processes: every answer is about one process, whatever it calls itself, and never about a successor."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from timeline import processes
from timeline.processes import Process, chain_of, environment_of, look, open_files_of, processes_named

WAITS = "import sys; sys.stdout.write('.'); sys.stdout.flush(); sys.stdin.read()"
NAMED = "import sys; open('/proc/self/comm', 'w').write(sys.argv[1]);" + WAITS
PARENT = (
    "import subprocess, sys\n"
    "child = subprocess.Popen([sys.executable, '-S', '-c', sys.argv[1]], stdin=0, stdout=1)\n"
    "child.wait()\n"
)


@pytest.fixture(params=["proc", "psutil"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read by /proc, and by psutil as on a system without it."""
    if request.param == "psutil":
        monkeypatch.setattr(processes, "_PROC", "/nowhere")
    elif not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    return str(request.param)


@contextmanager
def child(*arguments: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its standard input is closed."""
    started = subprocess.Popen(  # type: ignore[call-overload]  # options are given on as they are
        [sys.executable, "-S", "-c", *(arguments or (WAITS,))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )
    try:
        assert started.stdout.read(1) == b"."
        yield started
    finally:
        started.stdin.close()
        started.wait(timeout=20)
        started.stdout.close()


def seen(pid: int) -> Process:
    """The process, which must be there."""
    found = look(pid)
    assert found is not None
    return found


@pytest.mark.usefixtures("reader")
def test_a_child_is_seen_as_the_system_has_it() -> None:
    """Pid, parent, user, group, session, name and program are the child's."""
    with child(start_new_session=True) as started:
        found = seen(started.pid)
    assert (found.pid, found.parent, found.uid) == (started.pid, os.getpid(), os.getuid())
    assert (found.group, found.session) == (started.pid, started.pid)
    assert (found.terminal, found.foreground) == (0, -1)
    assert found.name.startswith("python")
    assert found.program == os.path.realpath(sys.executable)


@pytest.mark.usefixtures("reader")
def test_a_process_that_has_ended_is_gone() -> None:
    """Neither after it was waited for, nor before, when its pid is still taken."""
    with child() as started:
        there = seen(started.pid)
        started.stdin.close()  # type: ignore[union-attr]  # a pipe was asked for
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
        assert look(started.pid) is None
    assert look(started.pid) is None
    assert (chain_of(started.pid), environment_of(there), open_files_of(there)) == ((), {}, ())


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("pid", [0, -1, 2**31, 2**63])
def test_a_number_that_is_no_pid_names_nothing(pid: int) -> None:
    """Also one that the system cannot hold."""
    assert (look(pid), chain_of(pid)) == (None, ()) or pid == 0  # macOS has a process 0


@pytest.mark.usefixtures("reader")
def test_a_successor_of_the_same_pid_is_not_believed(tmp_path: Path) -> None:
    """What is asked about a process that started at another time is not answered by who has its pid now."""
    with (tmp_path / "open").open("wb") as file, child(stderr=file) as started:
        now = seen(started.pid)
        before = msgspec.structs.replace(now, started=now.started - 1)
        assert environment_of(now)
        assert str(tmp_path / "open") in open_files_of(now)
        assert environment_of(before) == {}
        assert open_files_of(before) == ()


@pytest.mark.usefixtures("reader")
def test_two_looks_at_one_process_agree_on_its_start() -> None:
    """So that pid and start can be kept and compared; a younger process has a later start or the same."""
    with child() as started:
        assert seen(started.pid).started == seen(started.pid).started >= seen(os.getpid()).started


@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="only Linux lets a process write its name")
@pytest.mark.parametrize("name", ["a b", ") S 1 1 1", "(", "x)(y) Z 7", "\nUid:\t7", "ü\x01"])
def test_a_name_of_spaces_and_parentheses_is_read_whole(name: str) -> None:
    """And moves none of the fields that follow it."""
    with child(NAMED, name) as started:
        found = seen(started.pid)
    assert (found.name, found.parent, found.session) == (name, os.getpid(), os.getsid(0))
    assert (found.uid, found.started >= seen(os.getpid()).started) == (os.getuid(), True)


@pytest.mark.usefixtures("reader")
def test_a_chain_goes_from_the_child_up_to_the_first_process() -> None:
    """Each is the parent of the one before, and the last one's parent cannot be seen."""
    with child(PARENT, WAITS) as started:
        (inner,) = [
            p for p in processes_named(frozenset({seen(started.pid).name})) if p.parent == started.pid
        ]
        chain = chain_of(inner.pid)
    assert [process.pid for process in chain[:3]] == [inner.pid, started.pid, os.getpid()]
    assert [process.parent for process in chain[:-1]] == [process.pid for process in chain[1:]]
    assert chain[-1].parent == 0


def link(pid: int, parent: int, started: int) -> Process:
    """A process of a made-up chain."""
    return Process(pid, started, parent, 7, pid, pid, 0, -1, "x", None)


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([link(9, 5, 70), link(5, 1, 30), link(1, 0, 1)], [9, 5, 1]),
        ([link(9, 5, 70), link(5, 1, 70), link(1, 0, 1)], [9, 5, 1]),
        ([link(9, 5, 70), link(5, 1, 71), link(1, 0, 1)], [9]),
        ([link(9, 5, 70), link(1, 0, 1)], [9]),
        ([link(5, 1, 30)], []),
    ],
    ids=["whole", "same tick", "parent younger", "parent gone", "gone"],
)
def test_a_chain_ends_before_what_cannot_be_the_parent(
    there: list[Process], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pid of a parent that is gone may have been given to a younger process."""
    monkeypatch.setattr(processes, "look", {process.pid: process for process in there}.get)
    assert [process.pid for process in chain_of(9)] == expected


def test_a_chain_of_a_circle_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parents that changed between two looks never make an endless chain."""
    monkeypatch.setattr(processes, "look", {1: link(1, 2, 5), 2: link(2, 1, 5)}.get)
    assert len(chain_of(1)) == processes.GENERATIONS_MAX


@pytest.mark.usefixtures("reader")
def test_the_environment_is_the_one_that_a_process_was_started_with() -> None:
    """With empty values, values that hold ``=``, and bytes that are no UTF-8; without what is no entry."""
    given = {b"A": b"", b"B": b"x=y", b"C": b"\xff\n"}
    with child(env=given) as started:
        found = environment_of(seen(started.pid))
    assert {name: found[name] for name in ("A", "B", "C")} == {"A": "", "B": "x=y", "C": "\udcff\n"}


@pytest.mark.usefixtures("reader")
def test_the_environment_of_another_process_is_never_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that only we have is not in the child's."""
    monkeypatch.setenv("ONLY_OURS", "1")
    with child(env={}) as started:
        assert "ONLY_OURS" not in environment_of(seen(started.pid))


def test_open_files_are_told_with_removed_ones_and_pipes(tmp_path: Path, reader: str) -> None:
    """What a session's writer holds open can be found; off Linux only files that are there."""
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    with (
        kept.open("wb") as one,
        removed.open("wb") as two,
        child(pass_fds=(one.fileno(), two.fileno())) as started,
    ):
        removed.unlink()
        found = open_files_of(seen(started.pid))
    assert str(kept) in found
    if reader == "proc":
        assert f"{removed} (deleted)" in found
        assert any(target.startswith("pipe:[") for target in found)


IN_A_TERMINAL = """
import os, sys
from timeline import processes
processes._PROC = sys.argv[1]
found = processes.look(os.getpid())
leads = found.pid == found.group == found.session == found.foreground
print(leads, found.terminal == os.stat(os.ttyname(0)).st_rdev)
"""


@pytest.mark.usefixtures("reader")
def test_a_terminal_and_its_foreground_group_are_seen() -> None:
    """The terminal is told by its device, and who leads its session is in its foreground."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", IN_A_TERMINAL, processes._PROC])  # noqa: S606  (no shell is meant)
    said = b""
    while b"\n" not in said:
        said += os.read(master, 4096)
    os.waitpid(pid, 0)
    os.close(master)
    assert said.strip() == b"True True"


@pytest.mark.usefixtures("reader")
def test_processes_are_found_by_name() -> None:
    """Those of ours that have the name, and no others."""
    with child() as started:
        name = seen(started.pid).name
        assert started.pid in [process.pid for process in processes_named(frozenset({name}))]
        assert processes_named(frozenset({"no such process"})) == ()


@pytest.mark.skipif(not Path("/proc/self/uid_map").exists(), reason="no user namespaces")
@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        ("         0          0 4294967295\n", False),
        ("         0       1000          1\n", True),
        ("0 100000 65536\n", True),
        ("0 0 1\n1 1 4294967294\n", True),
        ("", True),
        (None, False),
    ],
)
def test_a_user_namespace_is_told_by_its_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, is_one: bool
) -> None:
    """The system's own maps every id to itself; where there is no map there are no namespaces."""
    own = tmp_path / str(os.getpid())
    own.mkdir()
    (tmp_path / "self").symlink_to(own)
    (own / "stat").touch()
    if content is not None:
        (own / "uid_map").write_text(content, encoding="ascii")
    monkeypatch.setattr(processes, "_PROC", str(tmp_path))
    assert processes.in_user_namespace() == is_one


def test_psutil_is_not_loaded_where_there_is_proc() -> None:
    """It costs ten times what reading a chain does."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")
    asked = "import os, sys, timeline.processes as p; p.chain_of(os.getpid()); print('psutil' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True)
    assert ended.stdout == b"False\n"
