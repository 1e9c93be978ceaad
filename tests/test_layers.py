"""The layers hold, and the rule that holds them notices what it should."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("timeline", "adapters", "sidecars")
WORLD_APART = "Nothing that decides about trust, permits or consent asks the world model"
DECISIONS = "Only the view and the mediator know decisions"
P4 = pytest.mark.requirement("P4", "N15")
W63 = pytest.mark.requirement("W63")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the packages of a folder."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
            "--no-cache",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Give a copy of the packages with their contracts, to be broken."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_every_contract_is_kept() -> None:
    """No module imports what its layer may not know, and every module has a place."""
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout
    assert re.search(r"Contracts: [1-9][0-9]* kept, 0 broken", result.stdout)


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("adapters/record.py", "import sidecars.event", "adapters and sidecars do not know each other"),
        ("sidecars/digest.py", "import adapters.record", "adapters and sidecars do not know each other"),
        ("sidecars/merkle.py", "import timeline.errors", "adapters and sidecars do not know timeline"),
        ("adapters/decode.py", "import socket", "adapters do no I/O and hold no keys"),
        ("adapters/lines.py", "import nacl.signing", "adapters do no I/O and hold no keys"),
        ("sidecars/trust.py", "import time", "What sidecars decide does no I/O"),
        ("sidecars/errors.py", "import sidecars.trust", "The layers of sidecars"),
        ("timeline/limits.py", "import timeline.store", "The layers of timeline"),
        ("timeline/source.py", "import adapters.lines", "The lower half of timeline does not know adapters"),
        pytest.param("timeline/guard/permit.py", "import timeline.world.scope", WORLD_APART, marks=W63),
        pytest.param("timeline/anchors/rules.py", "import timeline.world.scope", WORLD_APART, marks=W63),
        pytest.param(
            "timeline/keystore.py", "import timeline.assertions, timeline.world", WORLD_APART, marks=W63
        ),
        (
            "timeline/world/context.py",
            "import timeline.store",
            "Of the world model only the ledger reads and writes",
        ),
        ("timeline/world/secrets.py", "import os", "Of the world model only the ledger reads and writes"),
        pytest.param(
            "timeline/reasoning/rendering.py",
            "import timeline.reasoning.mediation",
            "Rendering does not know the resolver",
            marks=pytest.mark.requirement("P29", "P36"),
        ),
        pytest.param("timeline/answers.py", "import timeline.reasoning.resolution", DECISIONS, marks=P4),
        pytest.param("timeline/reasoning/world.py", "import timeline.reasoning.witness", DECISIONS, marks=P4),
    ],
)
def test_a_forbidden_import_breaks_its_contract(copy: Path, file: str, line: str, contract: str) -> None:
    """One line too many is found, by the contract that names the reason."""
    place = copy / file
    place.write_text(place.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1, result.stdout
    assert re.search(re.escape(contract) + r".* BROKEN", result.stdout)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_new_module_needs_a_place(copy: Path, package: str) -> None:
    """A module that is in no layer fails, until somebody decides what it may know."""
    (copy / package / "newcomer.py").write_text('"""New."""\n', encoding="utf-8")
    result = lint(copy)
    assert result.returncode == 1
    assert "newcomer" in result.stdout
