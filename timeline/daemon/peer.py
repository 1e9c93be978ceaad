"""Who is at the other end of the socket: what the operating system says, never what the peer says."""

import errno
import os
import select
import socket
import struct
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from timeline.daemon.errors import PeerError
from timeline.guard.transport import host_of
from timeline.processes import Process, chain_of, environment_of

_LINUX_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7))
_LINUX_PEER_PIDFD: Final = 77  # SO_PEERPIDFD, since Linux 6.5 (asm-generic/socket.h)
_DARWIN_LEVEL: Final = 0  # SOL_LOCAL
_DARWIN_PID: Final = 2  # LOCAL_PEERPID
_DARWIN_CREDENTIALS: Final = 1  # LOCAL_PEERCRED
_DARWIN_XUCRED: Final = struct.Struct(
    "Ii"
)  # struct xucred: version, uid; the groups that follow are not needed


class Peer(msgspec.Struct, frozen=True):
    """A client's process with its ancestors up to the nearest host's, and its environment, as it connected."""

    chain: tuple[Process, ...]
    environment: Mapping[str, str]

    def whole_chain(self) -> tuple[Process, ...]:
        """The same up to the system's first process, looked at now."""
        last = self.chain[-1]
        above = chain_of(last.parent) if last.parent else ()
        # A parent is older than its child; a younger one has got the pid of one that is gone.
        return (*self.chain, *above) if above and above[0].started <= last.started else self.chain

    @property
    def process(self) -> Process:
        """The client itself."""
        return self.chain[0]


def identify(connection: socket.socket) -> Peer:
    """Look at the process that connected.

    Raises:
        PeerError: it is another user's, or it has gone already.
    """
    pid, uid = _credentials(connection)
    if uid != os.geteuid():
        message = f"a process of uid {uid} asked"
        raise PeerError(message)
    chain = chain_of(pid, until=host_of)
    # In this order: while the process lives, its pid is nobody else's, and what was read is its own.
    if not chain or _has_ended(connection):
        message = f"process {pid} has gone before it could be looked at"
        raise PeerError(message)
    return Peer(chain, environment_of(chain[0]))


def _has_ended(connection: socket.socket) -> bool:
    """Whether the very process that connected has ended; ``False`` where the system cannot tell.

    Its pid may be another's by then, and a connection can be left to somebody else.
    """
    if sys.platform != "linux":
        return False
    try:
        found = connection.getsockopt(socket.SOL_SOCKET, _LINUX_PEER_PIDFD, 4)
    except OSError as error:
        return error.errno != errno.ENOPROTOOPT
    (held,) = struct.unpack("i", found)
    try:
        poll = select.poll()
        poll.register(held, select.POLLIN)
        return bool(poll.poll(0))
    finally:
        os.close(held)


def _credentials(connection: socket.socket) -> tuple[int, int]:
    try:
        if sys.platform == "darwin":
            (pid,) = struct.unpack("i", connection.getsockopt(_DARWIN_LEVEL, _DARWIN_PID, 4))
            found = connection.getsockopt(_DARWIN_LEVEL, _DARWIN_CREDENTIALS, 256)
            _, uid = _DARWIN_XUCRED.unpack_from(found)
            return pid, uid
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _LINUX_CREDENTIALS.size)
        pid, uid, _ = _LINUX_CREDENTIALS.unpack(found)
    except OSError as error:
        message = "the system does not say who connected"
        raise PeerError(message) from error
    return pid, uid
