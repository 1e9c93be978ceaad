"""Enrolled files that may grow: noticed by the watcher or a hook, and read on by the worker, once a second at most.

Only where the owner consented to following. The watcher marks and does nothing else; reading happens on
the worker's thread, and one that is due within the second waits for a timer that runs only then. Nothing runs while
nothing changes. All that are due when the worker gets to them are read and committed as one group.
"""

import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

import msgspec

from timeline.daemon.errors import DaemonStoppingError
from timeline.daemon.shared import Shared
from timeline.extending import Due, extend_together
from timeline.guard.enrollment import Consent, decide_consent, is_following
from timeline.limits import MIB
from timeline.service import REFUSALS
from timeline.state import State
from timeline.watch import TranscriptWatch

PAUSE_SECONDS: Final = 1.0
"""Between two readings of one file, unless somebody asks: a host appends many times a second."""

PROOF_BYTES: Final = 8 * MIB
"""Bytes of what stood before that are compared in each pause: what an append costs does not depend on the file.
A group shares them; each source gets 1 MiB at least."""

GROUP_MAX: Final = 32
"""Sources that are read as one group: a call that comes meanwhile waits for it, some 130 ms on two slow cores."""


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
        self._waiting: dict[str, tuple[Followed, int]] = {}
        """Sources that are due, and how many bytes of each are to be compared."""
        self._alone: set[str] = set()
        """Sources of groups that failed: each is read by itself next time, so that one cannot hold up the others."""
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
        key = followed.enrollment_id
        with self._turn:
            _, before = self._waiting.get(key, (followed, 0))
            self._waiting[key] = (followed, max(before, proof_bytes))
        self._post_quietly("extension", self._read_group)

    def _read_group(self) -> None:
        """Read all that are due as one group, and the rest, if they are more, in a further one behind the calls."""
        with self._turn:
            keys = _next_group(tuple(self._waiting), self._alone)
            group = [self._waiting.pop(key) for key in keys]
            more = bool(self._waiting)
        if not group:
            return
        if more:
            self._post_quietly("extension", self._read_group)
        try:
            pending = _extend(self._shared, group)
        except BaseException:
            self._alone.update(keys)
            raise
        self._alone.difference_update(keys)
        with self._turn:
            for followed in pending:
                self._wait(followed, PAUSE_SECONDS)

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


def _next_group(waiting: Sequence[str], alone: AbstractSet[str]) -> Sequence[str]:
    """Which of the sources that wait are read next: the first, and with it others unless it is to be read alone."""
    if waiting and waiting[0] in alone:
        return waiting[:1]
    return [key for key in waiting if key not in alone][:GROUP_MAX]


def _extend(shared: Shared, group: Sequence[tuple[Followed, int]]) -> tuple[Followed, ...]:
    """Read sources on; those of which some of what stood before they grew is still to be compared."""
    share = max(MIB, PROOF_BYTES // max(1, sum(wanted > 0 for _, wanted in group)))
    due = [Due(followed.project, followed.enrollment_id, min(wanted, share)) for followed, wanted in group]
    pending = []
    for (followed, _), result in zip(group, extend_together(shared.session, due), strict=True):
        if isinstance(result, Exception):
            shared.note_failure("extension", result)
        elif not result.source.is_prefix_proven:
            pending.append(followed)
    return tuple(pending)
