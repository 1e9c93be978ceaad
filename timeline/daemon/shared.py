"""What the parts of a running daemon share: the open timeline and its worker, what was seen, and what is permitted."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

import msgspec

from timeline.activity import Activity, ActivityReport
from timeline.daemon.connections import Connections
from timeline.daemon.worker import Worker
from timeline.diary import Diary
from timeline.guard.permit import PermitBook
from timeline.live import Live
from timeline.service import REFUSALS, Session

Result = TypeVar("Result")

HOOK_SECONDS: Final = 10.0
"""How long a hook may wait for its turn here. The hook's own process gives up after 150 ms and prints nothing; the
receipt or permit that it asked for is made all the same."""


class Shared:
    """One for each daemon. Threads share it."""

    def __init__(self, session: Session, diary: Diary) -> None:
        """Open nothing yet."""
        self.live = Live()
        self.session = msgspec.structs.replace(session, opener=self.live)
        self.diary = diary
        self.permits = PermitBook()
        self.connections = Connections()
        self.worker = Worker(self.note_failure)
        self._activity = Activity()
        self._seen = threading.Lock()

    def now_ms(self) -> int:
        """UTC milliseconds."""
        return self.session.ports.clock.now_ms()

    def call(self, job: Callable[[Session], Result], *, wait_seconds: float) -> Result:
        """Run a use case on the timeline's thread; see ``Worker.call``."""
        return self.worker.call(lambda: job(self.session), wait_seconds=wait_seconds)

    def hurry(self, name: str, job: Callable[[Session], Result], *, wait_seconds: float) -> Result | None:
        """Run a use case for a hook: what it gives, or ``None`` where it takes longer than a hook may.

        It is done nevertheless: a prompt gives its receipt, and a permit is there when its call comes, which waits
        behind it. What fails by then is noted under ``name``.

        Raises:
            DaemonError, Exception: see ``Worker.submit``; and whatever the job raised in time.
        """
        future = self.worker.submit(lambda: job(self.session), wait_seconds=wait_seconds)
        try:
            return future.result(timeout=wait_seconds)
        except TimeoutError:
            if future.done():  # the job's own
                raise
        self._note_late(name, future)
        return None

    def glance(self, name: str, job: Callable[[Session], Result], *, wait_seconds: float) -> Result | None:
        """Run a use case that nobody depends on, and that is worth something at once only.

        It waits behind whatever hooks came before it, and is not begun when its time is over. ``None`` where it takes
        longer or fails; why it failed is noted under ``name``, also where it has come too late.

        Raises:
            DaemonError: see ``Worker.submit``.
        """
        future = self.worker.submit(lambda: job(self.session), wait_seconds=HOOK_SECONDS)
        wait([future], timeout=wait_seconds)
        if future.done() and future.exception() is None:
            return future.result()
        if not future.cancel():
            self._note_late(name, future)
        return None

    def _note_late(self, name: str, future: "Future[Result]") -> None:
        def note(late: "Future[Result]") -> None:
            error = late.exception()
            if isinstance(error, Exception):
                self.note_failure(name, error)

        future.add_done_callback(note)

    def saw(self, look: Callable[[Activity], object]) -> None:
        """Remember something of a session."""
        with self._seen:
            look(self._activity)

    def activity(self) -> ActivityReport:
        """What was seen so far."""
        with self._seen:
            return self._activity.report(self.now_ms())

    def note_failure(self, name: str, error: Exception) -> None:
        """Write down what failed while nobody waited: a reason where it is a refusal, else where it was raised."""
        kind = name.partition(":")[0]
        if isinstance(error, REFUSALS):
            self.diary.write("refused", level="warning", kind=kind, reason=error.reason)
            return
        self.diary.write(
            "fault", level="error", kind=kind, error=type(error).__name__, place=_place_of(error)
        )


def _place_of(error: Exception) -> str:
    """The module and line of our own code where an error was raised; never its message, which may quote anything."""
    place = "?"
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if isinstance(module, str) and module.partition(".")[0] in {"timeline", "adapters", "sidecars"}:
            place = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
