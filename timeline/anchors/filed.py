"""A checkpoint in a file elsewhere as an anchor: another disk, a mount, a folder of another user.

It is worth what its place is worth. Whoever restores that folder together with the state is not seen.
"""

from pathlib import Path

import msgspec

from sidecars.checkpoint import SignedCheckpoint, open_checkpoint
from sidecars.errors import SidecarError
from timeline.anchors.held import decide_held
from timeline.anchors.port import Answer, Question, Standing
from timeline.clock import Clock
from timeline.errors import StateBusyError, StateError, StateIncompleteError
from timeline.files import check_directory, read_private, write_atomic
from timeline.limits import NOTE_BYTES_MAX
from timeline.lock import hold_writer_lock


class FileAnchor(msgspec.Struct, frozen=True):
    """One file in a private folder that exists already; nobody but this program writes it."""

    path: Path
    clock: Clock

    def advance(self, question: Question) -> Answer:
        """Replace the checkpoint in the file by a newer one that continues it (compare-and-set under a lock).

        The lock is the file's own, and is waited for: two anchors in one folder do not meet, and two askers take turns.
        """
        try:
            check_directory(self.path.parent)  # a disk that is not there must not be made up
            with hold_writer_lock(self.lock_path, wait_seconds=question.deadline_seconds):
                return self._advance(question)
        except StateBusyError:
            return Answer(Standing.UNAVAILABLE, reason="busy")
        except StateError as error:
            return Answer(Standing.UNAVAILABLE, reason=error.reason)

    @property
    def lock_path(self) -> Path:
        """What is locked while the file is read and replaced."""
        return self.path.with_name(f"{self.path.name}.lock")

    def close(self) -> None:
        """Nothing is held."""

    def _advance(self, question: Question) -> Answer:
        try:
            content = read_private(self.path, size_max=NOTE_BYTES_MAX)
        except StateIncompleteError:
            if question.known:
                return Answer(Standing.REGRESSED, size=0, reason="file-missing")
            return self._write(question)
        try:
            held = open_checkpoint(content, question.checkpoint.origin, question.verifiers)
        except SidecarError as error:
            return Answer(Standing.MISBEHAVED, reason=error.reason)
        return self._compare(held, question)

    def _compare(self, held: SignedCheckpoint, question: Question) -> Answer:
        objection = decide_held(held, question, question.known)
        if objection is not None:
            return objection
        is_older = held.checkpoint.size < question.checkpoint.size
        return self._write(question) if is_older else self._confirmed(question)

    def _write(self, question: Question) -> Answer:
        write_atomic(self.path, question.note)
        return self._confirmed(question)

    def _confirmed(self, question: Question) -> Answer:
        at = self.clock.now_ms() // 1000
        return Answer(Standing.CONFIRMED, size=question.checkpoint.size, note=question.note, at=at)
