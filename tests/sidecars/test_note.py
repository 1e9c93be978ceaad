"""``note`` and ``checkpoint``: C2SP's formats, in their one spelling."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.checkpoint import (
    Checkpoint,
    format_checkpoint,
    open_checkpoint,
    parse_checkpoint,
    sign_checkpoint,
)
from sidecars.digest import Digest
from sidecars.errors import BadSignatureError, MalformedError, OriginMismatchError, UnknownKeyError
from sidecars.keys import Signer, Verifier
from sidecars.merkle import EMPTY_ROOT
from sidecars.note import NOTE_BYTES_MAX, NoteSignature, format_note, open_note, parse_note, sign_note
from tests.sidecars.samples import LOG, ORIGIN, OWNER, STRANGER

LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
TEXTS = st.lists(LINE, min_size=1, max_size=6).map(lambda lines: "\n".join(lines) + "\n")
CHECKPOINT = Checkpoint(ORIGIN, 3, Digest.of(b"root"))


@given(TEXTS)
def test_what_is_signed_opens_to_the_same_text(text: str) -> None:
    """Empty lines inside the text included: the last empty line is the border."""
    content = sign_note(text, [LOG, OWNER])
    opened = open_note(content, [OWNER.verifier, LOG.verifier])
    assert opened.text == text
    assert opened.keys == (LOG.ref, OWNER.ref)
    assert format_note(parse_note(content)) == content


def test_an_unknown_key_is_ignored_and_a_known_bad_one_refuses() -> None:
    """C2SP signed-note: lines by unknown keys must not matter, a known key's bad line refuses the whole note."""
    note = parse_note(sign_note("text\n", [LOG, OWNER]))
    spoilt = format_note(
        note._replace(signatures=(note.signatures[0], note.signatures[1]._replace(signature=b"x")))
    )
    assert open_note(spoilt, [LOG.verifier]).keys == (LOG.ref,)
    with pytest.raises(BadSignatureError):
        open_note(spoilt, [LOG.verifier, OWNER.verifier])
    for known in ([], [STRANGER.verifier]):
        with pytest.raises(UnknownKeyError):
            open_note(spoilt, known)


def test_a_key_is_known_only_by_name_and_id_together() -> None:
    """The same key under another name is another key: its lines are ignored."""
    renamed = Verifier("another-name", LOG.verifier.public_key)
    with pytest.raises(UnknownKeyError):
        open_note(sign_note("text\n", [LOG]), [renamed])


def test_sixteen_signatures_are_accepted_and_thirty_three_refused() -> None:
    """C2SP asks for at least 16 and for a limit."""
    signers = [Signer(f"key-{number}", bytes([number]) * 32) for number in range(33)]
    assert (
        len(open_note(sign_note("text\n", signers[:16]), [signer.verifier for signer in signers]).keys) == 16
    )
    for wrong in (signers, []):
        with pytest.raises(MalformedError):
            sign_note("text\n", wrong)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n\n", "\n"),
        ("\u2014 ", "- "),
        ("\u2014 ", "\u2014"),
        ("\u2014 ", "\u2014  "),
        ("=\n", "=\n\n"),
        ("=\n", "="),
        ("=\n", "=\r\n"),
        ("=\n", "\n"),
        ("text", "te\txt"),
        ("text", "te\0xt"),
        ("text", "te\rxt"),
    ],
)
def test_what_is_no_note_is_refused(old: str, new: str) -> None:
    """Each deviation is malformed, and none is skipped as a line that cannot be read."""
    content = sign_note("text\n", [LOG]).decode()
    assert old in content
    with pytest.raises(MalformedError):
        open_note(content.replace(old, new, 1).encode(), [LOG.verifier])


def test_a_note_is_bounded_and_utf8() -> None:
    """Size, encoding, control characters and lone surrogates are checked on both ways."""
    for content in (b"a" * (NOTE_BYTES_MAX + 1), b"\xff\n\n\xe2\x80\x94 a AAAAAAA=\n", b"", b"\n", b"\n\n"):
        with pytest.raises(MalformedError):
            parse_note(content)
    for text in ("no newline", "tab\t\n", "\ud800\n", ""):
        with pytest.raises(MalformedError):
            sign_note(text, [LOG])


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"a" * (NOTE_BYTES_MAX + 1), "at most"),
        (b"text\n\n\xe2\x80\x94 a AAAAAAA=", "end with a newline"),
        (b"text\n\xe2\x80\x94 a AAAAAAA=\n", "follow an empty line"),
        (b"text\n\n" + b"\xe2\x80\x94 a AAAAAAA=\n" * 33, "1 to 32 signatures"),
        (b"text\n\nxx a AAAAAAA=\n", "begin with an em dash"),
    ],
)
def test_the_broken_rule_of_a_note_is_named(content: bytes, rule: str) -> None:
    """A person has to find the place, so each fault has its own words."""
    with pytest.raises(MalformedError, match=rule):
        parse_note(content)


@pytest.mark.parametrize(
    ("origin", "size"), [("", 1), ("two\nlines", 1), ("tab\t", 1), (ORIGIN, -1), (ORIGIN, 2**63)]
)
def test_a_checkpoint_that_no_log_can_have_cannot_be_made(origin: str, size: int) -> None:
    """Origin and size are checked when the value is made, not only when it is read."""
    with pytest.raises(MalformedError):
        Checkpoint(origin, size, Digest.of(b"root"))


def test_a_signature_line_needs_more_than_a_key_id() -> None:
    """Four bytes are an id and no signature."""
    line = NoteSignature(LOG.ref, b"").line()
    with pytest.raises(MalformedError):
        parse_note(f"text\n\n{line}\n".encode())


@given(st.integers(1, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_checkpoint_comes_back_unchanged(size: int, root: bytes) -> None:
    """Text and value are inverse, and the signed note opens to it."""
    checkpoint = Checkpoint(ORIGIN, size, Digest(root))
    assert parse_checkpoint(format_checkpoint(checkpoint)) == checkpoint
    signed = open_checkpoint(sign_checkpoint(checkpoint, [LOG]), ORIGIN, [LOG.verifier])
    assert (signed.checkpoint, signed.keys) == (checkpoint, (LOG.ref,))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "origin\n3\n",
        "\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n",
        "origin\n03\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n",
        "origin\n-3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n",
        "origin\n9223372036854775808\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3B=\n",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A\n",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDw\n",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\nextension\n",
        "origin\n3\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n\n",
        "origin\n0\nq+bHbrtgMTW2L0GNu0pCUyTfNPz8QnAyCzvZ0IDwU3A=\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """Extension lines, other spellings, and an empty tree with a root are refused."""
    with pytest.raises(MalformedError):
        parse_checkpoint(text)


def test_a_checkpoint_of_another_log_is_refused_though_the_key_is_known() -> None:
    """The origin is the caller's: a log cannot choose under which name it is looked up (immudb's hole)."""
    note = sign_checkpoint(replace(CHECKPOINT, origin="another-log"), [LOG])
    with pytest.raises(OriginMismatchError):
        open_checkpoint(note, ORIGIN, [LOG.verifier])


def test_an_empty_tree_is_signed_with_the_empty_root() -> None:
    """``init`` writes such a head before anything else."""
    note = sign_checkpoint(Checkpoint(ORIGIN, 0, Digest(EMPTY_ROOT)), [LOG])
    assert open_checkpoint(note, ORIGIN, [LOG.verifier]).checkpoint.size == 0
