"""What each reviewed record type means: one function a type, and the table that says which.

A handler reads what it needs of a record first and changes the state afterwards, so that a record with a bad field
is a defect and nothing else. It returns the records that the line completes, mostly none.
"""

from collections.abc import Callable, Sequence
from typing import Final

from adapters.base import Outcomes, add_to
from adapters.calls import CANCELLED, FAILURE, SUCCESS, call_id_of, count_outcome
from adapters.decode import Fields, Raw, fields_of, int_of, refuse, text_of
from adapters.errors import DefectKind
from adapters.king.calls import read_call, result_fields, time_of, told_asked, told_by_result
from adapters.king.endings import EXIT_CODES, ending_of, read_result
from adapters.king.envelope import ABSENT, is_object
from adapters.king.header import MAIN, protocol_of
from adapters.king.plain import plain_result
from adapters.king.state import State
from adapters.king.types import HUMAN, LOOP_EVENT, LOOP_EVENTS, OTHER_ORIGINS, RECORD_TYPES
from adapters.lines import Place
from adapters.names import count_name
from adapters.record import HumanStatement, Record

Handler = Callable[[State, Place, Fields], Sequence[Record]]
ReadAs = tuple[str, Handler | None]
"""How a reviewed type is counted, and who reads it; ``None`` where it is only counted."""

# ------------------------------------------------------------------------------------------------ session and turns


def _metadata(state: State, place: Place, record: Fields) -> Sequence[Record]:
    """Take the header, or what another version of the application appends when it goes on (formats §4.2)."""
    protocol, resumed = protocol_of(record), "resumed" in record
    if place.offset == 0:
        return ()
    if protocol != state.header.history_mode:
        state.other_protocol = True
        add_to(state.tallies.anomalies, "protocol-changed")
    elif not resumed:
        add_to(state.tallies.anomalies, "repeated-metadata")
    return ()


def _forked(state: State, place: Place, _record: Fields) -> Sequence[Record]:
    """Take the end of copied history; a header that did not know of it may have let something pass as own."""
    if not state.is_inherited(place.offset):
        tallies = state.tallies
        state.late_fork = state.late_fork or state.gave_own or state.ledger.gave_own
        state.ledger.inherit()
        tallies.inherited_prompts, tallies.prompts = tallies.inherited_prompts + tallies.prompts, 0
        tallies.executions = Outcomes()
    return state.ledger.settle_ended()


def _turn_prompt(state: State, _place: Place, _record: Fields) -> Sequence[Record]:
    state.tallies.turns += 1
    return state.ledger.settle_ended()


def _turn_ended(state: State, _place: Place, _record: Fields) -> Sequence[Record]:
    return state.ledger.settle_ended()


# --------------------------------------------------------------------------------------------------------- messages


def _message(state: State, place: Place, record: Fields) -> Sequence[Record]:
    """Take a message to the agent: a statement of the person only where its origin says so."""
    raw = record.get("message", ABSENT)
    if not is_object(raw):
        refuse(DefectKind.SHAPE, "a message is an object")
    message = fields_of(raw)
    role, kind = text_of(message.get("role")), _origin_of(message.get("origin"))
    content = bytes(message.get("content", b""))[:1]
    if role != "user" or kind != HUMAN:
        if role == "user" and kind not in OTHER_ORIGINS:
            add_to(state.tallies.anomalies, "message-without-origin" if kind is None else "unknown-origin")
        return ()
    if content not in {b"[", b'"'}:
        refuse(DefectKind.SHAPE, "a statement has contents")
    at_ms = time_of(record)
    speaks_to = text_of(record["agentId"]) if "agentId" in record else MAIN
    settled = state.ledger.settle_ended()
    if state.header.is_subagent or speaks_to != MAIN:
        add_to(state.tallies.anomalies, "prompt-of-an-agent")
        return settled
    inherited = state.is_inherited(place.offset)
    if inherited:
        state.tallies.inherited_prompts += 1
    else:
        state.gave_own = True
        state.tallies.prompts += 1
    return [*settled, HumanStatement(place.offset, place.length, at_ms, inherited)]


def _origin_of(raw: Raw | None) -> str | None:
    return text_of(fields_of(raw).get("kind")) if raw is not None and is_object(raw) else None


# --------------------------------------------------------------------------------------------------- calls and ends


def _call(state: State, place: Place, record: Fields) -> Sequence[Record]:
    call = read_call(fields_of(record["event"]))
    inherited = state.is_inherited(place.offset)
    if call.command in state.reviewed:
        told = told_asked(record, call, place.offset, place.raw)
        settled = state.ledger.open(told, inherited=inherited)
    else:
        settled = state.ledger.let_go(call.call_id)
    state.ledger.called(call, inherited=inherited)
    count_name(state.tallies.tool_calls, call.tool)
    return settled


def _result(state: State, place: Place, record: Fields) -> Sequence[Record]:
    plain = plain_result(record["event"])
    if plain is None or state.ledger.is_open(plain[0]):
        event = fields_of(record["event"])
        call_id = call_id_of(event.get("toolCallId"))
        result, content = read_result(result_fields(event))
        if state.ledger.is_open(call_id):
            state.ledger.add(told_by_result(record, event, (result, content), place.offset, place.raw))
    else:
        call_id, result = plain
    ending = ending_of(result, state.ledger.asked(call_id))
    state.ledger.resulted(call_id, ending, inherited=state.is_inherited(place.offset))
    return ()


# ------------------------------------------------------------------------------------------------- background tasks

_TASK_ENDS: Final = {"killed": CANCELLED, "lost": 0}
"""Statuses of a task that ended otherwise than by itself."""


def _task_end(state: State, place: Place, record: Fields) -> Sequence[Record]:
    """Count how a background task ended; no field of its output is a bounded whole, so it gives no result."""
    raw = record.get("info", ABSENT)
    info = fields_of(raw) if is_object(raw) else {}
    code, status = int_of(info.get("exitCode")), text_of(info.get("status"))
    bits = _TASK_ENDS.get(status or "")
    if bits is None:
        bits = 0 if code is None or code not in EXIT_CODES else SUCCESS if code == 0 else FAILURE
    if text_of(info.get("kind")) == "process" and not state.is_inherited(place.offset):
        count_outcome(state.tallies.executions, bits)
    return ()


_HANDLERS: Final[dict[str, Handler]] = {
    "metadata": _metadata,
    "forked": _forked,
    "turn.prompt": _turn_prompt,
    "turn.ended": _turn_ended,
    "context.append_message": _message,
    "task.terminated": _task_end,
    f"{LOOP_EVENT}/tool.call": _call,
    f"{LOOP_EVENT}/tool.result": _result,
}

PLAIN: Final[dict[bytes, ReadAs]] = {name.encode(): (name, _HANDLERS.get(name)) for name in RECORD_TYPES}
"""How records are read whose ``type``, as it stands in the file, says everything."""

LOOP: Final[dict[bytes, ReadAs]] = {
    name.encode(): (f"{LOOP_EVENT}/{name}", _HANDLERS.get(f"{LOOP_EVENT}/{name}")) for name in LOOP_EVENTS
}
"""How loop events are read, by the event's own type as it stands in the file."""

BY_HEAD: Final[dict[tuple[bytes | None, ...], ReadAs]] = {
    **{(name, None): read_as for name, read_as in PLAIN.items()},
    **{(LOOP_EVENT.encode(), name): read_as for name, read_as in LOOP.items()},
}
"""The same by what ``envelope.HEAD`` finds."""
