"""The client: what each answer of a witness means, and that none of them is an exception or a cosignature it is not."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.cosignature import WitnessSigner, open_cosignatures
from sidecars.note import open_note
from tests.simulators.witnesses import (
    LOG,
    ORIGIN,
    OTHER,
    Branch,
    HandClock,
    HandStopwatch,
    Served,
    canned,
    http_reply,
    make_folder,
    ports,
    serving,
    socket_path,
)
from tests.witness.lines import CLOCK, TREE, WITNESS, line
from timeline.witness.client import Asked, Ports, fetch_latest, submit
from timeline.witness.endpoint import NetworkEndpoint, UnixEndpoint
from timeline.witness.exchange import (
    SKEW_SECONDS,
    Ahead,
    Cosigned,
    Forked,
    Misbehaved,
    Outcome,
    Refused,
    Regressed,
    Reply,
    Unavailable,
)
from timeline.witness.protocol import SIZE_TYPE, format_submission, latest_path

# -- with a real witness ---------------------------------------------------------------------------------------


def ask(
    asked: Asked, branch: Branch, known: int = 0, clock: HandClock | None = None, **changes: object
) -> Outcome:
    """Ask for a cosignature on a branch as it is."""
    options: dict[str, object] = {
        "verifiers": [LOG.verifier],
        "known": known,
        "deadline_seconds": 30,
        "ports": ports(clock),
    }
    return submit(asked, branch.note(), branch.prove, **(options | changes))  # type: ignore[arg-type]  # as named above


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Give a witness on a socket."""
    with serving(make_folder(tmp_path / "w")) as served:
        yield served


def test_a_log_that_goes_on_is_cosigned_each_time(served: Served) -> None:
    """With what is remembered one request is enough; without it the 409 tells, and a second one does it."""
    log = Branch.of(3)
    for known, grow, codes in (
        (0, 0, [200]),
        (3, 4, [200]),
        (7, 0, [200]),
        (0, 2, [409, 200]),
        (0, 0, [409, 200]),
    ):
        served.answers.clear()
        log.grow(grow)
        found = ask(served.asked, log, known)
        assert isinstance(found, Cosigned), found
        assert [answer.status for answer in served.answers] == codes
        assert open_note(found.note, [LOG.verifier]).text == open_note(log.note(), [LOG.verifier]).text
        assert [c.at for c in open_cosignatures(found.note, [served.key])] == [found.at]


def test_an_older_state_is_told_from_a_lie(served: Served) -> None:
    """The witness's word comes with a checkpoint that our own key signed: that state existed."""
    log = Branch.of(9)
    assert isinstance(ask(served.asked, log), Cosigned)
    older = Branch(log.leaves[:5])
    for known in (0, 3, 5):
        found = ask(served.asked, older, known)
        assert isinstance(found, Ahead)
        assert found.size == 9
        assert found.evidence is not None
        assert found.evidence.startswith(log.note())
    assert ask(served.asked, older, verifiers=[OTHER.verifier]) == Ahead(9)
    assert isinstance(ask(served.asked, log, 9), Cosigned)


@pytest.mark.parametrize(("keep", "grow"), [(5, 1), (5, 3), (5, 9), (0, 6), (0, 20)])
def test_another_history_is_found_at_any_size(served: Served, keep: int, grow: int) -> None:
    """A state that was put back and went on: smaller, as large, or larger than what the witness has seen."""
    log = Branch.of(8)
    assert isinstance(ask(served.asked, log), Cosigned)
    fork = log.fork(keep, "another", grow)
    for known in (0, min(5, keep)):
        found = ask(served.asked, fork, known)
        assert isinstance(found, Ahead if fork.size < 8 else Forked)
        assert found.size == 8
        assert found.evidence is not None
        assert found.evidence.startswith(log.note())


def test_a_witness_that_was_put_back_is_found(tmp_path: Path) -> None:
    """It names less than it has signed for us; a witness with a new memory does not know the log at all."""
    log = Branch.of(5)
    folder = make_folder(tmp_path / "w")
    with serving(folder) as served:
        assert isinstance(ask(served.asked, log), Cosigned)
        key = served.key
    old = folder.database.read_bytes()
    log.grow(4)
    with serving(folder) as served:
        assert isinstance(ask(served.asked, log, 5), Cosigned)
    folder.database.write_bytes(old)
    with serving(folder) as served:
        assert served.key == key
        log.grow(1)
        assert ask(served.asked, log, 9) == Regressed(5, 9)
        assert isinstance(ask(served.asked, log, 0), Cosigned)


def test_what_the_witness_was_not_told_is_refused(served: Served) -> None:
    """Another log, another key: set-up, not an alarm."""
    assert ask(served.asked, Branch(Branch.of(3).leaves, LOG, "nobody/knows")) == Refused("unknown-log", 404)
    stranger = Branch(Branch.of(3).leaves, OTHER)
    assert ask(served.asked, stranger) == Refused("key-not-trusted", 403)


def test_a_witness_with_another_key_than_the_pinned_one_is_not_believed(served: Served) -> None:
    """Whoever serves there: the pinned key decides."""
    for signer in (WITNESS, WitnessSigner(served.key.name, bytes(32))):
        found = ask(Asked(served.endpoint, signer.verifier), Branch.of(3))
        assert found == Misbehaved("no-cosignature", 200)


@pytest.mark.parametrize(
    ("skew", "fine"), [(SKEW_SECONDS, True), (SKEW_SECONDS + 1, False), (-SKEW_SECONDS - 1, False)]
)
def test_clocks_that_differ_too_much_are_noticed(served: Served, skew: int, *, fine: bool) -> None:
    """An old time may be a replay, a future one would count as fresh for too long."""
    clock = HandClock(served.clock.at_ms + skew * 1000)
    found = ask(served.asked, Branch.of(3), clock=clock)
    assert isinstance(found, Cosigned) if fine else found == Misbehaved("cosignature-time", 200)


def test_a_key_rotation_keeps_the_evidence(tmp_path: Path) -> None:
    """An older key of our log may have signed what the witness shows: all keys of the log are given."""
    with serving(make_folder(tmp_path / "w")) as served:
        assert isinstance(ask(served.asked, Branch.of(9)), Cosigned)
        older = Branch.of(5)
        both = [OTHER.verifier, LOG.verifier]
        assert getattr(ask(served.asked, older, verifiers=both), "evidence", None) is not None


def test_another_process_may_move_the_witness_between_two_questions(served: Served) -> None:
    """The next 409 tells; questions end, since each names a larger size."""
    log = Branch.of(20)
    assert isinstance(ask(served.asked, Branch(log.leaves[:3])), Cosigned)
    moves = iter((5, 8, 12, 15))

    def prove(old: int) -> tuple[bytes, ...]:
        size = next(moves)
        assert isinstance(ask(served.asked, Branch(log.leaves[:size]), old), Cosigned)
        return log.proof(old)

    found = submit(
        served.asked, log.note(), prove, verifiers=[LOG.verifier], known=3, deadline_seconds=30, ports=ports()
    )
    assert found == Unavailable("busy")
    assert isinstance(ask(served.asked, log, 0), Cosigned)


# -- with something else at the other end ----------------------------------------------------------------------


def key_of(endpoint: UnixEndpoint) -> Asked:
    """Give the pinned witness at a place."""
    return Asked(endpoint, WITNESS.verifier)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
GOOD = Cosigned(TREE.note() + line(), CLOCK.seconds)

REPLIES: dict[str, tuple[bytes, Outcome]] = {
    "with a length": (http_reply(200, line()), GOOD),
    "chunked": (CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(line()), line()), GOOD),
    "until the end": (b"HTTP/1.0 200 OK\r\n\r\n" + line(), GOOD),
    "after a continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + http_reply(200, line()), GOOD),
    "type with parameters": (http_reply(409, b"10\n", f"{SIZE_TYPE}; charset=utf-8"), Ahead(10)),
    "too short": (http_reply(200, line())[:-1], Unavailable("not-http")),
    "promises more": (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + line(), Unavailable("not-http")),
    "a cut chunk": (CHUNKED + b"5\r\n", Unavailable("not-http")),
    "nothing": (b"", Unavailable("not-http")),
    "not HTTP": (b"SSH-2.0-OpenSSH\r\n", Unavailable("not-http")),
    "no code": (b"HTTP/1.1 abc OK\r\n\r\n", Unavailable("not-http")),
    "many headers": (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", Unavailable("not-http")),
    "large": (http_reply(200, line() + bytes(100_000)), Unavailable("answer-too-large")),
    "moved": (http_reply(302, b"", "x\r\nLocation: http://127.0.0.1/"), Misbehaved("unexpected-status", 302)),
}


@pytest.mark.parametrize("name", REPLIES)
def test_any_server_may_stand_there(name: str) -> None:
    """HTTP is read as it may be written; what is not HTTP, or too much, is no answer."""
    reply, expected = REPLIES[name]
    with canned(reply, b"") as (endpoint, _):  # the second is for a question after evidence
        assert ask(key_of(endpoint), TREE) == expected


def test_what_is_sent_is_a_plain_request() -> None:
    """Method, path below the prefix, the exact body, and nothing about us."""
    with canned(http_reply(404, b"")) as (endpoint, asked):
        ask(key_of(endpoint), TREE)
    (content,) = asked
    head, _, body = content.partition(b"\r\n\r\n")
    assert body == format_submission(0, (), TREE.note())
    assert head.decode().split("\r\n") == [
        "POST /add-checkpoint HTTP/1.1",
        "Host: localhost",
        "Connection: close",
        f"Content-Length: {len(body)}",
        "Content-Type: text/plain; charset=utf-8",
    ]


@pytest.mark.parametrize(
    ("latest", "proven"),
    [
        (http_reply(200, Branch.of(12).note()), True),
        (http_reply(200, Branch.of(10).note()), True),
        (http_reply(200, Branch.of(9).note()), False),
        (http_reply(200, Branch.of(12).note(signer=OTHER)), False),
        (http_reply(200, Branch(Branch.of(12).leaves, LOG, "another/log").note()), False),
        (http_reply(200, b"trust me\n"), False),
        (http_reply(404, Branch.of(12).note()), False),
        (b"", False),
    ],
    ids=[
        "larger",
        "larger, though it lags",
        "as large",
        "another key",
        "another log",
        "words",
        "not found",
        "nothing",
    ],
)
def test_a_claim_is_told_from_a_proof(latest: bytes, *, proven: bool) -> None:
    """Anybody on the way can say 409; only our log's key makes a larger checkpoint."""
    with canned(http_reply(409, b"12\n", SIZE_TYPE), latest) as (endpoint, asked):
        found = ask(key_of(endpoint), TREE)
    assert isinstance(found, Ahead)
    assert (found.size, found.evidence is not None) == (12, proven)
    assert asked[1].startswith(b"GET " + latest_path(ORIGIN).encode() + b" HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("latest", "proven"),
    [
        (TREE.fork(3, "other", 2).note(), True),
        (TREE.fork(3, "other", 6).note(), True),
        (TREE.note(5), False),
        (TREE.note(), False),
        (TREE.fork(3, "other", 9).note(), False),
    ],
    ids=["smaller fork", "as large", "our own beginning", "our own", "larger"],
)
def test_a_fork_is_proven_by_what_our_tree_does_not_continue(latest: bytes, *, proven: bool) -> None:
    """A signed checkpoint that our tree continues, or a larger one, proves no second history."""
    with canned(http_reply(422, b""), http_reply(200, latest)) as (endpoint, _):
        found = ask(key_of(endpoint), TREE, 5)
    assert isinstance(found, Forked)
    assert (found.size, found.evidence is not None) == (5, proven)


def test_nobody_there_is_no_witness(tmp_path: Path) -> None:
    """No socket, a dead one, a file, and a name that leads nowhere."""
    plain = tmp_path / "file"
    plain.write_bytes(b"")
    with socket_path() as path:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        for place in (path, path + "x", str(plain)):
            assert ask(key_of(UnixEndpoint(place)), TREE) == Unavailable("unreachable")


def test_a_witness_that_does_not_answer_is_given_up() -> None:
    """The deadline covers the whole exchange, however slowly bytes come."""
    stopwatch = HandStopwatch(step=1.0)
    with canned(http_reply(200, line())) as (endpoint, asked):
        found = submit(
            key_of(endpoint),
            TREE.note(),
            TREE.prove,
            verifiers=[LOG.verifier],
            known=0,
            deadline_seconds=2.5,
            ports=Ports(CLOCK, stopwatch),
        )
        assert found == Unavailable("deadline")
        assert len(asked) <= 1
    assert stopwatch.at <= 8


def test_a_silent_witness_is_given_up() -> None:
    """Connected, and then nothing: the socket's own time limit ends it."""
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        found = ask(key_of(UnixEndpoint(path)), TREE, deadline_seconds=0.05)
    assert found == Unavailable("deadline")


def test_a_name_that_takes_too_long_to_look_up_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's resolver knows no deadline; ours is kept all the same."""
    release = threading.Event()

    def look_up(*_args: object, **_options: object) -> list[object]:
        release.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    endpoint = NetworkEndpoint("https", "witness.example", 443)
    try:
        assert ask(Asked(endpoint, WITNESS.verifier), TREE, deadline_seconds=0.05) == Unavailable("deadline")
    finally:
        release.set()


def test_plain_http_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name for this machine that leads to another one is not followed; no name leads nowhere."""
    found: list[object] = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 80))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: found)
    endpoint = NetworkEndpoint("http", "localhost", 80)
    assert ask(Asked(endpoint, WITNESS.verifier), TREE) == Unavailable("unreachable")


def test_the_latest_checkpoint_can_be_asked_for(served: Served) -> None:
    """As it is, for whoever monitors."""
    stopwatch = HandStopwatch()
    empty = fetch_latest(served.asked, ORIGIN, deadline_seconds=30, stopwatch=stopwatch)
    assert isinstance(empty, Reply)
    assert empty.status == 404
    assert isinstance(ask(served.asked, TREE), Cosigned)
    latest = fetch_latest(served.asked, ORIGIN, deadline_seconds=30, stopwatch=stopwatch)
    assert isinstance(latest, Reply)
    assert latest.body.startswith(TREE.note())


@given(st.binary(max_size=200))
def test_any_bytes_from_a_witness_are_an_outcome(reply: bytes) -> None:
    """No exception leaves the client."""
    with canned(reply, b"") as (endpoint, _):
        assert not isinstance(ask(key_of(endpoint), TREE), Cosigned)
