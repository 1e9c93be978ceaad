"""Which sources a session may be answered from: its own, and the other sessions of its task (T25, T26).

From the signed state alone: no transcript is opened, and the choice is made once, when the permit is issued.
"""

from timeline.binding import Binding, binding_of
from timeline.errors import EnrollmentUnavailableError
from timeline.guard.enrollment import Consent, decide_consent
from timeline.guard.errors import PriorSessionError
from timeline.guard.request import Request
from timeline.search import Window, best_source
from timeline.state import State
from timeline.view import EnrolledSource


def not_enrolled() -> EnrollmentUnavailableError:
    """The refusal of a session that the owner has not enrolled."""
    message = "the session is not enrolled"
    return EnrollmentUnavailableError(
        message, hint="the owner runs `timeline enroll` after the next prompt of this session"
    )


def own_source(state: State, binding: Binding) -> EnrolledSource | None:
    """The newest active enrollment of exactly this binding; its time is not looked at."""
    for source in reversed(state.view.active):
        said = source.enrollment.binding
        # Compared first as they are spelled: a whole binding is checked, and there may be hundreds.
        if (said.host, said.session) == (binding.host, binding.session) and binding_of(said) == binding:
            return source
    return None


def prior_sources(state: State, mine: Binding, *, providers: bool) -> list[EnrolledSource]:
    """Other sessions of the same private task, each under a consent of its own that holds now (T25)."""
    now_ms = state.ports.clock.now_ms()
    return [
        source
        for source in state.view.active
        if source.enrollment.binding.project == mine.project
        and is_prior(mine, binding_of(source.enrollment.binding), providers=providers)
        and decide_consent(source, now_ms) is Consent.HOLDS
    ]


def is_prior(mine: Binding, other: Binding, *, providers: bool) -> bool:
    """Same user, tenant, project, task and route; a goal that is the same or none; another session."""
    return (
        (other.user, other.tenant, other.project, other.task, other.route)
        == (mine.user, mine.tenant, mine.project, mine.task, mine.route)
        and other.goal in {None, mine.goal}
        and (other.host == mine.host or providers)
        and (other.host, other.session) != (mine.host, mine.session)
    )


def prior_source(state: State, own: EnrolledSource, request: Request) -> EnrolledSource:
    """The one prior session that is asked: the best by the index, else the one that was written last.

    Raises:
        PriorSessionError: there is none.
    """
    mine = binding_of(own.enrollment.binding)
    candidates = prior_sources(state, mine, providers=request.prior_providers)
    if not candidates:
        message = "no other session of this task"
        raise PriorSessionError(message)
    found = best_source(state, candidates, window=window_of(request), query=request.query)
    return found or max(candidates, key=lambda source: (source.newest.mtime_ns, source.index))


def window_of(request: Request) -> Window | None:
    """The time that a request asks about."""
    return None if request.at_ms is None else Window(request.at_ms, request.window_seconds * 1000)
