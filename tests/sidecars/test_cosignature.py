"""``cosignature``: C2SP's timed signature, in its one spelling, under a key that is a witness's and nothing else."""

import hashlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecars.cosignature import (
    COSIGNATURE_BYTES,
    SECONDS_MAX,
    Cosignature,
    WitnessSigner,
    WitnessVerifier,
    add_signatures,
    cosigned_message,
    open_cosignatures,
)
from sidecars.errors import (
    BadSignatureError,
    MalformedError,
    NonCanonicalError,
    SidecarError,
    UnsupportedVersionError,
)
from sidecars.keys import Signer, Verifier
from sidecars.note import Note, NoteSignature, format_note, open_note, parse_note, sign_note
from tests.sidecars.samples import LOG, STRANGER

TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
AT = 1_679_315_147
SEED = hashlib.sha256(b"known answer").digest()
WITNESS = WitnessSigner("witness.example/w", SEED)
SECOND = WitnessSigner("witness.example/v", hashlib.sha256(b"second").digest())

KNOWN_VKEY = "witness.example/w+cd667b2d+BARsaMiHIzWsUNniOqeDfvqrhqtJOEKl6FfgNaeSKR3D"
KNOWN_SIGNATURE = bytes.fromhex(
    "00000000641850cb6828ed7b4972acc891d98e8c6e375b72697dcf8a47204eaca5924810d6ccd90798a69f03d32fe0dcdd26"
    "61726f7adf741bf264e0bc0e146266fa5eb752b86909"
)
"""Made with the same seed by another implementation, aics-tlog 0.2.1."""


def cosigned(*lines: NoteSignature) -> bytes:
    """Give the log's checkpoint with these lines after its own."""
    note = parse_note(sign_note(TEXT, [LOG]))
    return format_note(Note(note.text, (*note.signatures, *lines)))


def test_key_and_cosignature_are_those_of_another_implementation() -> None:
    """Same seed, name, time and text: the same vkey and the same 72 bytes."""
    assert str(WITNESS.verifier) == KNOWN_VKEY
    assert WITNESS.cosign(TEXT, AT).signature == KNOWN_SIGNATURE
    assert WitnessVerifier.parse(KNOWN_VKEY).verify(TEXT, KNOWN_SIGNATURE) == AT


def test_the_signed_bytes_are_those_of_the_standard() -> None:
    """Two lines, then the whole text of the note."""
    assert cosigned_message(TEXT, AT) == f"cosignature/v1\ntime 1679315147\n{TEXT}".encode()
    assert cosigned_message("x\n", 0) == b"cosignature/v1\ntime 0\nx\n"


@given(st.integers(0, SECONDS_MAX), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30))
def test_what_is_cosigned_is_opened_with_its_time(at: int, line: str) -> None:
    """Any time up to 2^63 - 1 and any text of a note."""
    signature = WITNESS.cosign(f"{line}\n", at)
    assert len(signature.signature) == COSIGNATURE_BYTES
    assert WITNESS.verifier.verify(f"{line}\n", signature.signature) == at


@pytest.mark.parametrize("at", [-1, SECONDS_MAX + 1])
def test_a_time_out_of_bounds_is_not_signed(at: int) -> None:
    """C2SP: at most 2^63 - 1."""
    with pytest.raises(MalformedError):
        WITNESS.cosign(TEXT, at)


def test_a_time_above_the_bound_is_not_believed() -> None:
    """Even if the eight bytes could hold it."""
    with pytest.raises(BadSignatureError, match="below"):
        WITNESS.verifier.verify(TEXT, b"\xff" * COSIGNATURE_BYTES)


@given(st.integers(0, COSIGNATURE_BYTES * 8 - 1))
def test_any_flipped_bit_is_noticed(bit: int) -> None:
    """Time and signature alike."""
    raw = bytearray(KNOWN_SIGNATURE)
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadSignatureError):
        WITNESS.verifier.verify(TEXT, bytes(raw))


@pytest.mark.parametrize("length", [0, 64, 71, 73])
def test_a_cosignature_has_one_length(length: int) -> None:
    """A plain signature of 64 bytes is none."""
    with pytest.raises(BadSignatureError, match="72 bytes"):
        WITNESS.verifier.verify(TEXT, bytes(length))


def test_a_witness_is_not_a_log() -> None:
    """The same key under the same name has another id, and a signature of one kind is none of the other."""
    log = Signer(WITNESS.verifier.name, SEED)
    assert log.verifier.public_key == WITNESS.verifier.public_key
    assert log.ref != WITNESS.verifier.ref
    with pytest.raises(UnsupportedVersionError, match="0x01"):
        WitnessVerifier.parse(str(log.verifier))
    with pytest.raises(UnsupportedVersionError, match="0x04"):
        Verifier.parse(KNOWN_VKEY)
    note = sign_note(TEXT, [LOG, log])
    assert open_cosignatures(note, [WITNESS.verifier]) == ()


def test_only_known_witnesses_count_and_the_log_is_not_looked_at() -> None:
    """Lines by others are ignored, whatever they hold; the order is that of the lines."""
    unknown = NoteSignature(STRANGER.ref, b"anything")
    note = cosigned(unknown, SECOND.cosign(TEXT, AT + 1), WITNESS.cosign(TEXT, AT))
    expected = (Cosignature(SECOND.verifier.ref, AT + 1), Cosignature(WITNESS.verifier.ref, AT))
    assert open_cosignatures(note, [WITNESS.verifier, SECOND.verifier]) == expected
    assert open_cosignatures(note, [SECOND.verifier]) == expected[:1]
    assert open_cosignatures(note, []) == ()
    assert open_note(note, [LOG.verifier]).keys == (LOG.ref,)


def test_a_known_witness_with_a_bad_line_refuses_the_note() -> None:
    """As with any known key (C2SP signed-note)."""
    bad = NoteSignature(WITNESS.verifier.ref, WITNESS.cosign(f"{TEXT}x\n", AT).signature)
    note = cosigned(SECOND.cosign(TEXT, AT), bad)
    with pytest.raises(BadSignatureError, match="witness"):
        open_cosignatures(note, [WITNESS.verifier, SECOND.verifier])
    assert len(open_cosignatures(note, [SECOND.verifier])) == 1


def test_a_witness_counts_once() -> None:
    """Two good lines of one witness would let one make a quorum of two (TUF: one signature for each key)."""
    note = cosigned(WITNESS.cosign(TEXT, AT), WITNESS.cosign(TEXT, AT + 1))
    with pytest.raises(NonCanonicalError, match="one line"):
        open_cosignatures(note, [WITNESS.verifier])
    assert open_cosignatures(note, [SECOND.verifier]) == ()


def test_a_newer_line_replaces_the_older_one() -> None:
    """Adding keeps the others and never leaves two lines of one key."""
    note = cosigned(WITNESS.cosign(TEXT, AT), SECOND.cosign(TEXT, AT))
    again = add_signatures(note, [WITNESS.cosign(TEXT, AT + 9)])
    assert open_cosignatures(again, [WITNESS.verifier, SECOND.verifier]) == (
        Cosignature(SECOND.verifier.ref, AT),
        Cosignature(WITNESS.verifier.ref, AT + 9),
    )
    assert parse_note(again).signatures[0].key == LOG.ref


@given(st.text(max_size=80))
@example(KNOWN_VKEY)
@example(KNOWN_VKEY + "=")
@example(KNOWN_VKEY.replace("cd667b2d", "CD667B2D"))
@example(KNOWN_VKEY.replace("cd667b2d", "cd667b2e"))
@example(KNOWN_VKEY[:-4])
@example("a+01020304+")
@example("a+01020304+BA==")
@example("a b+01020304+BA==")
def test_any_text_is_a_vkey_in_its_one_spelling_or_refused(text: str) -> None:
    """Nothing but ``SidecarError``, and what is read is written back unchanged."""
    try:
        verifier = WitnessVerifier.parse(text)
    except SidecarError:
        assert text != KNOWN_VKEY
        return
    assert str(verifier) == text == KNOWN_VKEY


@pytest.mark.parametrize(("name", "key"), [("", bytes(32)), ("a b", bytes(32)), ("a", bytes(31))])
def test_a_key_that_cannot_be_is_refused(name: str, key: bytes) -> None:
    """Name and length are checked when the value is made."""
    with pytest.raises(MalformedError):
        WitnessVerifier(name, key)


def test_the_private_key_is_not_shown() -> None:
    """The seed stays inside."""
    assert SEED.hex() not in repr(WITNESS)
    assert not hasattr(WITNESS, "__dict__")
