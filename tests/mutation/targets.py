"""What is changed, and which tests have to notice."""

from typing import NamedTuple


class Target(NamedTuple):
    """Modules that decide one thing together, and tests of a few seconds that are about them.

    ``slow`` are those among them that take longer than all others together, or are about something else; they are left
    out.
    """

    name: str
    modules: list[str]
    tests: list[str]
    slow: tuple[str, ...] = ()


def _modules(package: str, names: str) -> list[str]:
    return [f"timeline/{package}/{name}.py" for name in names.split()]


TARGETS = (
    Target("supersession", _modules("world", "supersession standing"), ["tests/world/views"]),
    Target(
        "resolver",
        _modules(
            "reasoning",
            "admission evaluation graph lifecycle policy promotion proposition resolution roots witness",
        ),
        ["tests/reasoning/core", "tests/reasoning/test_rules.py"],
    ),
    Target(
        "mediator",
        _modules("reasoning", "mediation metrics rendering trace view world"),
        ["tests/reasoning/mediation"],
        slow=("tests/reasoning/mediation/test_world.py::test_what_a_reader_may_not_see_changes_no_byte",),
    ),
    Target(
        "grading",
        _modules(
            "grading",
            "anomalies assessment backfill claims credibility current distance fixpoint grade independence"
            " recompute verdicts work",
        ),
        ["tests/grading"],
        slow=(
            "tests/grading/commands",
            "tests/grading/test_truth.py",
            "tests/grading/test_properties.py::test_another_process_computes_the_same_bytes",
        ),
    ),
)
