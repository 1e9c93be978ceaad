"""The one thread that touches the timeline: jobs run on it one after the other.

A call waits for its job; work that nobody waits for is named, and a name that already waits is not queued again, so
that a hundred changes of one file become one reading. Calls go first, and of them the one whose caller gives up
first: a hook has a seventh of a second, a tool a minute. While there is nothing to do the thread sleeps without a
timeout.
"""

import heapq
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from timeline.clock import Stopwatch, SystemStopwatch
from timeline.daemon.errors import DaemonBusyError, DaemonStoppingError

Result = TypeVar("Result")

CALLS_MAX: Final = 256
"""Calls that may wait; one more is refused at once: whoever asks so often is not helped by a longer queue."""


class Worker:
    """Runs jobs. Its thread begins with ``start`` and ends with ``stop``, which lets what is queued finish."""

    def __init__(
        self, on_failure: Callable[[str, Exception], None], stopwatch: Stopwatch | None = None
    ) -> None:
        """``on_failure`` is told of work that nobody waited for and that failed, by its name."""
        self._on_failure = on_failure
        self._stopwatch = SystemStopwatch() if stopwatch is None else stopwatch
        self._turn = threading.Condition()
        self._numbers = itertools.count()
        self._calls: list[tuple[float, int, Callable[[], None]]] = []
        """A heap, by the moment at which the caller gives up; of the same moment, in the order in which they came."""
        self._work: OrderedDict[str, Callable[[], object]] = OrderedDict()
        self._stopping = False
        self._idle = threading.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="timeline")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def submit(self, job: Callable[[], Result], *, wait_seconds: float) -> "Future[Result]":
        """Queue a job that somebody waits for, and who would like to have it within so many seconds.

        Raises:
            DaemonBusyError: too many wait.
            DaemonStoppingError: no job is taken any more.
        """
        future: Future[Result] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job())
            except BaseException as error:  # noqa: BLE001  # it is raised again where the caller waits
                future.set_exception(error)

        with self._turn:
            self._check_open()
            if len(self._calls) >= CALLS_MAX:
                message = f"{CALLS_MAX} calls wait already"
                raise DaemonBusyError(message)
            ends = self._stopwatch.seconds() + wait_seconds
            heapq.heappush(self._calls, (ends, next(self._numbers), run))
            self._idle.clear()
            self._turn.notify()
        return future

    def call(self, job: Callable[[], Result], *, wait_seconds: float) -> Result:
        """Run a job on the thread and give what it gives.

        Raises:
            DaemonBusyError: too many wait, or it did not end in time; in the second case it still runs.
            DaemonStoppingError: no job is taken any more.
            Exception: whatever the job raised.
        """
        future = self.submit(job, wait_seconds=wait_seconds)
        try:
            return future.result(timeout=wait_seconds)
        except TimeoutError:
            if future.done():  # the job's own
                raise
            future.cancel()
            message = f"no answer within {wait_seconds:g} s"
            raise DaemonBusyError(message) from None

    def post(self, name: str, job: Callable[[], object]) -> None:
        """Queue work that nobody waits for; of one name the newest is run, once.

        Raises:
            DaemonStoppingError: no job is taken any more.
        """
        with self._turn:
            self._check_open()
            self._work[name] = job
            self._idle.clear()
            self._turn.notify()

    def drain(self, wait_seconds: float) -> bool:
        """Wait until nothing is queued or running; whether that came in time. For tests and for a clean end."""
        return self._idle.wait(wait_seconds)

    def stop(self) -> None:
        """Take no further job, finish what is queued, and end the thread."""
        with self._turn:
            self._stopping = True
            self._turn.notify()
        if self._thread.ident is not None:
            self._thread.join()

    def _check_open(self) -> None:
        if self._stopping:
            message = "the daemon is about to end"
            raise DaemonStoppingError(message)

    def _run(self) -> None:
        job: Callable[[], object]
        while True:
            with self._turn:
                while not self._calls and not self._work and not self._stopping:
                    self._idle.set()
                    self._turn.wait()
                if self._calls:
                    name, job = "call", heapq.heappop(self._calls)[2]
                elif self._work:
                    name, job = self._work.popitem(last=False)
                else:
                    self._idle.set()
                    return
            try:
                job()
            except Exception as error:  # noqa: BLE001  # one job's failure must not end the thread of all others
                self._on_failure(name, error)
