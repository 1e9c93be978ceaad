"""The interposer: compiled when it is needed, loaded before Python, and told what to do.

LD_PRELOAD counts only when a process starts. So what needs it runs in a process of its own (``python -m
tests.faults``), which ``preloaded_environment`` prepares.
"""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, auto
from pathlib import Path
from typing import Final

from tests.faults.calls import Call, Kind, parse_calls

SOURCE: Final = Path(__file__).resolve().parents[1] / "simulators" / "interposer.c"
COMPILERS: Final = ("cc", "gcc", "clang")
LEFT_OUT: Final = "runtime"
"""The folder that is not watched: locks mean nothing after a crash, and whoever cannot take one does nothing."""
_PRELOAD: Final = "LD_PRELOAD"
_EVERY: Final = sum(1 << kind for kind in Kind)


class Mode(IntEnum):
    """What becomes of the call that is due; the order is that of ``enum mode``."""

    RECORD = 0
    """Nothing: calls are written down only."""
    FAIL = auto()
    """It fails and does nothing."""
    LATE = auto()
    """It does what it was asked and then says that it failed."""
    SHORT = auto()
    """It reads or writes half of what it was asked for."""
    KILL = auto()
    """The process ends there, before it."""
    PAUSE = auto()
    """The process waits there, before it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which call is due, counted from 1 among those of ``kinds``, and what becomes of it."""

    mode: Mode
    at: int = 1
    error: int = 0
    persistent: bool = False
    kinds: frozenset[Kind] | None = None
    notify: int = -1
    wait: int = -1


@dataclass(slots=True)
class Recording:
    """The calls of a block, there when it has ended."""

    calls: list[Call] = field(default_factory=list)


def missing() -> str | None:
    """What the interposer would need and the system lacks, ``None`` where it can be used."""
    if sys.platform != "linux" or sys.maxsize < 2**32:
        return "64-bit Linux"
    return f"C compiler ({', '.join(COMPILERS)})" if _compiler() is None else None


def preloaded_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that starts with the interposer loaded.

    Raises:
        RuntimeError: it cannot be compiled.
    """
    return {**environment, _PRELOAD: str(_built())}


def is_loaded() -> bool:
    """Whether this process was started with it."""
    return hasattr(ctypes.CDLL(None), "interposer_start")


@contextmanager
def recording(root: Path, plan: Plan | None = None) -> Iterator[Recording]:
    """Write down the calls of the block below ``root``, and let one of them be what ``plan`` says."""
    library, found = _library(), Recording()
    descriptor = os.memfd_create("calls")
    try:
        library.interposer_start(str(root).encode(), str(root / LEFT_OUT).encode(), descriptor)
        if plan is not None:
            kinds = _EVERY if plan.kinds is None else sum(1 << kind for kind in plan.kinds)
            library.interposer_arm(
                plan.mode, plan.at, plan.error, plan.persistent, kinds, plan.notify, plan.wait
            )
        try:
            yield found
        finally:
            library.interposer_stop()
            os.lseek(descriptor, 0, os.SEEK_SET)
            with os.fdopen(os.dup(descriptor), "rb") as file:
                found.calls.extend(parse_calls(file.read(), str(root)))
    finally:
        os.close(descriptor)


def mark(text: str) -> None:
    """Write a word of ours between the calls."""
    _library().interposer_mark(text.encode())


def skip_syncs() -> None:
    """Let no sync of this process reach the disk from now on; they are written down all the same."""
    _library().interposer_quick(1)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.interposer_start.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int]
    library.interposer_arm.argtypes = [
        ctypes.c_int,
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_uint64,
        ctypes.c_int,
        ctypes.c_int,
    ]
    library.interposer_mark.argtypes = [ctypes.c_char_p]
    return library


def _compiler() -> str | None:
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def _built() -> Path:
    """The compiled interposer, kept under the digest of its source among the system's temporary files."""
    source = SOURCE.read_bytes()
    folder = Path(tempfile.gettempdir()) / f"timeline-interposer-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        message = f"{folder}: belongs to another user"
        raise RuntimeError(message)
    built = folder / f"{hashlib.sha256(source).hexdigest()[:32]}.so"
    if not built.exists():
        compiler = _compiler()
        if compiler is None:
            message = f"the system has no {missing()}"
            raise RuntimeError(message)
        begun = built.with_suffix(f".{os.getpid()}")
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", begun, SOURCE, "-ldl", "-pthread"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise RuntimeError(result.stderr)
        begun.rename(built)
    return built
