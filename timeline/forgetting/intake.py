"""What may be taken in: nothing that was forgotten (M18), and nothing that the owner has excluded (M11).

Asked wherever something enters: receipts, enrollments, indexing, the world's ledger, imports.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.erasure import Exclusion
from sidecars.event import Event
from sidecars.graded import ClaimsEntry
from sidecars.leaf import EnrollmentBinding, Kind
from timeline.files import is_there
from timeline.forgetting.errors import ExcludedError, ForgottenError
from timeline.forgetting.plan import is_entry_forgotten, is_work_forgotten
from timeline.forgetting.suppression import (
    Forgotten,
    Logged,
    Suppression,
    check_transcript,
    load_suppression,
)
from timeline.registered import read_register
from timeline.state import State
from timeline.view import LogView


class ExclusionMade(msgspec.Struct, frozen=True):
    """An exclusion in force, the leaf that states it, and when that was written (UTC milliseconds)."""

    leaf: int
    at: int
    exclusion: Exclusion


def logged_digests(view: LogView) -> Logged:
    """What the log's erasures suppress, by the commitment of their key."""
    found: dict[str, set[str]] = defaultdict(set)
    for made in view.erasures:
        found[made.body.key].update(made.body.suppressed)
    return {key: frozenset(digests) for key, digests in found.items()}


def given_up_keys(state: State) -> frozenset[str]:
    """Commitments of suppression keys that the owner goes on without.

    Raises:
        StateError, SidecarError: the register cannot be read.
    """
    return frozenset(
        one.body.name
        for one in read_register(state, Kind.EXCLUSION, "suppression-key")
        if isinstance(one.body, Exclusion)
    )


def suppression_of(state: State) -> Suppression:
    """What was forgotten and must not come back.

    Raises:
        SuppressionKeyLostError, SuppressionInvalidError, StateError: see ``load_suppression``.
    """
    if not state.view.erasures and not is_there(state.locations.suppression):
        return Suppression()
    return load_suppression(state.locations, logged_digests(state.view), lambda: given_up_keys(state))


def exclusions_of(state: State) -> tuple[ExclusionMade, ...]:
    """The exclusions in force, oldest first.

    Raises:
        StateError, SidecarError: the register cannot be read.
    """
    found: dict[tuple[str, str | None, str], ExclusionMade] = {}
    for one in read_register(state, Kind.EXCLUSION):
        body = one.body
        if not isinstance(body, Exclusion) or body.about == "suppression-key":
            continue
        key = (body.about, body.host, body.name)
        found.pop(key, None)
        if body.excluded:
            found[key] = ExclusionMade(one.leaf, one.at, body)
    return tuple(found.values())


def is_excluded(exclusions: Iterable[ExclusionMade], binding: EnrollmentBinding, path: str) -> bool:
    """Whether one of these covers a session at a path. Pure."""
    names = {
        ("session", binding.host, binding.session),
        ("path", None, path),
        ("project", None, binding.project),
    }
    return any((one.exclusion.about, one.exclusion.host, one.exclusion.name) in names for one in exclusions)


def check_source(
    state: State, binding: EnrollmentBinding, path: str, beginning: Callable[[], bytes] = bytes
) -> None:
    """Return only if a session's transcript may be taken in; ``beginning`` reads its first bytes, if need be.

    Raises:
        ExcludedError: the owner has excluded it.
        ForgottenError: it was forgotten.
        SuppressionKeyLostError, StateError, SidecarError: nobody can tell.
    """
    suppression = suppression_of(state)
    if suppression.digests:
        check_transcript(
            suppression, host=binding.host, session=binding.session, path=path, beginning=beginning()
        )
    if is_excluded(exclusions_of(state), binding, path):
        message = "the owner has excluded this session, its path or its project"
        raise ExcludedError(message)


def is_source_refused(state: State, binding: EnrollmentBinding, path: str) -> bool:
    """Whether ``check_source`` refuses; for whoever passes over what may not be taken in.

    Raises:
        SuppressionKeyLostError, StateError, SidecarError: nobody can tell.
    """
    try:
        check_source(state, binding, path)
    except (ExcludedError, ForgottenError):
        return True
    return False


def is_event_forgotten(suppression: Suppression, event: Event) -> bool:
    """Whether an event, or one whose lines begin with the same, was forgotten. Pure.

    Under another enrollment the same lines make another event; and what was told of a call that went on is told again
    with the lines that follow.
    """
    return suppression.holds(Forgotten.EVENT, event.id) or any(
        suppression.holds(Forgotten.LINES, *lines) for lines in beginnings_of(event)
    )


def beginnings_of(event: Event) -> tuple[tuple[str, ...], ...]:
    """By what an event is known wherever its lines stand: the first of them, the first two, and so on to all.

    A line is its digest, with the number of the part that tells of the event where it is not the first: one line can
    tell of several.
    """
    lines = tuple(f"{line.sha256}.{line.part}" if line.part else line.sha256 for line in event.lines)
    return tuple(lines[:count] for count in range(1, len(lines) + 1))


def kept_events(suppression: Suppression, events: Sequence[Event]) -> list[Event]:
    """The events that were not forgotten, in the same order. Pure."""
    if not suppression.digests:
        return list(events)
    return [event for event in events if not is_event_forgotten(suppression, event)]


def check_entries(
    state: State, entries: Sequence[AssertionEntry], sees: Callable[[AssertionEntry], bool]
) -> None:
    """Return only if assertions may be recorded: none of them, nor what it says, was forgotten.

    ``sees`` tells whether who records may see an assertion: of a value that he could not have seen he learns nothing.

    Raises:
        ForgottenError: one was; the message does not say which.
        SuppressionKeyLostError, SuppressionInvalidError, StateError: nobody can tell.
    """
    suppression = suppression_of(state)
    if suppression.digests and any(
        is_entry_forgotten(suppression, entry, is_seen=sees(entry)) for entry in entries
    ):
        message = "what is to be recorded was forgotten"
        raise ForgottenError(message)


def check_works(state: State, works: Iterable[ClaimsEntry]) -> None:
    """Return only if the claims of works may be recorded: neither a work nor a claim of one was forgotten.

    Raises:
        ForgottenError: one was; the message does not say which.
        SuppressionKeyLostError, SuppressionInvalidError, StateError: nobody can tell.
    """
    suppression = suppression_of(state)
    if suppression.digests and any(is_work_forgotten(suppression, work) for work in works):
        message = "the claims of a work: it was forgotten"
        raise ForgottenError(message)


def is_suppressed(state: State, kind: Forgotten, *parts: str) -> bool:
    """Whether exactly this was forgotten by a signed erasure: a missing dependency is then an authentic gap (P2, P35).

    Raises:
        SuppressionKeyLostError, SuppressionInvalidError, StateError: nobody can tell.
    """
    suppression = suppression_of(state)
    logged = logged_digests(state.view).get(suppression.commitment or "", frozenset())
    return bool(logged) and suppression.digest(kind, *parts) in logged
