"""How safe and how useful a release rule is, counted as the paper counts it (P44). Pure.

Of the opportunities C, U are those that must not be asserted as they are, R those for which something is released, and
P those whose content passes as it is. Latency is not counted here; ``benchmarks`` measures it.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Disposition(StrEnum):
    """What became of one unit: released as it is, released with a qualification or as a status, or held back."""

    PASSED = "passed"
    QUALIFIED = "qualified"
    BLOCKED = "blocked"


class Outcome(msgspec.Struct, frozen=True):
    """One opportunity, and what a rule did with it."""

    unsafe: bool
    disposition: Disposition


class Ratio(msgspec.Struct, frozen=True):
    """A count out of a count; of nothing it is zero."""

    part: int
    whole: int

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """As the paper prints it, such as ``18/19``."""
        return f"{self.part}/{self.whole}"

    @property
    def tenths_of_percent(self) -> int:
        """Rounded half up, since reports and records hold no floats."""
        return (2000 * self.part + self.whole) // (2 * self.whole) if self.whole else 0


class Metrics(msgspec.Struct, frozen=True):
    """The figures of one rule; a ratio of nothing is ``None``, but for contamination, which is then zero."""

    unsupported_release: Ratio | None
    contamination: Ratio
    coverage: Ratio | None
    precision: Ratio | None
    recall: Ratio | None
    blocked: int
    qualified: int
    passed: int


def measure(outcomes: Sequence[Outcome]) -> Metrics:
    """The figures over some opportunities, in any order.

    UOR = |U ∩ P| / |U|; RC = |U ∩ P| / |R|; coverage = released controls / controls; precision = unsafe ones among
    those not passed; recall = not passed among the unsafe.
    """
    counts = {
        (unsafe, disposition): sum(
            1 for one in outcomes if (one.unsafe, one.disposition) == (unsafe, disposition)
        )
        for unsafe in (True, False)
        for disposition in Disposition
    }
    total = {
        disposition: counts[True, disposition] + counts[False, disposition] for disposition in Disposition
    }
    unsafe = sum(counts[True, disposition] for disposition in Disposition)
    controls = len(outcomes) - unsafe
    escaped = counts[True, Disposition.PASSED]
    intervened = total[Disposition.BLOCKED] + total[Disposition.QUALIFIED]
    return Metrics(
        unsupported_release=_ratio(escaped, unsafe),
        contamination=Ratio(escaped, total[Disposition.PASSED] + total[Disposition.QUALIFIED]),
        coverage=_ratio(controls - counts[False, Disposition.BLOCKED], controls),
        precision=_ratio(unsafe - escaped, intervened),
        recall=_ratio(unsafe - escaped, unsafe),
        blocked=total[Disposition.BLOCKED],
        qualified=total[Disposition.QUALIFIED],
        passed=total[Disposition.PASSED],
    )


def _ratio(part: int, whole: int) -> Ratio | None:
    return Ratio(part, whole) if whole else None
