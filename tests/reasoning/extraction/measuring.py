"""How well the heuristics do on the tables: precision and recall, and every error of a half."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from tests.reasoning.extraction.table import Labelled
from timeline.reasoning.extraction import Unit, extract
from timeline.reasoning.intent import find_intent

SAID = ("passed", "failed", "skipped", "part", "total", "extent", "scope")


class Figures(msgspec.Struct, frozen=True):
    """Of one half: how many units were found, wanted, and right, and the sentences that were not right."""

    found: int
    wanted: int
    right: int
    errors: tuple[tuple[Labelled, str], ...]

    @property
    def precision(self) -> float:
        """The share of what was found that is right."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what was wanted that was found."""
        return self.right / self.wanted if self.wanted else 1.0


def spelled(unit: Unit) -> str:
    """A unit as the table spells it."""
    said = [f"{name}={value}" for name in SAID if (value := getattr(unit, name)) is not None]
    return ":".join([unit.kind.value, *([",".join(said)] if said else [])])


def spelled_claims(text: str) -> str:
    """All units of a text as the table spells them."""
    return "; ".join(spelled(unit) for unit in extract(text)) or "-"


def spelled_intent(text: str) -> str:
    """The intent of a text as the table spells it."""
    return find_intent(text).intent


def _items(label: str) -> list[str]:
    """The units of a label, each with its values in one order, so that the order of spelling says nothing."""
    found = [one.strip() for one in label.split(";") if one.strip() not in {"", "-"}]
    return [_ordered(one) for one in found]


def _ordered(unit: str) -> str:
    kind, _, values = unit.partition(":")
    return ":".join([kind, *([",".join(sorted(values.split(",")))] if values else [])])


def measure(
    sentences: Sequence[Labelled], answer: Callable[[str], str], only: Iterable[str] | None = None
) -> Figures:
    """Compare answers with labels, as bags of units: one that is right in all that it says counts."""
    wanted_kinds = None if only is None else set(only)
    found_all = wanted_all = right_all = 0
    errors = []
    for sentence in sentences:
        said = answer(sentence.text)
        found, wanted = Counter(_items(said)), Counter(_items(sentence.label))
        if wanted_kinds is not None:
            found, wanted = (
                Counter(
                    {unit: count for unit, count in bag.items() if unit.partition(":")[0] in wanted_kinds}
                )
                for bag in (found, wanted)
            )
        right = (found & wanted).total()
        found_all, wanted_all, right_all = (
            found_all + found.total(),
            wanted_all + wanted.total(),
            right_all + right,
        )
        if found != wanted:
            errors.append((sentence, said))
    return Figures(found_all, wanted_all, right_all, tuple(errors))
