"""Whether a whole session was understood: the checks that keep a new format from looking like an empty session.

- The agent answered and nobody said a word to it, not even a summary or a subagent's task: the place of prompts has
  moved (formats §7.10).
- Most results belong to no call, or many calls have no result: the join key has moved.
- A type that was never reviewed, or a line that could not be read: the rest stands, and the reasons say so.
"""

from typing import Final

from adapters.base import Tallies, Understanding, Verdict

MANY_CALLS: Final = 8
"""Calls without a single result from which on it is the format and not an interruption."""


def understanding_of(tallies: Tallies, *, asked: bool) -> Understanding:
    """Return the verdict on a file read to its end; ``asked`` says that some text stood where prompts stand."""
    reasons = _not_understood(tallies, asked=asked)
    if reasons:
        return Understanding(Verdict.NOT, tuple(reasons))
    reasons += [f"unknown-type:{name}" for name in sorted(tallies.unknown_types)]
    reasons += [f"defect:{kind}" for kind in sorted(tallies.defects)]
    return Understanding(Verdict.PARTLY if reasons else Verdict.UNDERSTOOD, tuple(reasons))


def _not_understood(tallies: Tallies, *, asked: bool) -> list[str]:
    reasons = []
    if tallies.records.get("assistant") and not asked:
        reasons.append("answers-without-prompts")
    results = _results(tallies)
    if results and tallies.results_without_call * 2 > results:
        reasons.append("results-without-calls")
    if not results and sum(tallies.tool_calls.values()) >= MANY_CALLS:
        reasons.append("calls-without-results")
    return reasons


def _results(tallies: Tallies) -> int:
    both = (tallies.outcomes, tallies.inherited_outcomes)
    return sum(o.success + o.failure + o.unknown + o.cancelled for o in both)
