"""A checkpoint in a file elsewhere as an anchor: another disk, a mount, a folder of another user.

It is worth what its place is worth. Whoever restores that folder together with the state is not seen.
"""

from pathlib import Path

import msgspec

from sidecars.checkpoint import SignedCheckpoint, open_checkpoint
from sidecars.errors import BadProofError, SidecarError
from sidecars.merkle import verify_consistency
from timeline.anchors.port import Answer, Question, Standing
from timeline.clock import Clock
from timeline.errors import StateError, StateIncompleteError
from timeline.files import hold_directory, read_private, write_atomic
from timeline.limits import NOTE_BYTES_MAX


class FileAnchor(msgspec.Struct, frozen=True):
    """One file in a private folder that exists already; nobody but this program writes it."""

    path: Path
    clock: Clock

    def advance(self, question: Question) -> Answer:
        """Replace the checkpoint in the file by a newer one that continues it (compare-and-set under a lock)."""
        try:
            with hold_directory(self.path.parent):
                return self._advance(question)
        except StateError as error:
            return Answer(Standing.UNAVAILABLE, reason=error.reason)

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
        size, ours = held.checkpoint.size, question.checkpoint
        if size > ours.size:
            return Answer(Standing.AHEAD, size=size, reason="larger-tree", evidence=held.note)
        if size < question.known:
            return Answer(Standing.REGRESSED, size=size, reason="smaller-tree")
        proof = question.prove(size) if 0 < size < ours.size else ()
        try:
            verify_consistency(size, ours.size, held.checkpoint.root.raw, ours.root.raw, proof)
        except BadProofError:
            return Answer(Standing.FORKED, size=size, reason="other-root", evidence=held.note)
        return self._write(question) if size < ours.size else self._confirmed(question)

    def _write(self, question: Question) -> Answer:
        write_atomic(self.path, question.note)
        return self._confirmed(question)

    def _confirmed(self, question: Question) -> Answer:
        at = self.clock.now_ms() // 1000
        return Answer(Standing.CONFIRMED, size=question.checkpoint.size, note=question.note, at=at)
