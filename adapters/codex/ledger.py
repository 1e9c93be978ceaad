"""The calls that are still open, and what is known of the recent ones; both bounded.

Every call is counted; only calls of reviewed commands keep what their lines tell. A result is settled at the next
boundary after something told of its end, or when the table is full, so that a second, contradicting output of the
same turn still counts. Nothing here reads a line.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from adapters.base import Tallies
from adapters.calls import CANCELLED, FAILURE, SAYS, SUCCESS, count_outcome, key_of
from adapters.codex.calls import MAX_CALL_LINES, Told, join
from adapters.codex.carriers import Ending
from adapters.record import CallStatus, LineRole, ToolResult

MAX_OPEN: Final = 16
"""Most reviewed calls that are open at once. Hosts run a handful of commands in parallel; bounds the cursor."""

MAX_RECENT: Final = 48
"""Most calls whose outcome is still awaited or may still be contradicted; bounds the cursor."""

CODED = 8
"""Set beside ``FAILURE`` where its exit code was counted."""
_INHERITED, _CALLED = 16, 32


def says(ending: Ending) -> int:
    """Return what ``ending`` proves, as bits; 0 where it proves nothing."""
    bits = SAYS[ending.status]
    if ending.error_flag is not None:
        bits |= FAILURE if ending.error_flag else SUCCESS
    return bits


class _Open(msgspec.Struct):
    inherited: bool
    lines: list[Told] = msgspec.field(default_factory=list)

    @property
    def ended(self) -> bool:
        return any(
            told.ref.role is not LineRole.CALL and told.ending.status is not CallStatus.RUNNING
            for told in self.lines
        )

    @property
    def session(self) -> int | None:
        """The number under which the command goes on in the background."""
        return next((told.ending.session for told in self.lines if told.ending.session is not None), None)

    @property
    def poll(self) -> str | None:
        """The id of the poll whose output is awaited, or was the last."""
        return next((told.call_id for told in self.lines if told.polls is not None), None)


def _without_poll(lines: list[Told]) -> list[Told]:
    polls = {told.call_id for told in lines if told.polls is not None}
    return [told for told in lines if told.call_id not in polls]


class Ledger:
    """Open and recent calls of one reader; counts into its tallies."""

    __slots__ = ("_open", "_polled", "_recent", "_tallies")

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._open: dict[str, _Open] = {}
        self._polled: dict[str, _Open] = {}
        self._recent: dict[str, list[int]] = {}

    # ------------------------------------------------------------------------------------ counting every call

    def called(self, call_id: str, *, inherited: bool) -> None:
        """Note a call. The same id again is another call: the earlier one is counted first."""
        key = key_of(call_id)
        if key in self._recent:
            self._count(key)
        elif len(self._recent) >= MAX_RECENT:
            self._count(next(iter(self._recent)))
        self._recent[key] = [0, _CALLED | (_INHERITED if inherited else 0)]

    def resulted(self, call_id: str, bits: int, *, inherited: bool) -> None:
        """Note an output. Without a call it is an orphan: counted, and never paired by guess."""
        known = self._recent.get(key_of(call_id))
        if known is None:
            self._tallies.results_without_call += 1
            self._count_results(bits, 1, inherited=inherited)
            return
        known[0] += 1
        known[1] |= bits

    def reported(self, call_id: str, bits: int) -> None:
        """Note a structured report: a statement about the call, not a result of its own."""
        known = self._recent.get(key_of(call_id))
        if known is not None:
            known[1] |= bits

    def knows(self, call_id: str) -> bool:
        """Say whether the call is one of the recent ones."""
        return key_of(call_id) in self._recent

    def _count(self, key: str) -> None:
        results, bits = self._recent.pop(key)
        if bits & _CALLED and not results:
            self._tallies.calls_without_result += 1
        if results:
            self._count_results(bits, results, inherited=bool(bits & _INHERITED))

    def _count_results(self, bits: int, results: int, *, inherited: bool) -> None:
        tallies = self._tallies
        count_outcome(tallies.inherited_outcomes if inherited else tallies.outcomes, bits, results)
        if bits & FAILURE and not bits & (SUCCESS | CANCELLED | CODED):
            tallies.failure_codes["none"] = tallies.failure_codes.get("none", 0) + results

    # ------------------------------------------------------------------------------- keeping the reviewed ones

    def is_open(self, call_id: str) -> bool:
        """Say whether this reviewed call, or a poll of one, awaits more."""
        return call_id in self._open or self._polled_by(call_id) is not None

    def poll(self, told: Told) -> None:
        """Note a poll: its output will belong to the command that runs in the session, if one does.

        An earlier poll saw the command still running: its lines prove nothing and are let go.
        """
        for call in self._open.values():
            if told.polls is not None and call.session == told.polls and not call.ended:
                call.lines = [*_without_poll(call.lines), told]
                self._polled = {
                    poll: open_call
                    for open_call in self._open.values()
                    if (poll := open_call.poll) is not None
                }

    def polls_something(self, session: int | None) -> bool:
        """Say whether an open call goes on in this session."""
        return session is not None and any(call.session == session for call in self._open.values())

    def open(self, told: Told, *, inherited: bool) -> list[ToolResult]:
        """Open a call with its first line; return what had to be settled to make room."""
        settled = []
        if told.call_id in self._open:
            settled.append(self._settle(told.call_id))
        elif len(self._open) >= MAX_OPEN:
            ended = (call_id for call_id, call in self._open.items() if call.ended)
            settled.append(self._settle(next(ended, next(iter(self._open)))))
        self._open[told.call_id] = _Open(inherited, [told])
        return [result for result in settled if result is not None]

    def add(self, told: Told) -> None:
        """Add a line to its open call; a line too many only confirms the conflict that the last one made."""
        polled = self._polled_by(told.call_id) if told.call_id not in self._open else None
        call = polled or self._open[told.call_id]
        if polled is not None and told.ending.exit_code is None:
            # It runs on, or the poll itself failed: neither says how the command ended.
            call.lines = _without_poll(call.lines)
        elif len(call.lines) < MAX_CALL_LINES:
            call.lines.append(told)

    def _polled_by(self, call_id: str) -> _Open | None:
        polled = self._polled.get(call_id)
        return polled if polled is not None and polled.poll == call_id else None

    def settle_ended(self) -> list[ToolResult]:
        """Return the results of open calls that something told the end of, in file order of their calls."""
        ended = [call_id for call_id, call in self._open.items() if call.ended]
        return [result for call_id in ended if (result := self._settle(call_id)) is not None]

    def _settle(self, call_id: str) -> ToolResult | None:
        call = self._open.pop(call_id)
        if self._polled:
            self._polled = {poll: other for poll, other in self._polled.items() if other is not call}
        return join(call.lines, inherited=call.inherited)

    def close(self) -> list[ToolResult]:
        """Settle and count everything; calls that nothing but the call itself was told of give no result."""
        results = [result for call_id in list(self._open) if (result := self._settle(call_id)) is not None]
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

    def restore(self, recent: Iterable[tuple[str, int, int]]) -> None:
        """Take up the recent calls of a cursor."""
        self._recent = {key: [results, bits] for key, results, bits in recent}
