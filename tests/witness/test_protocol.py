"""``protocol``: a submission has one spelling and small bounds, and any bytes are read or refused."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecars.encoding import to_base64
from sidecars.errors import MalformedError, NonCanonicalError
from sidecars.keys import Signer
from sidecars.note import sign_note
from tests.simulators.witnesses import LOG, ORIGIN, Branch
from timeline.witness.protocol import (
    BODY_BYTES_MAX,
    TreeHead,
    format_size,
    format_submission,
    latest_path,
    origin_digest,
    parse_head,
    parse_latest_path,
    parse_lines,
    parse_size,
    parse_submission,
)

BRANCH = Branch.of(9)
GOOD = BRANCH.body(3)
HASH = to_base64(bytes(32))


@given(st.integers(0, 2**63 - 1), st.lists(st.binary(min_size=32, max_size=32), max_size=63))
def test_what_is_formatted_is_read_back(old: int, proof: list[bytes]) -> None:
    """Size, hashes and the exact note."""
    note = BRANCH.note()
    read = parse_submission(format_submission(old, proof, note))
    assert (read.old_size, read.proof, read.note) == (old, tuple(proof), note)
    assert read.head == TreeHead(ORIGIN, 9, BRANCH.root())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good body, edited in a few places."""
    body = GOOD
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(body)))
        end = draw(st.integers(start, min(len(body), start + 50)))
        piece = draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\n", b"\n\n", b"old 3\n", b"\r\n", b"=", b"0", b" ", body[start:end] * 2])
        )
        body = body[:start] + piece + body[end:]
    return body


@given(st.binary(max_size=200) | damaged())
@example(b"")
@example(b"old 0\n\n")
@example(b"\n\n")
def test_any_bytes_are_the_one_spelling_of_a_submission_or_refused(body: bytes) -> None:
    """Nothing but ``MalformedError`` comes out, and what is accepted is written back byte for byte."""
    try:
        read = parse_submission(body)
    except MalformedError:
        return
    if read.canonical:
        assert format_submission(read.old_size, read.proof, read.note) == body
    else:
        with pytest.raises(NonCanonicalError):
            format_submission(read.old_size, read.proof, read.note)
    assert body.endswith(read.note)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"old 3\n", b"old 03\n"),
        (b"old 3\n", b"old +3\n"),
        (b"old 3\n", b"old 3 \n"),
        (b"old 3\n", b"old  3\n"),
        (b"old 3\n", b"Old 3\n"),
        (b"old 3\n", b"old 3\r\n"),
        (b"old 3\n", b"old -1\n"),
        (b"old 3\n", b"old \xd9\xa3\n"),
        (b"old 3\n", b"old 9223372036854775808\n"),
        (b"old 3\n", b"old\n"),
        (b"old 3\n", b""),
        (b"old 3\n", b"old 3\n\n"),
        (b"old 3\n", b"old 3\n====\n"),
        (b"old 3\n", b"old 3\nAAAA\n"),
        (b"old 3\n", b"old 3\n" + HASH[:-2].encode() + b"B=\n"),
        (b"old 3\n", b"old 3\n" + HASH.encode() + b" \n"),
        (b"old 3\n", b"old 3\n" + HASH.rstrip("=").encode() + b"\n"),
        (b"=\n\n", b"=\n"),
        (b"\n9\n", b"\n09\n"),
        (b"\n9\n", b"\n9223372036854775808\n"),
        (b"\n9\n", b"\n9\r\n"),
        (b"\n9\n", b"\n"),
        (b"\xe2\x80\x94 ", b"- "),
        (b"log.example/one\n9", b"log.\texample/one\n9"),
        (b"log.example/one\n9", b"\xff\n9"),
    ],
)
def test_another_spelling_is_refused(old: bytes, new: bytes) -> None:
    """One value, one spelling: in the size, the hashes, the empty line and the note."""
    assert old in GOOD
    with pytest.raises(MalformedError):
        parse_submission(GOOD.replace(old, new, 1))


def test_sixty_three_hashes_are_read_and_sixty_four_are_not() -> None:
    """C2SP: no more than 63 lines."""
    for count, fine in ((63, True), (64, False)):
        body = b"old 3\n" + f"{HASH}\n".encode() * count + b"\n" + BRANCH.note()
        if fine:
            assert len(parse_submission(body).proof) == count
        else:
            with pytest.raises(MalformedError, match="at most 63"):
                parse_submission(body)


def test_a_body_is_bounded_with_room_for_what_must_be_accepted() -> None:
    """16 signatures of ML-DSA-44's length and 63 hashes fit; one byte over the bound does not."""
    signers = [Signer(f"key-{number}", bytes([number]) * 32) for number in range(3)]
    text = BRANCH.note().partition(b"\n\n")[0].decode() + "\n"
    note = sign_note(text, [LOG, *signers])
    long_line = f"\u2014 key-of-another-kind {to_base64(bytes(4 + 8 + 2420))}\n".encode()
    body = b"old 3\n" + f"{HASH}\n".encode() * 63 + b"\n" + note + long_line * 16
    assert len(body) < BODY_BYTES_MAX
    assert len(parse_submission(body).proof) == 63
    with pytest.raises(MalformedError, match="at most"):
        parse_submission(body + bytes(BODY_BYTES_MAX + 1 - len(body)))


def test_extension_lines_of_other_logs_are_kept_as_they_stand() -> None:
    """They are signed with the rest; an empty one is none."""
    text = f"{ORIGIN}\n9\n{to_base64(BRANCH.root())}\nfirst\nsecond\n"
    assert parse_head(text).extensions == ("first", "second")
    assert parse_submission(format_submission(0, (), sign_note(text, [LOG]))).text == text
    for wrong in (text + "\n", text.replace("first", ""), "\n9\n" + HASH + "\n", f"{ORIGIN}\n9\n", ""):
        with pytest.raises(MalformedError):
            parse_head(wrong)


@given(st.integers(0, 2**63 - 1))
def test_a_size_comes_back(size: int) -> None:
    """The body of a conflict."""
    assert parse_size(format_size(size)) == size


@pytest.mark.parametrize(
    "body", [b"", b"\n", b"3", b"03\n", b"3\n\n", b" 3\n", b"3\r\n", b"\xff\n", b"-1\n", b"3\n4\n"]
)
def test_what_is_no_size_is_refused(body: bytes) -> None:
    """One decimal and a newline."""
    with pytest.raises(MalformedError):
        parse_size(body)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_a_path_leads_to_its_log(origin: str) -> None:
    """The path of the latest checkpoint names the digest of the origin."""
    assert parse_latest_path(latest_path(origin)) == origin_digest(origin)


@pytest.mark.parametrize(
    "path", ["", "/", "/checkpoint", "/AB/checkpoint", f"/{'A' * 64}/checkpoint", f"/{'a' * 64}/checkpoint/"]
)
def test_other_paths_lead_nowhere(path: str) -> None:
    """Lower-case hex of 32 bytes, and nothing after it."""
    assert parse_latest_path(path) is None


def test_an_answer_is_signature_lines_only() -> None:
    """An answer that moves the border between text and signatures is refused."""
    text = "a\n"
    line = sign_note(text, [LOG]).partition(b"\n\n")[2]
    assert parse_lines(line * 2, text).text == text
    for wrong in (b"", b"\n", line[:-1], b"b\n\n" + line, b"\n" + line, line + b"\n" + line, b"\xff\n"):
        with pytest.raises(MalformedError):
            parse_lines(wrong, text)
