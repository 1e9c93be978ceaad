"""Enrolled files that may grow: noticed by the watcher or a hook, and read on by the worker, once a second at most.

Only where the owner consented to following (DESIGN 7). The watcher marks and does nothing else; reading happens on
the worker's thread, and one that is due within the second waits for a timer that runs only then. Nothing runs while
nothing changes.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from timeline.daemon.errors import DaemonStoppingError
from timeline.daemon.shared import Shared
from timeline.guard.enrollment import Consent, decide_consent, is_following
from timeline.limits import MIB
from timeline.service import REFUSALS, Session, index
from timeline.state import State
from timeline.watch import TranscriptWatch

PAUSE_SECONDS: Final = 1.0
"""Between two readings of one file, unless somebody asks: a host appends many times a second."""

PROOF_BYTES: Final = 8 * MIB
"""Bytes of what stood before that are compared in each pause: what an append costs does not depend on the file."""


class Followed(msgspec.Struct, frozen=True):
    """One followed source: whose it is, and where."""

    enrollment_id: str
    host: str
    session: str
    project: str
    path: str


class Following:
    """Keeps followed sources up to date. Threads share it."""

    def __init__(self, shared: Shared) -> None:
        """Watch nothing yet."""
        self._shared = shared
        self._turn = threading.Lock()
        self._by_path: dict[str, Followed] = {}
        self._read_at: dict[str, float] = {}
        self._timers: dict[str, threading.Timer] = {}
        self._watch = TranscriptWatch(self._touched)
        self._closed = False

    @property
    def count(self) -> int:
        """How many files are watched."""
        return self._watch.count

    def refresh(self) -> None:
        """Look anew which sources are followed; on the worker's thread, and nobody waits for it."""
        self._post_quietly("refresh", self._refresh)

    def read_on(self, host: str, session: str) -> None:
        """A hook of this session came: what its host has written since is read on.

        A session that is not known to be followed may have been enrolled by a command since: it is looked up.
        """
        if not self._read_known(host, session):

            def look_up() -> None:
                self._refresh()
                self._read_known(host, session)

            self._post_quietly(f"lookup:{host}:{session}", look_up)

    def _read_known(self, host: str, session: str) -> bool:
        with self._turn:
            found = [item for item in self._by_path.values() if (item.host, item.session) == (host, session)]
        for followed in found:
            self._due(followed)
        return bool(found)

    def close(self) -> None:
        """Watch nothing any more, and let no timer run."""
        with self._turn:
            self._closed = True
            timers, self._timers = list(self._timers.values()), {}
        for timer in timers:
            timer.cancel()
        self._watch.close()

    def _refresh(self) -> None:
        try:
            with self._shared.session.reading_local() as state:
                found = _followed(state, self._shared.now_ms())
        except REFUSALS:  # `status` says why; there is nothing to watch
            found = ()
        with self._turn:
            if self._closed:
                return
            self._by_path = {followed.path: followed for followed in found}
        self._watch.watch(self._by_path)

    def _touched(self, path: str) -> None:
        with self._turn:
            followed = self._by_path.get(path)
        if followed is None:
            return
        try:
            size = Path(path).stat().st_size
        except OSError:  # gone, which the next use says
            return
        now_ms = self._shared.now_ms()
        self._shared.saw(
            lambda activity: activity.saw_growth(followed.host, followed.session, path, size, now_ms)
        )
        self._due(followed)

    def _due(self, followed: Followed) -> None:
        """Read on now, or when its pause is over."""
        key = followed.enrollment_id
        with self._turn:
            left = self._read_at.get(key, 0.0) + PAUSE_SECONDS - self._seconds()
            if left > 0 or self._closed or key in self._timers:
                self._wait(followed, left)
                return
            self._read_at[key] = self._seconds()
        self._post(followed, 0)

    def _wait(self, followed: Followed, seconds: float) -> None:
        """Let a pause pass, unless one does already; the caller holds the turn."""
        if self._closed or followed.enrollment_id in self._timers:
            return
        timer = threading.Timer(seconds, self._after_pause, (followed,))
        timer.daemon = True
        self._timers[followed.enrollment_id] = timer
        timer.start()

    def _after_pause(self, followed: Followed) -> None:
        with self._turn:
            self._timers.pop(followed.enrollment_id, None)
            if self._closed:
                return
            self._read_at[followed.enrollment_id] = self._seconds()
        self._post(followed, PROOF_BYTES)

    def _post(self, followed: Followed, proof_bytes: int) -> None:
        def read_on() -> None:
            if _index(self._shared, followed, proof_bytes):
                with self._turn:
                    self._wait(followed, PAUSE_SECONDS)

        self._post_quietly(f"extension:{followed.enrollment_id}", read_on)

    def _post_quietly(self, name: str, job: Callable[[], object]) -> None:
        try:
            self._shared.worker.post(name, job)
        except DaemonStoppingError:  # the next daemon reads it
            return

    def _seconds(self) -> float:
        return self._shared.session.ports.stopwatch.seconds()


def _followed(state: State, now_ms: int) -> tuple[Followed, ...]:
    found = []
    for source in state.view.active:
        enrolled = source.enrollment
        holds = decide_consent(source, now_ms) is Consent.HOLDS
        if holds and source.broken is None and is_following(enrolled, now_ms):
            binding = enrolled.binding
            found.append(
                Followed(
                    enrolled.enrollment_id,
                    binding.host,
                    binding.session,
                    binding.project,
                    enrolled.source.path,
                )
            )
    return tuple(found)


def _index(shared: Shared, followed: Followed, proof_bytes: int) -> bool:
    """Read a source on; whether some of what stood before it grew is still to be compared."""
    session: Session = shared.session
    pending = False
    for result in index(
        session, followed.project, source_ref=followed.enrollment_id, proof_bytes=proof_bytes
    ):
        if isinstance(result, tuple):
            shared.note_failure("extension", result[1])
        else:
            pending = not result.source.is_prefix_proven
    return pending
