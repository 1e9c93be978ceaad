"""Computing credibilities from the log, and the record of it: each run whole, none replaced, each to be checked (G13).

A run is computed from claims, credentials and the moment to which ages are counted, and from nothing else. The log key
signs it; nobody can state a score.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sidecars.digest import Digest
from sidecars.graded import ClaimsEntry, CredentialEntry, CredibilityEntry, CredibilityRow
from sidecars.identity import canonical_bytes
from sidecars.leaf import BATCH_SIZE_MAX, Kind
from timeline.assertion_account import account_assertions
from timeline.grading.claims import Claimed, read_claims
from timeline.grading.credibility import PastScore, credentials_in_force, newest_run, read_run, score_history
from timeline.grading.errors import ClaimUnknownError
from timeline.grading.fixpoint import score_again
from timeline.grading.recompute import Run, format_run, recompute
from timeline.grading_reading import GRADING_VERSION, credibilities_of, newest_change, runs_of
from timeline.registered import Registered, count_leaves, read_register
from timeline.service import Session
from timeline.state import State

PERIOD_MS: Final = 86_400_000
"""Between two computations that nobody asked for (G13)."""

DUE_LEAVES_MAX: Final = 32
"""Leaves of claims, up to 8,192 of these, that are computed without being asked for: hooks wait for half a second."""

_ID_HEX: Final = 32


class ScoreChange(msgspec.Struct, frozen=True):
    """A score that a run changes; ``None`` where there is no row before or after it."""

    entity: str
    domain: str
    before: int | None
    after: int | None


class Computed(msgspec.Struct, frozen=True):
    """One computation: its id, what it gave, how many claims it read, and against which run its changes are told.

    ``is_recorded`` is false where nothing has changed, or nothing was to be written.
    """

    name: str
    run: Run
    claims: int
    credentials: int
    previous: str | None
    changes: tuple[ScoreChange, ...]
    is_recorded: bool


class Audited(msgspec.Struct, frozen=True):
    """A recorded run, computed again from what the log held then.

    ``is_same``: the same rows and anomalies. ``has_inputs``: what it was computed from is all there still.
    """

    name: str
    computation_version: int
    as_of: int
    rows: int
    is_same: bool
    has_inputs: bool


class EntityHistory(msgspec.Struct, frozen=True):
    """Every score that was ever computed for an entity, by domain, oldest first."""

    entity: str
    scores: tuple[tuple[str, tuple[PastScore, ...]], ...]


def compute_credibilities(session: Session, *, version: int, is_dry: bool = False) -> Computed:
    """Compute every credibility as of now, and record it unless ``is_dry`` or it is what the newest run says.

    Raises:
        ClaimIdError: the log gives one id to two claims.
        RunIncompleteError: the run before is not one.
        ClockError, StateError, SidecarError: the state cannot be used, or the log key is not here.
    """
    if is_dry:
        with session.reading() as state:
            return _compute(state, version, is_dry=True)
    with session.writing() as state:
        account_assertions(state)
        return _compute(state, version, is_dry=False)


def compute_if_due(session: Session) -> Computed | None:
    """Compute and record if there are newer claims or credentials than the newest run read, and that is a day old.

    ``None`` where nothing is due, or there are more claims than may be computed without being asked for.

    Raises:
        ClaimIdError, RunIncompleteError, ClockError, StateError, SidecarError: see ``compute_credibilities``.
    """
    with session.reading_local() as state:
        if newest_change(state) < 0 or count_leaves(state, Kind.CLAIMS) > DUE_LEAVES_MAX:
            return None
        standing = credibilities_of(state)
        if not standing.is_outdated:
            return None
        if standing.run is not None and state.ports.clock.now_ms() < standing.run.as_of + PERIOD_MS:
            return None
    return compute_credibilities(session, version=GRADING_VERSION)


def audit_run(session: Session, name: str) -> Audited:
    """Compute a recorded run again from the leaves that it read (G13). Writes nothing.

    Raises:
        ClaimUnknownError: no run has this id.
        RunIncompleteError: it lacks a part.
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        parts = tuple(one for one in runs_of(state, name) if one.run == name)
        if not parts:
            message = "no run of the computation has this id"
            raise ClaimUnknownError(message, hint="`timeline world recompute --json` names the newest run")
        first = min(parts, key=lambda one: one.part)
        rows = read_run(parts)
        before = _rows_of(state, first.previous)
        run = _run(state, first.computation_version, first.as_of, first.inputs, before)
        found = (run.anomalies[: len(first.anomalies)], len(run.anomalies))
        # A run that it was compared with may have been erased: what had dropped since cannot be said again.
        can_compare = first.previous is None or bool(before)
        is_same = run.rows == tuple(row for _, row in sorted(rows.items())) and (
            not can_compare or found == (first.anomalies, first.anomalies_found)
        )
        return Audited(
            name,
            first.computation_version,
            first.as_of,
            len(rows),
            is_same,
            run.inputs_digest == first.inputs_digest,
        )


def read_history(session: Session, entity: str) -> EntityHistory:
    """Every score that was computed for an entity; a newer run replaces none.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        parts = runs_of(state, entity)
    domains = sorted({row.domain for part in parts for row in part.rows if row.entity == entity})
    return EntityHistory(entity, tuple((domain, score_history(parts, entity, domain)) for domain in domains))


def _compute(state: State, version: int, *, is_dry: bool) -> Computed:
    inputs, as_of = state.belief.size, max(state.ports.clock.now_ms(), state.view.newest_ms)
    parts = newest_run(runs_of(state), version)
    previous = parts[0].run if parts else None
    before = tuple(read_run(parts).values()) if parts else ()
    claims, credentials = _inputs(state, inputs)
    run = _run_of(claims, credentials, version, as_of, before)
    name = _name_of(run, inputs, previous)
    is_same = bool(parts) and (run.rows, len(run.anomalies)) == (before, parts[0].anomalies_found)
    # What has read newer claims is recorded where they change nothing too: it says that nothing is left out.
    is_new = not is_same or newest_change(state) >= parts[0].inputs
    if is_new and not is_dry:
        bodies = format_run(run, name, inputs, previous)
        for start in range(0, len(bodies), BATCH_SIZE_MAX):
            state.commit(bodies[start : start + BATCH_SIZE_MAX])
    return Computed(
        name=name if is_new or previous is None else previous,
        run=run,
        claims=len(claims),
        credentials=len(credentials_in_force(credentials, as_of)),
        previous=previous,
        changes=find_changes(before, run.rows),
        is_recorded=is_new and not is_dry,
    )


def find_changes(
    before: Iterable[CredibilityRow], after: Iterable[CredibilityRow]
) -> tuple[ScoreChange, ...]:
    """Scores that differ between two runs, by entity and domain. Pure."""
    old = {(row.entity, row.domain): row.score for row in before}
    new = {(row.entity, row.domain): row.score for row in after}
    return tuple(
        ScoreChange(*place, old.get(place), new.get(place))
        for place in sorted(old.keys() | new.keys())
        if old.get(place) != new.get(place)
    )


def _run(state: State, version: int, as_of: int, inputs: int, before: Sequence[CredibilityRow]) -> Run:
    return _run_of(*_inputs(state, inputs), version, as_of, before)


def _inputs(state: State, size: int) -> tuple[tuple[Claimed, ...], tuple[CredentialEntry, ...]]:
    """The claims of the first ``size`` leaves by id, and their credentials in the log's order."""

    def within(kind: Kind) -> Iterable[Registered]:
        return (one for one in read_register(state, kind) if one.leaf < size)

    claims = read_claims(one.body for one in within(Kind.CLAIMS) if isinstance(one.body, ClaimsEntry))
    credentials = tuple(one.body for one in within(Kind.CREDENTIAL) if isinstance(one.body, CredentialEntry))
    return claims, credentials


def _run_of(
    claims: Sequence[Claimed],
    credentials: Iterable[CredentialEntry],
    version: int,
    as_of: int,
    before: Sequence[CredibilityRow],
) -> Run:
    run = recompute(claims, credentials_in_force(credentials, as_of), as_of, before)
    return run if version == 1 else score_again(run, claims)


def _rows_of(state: State, name: str | None) -> tuple[CredibilityRow, ...]:
    """The rows of a run, none where it was erased since."""
    if name is None:
        return ()
    parts: tuple[CredibilityEntry, ...] = tuple(one for one in runs_of(state, name) if one.run == name)
    return tuple(read_run(parts).values()) if parts else ()


def _name_of(run: Run, inputs: int, previous: str | None) -> str:
    """The id of a run: by what it was made of, so that the same computation has one name."""
    made_of = (run.computation_version, run.as_of, run.inputs_digest, inputs, previous)
    return f"run:timeline-{Digest.of(canonical_bytes(list(made_of))).hex()[:_ID_HEX]}"
