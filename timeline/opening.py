"""How a use case comes to an opened timeline: opened for it alone, or kept open by the daemon.

Use cases say what they need and never how: the same function serves a command, which opens and verifies the whole
log, and the daemon, which has done so once (``timeline.live``).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from timeline.paths import Locations
from timeline.ports import Ports
from timeline.state import State, open_for_writing, open_local, open_local_for_writing, open_state


class Opener(Protocol):
    """Gives an opened, verified timeline for as long as a block runs.

    Every method raises ``StateError`` or ``SidecarError`` where it is not to be believed or cannot be had.
    """

    def reading(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """To answer from: repaired if that was due, and confirmed by the external anchors."""
        ...

    def writing(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """To add to, under the writer lock: repaired, and confirmed by the external anchors."""
        ...

    def reading_local(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """To look into without a question to an external anchor; nothing is answered from it."""
        ...

    def writing_local(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """Under the writer lock, without a question to an external anchor: for what grants nothing yet."""
        ...


class Afresh:
    """Opens and verifies the timeline anew for each use case, as a command does."""

    @contextmanager
    def reading(self, locations: Locations, ports: Ports) -> Iterator[State]:
        """See ``Opener``."""
        with open_state(locations, ports) as state:
            if state.consistent:
                yield state
                return
        with open_for_writing(locations, ports) as state:
            yield state

    def writing(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """See ``Opener``."""
        return open_for_writing(locations, ports)

    def reading_local(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """See ``Opener``."""
        return open_local(locations, ports)

    def writing_local(self, locations: Locations, ports: Ports) -> AbstractContextManager[State]:
        """See ``Opener``."""
        return open_local_for_writing(locations, ports)
