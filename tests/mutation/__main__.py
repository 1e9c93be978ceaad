"""`make mutants`: change the code that decides, one small change at a time, and see which changes no test notices.

mutmut makes the changes in a copy of the checkout. A change that survives must be one of ``survivors``, with the
reason why no test can or should notice it; any other, or too many, fails the run.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.mutation.survivors import SURVIVORS
from tests.mutation.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
COPIED = ("timeline", "adapters", "sidecars", "tests", "docs", "pyproject.toml", "README.md", "Makefile")
KILLED_MIN = 0.9
Change = tuple[str, str, str]
"""The function, the line that was taken out and the one that was put in."""


def main(names: Sequence[str]) -> int:
    """Run the targets with these names, or all; returns the exit code."""
    chosen = [target for target in TARGETS if not names or target.name in names]
    if not chosen:
        sys.stderr.write(f"targets: {', '.join(target.name for target in TARGETS)}\n")
        return 2
    failed = False
    for target in chosen:
        with tempfile.TemporaryDirectory(prefix="timeline-mutants-") as folder:
            failed = not _run(target, Path(folder)) or failed
    return int(failed)


def _run(target: Target, folder: Path) -> bool:
    _copy(target, folder)
    with (folder / "mutmut.out").open("w", encoding="utf-8") as output:
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(os.cpu_count() or 1)]
        code = subprocess.run(
            command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    if code:
        sys.stderr.write((folder / "mutmut.out").read_text(encoding="utf-8")[-4000:])
        return False
    _mutmut(folder, "export-cicd-stats")
    found = json.loads((folder / "mutants" / "mutmut-cicd-stats.json").read_text(encoding="utf-8"))
    total, killed = found["total"], found["killed"] + found["timeout"] + found["segfault"]
    sys.stdout.write(f"{target.name:12} {killed} of {total} noticed ({killed / total:.1%})\n")
    unexplained = [change for change in _survivors(folder) if change not in SURVIVORS]
    for function, removed, added in unexplained:
        sys.stdout.write(f"  unexplained: {function}\n    - {removed}\n    + {added}\n")
    sys.stdout.flush()
    return killed / total >= KILLED_MIN and not unexplained


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
    return (
        "\n[tool.mutmut]\n"
        'source_paths = ["timeline"]\n'
        f"only_mutate = {json.dumps(target.modules)}\n"
        f"also_copy = {json.dumps([name for name in COPIED if name != 'timeline'])}\n"
        f"pytest_add_cli_args_test_selection = {json.dumps(target.tests)}\n"
        'pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist", "-x"]\n'
    )


def _survivors(folder: Path) -> Iterator[Change]:
    for line in _mutmut(folder, "results").splitlines():
        name, _, status = line.strip().partition(": ")
        if status in {"survived", "no tests", "suspicious"}:
            yield _change(name, _mutmut(folder, "show", name))


def _change(name: str, shown: str) -> Change:
    function = name.rpartition("__mutmut_")[0]
    body = [line for line in shown.splitlines() if not line.startswith(("---", "+++", "#", "@@"))]
    removed = " ".join(line[1:].strip() for line in body if line.startswith("-"))
    added = " ".join(line[1:].strip() for line in body if line.startswith("+"))
    return (function, removed, added)


def _mutmut(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
