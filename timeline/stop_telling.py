"""What a user is told when an agent stops: which claims of its last message the session's captured runs support.

Advisory, and for the user alone: it blocks nothing, keeps no agent at work, and puts nothing before the model. The
message is read in memory and neither stored nor repeated; claims are named by kind and counts (P36). Only a session
whose own enrollment holds is compared with anything; for every other one the hook is silent, whatever there is (X12).

This is one of the channels that an agent speaks through. Which others are checked by nobody: docs/extraction.md (P4).
"""

from contextlib import suppress
from pathlib import Path

from adapters.errors import AdapterError
from timeline import dialects
from timeline.account import check_accounted
from timeline.binding import Binding
from timeline.config import Config, load_config
from timeline.dialects import HookEvent
from timeline.errors import SourceError
from timeline.evidence import stored_event
from timeline.extend import current
from timeline.guard.enrollment import Consent, decide_consent, is_following
from timeline.index import index_source
from timeline.limits import HOOK_RUNS_MAX, INDEX_BYTES_MAX
from timeline.prior import own_source
from timeline.project import project_at
from timeline.reasoning.claim_check import Seen, check_claims
from timeline.reasoning.claim_telling import tell_claims
from timeline.reasoning.extraction import Unit, extract
from timeline.service import Session
from timeline.state import State
from timeline.telling import read_completion
from timeline.terms import MESSAGE_BIT
from timeline.view import EnrolledSource
from timeline.world.scope import reader_of


def claims_at_stop(event: HookEvent) -> tuple[Unit, ...]:
    """The claims of the agent's last message; none where the host gives none, or where it is kept at work. Pure."""
    if event.event != dialects.STOP or event.message is None or event.goes_on:
        return ()
    return extract(event.message)


def told_at_stop(session: Session, event: HookEvent, units: tuple[Unit, ...]) -> bytes:
    """What the hook prints for these claims; the answer that changes nothing where there is nothing to tell.

    A followed source is read on first: a run that its host has just written is part of what was seen.

    Raises:
        TimelineError, SidecarError: configuration, state or rows are not to be believed.
    """
    silence = dialects.nothing(event.host, event.event)
    config = load_config(session.locations.settings)
    if not units or not config.check_claims:
        return silence
    binding = config.bind(host=event.host, session=event.session, project=project_at(event.cwd))
    with session.reading_local() as state:
        source = _consented(state, binding)
        if source is None:
            return silence
        size = _size_of(source)
        goes_on = size > source.newest.size and is_following(source.enrollment, state.ports.clock.now_ms())
    if goes_on:
        _read_on(session, source, config)
    with session.reading_local() as state:  # once more: the owner may have taken the consent back meanwhile
        source = _consented(state, binding)
        if source is None:
            return silence
        seen = read_seen(state, source, binding, size)
    return dialects.tell_user(event.host, event.event, tell_claims(check_claims(units, seen), seen.now_ms))


def read_seen(state: State, source: EnrolledSource, binding: Binding, size: int) -> Seen:
    """The newest objective results of one source, from its signed sidecars; ``size`` is how long its file is (bytes).

    Raises:
        StateError, SidecarError: rows, sidecars or the world model are not to be believed.
    """
    check_accounted(state, source)
    rows = state.store.events(
        "WHERE source = ? AND mask & ? = 0 ORDER BY pos DESC LIMIT ?",
        (source.index, MESSAGE_BIT, HOOK_RUNS_MAX),
    )
    events = (stored_event(state, source, row) for row in rows)
    return Seen(
        events=tuple(event for event in events if not event.is_statement),
        now_ms=state.ports.clock.now_ms(),
        is_current=source.broken is None and source.newest.size >= size,
        is_completed=read_completion(state, reader_of(binding)),
    )


def _consented(state: State, binding: Binding) -> EnrolledSource | None:
    source = own_source(state, binding)
    if source is None or decide_consent(source, state.ports.clock.now_ms()) is not Consent.HOLDS:
        return None
    return source


def _size_of(source: EnrolledSource) -> int:
    """How long the transcript is; nothing of it is read. One that is gone is never read to its end."""
    try:
        return Path(source.enrollment.source.path).stat().st_size
    except OSError:
        return source.newest.size + 1


def _read_on(session: Session, source: EnrolledSource, config: Config) -> None:
    """Read what the host has written since; what cannot be read leaves the claims unknown."""
    with session.writing() as state, suppress(SourceError, AdapterError):
        index_source(
            state,
            current(state, source),
            max_bytes=INDEX_BYTES_MAX,
            proof_bytes=0,
            strict_formats=config.strict_formats,
        )
