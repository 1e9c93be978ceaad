"""Who may report a prompt: a process below one of the host that it names, and not that process itself (T6).

It is a narrow gate and not the last one: a command that the host runs for a model has the same ancestors as a hook.
What a receipt is worth is decided behind it, by the owner or by what the host has written (``prompted``). Pure.
"""

from collections.abc import Collection, Sequence

from timeline.guard.errors import HookPeerError
from timeline.guard.transport import HostProcess, host_of, nearest_host
from timeline.hosts import MODEL_VARIABLES
from timeline.processes import Process


def check_hook_peer(chain: Sequence[Process], host: str) -> HostProcess:
    """The process of ``host`` that the process which reports a prompt hangs below, no other host between.

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
    return found


def is_started_by_agent(chain: Sequence[Process], found: HostProcess, variables: Collection[str]) -> bool:
    """Whether a model has started the host, and prompts it, as far as that shows.

    Either another host is above it, or its environment has variables that hosts set for what their models run.
    A host may run in several processes of its own, so one of the same name is no sign.
    """
    above = chain[chain.index(found.process) + 1 :]
    return not MODEL_VARIABLES.isdisjoint(variables) or any(
        host_of(process) not in {None, found.host} for process in above
    )
