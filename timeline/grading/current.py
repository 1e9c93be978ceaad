"""What holds now of something that changes by itself, and how it came to be so. Pure.

Of a ``stateful`` key the newest statement is current, and nobody is damaged by having said another thing before (G18).
Nothing is dropped: the trajectory keeps every statement in order, for supersession is not deletion (G28). A favourite
in a novel, a rumour that is denied or a supposition is never current, and what was only speculated is current only
where nothing was asserted.
"""

from collections.abc import Iterable
from typing import NamedTuple

from timeline.grading.claims import Claimed, strictest_mutability


class Current(NamedTuple):
    """``values`` are those that were said last, more than one only if they were said in one moment.

    ``is_assumption`` where nothing was asserted. ``trajectory`` holds every claim that competes, oldest first; it has
    those too that have ended or lie ahead.
    """

    values: tuple[str, ...]
    is_assumption: bool
    trajectory: tuple[Claimed, ...]


def find_current(claims: Iterable[Claimed], at: int) -> Current | None:
    """What is current of one question at ``at`` (UTC milliseconds); ``None`` where newer does not replace older.

    That is so unless the strictest class of the question is ``stateful``.
    """
    trajectory = tuple(
        sorted(
            (one for one in claims if one.is_graded and one.work_class != "fiction"),
            key=lambda one: (one.claim.said_at, one.claim.id),
        )
    )
    if strictest_mutability(trajectory) != "stateful":
        return None
    holding = [one for one in trajectory if one.claim.said_at <= at and one.window[0] <= at < one.window[1]]
    asserted = [one for one in holding if one.claim.intent == "asserted"]
    said = asserted or holding
    newest = max((one.claim.said_at for one in said), default=None)
    values = sorted({one.claim.value for one in said if one.claim.said_at == newest})
    return Current(tuple(values), bool(holding) and not asserted, trajectory)
