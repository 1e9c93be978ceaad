"""One event as a file that others can verify: made from the signed state alone, and verified before it is given away.

The transcript is not opened: a proof says what was recorded, not that the lines still stand there. Consent and scope
must cover the event as for any other answer. Nothing is written, and no key is used but for the in-toto form, which
the log key signs.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from sidecars.attestation import attest
from sidecars.bundle import assemble_bundle, format_bundle, is_cosignature
from sidecars.event import format_event
from sidecars.keys import KeyRef, Verifier
from sidecars.leaf import KeyEpoch, SidecarEntry, leaf_hash
from sidecars.note import Note, NoteSignature, format_note, parse_note
from sidecars.proven import Proven, verify_bundle
from sidecars.sidecar import Sidecar
from timeline.account import check_accounted
from timeline.errors import EventNotFoundError
from timeline.projection import parse_event_id
from timeline.service import Session, asked_sources, open_repaired
from timeline.state import State
from timeline.view import EnrolledSource

Form = Literal["bundle", "in-toto"]


class Proof(msgspec.Struct, frozen=True):
    """A proof that was verified here: the file, what it shows, and whose keys a verifier needs.

    ``cosigners`` are witnesses whose signatures are in it; they were not verified here.
    """

    content: bytes
    form: Form
    proven: Proven
    keys: tuple[Verifier, ...]
    cosigners: tuple[KeyRef, ...]


class _Place(msgspec.Struct, frozen=True):
    """Where an event stands: its sidecar's leaf, and its number in the sidecar."""

    leaf: int
    number: int
    sidecar: Sidecar


def prove_event(session: Session, root: str, event_id: str, *, form: Form = "bundle") -> Proof:
    """Make the proof of one event that the log holds now.

    Raises:
        QueryError: not an event id.
        EventNotFoundError: no event of the project that is consented to has it.
        AccessError: nothing is enrolled, or it has ended.
        ClockError: the clock stands before the consent.
        StateError, SidecarError: the state is not to be believed.
    """
    number = parse_event_id(event_id)
    with open_repaired(session) as state:
        place = _find_event(state, asked_sources(state, session, root, None), event_id, number)
        return _prove(state, place, form)


def _find_event(state: State, sources: Sequence[EnrolledSource], event_id: str, number: int) -> _Place:
    """The event in its signed sidecar; the search index only says where to look."""
    for source in sources:
        check_accounted(state, source)
    allowed = {source.index: source for source in sources}
    for row in state.store.events("WHERE id64 = ?", (number,)):
        source = allowed.get(row.source)
        if source is None:
            continue
        entry = source.entries[row.segment]
        sidecar = state.open_sidecar(entry)[1]
        for position, event in enumerate(sidecar.events):
            if event.id == event_id:
                return _Place(_leaf_of(state, entry), position, sidecar)
    message = "no event that is consented to in this project has this id"
    raise EventNotFoundError(message)


def _leaf_of(state: State, entry: SidecarEntry) -> int:
    return next(leaf.index for leaf in state.reading.leaves if leaf.body == entry)


def _prove(state: State, place: _Place, form: Form) -> Proof:
    note, epochs = _checkpoint(state, place.leaf)
    shown = {0, place.leaf, *epochs}
    entries: dict[int, tuple[bytes, bytes]] = {}
    hashes = []
    for index, salt, envelope in state.store.leaves():
        if (
            index >= state.belief.size
        ):  # committed after this state was read; the checkpoint does not cover it
            break
        hashes.append(leaf_hash(salt, envelope))
        if index in shown:
            entries[index] = (salt, envelope)
    event = format_event(place.sidecar.events[place.number])

    def bundle_under(signed: Note) -> bytes:
        events = place.sidecar.leaf_hashes
        return format_bundle(
            assemble_bundle(event, place.number, events, entries, hashes, format_note(signed))
        )

    keys = _keys(state, epochs)
    # Verified as a stranger will; cosignatures apart, since the witnesses' keys are the verifier's to have.
    proven = verify_bundle(bundle_under(_without_cosignatures(note)), keys)
    content = bundle_under(note)
    cosigners = tuple(signature.key for signature in note.signatures if is_cosignature(signature))
    return Proof(
        content if form == "bundle" else attest(content, state.keystore.log), form, proven, keys, cosigners
    )


def _checkpoint(state: State, leaf: int) -> tuple[Note, tuple[int, ...]]:
    """The head with every known signature, and the leaves of the key epochs that its keys and ``leaf`` need."""
    head = parse_note(state.reading.finding.head.note)
    anchor = parse_note(state.reading.anchor)
    signatures = list(head.signatures)
    if anchor.text == head.text:  # witnesses may have signed either copy
        known = {signature.key for signature in signatures}
        signatures += [signature for signature in anchor.signatures if signature.key not in known]
    in_force: int | None = None
    named: dict[KeyRef, int] = {}
    for stated in state.reading.leaves:
        if isinstance(stated.body, KeyEpoch):
            named[Verifier.parse(stated.body.log_key).ref] = stated.index
            if stated.index < leaf:
                in_force = stated.index
    kept = [s for s in signatures if is_cosignature(s) or s.key in named]
    signed = {named[signature.key] for signature in kept if signature.key in named}
    return Note(head.text, tuple(kept)), tuple(sorted(signed if in_force is None else {in_force, *signed}))


def _without_cosignatures(note: Note) -> Note:
    kept: tuple[NoteSignature, ...] = tuple(s for s in note.signatures if not is_cosignature(s))
    return Note(note.text, kept)


def _keys(state: State, epochs: Sequence[int]) -> tuple[Verifier, ...]:
    """The owner key, which is pinned, and the log keys of the epochs, which it named and the log was verified with."""
    keys = [state.keystore.pins.owner]
    for index in epochs:
        body = state.reading.leaves[index].body
        if not isinstance(body, KeyEpoch):
            message = "an epoch's leaf is a key epoch"
            raise RuntimeError(message)
        keys.append(Verifier.parse(body.log_key))
    return tuple(keys)
