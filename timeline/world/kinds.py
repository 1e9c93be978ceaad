"""What each kind of knowledge asks of the assertion that claims it (W20, W23). Pure.

The kinds are opted into; an assertion without one is never given one later (W27). What has to hold of every
assertion stands in ``sidecars.assertion``, what a continuation holds in its own module.
"""

from typing import Final

from sidecars.assertion import AssertionEntry
from timeline.world.errors import AssertionInvalidError

_THE_USERS: Final = frozenset({"user-preference", "decision"})
"""What only the user can settle: it needs the user's word, or stays a suggestion."""

_SETTLING: Final = frozenset({"explicit-user-feedback", "model-suggestion"})


def check_knowledge(entry: AssertionEntry) -> None:
    """Return only if an assertion may be of the kind of knowledge that it claims, or claims none.

    Raises:
        AssertionInvalidError: the kind needs other evidence, or a reason.
    """
    if entry.knowledge in _THE_USERS and entry.evidence_kind not in _SETTLING:
        message = "field knowledgeKind: a preference or decision rests on explicit user feedback, or is a suggestion"
        raise AssertionInvalidError(message)
    if entry.knowledge == "decision" and not (entry.reason or "").strip():
        message = "field reason: a decision must give one"
        raise AssertionInvalidError(message)
