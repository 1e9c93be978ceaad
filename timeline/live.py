"""One timeline kept open: verified once, and again whenever something on disk is not what was left there.

The daemon's opener. It holds the writer lock only while it writes, so that the owner's commands can write between
two of its own; what they commit is met at the next use, where the whole log is verified anew. A use that
fails leaves nothing behind: the next one opens again. For one thread.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from adapters.errors import AdapterError
from timeline.errors import AccessError, SourceError, StateError, UsageError
from timeline.limits import LOG_READS_MAX
from timeline.lock import hold_for_writing
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.state import State, open_local


class Live:
    """An ``Opener`` for one timeline; every call names the same folders and ports."""

    def __init__(self) -> None:
        """Nothing is open before the first use."""
        self._open = ExitStack()
        self._state: State | None = None
        self._confirmed_at: float | None = None
        self.openings = 0
        """How often the whole log was verified."""

    @contextmanager
    def reading(self, locations: Locations, ports: Ports) -> Iterator[State]:
        """See ``Opener``."""
        with self._kept():
            state = self._current(locations, ports)
            if state.consistent:
                yield self._confirmed(state, locations, ports)
                return
        with self.writing(locations, ports) as state:
            yield state

    @contextmanager
    def writing(self, locations: Locations, ports: Ports) -> Iterator[State]:
        """See ``Opener``."""
        with hold_for_writing(locations), self._kept():
            yield self._confirmed(self._ready(locations, ports), locations, ports)

    @contextmanager
    def reading_local(self, locations: Locations, ports: Ports) -> Iterator[State]:
        """See ``Opener``."""
        with self._kept():
            yield self._current(locations, ports)

    @contextmanager
    def writing_local(self, locations: Locations, ports: Ports) -> Iterator[State]:
        """See ``Opener``."""
        with hold_for_writing(locations), self._kept():
            yield self._ready(locations, ports)

    def close(self) -> None:
        """Let go of what is open; another use opens again."""
        self._state = self._confirmed_at = None
        self._open.close()

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keep what is open if the use ends well or is refused; any other failure may have left it behind the disk."""
        try:
            yield
        except (AccessError, AdapterError, SourceError, UsageError):
            raise
        except BaseException:
            self.close()
            raise

    def _current(self, locations: Locations, ports: Ports) -> State:
        if self._state is not None and _stands(self._state):
            return self._state
        self.close()
        self.openings += 1
        self._state = self._open.enter_context(open_local(locations, ports))
        return self._state

    def _ready(self, locations: Locations, ports: Ports) -> State:
        before = self.openings
        state = self._current(locations, ports)
        if self.openings != before or not state.consistent:
            state.make_ready()
        return state

    def _confirmed(self, state: State, locations: Locations, ports: Ports) -> State:
        """Ask the external anchors at each opening, and once what they said is older than the owner's bound."""
        for tries_left in reversed(range(LOG_READS_MAX)):
            if not self._must_ask(state, ports):
                return state
            if state.confirm_unless_overtaken(may_read_again=tries_left > 0):
                self._confirmed_at = ports.stopwatch.seconds()
            else:
                state = self._current(locations, ports)
        return state

    def _must_ask(self, state: State, ports: Ports) -> bool:
        anchors = state.view.anchors
        if anchors is None or not anchors.policy.anchors:
            return False
        if self._confirmed_at is None:
            return True
        return ports.stopwatch.seconds() - self._confirmed_at >= anchors.policy.freshness_seconds


def _stands(state: State) -> bool:
    try:
        return state.stands()
    except StateError:  # opening it again says what is wrong
        return False
