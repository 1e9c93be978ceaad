"""What every test stands on: this checkout, no host's variables, a home of its own, and no network."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Never

import hypothesis
import pytest

import adapters
import sidecars
from timeline.guard.presence import Ancestry
from timeline.processes import Process

ROOT = Path(__file__).resolve().parents[1]
HOST_PREFIXES = ("CODEX_", "CLAUDE", "BLUN_", "KING_", "KIMI_", "AGENTSPINE_", "TIMELINE_", "XDG_")

# At import, before a test module can read them: a host that runs the tests must not leak into them.
for _name in [name for name in os.environ if name.startswith(HOST_PREFIXES)]:
    del os.environ[_name]

# No deadline in either profile: elapsed time is measured in benchmarks/, never asserted here.
hypothesis.settings.register_profile("dev", max_examples=40, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=150, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_sessionstart() -> None:
    """Refuse to test another copy: a PyPI distribution named `adapters` would shadow ours (ADR 0002)."""
    for package in (adapters, sidecars):
        place = Path(package.__file__ or "").resolve()
        if not place.is_relative_to(ROOT):
            pytest.exit(f"`import {package.__name__}` gives {place}, not this checkout", returncode=3)


@pytest.fixture(scope="session")
def root() -> Path:
    """Give the root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of samples and vectors beside the checkout, or skip where a clone has none."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared is absent")
    return folder


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a home of its own, so that nothing of the person who runs the tests is read or written."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(place))
    for kind in ("STATE", "TRUST", "CONFIG", "RUNTIME"):
        monkeypatch.setenv(f"TIMELINE_{kind}_DIR", str(tmp_path / "timeline" / kind.lower()))
    for kind in ("STATE_HOME", "DATA_HOME", "CONFIG_HOME", "CACHE_HOME", "RUNTIME_DIR"):
        monkeypatch.setenv(f"XDG_{kind}", str(place / kind.lower()))
    return place


@pytest.fixture(autouse=True)
def _at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands that run in this process be the owner's: who runs the tests may be a host, or have no terminal."""
    names = ((9, 8, "timeline"), (8, 7, "bash"), (7, 1, "xterm"), (1, 0, "systemd"))
    chain = tuple(
        Process(pid, pid, parent, os.getuid(), 9, 8, 1, 9, name, None) for pid, parent, name in names
    )
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _environment: Ancestry(chain))


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse every internet address; Unix sockets stay, the daemon speaks over one."""

    def guard(method: str) -> object:
        original = getattr(socket.socket, method)

        def guarded(self: socket.socket, *args: object) -> object:
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _refuse(method)
            return original(self, *args)

        return guarded

    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex", "sendto", "bind"):
            patch.setattr(socket.socket, method, guard(method))
        yield


def _refuse(method: str) -> Never:
    raise RuntimeError(f"a test called socket.{method} on an internet address; tests use no network")
