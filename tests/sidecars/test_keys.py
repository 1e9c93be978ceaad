"""``keys``: names, ids, vkeys, signing and verifying."""

import pytest

from sidecars.encoding import to_base64
from sidecars.errors import BadSignatureError, MalformedError, UnsupportedVersionError
from sidecars.keys import KeyRef, Signer, Verifier, check_key_name, find_verifier
from tests.sidecars.samples import LOG, OWNER, STRANGER

SEED = bytes(range(32))


def test_a_vkey_comes_back_unchanged() -> None:
    """Formatting and parsing a public key are inverse, for each of many keys (some hold a plus in base64)."""
    texts = [str(Signer("example.com/log", bytes([number]) * 32).verifier) for number in range(64)]
    assert any(text.count("+") > 2 for text in texts)
    assert [str(Verifier.parse(text)) for text in texts] == texts


@pytest.mark.parametrize(
    "name", ["", "a b", "a+b", "a\nb", "a\u00a0b", "a\u2028b", "a\x1fb", "\ud800", "a" * 129]
)
def test_a_name_that_would_break_a_line_is_refused(name: str) -> None:
    """Spaces of every kind, plus and control characters could forge lines or borders."""
    with pytest.raises(MalformedError):
        check_key_name(name)


def test_a_vkey_whose_id_is_not_its_own_is_refused() -> None:
    """An id that belongs to another key or name would let a signature be looked up under the wrong one."""
    verifier = Signer("example.com/log", SEED).verifier
    text = str(verifier)
    with pytest.raises(MalformedError):
        Verifier.parse(text.replace("example.com/log", "example.com/other"))
    with pytest.raises(MalformedError):
        Verifier.parse(text.replace(verifier.key_id.hex(), "00000000"))


def test_a_vkey_of_another_type_is_refused() -> None:
    """There is one algorithm; a cosignature or ECDSA key is not taken for it."""
    encoded = to_base64(b"\x04" + bytes(32))
    with pytest.raises(UnsupportedVersionError):
        Verifier.parse(f"name+01020304+{encoded}")


@pytest.mark.parametrize(
    "text", ["", "name", "name+0102", "name+0102030g+AQ==", "name+01020304+", "+01020304+AQ=="]
)
def test_what_is_no_vkey_is_refused(text: str) -> None:
    """Missing parts are named, not guessed."""
    with pytest.raises(MalformedError):
        Verifier.parse(text)


def test_a_signature_fits_only_its_message_and_key() -> None:
    """Any other message, key, length or bit is refused."""
    signature = LOG.sign(b"message")
    LOG.verifier.verify(b"message", signature)
    for verifier, message, wrong in (
        (LOG.verifier, b"Message", signature),
        (OWNER.verifier, b"message", signature),
        (STRANGER.verifier, b"message", signature),
        (LOG.verifier, b"message", signature[:-1]),
        (LOG.verifier, b"message", signature + b"\0"),
        (LOG.verifier, b"", b""),
        (LOG.verifier, b"essage", signature + b"m"),
    ):
        with pytest.raises(BadSignatureError):
            verifier.verify(message, wrong)


def test_a_signer_does_not_show_its_seed() -> None:
    """Neither the representation nor its attributes' representations hold the seed."""
    signer = Signer("name", SEED)
    shown = repr(signer) + str(signer) + repr(signer.verifier)
    assert SEED.hex() not in shown
    assert repr(SEED) not in shown
    with pytest.raises(MalformedError):
        Signer("name", SEED[:-1])


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33)])
def test_a_public_key_of_another_length_cannot_exist(key: bytes) -> None:
    """Only 32 bytes make a key."""
    with pytest.raises(MalformedError):
        Verifier("name", key)


def test_an_ambiguous_set_of_keys_is_the_callers_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys under one name and id cannot be told apart, so none of them is chosen."""
    monkeypatch.setattr("sidecars.keys.compute_key_id", lambda _name, _key, _kind=b"": bytes(4))
    twin = Verifier(LOG.name, bytes(32))
    assert find_verifier(LOG.ref, [LOG.verifier, LOG.verifier]) == LOG.verifier
    assert find_verifier(KeyRef(LOG.name, b"none"), [LOG.verifier]) is None
    with pytest.raises(RuntimeError):
        find_verifier(LOG.ref, [LOG.verifier, twin])


def test_a_key_reference_comes_back_unchanged() -> None:
    """``name+id`` reads back; other forms are refused."""
    assert KeyRef.parse(str(LOG.ref)) == LOG.ref
    for text in ("", "name", "name+", "name+01", "name+0102030405", "na me+01020304", "name+0102030G"):
        with pytest.raises(MalformedError):
            KeyRef.parse(text)
