"""What the package stands on: nothing of the application, no clock, no randomness, and a light import."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import sidecars

FOLDER = Path(sidecars.__file__ or "").parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
ALLOWED = {"msgspec", "nacl", "rfc8785", "sidecars"}
EFFECTS = {
    "random",
    "secrets",
    "time",
    "datetime",
    "socket",
    "sqlite3",
    "subprocess",
    "logging",
    "threading",
    "uuid",
}
FILES = {"os", "pathlib", "io", "tempfile", "shutil", "stat", "errno"}


def imported(path: Path) -> set[str]:
    """Give the top names of everything a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_no_application_no_clock_and_no_files(module: str) -> None:
    """A third party can use the package alone; only ``store`` and the program touch files."""
    names = imported(FOLDER / f"{module}.py")
    assert names - sys.stdlib_module_names - ALLOWED == set()
    assert names & EFFECTS == set()
    if module not in ("store", "__main__"):
        assert names & FILES == set()


def loaded_by(statement: str) -> set[str]:
    """Give the modules that a fresh interpreter holds after a statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=FOLDER.parent,
    )
    return set(json.loads(run.stdout))


def test_importing_everything_loads_nothing_heavy() -> None:
    """Signature and canonicalisation libraries are loaded by the first use, and no asyncio, ssl or logging."""
    before = loaded_by("pass")
    modules = ", ".join(f"sidecars.{module}" for module in MODULES)
    after = loaded_by(f"import {modules}") - before
    for heavy in ("nacl", "rfc8785", "cffi", "asyncio", "ssl", "logging", "socket", "sqlite3"):
        assert heavy not in after
