"""What a selection comes to at an opened timeline: the plan, and the same again in a state that was put back."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from timeline.binding import session_ref_of
from timeline.erasing import close_over
from timeline.files import is_there, write_atomic
from timeline.forgetting.applying import Applied, carry_out, ready
from timeline.forgetting.coverage import covered_names, not_covered_names
from timeline.forgetting.errors import SuppressionInvalidError
from timeline.forgetting.intake import beginnings_of, is_event_forgotten, logged_digests
from timeline.forgetting.items import read_items
from timeline.forgetting.journal import keep_plan
from timeline.forgetting.lineage import Lineage, decide_targets
from timeline.forgetting.plan import (
    Decided,
    Item,
    Plan,
    Rule,
    Selector,
    format_plan,
    make_plan,
)
from timeline.forgetting.suppression import (
    Forgotten,
    Suppression,
    read_key_file,
    read_list,
    write_suppression,
)
from timeline.keyfile import format_key
from timeline.paths import Locations
from timeline.reducing import reduce_sidecars
from timeline.state import State
from timeline.world.continuation import CONTINUATION_PREDICATE
from timeline.world.outcome_contract import CONTRACT_PREDICATE

_CARRIED_ON: Final = frozenset({CONTINUATION_PREDICATE, CONTRACT_PREDICATE})
_OF_EVENTS: Final = frozenset({"event", "suppressed"})


def plan_at(
    state: State, items: Mapping[int, Item], selector: Selector, rule: Rule, suppression: Suppression
) -> tuple[Plan, tuple[AssertionEntry, ...]]:
    """The plan of a selection at an opened timeline, and what would be recorded in place of what is made anew.

    Raises:
        ForgetError: it cannot be forgotten so.
        StateError, SidecarError: the state cannot be read.
    """
    found = _events_named(state, selector, suppression) if selector.sort in _OF_EVENTS else _Found()
    lineage = Lineage(
        lambda enrollment: session_ref_of(enrollment.binding),
        _CARRIED_ON,
        lambda leaves: close_over(state, leaves),
        found.events,
        found.files,
    )
    decided = decide_targets(tuple(items.values()), selector, rule, suppression, lineage)
    return _planned(state, items, selector, rule, suppression, decided), decided.anew


def _planned(  # each is a part of the plan
    state: State,
    items: Mapping[int, Item],
    selector: Selector,
    rule: Rule,
    suppression: Suppression,
    decided: Decided,
) -> Plan:
    policy = state.view.policy
    return make_plan(
        decided,
        items,
        selector,
        rule,
        origin=state.keystore.pins.origin,
        size=state.belief.size,
        root=str(state.belief.root),
        key=suppression.commitment,
        authorised_by=str(state.keystore.pins.owner),
        presence="terminal" if policy is None else policy.owner_presence,
        coverage=covered_names(),
        not_covered=not_covered_names(),
    )


class _Found(msgspec.Struct, frozen=True):
    """Events that are to go: the digests of their lines, by id, and the sidecars that are made again without them."""

    events: Mapping[str, tuple[str, ...]] = {}
    files: frozenset[str] = frozenset()


def _events_named(state: State, selector: Selector, suppression: Suppression) -> _Found:
    """Events that are named, and those whose lines begin with the same.

    Raises:
        SidecarError: a sidecar is missing or not to be believed.
    """
    every = [
        (entry.digest, event)
        for source in state.view.active
        for entry in source.kept
        for event in state.open_sidecar(entry)[1].events
    ]
    wanted = {
        beginnings_of(event)[-1]
        for _, event in every
        if suppression.digest(Forgotten.EVENT, event.id) in selector.digests
        or (selector.sort == "suppressed" and is_event_forgotten(suppression, event))
    }
    gone = [(digest, event) for digest, event in every if not wanted.isdisjoint(beginnings_of(event))]
    return _Found(
        {event.id: beginnings_of(event)[-1] for _, event in gone}, frozenset(digest for digest, _ in gone)
    )


# -- a state that was put back ---------------------------------------------------------------------------------


def take_over_list(given: Locations, staged: Locations) -> None:
    """Add the list of another trust folder, with its key, to a trust folder that is being put in place (M18).

    Raises:
        SuppressionInvalidError: there is no key, or the two lists are of different keys.
        UnsafeFileError, StateUnwritableError: a file cannot be read or written.
    """
    key, listed = read_key_file(given), read_list(given)
    if key is None or listed is None:
        message = f"{given.trust}: holds no list of what was forgotten, with its key"
        raise SuppressionInvalidError(message)
    known = read_key_file(staged)
    if known is not None and known != key:
        message = f"{given.suppression_key}: not the key that the backup was made with"
        raise SuppressionInvalidError(message)
    write_suppression(staged, listed | (read_list(staged) or frozenset()))
    write_atomic(staged.suppression_key, format_key(key))


def hand_on_list(suppression: Suppression, new: Locations) -> None:
    """Let another log go on with what must not come back: also with what only the old log knew of it.

    Raises:
        UnsafeFileError, StateUnwritableError: a file cannot be read or written.
    """
    if suppression.key is not None:
        write_suppression(new, suppression.digests)
        write_atomic(new.suppression_key, format_key(suppression.key))


def forget_again(state: State) -> Applied | None:
    """Erase from a state that was put back what was forgotten after it; the caller holds the writer lock.

    ``None`` where nothing of it is there, and the log knows all that must not come back.

    Raises:
        KeyMismatchError: the owner key is not to be had: it cannot be stated.
        StateError, SidecarError: the state cannot be used or written.
    """
    if not is_there(state.locations.suppression_key):
        return None
    suppression = ready(state)
    items = {item.leaf: item for item in read_items(state)}
    plan, _ = plan_at(state, items, Selector("suppressed", ()), "redact", suppression)
    logged = logged_digests(state.view).get(plan.key, frozenset())
    if not plan.targets and not plan.files and logged.issuperset(suppression.digests):
        return None
    content = format_plan(plan)
    keep_plan(state.locations, str(Digest.of(content)), content)
    return carry_out(state, plan, reduced=reduce_sidecars(state, plan, suppression))
