"""What two claims of one question come to: by the ways in which they could support something, and what is in the way.

The rule reads: a value is supported by one claim alone that has roots enough, or by both together if they say the same
and have enough between them. Each such *way* may be hindered: something it needs is gone, or it holds at another time.
The way with the least in its way decides; see ``HINDRANCES``, best first. The two claims are of a policy that asks for
two roots, of the same head, and collapse is on.

- ``relation``: ``equal`` (the same value), ``different`` (another value), ``unrelated`` (another predicate), or
  ``inscribed`` (another predicate, and somebody has declared that the two contradict each other).
- ``shared``: the first alternative of both needs the same root (and the same thing that is gone, if it needs one), and
  so does the second. Otherwise they have nothing in common.
- The first claim was observed before the second.

What one claim is like, is read as in ``table``.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

RELATIONS: Final = ("equal", "different", "unrelated", "inscribed")


class Claim(NamedTuple):
    """One of the two. ``place``: ``current``, ``superseded``, ``revoked``, or ``absent`` (not in the graph)."""

    role: str
    place: str
    seen: bool
    time: str
    roots: int
    gone: bool


class Pair(NamedTuple):
    """Two claims, and what they have to do with each other. The question is the first one's."""

    first: Claim
    second: Claim
    relation: str
    shared: bool


class Outcome(NamedTuple):
    """What has to come of a pair; ``support`` are the numbers (1, 2) of the claims that are members of S.

    ``dispositions`` are those of a candidate that says what the first, or the second, claim says.
    """

    status: str
    flags: frozenset[str]
    support: frozenset[int]
    empty_witness: bool
    dispositions: tuple[str, str]
    view: str


SUPPORTING: Final = frozenset(
    {
        "observed-event",
        "attributed-report",
        "deterministic-derivation",
        "memory-interpretation",
        "recorded-belief",
    }
)
"""The roles that can support anything at all."""

HINDRANCES: Final = {
    frozenset[str](): ("Supported", ""),
    frozenset({"gone"}): ("Unavailable", ""),
    frozenset({"untimely"}): ("Unknown", "Stale"),
    frozenset({"gone", "untimely"}): ("Unavailable", "Stale"),
}
"""What may be in the way of the best way, best first, and the status and flag that follow."""

DISPOSITIONS: Final = {
    # (is in support, is contradicted by what is in support)
    (True, False): "passed",
    (True, True): "qualified",  # Only the status is told: that records disagree.
    (False, False): "blocked",
    (False, True): "blocked",
}

VIEWS: Final = {
    # Status and flags without Withheld, which never shows.
    ("Supported", ""): "supported",
    ("Supported", "Conflicted"): "conflicted",
    ("Unknown", "Stale"): "stale",
    ("Unknown", ""): "none",
    ("Unavailable", ""): "none",
    ("Unavailable", "Stale"): "none",
}


class _Way(NamedTuple):
    """The claims that would do, and what is in the way of them."""

    claims: tuple[int, ...]
    hindrances: frozenset[str]


def _reading(claim: Claim) -> str:
    """What a claim is to this reader: nothing, hidden, mute, or a witness."""
    if claim.place != "current":
        return "nothing"
    if not claim.seen:
        return "hidden"
    return "witness" if claim.role in SUPPORTING else "mute"


def _sources(claim: Claim) -> frozenset[int]:
    """What it rests on, counted: its roots from one on; a thing that is gone, and nothing else, is number zero."""
    if claim.roots:
        return frozenset(range(1, claim.roots + 1))
    return frozenset({0}) if claim.gone else frozenset()


def _hindrances(claim: Claim) -> frozenset[str]:
    gone = {"gone"} if claim.gone else set()
    untimely = set() if claim.time == "within" else {"untimely"}
    return frozenset(gone | untimely)


def _alone(number: int, claim: Claim) -> list[_Way]:
    if _reading(claim) == "witness" and len(_sources(claim)) > 1:
        return [_Way((number,), _hindrances(claim))]
    return []


def _together(pair: Pair) -> list[_Way]:
    first, second = pair.first, pair.second
    if _reading(first) != "witness" or _reading(second) != "witness":
        return []
    mine, yours = _sources(first), _sources(second)
    independent = len(mine | yours) if pair.shared else len(mine) + len(yours)
    return [_Way((1, 2), _hindrances(first) | _hindrances(second))] if independent > 1 else []


def _best(ways: list[_Way]) -> _Way | None:
    """The least hindered; of those the one with the fewest claims; of those the one observed first."""
    ranks = list(HINDRANCES)
    return min(ways, key=lambda way: (ranks.index(way.hindrances), len(way.claims), way.claims), default=None)


def expected(pair: Pair) -> Outcome:
    """What has to come of ``pair``."""
    first, second = _alone(1, pair.first), _alone(2, pair.second)
    # One list of ways for each value that is asked about, and the claims that answer the question.
    by_value, asked = {
        "equal": ([first + second + _together(pair)], (pair.first, pair.second)),
        "different": ([first, second], (pair.first, pair.second)),
        "unrelated": ([first], (pair.first,)),
        "inscribed": ([first], (pair.first,)),
    }[pair.relation]
    best = [way for way in map(_best, by_value) if way is not None]
    supporting = [way for way in best if not way.hindrances]
    rivals = (
        [way for way in second if not way.hindrances] if pair.relation == "inscribed" and supporting else []
    )
    conflicted = len(supporting) + len(rivals) > 1
    winner = _best(best)
    status, flag = ("Unknown", "") if winner is None else HINDRANCES[winner.hindrances]
    flag = "Conflicted" if conflicted else flag
    readings = [_reading(claim) for claim in asked]
    support = frozenset(number for way in supporting + rivals for number in way.claims)
    # A candidate is compared by what it says: if both claims say the same, one of them in S is enough for it.
    said = [{1, 2}, {1, 2}] if pair.relation == "equal" else [{1}, {2}]
    return Outcome(
        status,
        frozenset(({flag} if flag else set()) | ({"Withheld"} if "hidden" in readings else set())),
        support,
        set(readings) == {"nothing"},
        (
            DISPOSITIONS[bool(said[0] & support), conflicted],
            DISPOSITIONS[bool(said[1] & support), conflicted],
        ),
        VIEWS[status, flag],
    )


BOTH: Final = (True, False)
RETIRED: Final = ("superseded", "revoked")

CLAIMS: Final = (
    *(
        Claim("observed-event", "current", seen, time, roots, gone)
        for seen, time, roots, gone in product(BOTH, ("within", "after"), (0, 1, 2), BOTH)
    ),
    *(
        Claim("attributed-report", place, seen, time, roots, gone)
        for place, seen, time, roots, gone in product(RETIRED, BOTH, ("within", "before"), (0, 2), BOTH)
    ),
    *(
        Claim("memory-interpretation", "current", seen, time, 2, gone)
        for seen, time, gone in product(BOTH, ("within", "before"), BOTH)
    ),
    *(
        Claim("deterministic-derivation", place, seen, "within", 2, False)
        for place, seen in product(RETIRED, BOTH)
    ),
    *(
        Claim("hypothesis", "current", seen, "within", roots, gone)
        for seen, roots, gone in product(BOTH, (0, 2), BOTH)
    ),
    *(Claim("model-prior", place, seen, "within", 2, False) for place, seen in product(RETIRED, BOTH)),
    Claim("recorded-belief", "current", True, "within", 1, False),
    Claim("probabilistic-interpretation", "current", True, "after", 1, False),
    Claim("unverified-retrieval", "current", True, "within", 1, False),
    Claim("attributed-report", "absent", True, "within", 2, False),
)
"""The reduced set of single claims that are put against each other."""


def all_pairs() -> Iterator[Pair]:
    """Every ordered pair of the reduced set, in every relation; roots are shared only where that could matter."""
    for first, second, relation in product(CLAIMS, CLAIMS, RELATIONS):
        for shared in BOTH if relation in {"equal", "different"} else (False,):
            yield Pair(first, second, relation, shared)
