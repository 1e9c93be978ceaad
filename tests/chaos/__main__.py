"""``python -m tests.chaos [rounds|load|versions|disk]``: what becomes of the daemon and its clients in bad company.

``rounds`` kills daemon, starter, relay, hook and host at random points of their work. ``load`` lets 50 sessions ask
5,000 times, and ten clients begin a daemon at once. ``versions`` lets two versions of the program work side by side.
``disk`` fills the file systems below the folders. Each prints a table; exit code 1 on any failure.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.chaos import disk, load, rounds, versions


def _rounds(folder: Path, chosen: argparse.Namespace) -> list[str]:
    failures = []
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        found = rounds.explore(folder / f"r{seed}", chosen.kills, seed)
        print(f"seed {seed}")
        print(rounds.format_findings(found), flush=True)
        failures += [f"seed {seed}: {failure}" for failure in found.failures]
    return failures


def _load(folder: Path, chosen: argparse.Namespace) -> list[str]:
    size = load.WHOLE._replace(calls=chosen.calls, herds=chosen.herds)
    found = load.explore(folder / "l", size, chosen.seed)
    print(load.format_findings(found))
    return found.failures


def _versions(folder: Path, _chosen: argparse.Namespace) -> list[str]:
    found = versions.explore(folder / "v")
    print(versions.format_findings(found))
    return found.failures


def _disk(folder: Path, _chosen: argparse.Namespace) -> list[str]:
    if reason := disk.reason_to_skip():
        print(f"skipped: {reason}")
        return []
    found = disk.explore(folder / "d")
    print(disk.format_findings(found))
    return found.failures


PARTS: dict[str, Callable[[Path, argparse.Namespace], list[str]]] = {
    "rounds": _rounds,
    "load": _load,
    "versions": _versions,
    "disk": _disk,
}


def main() -> int:
    """Do the parts that were named, or all; 1 where something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("part", nargs="*", metavar="|".join(PARTS), help="all of them where none is named")
    parser.add_argument("--kills", type=int, default=200, help="processes to kill, for each seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="seeds from the first one on")
    parser.add_argument("--calls", type=int, default=load.WHOLE.calls, help="tool calls under load")
    parser.add_argument("--herds", type=int, default=load.WHOLE.herds, help="times that ten begin at once")
    chosen = parser.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="c-") as folder:
        for name in chosen.part or PARTS:
            print(f"== {name}", flush=True)
            failures += [f"{name}: {failure}" for failure in PARTS[name](Path(folder), chosen)]
    for failure in failures:
        print(f"FAILED {failure}")
    print("clean" if not failures else f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
