"""The programs, run in this process as their entry points run them, in a simulated world and at its time."""

import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from tests.simulators.worlds import FOLDERS, World
from timeline import cli

Run = Callable[..., tuple[int, str, str]]
"""Runs a program with its arguments: exit code, standard output, standard error."""


def use(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs work in a world, with its time in place of the machine's."""
    for name in FOLDERS:
        monkeypatch.setenv(f"TIMELINE_{name.upper()}_DIR", str(world.folder / name))
    monkeypatch.setenv("CODEX_HOME", str(world.home / ".codex"))
    monkeypatch.setattr("timeline.clock.SystemClock.now_ms", lambda _: world.clock.now_ms())


def runner(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs `timeline`, or what another entry point starts, with ``given`` as standard input."""

    def run(*arguments: str, program: str = "main", given: bytes = b"") -> tuple[int, str, str]:
        name = program.replace("main", "timeline").replace("_", "-")
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        with CliRunner().isolation(input=given) as (out, err, _), pytest.raises(SystemExit) as ended:
            getattr(cli, program)()
        sys.stdout.flush()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out.getvalue().decode(), err.getvalue().decode()

    return run
