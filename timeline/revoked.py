"""What log keys have signed that the owner has declared compromised since.

Nothing is taken back by that: such leaves are linked, stand under heads, and count as before. Whoever reads them is
told that somebody else could have written them, up to the leaf that ended the key's epoch and no further.
"""

import itertools
from collections.abc import Iterable

import msgspec

from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.trust import Epoch
from timeline.state import State

LeafRange = tuple[int, int]
"""First and last leaf of a run without gaps."""


class RevokedKey(msgspec.Struct, frozen=True):
    """A key that was declared compromised: its epoch, the leaf that ended it, and the leaves that it signed.

    Of ``erased`` leaves in its epoch nobody can tell any more whether it had signed them.
    """

    epoch: Epoch
    revoked_by: int
    signed: tuple[LeafRange, ...]
    erased: tuple[LeafRange, ...] = ()

    @property
    def count(self) -> int:
        """How many leaves it signed."""
        return sum(last - first + 1 for first, last in self.signed)


def find_revoked_keys(state: State) -> tuple[RevokedKey, ...]:
    """Every key whose epoch ended because it was compromised, oldest first.

    Raises:
        StateError, SidecarError: the database cannot be read.
    """
    epochs = state.belief.epochs
    ended = [
        (epoch, following.leaf)
        for epoch, following in itertools.pairwise(epochs)
        if following.reason == "compromised"
    ]
    return tuple(
        RevokedKey(epoch, end, join_ranges(_signed_by(state, epoch, end)), _erased_in(state, epoch, end))
        for epoch, end in ended
    )


def join_ranges(indexes: Iterable[int]) -> tuple[LeafRange, ...]:
    """Ascending indexes as runs without gaps."""
    found: list[LeafRange] = []
    for index in indexes:
        if found and found[-1][1] + 1 == index:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return tuple(found)


def format_ranges(ranges: Iterable[LeafRange]) -> str:
    """Ranges for a person: ``2-5, 7``."""
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def _signed_by(state: State, epoch: Epoch, end: int) -> Iterable[int]:
    ref = epoch.log_key.ref
    for index, salt, envelope in state.store.leaves():
        if index >= end:
            return
        if is_erased(salt):
            continue
        # Verified with the rest of the log: here only whose signature it is counts.
        if index > epoch.leaf and any(s.key == ref for s in parse_envelope(envelope).signatures):
            yield index


def _erased_in(state: State, epoch: Epoch, end: int) -> tuple[LeafRange, ...]:
    return join_ranges(sorted(index for index in state.view.erased if epoch.leaf < index < end))
