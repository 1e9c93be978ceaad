"""``python -m tests.chaos [rounds|load|versions|disk]``: what becomes of the daemon and its clients in bad company.

``rounds`` kills daemon, starter, relay, hook and host at random points of their work. Prints a table; exit code 1 on
any failure.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos import rounds


def _rounds(folder: Path, chosen: argparse.Namespace) -> list[str]:
    failures = []
    for seed in range(chosen.seed, chosen.seed + chosen.seeds):
        found = rounds.explore(folder / f"r{seed}", chosen.kills, seed)
        print(f"seed {seed}")
        print(rounds.format_findings(found))
        failures += [f"seed {seed}: {failure}" for failure in found.failures]
    return failures


PARTS = {"rounds": _rounds}


def main() -> int:
    """Do the parts that were named, or all; 1 where something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("part", nargs="*", help="rounds, load, versions, disk; all without")
    parser.add_argument("--kills", type=int, default=200, help="processes to kill, for each seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="seeds from the first one on")
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
