"""Carried anchors: what is signed is what is read, and every way in which a log is not the one that was carried."""

import base64
import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.carried import (
    SECONDS_MAX,
    UNTRUSTED_COMMENT,
    CarriedAnchor,
    OpenedAnchor,
    check_contained,
    check_text,
    format_statement,
    open_carried,
    parse_statement,
    sign_carried,
)
from sidecars.checkpoint import Checkpoint, format_checkpoint
from sidecars.digest import Digest
from sidecars.encoding import to_base64
from sidecars.errors import (
    BadSignatureError,
    EquivocationError,
    MalformedError,
    NonCanonicalError,
    OriginMismatchError,
    RollbackError,
    SidecarError,
    UnknownKeyError,
    UnsupportedVersionError,
)
from sidecars.keys import Signer
from sidecars.merkle import EMPTY_ROOT, leaf_hash, root_of
from sidecars.minisign import MinisignKey, sign_file
from tests.sidecars.samples import AT, LOG, ORIGIN, STRANGER

HASHES = tuple(leaf_hash(b"%d" % number) for number in range(12))
KEYS = (STRANGER.verifier, LOG.verifier)
OTHER_ORIGIN = "agent-timeline/" + "0b" * 16
AT_SECONDS = AT // 1000


def anchor_of(
    size: int, hashes: tuple[bytes, ...] = HASHES, *, origin: str = ORIGIN, at: int = AT_SECONDS
) -> CarriedAnchor:
    """Give the anchor of a log's first leaves."""
    return CarriedAnchor(Checkpoint(origin, size, Digest(root_of(hashes[:size]))), at)


def opened(size: int, hashes: tuple[bytes, ...] = HASHES, signer: Signer = LOG) -> OpenedAnchor:
    """Give the same, signed and opened."""
    return open_carried(sign_carried(anchor_of(size, hashes), signer), ORIGIN, KEYS)


FILE = sign_carried(anchor_of(7), LOG)
STATEMENT = format_statement(anchor_of(7))


# -- the form --------------------------------------------------------------------------------------------------


def test_an_anchor_is_what_the_specification_says() -> None:
    """The text is the note's, the comment repeats it with the time, and both are signed by the log key."""
    root = Digest(root_of(HASHES[:7]))
    text = format_checkpoint(Checkpoint(ORIGIN, 7, root)).encode()
    assert anchor_of(7).text == text
    assert f"origin {ORIGIN} size 7 root {to_base64(root.raw)} time {AT_SECONDS}" == STATEMENT
    assert sign_file(text, STATEMENT, "timeline carried anchor", LOG) == FILE


@given(
    st.integers(1, 2**63 - 1),
    st.binary(min_size=32, max_size=32),
    st.integers(0, SECONDS_MAX),
    st.from_regex(r"[a-z0-9][a-z0-9./:_-]{0,127}", fullmatch=True),
)
def test_what_is_signed_is_opened(size: int, root: bytes, at: int, origin: str) -> None:
    """Every origin, size, root and time; the signature file alone gives the signed text back."""
    anchor = CarriedAnchor(Checkpoint(origin, size, Digest(root)), at)
    assert parse_statement(format_statement(anchor)) == anchor
    found = open_carried(sign_carried(anchor, LOG), origin, KEYS)
    assert found == (anchor, LOG.verifier)
    check_text(found.anchor, anchor.text)


@pytest.mark.parametrize("bit", [0x01, 0x20, 0x80])
def test_every_flipped_byte_is_refused(bit: int) -> None:
    """Of the signature file, the line that nobody signs included, and of the text."""
    for place in range(len(FILE)):
        changed = bytearray(FILE)
        changed[place] ^= bit
        with pytest.raises(SidecarError):
            open_carried(bytes(changed), ORIGIN, KEYS)
    text = anchor_of(7).text
    for place in range(len(text)):
        changed = bytearray(text)
        changed[place] ^= bit
        with pytest.raises(BadSignatureError):
            check_text(anchor_of(7), bytes(changed))


@given(st.data())
def test_any_other_bytes_are_refused(data: st.DataObject) -> None:
    """Cut, doubled, exchanged or replaced pieces raise nothing but ``SidecarError``."""
    start = data.draw(st.integers(0, len(FILE)))
    end = data.draw(st.integers(start, len(FILE)))
    piece = data.draw(
        st.binary(max_size=8) | st.sampled_from([b"\n", b"\r\n", b" ", FILE, FILE[start:end] * 2])
    )
    changed = FILE[:start] + piece + FILE[end:]
    if changed == FILE:
        return
    with pytest.raises(SidecarError):
        open_carried(changed, ORIGIN, KEYS)


def signed(comment: str, *, text: bytes | None = None, untrusted: str = UNTRUSTED_COMMENT) -> bytes:
    """Give a file by the log key whose comment or text is another one."""
    return sign_file(anchor_of(7).text if text is None else text, comment, untrusted, LOG)


ROOT = STATEMENT.split(" ")[5]

REFUSED: dict[str, tuple[bytes, type[SidecarError]]] = {
    "nothing": (b"", MalformedError),
    "the text in place of the signature": (anchor_of(7).text, MalformedError),
    "a person's own words in the unsigned line": (
        signed(STATEMENT, untrusted="the newest one"),
        MalformedError,
    ),
    "no time": (signed(STATEMENT.rpartition(" time")[0]), MalformedError),
    "a time without seconds": (signed(STATEMENT.rpartition(" ")[0]), MalformedError),
    "a word more": (signed(STATEMENT + " x"), MalformedError),
    "a name and a value more": (signed(STATEMENT + " x 1"), MalformedError),
    "another name": (signed(STATEMENT.replace("size", "Size")), MalformedError),
    "another order": (signed(f"size 7 origin {ORIGIN} root {ROOT} time {AT_SECONDS}"), MalformedError),
    "two spaces": (signed(STATEMENT.replace(" size", "  size")), MalformedError),
    "a leading zero": (signed(STATEMENT.replace("size 7", "size 07")), MalformedError),
    "a short root": (signed(STATEMENT.replace(ROOT, ROOT[:40])), MalformedError),
    "another spelling of the root": (
        signed(STATEMENT.replace(ROOT, ROOT[:-2] + chr(ord(ROOT[-2]) + 1) + "=")),
        NonCanonicalError,
    ),
    "a time after the year 9999": (
        signed(STATEMENT.replace(f"time {AT_SECONDS}", f"time {SECONDS_MAX + 1}")),
        MalformedError,
    ),
    "no leaves": (
        signed(f"origin {ORIGIN} size 0 root {to_base64(EMPTY_ROOT)} time 1"),
        MalformedError,
    ),
    "a signature over another text": (signed(STATEMENT, text=anchor_of(8).text), BadSignatureError),
    "a comment under another signature": (
        b"\n".join([*sign_carried(anchor_of(3), LOG).split(b"\n")[:2], *FILE.split(b"\n")[2:]]),
        BadSignatureError,
    ),
    "a legacy signature": (FILE.replace(b"\nRU", b"\nRW"), UnsupportedVersionError),
    "another log of this key": (sign_carried(anchor_of(7, origin=OTHER_ORIGIN), LOG), OriginMismatchError),
    "another log of another key": (
        sign_carried(anchor_of(7, origin=OTHER_ORIGIN), Signer("x", b"x" * 32)),
        OriginMismatchError,
    ),
    "another key": (sign_carried(anchor_of(7), Signer("x", b"x" * 32)), UnknownKeyError),
    "another key with no statement": (
        sign_file(b"", "timestamp:1", UNTRUSTED_COMMENT, Signer("x", b"x" * 32)),
        MalformedError,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_anchor_of_this_log_is_refused(name: str) -> None:
    """Each with the reason that helps; validly signed nonsense too."""
    file, error = REFUSED[name]
    with pytest.raises(error) as refused:
        open_carried(file, ORIGIN, KEYS)
    assert type(refused.value) in {error, NonCanonicalError}


def test_a_foreign_signer_is_never_believed_about_the_origin() -> None:
    """The unverified comment chooses between two refusals and nothing else."""
    stranger = Signer("x", b"x" * 32)
    for origin, error in ((ORIGIN, UnknownKeyError), (OTHER_ORIGIN, OriginMismatchError)):
        with pytest.raises(error):
            open_carried(sign_carried(anchor_of(7, origin=origin), stranger), ORIGIN, KEYS)


def test_a_key_that_poses_under_the_id_of_the_log_key_is_refused() -> None:
    """Ids are not secret: anybody can write one."""
    forged = sign_carried(anchor_of(7), STRANGER)
    key_id = MinisignKey.of(LOG.verifier).key_id
    lines = forged.decode().split("\n")
    raw = base64.b64decode(lines[1])
    lines[1] = base64.b64encode(raw[:2] + key_id + raw[10:]).decode()
    with pytest.raises(BadSignatureError):
        open_carried("\n".join(lines).encode(), ORIGIN, [LOG.verifier])


def test_values_that_no_anchor_has_cannot_be_made() -> None:
    """The empty tree, which every log contains; an origin with a space; times out of bounds."""
    for checkpoint, at in (
        (Checkpoint(ORIGIN, 0, Digest(EMPTY_ROOT)), 0),
        (Checkpoint("a b", 1, Digest(HASHES[0])), 0),
        (Checkpoint(ORIGIN, 1, Digest(HASHES[0])), -1),
        (Checkpoint(ORIGIN, 1, Digest(HASHES[0])), SECONDS_MAX + 1),
    ):
        with pytest.raises(MalformedError):
            CarriedAnchor(checkpoint, at)


# -- the decision ----------------------------------------------------------------------------------------------


def test_a_log_contains_exactly_the_trees_of_its_first_leaves() -> None:
    """Every size carried against every size of the same log: contained, or an older state."""
    for carried, now in itertools.product(range(1, 13), range(13)):
        if carried <= now:
            check_contained(opened(carried), HASHES[:now], LOG.verifier)
        else:
            with pytest.raises(RollbackError):
                check_contained(opened(carried), HASHES[:now], LOG.verifier)


@given(st.integers(0, 11), st.integers(1, 12), st.integers(1, 12))
def test_a_log_with_one_other_leaf_is_another_history(place: int, carried: int, now: int) -> None:
    """From the place of the difference on; before it the two cannot be told apart."""
    other = (*HASHES[:place], hashlib.sha256(b"other").digest(), *HASHES[place + 1 :])
    if carried > now:
        error: type[SidecarError] | None = RollbackError
    else:
        error = EquivocationError if place < carried else None
    if error is None:
        check_contained(opened(carried), other[:now], LOG.verifier)
    else:
        with pytest.raises(error):
            check_contained(opened(carried), other[:now], LOG.verifier)


def test_a_key_speaks_for_no_tree_of_another_epoch() -> None:
    """The tree is the log's, the key is one of its keys, and was not in force: refused, after the history was."""
    for log_key in (STRANGER.verifier, None):
        with pytest.raises(UnknownKeyError):
            check_contained(opened(7), HASHES, log_key)
        with pytest.raises(RollbackError):
            check_contained(opened(7), HASHES[:6], log_key)
    check_contained(opened(7, signer=STRANGER), HASHES, STRANGER.verifier)
