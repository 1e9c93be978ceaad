"""Indexing a corpus in a child process, against plain JSON decoding and against hashing and searching it."""

import json
import shutil
import sys
from pathlib import Path

from benchmarks.measure import Cost, Figure, alternate, python, run
from benchmarks.worlds import HERE, corpus, enroll, enroll_all, session_at, transcripts
from timeline import service
from timeline.simulated_host import CodexRollout, stepping_clock

_ROUNDS = 3
_FOLDERS = ("state", "trust", "config", "runtime")


def figures(*, quick: bool) -> list[Figure]:
    """Processor time, memory and state size for both shares of reviewed output; memory for a huge file and line."""
    total = (40 if quick else 208) << 20
    found = []
    for share in (0.1, 0.5):
        found += _of_share(corpus(total, share), share)
    found.append(_peak("one file of 2 GB", HERE / "huge-file", None if quick else 2 << 30))
    found.append(_peak("one line of 500 MB", HERE / "huge-line", 500 << 20, one_line=True))
    return found


def _of_share(folder: Path, share: float) -> list[Figure]:
    files = [str(path) for path in transcripts(folder)]
    size = sum(Path(name).stat().st_size for name in files)
    costs: list[Cost] = []

    def index() -> float:
        _fresh(folder)
        costs.append(run(python("benchmarks.index", str(folder))))
        return costs[-1].cpu

    name = f"index, {share:.0%} reviewed"
    _, decoding, to_json = alternate(
        _ROUNDS, index, lambda: run(python("benchmarks.index", "--json", *files)).cpu
    )
    state = sum(path.stat().st_size for path in (folder / "state").rglob("*") if path.is_file())
    rate = size / 1e6 / (decoding * to_json)
    figures = [
        Figure(
            f"{name}: CPU / json.loads of every line", to_json, "x", 0.5, f"{rate:.0f} MB/s of processor time"
        ),
        Figure(f"{name}: peak memory", max(cost.peak_mb for cost in costs), "MB", 100.0),
        Figure(f"{name}: state", 100 * state / size, "% of input", 2.0),
    ]
    if shutil.which("openssl") and shutil.which("rg"):
        _, _, to_hash = alternate(_ROUNDS, index, lambda: _hash_and_search(files))
        figures.append(Figure(f"{name}: CPU / (openssl sha256 + rg)", to_hash, "x", 2.0))
    else:
        print(
            "reference missing: install openssl and ripgrep to compare with hashing and searching",
            file=sys.stderr,
        )
    return figures


def _hash_and_search(files: list[str]) -> float:
    """What the two reference programs cost over the same files."""
    hashed = run(["openssl", "dgst", "-sha256", *files])
    searched = run(["rg", "-j1", "-c", "a word that no file has", *files], ends=1)
    return hashed.cpu + searched.cpu


def _fresh(folder: Path) -> None:
    """A timeline with everything enrolled and nothing indexed."""
    for name in _FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    enroll_all(session_at(folder), folder, transcripts(folder))


def _peak(name: str, folder: Path, size: int | None, *, one_line: bool = False) -> Figure:
    if size is None:
        return Figure(f"index, {name}: peak memory", 0.0, "MB", None, "skipped by --quick")
    shutil.rmtree(folder, ignore_errors=True)
    session = session_at(folder)
    rollout = CodexRollout(clock=stepping_clock(1_790_000_000_000), cwd="/w/bench")
    rollout.start_turn()
    rollout.prompt("go on")
    rollout.command("cat big", "x" * 60_000, 0)
    rollout.end_turn("done")
    path = folder / "home" / ".codex" / rollout.relative_path
    path.parent.mkdir(parents=True)
    content = rollout.to_bytes()
    with path.open("wb") as file:
        file.write(content)
        if one_line:
            file.write(b'{"timestamp":"2026-01-01T00:00:00.000Z","type":"compacted","payload":{"message":"')
            for _ in range(size >> 20):
                file.write(b"x" * (1 << 20))
            file.write(b'"}}\n')
        else:
            line = rollout.lines[-3] + b"\n"
            block = line * max(1, (8 << 20) // len(line))
            while file.tell() < size:
                file.write(block)
    enroll(session, folder / "project", path)
    cost = run(python("benchmarks.index", str(folder)))
    shutil.rmtree(folder)
    return Figure(
        f"index, {name}: peak memory", cost.peak_mb, "MB", 100.0, f"{cost.cpu:.1f} s of processor time"
    )


def _decode(files: list[str]) -> None:
    for name in files:
        with Path(name).open("rb") as file:
            for line in file:
                json.loads(line)


if __name__ == "__main__":
    if sys.argv[1] == "--json":
        _decode(sys.argv[2:])
    else:
        target = Path(sys.argv[1])
        for result in service.index(session_at(target), str(target / "project")):
            if isinstance(result, tuple):
                raise result[1]
