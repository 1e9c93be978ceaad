"""Proofs of events of a log in memory, as the program makes them, and the same done wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sidecars.bundle import assemble_bundle, format_bundle, parse_bundle
from sidecars.checkpoint import Checkpoint, format_checkpoint
from sidecars.cosignature import WitnessSigner, WitnessVerifier
from sidecars.digest import Digest
from sidecars.envelope import seal
from sidecars.event import Event, format_event
from sidecars.keys import Signer, Verifier
from sidecars.leaf import SidecarEntry, leaf_hash
from sidecars.note import Note, NoteSignature, format_note
from sidecars.sidecar import PAYLOAD_TYPE, Sidecar, format_sidecar
from tests.sidecars.samples import ENROLLMENT, LOG, ORIGIN, OWNER, SOURCE, make_event, make_header
from tests.sidecars.simulator import LogSimulator, entry, key_epoch, policy

WITNESSES = (WitnessSigner("witness.example/w1", b"1" * 32), WitnessSigner("witness.example/w2", b"2" * 32))
KEYS: tuple[Verifier, ...] = (OWNER.verifier, LOG.verifier)
COSIGNED_AT = 1_790_000_100


def witness_keys(count: int = 2) -> tuple[WitnessVerifier, ...]:
    """Give the public keys of the first witnesses."""
    return tuple(witness.verifier for witness in WITNESSES[:count])


def events_of(count: int) -> list[Event]:
    """Give events in file order."""
    return [make_event(offset=1000 * number) for number in range(count)]


def enter(log: LogSimulator, events: Sequence[Event], source: str = SOURCE) -> tuple[int, Sidecar]:
    """Commit a sidecar with these events; give its leaf's index and the sidecar."""
    payload, sidecar = format_sidecar(make_header(1000 * len(events) + 1000, source=source), events)
    digest = Digest.of(seal(PAYLOAD_TYPE, payload, [log.log]))
    entry = SidecarEntry(
        digest=str(digest),
        source=source,
        segment=0,
        enrollment_id=ENROLLMENT,
        count=len(events),
        root=sidecar.header.root,
    )
    log.commit([entry])
    return log.frontier.size - 1, sidecar


def signed_note(
    log: LogSimulator, signers: Sequence[Signer], witnesses: Sequence[WitnessSigner] = ()
) -> bytes:
    """Give a checkpoint of the present tree, signed and cosigned."""
    text = format_checkpoint(Checkpoint(ORIGIN, log.frontier.size, Digest(log.frontier.root())))
    lines = [NoteSignature(signer.ref, signer.sign(text.encode())) for signer in signers]
    lines += [witness.cosign(text, COSIGNED_AT + n) for n, witness in enumerate(witnesses)]
    return format_note(Note(text, tuple(lines)))


@dataclass(frozen=True)
class Case:
    """One event of a log, and what its proof shows; ``content`` is the file."""

    log: LogSimulator
    leaf: int
    sidecar: Sidecar
    place: int = 0
    shown: tuple[int, ...] = (0, 1)
    signers: tuple[Signer, ...] = (LOG,)
    witnesses: tuple[WitnessSigner, ...] = ()

    def but(self, **changes: object) -> "Case":
        """Give the same with changes."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the tests name fields

    @property
    def event(self) -> Event:
        """The event that is proven."""
        return self.sidecar.events[self.place]

    @property
    def content(self) -> bytes:
        """The proof."""
        leaves = self.log.view.leaves
        bundle = assemble_bundle(
            format_event(self.event),
            self.place,
            self.sidecar.leaf_hashes,
            {index: leaves[index] for index in (*self.shown, self.leaf)},
            [leaf_hash(*leaf) for leaf in leaves],
            signed_note(self.log, self.signers, self.witnesses),
        )
        return format_bundle(bundle)


def make_case(*, events: int = 3, place: int = 1, simulated: bool = False, after: int = 2) -> Case:
    """Give a log with a sidecar of ``events`` events, and ``after`` more sidecars behind it."""
    log = LogSimulator(started=False)
    log.commit([policy(simulated=simulated), key_epoch()])
    leaf, sidecar = enter(log, events_of(events))
    for number in range(after):
        log.commit([entry(number)])
    return Case(log, leaf, sidecar, place)


def edited(content: bytes, **changes: object) -> bytes:
    """Give the proof with fields changed, spelled correctly."""
    return format_bundle(replace(parse_bundle(content), **changes))  # type: ignore[arg-type]  # the tests name fields


def with_leaf(content: bytes, number: int, **changes: object) -> bytes:
    """Give the proof with one of its leaves changed."""
    leaves = list(parse_bundle(content).leaves)
    leaves[number] = replace(leaves[number], **changes)  # type: ignore[arg-type]  # as above
    return edited(content, leaves=tuple(leaves))
