"""`python -m benchmarks [index|search|startup …] [--quick] [--json]`: measure, print, and fail above a gate."""

import json
import sys
from dataclasses import asdict

from benchmarks import index, search, startup

_ALL = {"startup": startup.figures, "search": search.figures, "index": index.figures}


def main() -> int:
    """Run the named benchmarks, or all; 1 when a figure is above its gate."""
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(_ALL)
    found = []
    for name in names:
        for figure in _ALL[name](quick="--quick" in sys.argv):
            found.append(figure)
            if "--json" not in sys.argv:
                gate = "" if figure.gate is None else f"gate {figure.gate:g}"
                mark = "ok  " if figure.kept else "OVER"
                print(
                    f"{mark} {figure.name}: {figure.value:.2f} {figure.unit}  {gate}  {figure.detail}",
                    flush=True,
                )
    if "--json" in sys.argv:
        print(json.dumps([asdict(figure) | {"kept": figure.kept} for figure in found], indent=2))
    return 0 if all(figure.kept for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
