"""``python -m tests.chaos [--rounds N] [--seed S]``: kill daemon, relay, hook and host at random points."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.rounds import explore


def main() -> int:
    """Run the rounds and say what was found; 1 where something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="c-") as folder:
        found = explore(Path(folder) / "w", chosen.rounds, chosen.seed)
    print(
        f"rounds {chosen.rounds}, kills {dict(sorted(found.kills.items()))}, searches found {found.searches}"
    )
    for failure in found.failures:
        print(f"FAILED {failure}")
    print("clean" if not found.failures else f"{len(found.failures)} failures")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
