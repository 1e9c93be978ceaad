"""What anchors are asked about: our log's newest checkpoint, and the proofs that it continues an older one."""

from collections.abc import Sequence
from pathlib import Path

from sidecars.checkpoint import Checkpoint
from sidecars.erased import stored_hash
from sidecars.errors import MalformedError
from sidecars.merkle import Frontier, consistency_proof, extension_proof, root_of
from timeline.errors import LogRefusedError
from timeline.store import open_store


class Subject:
    """A signed checkpoint of our log, with everything that can be proved to it.

    The proof from the size before the last commit needs that commit's leaves only. Any other reads all leaves again,
    over a connection of its own: anchors are asked from several threads.
    """

    def __init__(
        self,
        database: Path,
        checkpoint: Checkpoint,
        note: bytes,
        *,
        before: Frontier | None = None,
        added: Sequence[bytes] = (),
    ) -> None:
        """``note`` signs ``checkpoint``; ``before`` and ``added``: the tree before the last commit, and its leaves."""
        self.note = note
        self.checkpoint = checkpoint
        self._database = database
        self._before = before
        self._added = tuple(added)

    @property
    def was_just_committed(self) -> bool:
        """Whether this process has made it under the writer lock, which it still holds: nothing newer can be known."""
        return self._before is not None

    def prove(self, old_size: int) -> Sequence[bytes]:
        """The consistency proof from an older size.

        Raises:
            StateError: the leaves cannot be read, or are no longer as many as the checkpoint states.
        """
        if self._before is not None and old_size == self._before.size:
            return extension_proof(self._before, self._added)
        return consistency_proof(self._leaves(self.checkpoint.size), old_size)

    def continues(self, older: Checkpoint) -> bool:
        """Whether our tree has this root at that size; a larger tree is not contradicted here.

        Raises:
            StateError: see ``prove``.
        """
        if older.size >= self.checkpoint.size:
            return older.size > self.checkpoint.size or older == self.checkpoint
        if self._before is not None and older.size == self._before.size:
            return older.root.raw == self._before.root()
        return older.root.raw == root_of(self._leaves(older.size))

    def _leaves(self, size: int) -> list[bytes]:
        store = open_store(self._database)
        try:
            found = [stored_hash(salt, envelope) for index, salt, envelope in store.leaves() if index < size]
        except MalformedError as error:
            message = f"{self._database}: {error}"
            raise LogRefusedError(message) from error
        finally:
            store.close()
        # The checkpoint was verified over an earlier reading; another file may have been put in the database's place.
        if len(found) != size:
            message = f"{self._database}: holds {len(found)} of the first {size} leaves"
            raise LogRefusedError(message)
        return found
