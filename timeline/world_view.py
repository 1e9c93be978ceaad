"""The world model as its owner sees it in a project: each assertion in its place, and its evidence looked at again.

The owner sees every conversation and nothing of other users' own; a group's view is that of the group (W59).
"""

from typing import Final, Literal

import msgspec

from timeline.config import load_config
from timeline.errors import StateMissingError
from timeline.files import is_there
from timeline.hosts import HOSTS
from timeline.project import canonical_root
from timeline.recheck import Recheck, recheck_evidence
from timeline.service import Session
from timeline.state import State
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.context import Context, world_context
from timeline.world.errors import AssertionUnknownError, NoConflictError
from timeline.world.scope import Reader, is_visible, reader_of
from timeline.world.standing import Group, Standing, decide_standing
from timeline.world.supersession import bucket_of

LOOKED_AT_MAX: Final = 2_000
"""Of a project's newest assertions in one view: enough that suggestions do not crowd out what is held."""

_SESSION: Final = "owner"

Place = Literal["fact", "conflict", "proposal", "stale", "superseded"]
"""Where an assertion stands for the owner now."""


class Standpoint(msgspec.Struct, frozen=True):
    """The owner in the project at ``root``: the reader that he is, and the one that a session of its task is."""

    root: str
    reader: Reader
    task: Reader


class Placed(msgspec.Struct, frozen=True):
    """One assertion and how it stands; both lists of ids name only what the owner may see."""

    assertion: Assertion
    place: Place
    supersedes: tuple[str, ...]
    replaced_by: tuple[str, ...]


class Explained(msgspec.Struct, frozen=True):
    """One assertion, its subject's and predicate's others of its conversation (newest first), and its evidence now."""

    placed: Placed
    chain: tuple[Placed, ...]
    recheck: Recheck


def standpoint(session: Session, root: str, *, group: str | None = None) -> Standpoint:
    """The owner in the project of ``root``; with ``group`` he sees what that group does, and nothing private (W59).

    Raises:
        StateMissingError: there is no timeline.
        ConfigError, ScopeError, UsageError: scope, folder or group cannot be used.
    """
    if not is_there(session.locations.state) and not is_there(session.locations.trust):
        message = f"{session.locations.state}: no timeline here"
        raise StateMissingError(message)
    config = load_config(session.locations.settings)
    # The route is the same for every host and session of the task (ADR 0022).
    binding = config.bind(host=next(iter(HOSTS)), session=_SESSION, project=canonical_root(root))
    task = reader_of(binding)
    reader = msgspec.structs.replace(task, route=None, private=group is None, group=group, is_owner=True)
    return Standpoint(binding.project, reader, task)


def view_world(session: Session, where: Standpoint, *, subject: str | None = None, max_items: int) -> Context:
    """Facts, conflicts, proposals and stale items of a project, or of one subject of it.

    Raises:
        WorldError: the bound is not one.
        StateError, SidecarError: the state is not to be believed.
    """
    reader = where.reader
    with session.reading() as state:
        now_ms = ledger.now_ms(state)
        if subject is not None:
            found = read_about(state, reader, subject)
            return world_context(found, reader, now_ms, subject=subject, max_items=max_items)
        page = ledger.read_visible(state, reader, limit=LOOKED_AT_MAX)
        return world_context(page.assertions, reader, now_ms, max_items=max_items, unread=page.left_out)


def view_history(
    session: Session, where: Standpoint, subject: str, predicate: str | None = None
) -> tuple[Placed, ...]:
    """Everything that was ever said about a subject, newest first, each with how it stands (W9, W26).

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    reader = where.reader
    with session.reading() as state:
        standing = decide_standing(read_about(state, reader, subject), reader, ledger.now_ms(state))
    return tuple(
        found for found in place_all(standing) if predicate in {None, found.assertion.entry.predicate}
    )


def place_all(standing: Standing) -> tuple[Placed, ...]:
    """Every assertion of a standing with its place, newest first. Pure."""
    rows: list[tuple[Assertion, Place, tuple[str, ...]]] = [
        *((one, "fact", ()) for group in standing.agreed for one in group),
        *((one, "conflict", ()) for group in standing.disputed for one in group),
        *((one, "proposal", ()) for one in standing.proposals),
        *((one, "stale", ()) for one in standing.stale),
        *((one, "superseded", tuple(newer.id for newer in by)) for one, by in standing.replaced),
    ]
    # One bound to no conversation is compared with those of each: what is disputed in one comes last, and stays.
    worst = {row[0].id: row for row in rows}
    placed = [
        Placed(one, place, tuple(old for old in one.entry.supersedes if old in worst), by)
        for one, place, by in worst.values()
    ]
    return tuple(sorted(placed, key=lambda found: found.assertion.order, reverse=True))


def find_placed(
    state: State, reader: Reader, assertion_id: str, now_ms: int
) -> tuple[Placed, tuple[Placed, ...]]:
    """One assertion that the owner may see, and all of its subject and predicate, newest first.

    Raises:
        AssertionUnknownError: he sees none of this id.
        StateError, SidecarError: the state is not to be believed.
    """
    found = ledger.find(state, assertion_id)
    if found is None or not is_visible(found.entry, reader):
        message = f"assertion {assertion_id[:240]!r}: none of this id is visible in this project"
        raise AssertionUnknownError(message)
    about = read_about(state, reader, found.entry.subject)
    chain = tuple(
        one
        for one in place_all(decide_standing(about, reader, now_ms))
        if bucket_of(one.assertion) == bucket_of(found)
    )
    return next(one for one in chain if one.assertion.id == assertion_id), chain


def find_one(session: Session, where: Standpoint, assertion_id: str) -> Placed:
    """One assertion of the project, to be shown before something is said about it.

    Raises:
        AssertionUnknownError: the owner sees none of this id.
        StateError, SidecarError: the state is not to be believed.
    """
    reader = where.reader
    with session.reading() as state:
        return find_placed(state, reader, assertion_id, ledger.now_ms(state))[0]


def explain(session: Session, where: Standpoint, assertion_id: str) -> Explained:
    """Everything about one assertion; its evidence is looked at again, where that can be done.

    Raises:
        AssertionUnknownError: the owner sees none of this id.
        StateError, SidecarError: the state is not to be believed.
    """
    reader = where.reader
    with session.reading() as state:
        placed, chain = find_placed(state, reader, assertion_id, ledger.now_ms(state))
        return Explained(placed, chain, recheck_evidence(session, state, where.root, placed.assertion))


def find_dispute(
    session: Session, where: Standpoint, subject: str, predicate: str, *, holding: str | None = None
) -> Group:
    """What is disputed about a subject and predicate: all assertions that have to be superseded, newest first.

    Where it is disputed in several conversations, ``holding`` names one by the id of an assertion, else it is the one
    with the newest assertion.

    Raises:
        NoConflictError: nothing is.
        StateError, SidecarError: the state is not to be believed.
    """
    reader = where.reader
    with session.reading() as state:
        standing = decide_standing(read_about(state, reader, subject), reader, ledger.now_ms(state))
    for group in disputes(standing, predicate):
        if holding is None or holding in {one.id for one in group}:
            return group
    about = f"{subject[:240]} {predicate[:128]}"
    message = f"{about}: no conflict" if holding is None else f"{about}: {holding[:240]!r} is in no conflict"
    raise NoConflictError(message)


def disputes(standing: Standing, predicate: str) -> tuple[Group, ...]:
    """What is disputed about a predicate, in each conversation by itself. Pure."""
    return tuple(group for group in standing.disputed if group[0].entry.predicate == predicate)


def read_about(state: State, reader: Reader, subject: str) -> tuple[Assertion, ...]:
    """Every assertion of a subject in the reader's tenant and project, whoever may see it.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    return ledger.read_subject(state, subject, tenant=reader.tenant, project=reader.project)
