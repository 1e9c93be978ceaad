"""``proof``: C2SP tlog-proof, one file that shows offline that a leaf is in the log."""

import pytest
from msgspec.structs import replace

from sidecars.encoding import to_base64
from sidecars.errors import (
    BadProofError,
    BadSignatureError,
    MalformedError,
    OriginMismatchError,
    UnknownKeyError,
    UnsupportedVersionError,
)
from sidecars.leaf import leaf_hash, open_leaf
from sidecars.merkle import inclusion_proof
from sidecars.proof import (
    EXTRA_BYTES_MAX,
    PROOF_BYTES_MAX,
    TlogProof,
    format_proof,
    parse_proof,
    verify_proof,
)
from tests.sidecars.samples import LOG, ORIGIN, OWNER, STRANGER
from tests.sidecars.simulator import LogSimulator, entry


@pytest.fixture
def log() -> LogSimulator:
    """Give a log of seven leaves."""
    log = LogSimulator()
    log.commit([entry(number) for number in range(5)])
    return log


def prove(log: LogSimulator, index: int) -> TlogProof:
    """Give the proof of a leaf, its salt and envelope as extra data."""
    hashes = [leaf_hash(salt, envelope) for salt, envelope in log.view.leaves]
    salt, envelope = log.view.leaves[index]
    return TlogProof(index, inclusion_proof(hashes, index), log.view.head, salt + envelope)


def test_every_leaf_is_proven_from_one_file_and_the_pinned_keys(log: LogSimulator) -> None:
    """Who has the file, origin and keys re-computes the leaf hash from the extra data and needs nothing else."""
    for index in range(len(log.view.leaves)):
        proof = parse_proof(format_proof(prove(log, index)))
        assert proof == prove(log, index)
        assert proof.extra is not None
        salt, envelope = proof.extra[:32], proof.extra[32:]
        signed = verify_proof(proof, leaf_hash(salt, envelope), ORIGIN, [LOG.verifier])
        assert signed.checkpoint.size == 7
        assert open_leaf(envelope, OWNER.verifier, LOG.verifier).index == index


def test_a_proof_holds_for_no_other_leaf_index_log_or_key(log: LogSimulator) -> None:
    """Each part that is exchanged is refused with its own reason."""
    proof = prove(log, 3)
    hashes = [leaf_hash(salt, envelope) for salt, envelope in log.view.leaves]
    for index, value in enumerate(hashes):
        if index != 3:
            with pytest.raises(BadProofError):
                verify_proof(proof, value, ORIGIN, [LOG.verifier])
            with pytest.raises(BadProofError):
                verify_proof(replace(proof, index=index), hashes[3], ORIGIN, [LOG.verifier])
    with pytest.raises(UnknownKeyError):
        verify_proof(proof, hashes[3], ORIGIN, [STRANGER.verifier])
    with pytest.raises(OriginMismatchError):
        verify_proof(proof, hashes[3], "another-log", [LOG.verifier])
    with pytest.raises(BadSignatureError):
        verify_proof(
            replace(proof, checkpoint=log.view.head.replace(b"\n7\n", b"\n8\n")),
            hashes[3],
            ORIGIN,
            [LOG.verifier],
        )


def test_the_extra_line_may_be_left_out(log: LogSimulator) -> None:
    """Without extra data there is no line, and an empty one is no second spelling of that."""
    proof = replace(prove(log, 0), extra=None)
    content = format_proof(proof)
    assert b"extra" not in content
    assert parse_proof(content) == proof
    with pytest.raises(MalformedError):
        parse_proof(content.replace(b"index", b"extra \nindex"))
    for extra in (b"", b"x" * (EXTRA_BYTES_MAX + 1)):
        with pytest.raises(MalformedError):
            format_proof(replace(proof, extra=extra))


def test_the_file_looks_as_the_specification_says(log: LogSimulator) -> None:
    """Magic, extra, index, hashes in standard base64, an empty line, and the checkpoint verbatim."""
    proof = prove(log, 2)
    assert proof.extra is not None
    lines = format_proof(proof).decode().split("\n")
    assert lines[:3] == ["c2sp.org/tlog-proof@v1", f"extra {to_base64(proof.extra)}", "index 2"]
    assert lines[3 : 3 + len(proof.hashes)] == [to_base64(value) for value in proof.hashes]
    assert lines[3 + len(proof.hashes)] == ""
    assert format_proof(proof).endswith(b"\n\n" + log.view.head)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"c2sp.org/tlog-proof@v1", b"tlog-proof"),
        (b"index 2", b"index 02"),
        (b"index 2", b"index"),
        (b"index 2", b"index -2"),
        (b"index 2", b"index 9223372036854775808"),
        (b"index 2\n", b"index 2\n\n"),
        (b"index 2\n", b"index 2\nAAAA\n"),
        (b"index 2\n", b"index 2\r\n"),
        (b"extra ", b"extra"),
        (b"extra ", b"extra  "),
        (b"\n\n", b"\n"),
        (b"=\n", b"\n"),
        (b"index 2", "indeх 2".encode()),
    ],
)
def test_another_form_of_a_proof_is_refused(log: LogSimulator, old: bytes, new: bytes) -> None:
    """Every deviation is malformed."""
    content = format_proof(prove(log, 2))
    assert old in content
    with pytest.raises(MalformedError):
        parse_proof(content.replace(old, new, 1))


def test_a_newer_version_is_told_apart_from_rubbish(log: LogSimulator) -> None:
    """A reader can say that the program is too old."""
    with pytest.raises(UnsupportedVersionError):
        parse_proof(format_proof(prove(log, 0)).replace(b"@v1", b"@v2", 1))


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"c2sp.org/tlog-proof@v1\n" + b"x" * PROOF_BYTES_MAX, "a proof must be at most"),
        (b"c2sp.org/tlog-proof@v1\nindex 0\n", "follow an empty line"),
        (b"c2sp.org/tlog-proof@v1\n\nnote", "have an index line"),
        (b"c2sp.org/tlog-proof@v1\nAAAA\n\nnote", "have an index line"),
        (b"c2sp.org/tlog-proof@v1\nindex 0\n" + b"A\n" * 64 + b"\nnote", "at most 63 hashes"),
    ],
)
def test_the_broken_rule_of_a_proof_is_named(content: bytes, rule: str) -> None:
    """Each fault has its own words, and sizes are checked before hashes are decoded."""
    with pytest.raises(MalformedError, match=rule):
        parse_proof(content)


def test_sizes_are_bounded(log: LogSimulator) -> None:
    """Too many hashes, hashes of another length, and a file too large are refused."""
    proof = prove(log, 0)
    for hashes in ((bytes(32),) * 64, (b"short",)):
        with pytest.raises(MalformedError):
            format_proof(replace(proof, hashes=hashes))
    lines = format_proof(proof).replace(
        b"index 0\n", b"index 0\n" + (to_base64(bytes(32)).encode() + b"\n") * 64
    )
    for content in (
        lines,
        b"c2sp.org/tlog-proof@v1\n" + b"x" * 2_000_000,
        b"c2sp.org/tlog-proof@v1\nindex 0",
    ):
        with pytest.raises(MalformedError):
            parse_proof(content)
    with pytest.raises(MalformedError):
        format_proof(replace(proof, index=-1))
