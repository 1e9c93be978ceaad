"""A runtime folder with a short path, and daemons in it that are gone when the test is."""

import os
import select
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from timeline import launch

FAKE = str(Path(__file__).with_name("fake_daemon.py"))


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give an empty runtime folder; every fake daemon that was started in it is killed."""
    with tempfile.TemporaryDirectory(prefix="tl-", dir="/tmp") as folder:
        place = Path(folder, "r")
        place.mkdir(0o700)
        monkeypatch.setenv("TIMELINE_RUNTIME_DIR", str(place))
        try:
            yield place
        finally:
            for pid in pids(place):
                end(pid)


Starter = Callable[..., None]


@pytest.fixture
def begin(runtime: Path) -> Starter:
    """Give a function that starts a fake daemon as a client does."""

    def begin(*arguments: str, **options: float) -> None:
        launch.start(runtime, command=[sys.executable, "-I", FAKE, *(arguments or ("serve",))], **options)

    return begin


def pids(runtime: Path) -> list[int]:
    """Give the processes that served, or serve, in this folder."""
    return [int(path.name.partition("-")[2]) for path in runtime.glob("started-*[0-9]")]


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or only waits for init to notice."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([held], [], [], 0)[0])
    finally:
        os.close(held)


def end(pid: int) -> None:
    """Kill a process and wait for its end."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(held, signal.SIGKILL)
        assert select.select([held], [], [], 10)[0]
    finally:
        os.close(held)
