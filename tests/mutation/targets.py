"""What is changed, and which tests have to notice."""

from typing import NamedTuple


class Target(NamedTuple):
    """Modules that decide one thing together, and tests of a few seconds that are about them."""

    name: str
    modules: list[str]
    tests: list[str]


TARGETS = (
    Target(
        "supersession",
        ["timeline/world/supersession.py", "timeline/world/standing.py"],
        ["tests/world/views"],
    ),
    Target(
        "resolver",
        [
            f"timeline/reasoning/{name}.py"
            for name in (
                "admission",
                "evaluation",
                "lifecycle",
                "promotion",
                "resolution",
                "roots",
                "witness",
            )
        ],
        ["tests/reasoning/core", "tests/reasoning/test_rules.py"],
    ),
    Target(
        "mediator",
        [
            f"timeline/reasoning/{name}.py"
            for name in ("mediation", "metrics", "rendering", "trace", "view", "world")
        ],
        ["tests/reasoning/mediation"],
    ),
    Target(
        "grading",
        [
            f"timeline/grading/{name}.py"
            for name in (
                "anomalies",
                "assessment",
                "credibility",
                "current",
                "distance",
                "grade",
                "independence",
                "recompute",
                "verdicts",
                "work",
            )
        ],
        ["tests/grading"],
    ),
)
