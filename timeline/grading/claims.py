"""Claims as they are graded: each with the work that makes it, grouped by the question that it answers. Pure.

Only ``asserted`` and ``speculative`` claims compete as answers (G3); the others are kept whole and can be looked up,
and take part in nothing (G4). A source's credibility is made of ``asserted`` claims alone, and of nothing from a work
of fiction, not even of what its author is said to argue in it (G12, G25).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from sidecars.graded import Claim, ClaimsEntry, ClaimSource, Mutability, WorkClass
from timeline.grading.errors import ClaimIdError

ALWAYS: Final = 0
"""From when a claim without a beginning holds: no moment lies before it."""

FOR_EVER: Final = 253_402_300_800_000
"""Until when a claim without an end holds: the first millisecond of year 10000."""

GRADED_INTENTS: Final = frozenset({"asserted", "speculative"})

Question: TypeAlias = tuple[str, str]
"""Subject and key: what claims are about."""


class Claimed(NamedTuple):
    """One claim, and the work that makes it."""

    claim: Claim
    work: str
    work_class: WorkClass
    author: str

    @property
    def question(self) -> Question:
        """What it answers."""
        return (self.claim.subject, self.claim.key)

    @property
    def is_graded(self) -> bool:
        """Whether it competes as an answer (G3)."""
        return self.claim.intent in GRADED_INTENTS

    @property
    def counts(self) -> bool:
        """Whether it is part of anybody's credibility (G12): asserted, and not in a work of fiction."""
        return self.claim.intent == "asserted" and self.work_class != "fiction"

    @property
    def window(self) -> tuple[int, int]:
        """From when until before when it holds, in UTC milliseconds."""
        start, end = self.claim.valid_from, self.claim.valid_until
        return (ALWAYS if start is None else start, FOR_EVER if end is None else end)


def read_claims(entries: Iterable[ClaimsEntry]) -> tuple[Claimed, ...]:
    """Every claim once, by id: what is imported twice was said once.

    Raises:
        ClaimIdError: one id stands for two different claims.
    """
    found: dict[str, Claimed] = {}
    for entry in entries:
        for claim in entry.claims:
            new = Claimed(claim, entry.work, entry.work_class, entry.author)
            if found.setdefault(claim.id, new) != new:
                raise ClaimIdError("a claim's id must stand for one claim of one work")
    return tuple(found[name] for name in sorted(found))


def group_by_question(claims: Iterable[Claimed]) -> dict[Question, list[Claimed]]:
    """The claims of each question, in the order given."""
    grouped: dict[Question, list[Claimed]] = {}
    for one in claims:
        grouped.setdefault((one.claim.subject, one.claim.key), []).append(one)
    return grouped


def strictest_mutability(claims: Iterable[Claimed]) -> Mutability:
    """The strictest class that a claim which competes gives to its question (G20); ``stateful`` where none does.

    A novel, a rumour that is denied or a supposition hardens nothing.
    """
    given = {one.claim.mutability for one in claims if one.is_graded and one.work_class != "fiction"}
    if "immutable" in given:
        return "immutable"
    return "slow_changing" if "slow_changing" in given else "stateful"


def sources_of(claims: Iterable[Claimed]) -> list[tuple[Claimed, ClaimSource]]:
    """Each claim with each of its sources."""
    return [(one, source) for one in claims for source in one.claim.sources]
