"""The truth table of one claim alone: 9 roles, 3 times, 3 numbers of roots and 2^9 flags are 41,472 states.

How a state is read, so that anybody can build it:

- The claim answers the question that is asked, has the role, and nothing else in the graph is relevant.
- ``roots``: with n roots it has n alternatives, each of one attributed report of its own with a good origin. With none
  it is a root itself, of an origin that proves nothing.
- ``time``: the moment of the question lies before the claim's own interval, within it, or after it.
- ``admitted``: otherwise it is not in the graph at all.
- ``principal``, ``purpose``, ``task``: its scope allows the one who asks, what for, and in which task.
- ``superseded``: it is in the superseded set, whoever replaced it. ``revoked``: it was itself revoked.
- ``unavailable``: each of its alternatives needs, besides, something of its own that is gone and has left a marker;
  with no roots its one alternative is such a marker and nothing else.
- ``head_equal``: the head at which the answer is given is the one that was resolved. ``snapshot``: the policy permits
  an answer of an older head, if it says so.

The policy wants two independent roots, and makes unknown, withheld and unavailable look alike.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final, NamedTuple

ROLES: Final = {
    "observed-event": "X",
    "attributed-report": "X",
    "deterministic-derivation": "D",
    "memory-interpretation": "D",
    "recorded-belief": "D",
    "model-prior": "U",
    "unverified-retrieval": "U",
    "probabilistic-interpretation": "U",
    "hypothesis": "U",
}
"""Each role and its family: grounded, derived, unverified (P12)."""

TIMES: Final = ("before", "within", "after")
ROOTS: Final = (0, 1, 2)
"""Two stands for two or more: the policy asks for no more than two."""

STATES: Final = len(ROLES) * len(TIMES) * len(ROOTS) * 2**9


class State(NamedTuple):
    """One claim alone, and how it is asked for."""

    role: str
    time: str
    roots: int
    admitted: bool
    principal: bool
    purpose: bool
    task: bool
    superseded: bool
    revoked: bool
    unavailable: bool
    head_equal: bool
    snapshot: bool


class Outcome(NamedTuple):
    """What has to come of it.

    ``in_support``: whether the claim is a member of S. ``empty_witness``: whether a witness of nothing is allowed.
    ``disposition`` is that of a candidate that says exactly what the claim says. ``view`` is what the reader is given.
    """

    status: str
    flags: frozenset[str]
    in_support: bool
    empty_witness: bool
    disposition: str
    view: str


# A dot stands for "whatever". Y and n are yes and no; family X, D, U; several letters in one place mean any of them;
# the time is b(efore), w(ithin) or a(fter). Of the columns, "graph" is admitted, "who" principal, "why" purpose.
#
# In each state exactly one row holds: the order of the rows means nothing.
TABLE: Final = """
graph who why task | superseded revoked | family roots gone time | head snapshot || status      flags           S W     disposition view

# What is not in the graph, was replaced or was revoked takes part in nothing (P21, P34, P35).
n     .   .   .    | .          .       | .      .     .    .    | .    .        || Unknown     -               n empty blocked     none
Y     .   .   .    | Y          .       | .      .     .    .    | .    .        || Unknown     -               n empty blocked     none
Y     .   .   .    | n          Y       | .      .     .    .    | .    .        || Unknown     -               n empty blocked     none

# What the one who asks may not see is withheld, whatever it would have been worth (P30), and looks like nothing (P31).
Y     n   .   .    | n          n       | .      .     .    .    | .    .        || Unknown     Withheld        n bound blocked     none
Y     Y   n   .    | n          n       | .      .     .    .    | .    .        || Unknown     Withheld        n bound blocked     none
Y     Y   Y   n    | n          n       | .      .     .    .    | .    .        || Unknown     Withheld        n bound blocked     none

# What is of no checked origin supports nothing, whatever it depends on (P12, P15).
Y     Y   Y   Y    | n          n       | U      .     .    .    | .    .        || Unknown     -               n bound blocked     none

# Fewer roots than are asked for: nothing that is gone and no other time would have made them enough (P24).
Y     Y   Y   Y    | n          n       | XD     01    .    .    | .    .        || Unknown     -               n bound blocked     none

# Enough roots, all there, and now: supported. It is released as it is, or as of an older head, or not (P37, P39).
Y     Y   Y   Y    | n          n       | XD     2     n    w    | Y    .        || Supported   -               Y bound passed      supported
Y     Y   Y   Y    | n          n       | XD     2     n    w    | n    Y        || Supported   -               Y bound qualified   supported
Y     Y   Y   Y    | n          n       | XD     2     n    w    | n    n        || Supported   -               Y bound blocked     supported

# Enough roots, all there, but not now: not yet, or no longer. That it was so may be told.
Y     Y   Y   Y    | n          n       | XD     2     n    ba   | .    .        || Unknown     Stale           n bound blocked     stale

# Enough roots, but what they need besides is gone.
Y     Y   Y   Y    | n          n       | XD     2     Y    w    | .    .        || Unavailable -               n bound blocked     none
Y     Y   Y   Y    | n          n       | XD     2     Y    ba   | .    .        || Unavailable Stale           n bound blocked     none
"""  # noqa: E501  # a table is read across

_YES: Final = {True: "Y", False: "n"}


class _Row(NamedTuple):
    """One line of the table: the letters allowed in each column (none: whatever), and what comes of it."""

    conditions: tuple[str, ...]
    outcome: Outcome


def _parse(line: str) -> _Row:
    left, right = line.split("||")
    status, flags, support, witness, disposition, view = right.split()
    return _Row(
        tuple(word.strip(".") for word in left.replace("|", " ").split()),
        Outcome(
            status,
            frozenset() if flags == "-" else frozenset(flags.split("+")),
            support == "Y",
            witness == "empty",
            disposition,
            view,
        ),
    )


_LINES: Final = [line for line in TABLE.splitlines() if line and not line.startswith("#")]
ROWS: Final = tuple(_parse(line) for line in _LINES[1:])


def _columns(state: State) -> tuple[str, ...]:
    return (
        _YES[state.admitted],
        _YES[state.principal],
        _YES[state.purpose],
        _YES[state.task],
        _YES[state.superseded],
        _YES[state.revoked],
        ROLES[state.role],
        str(state.roots),
        _YES[state.unavailable],
        state.time[0],
        _YES[state.head_equal],
        _YES[state.snapshot],
    )


def matching(state: State) -> list[Outcome]:
    """The outcomes of every row that holds in ``state``: a sound table gives exactly one."""
    columns = _columns(state)
    return [
        row.outcome
        for row in ROWS
        if all(
            not allowed or letter in allowed for allowed, letter in zip(row.conditions, columns, strict=True)
        )
    ]


def expected(state: State) -> Outcome:
    """What has to come of ``state``."""
    (outcome,) = matching(state)
    return outcome


def all_states() -> Iterator[State]:
    """The 41,472 states, in one order."""
    for role, time, roots, flags in product(ROLES, TIMES, ROOTS, product((True, False), repeat=9)):
        yield State(role, time, roots, *flags)
