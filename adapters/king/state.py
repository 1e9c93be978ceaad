"""What a reader knows between two lines. The handlers of ``records`` change it; nothing else does."""

from hashlib import sha256

import msgspec

from adapters.base import Header, Tallies
from adapters.king.ledger import Ledger
from adapters.objective.reviewed import ReviewedCommands


class State(msgspec.Struct):
    """The header, the counts, the calls, and three things that a whole file can be found guilty of.

    ``gave_own`` says that a prompt was given as this session's own; ``late_fork`` that a ``forked`` record then said
    it was a copy; ``other_protocol`` that a later ``metadata`` names another protocol than the first.
    """

    header: Header
    tallies: Tallies
    ledger: Ledger
    gave_own: bool = False
    late_fork: bool = False
    other_protocol: bool = False
    reviewed: ReviewedCommands = msgspec.field(default_factory=ReviewedCommands)

    def is_inherited(self, offset: int) -> bool:
        """Say whether the line at ``offset`` is known to be copied."""
        return offset < self.header.own_from_offset

    def flags(self) -> dict[str, int]:
        """Return what is not in the tallies or the ledger as numbers, for a cursor."""
        return {
            "protocol": _number_of(self.header.history_mode),
            "gave-own": int(self.gave_own or self.ledger.gave_own),
            "late-fork": int(self.late_fork),
            "other-protocol": int(self.other_protocol),
        }

    def restore(self, flags: dict[str, int]) -> bool:
        """Take up the flags of a cursor; say whether they are of a file in the protocol of this one."""
        self.gave_own, self.late_fork, self.other_protocol = (
            bool(flags.get(name)) for name in ("gave-own", "late-fork", "other-protocol")
        )
        return flags.get("protocol") == _number_of(self.header.history_mode)


def _number_of(protocol: str) -> int:
    return int.from_bytes(sha256(protocol.encode()).digest()[:4], "big")
