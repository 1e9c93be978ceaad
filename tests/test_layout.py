"""The folders that the user fixed are there, and hold what their names say."""

import tomllib
from pathlib import Path

import pytest


@pytest.mark.requirement("D2")
def test_the_fixed_folders_stand_at_the_top_level(root: Path) -> None:
    """One distribution, three packages, tests, and the transcripts that the project makes itself."""
    for name in ("timeline", "adapters", "sidecars"):
        assert (root / name / "__init__.py").is_file(), name
    assert (root / "tests" / "conftest.py").is_file()
    assert sorted((root / "fixtures" / "transcripts").rglob("*.jsonl"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "transcript-timeline"
    assert project["scripts"]["timeline"].startswith("timeline.")


@pytest.mark.requirement("D1")
def test_the_fixed_libraries_are_used(root: Path) -> None:
    """Each library that was asked for is declared, and imported by the code or the tests that it is for."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = " ".join([*project["dependencies"], *project["optional-dependencies"]["dev"]])
    homes = {
        "watchdog": "timeline",
        "nacl": "sidecars",
        "sqlite_utils": "timeline",
        "rapidfuzz": "timeline",
        "click": "timeline",
        "freezegun": "tests",
    }
    for module, home in homes.items():
        distribution = {"nacl": "pynacl", "sqlite_utils": "sqlite-utils"}.get(module, module)
        assert distribution in declared
        sources = [
            path.read_text(encoding="utf-8")
            for path in (root / home).rglob("*.py")
            if path.name != "test_layout.py"
        ]
        assert any(f"import {module}" in text or f"from {module}" in text for text in sources), module
