"""How each assertion stands for a reader at a moment: agreed, disputed, proposed, stale or replaced. Pure.

The context and the typed view are two forms of this one decision. What is replaced is decided over all assertions;
only then is left out what the reader may not see; only then does time count. So an answer is a function of what the
reader may see and of which of it is replaced, and of nothing else (X12).
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from timeline.limits import WORLD_ITEMS_MAX
from timeline.world.assertion import Assertion
from timeline.world.errors import WorldError
from timeline.world.scope import Reader, is_task_local, is_visible
from timeline.world.supersession import replacements

Group = tuple[Assertion, ...]
"""Active established assertions of one subject and predicate, newest first."""


class Standing(msgspec.Struct, frozen=True):
    """All that a reader may see, each in its place and newest first; ties by id.

    ``agreed`` groups have one value, ``disputed`` ones more. ``stale`` has expired and was not replaced, whatever its
    evidence. ``replaced`` has the visible ones that replace it, newest first, and may have none: the one that does
    may be hidden.
    """

    agreed: tuple[Group, ...]
    disputed: tuple[Group, ...]
    proposals: tuple[Assertion, ...]
    stale: tuple[Assertion, ...]
    replaced: tuple[tuple[Assertion, Group], ...]


def decide_standing(
    assertions: Sequence[Assertion], reader: Reader, now_ms: int, *, subject: str | None = None
) -> Standing:
    """How the assertions stand at ``now_ms`` (UTC milliseconds); ``subject`` looks at one subject only.

    ``assertions`` holds, of each subject and predicate that is in it, all, or all that is not replaced, or at least
    one of each value in force: a rival that is left out would make the other a fact.

    Raises:
        WorldStateError: a stored assertion breaks a rule of supersession (W65).
    """
    newer = replacements(assertions)
    seen = newest_first(
        assertion
        for assertion in assertions
        if subject in {None, assertion.entry.subject} and is_visible(assertion.entry, reader)
    )
    open_ = [assertion for assertion in seen if assertion.id not in newer]
    active = [assertion for assertion in open_ if not assertion.is_stale(now_ms)]
    groups = sorted(_groups((one for one in active if one.entry.is_established), reader), key=_group_order)
    return Standing(
        agreed=tuple(group for group in groups if not is_disputed(group)),
        disputed=tuple(group for group in groups if is_disputed(group)),
        proposals=tuple(one for one in active if not one.entry.is_established),
        stale=tuple(one for one in open_ if one.is_stale(now_ms)),
        replaced=tuple((one, _visible(newer[one.id], reader)) for one in seen if one.id in newer),
    )


def newest_first(assertions: Iterable[Assertion]) -> Group:
    """Sorted by observation, the newest first, and at one instant by id."""
    return tuple(sorted(assertions, key=_assertion_order))


def is_disputed(group: Group) -> bool:
    """Whether assertions differ in value; 1 and 1.0 do not, nor does the order of keys (H-g).

    RFC 8785 has one text for a value, so the texts decide. There is no weighing: two against one is a dispute (W16).
    """
    return len({assertion.entry.value for assertion in group}) > 1


def check_items(max_items: int) -> None:
    """Return only if a bound on an answer is one.

    Raises:
        WorldError: it is not.
    """
    if not 1 <= max_items <= WORLD_ITEMS_MAX:
        message = f"field maxItems: must be 1 to {WORLD_ITEMS_MAX}"
        raise WorldError(message)


def _assertion_order(assertion: Assertion) -> tuple[int, str]:
    return (-assertion.entry.observed_at, assertion.id)


def _group_order(group: Group) -> list[tuple[int, str]]:
    return [_assertion_order(assertion) for assertion in group]


def _visible(assertions: Group, reader: Reader) -> Group:
    return tuple(assertion for assertion in assertions if is_visible(assertion.entry, reader))


def _groups(established: Iterable[Assertion], reader: Reader) -> Iterator[Group]:
    buckets: dict[tuple[str, str], list[Assertion]] = {}
    for assertion in established:
        buckets.setdefault((assertion.entry.subject, assertion.entry.predicate), []).append(assertion)
    for bucket in buckets.values():
        yield from _by_route(bucket) if reader.is_owner else (tuple(bucket),)


def _by_route(bucket: list[Assertion]) -> Iterator[Group]:
    """What the owner sees of one bucket: for each conversation that which its own reader would compare.

    Two conversations cannot dispute each other, since neither may replace what the other holds (W54). What is bound
    to none is compared with each of them, but for task knowledge, which a bound task does not inherit (W52).
    """
    routes: dict[tuple[str | None, str | None], list[Assertion]] = {}
    for assertion in bucket:
        routes.setdefault((assertion.entry.portal, assertion.entry.thread), []).append(assertion)
    unbound = routes.pop((None, None), [])
    untyped = [assertion for assertion in unbound if not is_task_local(assertion.entry)]
    for bound in routes.values():
        yield newest_first([*bound, *untyped])
    if len(untyped) < len(unbound) or (untyped and not routes):
        yield tuple(unbound)
