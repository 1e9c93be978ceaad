"""The ledger: assertions recorded in the log, and read from it. The one module of the world model with I/O.

What is returned was verified at that moment: the table of rows is the one that the log adds up to, the envelope is
signed by the key in force at its leaf, salt and envelope have the hash that was counted, and the row is the one that
the leaf gives. What does not fit is refused and never left out (W65).

Everything recorded in one call becomes one batch, all of it or nothing.
"""

import heapq
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from typing import Final, Literal

import msgspec

from sidecars.assertion import ESTABLISHED, AssertionEntry
from sidecars.erased import is_erased
from sidecars.errors import DigestMismatchError
from sidecars.leaf import Leaf, leaf_hash, open_leaf
from timeline.assertion_account import account_assertions, reading_assertions
from timeline.assertion_row import AssertionRow, row_of
from timeline.assertions import StoredLeaf, StoredRow, select_leaves, select_rows
from timeline.committing import Wanted, Work, commit_alone
from timeline.errors import IndexUnverifiedError
from timeline.forgetting.intake import check_entries
from timeline.state import State
from timeline.world.assertion import Assertion, read_assertion
from timeline.world.recording import ExpectActive, Known, Planned, plan
from timeline.world.scope import Reader, is_visible
from timeline.world.supersession import Bucket, bucket_of_entry

LEFT_OUT_COUNTED_MAX: Final = 1000
"""How many assertions that a page has no room for are counted; more are said to be that many."""

VALUES_MAX: Final = 8
"""Of one subject and predicate, so many different values are on a page at least: a conflict is never cut off."""

_IN_SCOPE: Final = "a.tenant = ? AND (a.project IS NULL OR a.project = ?) AND a.leaf < ?"

_IN_BUCKET: Final = (
    "a.tenant = ? AND a.project IS ? AND a.subject = ? AND a.predicate = ? "
    "AND a.portal IS ? AND a.thread IS ?"
)
_ESTABLISHED: Final = ", ".join(f"'{kind}'" for kind in sorted(ESTABLISHED))


class Recorded(msgspec.Struct, frozen=True):
    """What became of one entry: newly in the log, or there already with the same material (W6)."""

    status: Literal["recorded", "duplicate"]
    assertion: Assertion


class Page(msgspec.Struct, frozen=True):
    """The newest assertions that a reader may see and nothing has replaced, newest first.

    ``left_out`` counts those of them for which there was no room, up to ``LEFT_OUT_COUNTED_MAX``.
    """

    assertions: tuple[Assertion, ...]
    left_out: int


class Gathered(msgspec.Struct, frozen=True):
    """What bears on some questions: assertions by id, with all that they were derived from.

    ``replaced`` are the ids of those that another has replaced, whoever may see that one. ``missing`` are ids that
    something was derived from and that are not there any more.
    """

    assertions: Mapping[str, Assertion]
    replaced: frozenset[str]
    missing: frozenset[str]


# -- recording -------------------------------------------------------------------------------------------------


def record(
    state: State,
    entries: Sequence[AssertionEntry],
    *,
    expect_active: ExpectActive | None = None,
    reader: Reader | None = None,
) -> tuple[Recorded, ...]:
    """Record assertions in one batch, all or nothing; the caller holds the writer lock.

    ``expect_active`` gives, for the id of a new entry, the ids of all established assertions of its bucket that are
    neither replaced nor expired: compare-and-set. ``reader`` is whoever records, where an entry is derived.

    Raises:
        WorldError: an entry is refused, with the reason (``recording.plan``); nothing was written.
        ForgottenError: the owner has had forgotten what an entry says or rests on; nothing was written.
        KeyMismatchError: the private key that has to sign is not here, or the owner key is locked.
        StateError, SidecarError: the state cannot be used or written.
    """
    return commit_alone(state, work(state, entries, expect_active=expect_active, reader=reader))


def work(
    state: State,
    entries: Sequence[AssertionEntry],
    *,
    expect_active: ExpectActive | None = None,
    reader: Reader | None = None,
) -> Work[tuple[Recorded, ...]]:
    """What ``record`` does, for a caller who commits what it wants.

    Raises:
        ForgottenError, WorldError, StateError, SidecarError: see ``record``.
    """
    claims = _claims(entries)
    while claims & state.assertions.claimed:
        # Another work of this group decides about the same: what it commits has to be seen first.
        yield Wanted(())
    state.assertions.claimed |= claims
    try:
        account_assertions(state)
        check_entries(state, entries, lambda entry: reader is None or is_visible(entry, reader))
        planned = plan(
            entries,
            _known(state, entries, expect_active or {}),
            next_leaf=state.belief.size,
            now_ms=now_ms(state),
            expect_active=expect_active,
            reader=reader,
        )
        bodies = tuple(item.assertion.entry for item in planned if item.is_new)
        leaves = (yield Wanted(bodies)) if bodies else ()
    finally:
        state.assertions.claimed -= claims
    places = iter(leaves or ())
    return tuple(_recorded(item, next(places) if item.is_new else None) for item in planned)


# -- reading ---------------------------------------------------------------------------------------------------


def read_subject(state: State, subject: str, *, tenant: str, project: str | None) -> tuple[Assertion, ...]:
    """Every assertion about a subject in the log's order: of all scopes of the tenant, of ``project`` and of none.

    Replaced ones and those that not everybody may see are among them.

    Raises:
        IndexUnverifiedError: the table is not the one of the log.
        WorldStateError: an assertion breaks the rules (W65).
        StateError, SidecarError: the state cannot be read, or a leaf is not to be believed.
    """
    condition = f"a.subject = ? AND {_IN_SCOPE} ORDER BY a.leaf"
    with reading_assertions(state):
        return _open_all(state, condition, (subject, tenant, project, state.belief.size))


def read_current(state: State, subject: str, *, tenant: str, project: str | None) -> tuple[Assertion, ...]:
    """The same without those that another has replaced, whoever may see that one.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    size = state.belief.size
    condition = f"a.subject = ? AND {_IN_SCOPE} AND (a.replaced IS NULL OR a.replaced >= ?) ORDER BY a.leaf"
    with reading_assertions(state):
        return _open_all(state, condition, (subject, tenant, project, size, size))


def read_scope(state: State, *, tenant: str, project: str | None) -> tuple[Assertion, ...]:
    """Every assertion of a tenant in ``project`` and in none, in the log's order, whoever may see it.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    with reading_assertions(state):
        return _open_all(state, f"{_IN_SCOPE} ORDER BY a.leaf", (tenant, project, state.belief.size))


def read_bucket(state: State, bucket: Bucket) -> tuple[Assertion, ...]:
    """Every assertion of a bucket in the log's order, replaced ones among them.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    with reading_assertions(state):
        return _open_all(state, f"{_IN_BUCKET} AND a.leaf < ? ORDER BY a.leaf", (*bucket, state.belief.size))


def read_evidence(
    state: State, questions: Iterable[tuple[str, str]], *, tenant: str, project: str | None
) -> Gathered:
    """What bears on each subject and predicate in the tenant's ``project`` and in none, whoever may see it.

    Of the subjects and predicates themselves that is everything that nothing has replaced; of what it was derived from
    also what was replaced since.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    size = state.belief.size
    condition = (
        "a.subject = ? AND a.tenant = ? AND a.project IS ? AND a.predicate = ? AND a.leaf < ? "
        "AND (a.replaced IS NULL OR a.replaced >= ?) ORDER BY a.leaf"
    )
    found: dict[str, Assertion] = {}
    replaced: set[str] = set()
    missing: set[str] = set()
    with reading_assertions(state):
        for subject, predicate in dict.fromkeys(questions):
            for place in dict.fromkeys((None, project)):
                values = (subject, tenant, place, predicate, size, size)
                found |= {one.id: one for one in _open_all(state, condition, values)}
        waiting = [name for one in found.values() for name in _derived_from(one.entry)]
        while waiting:
            name = waiting.pop()
            if name in found or name in missing:
                continue
            stored = next(iter(_named(state, name)), None)
            if stored is None:
                missing.add(name)
                continue
            found[name] = _open_row(state, stored.row)
            if stored.replaced is not None and stored.replaced < size:
                replaced.add(name)
            waiting.extend(_derived_from(found[name].entry))
    return Gathered(found, frozenset(replaced), frozenset(missing))


def find(state: State, assertion_id: str) -> Assertion | None:
    """The assertion with this id, whoever may see it; ``None`` where there is none.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    with reading_assertions(state):
        return _find(state, (assertion_id,)).get(assertion_id)


def is_replaced(state: State, assertion_id: str) -> bool:
    """Whether some other assertion has replaced this one, whoever may see that one.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: see ``read_subject``.
    """
    size = state.belief.size
    with reading_assertions(state):
        rows = select_rows(
            state.store, "a.id = ? AND a.replaced < ? AND a.leaf < ?", (assertion_id, size, size)
        )
        with closing(rows):
            return any(True for _ in rows)


def read_visible(state: State, reader: Reader, *, limit: int, suggestions_max: int | None = None) -> Page:
    """The newest assertions that ``reader`` may see and that nothing has replaced, over all subjects.

    Where different established values of one subject and predicate stand, some of each are on the page, though older
    ones: what is a conflict must not look like a fact. So it may hold a few more than ``limit``.

    What is not established takes at most ``suggestions_max`` places, by default half of them: however much a model
    suggests, it crowds out nothing that is established.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    suggestions = limit - limit // 2 if suggestions_max is None else suggestions_max
    with reading_assertions(state):
        established, count = _newest(state, reader, f"a.evidence_kind IN ({_ESTABLISHED})", limit)
        suggested, beyond = _newest(state, reader, f"a.evidence_kind NOT IN ({_ESTABLISHED})", suggestions)
        newest = sorted((*established, *suggested), key=lambda row: row.order, reverse=True)[:limit]
        shown = {row.leaf: row for row in newest}
        shown |= {row.leaf: row for row in _beside(state, reader, newest)}
        found = [_open_row(state, row) for row in shown.values()]
    left_out = min(count + beyond - len(shown), LEFT_OUT_COUNTED_MAX)
    return Page(tuple(sorted(found, key=lambda one: one.order, reverse=True)), left_out)


def read_newest(
    state: State, reader: Reader, predicate: str, *, subject: str, limit: int
) -> tuple[Assertion, ...]:
    """The newest assertions about a subject with a predicate that ``reader`` may see and nothing has replaced.

    Newest first; as on a page, some of each established value are among them, so that it may hold a few more.

    Raises:
        IndexUnverifiedError, WorldStateError, StateError, SidecarError: see ``read_subject``.
    """
    size = state.belief.size
    condition = (
        f"a.subject = ? AND {_IN_SCOPE} AND a.predicate = ? AND (a.replaced IS NULL OR a.replaced >= ?) "
        "ORDER BY a.observed_at DESC, a.leaf DESC"
    )
    values = (subject, reader.tenant, reader.project, size, predicate, size)
    with reading_assertions(state):
        with closing(select_rows(state.store, condition, values)) as rows:
            visible = (stored.row for stored in rows if is_visible(stored.row, reader))
            shown = {row.leaf: row for row in islice(visible, limit)}
        shown |= {row.leaf: row for row in _beside(state, reader, tuple(shown.values()))}
        found = [_open_row(state, row) for row in shown.values()]
    return tuple(sorted(found, key=lambda one: one.order, reverse=True))


def count_suggestions(state: State, reader: Reader, subject: str, *, most: int) -> int:
    """How many suggestions about a subject ``reader`` may see for one purpose or another, up to ``most``.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: see ``read_subject``.
    """
    condition = f"a.subject = ? AND {_IN_SCOPE} AND a.evidence_kind = 'model-suggestion'"
    values = (subject, reader.tenant, reader.project, state.belief.size)
    with reading_assertions(state), closing(select_rows(state.store, condition, values)) as rows:
        of_any_use = (msgspec.structs.replace(stored.row, purposes=()) for stored in rows)
        visible = (row for row in of_any_use if is_visible(row, reader))
        return sum(1 for _ in islice(visible, most))


# -- the parts -------------------------------------------------------------------------------------------------


def now_ms(state: State) -> int:
    """The time at which the world is looked at: the clock's, but never before the newest leaf (UTC milliseconds).

    The next leaf bears no earlier one. A clock that went back would else bring back what has expired (W17).
    """
    return max(state.ports.clock.now_ms(), state.view.newest_ms)


def _claims(entries: Iterable[AssertionEntry]) -> set[object]:
    """What must not change between the decision about these entries and their commit."""
    claims: set[object] = set()
    for entry in entries:
        claims.update((entry.id, *entry.supersedes, bucket_of_entry(entry)))
    return claims


def _known(state: State, entries: Sequence[AssertionEntry], expected: ExpectActive) -> Known:
    names = {name for entry in entries for name in (entry.id, *entry.supersedes, *_derived_from(entry))}
    buckets = {bucket_of_entry(entry) for entry in entries if entry.id in expected}
    with reading_assertions(state):
        return Known(_find(state, names), {bucket: _active(state, bucket) for bucket in buckets})


def _derived_from(entry: AssertionEntry) -> tuple[str, ...]:
    return () if entry.derivation is None else entry.derivation.dependencies


def _active(state: State, bucket: Bucket) -> frozenset[str]:
    """The ids of a bucket's established assertions that are neither replaced nor expired; under the writer lock."""
    size = state.belief.size
    condition = (
        f"{_IN_BUCKET} AND a.leaf < ? AND (a.replaced IS NULL OR a.replaced >= ?) "
        f"AND a.evidence_kind IN ({_ESTABLISHED})"
    )
    rows = select_rows(state.store, condition, (*bucket, size, size))
    now = now_ms(state)
    return frozenset(stored.row.id for stored in rows if not _is_stale(stored.row, now))


def _is_stale(row: AssertionRow, now_ms: int) -> bool:
    has_ended = row.expires_at is not None and row.expires_at <= now_ms
    return has_ended or (row.starts_at is not None and now_ms < row.starts_at)


def _recorded(item: Planned, leaf: Leaf | None) -> Recorded:
    if leaf is None:
        return Recorded("duplicate", item.assertion)
    assertion = msgspec.structs.replace(item.assertion, leaf=leaf.index, recorded_at=leaf.at)
    return Recorded("recorded", assertion)


def _newest(state: State, reader: Reader, condition: str, room: int) -> tuple[list[AssertionRow], int]:
    """The newest visible rows that meet a condition and that nothing has replaced; and how many there are.

    They are counted as far as it can matter: what stands beside a page is taken off again.
    """
    found: list[AssertionRow] = []
    count = 0
    with closing(_unreplaced(state, reader, condition)) as rows:
        for row in rows:
            if is_visible(row, reader):
                count += 1
                if count <= room:
                    found.append(row)
                elif count == room + LEFT_OUT_COUNTED_MAX + len(found) * VALUES_MAX:
                    break
    return found, count


def _unreplaced(state: State, reader: Reader, condition: str) -> Generator[AssertionRow, None, None]:
    """Rows of a reader's tenant and project that nothing in the believed log has replaced, newest first."""
    size = state.belief.size
    parts: list[Generator[StoredRow, None, None]] = []
    for project in dict.fromkeys((None, reader.project)):
        scope = f"a.tenant = ? AND a.project IS ? AND a.leaf < ? AND {condition}"
        values = (reader.tenant, project, size)
        order = "ORDER BY a.observed_at DESC, a.leaf DESC"
        parts.append(select_rows(state.store, f"{scope} AND a.replaced IS NULL {order}", values))
        # By a leaf that was committed after this state was read.
        parts.append(select_rows(state.store, f"{scope} AND a.replaced >= ? {order}", (*values, size)))
    with ExitStack() as opened:
        for part in parts:
            opened.enter_context(closing(part))
        for stored in heapq.merge(*parts, key=lambda stored: stored.row.order, reverse=True):
            yield stored.row


def _beside(state: State, reader: Reader, shown: Sequence[AssertionRow]) -> Iterator[AssertionRow]:
    """For each subject and predicate of ``shown``, one visible row of each different value that is held now."""
    size, now = state.belief.size, now_ms(state)
    condition = (
        f"a.subject = ? AND {_IN_SCOPE} AND a.predicate = ? AND a.evidence_kind IN ({_ESTABLISHED}) "
        "AND (a.replaced IS NULL OR a.replaced >= ?) ORDER BY a.observed_at DESC, a.leaf DESC"
    )
    for subject, predicate in dict.fromkeys((row.subject, row.predicate) for row in shown):
        values = (subject, reader.tenant, reader.project, size, predicate, size)
        seen: set[bytes] = set()
        with closing(select_rows(state.store, condition, values)) as rows:
            for stored in rows:
                row = stored.row
                if row.value_digest in seen or _is_stale(row, now) or not is_visible(row, reader):
                    continue
                seen.add(row.value_digest)
                yield row
                if len(seen) == VALUES_MAX:
                    break


def _find(state: State, names: Iterable[str]) -> dict[str, Assertion]:
    size = state.belief.size
    found: dict[str, Assertion] = {}
    for name in names:
        for assertion in _open_all(state, "a.id = ? AND a.leaf < ?", (name, size)):
            found[assertion.id] = assertion
    return found


def _named(state: State, name: str) -> tuple[StoredRow, ...]:
    return tuple(select_rows(state.store, "a.id = ? AND a.leaf < ?", (name, state.belief.size)))


def _open_all(state: State, condition: str, values: Sequence[object]) -> tuple[Assertion, ...]:
    return tuple(_open(state, stored) for stored in select_leaves(state.store, condition, values))


def _open_row(state: State, row: AssertionRow) -> Assertion:
    salt, envelope = state.store.leaf(row.leaf) or (None, None)
    return _open(state, StoredLeaf(row, salt, envelope))


def _open(state: State, stored: StoredLeaf) -> Assertion:
    """One assertion, verified now.

    Raises:
        IndexUnverifiedError: its row is not the one of its leaf.
        DigestMismatchError: its leaf is not the one that was counted, or is gone.
        SidecarError: its leaf is not signed by the key in force there.
        WorldStateError: it breaks the rules.
    """
    row, salt, envelope = stored.row, stored.salt, stored.envelope
    if salt is None or envelope is None or is_erased(salt) or leaf_hash(salt, envelope) != row.hash:
        raise DigestMismatchError(f"leaf {row.leaf}: its salt and envelope must be those that were verified")
    leaf = open_leaf(envelope, state.keystore.pins.owner, state.belief.key_at(row.leaf))
    if not isinstance(leaf.body, AssertionEntry) or row_of(leaf, leaf.body, row.hash) != row:
        message = f"{state.store.path}: the row of leaf {row.leaf} is not the one that the leaf gives"
        raise IndexUnverifiedError(message)
    return read_assertion(leaf.index, leaf.at, leaf.body)
