"""Which assertions are replaced, decided over all that is recorded: whoever reads, and whatever has expired. Pure.

That an assertion was replaced is history. It does not end when the replacing one expires (H-a), when that one is
itself replaced, or when it is nothing that a reader may see (H-b). Who asks, and when, is not known here.
"""

from collections.abc import Iterable, Mapping

from sidecars.assertion import AssertionEntry
from timeline.world.assertion import Assertion
from timeline.world.errors import WorldStateError

Bucket = tuple[str, str | None, str, str, str | None, str | None]


def bucket_of(assertion: Assertion) -> Bucket:
    """Within what an assertion may replace another (W8, W54): tenant, project, subject, predicate, portal, thread.

    Privacy is not in it: a private correction retires a shared value for everybody (H-b).
    """
    return bucket_of_entry(assertion.entry)


def bucket_of_entry(entry: AssertionEntry) -> Bucket:
    """The same of what is not recorded yet."""
    return (entry.tenant, entry.project, entry.subject, entry.predicate, entry.portal, entry.thread)


def broken_rule(newer: Assertion, older: Assertion) -> str | None:
    """The rule by which ``newer`` may not replace ``older``; nothing if it may.

    The rule names fields and no value: it can be told to whoever named ``older``.
    """
    if not newer.entry.is_established:
        return "only an established assertion may supersede"
    if bucket_of(newer) != bucket_of(older):
        return (
            "a superseded assertion must have the same tenant, project, subject, predicate, portal and thread"
        )
    if newer.entry.recorder == "import" and older.entry.recorder != "import":
        return "what is imported replaces nothing but what was imported"
    if older.order >= newer.order:
        return "a superseded assertion must be older"
    return None


def replacements(assertions: Iterable[Assertion]) -> Mapping[str, tuple[Assertion, ...]]:
    """By the id of each replaced assertion those that replace it, newest first.

    Ids that no given assertion has are passed over: they are of no consequence for those that are given.

    Raises:
        WorldStateError: an id is two assertions', or one replaces what it may not (W65, H-c).
    """
    known: dict[str, Assertion] = {}
    for assertion in assertions:
        if known.setdefault(assertion.id, assertion) != assertion:
            message = f"leaf {assertion.leaf}: field id: must be of one assertion"
            raise WorldStateError(message)
    found: dict[str, list[Assertion]] = {}
    for newer in sorted(known.values(), key=lambda assertion: assertion.order, reverse=True):
        for id_ in newer.entry.supersedes:
            if (older := known.get(id_)) is None:
                continue
            if (rule := broken_rule(newer, older)) is not None:
                message = f"leaf {newer.leaf}: field supersedes: {rule}"
                raise WorldStateError(message)
            found.setdefault(id_, []).append(newer)
    return {id_: tuple(newer) for id_, newer in found.items()}


def replaced(assertions: Iterable[Assertion]) -> Mapping[str, str]:
    """By the id of each replaced assertion the id of the newest that replaces it.

    Raises:
        WorldStateError: as ``replacements``.
    """
    return {id_: newer[0].id for id_, newer in replacements(assertions).items()}
