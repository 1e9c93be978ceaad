"""`make mutants`: change the code that decides, one small change at a time, and see which changes no test notices.

mutmut makes the changes in a copy of the checkout. A change that survives must be one of ``survivors``, with the
reason why no test can or should notice it; any other, too many, or one listed that is noticed by now, fails the run.
Progress goes to the error output, one line for each target and each fault to the output.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutation.survivors import SURVIVORS, Change
from tests.mutation.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
COPIED = ("timeline", "adapters", "sidecars", "tests", "docs", "pyproject.toml", "README.md", "Makefile")
KILLED_MIN = 0.9
NOTICED = frozenset({"killed", "timeout", "segfault"})


def main(names: Sequence[str]) -> int:
    """Run the targets with these names, or all; returns the exit code."""
    targets = {target.name: target for target in TARGETS}
    if not set(names) <= set(targets):
        for target in TARGETS:
            sys.stdout.write(f"{target.name}: {' '.join([*target.modules, *target.tests])}\n")
        return int(list(names) != ["--list"]) * 2
    failed = [name for name in names or targets if not _run(targets[name])]
    return int(bool(failed))


def _run(target: Target) -> bool:
    with tempfile.TemporaryDirectory(prefix="timeline-mutants-") as name:
        folder = Path(name)
        _copy(target, folder)
        started = time.monotonic()
        if not _mutate(folder):
            return False
        seconds = time.monotonic() - started
        statuses = _statuses(folder)
        left = [name for name, status in statuses.items() if status not in NOTICED]
        survived = {_change(name, _mutmut(folder, "show", name)) for name in left}
        return _tell(target, statuses, seconds, survived)


def _mutate(folder: Path) -> bool:
    """Run mutmut, with its spinner on our error output; false if it could not begin."""
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(os.cpu_count() or 1)]
    # Examples and the order of sets are fixed: the list of survivors has to be the same in every run.
    fixed = {"HYPOTHESIS_PROFILE": "ci", "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
    environment = {**os.environ, **fixed}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=sys.stderr) as process:
        return process.wait() == 0


def _tell(target: Target, statuses: Mapping[str, str], seconds: float, survived: set[Change]) -> bool:
    counts = Counter(statuses.values())
    killed = sum(counts[status] for status in NOTICED)
    share = killed / len(statuses)
    faults = {"not listed": survived - set(SURVIVORS), "noticed by now": _listed(target) - survived}
    sys.stdout.write(
        f"{target.name}: {killed} of {len(statuses)} noticed ({share:.1%}), {counts['timeout']} of them by not"
        f" ending; {len(survived)} different survivors; {seconds:.0f} s\n"
    )
    for fault, changes in faults.items():
        for function, removed, added in sorted(changes):
            sys.stdout.write(f"  {fault}: {function}\n    - {removed}\n    + {added}\n")
    sys.stdout.flush()
    return share >= KILLED_MIN and not any(faults.values())


def _listed(target: Target) -> set[Change]:
    modules = tuple(module.removesuffix(".py").replace("/", ".") + "." for module in target.modules)
    return {change for change in SURVIVORS if change[0].startswith(modules)}


def _copy(target: Target, folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", ".mypy_cache")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy2(source, folder / name)
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(_configuration(target))


def _configuration(target: Target) -> str:
    # In the order of the files: a shuffled one would give Hypothesis and the survivors another one in every run.
    arguments = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", "-x"]
    arguments += [f"--deselect={test}" for test in target.slow]
    return (
        "\n[tool.mutmut]\n"
        'source_paths = ["timeline"]\n'
        f"only_mutate = {json.dumps(target.modules)}\n"
        f"also_copy = {json.dumps([name for name in COPIED if name != 'timeline'])}\n"
        f"pytest_add_cli_args_test_selection = {json.dumps(target.tests)}\n"
        f"pytest_add_cli_args = {json.dumps(arguments)}\n"
    )


def _statuses(folder: Path) -> dict[str, str]:
    """What became of each change, by mutmut's name for it."""
    lines = _mutmut(folder, "results", "--all", "true").splitlines()
    pairs = (line.strip().partition(": ") for line in lines)
    return {name: status for name, _, status in pairs}


def _change(name: str, shown: str) -> Change:
    module, _, function = name.rpartition("__mutmut_")[0].rpartition(".")
    body = [line for line in shown.splitlines() if not line.startswith(("---", "+++", "#", "@@"))]
    removed = " ".join(line[1:].strip() for line in body if line.startswith("-"))
    added = " ".join(line[1:].strip() for line in body if line.startswith("+"))
    # mutmut marks a function by x_ and separates a class from its method by a letter of its own.
    return (f"{module}.{function.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}", removed, added)


def _mutmut(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
