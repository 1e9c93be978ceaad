"""minisign files: signed and read in one spelling, and the real program agrees in both directions."""

import base64
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.errors import (
    BadSignatureError,
    MalformedError,
    SidecarError,
    UnknownKeyError,
    UnsupportedVersionError,
)
from sidecars.keys import Verifier
from sidecars.minisign import (
    KEY_ID_BYTES,
    SIGNATURE_FILE_BYTES_MAX,
    TRUSTED_LINE_BYTES_MAX,
    UNTRUSTED_LINE_BYTES_MAX,
    MinisignKey,
    MinisignSignature,
    format_signature,
    parse_signature,
    sign_file,
    verify_comment,
    verify_file,
)
from tests.services import skip_without
from tests.sidecars.samples import LOG, STRANGER

CONTENT = b"three\nlines\nof text\n"
KEY = MinisignKey.of(LOG.verifier)
FILE = sign_file(CONTENT, "a trusted comment", "an untrusted one", LOG)
LINES = FILE.decode().split("\n")
COMMENTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.just("\t"), max_size=60)


def signature_line(algorithm: bytes, signature: bytes) -> str:
    """Give the second line for another algorithm or signature."""
    return base64.b64encode(algorithm + KEY.key_id + signature).decode()


def with_line(number: int, line: str) -> bytes:
    """Give the example with another line."""
    return "\n".join([*LINES[:number], line, *LINES[number + 1 :]]).encode()


def verified(content: bytes, file: bytes = FILE, key: MinisignKey = KEY) -> str:
    """Read a signature file, verify both signatures and give the trusted comment."""
    found = parse_signature(file)
    verify_file(found, content, key)
    return verify_comment(found, key)


# -- the form --------------------------------------------------------------------------------------------------


def test_the_file_is_what_the_format_says() -> None:
    """Built by hand from the published format, with nothing but a hash, base64 and the key."""
    key_id = hashlib.sha256(LOG.verifier.public_key).digest()[:8]
    signature = LOG.sign(hashlib.blake2b(CONTENT, digest_size=64).digest())
    comment = LOG.sign(signature + b"a trusted comment")
    lines = (
        b"untrusted comment: an untrusted one",
        base64.b64encode(b"ED" + key_id + signature),
        b"trusted comment: a trusted comment",
        base64.b64encode(comment),
    )
    assert b"".join(line + b"\n" for line in lines) == FILE
    assert str(KEY) == base64.b64encode(b"Ed" + key_id + LOG.verifier.public_key).decode()
    assert str(KEY).startswith("RW")


@given(st.binary(max_size=200), COMMENTS, COMMENTS)
def test_what_is_signed_is_verified_and_written_back(content: bytes, trusted: str, untrusted: str) -> None:
    """Any file with any comments of one line."""
    file = sign_file(content, trusted, untrusted, LOG)
    found = parse_signature(file)
    assert format_signature(found) == file
    assert (verified(content, file), found.untrusted_comment) == (trusted, untrusted)


# -- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bit", [0x01, 0x02, 0x80])
def test_every_flipped_byte_of_a_signed_part_is_refused(bit: int) -> None:
    """All but the words of the untrusted comment, which by the format nobody signs."""
    free = range(len("untrusted comment: "), len(LINES[0]))
    for place in range(len(FILE)):
        changed = bytearray(FILE)
        changed[place] ^= bit
        if place in free and bit != 0x80:
            assert verified(CONTENT, bytes(changed)) == "a trusted comment"
            continue
        with pytest.raises(SidecarError):
            verified(CONTENT, bytes(changed))


def test_every_flipped_byte_of_the_file_is_refused() -> None:
    """The signature is over the exact bytes."""
    for place in range(len(CONTENT)):
        changed = bytearray(CONTENT)
        changed[place] ^= 1
        with pytest.raises(BadSignatureError):
            verified(bytes(changed))
    for other in (b"", CONTENT[:-1], CONTENT + b"\n", hashlib.blake2b(CONTENT).digest()):
        with pytest.raises(BadSignatureError):
            verified(other)


SIGNATURE = parse_signature(FILE).signature

REFUSED: dict[str, tuple[bytes, type[SidecarError]]] = {
    "nothing": (b"", MalformedError),
    "no newline at the end": (FILE[:-1], MalformedError),
    "a fifth line": (FILE + b"x\n", MalformedError),
    "something behind the last newline": (FILE + b"x", MalformedError),
    "an empty fifth line": (FILE + b"\n", MalformedError),
    "a line less": (FILE[: FILE.rindex(b"\n", 0, -1) + 1], MalformedError),
    "CRLF": (FILE.replace(b"\n", b"\r\n"), MalformedError),
    "not UTF-8": (FILE.replace(b"an untrusted", b"an \xff"), MalformedError),
    "no untrusted comment": (with_line(0, "comment: x"), MalformedError),
    "no trusted comment": (with_line(2, "comment: x"), MalformedError),
    "a control character": (with_line(0, "untrusted comment: a\x1bb"), MalformedError),
    "a NUL": (with_line(2, "trusted comment: a\0b"), MalformedError),
    "base64 without padding": (with_line(3, LINES[3].rstrip("=")), MalformedError),
    "another spelling of base64": (
        with_line(3, LINES[3][:-3] + chr(ord(LINES[3][-3]) + 1) + "=="),
        MalformedError,
    ),
    "spaces behind base64": (with_line(1, LINES[1] + " "), MalformedError),
    "a short signature": (with_line(1, signature_line(b"ED", SIGNATURE[:-1])), MalformedError),
    "a long signature": (with_line(1, signature_line(b"ED", SIGNATURE + b"x")), MalformedError),
    "a short global signature": (with_line(3, base64.b64encode(bytes(63)).decode()), MalformedError),
    "an unknown algorithm": (with_line(1, signature_line(b"EE", SIGNATURE)), UnsupportedVersionError),
    "no algorithm": (with_line(1, ""), UnsupportedVersionError),
    "a long untrusted comment": (
        with_line(0, "untrusted comment: ".ljust(UNTRUSTED_LINE_BYTES_MAX, "x")),
        MalformedError,
    ),
    "a long trusted comment": (
        with_line(2, "trusted comment: ".ljust(TRUSTED_LINE_BYTES_MAX, "x")),
        MalformedError,
    ),
    "a long file": (b"untrusted comment: " + b"\n" * SIGNATURE_FILE_BYTES_MAX, MalformedError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_of_the_form_is_refused(name: str) -> None:
    """Each with the error of its kind; minisign itself would read some of them."""
    file, error = REFUSED[name]
    with pytest.raises(error) as refused:
        parse_signature(file)
    assert type(refused.value) in (error, *error.__subclasses__())


def test_a_file_that_is_too_long_is_not_read() -> None:
    """The bound stands before everything else."""
    with pytest.raises(MalformedError, match=f"at most {SIGNATURE_FILE_BYTES_MAX} bytes"):
        parse_signature(b"\xff" * (SIGNATURE_FILE_BYTES_MAX + 1))


def test_a_signature_over_the_file_itself_is_refused() -> None:
    """The legacy form: a signature that the key made for another purpose would be one of these."""
    legacy = LOG.sign(CONTENT)
    file = "\n".join(
        [
            LINES[0],
            signature_line(b"Ed", legacy),
            LINES[2],
            base64.b64encode(LOG.sign(legacy + b"a trusted comment")).decode(),
            "",
        ]
    ).encode()
    with pytest.raises(UnsupportedVersionError, match="hash"):
        parse_signature(file)
    relabelled = file.replace(signature_line(b"Ed", legacy).encode(), signature_line(b"ED", legacy).encode())
    with pytest.raises(BadSignatureError):
        verified(CONTENT, relabelled)


def test_bounds_are_those_that_minisign_reads() -> None:
    """The longest comments are taken, and one byte more is not."""
    longest = "x" * (UNTRUSTED_LINE_BYTES_MAX - len("untrusted comment: \n"))
    trusted = "x" * (TRUSTED_LINE_BYTES_MAX - len("trusted comment: \n"))
    file = sign_file(CONTENT, trusted, longest, LOG)
    assert verified(CONTENT, file) == trusted
    assert len(file) <= SIGNATURE_FILE_BYTES_MAX
    for comments in (
        (trusted + "x", longest),
        (trusted, longest + "x"),
        ("a\nb", ""),
        ("", "a\nb"),
        ("\ud800", ""),
    ):
        with pytest.raises(MalformedError):
            sign_file(CONTENT, *comments, LOG)


def test_another_key_verifies_nothing() -> None:
    """By its id, and, where the id was taken over, by its signature."""
    with pytest.raises(UnknownKeyError):
        verified(CONTENT, key=MinisignKey.of(STRANGER.verifier))
    found, posing = parse_signature(FILE), MinisignKey(KEY.key_id, STRANGER.verifier)
    for call in (lambda: verify_comment(found, posing), lambda: verify_file(found, CONTENT, posing)):
        with pytest.raises(BadSignatureError):
            call()
    for other in (KEY.key_id[:-1], KEY.key_id + b"x"):
        with pytest.raises(MalformedError):
            MinisignKey(other, LOG.verifier)


def test_each_check_asks_for_the_key_that_the_file_names() -> None:
    """Neither verifies a file under the id of another key."""
    found, renamed = parse_signature(FILE), MinisignKey(bytes(KEY_ID_BYTES), LOG.verifier)
    for call in (lambda: verify_comment(found, renamed), lambda: verify_file(found, CONTENT, renamed)):
        with pytest.raises(UnknownKeyError):
            call()


def test_comment_and_file_are_bound_to_one_signature() -> None:
    """The comment of one file cannot be put under another, even of the same key."""
    found, other = parse_signature(FILE), parse_signature(sign_file(b"other", "newer", "", LOG))
    mixed = MinisignSignature("", KEY.key_id, found.signature, other.trusted_comment, other.global_signature)
    verify_file(mixed, CONTENT, KEY)
    with pytest.raises(BadSignatureError):
        verify_comment(mixed, KEY)


# -- the real program ------------------------------------------------------------------------------------------


@pytest.fixture
def minisign() -> str:
    """Give the program, or skip where it is not installed."""
    found = shutil.which("minisign")
    if found is None:
        skip_without("minisign")
    return found


def run(program: str, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run minisign in a folder."""
    return subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL
    )


def test_minisign_verifies_what_is_signed_here(minisign: str, tmp_path: Path) -> None:
    """With the public key as text; a changed file, comment or key is refused by it as it is here."""
    (tmp_path / "f").write_bytes(CONTENT)
    (tmp_path / "f.minisig").write_bytes(FILE)
    done = run(minisign, tmp_path, "-VHQm", "f", "-P", str(KEY))
    assert (done.returncode, done.stdout) == (0, b"a trusted comment\n"), done.stderr
    assert run(minisign, tmp_path, "-Vm", "f", "-P", str(MinisignKey.of(STRANGER.verifier))).returncode != 0
    (tmp_path / "f.minisig").write_bytes(FILE.replace(b"a trusted", b"b trusted"))
    assert run(minisign, tmp_path, "-Vm", "f", "-P", str(KEY)).returncode != 0
    (tmp_path / "f.minisig").write_bytes(FILE)
    (tmp_path / "f").write_bytes(CONTENT + b"\n")
    assert run(minisign, tmp_path, "-Vm", "f", "-P", str(KEY)).returncode != 0


def test_what_minisign_signs_is_verified_here(minisign: str, tmp_path: Path) -> None:
    """With a key that it made itself, under the id that it drew; its legacy form is refused."""
    (tmp_path / "f").write_bytes(CONTENT)
    assert run(minisign, tmp_path, "-GW", "-p", "key.pub", "-s", "key").returncode == 0
    raw = base64.b64decode((tmp_path / "key.pub").read_text(encoding="utf-8").split("\n")[1])
    key = MinisignKey(raw[2:10], Verifier("minisign", raw[10:]))
    for options, comment in ((["-t", "it says ü"], "it says ü"), ([], None)):
        assert run(minisign, tmp_path, "-Sm", "f", "-s", "key", *options).returncode == 0
        file = (tmp_path / "f.minisig").read_bytes()
        assert format_signature(parse_signature(file)) == file
        said = verified(CONTENT, file, key)
        assert said == comment or (comment is None and said.startswith("timestamp:") and "\t" in said)
        with pytest.raises(UnknownKeyError):
            verified(CONTENT, file)
    assert run(minisign, tmp_path, "-Slm", "f", "-s", "key").returncode == 0
    with pytest.raises(UnsupportedVersionError):
        parse_signature((tmp_path / "f.minisig").read_bytes())


def test_minisign_reads_the_longest_comments(minisign: str, tmp_path: Path) -> None:
    """The bounds are not larger than its own."""
    longest = "x" * (UNTRUSTED_LINE_BYTES_MAX - len("untrusted comment: \n"))
    trusted = "x" * (TRUSTED_LINE_BYTES_MAX - len("trusted comment: \n"))
    (tmp_path / "f").write_bytes(CONTENT)
    (tmp_path / "f.minisig").write_bytes(sign_file(CONTENT, trusted, longest, LOG))
    done = run(minisign, tmp_path, "-VQm", "f", "-P", str(KEY))
    assert done.returncode == 0, done.stderr
