"""What the owner excludes from being taken in, and going on without a list of what was forgotten (M11, M18)."""

import os
from collections.abc import Sequence
from pathlib import Path

from sidecars.erasure import Exclusion
from timeline.assertion_account import account_assertions
from timeline.forgetting.errors import (
    ExclusionUnchangedError,
    ForgetError,
    NothingToForgetError,
    SuppressionKeyLostError,
)
from timeline.forgetting.intake import (
    ExclusionMade,
    exclusions_of,
    given_up_keys,
    logged_digests,
)
from timeline.forgetting.suppression import load_suppression, make_new_key
from timeline.project import canonical_root
from timeline.service import Session


def list_exclusions(session: Session) -> tuple[ExclusionMade, ...]:
    """What the owner has excluded, oldest first.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return exclusions_of(state)


def exclusions_named(
    session: Session,
    *,
    source: str | None = None,
    session_id: tuple[str, str] | None = None,
    path: str | None = None,
    project: str | None = None,
    excluded: bool,
) -> tuple[Exclusion, ...]:
    """The exclusions that the owner names; a source is its session and its path.

    Raises:
        ForgetError: not exactly one is named.
        NothingToForgetError: there is no such source.
    """
    if sum(one is not None for one in (source, session_id, path, project)) != 1:
        message = "name exactly one of a source, a session, a path, a project"
        raise ForgetError(message)
    if session_id is not None:
        return (Exclusion("session", session_id[0], session_id[1], excluded),)
    if path is not None:
        # As transcripts are named: links in its folders resolved.
        name = str(Path(os.path.realpath(Path(path).parent)) / Path(path).name)
        return (Exclusion("path", None, name, excluded),)
    if project is not None:
        return (Exclusion("project", None, canonical_root(project), excluded),)
    with session.reading() as state:
        for known in reversed(state.view.sources):
            enrollment = known.enrollment
            if source in {enrollment.source.ref, enrollment.enrollment_id}:
                return (
                    Exclusion("session", enrollment.binding.host, enrollment.binding.session, excluded),
                    Exclusion("path", None, enrollment.source.path, excluded),
                )
    message = "no enrollment here is what was named"
    raise NothingToForgetError(message)


def set_exclusions(session: Session, wanted: Sequence[Exclusion]) -> tuple[ExclusionMade, ...]:
    """Record that nothing of these is taken in from now on, or that it is again; what is held stays held.

    Raises:
        ExclusionUnchangedError: all of it is so already.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        known = {
            (one.exclusion.about, one.exclusion.host, one.exclusion.name) for one in exclusions_of(state)
        }
        changed = [one for one in wanted if ((one.about, one.host, one.name) in known) != one.excluded]
        if not changed:
            message = "it is excluded already" if wanted[0].excluded else "it is not excluded"
            raise ExclusionUnchangedError(message)
        leaves = state.commit(changed)
        return tuple(
            ExclusionMade(leaf.index, leaf.at, body) for leaf, body in zip(leaves, changed, strict=True)
        )


def accept_lost_key(session: Session) -> int:
    """Go on without the list of what was forgotten, since its key is lost; the number of digests that are given up.

    Raises:
        ExclusionUnchangedError: the key is there.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        logged = logged_digests(state.view)
        try:
            load_suppression(state.locations, logged, lambda: given_up_keys(state))
        except SuppressionKeyLostError:
            pass
        else:
            message = "the key of what was forgotten is there"
            raise ExclusionUnchangedError(message)
        given_up = given_up_keys(state)
        lost = sorted(name for name, digests in logged.items() if digests and name not in given_up)
        if lost:
            state.commit([Exclusion("suppression-key", None, name, excluded=False) for name in lost])
        make_new_key(state.locations, state.ports.entropy)
        return sum(len(logged[name]) for name in lost)
