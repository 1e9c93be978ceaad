import ast
from pathlib import Path

import pytest

from tests.mutation.survivors import SURVIVORS, Change
from tests.mutation.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
MODULES = {
    module.removesuffix(".py").replace("/", "."): module for target in TARGETS for module in target.modules
}


def lines_of(function: str) -> list[str]:
    """Give the lines of a function of a target's module, without their indentation; none if it is not there."""
    module = next(name for name in MODULES if function.startswith(f"{name}."))
    source = (ROOT / MODULES[module]).read_text(encoding="utf-8")
    node: ast.AST | None = ast.parse(source)
    for name in function.removeprefix(f"{module}.").split("."):
        node = next(
            (
                child
                for child in ast.iter_child_nodes(node or ast.Pass())
                if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name
            ),
            None,
        )
    return [line.strip() for line in (ast.get_source_segment(source, node) or "").split("\n")] if node else []


def stands(removed: str, lines: list[str]) -> bool:
    """Say whether these lines, joined by blanks, are some whole lines of the function."""
    return any(
        removed == " ".join(lines[first : last + 1])
        for first in range(len(lines))
        for last in range(first, min(first + 12, len(lines)))
    )


@pytest.mark.parametrize("change", SURVIVORS, ids=lambda change: f"{change[0]}: {change[2]}")
def test_a_listed_change_is_one_of_a_line_that_still_stands(change: Change) -> None:
    """Who rewrites the line looks again whether tests notice."""
    function, removed, added = change
    assert removed != added
    assert stands(removed, lines_of(function))


@pytest.mark.parametrize("reason", sorted(set(SURVIVORS.values())))
def test_a_reason_is_a_sentence(reason: str) -> None:
    """It says why no test notices, and not that it is so."""
    assert len(reason.split()) >= 8
    assert reason.endswith(".")


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_what_a_target_names_exists(target: Target) -> None:
    """Its modules, its tests and those that it leaves out; and no module is in two targets."""
    assert all((ROOT / module).is_file() for module in target.modules)
    assert all((ROOT / test).exists() for test in target.tests)
    for test in target.slow:
        path, _, function = test.partition("::")
        assert test.startswith(tuple(target.tests))
        assert (ROOT / path).exists()
        assert not function or f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")
    assert len(MODULES) == sum(len(each.modules) for each in TARGETS)


def test_a_line_that_was_rewritten_is_missed() -> None:
    """The check can fail."""
    function = "timeline.grading.fixpoint._mean"
    assert stands("return math.fsum(numbers) / len(numbers)", lines_of(function))
    assert not stands("return math.fsum(numbers)", lines_of(function))
    assert lines_of("timeline.grading.fixpoint.gone") == []
    assert lines_of("timeline.grading.anomalies.Anomalies._rings")[-1] == "}"
