"""Reading what grades are made of: claims, credentials, runs of the computation, verdicts. Each leaf is verified."""

from typing import Final, NamedTuple, TypeVar

from sidecars.graded import ClaimsEntry, CredentialEntry, CredibilityEntry, VerdictEntry
from sidecars.leaf import Kind
from timeline.grading.claims import Claimed, read_claims
from timeline.grading.credibility import newest_run, read_run
from timeline.grading.grade import Rows
from timeline.registered import Registered, newest_leaf, read_register
from timeline.state import State

Body = TypeVar("Body")

GRADING_VERSION: Final = 1
"""Of the computation that grades use (ADR 0028)."""


class Credibilities(NamedTuple):
    """The rows that grades use, the run that they are of, and whether something may have changed after it.

    ``run`` is ``None`` where nothing was computed yet.
    """

    rows: Rows
    run: CredibilityEntry | None
    is_outdated: bool


def claims_entries(state: State, about: str | None = None) -> tuple[ClaimsEntry, ...]:
    """What works claim, in the order of the log: all of it, or the leaves that name a work or a subject.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return _bodies(read_register(state, Kind.CLAIMS, about), ClaimsEntry)


def claims_about(state: State, subject: str) -> tuple[Claimed, ...]:
    """The claims about a subject.

    Raises:
        ClaimIdError: one id stands for two of them.
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return tuple(one for one in read_claims(claims_entries(state, subject)) if one.claim.subject == subject)


def credentials_of(state: State) -> tuple[CredentialEntry, ...]:
    """Every credential in the order of the log.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return _bodies(read_register(state, Kind.CREDENTIAL), CredentialEntry)


def runs_of(state: State, about: str | None = None) -> tuple[CredibilityEntry, ...]:
    """Parts of runs in the order of the log: all, or those about an entity, or of one run.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    return _bodies(read_register(state, Kind.CREDIBILITY, about), CredibilityEntry)


def verdicts_of(state: State, subject: str | None = None) -> tuple[VerdictEntry, ...]:
    """Verdicts in the order of the log, on everything or on one subject.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    found = _bodies(read_register(state, Kind.VERDICT, subject), VerdictEntry)
    return tuple(one for one in found if subject in {None, one.subject})


def credibilities_of(state: State) -> Credibilities:
    """The rows of the newest complete run that grades use.

    Raises:
        RunIncompleteError: its parts do not fit each other.
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    parts = newest_run(runs_of(state), GRADING_VERSION)
    newest = newest_change(state)
    if not parts:
        return Credibilities({}, None, newest >= 0)
    return Credibilities(read_run(parts), parts[0], newest >= parts[0].inputs)


def newest_change(state: State) -> int:
    """The newest leaf by which a computation can come out otherwise, -1 where there is none.

    Claims, a credential, or an erasure, which may have taken some of them away.

    Raises:
        IndexUnverifiedError, StateError: the state cannot be read.
    """
    erased = max((made.leaf for made in state.view.erasures), default=-1)
    return max(newest_leaf(state, Kind.CLAIMS, Kind.CREDENTIAL), erased)


def _bodies(found: tuple[Registered, ...], form: type[Body]) -> tuple[Body, ...]:
    return tuple(one.body for one in found if isinstance(one.body, form))
