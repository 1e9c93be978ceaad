"""``leaf``: closed statements, each signed by the key of its kind."""

from typing import Any

import msgspec
import pytest

from sidecars.cosignature import WitnessSigner
from sidecars.envelope import parse_envelope, seal
from sidecars.errors import (
    BadSignatureError,
    MalformedError,
    NonCanonicalError,
    PayloadTypeError,
    SidecarError,
    UnknownKeyError,
)
from sidecars.identity import canonical_bytes, strict_loads
from sidecars.leaf import (
    EVICTS_MAX,
    LEAF_BYTES_MAX,
    SIGNED_BY,
    AnchorEntry,
    AnchorPolicy,
    AnchorRecovery,
    Body,
    EnrolledSource,
    EnrollmentBinding,
    Extension,
    FormatPolicy,
    Invalidation,
    Kind,
    Leaf,
    PrefixProof,
    Role,
    SidecarEntry,
    format_leaf,
    leaf_hash,
    open_leaf,
    parse_leaf,
    payload_type,
    seal_leaf,
)
from sidecars.merkle import leaf_hash as merkle_leaf_hash
from tests.sidecars.samples import (
    AT,
    ENROLLMENT,
    LOG,
    ORIGIN,
    OWNER,
    SOURCE,
    STRANGER,
    digest_text,
    make_enrollment,
)
from tests.sidecars.simulator import REVOCATION, entry, key_epoch, policy, standing
from tests.world.ledger.examples import CONFIRMED, MEASURED

FOLLOWED = {"source": SOURCE, "enrollment_id": ENROLLMENT}
EXTENSION = Extension(generation=1, size=2000, mtime_ns="1790000000000000003", ctime_ns="-1", **FOLLOWED)
PROOF = PrefixProof(generation=1, proven=1000, **FOLLOWED)
INVALIDATION = Invalidation(reason="transcript-rewritten", **FOLLOWED)
WITNESS = str(WitnessSigner("witness.example/w", b"w" * 32).verifier)
RENAMED = str(WitnessSigner("other.example/w", b"w" * 32).verifier)
FILE = AnchorEntry(name="disk", type="file", address="/elsewhere/anchor", key=None)
ANCHORS = AnchorPolicy(
    anchors=(FILE, AnchorEntry(name="w-1", type="witness", address="https://w.example/1", key=WITNESS)),
    quorum=2,
    freshness_seconds=86_400,
    deadline_ms=2_000,
    unwitnessed_max=1_000,
)
SUGGESTED = msgspec.structs.replace(MEASURED, recorder="model", evidence_kind="model-suggestion")
BODIES: tuple[Body, ...] = (
    policy(),
    ANCHORS,
    msgspec.structs.replace(ANCHORS, anchors=(), quorum=0),
    AnchorRecovery(lost="anchor", basis="external"),
    AnchorRecovery(lost="pin", basis="unverified"),
    FormatPolicy(host="codex", type="event_msg/new_thing", accepted=True),
    FormatPolicy(host="king", type="some.new_record", accepted=False),
    key_epoch(),
    make_enrollment(),
    make_enrollment(mode="follow", expires_at=AT + 1, recall_until=AT + 2),
    make_enrollment(consent=2),
    standing(),
    standing(follow=True),
    standing(allowed=False),
    EXTENSION,
    entry("file"),
    PROOF,
    INVALIDATION,
    REVOCATION,
    MEASURED,
    CONFIRMED,
    SUGGESTED,
)


def numbered(anchor: AnchorEntry, number: int) -> AnchorEntry:
    """Give one like it under a name and at an address of its own."""
    return msgspec.structs.replace(anchor, name=f"a{number:02d}", address=f"{anchor.address}/{number}")


def make_leaf(body: Body, **changes: Any) -> Leaf:
    """Give a leaf at index 0 of a batch of one."""
    fields: dict[str, Any] = {
        "origin": ORIGIN,
        "index": 0,
        "root": digest_text("root"),
        "batch_start": 0,
        "batch_size": 1,
        "at": AT,
    }
    return Leaf(body=body, **(fields | changes))


def signer_of(leaf: Leaf) -> Any:
    """Give the signer that the leaf needs."""
    return OWNER if leaf.signed_by is Role.OWNER else LOG


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_leaf_comes_back_unchanged(body: Body) -> None:
    """Payload and value are inverse, the payload is RFC 8785, and the sealed leaf opens to it."""
    leaf = make_leaf(body)
    payload = format_leaf(leaf)
    assert parse_leaf(payload, leaf.kind) == leaf
    assert canonical_bytes(strict_loads(payload)) == payload
    assert open_leaf(seal_leaf(leaf, signer_of(leaf)), OWNER.verifier, LOG.verifier) == leaf


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_leaf_signed_by_the_other_key_is_refused(body: Body) -> None:
    """The daemon's key cannot consent for the owner, and no stranger can say anything."""
    leaf = make_leaf(body)
    other = LOG if signer_of(leaf) is OWNER else OWNER
    for signer in (other, STRANGER):
        with pytest.raises(UnknownKeyError):
            open_leaf(seal_leaf(leaf, signer), OWNER.verifier, LOG.verifier)


def test_the_log_key_speaks_only_after_an_epoch_named_it() -> None:
    """Before the first key epoch nothing is signed by a log key."""
    with pytest.raises(UnknownKeyError):
        open_leaf(seal_leaf(make_leaf(entry("x")), LOG), OWNER.verifier, None)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_leaf_is_not_taken_for_another_kind(body: Body) -> None:
    """A body under another kind's payload type is refused, even with a good signature over just that."""
    leaf = make_leaf(body)
    for kind in SIGNED_BY:
        if kind is leaf.kind:
            continue
        signer = OWNER if SIGNED_BY[kind] is Role.OWNER else LOG
        content = seal(payload_type(kind), format_leaf(leaf), [signer])
        with pytest.raises(PayloadTypeError):
            open_leaf(content, OWNER.verifier, LOG.verifier)


@pytest.mark.parametrize("kind", ["pardon", "nonsense"])
def test_a_kind_without_a_rule_is_refused(kind: str) -> None:
    """Kinds that this version has no body for are not admitted by anyone's signature."""
    content = seal(f"application/vnd.timeline.leaf.{kind}.v1+json", b"{}", [OWNER, LOG])
    with pytest.raises(PayloadTypeError):
        open_leaf(content, OWNER.verifier, LOG.verifier)
    assert set(Kind) == set(SIGNED_BY)


def test_a_changed_payload_is_refused_before_it_is_parsed() -> None:
    """The signature is checked first: even an unparsable change is a bad signature."""
    content = seal_leaf(make_leaf(REVOCATION), OWNER)
    payload = parse_envelope(content).payload
    with pytest.raises(BadSignatureError):
        open_leaf(content.replace(payload, b"\xff" * len(payload)), OWNER.verifier, LOG.verifier)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "timeline-leaf/v2"},
        {"origin": "a b"},
        {"index": 1},
        {"index": -1},
        {"root": "A" * 42},
        {"batch_start": 1},
        {"batch_size": 0},
        {"batch_size": 257},
        {"at": -1},
    ],
)
def test_a_leaf_against_a_rule_is_refused(change: dict[str, Any]) -> None:
    """The common fields are bounded, and the index lies in the batch."""
    with pytest.raises(MalformedError):
        format_leaf(make_leaf(REVOCATION, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"enrollment_id": "timeline-enrollment:x"},
        {"mode": "watch"},
        {"mode": "follow", "expires_at": AT + 2, "recall_until": AT + 1},
        {"expires_at": AT},
        {"recall_until": AT - 1},
        {"receipt_digest": "asthr_" + "A" * 43},
        {"consent": -1},
        {"consent": 2, "recall_until": AT + 90 * 24 * 3_600_000 + 1},
    ],
)
def test_an_enrollment_against_a_rule_is_refused(change: dict[str, Any]) -> None:
    """Ids, mode and times of a consent are checked; a receipt itself does not fit, only its digest."""
    with pytest.raises(MalformedError):
        format_leaf(make_leaf(make_enrollment(**change)))


def test_a_prefix_is_not_longer_than_its_source() -> None:
    """The prefix that identifies a source is a part of it."""
    source = msgspec.structs.replace(make_enrollment().source, prefix_length=1001)
    with pytest.raises(MalformedError):
        format_leaf(make_leaf(make_enrollment(source=source)))


def test_the_largest_leaf_stays_below_the_bound() -> None:
    """As many evicted sidecars as a source can have fit into one leaf, one more does not."""
    digests = sorted(digest_text(number) for number in range(EVICTS_MAX + 1))
    body: SidecarEntry = msgspec.structs.replace(entry("x"), evicts=tuple(digests[1:]))
    assert len(format_leaf(make_leaf(body))) < LEAF_BYTES_MAX
    with pytest.raises(MalformedError):
        format_leaf(make_leaf(msgspec.structs.replace(body, evicts=tuple(digests))))


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({"portal": "p", "thread": "t"}, True),
        ({"portal": "p"}, False),
        ({"thread": "t"}, False),
        ({"goal": "g"}, True),
        ({"session": "two words"}, False),
        ({"project": "relative"}, False),
        ({"project": "/has\nnewline"}, False),
        ({"project": "/" + "p" * 4096}, False),
        ({"host": ""}, False),
        ({"tenant": None}, False),
    ],
)
def test_a_binding_is_complete_or_refused(change: dict[str, Any], fits: bool) -> None:
    """Portal and thread come together, and every field has its form."""
    binding: EnrollmentBinding = msgspec.structs.replace(make_enrollment().binding, **change)
    leaf = make_leaf(make_enrollment(binding=binding))
    if fits:
        assert parse_leaf(format_leaf(leaf), Kind.ENROLLMENT) == leaf
    else:
        with pytest.raises(MalformedError):
            format_leaf(leaf)


@pytest.mark.requirement("T2")
def test_a_path_has_one_place_in_a_leaf() -> None:
    """The source is described by digests and numbers; a path fits into no field but its own."""
    source = make_enrollment().source
    for field in (field for field in msgspec.structs.fields(EnrolledSource) if field.name != "path"):
        changed = msgspec.structs.replace(source, **{field.name: "/srv/u/.codex/sessions/r.jsonl"})
        with pytest.raises(MalformedError):
            format_leaf(make_leaf(make_enrollment(source=changed)))


def test_evicted_digests_have_one_order() -> None:
    """A set has one spelling: sorted and unique."""
    digests = sorted(digest_text(number) for number in range(3))
    body: SidecarEntry = msgspec.structs.replace(entry("x"), evicts=tuple(digests))
    assert parse_leaf(format_leaf(make_leaf(body)), Kind.SIDECAR).body == body
    for wrong in (digests[::-1], [digests[0], digests[0]]):
        with pytest.raises(MalformedError):
            format_leaf(make_leaf(msgspec.structs.replace(body, evicts=tuple(wrong))))


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    "change",
    [
        {"anchors": tuple(reversed(ANCHORS.anchors))},
        {"anchors": (FILE, FILE)},
        {"quorum": 0},
        {"quorum": 3},
        {"anchors": (), "quorum": 1},
        {"anchors": (msgspec.structs.replace(FILE, key=WITNESS),), "quorum": 1},
        {"anchors": (msgspec.structs.replace(ANCHORS.anchors[1], key=None),), "quorum": 1},
        {"anchors": (msgspec.structs.replace(ANCHORS.anchors[1], key=str(LOG.verifier)),), "quorum": 1},
        {"anchors": (msgspec.structs.replace(FILE, name="Disk"),), "quorum": 1},
        {"anchors": (msgspec.structs.replace(FILE, name="../x"),), "quorum": 1},
        {"anchors": (msgspec.structs.replace(FILE, address="/a b"),), "quorum": 1},
        {"anchors": tuple(numbered(FILE, n) for n in range(17)), "quorum": 1},
        {"anchors": tuple(msgspec.structs.replace(FILE, name=name) for name in ("a", "b"))},
        {"anchors": tuple(numbered(ANCHORS.anchors[1], n) for n in range(2))},
        {
            "anchors": (
                numbered(ANCHORS.anchors[1], 0),
                msgspec.structs.replace(numbered(ANCHORS.anchors[1], 1), key=RENAMED),
            )
        },
        {"freshness_seconds": 59},
        {"deadline_ms": 99},
        {"unwitnessed_max": 0},
    ],
)
def test_an_anchor_policy_against_a_rule_is_refused(change: dict[str, Any]) -> None:
    """Sorted, each name, address and key once, a quorum that can be met, and a key for a witness and nothing else."""
    with pytest.raises(SidecarError):
        format_leaf(make_leaf(msgspec.structs.replace(ANCHORS, **change)))


def test_a_key_epoch_names_real_keys() -> None:
    """What is no vkey is refused when the leaf is made, not when the key is needed."""
    for field in ("log_key", "owner_key"):
        with pytest.raises(MalformedError):
            format_leaf(make_leaf(msgspec.structs.replace(key_epoch(), **{field: "no vkey"})))


def test_a_leaf_larger_than_the_bound_is_refused_unread() -> None:
    """Size is checked before anything is decoded."""
    with pytest.raises(MalformedError, match="at most"):
        parse_leaf(b" " * (LEAF_BYTES_MAX + 1), Kind.REVOCATION)


def test_another_spelling_of_a_leaf_is_refused() -> None:
    """Spaces, other orders and duplicate keys are refused after a good signature too."""
    payload = format_leaf(make_leaf(REVOCATION))
    for wrong in (payload.replace(b",", b", ", 1), payload.replace(b'"index":0', b'"index":0,"index":0')):
        with pytest.raises(NonCanonicalError):
            parse_leaf(wrong, Kind.REVOCATION)


def test_a_leafs_hash_covers_salt_and_every_byte() -> None:
    """The hash is RFC 6962 over salt and envelope; the salt has one length, so the border cannot be moved."""
    salt = bytes(range(32))
    assert leaf_hash(salt, b"envelope") == merkle_leaf_hash(salt + b"envelope")
    assert leaf_hash(bytes(32), b"envelope") != leaf_hash(salt, b"envelope")
    for wrong in (b"", salt[:-1], salt + b"e"):
        with pytest.raises(MalformedError):
            leaf_hash(wrong, b"nvelope")
