"""Whether the evidence of an assertion can still be looked at, and is still what it was. Nothing is recorded of it.

A capture's line is read again in its transcript, as for a search; the owner's statement is made again from what is
signed. Of everything else there is nothing to compare with, and that is what is said.
"""

from typing import Literal

import msgspec

from timeline.config import load_config
from timeline.errors import AccessError, ClockError, QueryError
from timeline.projection import parse_event_id
from timeline.search import Status, find_event
from timeline.service import Session, asked_sources
from timeline.state import State
from timeline.world.assertion import Assertion
from timeline.world.owner_statement import is_of_owner


class Recheck(msgspec.Struct, frozen=True):
    """What came of it; ``detail`` says in a few words what was compared, or why nothing was."""

    status: Literal["same", "different", "not-checked"]
    detail: str


def recheck_evidence(session: Session, state: State, root: str, assertion: Assertion) -> Recheck:
    """Look at the evidence again, if this project's enrolled sources or the assertion itself still hold it.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    match assertion.entry.recorder:
        case "owner":
            if is_of_owner(assertion.entry, assertion.value):
                return Recheck("same", "the statement that the owner key signed, made again")
            return Recheck("different", "the signed statement is not the one that the evidence names")
        case "capture":
            return _recheck_line(session, state, root, assertion)
        case "model":
            return Recheck("not-checked", "a model's words are not kept")
        case "import":
            return Recheck("not-checked", "what another system recorded is not here")


def _recheck_line(session: Session, state: State, root: str, assertion: Assertion) -> Recheck:
    entry = assertion.entry
    try:
        number = parse_event_id(entry.evidence_id)
        sources = asked_sources(state, session, root, None)
    except QueryError:
        return Recheck("not-checked", "the evidence is no event of a transcript")
    except (AccessError, ClockError) as error:
        return Recheck("not-checked", f"no source may be read for it ({error.reason})")
    strict = load_config(session.locations.settings).strict_formats
    found = find_event(state, sources, entry.evidence_id, number, strict_formats=strict)
    if found.status is Status.STALE:
        return Recheck("different", f"its transcript has changed ({found.reason})")
    if found.status is not Status.FOUND:
        why = f"{found.status}, {found.reason}" if found.reason else str(found.status)
        return Recheck("not-checked", f"its event is not to be had ({why})")
    if entry.evidence_digest not in {line.sha256 for line in found.cards[0].event.lines}:
        return Recheck("different", "its event rests on other lines")
    return Recheck("same", "its line was read again in the transcript, and tells the same event")
