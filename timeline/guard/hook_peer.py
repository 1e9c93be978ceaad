"""Who may report a prompt: a process below one of the host that it names, and not that process itself (T6, DESIGN 7).

It is a narrow gate and not the last one: a command that the host runs for a model has the same ancestors as a hook.
What a receipt is worth is decided behind it, by the owner or by what the host has written (``prompted``). Pure.
"""

from collections.abc import Sequence

from timeline.guard.errors import HookPeerError
from timeline.guard.transport import nearest_host
from timeline.processes import Process


def check_hook_peer(chain: Sequence[Process], host: str) -> None:
    """Return only if the process that reports a prompt hangs below a process of ``host``, no other host between.

    ``chain`` is that process and its ancestors, nearest first; the process itself does not count as its host.

    Raises:
        HookPeerError: no process of a host is above it, or the nearest one is of another host.
    """
    found = nearest_host(chain)
    if found is None:
        message = f"host {host}: the hook was not called by a process of a host"
        raise HookPeerError(message)
    if found.host != host:
        message = f"host {host}: the hook was called by a process of {found.host}"
        raise HookPeerError(message)
