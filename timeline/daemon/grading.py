"""Credibilities that nobody asked for: computed once a day where claims have changed, when a hook shows life (G13).

Nothing wakes up for it. The timeline's thread does it when nothing else waits, and for few claims only, since a hook
that comes meanwhile waits for it.
"""

import threading
from contextlib import suppress

from timeline.daemon.errors import DaemonStoppingError
from timeline.daemon.shared import Shared
from timeline.grading_use import PERIOD_MS, compute_if_due
from timeline.service import REFUSALS


class Grading:
    """Looks once a day whether a computation is due. Threads share it."""

    def __init__(self, shared: Shared) -> None:
        """Look at the first hook."""
        self._shared = shared
        self._turn = threading.Lock()
        self._next_ms = 0

    def look(self) -> None:
        """A hook was answered: have it looked into, unless that was done within the day."""
        now_ms = self._shared.now_ms()
        with self._turn:
            if now_ms < self._next_ms:
                return
            self._next_ms = now_ms + PERIOD_MS
        try:
            self._shared.worker.post("credibility", self._compute)
        except DaemonStoppingError:  # the next daemon looks
            return

    def _compute(self) -> None:
        with suppress(*REFUSALS):  # whoever asks for a grade is told
            compute_if_due(self._shared.session)
