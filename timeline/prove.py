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
from sidecars.erased import stored_hash
from sidecars.event import format_event
from sidecars.keys import KeyRef, Verifier
from sidecars.note import Note, NoteSignature, format_note, parse_note
from sidecars.proven import Proven, verify_bundle
from sidecars.sidecar import Sidecar
from timeline.account import check_accounted
from timeline.errors import EventNotFoundError, QueryError
from timeline.projection import parse_event_id
from timeline.service import Session, asked_sources
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
    with session.reading() as state:
        place = _find_event(state, asked_sources(state, session, root, None), event_id, number)
        if form == "in-toto" and place.sidecar.events[place.number].is_statement:
            message = "an attestation is of a test result, and what a person typed is none"
            raise QueryError(message, hint="a proof in the other form shows that the line is on record")
        return _prove(state, place, form)


def _find_event(state: State, sources: Sequence[EnrolledSource], event_id: str, number: int) -> _Place:
    """The event in its signed sidecar; the search index only says where to look."""
    for source in sources:
        check_accounted(state, source)
    allowed = {source.index: source for source in sources}
    for row in state.store.events("WHERE id64 = ?", (number,)):
        holder = allowed.get(row.source)
        if holder is None:
            continue
        entry = holder.entries[row.segment]
        sidecar = state.open_sidecar(entry)[1]
        for position, event in enumerate(sidecar.events):
            if event.id == event_id:
                return _Place(holder.leaves[row.segment], position, sidecar)
    message = "no event that is consented to in this project has this id"
    if state.view.erased:
        # Nobody can tell which events they were: what could say so was erased with them.
        count = len(state.view.erased)
        hint = f"{count} leaves of the log were erased, and an event of theirs cannot be proved any more"
        raise EventNotFoundError(message, hint=hint)
    raise EventNotFoundError(message)


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
        hashes.append(stored_hash(salt, envelope))
        if index in shown:
            entries[index] = (salt, envelope)
    event = format_event(place.sidecar.events[place.number])

    def bundle_under(signed: Note) -> bytes:
        events = place.sidecar.leaf_hashes
        return format_bundle(
            assemble_bundle(event, place.number, events, entries, hashes, format_note(signed))
        )

    # The owner key is pinned; the log keys are those that it named and that the log was verified with.
    keys = (state.keystore.pins.owner, *epochs.values())
    # Verified as a stranger will; cosignatures apart, since the witnesses' keys are the verifier's to have.
    proven = verify_bundle(bundle_under(_without_cosignatures(note)), keys)
    content = bundle_under(note)
    cosigners = tuple(signature.key for signature in note.signatures if is_cosignature(signature))
    return Proof(
        content if form == "bundle" else attest(content, state.keystore.log), form, proven, keys, cosigners
    )


def _checkpoint(state: State, leaf: int) -> tuple[Note, dict[int, Verifier]]:
    """The head with every signature that a proof can hold, and the key epochs that it and ``leaf`` need, by leaf."""
    head = parse_note(state.reading.finding.head.note)
    signatures = {signature.key: signature for signature in head.signatures}
    # What witnesses have signed lies apart from the head; a copy of the anchor may carry signatures as well.
    anchor = state.reading.anchor
    for note in (*(() if anchor is None else (anchor,)), *state.external.confirmed_notes(state.present)):
        confirmed = parse_note(note)
        if confirmed.text == head.text:
            signatures = {signature.key: signature for signature in confirmed.signatures} | signatures
    epochs = [(epoch.leaf, epoch.log_key) for epoch in state.reading.finding.belief.epochs]
    in_force = max(index for index, _ in epochs if index < leaf)  # a sidecar's leaf follows an epoch
    needed = {index: key for index, key in epochs if index == in_force or key.ref in signatures}
    log_keys = {key.ref for _, key in epochs}
    kept = tuple(s for s in signatures.values() if is_cosignature(s) or s.key in log_keys)
    return Note(head.text, kept), needed


def _without_cosignatures(note: Note) -> Note:
    kept: tuple[NoteSignature, ...] = tuple(s for s in note.signatures if not is_cosignature(s))
    return Note(note.text, kept)
