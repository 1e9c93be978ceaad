"""What the leaves of the log are: one signed, closed statement for each committed change.

A leaf's payload names the log, its own index, the root before it and the batch it belongs to, so that no leaf can
be moved, dropped or adopted elsewhere. Its hash in the tree covers a 32-byte random salt and the exact envelope:
once both are erased, the hash that stays cannot be guessed from likely contents (RFC 6962 hashes are not hiding).

The format is in ``docs/spec/log.md``. An enrollment names the transcript by its path, since every projection must be
rebuildable from leaves; whoever shows such a leaf to others shows the path.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sidecars.envelope import parse_envelope, seal, verify_envelope
from sidecars.errors import MalformedError, PayloadTypeError, UnknownKeyError
from sidecars.keys import Signer, Verifier
from sidecars.lineage import Fork, Restoration, check_fork
from sidecars.merkle import leaf_hash as merkle_leaf_hash
from sidecars.wire import (
    Count,
    DigestText,
    EnrollmentRef,
    Identifier,
    Origin,
    SourceRef,
    TimeMs,
    TypeName,
    Vkey,
    format_struct,
    parse_struct,
)

SCHEMA: Final = "timeline-leaf/v1"
SALT_BYTES: Final = 32
"""As long as the hash: guessing the salt is then no easier than guessing the hash."""

LEAF_BYTES_MAX: Final = 256 * 1024
"""A sidecar leaf that gives up as many sidecars as a source can have needs 190 KB; no other kind comes near."""

BATCH_SIZE_MAX: Final = 256
"""Leaves of one commit; the most that repair ever adopts at once."""

EVICTS_MAX: Final = 4096
"""One sidecar for each event that a source may keep."""

ANCHORS_MAX: Final = 16
"""As many signatures as every C2SP note reader must take."""

FRESHNESS_SECONDS_MIN: Final = 60
FRESHNESS_SECONDS_MAX: Final = 30 * 24 * 3600
DEADLINE_MS_MIN: Final = 100
DEADLINE_MS_MAX: Final = 30_000
UNWITNESSED_MAX: Final = 1_000_000

_TYPE_PREFIX: Final = "application/vnd.timeline.leaf."
_TYPE_SUFFIX: Final = ".v1+json"


class Role(StrEnum):
    """The two keys: the owner's consents and rules, the daemon's log key records (TUF's root and online roles)."""

    OWNER = "owner"
    LOG = "log"


class Kind(StrEnum):
    """What a leaf states. ``assertion`` and ``erasure`` have no body in this version and are refused."""

    POLICY = "policy"
    FORMAT_POLICY = "format-policy"
    ANCHOR_POLICY = "anchor-policy"
    ANCHOR_RECOVERY = "anchor-recovery"
    RESTORATION = "restoration"
    FORK = "fork"
    KEY_EPOCH = "key-epoch"
    ENROLLMENT = "enrollment"
    EXTENSION = "extension"
    SIDECAR = "sidecar"
    PREFIX_PROOF = "prefix-proof"
    INVALIDATION = "invalidation"
    REVOCATION = "revocation"
    ASSERTION = "assertion"
    ERASURE = "erasure"


SIGNED_BY: Final = {
    Kind.POLICY: Role.OWNER,
    Kind.FORMAT_POLICY: Role.OWNER,
    Kind.ANCHOR_POLICY: Role.OWNER,
    Kind.ANCHOR_RECOVERY: Role.OWNER,
    Kind.RESTORATION: Role.OWNER,
    Kind.FORK: Role.OWNER,
    Kind.KEY_EPOCH: Role.OWNER,
    Kind.ENROLLMENT: Role.OWNER,
    Kind.REVOCATION: Role.OWNER,
    Kind.EXTENSION: Role.LOG,
    Kind.SIDECAR: Role.LOG,
    Kind.PREFIX_PROOF: Role.LOG,
    Kind.INVALIDATION: Role.LOG,
}
"""Which key a kind needs. A kind that is missing here cannot be signed, opened or admitted."""

# -- bodies ----------------------------------------------------------------------------------------------------

ScopeId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}\Z")]
TranscriptPath = Annotated[str, msgspec.Meta(pattern=r"^/[^\x00-\x1f\x7f]*\Z", max_length=4096)]
ProjectRoot = Annotated[str, msgspec.Meta(pattern=r"^/[^\x00-\x1f\x7f]*\Z", max_length=4096)]
Decimal = Annotated[str, msgspec.Meta(pattern=r"^(0|-?[1-9][0-9]{0,19})\Z")]
"""A 64-bit number of the file system, as text because RFC 8785 stops at 2^53 - 1."""


EpochReason = Literal["first", "rotation", "lost", "compromised"]
"""Why a log key came into force; what became of the key before it."""

AnchorName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,31}\Z")]
"""The owner's name for an external anchor; also a file name."""

AnchorAddress = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e]{1,512}\Z")]
"""Where an external anchor is asked: a URL, a DSN without a password, or a path."""


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="policy", tag_field="kind"):
    """The owner's rules; the first leaf of every log. ``simulated_host`` can be set there only."""

    owner_presence: Literal["terminal", "any"]
    simulated_host: bool


class FormatPolicy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="format-policy", tag_field="kind"
):
    """Whether records of one unreviewed ``type`` of ``host`` are accepted as carrying no evidence, from here on."""

    host: Identifier
    type: TypeName
    accepted: bool


class AnchorEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One external anchor: what it is, where it is asked, and the key that is pinned for a witness (a vkey)."""

    name: AnchorName
    type: Literal["file", "postgres", "witness"]
    address: AnchorAddress
    key: Vkey | None


class AnchorPolicy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="anchor-policy", tag_field="kind"
):
    """Which external anchors must confirm the log from here on; it replaces the one before, and may name none.

    ``quorum`` of them must have confirmed within ``freshness_seconds``; each is given ``deadline_ms`` to answer, and at
    most ``unwitnessed_max`` leaves may follow what a quorum has confirmed.
    """

    anchors: Annotated[tuple[AnchorEntry, ...], msgspec.Meta(max_length=ANCHORS_MAX)]
    quorum: Annotated[int, msgspec.Meta(ge=0, le=ANCHORS_MAX)]
    freshness_seconds: Annotated[int, msgspec.Meta(ge=FRESHNESS_SECONDS_MIN, le=FRESHNESS_SECONDS_MAX)]
    deadline_ms: Annotated[int, msgspec.Meta(ge=DEADLINE_MS_MIN, le=DEADLINE_MS_MAX)]
    unwitnessed_max: Annotated[int, msgspec.Meta(ge=1, le=UNWITNESSED_MAX)]


class AnchorRecovery(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="anchor-recovery", tag_field="kind"
):
    """The local anchor or the pin was lost, and the owner let the state go on as the newest one.

    ``basis`` is what showed that it is: the external anchors, a checkpoint that a person carried, or nothing.
    """

    lost: Literal["anchor", "pin"]
    basis: Literal["external", "carried", "unverified"]


class KeyEpoch(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="key-epoch", tag_field="kind"):
    """From here on ``log_key`` signs sidecars and heads; both keys are vkeys. Epochs count from 0 without gaps.

    ``reason`` says why the key before it no longer does.
    """

    epoch: Count
    log_key: Vkey
    owner_key: Vkey
    reason: EpochReason


class EnrollmentBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who and what the enrolled session belongs to; portal and thread come together or not at all."""

    host: Identifier
    session: ScopeId
    user: ScopeId
    tenant: ScopeId
    project: ProjectRoot
    task: ScopeId
    goal: ScopeId | None
    portal: ScopeId | None
    thread: ScopeId | None


class EnrolledSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The transcript at the moment of consent. The path is needed to open it again; it never leaves in an answer."""

    ref: SourceRef
    path: TranscriptPath
    device: Decimal
    inode: Decimal
    size: Count
    mtime_ns: Decimal
    ctime_ns: Decimal
    prefix_length: Count
    prefix_digest: DigestText


class Enrollment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="enrollment", tag_field="kind"):
    """The owner's confirmed, expiring consent to read one source; all times are UTC milliseconds.

    ``mode`` is ``snapshot`` (those bytes and no others) or ``follow`` (the same file may grow until ``expires_at``;
    what it was then may be recalled until ``recall_until``).
    """

    enrollment_id: EnrollmentRef
    receipt_digest: DigestText
    binding: EnrollmentBinding
    source: EnrolledSource
    mode: Literal["snapshot", "follow"]
    confirmed_at: TimeMs
    expires_at: TimeMs
    recall_until: TimeMs


class SidecarEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="sidecar", tag_field="kind"):
    """One sidecar file enters the log: its digest, and the count and root that its header states.

    ``evicts`` are digests of sidecar files that this one replaces or that the event bound gave up, sorted.
    """

    digest: DigestText
    source: SourceRef
    segment: Count
    enrollment_id: EnrollmentRef
    count: Count
    root: DigestText
    evicts: Annotated[tuple[DigestText, ...], msgspec.Meta(max_length=EVICTS_MAX)] = ()


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="extension", tag_field="kind"):
    """A followed file was seen to have grown: the next generation of its snapshot, with size and times as found.

    Generation 0 is the enrollment. The generation before was indexed to its end.
    """

    source: SourceRef
    enrollment_id: EnrollmentRef
    generation: Annotated[int, msgspec.Meta(ge=1)]
    size: Count
    mtime_ns: Decimal
    ctime_ns: Decimal


class PrefixProof(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="prefix-proof", tag_field="kind"
):
    """The first ``proven`` bytes of a followed file were compared with what was committed, after ``generation``.

    The generation is proven when ``proven`` is the whole size of the generation before it.
    """

    source: SourceRef
    enrollment_id: EnrollmentRef
    generation: Annotated[int, msgspec.Meta(ge=1)]
    proven: Annotated[int, msgspec.Meta(ge=1)]


class Invalidation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="invalidation", tag_field="kind"
):
    """A followed file was found not to be what was committed: nothing is answered from it any more."""

    source: SourceRef
    enrollment_id: EnrollmentRef
    reason: Literal["transcript-rewritten", "transcript-truncated", "transcript-replaced"]


class Revocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="revocation", tag_field="kind"):
    """The owner takes a consent back."""

    enrollment_id: EnrollmentRef


Body: TypeAlias = (
    Policy
    | FormatPolicy
    | AnchorPolicy
    | AnchorRecovery
    | Restoration
    | Fork
    | KeyEpoch
    | Enrollment
    | Extension
    | SidecarEntry
    | PrefixProof
    | Invalidation
    | Revocation
)

_KINDS: Final[dict[type, Kind]] = {
    Policy: Kind.POLICY,
    FormatPolicy: Kind.FORMAT_POLICY,
    AnchorPolicy: Kind.ANCHOR_POLICY,
    AnchorRecovery: Kind.ANCHOR_RECOVERY,
    Restoration: Kind.RESTORATION,
    Fork: Kind.FORK,
    KeyEpoch: Kind.KEY_EPOCH,
    Enrollment: Kind.ENROLLMENT,
    Extension: Kind.EXTENSION,
    SidecarEntry: Kind.SIDECAR,
    PrefixProof: Kind.PREFIX_PROOF,
    Invalidation: Kind.INVALIDATION,
    Revocation: Kind.REVOCATION,
}


class Leaf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One leaf's payload. ``root`` is the root of the tree of size ``index``; ``at`` is UTC milliseconds.

    ``at`` is an attribute: order and validity never depend on a clock.
    """

    schema: Literal["timeline-leaf/v1"] = SCHEMA
    origin: Origin
    index: Count
    root: DigestText
    batch_start: Count
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=BATCH_SIZE_MAX)]
    at: TimeMs
    body: Body

    @property
    def kind(self) -> Kind:
        """What the leaf states."""
        return _KINDS[type(self.body)]

    @property
    def is_last_of_batch(self) -> bool:
        """Whether the commit that wrote it is complete with it."""
        return self.index + 1 == self.batch_start + self.batch_size


_DECODER: Final = msgspec.json.Decoder(Leaf)


def payload_type(kind: Kind) -> str:
    """The envelope's payload type for a kind: no leaf can pass for one of another kind."""
    return f"{_TYPE_PREFIX}{kind}{_TYPE_SUFFIX}"


_KIND_OF_TYPE: Final = {payload_type(kind): kind for kind in SIGNED_BY}


def format_leaf(leaf: Leaf) -> bytes:
    """The one spelling of a leaf's payload.

    Raises:
        MalformedError: a field is against the rules.
    """
    encoded = format_struct(leaf, _DECODER, "leaf")
    _check_leaf(leaf)
    return encoded


def parse_leaf(payload: bytes, kind: Kind) -> Leaf:
    """Read a payload that was verified as one of ``kind``.

    Raises:
        MalformedError: against the format; ``NonCanonicalError`` for another spelling.
        PayloadTypeError: its body is of another kind.
    """
    if len(payload) > LEAF_BYTES_MAX:
        raise MalformedError(f"a leaf must be at most {LEAF_BYTES_MAX} bytes")
    leaf = parse_struct(payload, _DECODER, "leaf")
    _check_leaf(leaf)
    if leaf.kind is not kind:
        raise PayloadTypeError(f"the leaf's body must be of kind {kind}")
    return leaf


def seal_leaf(leaf: Leaf, signer: Signer) -> bytes:
    """The envelope of a leaf. Whether ``signer`` is the right key shows when it is opened.

    Raises:
        MalformedError: a field is against the rules.
    """
    return seal(payload_type(leaf.kind), format_leaf(leaf), [signer])


def open_leaf(envelope: bytes, owner: Verifier, log: Verifier | None) -> Leaf:
    """Verify a leaf with the key that its kind needs, then parse it. ``log`` is ``None`` before the first epoch.

    Raises:
        MalformedError, UnsupportedVersionError: not an envelope with a leaf.
        PayloadTypeError: not a kind of leaf that is known here.
        UnknownKeyError, BadSignatureError: not signed by the key of its kind.
    """
    parsed = parse_envelope(envelope)
    kind = _KIND_OF_TYPE.get(parsed.payload_type)
    if kind is None:
        raise PayloadTypeError("the payload type must be that of a known kind of leaf")
    role = SIGNED_BY[kind]
    verifier = owner if role is Role.OWNER else log
    if verifier is None:
        raise UnknownKeyError(f"a leaf of kind {kind} must come after a key epoch")
    try:
        verify_envelope(parsed, parsed.payload_type, (verifier,))
    except UnknownKeyError as error:
        raise UnknownKeyError(f"a leaf of kind {kind} must be signed by the {role} key in force") from error
    return parse_leaf(parsed.payload, kind)


def leaf_hash(salt: bytes, envelope: bytes) -> bytes:
    """The leaf's hash in the tree: RFC 6962 over the salt followed by the exact envelope.

    Raises:
        MalformedError: the salt is not 32 bytes (its length is fixed, so that the border is not movable).
    """
    if len(salt) != SALT_BYTES:
        raise MalformedError(f"a leaf's salt must be {SALT_BYTES} bytes")
    return merkle_leaf_hash(salt + envelope)


def _check_leaf(leaf: Leaf) -> None:
    if not 0 <= leaf.index - leaf.batch_start < leaf.batch_size:
        raise MalformedError("a leaf's index must lie in its batch")
    match leaf.body:
        case KeyEpoch(log_key=log_key, owner_key=owner_key):
            Verifier.parse(log_key)
            Verifier.parse(owner_key)
            if (leaf.body.epoch == 0) != (leaf.body.reason == "first"):
                raise MalformedError("epoch 0, and no other, must have the reason first")
        case AnchorPolicy():
            _check_anchors(leaf.body)
        case Fork():
            check_fork(leaf.body, leaf.origin)
        case Enrollment():
            _check_enrollment(leaf.body)
        case SidecarEntry(evicts=evicts):
            if list(evicts) != sorted(set(evicts)):
                raise MalformedError("evicted digests must be sorted and unique")
        case _:
            pass


def _check_anchors(body: AnchorPolicy) -> None:
    from sidecars.cosignature import WitnessVerifier  # noqa: PLC0415  (1 ms; most logs have no such leaf)

    names = [entry.name for entry in body.anchors]
    if names != sorted(set(names)):
        raise MalformedError("external anchors must be sorted by name, each name once")
    if not min(1, len(names)) <= body.quorum <= len(names):
        raise MalformedError("a quorum must be at least one anchor, if there are any, and at most all")
    if len({entry.address for entry in body.anchors}) < len(names):
        raise MalformedError("an address must not be that of two external anchors")
    keys = []
    for entry in body.anchors:
        if (entry.key is not None) != (entry.type == "witness"):
            raise MalformedError("a witness must have a key, and nothing else has one")
        if entry.key is not None:
            keys.append(WitnessVerifier.parse(entry.key).public_key)
    # The bytes, not the vkey: under a second name a key would count twice in a quorum.
    if len(set(keys)) < len(keys):
        raise MalformedError("a key must not be that of two witnesses")


def _check_enrollment(body: Enrollment) -> None:
    if (body.binding.portal is None) != (body.binding.thread is None):
        raise MalformedError("portal and thread must come together or not at all")
    if not body.confirmed_at < min(body.expires_at, body.recall_until):
        raise MalformedError("an enrollment must expire after it was confirmed")
    if body.mode == "follow" and body.expires_at > body.recall_until:
        raise MalformedError("a file must not be followed longer than it may be recalled")
    if body.source.prefix_length > body.source.size:
        raise MalformedError("a source's prefix must not be longer than the source")
