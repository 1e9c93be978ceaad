"""The page of findings names every code that the checks can give, with its level, and no other."""

import ast
import re
from pathlib import Path

import pytest

from timeline.doctor.findings import Finding, Level, worst_of

FOLDER = Path(__file__).resolve().parents[2]
FROM_ERRORS = {"code", "refused.reason"}
"""Codes that are not written there: they come from errors, and are on their page."""


def given() -> set[tuple[str, str]]:
    """Give code and level of every finding that is written in the checks."""
    found = set()
    for name in ("checks", "host_checks"):
        tree = ast.parse((FOLDER / "timeline" / "doctor" / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                level, code = (ast.unparse(argument) for argument in node.args[:2])
                if code in FROM_ERRORS:
                    continue
                text = ast.literal_eval(code.replace("f'", "'").replace('f"', '"'))
                whats = ("hook", "server") if "{what}" in text else ("",)
                found |= {
                    (text.replace("{what}", what), level.removeprefix("Level.").lower()) for what in whats
                }
    return found


def test_every_code_has_one_row() -> None:
    """A new finding is explained, and one that is gone is not."""
    page = (FOLDER / "docs" / "doctor.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", page, re.MULTILINE)
    assert len(rows) == len(set(rows))
    # The daemon's own reasons come from errors; two of them are explained here too.
    listed = set(rows) - {("daemon-answer-invalid", "error")}
    assert listed == given()


@pytest.mark.parametrize("level", Level)
def test_the_worst_level_decides(level: Level) -> None:
    """Whatever order the findings have."""
    found = [
        Finding(other, "x", "x", "x")
        for other in Level
        if list(Level).index(other) <= list(Level).index(level)
    ]
    assert worst_of(found) is worst_of(reversed(found)) is level
    assert worst_of([]) is Level.FINE
