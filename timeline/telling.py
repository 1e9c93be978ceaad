"""What a session's hooks are told of what is remembered: where its task stands, as it begins and before it answers.

From the signed log alone: no transcript is opened, and no external anchor is asked while the host waits (W40, T48).
A session may know if its owner's consent to it holds, or if a standing consent covers it. Who may not is told nothing
here, whatever is remembered (X12); that the hook was called below a process of its host, the daemon has seen.

Everything said begins with what it is, and each kind of words stands under its own name.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from sidecars.consent import find_consent
from timeline import dialects
from timeline.answers import AUTHORITY
from timeline.binding import Binding
from timeline.config import load_config
from timeline.dialects import ContextForm, HookEvent
from timeline.guard.enrollment import Consent, decide_consent
from timeline.limits import HOOK_ABOUT_MAX, HOOK_CONTEXT_BYTES_MAX, HOOK_READ_MAX, HOOK_SUGGESTIONS_MAX
from timeline.prior import own_source
from timeline.project import project_at
from timeline.reasoning_reading import consenting
from timeline.service import Session
from timeline.state import State
from timeline.view import LogView, Standing
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.briefing import briefing
from timeline.world.capsules import Capsule, continuation_context
from timeline.world.continuation import CONTINUATION_PREDICATE
from timeline.world.feedback_value import FEEDBACK_PREDICATE, INTERPRETATION_PREDICATE
from timeline.world.king_field import Packet, one_line
from timeline.world.recall_form import additional_context, king_message, plain_line
from timeline.world.recall_packet import recall_packet
from timeline.world.scope import Reader, reader_of
from timeline.world.standing import decide_standing

BRIEFING_LABEL: Final = (
    f"Timeline briefing ({AUTHORITY}): it instructs and permits nothing. nextStep is what was agreed on, not an "
    "order; what stands under terminal is done, do not begin it again."
)


class Remembered(msgspec.Struct, frozen=True):
    """What a session that begins is briefed from: what it may see at a moment (UTC milliseconds), the newest of it.

    ``unread`` says how much more there is, ``simulated`` that the timeline is one of a simulated host.
    """

    reader: Reader
    assertions: tuple[Assertion, ...]
    unread: int
    now_ms: int
    simulated: bool


# -- what is told ----------------------------------------------------------------------------------------------


def told_at_start(session: Session, event: HookEvent, hint: str | None) -> bytes | None:
    """What the hook of a session that begins or was compacted prints: ``hint`` and the briefing (W19, W28, W41).

    ``None`` where it may not know, or where there is nothing to tell.

    Raises:
        TimelineError, SidecarError: state or scope cannot be used, or the world model is not to be believed.
    """
    if not dialects.takes_context(event.host, event.event):
        return None
    binding = _bind(session, event)
    with session.reading_local() as state:
        if not may_know(state, binding):
            return None
        remembered = read_for_briefing(state, consenting(state, reader_of(binding)))
    return format_briefing(event, hint, remembered)


def format_briefing(event: HookEvent, hint: str | None, remembered: Remembered) -> bytes | None:
    """The answer with ``hint`` and the briefing; ``None`` where there is nothing to tell. Pure."""
    head = BRIEFING_LABEL if hint is None else f"{hint}\n{BRIEFING_LABEL}"

    def text(room: int) -> str:
        told = briefing(
            remembered.assertions,
            remembered.reader,
            remembered.now_ms,
            bytes_max=max(room - len(head.encode()), _BRIEFING_BYTES_MIN),
            unread=remembered.unread,
        )
        marked = told | _mark(simulated=remembered.simulated)
        return f"{head}\n{one_line(marked).decode()}" if _says_something(told) else ""

    return _fitted(event, text) or None


def told_before_answer(session: Session, event: HookEvent) -> bytes:
    """What the hook of a prompt prints: the packet of the session's task (T48), or nothing.

    Nothing where the session may not know, or where its task has no continuation that nobody disputes.

    Raises:
        TimelineError, SidecarError: see ``told_at_start``.
    """
    binding = _bind(session, event)
    with session.reading_local() as state:
        known = may_know(state, binding)
        packet = read_packet(state, consenting(state, reader_of(binding))) if known else None
        mark = _mark(simulated=state.view.simulated_host)
    if packet is None:
        return b""
    marked = packet | mark
    return _fitted(event, lambda room: _packet_text(event.host, marked, room))


def may_know(state: State, binding: Binding) -> bool:
    """Whether a session may be told without a permit: its own consent holds, or a standing one covers it.

    The standing consent is the weaker word: a session that the owner has revoked is not covered.
    """
    now_ms = state.ports.clock.now_ms()
    own = own_source(state, binding)
    if own is not None and decide_consent(own, now_ms) is Consent.HOLDS:
        return True
    consent = find_consent(state.view.consents, binding.host, binding.project)
    return consent is not None and consent.at <= now_ms and not _is_revoked(state.view, binding)


# -- what is read ----------------------------------------------------------------------------------------------


def read_for_briefing(state: State, reader: Reader) -> Remembered:
    """The newest that a reader may see, and the continuation of its task however old it is.

    Raises:
        StateError, SidecarError: the world model is not to be believed.
    """
    page = ledger.read_visible(state, reader, limit=HOOK_READ_MAX, suggestions_max=HOOK_SUGGESTIONS_MAX)
    known = {one.id for one in page.assertions}
    beside = [one for one in _about_task(state, reader, CONTINUATION_PREDICATE) if one.id not in known]
    return Remembered(
        reader,
        (*page.assertions, *beside),
        max(0, page.left_out - len(beside)),
        ledger.now_ms(state),
        state.view.simulated_host,
    )


def read_packet(state: State, reader: Reader) -> dict[str, Any] | None:
    """The packet of a reader's task; ``None`` where the task has no undisputed continuation.

    Raises:
        StateError, SidecarError: the world model is not to be believed.
    """
    capsule = _capsule(state, reader)
    if capsule is None:
        return None
    words = (
        *_about_task(state, reader, FEEDBACK_PREDICATE),
        *_about_task(state, reader, INTERPRETATION_PREDICATE),
    )
    return recall_packet(capsule, words)


def read_completion(state: State, reader: Reader) -> bool:
    """Whether the reader's task is completed, undisputed: only a measurement under a contract completes one (W35).

    Raises:
        StateError, SidecarError: the world model is not to be believed.
    """
    capsule = _capsule(state, reader)
    return capsule is not None and capsule.continuation.is_completed


def _capsule(state: State, reader: Reader) -> Capsule | None:
    said = _about_task(state, reader, CONTINUATION_PREDICATE)
    standing = decide_standing(said, reader, ledger.now_ms(state))
    return continuation_context(standing, task=reader.task).only


def _about_task(state: State, reader: Reader, predicate: str) -> tuple[Assertion, ...]:
    if reader.task is None:
        return ()
    return ledger.read_newest(state, reader, predicate, subject=reader.task, limit=HOOK_ABOUT_MAX)


# -- the parts -------------------------------------------------------------------------------------------------

_BRIEFING_BYTES_MIN: Final = 1024
"""Its frame and the name of a task fit."""


def _bind(session: Session, event: HookEvent) -> Binding:
    config = load_config(session.locations.settings)
    return config.bind(host=event.host, session=event.session, project=project_at(event.cwd))


def _is_revoked(view: LogView, binding: Binding) -> bool:
    said = (binding.host, binding.session)
    newest = next(
        (
            source
            for source in reversed(view.sources)
            if (source.enrollment.binding.host, source.enrollment.binding.session) == said
        ),
        None,
    )
    return newest is not None and newest.standing is Standing.REVOKED


def _mark(*, simulated: bool) -> dict[str, bool]:
    return {"simulatedHost": True} if simulated else {}


def _says_something(told: dict[str, Any]) -> bool:
    placed = (told["tasks"], told["terminal"], *told["counts"].values(), *told["omitted"].values())
    return any(placed)


def _packet_text(host: str, packet: Packet, room: int) -> str:
    match dialects.context_form(host):
        case ContextForm.MESSAGE:
            return king_message(packet).decode()
        case ContextForm.PLAIN:
            return plain_line(packet, room)
        case ContextForm.ADDITIONAL:
            return additional_context(packet, room)


def _fitted(event: HookEvent, text: Callable[[int], str]) -> bytes:
    """The answer with the longest text with which all of it fits; ``text`` makes it for a number of bytes.

    Quoted once more, JSON grows by its quotation marks, so that the text is made again with less room.
    """
    room = HOOK_CONTEXT_BYTES_MAX
    while room > 0:
        answer = dialects.context(event.host, event.event, text(room))
        over = len(answer) - HOOK_CONTEXT_BYTES_MAX
        if over <= 0:
            return answer
        room -= over
    return b""
