"""How figures are taken: child processes by their own processor time, ratios within one run, medians of several."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure, and the gate it has to keep; ``gate`` is ``None`` for what is only reported."""

    name: str
    value: float
    unit: str
    gate: float | None
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether the figure is within its gate."""
        return self.gate is None or self.value <= self.gate


@dataclass(frozen=True)
class Cost:
    """What a child process used: processor seconds (user and system), wall seconds, peak memory in MB."""

    cpu: float
    wall: float
    peak_mb: float


def run(command: Sequence[str], *, environment: dict[str, str] | None = None, ends: int = 0) -> Cost:
    """Run a command to its end, throwing its output away through a pipe (programs shortcut a null device)."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    errors = _drain(child)
    if child.returncode not in (0, ends):
        raise RuntimeError(
            f"{command[0]} ended with {child.returncode}: {errors.decode(errors='replace')[-400:]}"
        )
    used = _USAGE[child.pid]
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


_USAGE: dict[int, resource.struct_rusage] = {}


def _drain(child: "subprocess.Popen[bytes]") -> bytes:
    """Read everything that the child prints, reap it with its accounting, and return its standard error."""
    errors = b""
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            with stream:
                errors = stream.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    _USAGE[child.pid] = used
    return errors


def python(module: str, *arguments: str) -> list[str]:
    """The command of a measuring module of this package, in this interpreter."""
    return [sys.executable, "-m", module, *arguments]


def alternate(
    rounds: int, first: Callable[[], float], second: Callable[[], float]
) -> tuple[float, float, float]:
    """Take both in turn; the medians of each, and the median of the ratios first to second within each round."""
    pairs = [(first(), second()) for _ in range(rounds)]
    return (
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
        statistics.median(a / b for a, b in pairs),
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
