"""``make e2e-hosts``: the real hosts, each against a scripted model, from installation to recall.

    python -m tests.hosts [case ...]

Each case is a process of its own in namespaces of its own: a network with nothing but the loopback, and its own
processes, which all end with it. Needs Linux, root or user namespaces, and the rig (``tests/hosts/rig.py``). A host
that is not there is a failure: a skip is not a pass.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from tests.hosts.app_server import SharedCodex
from tests.hosts.drivers import CODE_MODE, Codex, Driver, Kimi
from tests.hosts.machine import Machine
from tests.hosts.model import Model
from tests.hosts.rig import ROOT, RigMissingError, find_rig
from tests.hosts.story import Story
from tests.hosts.terminal import TerminalCodex

BYPASS: Final = ("--dangerously-bypass-hook-trust",)
CASES: Final[Sequence[Driver]] = (
    Codex("codex-direct", "0.171.0"),
    Codex("codex-code-mode", "0.171.0", model=CODE_MODE),
    SharedCodex("codex-shared", "0.171.0"),
    TerminalCodex("codex-terminal", "0.171.0", model=CODE_MODE),
    Codex("codex-legacy", "0.142.5", flags=BYPASS, bond="process", waits_for_server=False, has_forks=False),
    Kimi("kimi", "2.1.0", waits_for_server=False),
    Kimi("kimi-1.4", "0.20.0", waits_for_server=False),
)
CASE_SECONDS: Final = 240
_INSIDE: Final = "--inside"


class Result(NamedTuple):
    """How one case ended."""

    case: Driver
    steps: int
    seconds: float
    passed: bool


def main(arguments: Sequence[str]) -> int:
    """Run the named cases, or all; 1 if one failed or could not be tried."""
    if arguments[:1] == [_INSIDE]:
        return _tell(_case(arguments[1]), Path(arguments[2]))
    try:
        find_rig()
    except RigMissingError as error:
        click.echo(f"e2e-hosts: error: {error}; docs/hosts.md says what is needed", err=True)
        return 1
    names = list(arguments) or [case.name for case in CASES]
    results = [_run(_case(name)) for name in names]
    click.echo(f"\n{'host':<16} {'version':<8} {'steps':>5} {'seconds':>8}  result")
    for case, steps, seconds, passed in results:
        said = "pass" if passed else "FAIL"
        click.echo(f"{case.name:<16} {case.version:<8} {steps:>5} {seconds:>8.1f}  {said}")
    return 0 if all(result.passed for result in results) else 1


def _case(name: str) -> Driver:
    for case in CASES:
        if case.name == name:
            return case
    raise SystemExit(f"no case {name}; there are {', '.join(case.name for case in CASES)}")


def _run(case: Driver) -> Result:
    """One case in its own namespaces; what it says is passed on as it comes."""
    began, steps = time.monotonic(), 0
    mapped = [] if os.geteuid() == 0 else ["--map-root-user"]
    alone = ["unshare", *mapped, "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as folder:
        command = [*alone, sys.executable, "-m", "tests.hosts", _INSIDE, case.name, folder]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        assert process.stdout is not None
        timer = threading.Timer(CASE_SECONDS, process.kill)
        timer.start()
        for line in process.stdout:
            click.echo(line, nl=False)
            steps += line.startswith(f"{case.name:<16} ok")
        passed = process.wait() == 0
        timer.cancel()
    return Result(case, steps, time.monotonic() - began, passed)


def _tell(case: Driver, folder: Path) -> int:
    """Inside the namespaces: every step a line."""
    step = "rig"
    try:
        rig = find_rig()
        machine = Machine(folder, rig, case.program(rig))
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        machine.prepare()
        for step, shown in Story(machine, case, Model(rig, machine.logs)).tell():
            click.echo(f"{case.name:<16} ok   {step:<20} {shown}")
    except (AssertionError, RigMissingError) as error:
        click.echo(f"{case.name:<16} FAIL after {step}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
