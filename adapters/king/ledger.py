"""The calls that are still open, and what is known of the recent ones; both bounded.

Every call is counted; only calls of reviewed commands keep what their lines tell. A result is settled at the next
boundary after its line, or when the table is full, so that a second, contradicting result of the same turn still
counts. Nothing here reads a line.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from adapters.base import Tallies, add_to
from adapters.calls import FAILURE, SAYS, SUCCESS, count_outcome, key_of
from adapters.king.calls import MAX_CALL_LINES, Call, Told, join
from adapters.king.endings import Asked, Ending
from adapters.record import CallStatus, ToolResult

MAX_OPEN: Final = 16
"""Most reviewed calls that are open at once. Hosts run a handful of commands in parallel; bounds the cursor."""

MAX_RECENT: Final = 48
"""Most calls whose result is still awaited or may still be contradicted; bounds the cursor."""

MAX_CODES: Final = 32
"""Most different exit codes that are counted apart; the rest share ``other``."""

_INHERITED, _IN_SHELL, _IN_BACKGROUND = 16, 32, 64


def says(ending: Ending) -> int:
    """Return what ``ending`` proves, as bits; 0 where it proves nothing."""
    return SUCCESS | FAILURE if ending.conflict else SAYS[ending.status]


class _Open(msgspec.Struct):
    inherited: bool
    lines: list[Told] = msgspec.field(default_factory=list)

    @property
    def ended(self) -> bool:
        return len(self.lines) > 1


class Ledger:
    """Open and recent calls of one reader; counts into its tallies.

    ``gave_own`` says that a result which is not inherited was given away.
    """

    __slots__ = ("_open", "_recent", "_tallies", "gave_own")

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._open: dict[str, _Open] = {}
        self._recent: dict[str, list[int]] = {}
        self.gave_own = False

    # ------------------------------------------------------------------------------------ counting every call

    def called(self, call: Call, *, inherited: bool) -> None:
        """Note a call. The same id again is another call: the earlier one is counted first."""
        key = key_of(call.call_id)
        if key in self._recent:
            self._count(key)
        elif len(self._recent) >= MAX_RECENT:
            self._count(next(iter(self._recent)))
        asked = call.asked
        self._recent[key] = [
            0,
            (_INHERITED if inherited else 0)
            | (_IN_SHELL if asked.in_shell else 0)
            | (_IN_BACKGROUND if asked.in_background else 0),
        ]

    def asked(self, call_id: str) -> Asked | None:
        """Return what the recent call of this id asked, ``None`` where none is known."""
        known = self._recent.get(key_of(call_id))
        if known is None:
            return None
        return Asked(bool(known[1] & _IN_SHELL), bool(known[1] & _IN_BACKGROUND))

    def resulted(self, call_id: str, ending: Ending, *, inherited: bool) -> None:
        """Note a result. Without a call it is an orphan: counted, and never paired by guess."""
        bits = says(ending)
        known = self._recent.get(key_of(call_id))
        if known is None:
            self._tallies.results_without_call += 1
            tallies = self._tallies
            count_outcome(tallies.inherited_outcomes if inherited else tallies.outcomes, bits)
        else:
            known[0] += 1
            known[1] |= bits
            inherited = bool(known[1] & _INHERITED)
        if ending.status is CallStatus.FAILED and not inherited:
            self._count_code("none" if ending.exit_code is None else str(ending.exit_code))

    def _count_code(self, code: str) -> None:
        codes = self._tallies.failure_codes
        add_to(codes, code if code in codes or len(codes) < MAX_CODES - 1 else "other")

    def _count(self, key: str) -> None:
        results, bits = self._recent.pop(key)
        if not results:
            self._tallies.calls_without_result += 1
            return
        inherited = bits & _INHERITED
        count_outcome(
            self._tallies.inherited_outcomes if inherited else self._tallies.outcomes, bits, results
        )

    # ------------------------------------------------------------------------------- keeping the reviewed ones

    def is_open(self, call_id: str) -> bool:
        """Say whether this reviewed call awaits more."""
        return call_id in self._open

    def open(self, told: Told, *, inherited: bool) -> list[ToolResult]:
        """Open a call with its line; return what had to be settled to make room."""
        settled = self.let_go(told.call_id)
        if len(self._open) >= MAX_OPEN:
            ended = (call_id for call_id, call in self._open.items() if call.ended)
            settled += self._settle(next(ended, next(iter(self._open))))
        self._open[told.call_id] = _Open(inherited, [told])
        return settled

    def add(self, told: Told) -> None:
        """Add a line to its open call; a line too many only confirms the conflict that the last one made."""
        lines = self._open[told.call_id].lines
        if len(lines) < MAX_CALL_LINES:
            lines.append(told)

    def let_go(self, call_id: str) -> list[ToolResult]:
        """Settle the open call of this id, if there is one: what comes under the id now is another call's.

        Everything that ended before is settled with it, in file order.
        """
        if call_id not in self._open:
            return []
        settled = self.settle_ended()
        self._open.pop(call_id, None)
        return settled

    def settle_ended(self) -> list[ToolResult]:
        """Return the results of open calls whose end was told, in file order of their calls."""
        ended = [call_id for call_id, call in self._open.items() if call.ended]
        return [result for call_id in ended for result in self._settle(call_id)]

    def _settle(self, call_id: str) -> list[ToolResult]:
        call = self._open.pop(call_id)
        result = join(call.lines, inherited=call.inherited)
        if result is None:
            return []
        self.gave_own = self.gave_own or not result.inherited
        return [result]

    def inherit(self) -> None:
        """Mark every open and recent call as copied from another session, and what was counted of them."""
        for call in self._open.values():
            call.inherited = True
        for known in self._recent.values():
            known[1] |= _INHERITED
        own, copied = self._tallies.outcomes, self._tallies.inherited_outcomes
        for name in own.__struct_fields__:
            setattr(copied, name, getattr(copied, name) + getattr(own, name))
            setattr(own, name, 0)
        self._tallies.failure_codes.clear()

    def close(self) -> list[ToolResult]:
        """Settle and count everything; calls that nothing told the end of give no result."""
        results = self.settle_ended()
        self._open.clear()
        for key in list(self._recent):
            self._count(key)
        return results

    # --------------------------------------------------------------------------------------------- for a cursor

    def open_calls(self) -> Iterable[tuple[bool, list[Told]]]:
        """Return the open calls in order, each as whether it is inherited and its lines."""
        return [(call.inherited, call.lines) for call in self._open.values()]

    def recent(self) -> tuple[tuple[str, int, int], ...]:
        """Return what is known of the recent calls."""
        return tuple((key, results, bits) for key, (results, bits) in self._recent.items())

    def restore(self, recent: Iterable[tuple[str, int, int]], *, gave_own: bool) -> None:
        """Take up the recent calls of a cursor."""
        self._recent = {key: [results, bits] for key, results, bits in recent}
        self.gave_own = gave_own
