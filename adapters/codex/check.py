"""Whether a whole rollout was understood: the checks that keep a new format from looking like an empty session.

- The agent acted and nobody ever asked: a reader that knows only the old place of prompts sees exactly that.
- Most results belong to no call, or many calls have no result: the join key has moved.
- A type that was never reviewed, or a line that could not be read: the rest stands, and the reasons say so.
"""

from typing import Final

from adapters.base import Header, Tallies, Understanding, Verdict

MANY_CALLS: Final = 8
"""Calls without a single result from which on it is the format and not an interruption."""


def understanding_of(header: Header, tallies: Tallies) -> Understanding:
    """Return the verdict on a file that was read to its end."""
    reasons = _not_understood(header, tallies)
    if reasons:
        return Understanding(Verdict.NOT, tuple(reasons))
    reasons += [f"unknown-type:{name}" for name in sorted(tallies.unknown_types)]
    reasons += [f"defect:{kind}" for kind in sorted(tallies.defects)]
    return Understanding(Verdict.PARTLY if reasons else Verdict.UNDERSTOOD, tuple(reasons))


def _not_understood(header: Header, tallies: Tallies) -> list[str]:
    reasons = []
    acted = bool(tallies.tool_calls) or any(tallies.records.get(name) for name in _ACTS)
    prompts = tallies.prompts + tallies.inherited_prompts
    # A subagent's task and the beginning of a fork stand elsewhere.
    if acted and not prompts and not header.is_subagent and header.history_base is None:
        reasons.append("turns-without-prompts")
    results = _results(tallies)
    if results and tallies.results_without_call * 2 > results and header.history_base is None:
        reasons.append("results-without-calls")
    if not results and sum(tallies.tool_calls.values()) >= MANY_CALLS:
        reasons.append("calls-without-results")
    return reasons


_ACTS: Final = ("event_msg/task_complete", "event_msg/agent_message")
"""Records that only an agent's answer to a prompt brings about."""


def _results(tallies: Tallies) -> int:
    both = (tallies.outcomes, tallies.inherited_outcomes)
    return sum(o.success + o.failure + o.unknown + o.cancelled for o in both)
