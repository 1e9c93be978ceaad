"""Who connected is the process that the system names, and no other one that has got its pid since (X1)."""

import os
import socket
import sys
from collections.abc import Iterator

import pytest

from timeline.daemon import peer
from timeline.daemon.errors import PeerError
from timeline.processes import chain_of


@pytest.fixture
def listener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[socket.socket]:
    """Give a socket that listens."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path_factory.mktemp("p") / "s"))
        listening.listen(1)
        yield listening


def connected_by_child(listener: socket.socket) -> tuple[socket.socket, int]:
    """A connection that a child has made and left to us; the child has ended and is forgotten by the system."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = os.fork()
        if not child:
            try:
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(listener.getsockname())
                socket.send_fds(theirs, [b"x"], [connection.fileno()])
            finally:
                os._exit(0)
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        os.waitpid(child, 0)
    return socket.socket(fileno=descriptors[0]), child


def can_hold_peers() -> bool:
    """Whether the system gives a descriptor of the process that connected."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            os.close(int.from_bytes(ours.getsockopt(socket.SOL_SOCKET, 77, 4), sys.byteorder))
        except OSError:
            return False
    return True


def test_who_connects_is_looked_at(listener: socket.socket) -> None:
    """Itself, its ancestors and its environment."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listener.getsockname())
        connection, _ = listener.accept()
        with connection:
            found = peer.identify(connection)
    assert found.process.pid == os.getpid()
    assert found.environment["PATH"]


@pytest.mark.requirement("X1")
@pytest.mark.skipif(not can_hold_peers(), reason="the system has no SO_PEERPIDFD (Linux before 6.5)")
def test_another_process_of_the_same_pid_is_not_who_connected(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who connected has ended and left the connection behind; what has its pid now, did not connect."""
    left, child = connected_by_child(listener)
    connection, _ = listener.accept()

    def reused(pid: int, until: object = None) -> object:
        assert pid == child
        return chain_of(os.getpid())

    monkeypatch.setattr(peer, "chain_of", reused)
    with left, connection, pytest.raises(PeerError):
        peer.identify(connection)


def test_without_that_word_of_the_system_the_pid_is_believed(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older system says that it does not know the question."""
    monkeypatch.setattr(peer, "_LINUX_PEER_PIDFD", 30_000)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listener.getsockname())
        connection, _ = listener.accept()
        with connection:
            assert peer.identify(connection).process.pid == os.getpid()


@pytest.mark.requirement("X1")
def test_another_user_is_not_heard(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user id is the system's word."""
    monkeypatch.setattr(peer.os, "geteuid", lambda: os.getuid() + 1)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(listener.getsockname())
        connection, _ = listener.accept()
        with connection, pytest.raises(PeerError):
            peer.identify(connection)
