"""What the leaves of the log are: one signed, closed statement for each committed change.

A leaf's payload names the log, its own index, the root before it and the batch it belongs to, so that no leaf can
be moved, dropped or adopted elsewhere. Its hash in the tree covers a 32-byte random salt and the exact envelope:
once both are erased, the hash that stays cannot be guessed from likely contents (RFC 6962 hashes are not hiding).

The format is in ``docs/spec/log.md``. An enrollment names the transcript by its path, since every projection must be
rebuildable from leaves; whoever shows such a leaf to others shows the path.
"""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sidecars.anchors import (
    ANCHORS_MAX,
    DEADLINE_MS_MAX,
    DEADLINE_MS_MIN,
    FRESHNESS_SECONDS_MAX,
    FRESHNESS_SECONDS_MIN,
    UNWITNESSED_MAX,
    AnchorEntry,
    AnchorPolicy,
    AnchorRecovery,
    check_anchors,
)
from sidecars.assertion import AssertionEntry, check_assertion
from sidecars.consent import CONSENTED_MS_MAX, ConsentPolicy, check_consent_policy
from sidecars.envelope import parse_envelope, seal, verify_envelope
from sidecars.erasure import (
    FORGETTING,
    Erasure,
    ErasureBody,
    Exclusion,
    ForgetReport,
    check_erasure,
    check_exclusion,
    check_report,
)
from sidecars.errors import MalformedError, PayloadTypeError, UnknownKeyError
from sidecars.graded import GRADED, GradedBody, check_graded
from sidecars.growth import Extension, Invalidation, PrefixProof
from sidecars.keys import Signing, Verifier
from sidecars.kind import SIGNED_BY, Kind, Role
from sidecars.lineage import Fork, Restoration, check_fork
from sidecars.merkle import leaf_hash as merkle_leaf_hash
from sidecars.reasoned import REASONED, ReasonedBody, check_reasoned
from sidecars.wire import (
    Count,
    Decimal,
    DigestText,
    EnrollmentRef,
    Identifier,
    Origin,
    ProjectRoot,
    SourceRef,
    TimeMs,
    TypeName,
    Vkey,
    format_struct,
    parse_struct,
)

__all__ = [
    "ANCHORS_MAX",
    "BATCH_SIZE_MAX",
    "DEADLINE_MS_MAX",
    "DEADLINE_MS_MIN",
    "EVICTS_MAX",
    "FRESHNESS_SECONDS_MAX",
    "FRESHNESS_SECONDS_MIN",
    "LEAF_BYTES_MAX",
    "SALT_BYTES",
    "SCHEMA",
    "SIGNED_BY",
    "UNWITNESSED_MAX",
    "AnchorEntry",
    "AnchorPolicy",
    "AnchorRecovery",
    "AssertionEntry",
    "Body",
    "ConsentPolicy",
    "EnrolledSource",
    "Enrollment",
    "EnrollmentBinding",
    "EpochReason",
    "Erasure",
    "Exclusion",
    "Extension",
    "ForgetReport",
    "FormatPolicy",
    "Invalidation",
    "KeyEpoch",
    "Kind",
    "Leaf",
    "Policy",
    "PrefixProof",
    "Revocation",
    "Role",
    "SidecarEntry",
    "format_leaf",
    "leaf_hash",
    "open_leaf",
    "parse_leaf",
    "payload_type",
    "seal_leaf",
]

SCHEMA: Final = "timeline-leaf/v1"
SALT_BYTES: Final = 32
"""As long as the hash: guessing the salt is then no easier than guessing the hash."""

LEAF_BYTES_MAX: Final = 256 * 1024
"""A sidecar leaf that gives up as many sidecars as a source can have needs 190 KB; no other kind comes near."""

BATCH_SIZE_MAX: Final = 256
"""Leaves of one commit; the most that repair ever adopts at once."""

EVICTS_MAX: Final = 4096
"""One sidecar for each event that a source may keep."""

_TYPE_PREFIX: Final = "application/vnd.timeline.leaf."
_TYPE_SUFFIX: Final = ".v1+json"


_EITHER: Final = frozenset({Kind.ENROLLMENT, Kind.ASSERTION})
"""Kinds whose bodies say which key they need: either key is tried, and the body decides once it is verified."""

# -- bodies ----------------------------------------------------------------------------------------------------

ScopeId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}\Z")]
TranscriptPath = Annotated[str, msgspec.Meta(pattern=r"^/[^\x00-\x1f\x7f]*\Z", max_length=4096)]
EpochReason = Literal["first", "rotation", "lost", "compromised"]
"""Why a log key came into force; what became of the key before it."""


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


class Enrollment(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag="enrollment",
    tag_field="kind",
):
    """The owner's confirmed, expiring consent to read one source; all times are UTC milliseconds.

    ``mode`` is ``snapshot`` (those bytes and no others) or ``follow`` (the same file may grow until ``expires_at``;
    what it was then may be recalled until ``recall_until``). ``consent`` is the leaf of the standing consent that it
    rests on; absent where the owner key itself has signed.
    """

    enrollment_id: EnrollmentRef
    receipt_digest: DigestText
    binding: EnrollmentBinding
    source: EnrolledSource
    mode: Literal["snapshot", "follow"]
    confirmed_at: TimeMs
    expires_at: TimeMs
    recall_until: TimeMs
    consent: Count | None = None


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


class Revocation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="revocation", tag_field="kind"):
    """The owner takes a consent back."""

    enrollment_id: EnrollmentRef


Body: TypeAlias = (
    Policy
    | FormatPolicy
    | ConsentPolicy
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
    | AssertionEntry
    | ErasureBody
    | ReasonedBody
    | GradedBody
)

_KINDS: Final[dict[type, Kind]] = {
    Policy: Kind.POLICY,
    FormatPolicy: Kind.FORMAT_POLICY,
    ConsentPolicy: Kind.CONSENT_POLICY,
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
    AssertionEntry: Kind.ASSERTION,
    **FORGETTING,
    **REASONED,
    **GRADED,
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
    def signed_by(self) -> Role:
        """Which key it needs. What rests on a standing consent, the owner has signed there: the log key records it."""
        if isinstance(self.body, Enrollment) and self.body.consent is not None:
            return Role.LOG
        if isinstance(self.body, AssertionEntry) and self.body.is_owners:
            return Role.OWNER
        return SIGNED_BY[self.kind]

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


def seal_leaf(leaf: Leaf, signer: Signing) -> bytes:
    """The envelope of a leaf. Whether ``signer`` is the right key shows when it is opened.

    Raises:
        MalformedError: a field is against the rules.
    """
    return seal(payload_type(leaf.kind), format_leaf(leaf), [signer])


def open_leaf(envelope: bytes, owner: Verifier, log: Verifier | None) -> Leaf:
    """Verify a leaf with the key that it needs, then parse it. ``log`` is ``None`` before the first epoch.

    Raises:
        MalformedError, UnsupportedVersionError: not an envelope with a leaf.
        PayloadTypeError: not a kind of leaf that is known here.
        UnknownKeyError, BadSignatureError: not signed by the key of its kind.
    """
    parsed = parse_envelope(envelope)
    kind = _KIND_OF_TYPE.get(parsed.payload_type)
    if kind is None:
        raise PayloadTypeError("the payload type must be that of a known kind of leaf")
    roles = tuple(Role) if kind in _EITHER else (SIGNED_BY[kind],)
    keys = {Role.OWNER: owner, Role.LOG: log}
    verifiers = {role: key for role in roles if (key := keys[role]) is not None}
    if not verifiers:
        raise UnknownKeyError(f"a leaf of kind {kind} must come after a key epoch")
    try:
        signed = verify_envelope(parsed, parsed.payload_type, tuple(verifiers.values()))
    except UnknownKeyError as error:
        raise _wrong_signer(kind, SIGNED_BY[kind]) from error
    leaf = parse_leaf(parsed.payload, kind)
    needed = verifiers.get(leaf.signed_by)
    if needed is None or needed.ref not in signed:
        raise _wrong_signer(kind, leaf.signed_by)
    return leaf


def _wrong_signer(kind: Kind, role: Role) -> UnknownKeyError:
    return UnknownKeyError(f"a leaf of kind {kind} must be signed by the {role} key in force")


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
        case KeyEpoch():
            _check_key_epoch(leaf.body)
        case ConsentPolicy():
            check_consent_policy(leaf.body)
        case AnchorPolicy():
            check_anchors(leaf.body)
        case Fork():
            check_fork(leaf.body, leaf.origin)
        case Enrollment():
            _check_enrollment(leaf.body)
        case AssertionEntry():
            check_assertion(leaf.body)
        case Erasure() | ForgetReport() | Exclusion():
            _check_forgetting(leaf.body, leaf.batch_start)
        case SidecarEntry():
            _check_sidecar_entry(leaf.body)
        case _:
            _check_registered(leaf.body)


def _check_key_epoch(body: KeyEpoch) -> None:
    Verifier.parse(body.log_key)
    Verifier.parse(body.owner_key)
    if (body.epoch == 0) != (body.reason == "first"):
        raise MalformedError("epoch 0, and no other, must have the reason first")


def _check_sidecar_entry(body: SidecarEntry) -> None:
    if list(body.evicts) != sorted(set(body.evicts)):
        raise MalformedError("evicted digests must be sorted and unique")


def _check_forgetting(body: Erasure | ForgetReport | Exclusion, batch_start: int) -> None:
    match body:
        case Erasure():
            check_erasure(body, batch_start)
        case ForgetReport():
            check_report(body)
        case Exclusion():
            check_exclusion(body)


def _check_registered(body: Body) -> None:
    if isinstance(body, ReasonedBody):
        check_reasoned(body)
    elif isinstance(body, GradedBody):
        check_graded(body)


def _check_enrollment(body: Enrollment) -> None:
    if (body.binding.portal is None) != (body.binding.thread is None):
        raise MalformedError("portal and thread must come together or not at all")
    if not body.confirmed_at < min(body.expires_at, body.recall_until):
        raise MalformedError("an enrollment must expire after it was confirmed")
    if body.mode == "follow" and body.expires_at > body.recall_until:
        raise MalformedError("a file must not be followed longer than it may be recalled")
    if body.consent is not None and body.recall_until - body.confirmed_at > CONSENTED_MS_MAX:
        raise MalformedError("an enrollment on a standing consent must end within 90 days")
    if body.source.prefix_length > body.source.size:
        raise MalformedError("a source's prefix must not be longer than the source")
