"""The manifest of requirements is complete, and what it calls held is shown by a test."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.requirements import DEFERRED, DIVERGES, HELD, REQUIREMENTS, Status

TESTS = Path(__file__).resolve().parent
IDS = frozenset(item.id for item in REQUIREMENTS)

BOLD = re.compile(r"^- \*\*([A-Z][0-9]+)\*\* ", re.MULTILINE)
HOLE = re.compile(r"^- \(([a-z])\) ", re.MULTILINE)
LEFT_OUT = re.compile(r"\b(N[0-9]+) [A-Za-z]")


def stated(text: str) -> list[str]:
    """Give the ids that the requirements state: bold items, lettered holes, and the N list in prose."""
    left_out = next(paragraph for paragraph in text.splitlines() if paragraph.startswith("N1 "))
    holes = [f"H-{letter}" for letter in HOLE.findall(text)]
    return BOLD.findall(text) + holes + LEFT_OUT.findall(left_out)


def marker_ids(node: ast.AST) -> list[str]:
    """Give the ids of one `pytest.mark.requirement(...)` call; nothing for any other node."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Attribute(value=ast.Name("pytest"), attr="mark"), attr="requirement"
            ),
            args=arguments,
            keywords=keywords,
        ):
            values = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
            ids = [value for value in values if isinstance(value, str)]
            if keywords or not ids or len(ids) != len(arguments):
                raise AssertionError(
                    f"requirement marker on line {node.lineno}: literal ids only, at least one"
                )
            return ids
    return []


def named_by_tests() -> dict[str, list[str]]:
    """Give for each id the test files that name it in a marker."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in marker_ids(node):
                found.setdefault(name, []).append(str(path.relative_to(TESTS)))
    return found


def test_manifest_names_each_item_once() -> None:
    """No id stands twice in the manifest, and no id has two statuses."""
    twice = [name for name, count in Counter(item.id for item in REQUIREMENTS).items() if count > 1]
    assert twice == []
    statuses = Counter([*HELD, *DIVERGES, *DEFERRED])
    assert [name for name, count in statuses.items() if count > 1] == []


def test_statuses_name_only_items_of_the_manifest() -> None:
    """A misspelt id in HELD, DIVERGES or DEFERRED is noticed instead of being nothing."""
    assert (HELD | DIVERGES.keys() | DEFERRED.keys()) - IDS == frozenset()


def test_manifest_is_what_the_requirements_state(shared: Path) -> None:
    """The manifest has every stated item and no other, in the same number."""
    ids = stated((shared / "REQUIREMENTS.md").read_text(encoding="utf-8"))
    assert len(ids) == len(set(ids))
    assert set(ids) - IDS == set()
    assert set(IDS) - set(ids) == set()


def test_every_item_called_held_is_named_by_a_test() -> None:
    """An item is not called held, or diverging, without a test that would break with it."""
    shown = named_by_tests()
    claimed = [item.id for item in REQUIREMENTS if item.status in (Status.HELD, Status.DIVERGES)]
    assert [name for name in claimed if name not in shown] == []


def test_tests_name_only_items_that_exist() -> None:
    """A marker with an unknown id proves nothing and is refused."""
    assert {name: files for name, files in named_by_tests().items() if name not in IDS} == {}


def test_no_deferred_item_is_claimed_by_a_test() -> None:
    """An item that cannot be shown yet is not claimed by a marker; move it out of DEFERRED first."""
    assert {name: files for name, files in named_by_tests().items() if name in DEFERRED} == {}


@pytest.mark.parametrize(
    "source",
    ["@pytest.mark.requirement()\ndef test(): ...", "@pytest.mark.requirement(NAME)\ndef test(): ..."],
    ids=["no id", "an id that is computed"],
)
def test_marker_without_literal_ids_is_refused(source: str) -> None:
    """The scan reads source, so it refuses a marker that it cannot read."""
    with pytest.raises(AssertionError, match="literal ids"):
        [marker_ids(node) for node in ast.walk(ast.parse(source))]
