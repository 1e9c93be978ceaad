"""A whole `timeline search` against a Python that only imports click."""

import os
import shutil
import statistics
import sys
from pathlib import Path

from benchmarks.measure import Figure, alternate, ratio, run
from benchmarks.worlds import HERE

_ROUNDS = 31


def figures(*, quick: bool) -> list[Figure]:
    """The ratio of the issue, on the state that the demonstration leaves behind."""
    folder = HERE / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    HERE.mkdir(exist_ok=True)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("TIMELINE_", "PYTHON"))
    }
    program = str(Path(sys.executable).with_name("timeline"))
    run([program, "demo", "--keep", str(folder)], environment=environment)
    for name in ("state", "trust", "config", "runtime"):
        environment[f"TIMELINE_{name.upper()}_DIR"] = str(folder / name)
    search = [program, "search", "pytest", "passed", "--root", str(folder / "home" / "project")]
    click = [sys.executable, "-c", "import click"]
    ours, theirs = alternate(
        7 if quick else _ROUNDS,
        lambda: run(search, environment=environment).wall,
        lambda: run(click, environment=environment).wall,
    )
    detail = f"{1000 * statistics.median(ours):.0f} ms against {1000 * statistics.median(theirs):.0f} ms"
    return [Figure("timeline search / python -c 'import click'", ratio(ours, theirs), "x", 2.5, detail)]
