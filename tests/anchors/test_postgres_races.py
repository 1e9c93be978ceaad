import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from tests.anchors.cluster import CLIENT, PORT, Cluster
from tests.anchors.contract import grown, question
from tests.anchors.database import TABLE, ask, held_size, said
from tests.anchors.stages import PostgresStage
from tests.simulators.witnesses import START_MS, Branch, HandClock, socket_path
from timeline.anchors.dsn import parse_dsn
from timeline.anchors.port import Question, Standing
from timeline.anchors.postgres import (
    ROUNDS_MAX,
    PostgresAnchor,
    postgres_anchor,
)
from timeline.errors import StateError

pytestmark = pytest.mark.requirement("X5")


def interrupted(log: Branch, action: Callable[[int], object], known: int = 0) -> Question:
    """Give a question during which something happens each time between reading and writing."""
    times = 0

    def prove(old: int) -> Sequence[bytes]:
        nonlocal times
        times += 1
        action(times)
        return log.prove(old)

    return msgspec.structs.replace(question(log, known), prove=prove)


@pytest.mark.parametrize(
    ("other", "standing", "size"),
    [
        (grown(5), "confirmed", 7),
        (grown(7), "confirmed", 7),
        (grown(9), "ahead", 9),
        (grown(3).fork(3, "other", 3), "forked", 6),
    ],
)
def test_a_question_that_is_overtaken_is_decided_anew(
    stage: PostgresStage, other: Branch, standing: str, size: int
) -> None:
    """Another asker moves the row between our reading and our writing: what it left decides."""
    ask(stage.cluster, grown(3))

    def overtake(times: int) -> None:
        if times == 1:
            assert ask(stage.cluster, other, 3).standing is Standing.CONFIRMED

    answer = stage.anchor.advance(interrupted(grown(7), overtake, 3))
    assert (str(answer.standing), answer.size) == (standing, size)
    assert held_size(stage.cluster) == size


def test_a_question_that_is_overtaken_again_and_again_gives_up(stage: PostgresStage) -> None:
    """The number of rounds is bounded, and being busy says nothing about the state."""
    ask(stage.cluster, grown(3))

    def overtake(times: int) -> None:
        assert ask(stage.cluster, grown(3 + times)).standing is Standing.CONFIRMED

    answer = stage.anchor.advance(interrupted(grown(60), overtake, 3))
    assert said(answer) == ("unavailable", "busy")
    assert held_size(stage.cluster) == 3 + ROUNDS_MAX


def test_a_row_that_is_put_back_during_a_question_has_regressed(stage: PostgresStage) -> None:
    """What the database has just shown counts as remembered."""
    ask(stage.cluster, grown(3))
    kept = stage.keep()
    ask(stage.cluster, grown(5), 3)
    answer = stage.anchor.advance(interrupted(grown(7), lambda _: stage.put_back(kept)))
    assert (said(answer), answer.size) == (("regressed", "smaller-tree"), 3)
    assert held_size(stage.cluster) == 3


def test_our_own_unreadable_leaves_are_no_answer(stage: PostgresStage) -> None:
    """A proof that cannot be made is neither an alarm nor a confirmation."""
    ask(stage.cluster, grown(3))

    def fail(_: int) -> None:
        raise StateError("unreadable")

    answer = stage.anchor.advance(interrupted(grown(7), fail, 3))
    assert said(answer) == ("unavailable", StateError.reason)
    assert held_size(stage.cluster) == 3


def hurried(log: Branch, known: int = 0) -> Question:
    """Ask with little time."""
    return question(log, known, deadline_seconds=0.2)


def test_a_row_that_somebody_holds_is_waited_for_until_the_deadline(stage: PostgresStage) -> None:
    """A lock in the database is no reason to hang, and the server gives the abandoned advance up by itself."""
    ask(stage.cluster, grown(3))
    with stage.cluster.connect() as connection, connection.transaction():
        connection.execute(f"SELECT FROM {TABLE} FOR UPDATE")
        assert said(stage.anchor.advance(hurried(grown(7), 3))) == ("unavailable", "deadline")
        join_exchanges()
        with stage.cluster.connect() as watcher:
            wait_for_backends(watcher)
    assert held_size(stage.cluster) == 3
    assert ask(stage.cluster, grown(7), 3).standing is Standing.CONFIRMED


def wait_for_backends(watcher: "psycopg.Connection[Any]") -> None:
    """Wait until the server does nothing more for the client's role."""
    for _ in range(100_000):
        row = watcher.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = %s", (CLIENT,)
        ).fetchone()
        if row == (0,):
            return
    pytest.fail("a statement of the client goes on")


def join_exchanges() -> None:
    """Wait until no exchange is left; one that never ended would leave its connection open for good."""
    for thread in threading.enumerate():
        if thread.name == "timeline-postgres":
            thread.join(30)
            assert not thread.is_alive()


@contextmanager
def between(cluster: Cluster, *, after: bytes) -> Iterator[PostgresAnchor]:
    """Stand between the anchor and the server, and go silent once the server has sent a message with these bytes."""
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        folder = str(Path(path).parent)
        listener.bind(f"{folder}/.s.PGSQL.{PORT}")
        listener.listen(1)

        def relay() -> None:
            client, _ = listener.accept()
            with client, socket.socket(socket.AF_UNIX) as upstream:
                upstream.connect(f"{cluster.folder}/.s.PGSQL.{PORT}")
                seen = b""
                while piece := client.recv(65536):
                    if after in seen:
                        continue  # read, and never answered
                    upstream.sendall(piece)
                    reply = upstream.recv(65536)
                    seen += reply
                    client.sendall(reply)

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        dsn = parse_dsn(f"postgresql://{CLIENT}@/anchors?host={folder}&port={PORT}")
        yield PostgresAnchor(dsn, HandClock())
        thread.join(30)
        assert not thread.is_alive(), "the connection was never ended"


@pytest.mark.parametrize("after", [b"in_hot_standby", b"role_may_write"])
def test_a_server_that_goes_silent_is_left_behind(stage: PostgresStage, after: bytes) -> None:
    """After login and after the first answer: the deadline holds, the connection ends, nothing has moved."""
    ask(stage.cluster, grown(3))
    with between(stage.cluster, after=after) as anchor:
        assert said(anchor.advance(hurried(grown(7), 3))) == ("unavailable", "deadline")
        join_exchanges()
    assert held_size(stage.cluster) == 3


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"N",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"R\x00\x00\x00\x08\x00\x00\x00\x00" + b"\xff" * 64,
        b"E\x7f\xff\xff\xff",
    ],
)
def test_what_is_no_postgresql_is_no_connection(reply: bytes) -> None:
    """Any other program in the server's place."""
    with socket_path() as path, socket.socket(socket.AF_UNIX) as listener:
        folder = str(Path(path).parent)
        listener.bind(f"{folder}/.s.PGSQL.{PORT}")
        listener.listen(1)

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(65536)
                client.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        anchor = postgres_anchor(f"postgresql:///anchors?host={folder}", HandClock())
        assert said(anchor.advance(question(grown(3)))) == ("unavailable", "no-connection")
        thread.join()


def test_the_time_of_a_confirmation_is_our_clocks(cluster: Cluster) -> None:
    """The server's time is not signed, and freshness is judged by our clock."""
    later = HandClock(START_MS + 86_400_000)
    answer = postgres_anchor(cluster.dsn(), later).advance(question(grown(3)))
    assert answer.at == later.seconds
