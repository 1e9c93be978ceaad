"""How figures are taken: child processes by their own processor time, ratios within one run, medians of several."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Figure:
    """One measured figure and the gate it has to keep.

    ``gate`` is ``None`` for what is only reported, ``value`` for what could not be measured here.
    """

    name: str
    value: float | None
    unit: str
    gate: float | None
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether the figure is within its gate, or was not measured."""
        return self.gate is None or self.value is None or self.value <= self.gate


@dataclass(frozen=True)
class Cost:
    """What a child process used: processor seconds (user and system), wall seconds; and what it printed."""

    cpu: float
    wall: float
    output: bytes


def run(command: Sequence[str], *, environment: Mapping[str, str] | None = None, ends: int = 0) -> Cost:
    """Run a command to its end, reading its output through a pipe (programs shortcut a null device).

    ``ends`` is another exit code that is fine.
    """
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if child.stdout is None or child.stderr is None:
        raise RuntimeError("a child's output is read through pipes")
    output, errors = child.stdout.read(), child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    child.stderr.close()
    if child.returncode not in {0, ends}:
        raise RuntimeError(
            f"{command[0]} ended with {child.returncode}: {errors.decode(errors='replace')[-400:]}"
        )
    return Cost(used.ru_utime + used.ru_stime, wall, output)


def python(module: str, *arguments: str) -> list[str]:
    """The command of a measuring module of this package, in this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def own_peak_mb() -> float:
    """The peak of this process's resident memory in MB.

    Linux carries ``ru_maxrss`` over from the parent that started us; the mark in ``/proc`` is our own.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def alternate(rounds: int, *takes: Callable[[], float]) -> list[list[float]]:
    """Take each in turn, ``rounds`` times; the values of each."""
    taken: list[list[float]] = [[] for _ in takes]
    for _ in range(rounds):
        for values, take in zip(taken, takes, strict=True):
            values.append(take())
    return taken


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios within each round."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
