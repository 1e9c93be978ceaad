"""What is seen of a peer when it asks: its nearest host process, that one's open files, its environment's words."""

from timeline.daemon.peer import Peer
from timeline.guard.transport import Caller, HostProcess, is_switched, nearest_host, parse_capability
from timeline.hosts import HOSTS
from timeline.processes import open_files_of


def see_caller(peer: Peer) -> Caller:
    """Look now. Open files are looked at only where the host's process is known to hold its sessions open.

    Raises:
        CapabilityError: the peer's environment has a capability that is not of its form.
    """
    process = nearest_host(peer.chain)
    return Caller(
        process=process,
        open_files=_open_files(process),
        capability=parse_capability(peer.environment),
        switched=is_switched(peer.environment),
    )


def _open_files(found: HostProcess | None) -> tuple[str, ...]:
    if found is None or HOSTS[found.host].writer_locks is None:
        return ()
    return open_files_of(found.process)
