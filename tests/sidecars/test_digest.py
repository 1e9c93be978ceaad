"""``digest`` and ``encoding``: one value, one spelling."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.encoding import from_base64, from_base64url, from_hex, parse_decimal, to_base64, to_base64url
from sidecars.errors import MalformedError, NonCanonicalError


@given(st.binary(max_size=80))
def test_bytes_come_back_from_each_encoding(raw: bytes) -> None:
    """Whatever is encoded decodes to the same bytes."""
    assert from_base64(to_base64(raw), "x") == raw
    assert from_base64url(to_base64url(raw), "x") == raw
    assert from_hex(raw.hex(), "x") == raw
    assert Digest.parse(str(Digest.of(raw))) == Digest.of(raw)


@given(st.text(max_size=60))
def test_any_text_decodes_to_what_it_spells_or_is_refused(text: str) -> None:
    """No text has two readings and none raises anything else."""
    for decode, encode in ((from_base64, to_base64), (from_base64url, to_base64url), (from_hex, bytes.hex)):
        try:
            assert encode(decode(text, "x")) == text
        except MalformedError:
            continue


@pytest.mark.parametrize("text", ["YR==", "YWJ=", "YWK="])
def test_another_base64_spelling_of_the_same_bytes_is_refused(text: str) -> None:
    """Left-over bits must be zero: ``YR==`` is not a second ``YQ==``."""
    with pytest.raises(MalformedError):
        from_base64(text, "x")


@pytest.mark.parametrize("text", ["YQ", "YQ=", " YQ==", "YQ==\n", "Y Q==", "YQ-_", "ÿQ==", "YQ==YQ=="])
def test_generous_base64_is_refused(text: str) -> None:
    """Spaces, missing padding, other alphabets and concatenations are no base64 here."""
    with pytest.raises(MalformedError):
        from_base64(text, "x")


@pytest.mark.parametrize(
    "text", ["", "00", "01", "+1", "-1", " 1", "1 ", "1\n", "1_0", "1e3", "0x1", "٣", "9" * 20]
)
def test_generous_numbers_are_refused(text: str) -> None:
    """What ``int`` would take beyond plain decimal digits is refused."""
    with pytest.raises(MalformedError):
        parse_decimal(text, "x")


def test_numbers_below_two_to_the_63_are_read() -> None:
    """The largest number of a file size or tree size is read, the next one refused."""
    assert parse_decimal("0", "x") == 0
    assert parse_decimal(str(2**63 - 1), "x") == 2**63 - 1
    with pytest.raises(MalformedError):
        parse_decimal(str(2**63), "x")


def test_a_digest_has_one_text_form() -> None:
    """43 characters; a changed last character that spells the same bytes is refused."""
    text = str(Digest.of(b""))
    assert (len(text), text[-1]) == (43, "U")
    assert Digest.of(b"").hex() == hashlib.sha256(b"").hexdigest()
    with pytest.raises(NonCanonicalError):
        Digest.parse(text[:-1] + "V")
    for wrong in (text + "=", text[:-1], text + "A", text.replace("-", "+"), ""):
        with pytest.raises(MalformedError):
            Digest.parse(wrong)


@pytest.mark.parametrize("text", ["ab/_", "ab+_", "a/b-", "YQ=="])
def test_base64url_takes_no_character_of_the_other_alphabet(text: str) -> None:
    """One value would otherwise have a spelling in each alphabet."""
    with pytest.raises(MalformedError, match="without padding"):
        from_base64url(text, "x")


def test_a_digest_of_another_length_cannot_exist() -> None:
    """Only 32 bytes make a digest."""
    with pytest.raises(MalformedError):
        Digest(b"short")
