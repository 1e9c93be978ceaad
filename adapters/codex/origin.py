"""Whether the record at hand is this thread's own or copied from another (formats §1.9). It reads no text.

- A header that states an ordinal: what is numbered below it is copied.
- A ``session_meta`` of another id starts copied material. It ends at the first turn that is proved to be own: its
  id is a UUIDv7 no older than the thread's, *and* a copied turn has ended since, since a fork copies at least the
  turn it was made in. Without UUIDv7 ids nothing is proved, and the rest of the file stays inherited.
- Two doubts have one answer: inherited. It loses evidence and never invents any.
"""

import re
from typing import Final

_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")

_FLAGS: Final = ("inherited", "foreign", "ended")


class Origin:
    """The boundary between copied and own history, moved by records in file order."""

    __slots__ = ("_ended", "_foreign", "_own_from", "_thread_ms", "inherited")

    def __init__(self, session_id: str, own_from_ordinal: int | None) -> None:
        self._thread_ms = uuid7_ms(session_id)
        self._own_from = own_from_ordinal
        self._foreign = False
        self._ended = False
        self.inherited = False

    def at_ordinal(self, ordinal: int | None) -> None:
        """Take note of the ordinal of the record at hand."""
        if self._own_from is None or ordinal is None:
            return
        if ordinal < self._own_from:
            self.inherited = True
        elif not self._foreign:
            self.inherited = False

    def at_foreign_meta(self, ordinal: int | None) -> None:
        """Take note of a ``session_meta`` with another id."""
        stated = self._own_from is not None and ordinal is not None and ordinal < self._own_from
        self._foreign = not stated
        self._ended = False
        self.inherited = True

    def at_turn_start(self, turn_id: str | None) -> None:
        """Take note of a ``task_started`` or ``turn_context``."""
        if not self._foreign or not self._ended or turn_id is None or self._thread_ms is None:
            return
        turn_ms = uuid7_ms(turn_id)
        if turn_ms is not None and turn_ms >= self._thread_ms:
            self._foreign = self.inherited = False

    def at_turn_end(self) -> None:
        """Take note of a ``task_complete`` or ``turn_aborted``."""
        self._ended = True

    def flags(self) -> dict[str, int]:
        """Return the state as numbers, for a cursor."""
        return dict(zip(_FLAGS, (int(self.inherited), int(self._foreign), int(self._ended)), strict=True))

    def restore(self, flags: dict[str, int]) -> None:
        """Take up the state of a cursor."""
        self.inherited, self._foreign, self._ended = (bool(flags.get(name, 0)) for name in _FLAGS)


def uuid7_ms(text: str) -> int | None:
    """Return the time in a UUIDv7 in milliseconds since the epoch, ``None`` for any other text."""
    match = _UUID7.fullmatch(text)
    return int(match[1] + match[2], 16) if match else None
