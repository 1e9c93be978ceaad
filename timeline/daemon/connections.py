"""Which MCP connections live below one process of a host, in the order in which they came.

A host that cannot be told from the commands of its model by its process alone (King, Kimi Code, Claude Code) asks one
server of ours in each process, and starts it before its model can run anything. So the oldest living connection is
the host's, and a later one beside it is not known to be.
"""

import threading
from typing import Final

from timeline.guard.transport import HostProcess

_Key = tuple[str, int, int]


class Connections:
    """The living ones. Threads share it."""

    def __init__(self) -> None:
        """There are none yet."""
        self._turn: Final = threading.Lock()
        self._living: dict[_Key, list[object]] = {}

    def opened(self, process: HostProcess | None, connection: object) -> None:
        """A connection came; without a host above it, nothing is remembered."""
        if process is not None:
            with self._turn:
                self._living.setdefault(process.identity, []).append(connection)

    def closed(self, process: HostProcess | None, connection: object) -> None:
        """It went."""
        if process is None:
            return
        with self._turn:
            left = [known for known in self._living.get(process.identity, ()) if known is not connection]
            if left:
                self._living[process.identity] = left
            else:
                self._living.pop(process.identity, None)

    def is_oldest(self, process: HostProcess, connection: object) -> bool:
        """Whether no other one that lives came before it."""
        with self._turn:
            return next(iter(self._living.get(process.identity, ())), None) is connection
