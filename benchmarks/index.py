"""Indexing a corpus in a child process, against plain JSON decoding and against hashing and searching it.

Measured is everything from the start of the interpreter on: reading, strict checks, recognisers, signing, storing.
"""

import hashlib
import json
import re
import shutil
import statistics
import sys
from pathlib import Path

from adapters.decode import is_utf8
from benchmarks.corpus import write_corpus
from benchmarks.measure import Figure, alternate, own_peak_mb, python, ratio, run
from benchmarks.worlds import HERE, corpus, enroll_all, index_all, transcripts
from sidecars.sidecar import CHUNK_BYTES

_ROUNDS = 5
_BYTES = 256 << 20
_QUICK_BYTES = 40 << 20
_HUGE_FILE = 2 << 30
_HUGE_LINE = 500 << 20
_MEMORY_MB = 100.0
_GATES = {0.1: (1.8, 8.0), 0.5: (2.9, 13.0)}
"""Gates by share of reviewed output: to decoding, and to hashing and searching. Not what was asked for (ADR 0012)."""

_ADR = "what no reader that checks every byte goes below: docs/adr/0012"
_HEAD = re.compile(
    rb'\{"timestamp":"[^"\\]{1,40}",(?:"ordinal":[0-9]{1,16},)?"type":"([a-z_]{1,40})","payload":\{"type":"([a-z_]{1,40})"'
)
_NEVER = "zzqqzz"
"""A word that no transcript holds, so that the searching reference reads to the end."""


def figures(*, quick: bool) -> list[Figure]:
    """Processor time, memory and state size for both shares of reviewed output; memory for a huge file and line."""
    found = []
    for share, gates in _GATES.items():
        folder = corpus(_QUICK_BYTES if quick else _BYTES, share)
        found += _of_share(folder, share, gates, 3 if quick else _ROUNDS)
    found.append(_huge_line())
    found.append(
        Figure("index, one file of 2 GB: peak memory", None, "MB", _MEMORY_MB, "skipped by --quick")
        if quick
        else _huge_file()
    )
    return found


def _of_share(folder: Path, share: float, gates: tuple[float, float], rounds: int) -> list[Figure]:
    files = [str(path) for path in transcripts(folder)]
    size = sum(Path(name).stat().st_size for name in files)
    peaks: list[float] = []

    def index() -> float:
        enroll_all(folder, transcripts(folder))
        cost = run(python("benchmarks.index", "index", str(folder)))
        peaks.append(float(cost.output))
        return cost.cpu

    def decode() -> float:
        return run(python("benchmarks.index", "decode", *files)).cpu

    def hash_and_search() -> float:
        hashing = run(["openssl", "dgst", "-sha256", *files]).cpu
        return hashing + run(["rg", "-j1", "-c", _NEVER, *files], ends=1).cpu

    def floor() -> float:
        return run(python("benchmarks.index", "floor", *files)).cpu

    missing = [
        package for tool, package in (("openssl", "openssl"), ("rg", "ripgrep")) if not shutil.which(tool)
    ]
    takes = [index, decode, floor] if missing else [index, decode, floor, hash_and_search]
    ours, decoding, least, *hashing = alternate(rounds, *takes)
    state = sum(path.stat().st_size for path in (folder / "state").rglob("*") if path.is_file())
    name = f"index, {share:.0%} reviewed"
    rate = f"{size / 1e6 / statistics.median(ours):.0f} MB a second of processor time, {size / 1e6:.0f} MB"
    return [
        Figure(f"{name}: CPU / json.loads of every line", ratio(ours, decoding), "x", gates[0], rate),
        Figure(
            f"{name}: hash, UTF-8, line heads alone / json.loads", ratio(least, decoding), "x", None, _ADR
        ),
        Figure(
            f"{name}: CPU / (openssl sha256 + rg)",
            ratio(ours, hashing[0]) if hashing else None,
            "x",
            gates[1],
            f"reference missing: install {' '.join(missing)}" if missing else "",
        ),
        Figure(f"{name}: peak memory", max(peaks), "MB", _MEMORY_MB),
        Figure(f"{name}: state", 100 * state / size, "% of input", 2.0),
    ]


def _huge_file() -> Figure:
    """One session that goes on and on: its turns are repeated, so that old events have to be given up."""
    folder = _empty("huge-file")
    path, content = next(write_corpus(8 << 20, 0.1))
    head, _, turns = content.partition(b"\n")
    with _transcript(folder, path).open("wb") as file:
        file.write(head + b"\n")
        while file.tell() < _HUGE_FILE:
            file.write(turns)
    return _peak("one file of 2 GB", folder)


def _huge_line() -> Figure:
    """A sound session with one line in it that is far over the limit."""
    folder = _empty("huge-line")
    path, content = next(write_corpus(1 << 20, 0.1))
    with _transcript(folder, path).open("wb") as file:
        file.write(content)
        file.write(b'{"timestamp":"2026-01-01T00:00:00.000Z","type":"compacted","payload":{"message":"')
        for _ in range(_HUGE_LINE >> 20):
            file.write(b"x" * (1 << 20))
        file.write(b'"}}\n')
    return _peak("one line of 500 MB", folder)


def _empty(name: str) -> Path:
    shutil.rmtree(HERE / name, ignore_errors=True)
    return HERE / name


def _transcript(folder: Path, path: str) -> Path:
    target = folder / "home" / ".codex" / path
    target.parent.mkdir(parents=True)
    return target


def _peak(name: str, folder: Path) -> Figure:
    paths = transcripts(folder)
    size = paths[0].stat().st_size
    enroll_all(folder, paths)
    cost = run(python("benchmarks.index", "index", str(folder)))
    shutil.rmtree(folder)
    detail = f"{size / 1e6:.0f} MB in {cost.cpu:.1f} s of processor time"
    return Figure(f"index, {name}: peak memory", float(cost.output), "MB", _MEMORY_MB, detail)


def _floor(files: list[str]) -> None:
    """Hash each chunk, check UTF-8, find each line and look at its head; nothing is done with it."""
    buffer = memoryview(bytearray(CHUNK_BYTES))
    for name in files:
        held = b""
        with Path(name).open("rb", buffering=0) as file:
            while size := file.readinto(buffer):
                hashlib.sha256(buffer[:size]).digest()
                block = held + bytes(buffer[:size])
                end = block.rfind(b"\n") + 1
                held = block[end:]
                _look_at_heads(block[:end])


def _look_at_heads(block: bytes) -> int:
    if not is_utf8(block):
        raise RuntimeError("a corpus is UTF-8")
    start = seen = 0
    while (end := block.find(b"\n", start)) >= 0:
        seen += _HEAD.match(block, start) is not None
        start = end + 1
    return seen


def _decode(files: list[str]) -> None:
    for name in files:
        with Path(name).open("rb") as file:
            for line in file:
                json.loads(line)


if __name__ == "__main__":
    if sys.argv[1] == "decode":
        _decode(sys.argv[2:])
    elif sys.argv[1] == "floor":
        _floor(sys.argv[2:])
    else:
        index_all(Path(sys.argv[2]))
        print(own_peak_mb())
