"""``envelope``: what is signed, its one spelling, and who must have signed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sidecars.envelope
from sidecars.encoding import to_base64
from sidecars.envelope import (
    HEADER_BYTES_MAX,
    Envelope,
    EnvelopeSignature,
    format_envelope,
    open_envelope,
    pae,
    parse_envelope,
    seal,
)
from sidecars.errors import (
    BadSignatureError,
    MalformedError,
    NonCanonicalError,
    PayloadTypeError,
    UnknownKeyError,
    UnsupportedVersionError,
)
from sidecars.keys import Signer
from tests.sidecars.samples import LOG, OWNER, STRANGER

TYPE = "application/vnd.timeline.test.v1"


def test_the_signed_bytes_are_those_of_dsse() -> None:
    """The pre-authentication encoding equals the example of the DSSE specification."""
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(st.binary(max_size=200), st.integers(1, 8))
def test_what_is_sealed_opens_to_the_same_payload(payload: bytes, count: int) -> None:
    """Payload, offset and every key come back, whatever the payload holds."""
    signers = [Signer(f"key-{number}", bytes([number]) * 32) for number in range(count)]
    content = seal(TYPE, payload, signers)
    verified = open_envelope(content, TYPE, [signer.verifier for signer in signers])
    assert verified.payload == payload
    assert content[verified.payload_offset :] == payload
    assert set(verified.keys) == {signer.ref for signer in signers}
    assert format_envelope(parse_envelope(content)) == content


@pytest.mark.requirement("T3")
def test_a_payload_is_not_opened_as_another_type() -> None:
    """The type is signed: neither asking for another nor writing another into the header helps."""
    content = seal(TYPE, b"{}", [LOG])
    with pytest.raises(PayloadTypeError):
        open_envelope(content, "application/vnd.timeline.other.v1", [LOG.verifier])
    relabelled = format_envelope(parse_envelope(content)._replace(payload_type="application/x"))
    with pytest.raises(BadSignatureError):
        open_envelope(relabelled, "application/x", [LOG.verifier])


@pytest.mark.requirement("T3")
def test_an_envelope_without_an_expected_key_is_refused() -> None:
    """A stranger under the log's name, or nobody that is known, opens nothing."""
    for verifiers in ([], [OWNER.verifier], [STRANGER.verifier]):
        with pytest.raises(UnknownKeyError):
            open_envelope(seal(TYPE, b"{}", [LOG]), TYPE, verifiers)


def test_a_strangers_signature_beside_ours_changes_nothing() -> None:
    """An added line by an unknown key is ignored, even a wrong one, and is not reported as good."""
    envelope = parse_envelope(seal(TYPE, b"{}", [LOG, OWNER]))
    spoilt = [
        line._replace(signature=bytes(64)) if line.key == OWNER.ref else line for line in envelope.signatures
    ]
    ordered = tuple(sorted(spoilt, key=EnvelopeSignature.line))
    content = format_envelope(envelope._replace(signatures=ordered))
    assert open_envelope(content, TYPE, [LOG.verifier]).keys == (LOG.ref,)
    with pytest.raises(BadSignatureError):
        open_envelope(content, TYPE, [LOG.verifier, OWNER.verifier])


def test_signatures_out_of_order_or_twice_are_refused() -> None:
    """Order and repetition would be second spellings of one envelope."""
    envelope = parse_envelope(seal(TYPE, b"{}", [LOG, OWNER]))
    lines = [line.line() for line in envelope.signatures]
    frame = "timeline-envelope/v1\n{type}\n2\n{lines}\n\n{{}}"
    for wrong in ([lines[1], lines[0]], [lines[0], lines[0]]):
        with pytest.raises(MalformedError):
            parse_envelope(frame.format(type=TYPE, lines="\n".join(wrong)).encode())
    with pytest.raises(NonCanonicalError):
        format_envelope(envelope._replace(signatures=envelope.signatures[::-1]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("timeline-envelope/v1", "Timeline-envelope/v1"),
        (TYPE, TYPE.upper()),
        (TYPE, ""),
        (TYPE, TYPE + " "),
        ("\n2\n", "\n02\n"),
        ("\n2\n", "\n+2\n"),
        ("\n2\n", "\n3\n"),
        ("\n2\n", "\n1\n"),
        ("\n2\n", "\n\n"),
        ("\n2\n", "\n2\r\n"),
        ("==\n", "=\n"),
        ("==\n", "==\n\n"),
        (" ", "  "),
    ],
)
def test_another_spelling_of_a_header_is_refused(old: str, new: str) -> None:
    """Every deviation in the header is malformed, never repaired."""
    content = seal(TYPE, b"{}", [LOG]).decode()
    assert old in content
    with pytest.raises(MalformedError):
        parse_envelope(content.replace(old, new, 1).encode())


def test_a_newer_version_is_told_apart_from_rubbish() -> None:
    """A reader can say that the program is too old."""
    content = seal(TYPE, b"{}", [LOG])
    with pytest.raises(UnsupportedVersionError):
        parse_envelope(content.replace(b"/v1\n", b"/v2\n", 1))


def test_bounds_hold_before_anything_is_decoded() -> None:
    """A header without an end, nine signatures, none, and a type too long are refused."""
    with pytest.raises(MalformedError, match="must end within"):
        parse_envelope(b"timeline-envelope/v1\n" + b"a" * HEADER_BYTES_MAX + b"\n\n")
    with pytest.raises(MalformedError):
        seal(TYPE, b"", [Signer(f"k{number}", bytes([number]) * 32) for number in range(9)])
    with pytest.raises(MalformedError):
        seal(TYPE, b"", [])
    with pytest.raises(MalformedError):
        format_envelope(Envelope("a" * 128, parse_envelope(seal(TYPE, b"", [LOG])).signatures, b""))


def test_a_payload_beyond_the_bound_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds on both ways."""
    content = seal(TYPE, b"12345", [LOG])
    monkeypatch.setattr(sidecars.envelope, "PAYLOAD_BYTES_MAX", 4)
    with pytest.raises(MalformedError):
        seal(TYPE, b"12345", [LOG])
    with pytest.raises(MalformedError):
        parse_envelope(content)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_another_length_is_malformed_whoever_made_it(length: int) -> None:
    """A stranger's line is ignored only if it is a signature line at all."""
    content = seal(TYPE, b"{}", [LOG])
    line = f"a-stranger+01020304 {to_base64(bytes(length))}\n".encode()
    at = content.index(LOG.name.encode())
    with pytest.raises(MalformedError):
        open_envelope(content[:at] + line + content[at:], TYPE, [LOG.verifier])


def test_the_error_never_quotes_the_payload() -> None:
    """A marker in the payload appears in no refusal."""
    marker = b"marker-4711"
    content = seal(TYPE, marker, [LOG])
    for wrong in (content[:-1], content + b"x", content.replace(b"4711", b"4712")):
        with pytest.raises((MalformedError, BadSignatureError)) as caught:
            open_envelope(wrong, TYPE, [LOG.verifier])
        assert "marker" not in caught.value.rule + caught.value.hint + repr(caught.value.__cause__)
