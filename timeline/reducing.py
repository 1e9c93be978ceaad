"""Sidecars made again without events that are forgotten: they take the place of those that hold them (ADR 0030).

Neither the transcript is read nor a leaf erased: a leaf of a sidecar holds digests and counts. Everything else that the
sidecar says stays: its place, its span, its cursor, its bounds. The newest one also says how many user messages there
are, so it is made again wherever one of those goes.
"""

from collections.abc import Callable, Sequence

import msgspec

from sidecars.event import USER_MESSAGE, Event
from sidecars.leaf import SidecarEntry
from sidecars.sidecar import Sidecar, SidecarHeader, format_sidecar
from timeline.account import rows_of_sidecars
from timeline.erasing import Reduced
from timeline.forgetting.intake import is_event_forgotten
from timeline.forgetting.plan import Plan
from timeline.forgetting.suppression import Suppression
from timeline.projection import SourceRows, write_source
from timeline.state import State
from timeline.store import Store
from timeline.verified import SealedSidecar, VerifiedSidecar
from timeline.view import EnrolledSource

IsGone = Callable[[Event], bool]
"""Whether an event is forgotten."""

_NONCE_BYTES = 16


class _Part(msgspec.Struct, frozen=True):
    """One sidecar that is kept: as it is, what is to stay of its events, and the user messages that go from it."""

    entry: SidecarEntry
    verified: VerifiedSidecar
    sidecar: Sidecar
    lasting: tuple[Event, ...]
    messages_gone: int
    """In the newest sidecar, which counts them, those that go from any."""

    @property
    def loses(self) -> bool:
        """Whether an event goes from it."""
        return len(self.lasting) < len(self.sidecar.events)


def reduce_sidecars(state: State, plan: Plan, suppression: Suppression) -> Reduced:
    """Make the sidecars of a plan's files again without the events that it forgets; nothing is written.

    Those whose source goes with its leaves are left out.

    Raises:
        KeyMismatchError: the private log key is not here.
        SidecarError: a sidecar is missing or not to be believed.
    """
    only = msgspec.structs.replace(suppression, digests=frozenset(plan.suppressed))
    files, leaves = frozenset(plan.files), frozenset(plan.leaves)
    entries: list[SidecarEntry] = []
    sealed: list[SealedSidecar] = []
    rows: dict[int, SourceRows] = {}
    for source in state.view.active:
        if files.isdisjoint(entry.digest for entry in source.kept):
            continue
        if source.index in leaves or not leaves.isdisjoint(source.leaves):
            continue
        opened = []
        for part in _parts(state, source, lambda event: is_event_forgotten(only, event)):
            if not part.loses and not part.messages_gone:
                opened.append((part.verified, part.sidecar))
                continue
            entry, made, sidecar = _seal(state, part)
            entries.append(entry)
            sealed.append(made)
            opened.append((made.verified, sidecar))
        rows[source.index] = rows_of_sidecars(source.index, opened)

    def project(store: Store) -> None:
        for index, found in rows.items():
            write_source(store, index, found)

    return Reduced(tuple(entries), tuple(sealed), project) if entries else Reduced()


def _parts(state: State, source: EnrolledSource, is_gone: IsGone) -> list[_Part]:
    parts: list[_Part] = []
    for entry in source.kept:
        verified, sidecar = state.open_sidecar(entry)
        gone = [event for event in sidecar.events if is_gone(event)]
        lasting = tuple(event for event in sidecar.events if event not in gone)
        parts.append(_Part(entry, verified, sidecar, lasting, _count_messages(gone)))
    if parts:
        parts[-1] = msgspec.structs.replace(
            parts[-1], messages_gone=sum(part.messages_gone for part in parts)
        )
    return parts


def _count_messages(events: Sequence[Event]) -> int:
    return sum(event.kind == USER_MESSAGE for event in events)


def _seal(state: State, part: _Part) -> tuple[SidecarEntry, SealedSidecar, Sidecar]:
    payload, sidecar = format_sidecar(_header_of(state, part), part.lasting)
    sealed = state.seal_sidecar(payload, sidecar)
    entry = msgspec.structs.replace(
        part.entry,
        digest=str(sealed.verified.digest),
        count=sidecar.header.count,
        root=sidecar.header.root,
        evicts=(part.entry.digest,),
    )
    return entry, sealed, sidecar


def _header_of(state: State, part: _Part) -> SidecarHeader:
    header = part.sidecar.header
    messages = (header.user_messages or 0) - part.messages_gone
    return msgspec.structs.replace(
        header,
        nonce=state.ports.entropy.bytes(_NONCE_BYTES).hex(),
        user_messages=messages or msgspec.UNSET,
    )
