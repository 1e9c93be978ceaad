"""What became of an enrolled source: its consent, its transcript, and how much of it is indexed. Changes nothing."""

import msgspec

from sidecars.lineage import Fork
from timeline.account import count_events, judged
from timeline.errors import ClockError, EnrollmentExpiredError, SourceError, TranscriptMissingError
from timeline.guard.enrollment import check_consent
from timeline.prefix import is_prefix_pending, open_enrolled
from timeline.state import State
from timeline.understanding import Judgement
from timeline.view import EnrolledSource


class SourceStatus(msgspec.Struct, frozen=True):
    """An enrolled source as it stands now.

    ``state`` is current, grown (followed, and longer than what is indexed), stale, gone, expired, replaced, revoked, or
    unavailable where the clock went back. ``prefix_pending`` is of followed files that could be opened; ``fork`` is
    the declaration of a log that goes on from another one.
    """

    source: EnrolledSource
    state: str
    reason: str | None
    indexed: int
    events: int
    judgement: Judgement | None
    prefix_pending: bool | None = None
    fork: Fork | None = None


def find_status(state: State, source: EnrolledSource) -> SourceStatus:
    """Look at a source and its transcript.

    Raises:
        SidecarError: a sidecar is missing or not to be believed.
    """
    standing, reason, pending = str(source.standing), None, None
    indexed, events, judgement = 0, 0, None
    if source.kept:
        indexed, judgement = state.sidecar(source.entries[-1]).header.end, judged(state, source)
        events = count_events(state, source)
    if standing == "active":
        try:
            check_consent(source, state.ports.clock.now_ms())
            with open_enrolled(state, source) as opened:
                standing = "grown" if opened.now.size > opened.snapshot.size else "current"
                if source.enrollment.mode == "follow":
                    pending = is_prefix_pending(source, opened)
        except EnrollmentExpiredError:
            standing = "expired"
        except ClockError as error:
            standing, reason = "unavailable", error.reason
        except TranscriptMissingError as error:
            standing, reason = "gone", error.reason
        except SourceError as error:
            standing, reason = "stale", error.reason
    return SourceStatus(source, standing, reason, indexed, events, judgement, pending, state.view.fork)
