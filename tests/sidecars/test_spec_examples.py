"""The examples in docs/spec are real: each is read, verified and, where it can be, made again byte for byte."""

import hashlib
import re
from pathlib import Path

import pytest

from sidecars.carried import check_contained, check_text, open_carried, sign_carried
from sidecars.checkpoint import open_checkpoint
from sidecars.cosignature import WitnessVerifier
from sidecars.envelope import open_envelope, seal
from sidecars.keys import Verifier
from sidecars.leaf import Kind, leaf_hash, parse_leaf, payload_type
from sidecars.merkle import inclusion_proof
from sidecars.minisign import MinisignKey
from sidecars.proof import TlogProof, format_proof, parse_proof, verify_proof
from sidecars.proven import verify_bundle
from sidecars.sidecar import PAYLOAD_TYPE, format_sidecar, parse_sidecar
from sidecars.trust import Consistent
from tests.sidecars.proofs import WITNESSES, make_case
from tests.sidecars.samples import LOG, ORIGIN, OWNER, make_event, make_header
from tests.sidecars.simulator import LogSimulator, View, entry, examine


def blocks(root: Path, page: str, kind: str) -> list[str]:
    """Give the fenced examples of one kind, without the newline before the fence."""
    text = (root / "docs" / "spec" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def log() -> LogSimulator:
    """Give the log of the example."""
    log = LogSimulator()
    log.commit([entry("a")])
    return log


def test_the_keys_are_the_test_keys(root: Path) -> None:
    """The published vkeys read back to the keys that the examples are signed with."""
    (owner,) = blocks(root, "envelope.md", "vkey-owner")
    (log_key,) = blocks(root, "log.md", "vkey-log")
    assert Verifier.parse(owner) == OWNER.verifier
    assert Verifier.parse(log_key) == LOG.verifier


def test_the_envelope_opens(root: Path) -> None:
    """The example is a policy leaf, signed by the owner."""
    (example,) = blocks(root, "envelope.md", "envelope")
    verified = open_envelope(example.encode(), payload_type(Kind.POLICY), [OWNER.verifier])
    assert parse_leaf(verified.payload, Kind.POLICY).index == 0


def test_the_sidecar_opens(root: Path) -> None:
    """The example is exactly what the library writes for one event."""
    (example,) = blocks(root, "sidecar.md", "sidecar")
    content = f"{example}\n".encode()
    payload, _ = format_sidecar(make_header(400), [make_event(0)])
    assert content == seal(PAYLOAD_TYPE, payload, [LOG])
    assert parse_sidecar(open_envelope(content, PAYLOAD_TYPE, [LOG.verifier]).payload).header.count == 1


def read_leaves(root: Path) -> tuple[tuple[bytes, bytes], ...]:
    """Give salt and envelope of each leaf of the example."""
    pairs = [example.split("\n", 1) for example in blocks(root, "log.md", "leaf")]
    return tuple((bytes.fromhex(salt), envelope.encode()) for salt, envelope in pairs)


def test_the_log_is_consistent(root: Path) -> None:
    """Leaves, hashes and head of the example agree."""
    leaves = read_leaves(root)
    (hashes,) = blocks(root, "log.md", "hashes")
    (head,) = blocks(root, "log.md", "head")
    note = f"{head}\n".encode()
    assert [leaf_hash(*leaf).hex() for leaf in leaves] == hashes.split("\n")
    finding = examine(View(leaves, note, note))
    assert isinstance(finding, Consistent)
    assert finding.belief.size == 3


def test_the_proof_verifies(root: Path, log: LogSimulator) -> None:
    """The example proves leaf 2 with the published key alone, and is what the library writes."""
    (example,) = blocks(root, "log.md", "proof")
    content = f"{example}\n".encode()
    hashes = [leaf_hash(*leaf) for leaf in read_leaves(root)]
    signed = verify_proof(parse_proof(content), hashes[2], ORIGIN, [LOG.verifier])
    assert signed.checkpoint == open_checkpoint(log.view.head, ORIGIN, [LOG.verifier]).checkpoint
    assert content == format_proof(TlogProof(2, inclusion_proof(hashes, 2), log.view.head))


def test_the_proof_of_an_event_verifies(root: Path) -> None:
    """The example of proof.md is what the library writes, and verifies with the published keys."""
    (example,) = blocks(root, "proof.md", "bundle")
    (witness,) = blocks(root, "proof.md", "vkey-witness")
    (owner,) = blocks(root, "envelope.md", "vkey-owner")
    (log_key,) = blocks(root, "log.md", "vkey-log")
    content = f"{example}\n".encode()
    keys = [Verifier.parse(owner), Verifier.parse(log_key)]
    proven = verify_bundle(content, keys, [WitnessVerifier.parse(witness)])
    assert (proven.place, proven.count, proven.checkpoint.size) == (1, 2, 3)
    assert content == make_case(events=2, place=1, after=0).but(witnesses=WITNESSES[:1]).content


def test_the_carried_anchor_opens(root: Path) -> None:
    """The example of carried-anchor.md is what the library writes, by the published key, of the published leaves."""
    hashes, text, prehash, signature, key = (
        blocks(root, "carried-anchor.md", kind)[0]
        for kind in ("hashes", "text", "blake2b", "minisig", "minisign-key")
    )
    verifier = Verifier.parse(*blocks(root, "log.md", "vkey-log"))
    opened = open_carried(f"{signature}\n".encode(), ORIGIN, [verifier])
    check_text(opened.anchor, f"{text}\n".encode())
    check_contained(opened, [bytes.fromhex(line) for line in hashes.split("\n")], verifier)
    assert (opened.anchor.checkpoint.size, opened.anchor.at) == (3, 1_790_000_000)
    assert sign_carried(opened.anchor, LOG) == f"{signature}\n".encode()
    assert hashlib.blake2b(opened.anchor.text).hexdigest() == prehash
    assert str(MinisignKey.of(verifier)) == key


@pytest.mark.parametrize("page", ["envelope.md", "sidecar.md", "log.md", "proof.md", "carried-anchor.md"])
def test_every_reason_in_a_specification_exists(root: Path, page: str) -> None:
    """A specification names no reason that the library does not have."""
    import sidecars.errors

    reasons = {getattr(value, "reason", None) for value in vars(sidecars.errors).values()}
    text = (root / "docs" / "spec" / page).read_text(encoding="utf-8")
    table = re.findall(r"^\|[^\n]*\|$", text, re.MULTILINE)
    named = {word for line in table for word in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", line)}
    words = {
        "anchor-policy",
        "anchor-recovery",
        "consent-policy",
        "format-policy",
        "key-epoch",
        "partly-understood",
        "prefix-proof",
        "test-run",
        "user-message",
    }
    words |= {kind.value for kind in Kind}
    words |= {
        f"transcript-{what}" for what in ("replaced", "rewritten", "truncated")
    }  # reasons of an invalidation
    assert named - words <= reasons
