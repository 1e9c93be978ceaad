"""What a proof shows once every signature in it was verified with keys that the verifier brought; and what it does not.

It decides and does no I/O. Origin and roles come from the names of the supplied keys, never from the file: a log key
bears the log's origin as its name, the owner key that name and ``/owner``. A signature by any other key refuses the
whole, since nobody could say what it adds.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sidecars.bundle import Bundle, BundleLeaf, is_cosignature, parse_bundle
from sidecars.checkpoint import Checkpoint, parse_checkpoint
from sidecars.closed import Object, event_id, read_event, read_leaf
from sidecars.cosignature import Cosignature, WitnessVerifier
from sidecars.digest import Digest
from sidecars.encoding import from_base64url
from sidecars.envelope import parse_envelope, verify_envelope
from sidecars.errors import (
    BrokenLinkError,
    CosignatureMissingError,
    DigestMismatchError,
    MalformedError,
    OriginMismatchError,
    PayloadTypeError,
    UnknownKeyError,
)
from sidecars.keys import KeyRef, Verifier
from sidecars.merkle import leaf_hash, verify_inclusion
from sidecars.note import Note, parse_note

_OWNER_SUFFIX: Final = "/owner"
_TYPES: Final = {
    f"application/vnd.timeline.leaf.{kind}.v1+json": kind for kind in ("policy", "key-epoch", "sidecar")
}
"""The kinds of leaf that a proof shows. No other kind may be in it: an enrollment would show a path."""


@dataclass(frozen=True, slots=True)
class Proven:
    """What the verified proof of one event states.

    ``event`` is the event's JSON object and ``event_sha256`` the hex SHA-256 of its line; ``place`` is its number
    among the ``count`` events of its sidecar. ``at`` is when its leaf says that it was recorded (UTC milliseconds,
    the log's own word). ``epoch`` is the key epoch of that leaf, and ``compromised`` says that the proof itself shows
    the owner's word that its log key was stolen. ``log_keys`` are all that signed something.
    """

    event: Object
    event_sha256: str
    place: int
    count: int
    source: str
    segment: int
    enrollment_id: str
    sidecar_digest: str
    leaf_index: int
    at: int
    epoch: int
    compromised: bool
    simulated_host: bool
    checkpoint: Checkpoint
    owner_key: KeyRef
    log_keys: tuple[KeyRef, ...]
    checkpoint_key: KeyRef
    cosigned: tuple[Cosignature, ...]


@dataclass(frozen=True, slots=True)
class _Opened:
    """One leaf whose signature, place and origin were checked."""

    index: int
    kind: str
    key: Verifier
    leaf: Object


def verify_bundle(
    content: bytes, keys: Sequence[Verifier], witnesses: Sequence[WitnessVerifier] = ()
) -> Proven:
    """Verify the proof of one event with the keys of its log and of its witnesses, and nothing else.

    Each of ``witnesses`` must have cosigned, and nobody else may have.

    Raises:
        MalformedError, UnsupportedVersionError: not a proof, or another spelling of one.
        UnknownKeyError: something in it was signed by a key that is not among the supplied ones, or by a log key that
            no key epoch in it names at that place.
        BadSignatureError: a signature does not fit.
        OriginMismatchError, PayloadTypeError: a part is of another log, or is not what it is offered as.
        BadProofError, DigestMismatchError, BrokenLinkError: parts do not belong together.
        CosignatureMissingError: a supplied witness has not cosigned.
    """
    bundle = parse_bundle(content)
    note = parse_note(bundle.checkpoint)
    checkpoint = parse_checkpoint(note.text)
    ring = _Ring(checkpoint.origin, keys)
    signers, cosigned = _verify_note(note, ring, witnesses)
    opened = [_open_leaf(leaf, checkpoint, ring) for leaf in bundle.leaves]
    policy, epochs, entry = _sort_leaves(opened)
    epoch = _check_epochs(epochs, entry, signers)
    _check_handover(epochs, signers, checkpoint.size)
    event = _verify_event(bundle, entry.leaf["body"])
    body = entry.leaf["body"]
    return Proven(
        event=event,
        event_sha256=hashlib.sha256(bundle.event).hexdigest(),
        place=bundle.place,
        count=body["count"],
        source=body["source"],
        segment=body["segment"],
        enrollment_id=body["enrollment_id"],
        sidecar_digest=body["digest"],
        leaf_index=entry.index,
        at=entry.leaf["at"],
        epoch=epoch,
        compromised=_is_compromised(epochs, epoch),
        simulated_host=policy.leaf["body"]["simulated_host"],
        checkpoint=checkpoint,
        owner_key=policy.key.ref,
        log_keys=tuple(sorted({key.ref for key in (*signers, entry.key)})),
        checkpoint_key=Verifier.parse(epochs[-1].leaf["body"]["log_key"]).ref,
        cosigned=cosigned,
    )


class _Ring:
    """The supplied keys, by what their names let them sign in the log of ``origin``."""

    def __init__(self, origin: str, keys: Sequence[Verifier]) -> None:
        self.origin = origin
        self._keys = _by_ref(keys)

    def log_key(self, ref: KeyRef) -> Verifier:
        """The log key that ``ref`` names."""
        return self._find(ref, self.origin, "log")

    def owner_key(self, ref: KeyRef) -> Verifier:
        """The owner key that ``ref`` names."""
        return self._find(ref, self.origin + _OWNER_SUFFIX, "owner")

    def _find(self, ref: KeyRef, name: str, role: str) -> Verifier:
        verifier = self._keys.get(ref)
        if verifier is None:
            raise _unknown(ref, role)
        if ref.name != name:
            raise UnknownKeyError(f"key id {ref.key_id.hex()}: its name must be that of the log's {role} key")
        return verifier


def _by_ref(keys: Sequence[Verifier]) -> dict[KeyRef, Verifier]:
    found: dict[KeyRef, Verifier] = {}
    for key in keys:
        if found.setdefault(key.ref, key) != key:
            raise MalformedError("two supplied keys share one name and id")
    return found


def _unknown(ref: KeyRef, role: str) -> UnknownKeyError:
    # The id and not the name: a file may call a key anything.
    return UnknownKeyError(
        f"the {role} signature with key id {ref.key_id.hex()} is by no supplied key",
        hint=(
            "give every key that signed: owner key and log key with --key, each witness with --witness; "
            "take them from the owner, never from the file"
        ),
    )


def _verify_note(
    note: Note, ring: _Ring, witnesses: Sequence[WitnessVerifier]
) -> tuple[tuple[Verifier, ...], tuple[Cosignature, ...]]:
    """The log keys that signed the checkpoint, and who cosigned it; every signature is one of these."""
    known = {witness.ref: witness for witness in witnesses}
    signers, cosigned = [], []
    message = note.text.encode()
    for signature in note.signatures:
        if is_cosignature(signature):
            witness = known.get(signature.key)
            if witness is None:
                raise _unknown(signature.key, "witness")
            cosigned.append(Cosignature(signature.key, witness.verify(note.text, signature.signature)))
        else:
            verifier = ring.log_key(signature.key)
            verifier.verify(message, signature.signature)
            signers.append(verifier)
    missing = known.keys() - {one.key for one in cosigned}
    if missing:
        names = ", ".join(sorted(str(ref) for ref in missing))
        raise CosignatureMissingError(f"the checkpoint must be cosigned by every supplied witness: {names}")
    if not signers:
        raise UnknownKeyError("the checkpoint must be signed by a log key")
    return tuple(signers), tuple(cosigned)


def _open_leaf(leaf: BundleLeaf, checkpoint: Checkpoint, ring: _Ring) -> _Opened:
    """Check a leaf's place in the tree, then its one signature, then read it."""
    hashed = leaf_hash(leaf.salt + leaf.envelope)
    verify_inclusion(hashed, leaf.index, checkpoint.size, leaf.hashes, checkpoint.root.raw)
    envelope = parse_envelope(leaf.envelope)
    kind = _TYPES.get(envelope.payload_type)
    if kind is None:
        raise PayloadTypeError(
            "a proof must show a policy, key epochs and a sidecar entry, and no other leaf"
        )
    if len(envelope.signatures) != 1:
        raise UnknownKeyError(f"leaf {leaf.index}: it must have exactly one signature")
    ref = envelope.signatures[0].key
    key = ring.log_key(ref) if kind == "sidecar" else ring.owner_key(ref)
    verify_envelope(envelope, envelope.payload_type, [key])
    read = read_leaf(envelope.payload, kind)
    if read["origin"] != ring.origin:
        raise OriginMismatchError(f"leaf {leaf.index}: its origin must be that of the checkpoint")
    if read["index"] != leaf.index:
        raise BrokenLinkError(f"leaf {leaf.index}: its index must be its place")
    return _Opened(leaf.index, kind, key, read)


def _sort_leaves(opened: Sequence[_Opened]) -> tuple[_Opened, list[_Opened], _Opened]:
    """The policy at leaf 0, the key epochs in order, and the one sidecar entry."""
    policies = [one for one in opened if one.kind == "policy"]
    epochs = [one for one in opened if one.kind == "key-epoch"]
    entries = [one for one in opened if one.kind == "sidecar"]
    if len(policies) != 1 or policies[0].index != 0:
        raise BrokenLinkError(
            "a proof must show the first leaf of the log, which is the policy, and no later one"
        )
    if len(entries) != 1:
        raise BrokenLinkError("a proof must show exactly one sidecar entry")
    return policies[0], epochs, entries[0]


def _check_epochs(epochs: Sequence[_Opened], entry: _Opened, signers: Sequence[Verifier]) -> int:
    """The epoch of the entry: the newest one shown before it names its key; the newest of all, the checkpoint's.

    What an older key signs later, or a newer key earlier, is refused (CVE-2023-31439). Each epoch shown is needed.
    """
    named: dict[str, int] = {}
    before = -1
    current: _Opened | None = None
    for epoch in epochs:
        body = epoch.leaf["body"]
        if body["epoch"] <= before:
            raise BrokenLinkError(f"leaf {epoch.index}: key epochs must count upwards")
        before = body["epoch"]
        if body["owner_key"] != str(epoch.key):
            raise UnknownKeyError(f"leaf {epoch.index}: a key epoch must name the owner key that signed it")
        named[body["log_key"]] = epoch.index
        if epoch.index < entry.index:
            current = epoch
    if current is None or current.leaf["body"]["log_key"] != str(entry.key):
        raise UnknownKeyError(f"leaf {entry.index}: it must be signed by the log key of its epoch")
    signed = {str(key) for key in signers}
    if epochs[-1].leaf["body"]["log_key"] not in signed:
        raise UnknownKeyError("the checkpoint must be signed by the log key of the newest epoch shown")
    if named.keys() != signed | {str(entry.key)} or len(named) != len(epochs):
        raise BrokenLinkError(
            "a proof must show exactly the epochs of the log keys that signed something in it"
        )
    return int(current.leaf["body"]["epoch"])


def _check_handover(epochs: Sequence[_Opened], signers: Sequence[Verifier], size: int) -> None:
    """The first checkpoint after a rotation is signed by the key before it as well."""
    last = epochs[-1].leaf["body"]
    if last["reason"] != "rotation" or epochs[-1].index + 1 != size:
        return
    before = {epoch.leaf["body"]["epoch"]: epoch.leaf["body"]["log_key"] for epoch in epochs[:-1]}
    if before.get(last["epoch"] - 1) not in {str(key) for key in signers}:
        raise UnknownKeyError("the first checkpoint after a rotation must be signed by the key before it too")


def _is_compromised(epochs: Sequence[_Opened], epoch: int) -> bool:
    """Whether the epoch that follows ``epoch`` is shown and says that the key of ``epoch`` was stolen."""
    return any(
        shown.leaf["body"]["epoch"] == epoch + 1 and shown.leaf["body"]["reason"] == "compromised"
        for shown in epochs
    )


def _verify_event(bundle: Bundle, body: Object) -> Object:
    """The event, once its line was found at its place under the root that the sidecar's leaf states."""
    root = Digest(from_base64url(body["root"], "root"))
    verify_inclusion(leaf_hash(bundle.event), bundle.place, body["count"], bundle.hashes, root.raw)
    event = read_event(bundle.event)
    if event["id"] != event_id(body["source"], event):
        raise DigestMismatchError("an event's id must be that of its source and lines")
    return event


# -- in words --------------------------------------------------------------------------------------------------

_NOT_PROVED: Final = (
    "that this is the newest state: the event may have been revoked, forgotten or replaced since",
    "that the transcript still exists, or still holds the lines whose digests the event names",
    "that the host wrote the truth, or which source code was tested: the log records what the host reported",
    "that the owner consented: the enrollment is named and not shown, since it holds a path",
    "that the rest of the log is sound: only the leaves shown here were looked at",
)


def not_proved(proven: Proven) -> tuple[str, ...]:
    """What the proof leaves open, to be said with every verdict."""
    if proven.cosigned:
        other = (
            "that no other log exists under this key after the cosigned times; until then the witnesses saw one, "
            "as far as they are independent"
        )
    else:
        other = "that no other log exists under this key: no witness was asked for"
    said = [*_NOT_PROVED[:1], other, *_NOT_PROVED[1:]]
    if proven.compromised:
        said.insert(
            0,
            "that the log wrote the event: the owner has declared the log key of its epoch stolen, and whoever had it "
            "could have written the event",
        )
    if proven.simulated_host:
        said.insert(0, "that any of this happened: the log's first leaf says that its host was simulated")
    return tuple(said)
