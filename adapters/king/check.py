"""Whether a whole wire was understood: the checks that keep a new format from looking like an empty session.

- The agent acted and there is no message to it: what asks it stands where this reader does not look (formats §7.10).
- Most results belong to no call, or many calls have no result: the join key has moved.
- Another protocol goes on in the same file: its records may mean something else.
- What was given as this session's own turned out to be a copy.
- A type that was never reviewed, or a line that could not be read: the rest stands, and the reasons say so.
"""

from typing import Final

from adapters.base import Tallies, Understanding, Verdict
from adapters.king.state import State
from adapters.king.types import LOOP_EVENT, LOOP_EVENTS

MANY_CALLS: Final = 8
"""Calls without a single result from which on it is the format and not an interruption."""

_ACTS: Final = tuple(f"{LOOP_EVENT}/{kind}" for kind in sorted(LOOP_EVENTS))
_MESSAGES: Final = ("turn.prompt", "turn.steer", "context.append_message")


def understanding_of(state: State) -> Understanding:
    """Return the verdict on a file that was read to its end."""
    tallies = state.tallies
    reasons = _not_understood(state)
    if reasons:
        return Understanding(Verdict.NOT, tuple(reasons))
    reasons += [f"unknown-type:{name}" for name in sorted(tallies.unknown_types)]
    reasons += [f"defect:{kind}" for kind in sorted(tallies.defects)]
    return Understanding(Verdict.PARTLY if reasons else Verdict.UNDERSTOOD, tuple(reasons))


def _not_understood(state: State) -> list[str]:
    tallies, reasons = state.tallies, []
    if state.other_protocol:
        reasons.append("protocol-changed")
    if state.late_fork:
        reasons.append("forked-behind-own-history")
    acted = any(tallies.records.get(name) for name in _ACTS)
    if acted and not any(tallies.records.get(name) for name in _MESSAGES):
        reasons.append("loop-events-without-messages")
    results = _results(tallies)
    if results and tallies.results_without_call * 2 > results:
        reasons.append("results-without-calls")
    if not results and sum(tallies.tool_calls.values()) >= MANY_CALLS:
        reasons.append("calls-without-results")
    return reasons


def _results(tallies: Tallies) -> int:
    both = (tallies.outcomes, tallies.inherited_outcomes)
    return sum(o.success + o.failure + o.unknown + o.cancelled for o in both)
