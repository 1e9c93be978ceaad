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
)
