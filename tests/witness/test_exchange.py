"""What each answer of a witness means, decided without a network."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.errors import MalformedError
from sidecars.note import sign_note
from tests.simulators.witnesses import LOG
from tests.witness.lines import CLOCK, IMPOSTOR, TEXT, TREE, WITNESS, forged, line
from timeline.witness.exchange import (
    SKEW_SECONDS,
    Ahead,
    Ask,
    Cosigned,
    Forked,
    Misbehaved,
    Outcome,
    Refused,
    Regressed,
    Reply,
    Unavailable,
    decide_reply,
    first_ask,
    make_request,
)
from timeline.witness.protocol import SIZE_TYPE, TEXT_TYPE

SIZE = "text/x.tlog.size"
ROWS: dict[str, tuple[int, int, int, str, bytes, Outcome | Ask]] = {
    # name: known, asked, status, content type, body, outcome; our size is 9
    "cosigned": (0, 0, 200, "text/plain", line(), Cosigned(TREE.note() + line(), CLOCK.seconds)),
    "with another's line": (
        0,
        0,
        200,
        "",
        line(IMPOSTOR) + line(),
        Cosigned(TREE.note() + line(), CLOCK.seconds),
    ),
    "nothing": (0, 0, 200, "", b"", Misbehaved("malformed-answer", 200)),
    "no line": (0, 0, 200, "", b"thanks\n", Misbehaved("malformed-answer", 200)),
    "not ours": (0, 0, 200, "", line(IMPOSTOR), Misbehaved("no-cosignature", 200)),
    "our name, another's signature": (
        0,
        0,
        200,
        "",
        forged(IMPOSTOR.cosign(TEXT, CLOCK.seconds)),
        Misbehaved("bad-cosignature", 200),
    ),
    "another text": (0, 0, 200, "", line(text="x\n"), Misbehaved("bad-cosignature", 200)),
    "two of ours": (0, 0, 200, "", line() + line(at=CLOCK.seconds + 1), Misbehaved("malformed-answer", 200)),
    "a good and a bad one": (
        0,
        0,
        200,
        "",
        line() + forged(IMPOSTOR.cosign(TEXT, CLOCK.seconds)),
        Misbehaved("malformed-answer", 200),
    ),
    "moves the border": (0, 0, 200, "", b"x\n\n" + line(), Misbehaved("malformed-answer", 200)),
    "oldest time": (
        0,
        0,
        200,
        "",
        line(at=CLOCK.seconds - SKEW_SECONDS),
        Cosigned(TREE.note() + line(at=CLOCK.seconds - SKEW_SECONDS), CLOCK.seconds - SKEW_SECONDS),
    ),
    "replayed": (
        0,
        0,
        200,
        "",
        line(at=CLOCK.seconds - SKEW_SECONDS - 1),
        Misbehaved("cosignature-time", 200),
    ),
    "from the future": (
        0,
        0,
        200,
        "",
        line(at=CLOCK.seconds + SKEW_SECONDS + 1),
        Misbehaved("cosignature-time", 200),
    ),
    "a larger size": (5, 5, 409, SIZE, b"10\n", Ahead(10)),
    "a larger size, from nothing": (0, 0, 409, SIZE, b"10\n", Ahead(10)),
    "a size to go on from": (0, 0, 409, SIZE, b"5\n", Ask(5)),
    "our size": (0, 0, 409, SIZE, b"9\n", Ask(9)),
    "newer than remembered": (3, 3, 409, SIZE, b"5\n", Ask(5)),
    "smaller than it has signed": (5, 5, 409, SIZE, b"4\n", Regressed(4, 5)),
    "nothing, though it has signed": (5, 5, 409, SIZE, b"0\n", Regressed(0, 5)),
    "smaller than it has just said": (0, 7, 409, SIZE, b"5\n", Regressed(5, 7)),
    "the size that was named": (5, 5, 409, SIZE, b"5\n", Misbehaved("malformed-answer", 409)),
    "no size": (5, 5, 409, "text/plain", b"conflict\n", Misbehaved("malformed-answer", 409)),
    "a size of another type": (5, 5, 409, "text/plain", b"7\n", Misbehaved("malformed-answer", 409)),
    "no number": (5, 5, 409, SIZE, b"07\n", Misbehaved("malformed-answer", 409)),
    "other root as older witnesses say it": (9, 9, 409, "text/plain", b"", Forked(9)),
    "other root with our size": (9, 9, 409, SIZE, b"9\n", Forked(9)),
    "another root": (9, 9, 422, "", b"", Forked(9)),
    "another history": (5, 5, 422, "", b"", Forked(5)),
    "422 to a proof that there is none of": (0, 0, 422, "", b"", Misbehaved("unexpected-status", 422)),
    "unknown log": (0, 0, 404, "", b"", Refused("unknown-log", 404)),
    "unknown key": (0, 0, 403, "", b"", Refused("key-not-trusted", 403)),
    "malformed": (0, 0, 400, "", b"", Refused("submission-refused", 400)),
    "too large": (0, 0, 413, "", b"", Refused("submission-refused", 413)),
    "too many": (0, 0, 429, "", b"", Unavailable("busy")),
    "broken": (0, 0, 500, "", b"", Unavailable("busy")),
    "away": (0, 0, 503, "", line(), Unavailable("busy")),
    "moved": (0, 0, 302, "", b"", Misbehaved("unexpected-status", 302)),
    "a teapot": (0, 0, 418, "", b"", Misbehaved("unexpected-status", 418)),
    "no content": (0, 0, 204, "", b"", Misbehaved("unexpected-status", 204)),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_answer_has_its_meaning(name: str) -> None:
    """A row of the table: what is remembered, what was asked, what came, what it means."""
    known, asked, status, content_type, body, expected = ROWS[name]
    request = make_request(TREE.note(), WITNESS.verifier, known)
    assert decide_reply(request, Ask(asked), Reply(status, content_type, body), CLOCK.seconds) == expected


@given(
    st.integers(0, 12),
    st.integers(0, 9),
    st.sampled_from([200, 409, 422]) | st.integers(100, 599),
    st.sampled_from([SIZE_TYPE, TEXT_TYPE, ""]),
    st.binary(max_size=60)
    | st.integers(0, 12).map(lambda size: b"%d\n" % size)
    | st.sampled_from([line(), line(IMPOSTOR)]),
)
def test_any_answer_is_one_outcome_and_a_retry_goes_forward(
    known: int, asked: int, status: int, content_type: str, body: bytes
) -> None:
    """Whatever a witness says: never an exception, never a cosignature that is none, never the same question again."""
    request = make_request(TREE.note(), WITNESS.verifier, known)
    said = decide_reply(request, Ask(asked), Reply(status, content_type, body), CLOCK.seconds)
    if isinstance(said, Cosigned):
        assert (status, body) == (200, line())
    if isinstance(said, Ask):
        assert asked < said.old_size <= TREE.size


def test_a_witness_that_has_signed_more_need_not_be_asked() -> None:
    """We hold its signature on a larger tree of ours: this state is the older one."""
    request = make_request(TREE.note(), WITNESS.verifier, 10)
    assert first_ask(request) == Ahead(10)
    assert first_ask(make_request(TREE.note(), WITNESS.verifier, 9)) == Ask(9)


def test_only_a_checkpoint_of_ours_is_submitted() -> None:
    """The caller's own mistake is an exception, and nothing is sent."""
    for note in (b"", b"x\n\n", sign_note("x\n", [LOG]), sign_note(TEXT + "extension\n", [LOG])):
        with pytest.raises(MalformedError):
            make_request(note, WITNESS.verifier, 0)
