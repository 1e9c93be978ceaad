"""Whether new assertions may enter the log, decided before anything is written. Pure.

All of one call or nothing of it. An assertion that is there already with the same material counts as recorded (W6);
every other rule is about what is new.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.leaf import BATCH_SIZE_MAX
from timeline.world.assertion import Assertion, read_assertion
from timeline.world.derivation import check_derivation
from timeline.world.errors import (
    AssertionConflictError,
    AssertionInvalidError,
    CompareAndSetError,
    SupersessionError,
)
from timeline.world.scope import Reader
from timeline.world.supersession import Bucket, broken_rule, bucket_of

ExpectActive = Mapping[str, frozenset[str]]
"""For the id of a new assertion the ids that must be active in its bucket, and no others: compare-and-set."""

_FOREIGN: Final = (
    "a superseded assertion must have the same tenant, project, subject, predicate, portal and thread"
)


class Known(msgspec.Struct, frozen=True):
    """What the ledger holds of all that some new assertions name.

    ``assertions`` are those with their ids and with the ids that they supersede; ``active`` are, of each bucket that
    something is expected of, the ids of its established assertions that are neither replaced nor expired.
    """

    assertions: Mapping[str, Assertion]
    active: Mapping[Bucket, frozenset[str]] = msgspec.field(default_factory=dict)


class Planned(msgspec.Struct, frozen=True):
    """One assertion of a call: as it stands, or as it is going to stand (its leaf may be a later one)."""

    assertion: Assertion
    is_new: bool


def plan(
    entries: Sequence[AssertionEntry],
    known: Known,
    *,
    next_leaf: int,
    now_ms: int,
    expect_active: ExpectActive | None = None,
    reader: Reader | None = None,
) -> tuple[Planned, ...]:
    """What becomes of each entry, in order; a later one may name an earlier one.

    ``reader`` is whoever records, where something is derived: nobody derives from what he may not see.

    Raises:
        AssertionInvalidError: too many at once, or observed in the future.
        AssertionConflictError: an id is another assertion's (W7).
        SupersessionError: one may not replace what it names (W3, W8, W54).
        DerivationError: one may not follow from what it names (P13, P15, P46).
        CompareAndSetError: what is active is not what was expected.
        WorldStateError: an entry is not one that could be read again.
    """
    if len(entries) > BATCH_SIZE_MAX:
        message = f"at most {BATCH_SIZE_MAX} assertions may be recorded at once"
        raise AssertionInvalidError(message)
    expected = expect_active or {}
    standing, active = dict(known.assertions), dict(known.active)
    found: list[Planned] = []
    for entry in entries:
        before = standing.get(entry.id)
        if before is not None:
            check_same(before.entry, entry)
            found.append(Planned(before, is_new=False))
            continue
        new = read_assertion(next_leaf, now_ms, entry)
        check_observed(entry, now_ms)
        check_supersedes(new, standing)
        check_derivation(new, standing, reader)
        bucket = bucket_of(new)
        if entry.id in expected and active.get(bucket, frozenset()) != expected[entry.id]:
            message = "the active assertions are not those that were expected"
            raise CompareAndSetError(message)
        if entry.is_established:
            active[bucket] = (active.get(bucket, frozenset()) - frozenset(entry.supersedes)) | {entry.id}
        standing[entry.id] = new
        found.append(Planned(new, is_new=True))
        next_leaf += 1
    return tuple(found)


def check_same(before: AssertionEntry, entry: AssertionEntry) -> None:
    """Return only if an assertion that is there is the same in everything that was said (W6).

    Raises:
        AssertionConflictError: it is not.
    """
    if before != entry:
        message = "field id: an assertion with other material has this id"
        raise AssertionConflictError(message)


def check_observed(entry: AssertionEntry, now_ms: int) -> None:
    """Return only if an assertion was observed before it is recorded.

    Raises:
        AssertionInvalidError: it was not.
    """
    if entry.observed_at > now_ms:
        message = "field observedAt: must not be in the future"
        raise AssertionInvalidError(message)


def check_supersedes(new: Assertion, targets: Mapping[str, Assertion]) -> None:
    """Return only if ``new`` may replace all that it names; of other ids ``targets`` may hold assertions too.

    An id that is not there and one of another scope are refused in the same words (X12).

    Raises:
        SupersessionError: it may not.
    """
    for name in new.entry.supersedes:
        target = targets.get(name)
        rule = _FOREIGN if target is None else broken_rule(new, target)
        if rule is not None:
            message = f"field supersedes: {rule}"
            raise SupersessionError(message)
