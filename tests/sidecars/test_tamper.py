"""Every byte flipped, every length cut: refused, and by the class that belongs to the place."""

import pytest

from sidecars.envelope import open_envelope, seal
from sidecars.errors import (
    BadProofError,
    BadSignatureError,
    MalformedError,
    PayloadTypeError,
    SidecarError,
    UnknownKeyError,
    UnsupportedVersionError,
    UnverifiedError,
)
from sidecars.leaf import leaf_hash
from sidecars.merkle import inclusion_proof
from sidecars.proof import TlogProof, format_proof, parse_proof, verify_proof
from sidecars.sidecar import PAYLOAD_TYPE, format_sidecar, parse_sidecar
from tests.sidecars.samples import LOG, ORIGIN, make_event, make_header
from tests.sidecars.simulator import LogSimulator, View, entry, examine

FLIPS = (0x01, 0x20, 0x80)
"""A neighbouring value, the other case, and a byte outside ASCII."""


def flipped(content: bytes, place: int, mask: int) -> bytes:
    """Give content with one byte changed."""
    return content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]


@pytest.fixture(scope="module")
def sealed() -> bytes:
    """Give a signed sidecar of two events."""
    payload, _ = format_sidecar(make_header(), [make_event(0), make_event(200)])
    return seal(PAYLOAD_TYPE, payload, [LOG])


@pytest.mark.requirement("T3", "T67")
def test_every_flipped_byte_of_a_sidecar_file_is_refused_by_its_class(sealed: bytes) -> None:
    """In the payload it is a bad signature; in the header malformed, or a type, key or signature that does not fit."""
    offset = open_envelope(sealed, PAYLOAD_TYPE, [LOG.verifier]).payload_offset
    header = (MalformedError, UnsupportedVersionError, PayloadTypeError, UnknownKeyError, BadSignatureError)
    for place in range(len(sealed)):
        for mask in FLIPS:
            with pytest.raises(BadSignatureError if place >= offset else header):
                open_envelope(flipped(sealed, place, mask), PAYLOAD_TYPE, [LOG.verifier])


@pytest.mark.requirement("T3", "T67")
def test_a_sidecar_file_cut_at_every_length_is_malformed(sealed: bytes) -> None:
    """The length stands in the header, so a cut shows before any signature is checked; so does anything added."""
    for length in range(len(sealed)):
        with pytest.raises(MalformedError):
            open_envelope(sealed[:length], PAYLOAD_TYPE, [LOG.verifier])
    for added in (b"\n", b"\0", sealed):
        with pytest.raises(MalformedError):
            open_envelope(sealed + added, PAYLOAD_TYPE, [LOG.verifier])


def test_every_flipped_byte_of_a_payload_is_refused_even_when_it_is_signed() -> None:
    """A payload that was changed and signed again still breaks its own count, root, ids or spelling.

    Header fields that may freely take another value (nonce, counters, digests of the transcript) are the signer's
    to state; nothing but the signature protects them, so they are left out here.
    """
    payload, sidecar = format_sidecar(make_header(), [make_event(0), make_event(200)])
    for place in range(sidecar.ranges[0].offset - 1, len(payload)):
        for mask in FLIPS:
            with pytest.raises(SidecarError):
                parse_sidecar(flipped(payload, place, mask))


@pytest.mark.requirement("T65", "T67")
@pytest.mark.parametrize("part", ["head", "anchor"])
def test_every_flipped_byte_of_head_and_anchor_is_refused(part: str) -> None:
    """No change of a note is believed, and none that is cut or lengthened."""
    log = LogSimulator()
    note = getattr(log.view, part)
    for place in range(len(note)):
        for mask in FLIPS:
            changed = View(
                log.view.leaves,
                **{"head": log.view.head, "anchor": log.view.anchor} | {part: flipped(note, place, mask)},
            )
            with pytest.raises((MalformedError, UnverifiedError)):
                examine(changed)
    for wrong in (*(note[:length] for length in range(len(note))), note + b"\n", note + note):
        changed = View(log.view.leaves, **{"head": log.view.head, "anchor": log.view.anchor} | {part: wrong})
        with pytest.raises(SidecarError):
            examine(changed)


@pytest.mark.requirement("T67")
def test_every_flipped_byte_of_every_leaf_is_refused() -> None:
    """Salt or envelope, first or last leaf: nothing is believed."""
    log = LogSimulator()
    log.commit([entry("a")])
    for number, (salt, envelope) in enumerate(log.view.leaves):
        for place in range(len(salt) + len(envelope)):
            whole = flipped(salt + envelope, place, 0x01)
            leaves = [*log.view.leaves]
            leaves[number] = (whole[: len(salt)], whole[len(salt) :])
            with pytest.raises(SidecarError):
                examine(View(tuple(leaves), log.view.head, log.view.anchor))


def test_every_flipped_byte_of_a_proof_is_refused() -> None:
    """But for the extra data, which is not part of the proof and which the leaf hash is computed from."""
    log = LogSimulator()
    log.commit([entry(number) for number in range(3)])
    hashes = [leaf_hash(salt, envelope) for salt, envelope in log.view.leaves]
    content = format_proof(TlogProof(2, inclusion_proof(hashes, 2), log.view.head))
    for place in range(len(content)):
        for mask in FLIPS:
            with pytest.raises((MalformedError, UnsupportedVersionError, UnverifiedError, BadProofError)):
                verify_proof(parse_proof(flipped(content, place, mask)), hashes[2], ORIGIN, [LOG.verifier])
    for length in range(len(content)):
        with pytest.raises(SidecarError):
            verify_proof(parse_proof(content[:length]), hashes[2], ORIGIN, [LOG.verifier])
