"""What is seen of a peer when it asks: its nearest host process, that one's open files, its environment's words."""

import msgspec

from timeline.daemon.peer import Peer
from timeline.guard.errors import CapabilityError
from timeline.guard.transport import (
    Caller,
    Capability,
    HostProcess,
    is_switched,
    nearest_host,
    parse_capability,
)
from timeline.hosts import HOSTS
from timeline.processes import environment_of, open_files_of


def see_caller(peer: Peer) -> Caller:
    """Look now. Open files are looked at only where the host's process is known to hold its sessions open.

    Raises:
        CapabilityError: the peer's environment has a capability that is not of its form, or not its host's.
    """
    process = nearest_host(peer.chain)
    return Caller(
        process=process,
        open_files=_open_files(process),
        capability=_capability_of(peer, process),
        switched=is_switched(peer.environment),
    )


def see_server(peer: Peer) -> Caller:
    """The same for a relay, which its host's process has to have started itself where that can be told.

    A command of the model can say everything that a hook and a relay say. But such a host starts it in a session of
    its own (setsid), and no process can enter the session of another: what is not in the host's own session, or not
    its child, is not the server that the host asks.

    Raises:
        CapabilityError: see ``see_caller``.
    """
    caller = see_caller(peer)
    found, process = caller.process, peer.process
    if found is not None and HOSTS[found.host].servers_share_session:
        is_child = process.parent == found.process.pid and process.session == found.process.session
        if not is_child:
            return msgspec.structs.replace(caller, process=None)
    return caller


def _capability_of(peer: Peer, host: HostProcess | None) -> Capability | None:
    """The launcher's capability that the peer carries.

    Anybody can start a process with a capability that was made up. The launcher has started the host, and what that
    one was started with no command of its model can change.
    """
    found = parse_capability(peer.environment)
    if found is None:
        return None
    if host is None or parse_capability(environment_of(host.process)) != found:
        message = "the capability is not one that the host's process was started with"
        raise CapabilityError(message)
    return found


def _open_files(found: HostProcess | None) -> tuple[str, ...]:
    if found is None or HOSTS[found.host].writer_locks is None:
        return ()
    return open_files_of(found.process)
