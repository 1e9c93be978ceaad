"""`python -m benchmarks [name …] [--quick] [--json]`: measure, print, fail above a gate."""

import json
import sys
from dataclasses import asdict

from benchmarks import (
    adapters,
    asking,
    commit,
    daemon,
    extraction,
    follow,
    grading,
    group,
    hook,
    index,
    log,
    recheck,
    search,
    startup,
    world,
)
from benchmarks.measure import Figure

_ALL = {
    "startup": startup.figures,
    "hook": hook.figures,
    "recheck": recheck.figures,
    "search": search.figures,
    "adapters": adapters.figures,
    "index": index.figures,
    "follow": follow.figures,
    "commit": commit.figures,
    "group": group.figures,
    "daemon": daemon.figures,
    "log": log.figures,
    "world": world.figures,
    "asking": asking.figures,
    "grading": grading.figures,
    "extraction": extraction.figures,
}
_OPTIONS = {"--quick", "--json"}


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all; 1 when a figure is above its gate, 2 for a name that is none."""
    options = {argument for argument in arguments if argument.startswith("-")}
    names = [argument for argument in arguments if argument not in options] or list(_ALL)
    if unknown := sorted({*options - _OPTIONS, *set(names) - set(_ALL)}):
        print(f"benchmarks: error: unknown: {', '.join(unknown)}; names: {', '.join(_ALL)}", file=sys.stderr)
        return 2
    found: list[Figure] = []
    for name in names:
        for figure in _ALL[name](quick="--quick" in options):
            found.append(figure)
            print(_row(figure), file=sys.stderr if "--json" in options else sys.stdout, flush=True)
    if "--json" in options:
        print(json.dumps([asdict(figure) | {"kept": figure.kept} for figure in found], indent=2))
    return 0 if all(figure.kept for figure in found) else 1


def _row(figure: Figure) -> str:
    gate = "" if figure.gate is None else f"<= {figure.gate:g}"
    mark = "ok" if figure.kept else "OVER"
    if figure.value is None:
        return f"{'--':4} {figure.name:58} {'':>9} {'':9} {gate:8} {figure.detail}"
    return f"{mark:4} {figure.name:58} {figure.value:9.2f} {figure.unit:9} {gate:8} {figure.detail}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
