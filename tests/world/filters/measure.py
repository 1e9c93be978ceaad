"""Precision and recall of both filters on one half of their tables."""

from collections.abc import Sequence
from typing import Final

import msgspec

from tests.world.filters.table import HELD_OUT, TUNING, Example, name_examples, secret_examples
from timeline.world.names import is_authority
from timeline.world.secrets import find_secret

SECRETS: Final = "secrets"
NAMES: Final = "authority-shaped names"


class Figures(msgspec.Struct, frozen=True):
    """What a filter did on a set of examples."""

    found: int
    missed: tuple[Example, ...]
    spared: int
    wronged: tuple[Example, ...]

    @property
    def precision(self) -> float:
        """The part of what was found that had to be found."""
        return self.found / (self.found + len(self.wronged))

    @property
    def recall(self) -> float:
        """The part of what had to be found that was."""
        return self.found / (self.found + len(self.missed))


def measure(filter_name: str, half: str) -> Figures:
    """The figures of one filter on one half of its table."""
    if filter_name == SECRETS:
        return _count([e for e in secret_examples() if e.half == half], find_in_text)
    return _count([e for e in name_examples() if e.half == half], is_authority)


def find_in_text(text: str) -> bool:
    """Whether the filter of secrets finds one."""
    return find_secret(text) is not None


def _count(examples: Sequence[Example], finds: object) -> Figures:
    assert callable(finds)
    said = [(example, bool(finds(example.text))) for example in examples]
    return Figures(
        found=sum(e.must_be_found and yes for e, yes in said),
        missed=tuple(e for e, yes in said if e.must_be_found and not yes),
        spared=sum(not e.must_be_found and not yes for e, yes in said),
        wronged=tuple(e for e, yes in said if not e.must_be_found and yes),
    )


def render() -> str:
    """The table of figures, as docs/filters.md has it: the held-out half, then the other."""
    lines = [
        "| filter | half | must be found | found | must pass | passed | precision | recall |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (SECRETS, NAMES):
        for half in (HELD_OUT, TUNING):
            f = measure(name, half)
            lines.append(
                f"| {name} | {half} | {f.found + len(f.missed)} | {f.found} | {f.spared + len(f.wronged)} "
                f"| {f.spared} | {f.precision:.3f} | {f.recall:.3f} |"
            )
    return "\n".join(lines)
