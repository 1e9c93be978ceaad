"""What each reviewed record type means: one function a type, and the table that says which.

A handler reads what it needs of a record first and changes the state afterwards, so that a record with a bad field
is a defect and nothing else. It returns the records that the line completes, mostly none.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from adapters.base import add_to
from adapters.calls import FAILURE, SUCCESS, call_id_of, count_outcome
from adapters.codex.bare import ITEM, METADATA, STATE, is_human
from adapters.codex.calls import (
    Asked,
    Told,
    command_of,
    command_text,
    session_of,
    told_asked,
    told_by_output,
    told_by_report,
    tool_of,
)
from adapters.codex.carriers import (
    HEADER_BYTES,
    SHELL_START,
    Ending,
    read_execution,
    read_head,
    read_item_end,
    read_output,
)
from adapters.codex.envelope import ABSENT, Envelope, is_object
from adapters.codex.header import PAGINATED, session_id_of
from adapters.codex.ledger import CODED, says
from adapters.codex.state import State
from adapters.codex.types import EVENTS, ITEMS, RECORD_TYPES, RESPONSE_ITEMS
from adapters.decode import Fields, Raw, bool_of, fields_of, int_of, refuse, text_of, utc_ms
from adapters.errors import DefectKind
from adapters.lines import Place
from adapters.names import clean_name, count_bounded, count_name
from adapters.objective.reviewed import may_run
from adapters.record import HumanStatement, Record, Unknown

Handler = Callable[[State, Place, Envelope], Sequence[Record]]
ReadAs = tuple[str, Handler | None]
"""How a reviewed type is counted, and who reads it; ``None`` where it is only counted."""

_PLAIN_ITEM = re.compile(
    rb'\{"type":"item_completed",(?:"(?:thread_id|turn_id)":"[A-Za-z0-9_.:-]{1,128}",){0,2}"item":'
    rb'\{"type":"([A-Za-z]{1,48})"(?:,"id":"([A-Za-z0-9_.:-]{1,128})")?[,}]'
)
_ITEM_HEAD: Final = 640
"""How much of an ``item_completed`` is looked at to see which item it is, in bytes: its type and four ids."""

_ITEM_COMMAND = re.compile(rb'"command":\[((?:"[^"\\]*+(?:\\.[^"\\]*+)*+",?)+)\]')
_ESCAPE = re.compile(rb"\\(?:u[0-9A-Fa-f]{4}|.)")
_COMMAND_HEAD: Final = 2_048
"""How much of an item is looked at to see its command, in bytes; a longer one is read."""

_ITEM_END: Final = 192
"""How much of its end, in bytes, to see how a command ended whose text is not wanted."""

_CODE_MODE: Final = "exec-"
"""How ids of commands begin that a script of the model ran (code mode). No field joins them to a call (hosts §2.2):
the report alone says what ran and how it ended, and what the script printed says nothing."""

_PROVIDER_TOOLS: Final = frozenset({"web_search", "image_generation", "tool_search"})
"""Tools whose calls need no id: the provider answers them."""

_PLAIN_OUTPUT = re.compile(
    rb'\{"type":"(?:function|custom_tool)_call_output",(?:"id":"[A-Za-z0-9_.:-]{1,128}",)?'
    rb'"call_id":"([A-Za-z0-9_.:-]{1,128})","output":"'
)
_OUTPUT_HEAD: Final = 384 + HEADER_BYTES
"""How much of an output's beginning is looked at where its text is not wanted, in bytes: ids and a header."""

_OUTPUT_END: Final = 128
"""How much of its end, in bytes: the metadata of ``shell`` take 60."""

# ---------------------------------------------------------------------------------------------- session and turns


def _session_meta(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    session_id = session_id_of(fields_of(record.payload))
    if session_id is None:
        refuse(DefectKind.SHAPE, "session_meta has an id")
    if session_id != state.header.session_id:
        state.origin.at_foreign_meta(int_of(record.ordinal))
        add_to(state.tallies.anomalies, "foreign-session-meta")
    elif state.tallies.records.get("session_meta"):
        add_to(state.tallies.anomalies, "repeated-session-meta")
    return ()


def _turn_context(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    state.origin.at_turn_start(text_of(fields_of(record.payload).get("turn_id")))
    return ()


def _task_started(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    turn_id = text_of(fields_of(record.payload).get("turn_id"))
    settled = state.ledger.settle_ended()
    state.origin.at_turn_start(turn_id)
    state.tallies.turns += 1
    return settled


def _task_complete(state: State, _place: Place, _record: Envelope) -> Sequence[Record]:
    state.origin.at_turn_end()
    return state.ledger.settle_ended()


def _turn_aborted(state: State, _place: Place, _record: Envelope) -> Sequence[Record]:
    # Nothing is settled: the report of an interrupted command is written behind this record.
    state.origin.at_turn_end()
    return ()


# --------------------------------------------------------------------------------------------------------- prompts


def _user_message(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    """Take a legacy prompt; ``kind`` marked injected texts in early versions."""
    fields = fields_of(record.payload)
    kind = text_of(fields.get("kind"))
    if text_of(fields.get("message")) is None:
        refuse(DefectKind.SHAPE, "a prompt has a text")
    if state.header.history_mode == PAGINATED:
        add_to(state.tallies.anomalies, "prompt-of-other-mode")
        return ()
    return _prompt(state, place, record) if kind in {None, "plain"} else ()


def _user_item(state: State, item: Fields, place: Place, record: Envelope) -> Sequence[Record]:
    """Take a paginated prompt."""
    if bytes(item.get("content", b""))[:1] != b"[":
        refuse(DefectKind.SHAPE, "a prompt has contents")
    if state.header.history_mode != PAGINATED:
        add_to(state.tallies.anomalies, "prompt-of-other-mode")
        return ()
    return _prompt(state, place, record)


def _prompt(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    """Return the prompt, unless another agent wrote it; what ended before it is settled first."""
    at_ms = utc_ms(text_of(record.timestamp))
    settled = state.ledger.settle_ended()
    if state.header.is_subagent:
        add_to(state.tallies.anomalies, "prompt-of-an-agent")
        return settled
    if state.origin.inherited:
        state.tallies.inherited_prompts += 1
    else:
        state.tallies.prompts += 1
    return [*settled, HumanStatement(place.offset, place.length, at_ms, state.origin.inherited)]


def _bare_message(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    """Take a prompt of the oldest form; answers and injected texts are counted."""
    return _prompt(state, place, record) if is_human(fields_of(record.payload)) else ()


# --------------------------------------------------------------------------------------------------- calls and ends


def _call(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    fields = fields_of(record.payload)
    tool = tool_of(fields)
    if tool in _PROVIDER_TOOLS and "call_id" not in fields:
        count_name(state.tallies.tool_calls, tool)
        return ()
    call_id = call_id_of(fields.get("call_id"))
    command = command_of(fields, tool)
    polls = session_of(fields, tool)
    inherited = state.origin.inherited
    settled: Sequence[Record] = ()
    if command in state.reviewed:
        told = told_asked(record, Asked(call_id, tool, command, None), place.offset, place.raw)
        settled = state.ledger.open(told, inherited=inherited)
    elif state.ledger.polls_something(polls):
        state.ledger.poll(told_asked(record, Asked(call_id, tool, None, polls), place.offset, place.raw))
    state.ledger.called(call_id, inherited=inherited)
    count_name(state.tallies.tool_calls, tool)
    return settled


def _output(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    unwanted = _unwanted_output(state, record.payload)
    if unwanted is None:
        fields = fields_of(record.payload)
        call_id = call_id_of(fields.get("call_id"))
        if state.ledger.is_open(call_id):
            told = told_by_output(record, fields, place.offset, place.raw)
            state.ledger.add(told)
            ending = told.ending
        else:
            ending = read_output(fields.get("output"))[0]
    else:
        call_id, ending = unwanted
    said = says(ending)
    if said & FAILURE and ending.exit_code is not None:
        count_bounded(state.tallies.failure_codes, str(ending.exit_code))
        said |= CODED
    state.ledger.resulted(call_id, said, inherited=state.origin.inherited)
    return ()


def _unwanted_output(state: State, payload: Raw) -> tuple[str, Ending] | None:
    """Return whose output this is and what its two ends state, ``None`` where the payload must be read.

    Sound for a string in the place where Codex writes it, of a call whose text is not wanted: of what stands
    between the ends nothing is used, not even by mistake.
    """
    view = memoryview(payload)
    head = view[:_OUTPUT_HEAD].tobytes()
    start = _PLAIN_OUTPUT.match(head)
    if start is None:
        return None
    call_id = start[1].decode()
    if state.ledger.is_open(call_id):
        return None
    content = head[start.end() :]
    if content.startswith(SHELL_START):
        end = view[-_OUTPUT_END - 2 :].tobytes()
        if len(view) <= _OUTPUT_HEAD + _OUTPUT_END or not end.endswith(b'"}'):
            return None
        content += end[:-2]
    return call_id, read_head(content)


def _search_output(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    fields = fields_of(record.payload)
    if "call_id" in fields:
        call_id = call_id_of(fields.get("call_id"))
        state.ledger.resulted(call_id, 0, inherited=state.origin.inherited)
    return ()


# ----------------------------------------------------------------------------------------------- structured reports


def _item_completed(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    view = memoryview(record.payload)
    plain = _PLAIN_ITEM.match(view[:_ITEM_HEAD].tobytes())
    if plain is not None and _unwanted_item(state, plain, view):
        return ()
    item = fields_of(fields_of(record.payload).get("item", b""))
    kind = text_of(item.get("type"))
    if kind is None:
        refuse(DefectKind.SHAPE, "an item has a type")
    if kind == "CommandExecution":
        return _report(state, item, place, record)
    if kind == "UserMessage":
        return _user_item(state, item, place, record)
    if kind in ITEMS:
        return ()
    name = clean_name(f"event_msg/item_completed/{kind}")
    return (Unknown(place.offset, place.length, count_name(state.tallies.unknown_types, name)),)


def _unwanted_item(state: State, plain: re.Match[bytes], view: memoryview) -> bool:
    """Take an item that carries nothing, or a command whose text is not wanted; say whether it was one.

    Such a command is read from its end alone: inside a string the quotes would be escaped, and the braces at the
    end close the item and the payload themselves.
    """
    kind, item_id = plain[1].decode(), plain[2]
    if kind != "CommandExecution":
        return kind in ITEMS and kind != "UserMessage"
    call_id = item_id.decode() if item_id is not None else ""
    known = state.ledger.knows(call_id) or (call_id.startswith(_CODE_MODE) and _runs_nothing_reviewed(view))
    if state.ledger.is_open(call_id) or not known:
        return False
    ending = read_item_end(view[-_ITEM_END:].tobytes())
    if ending is not None:
        _executed(state, call_id, ending, "CommandExecution")
    return ending is not None


def _runs_nothing_reviewed(view: memoryview) -> bool:
    """Say whether the command of an item is certainly none that is reviewed, from the words that stand in it."""
    command = _ITEM_COMMAND.search(view[:_COMMAND_HEAD].tobytes())
    return command is not None and not may_run(_ESCAPE.sub(b" ", command[1]).decode("ascii", "replace"))


def _command_end(state: State, place: Place, record: Envelope) -> Sequence[Record]:
    return _report(state, fields_of(record.payload), place, record)


def _report(state: State, report: Fields, place: Place, record: Envelope) -> Sequence[Record]:
    """Take a structured report of a command: to its open call, or, where none is known, for itself."""
    call_id = call_id_of(report.get("call_id") or report.get("id"))
    settled: Sequence[Record] = ()
    told: Told | None = None
    if state.ledger.is_open(call_id):
        told = told_by_report(record, report, place.offset, place.raw)
        state.ledger.add(told)
    elif not state.ledger.knows(call_id):
        command = command_text(report.get("command"))
        if command in state.reviewed:
            told = told_by_report(record, report, place.offset, place.raw)
            settled = state.ledger.open(told, inherited=state.origin.inherited)
    kind = "CommandExecution" if "id" in report else "exec_command_end"
    _executed(state, call_id, told.ending if told is not None else read_execution(report)[0], kind)
    return settled


def _executed(state: State, call_id: str, ending: Ending, kind: str) -> None:
    count_bounded(state.tallies.evidence, f"{kind} exit_code={ending.exit_code}")
    if not state.origin.inherited:
        count_outcome(state.tallies.executions, says(ending))
    state.ledger.reported(call_id, says(ending))


def _patch_end(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    fields = fields_of(record.payload)
    success = bool_of(fields.get("success"))
    count_bounded(state.tallies.evidence, f"patch_apply_end success={success}")
    state.ledger.reported(call_id_of(fields.get("call_id")), _says_success(success))
    return ()


def _mcp_end(state: State, _place: Place, record: Envelope) -> Sequence[Record]:
    """Take ``{"Ok":{…,"isError":…}}`` or ``{"Err":…}``."""
    fields = fields_of(record.payload)
    outcome = fields.get("result", ABSENT)
    result = fields_of(outcome) if is_object(outcome) else {}
    inner = result.get("Ok", ABSENT)
    is_error = bool_of(fields_of(inner).get("isError")) if is_object(inner) else None
    success = False if "Err" in result else None if is_error is None else not is_error
    stated = {True: "success", False: "failure", None: "None"}[success]
    count_bounded(state.tallies.evidence, f"mcp_tool_call_end {stated}")
    state.ledger.reported(call_id_of(fields.get("call_id")), _says_success(success))
    return ()


def _says_success(success: bool | None) -> int:  # a JSON boolean, not a switch
    return 0 if success is None else SUCCESS if success else FAILURE


_HANDLERS: Final[dict[str, Handler]] = {
    "session_meta": _session_meta,
    "turn_context": _turn_context,
    "event_msg/task_started": _task_started,
    "event_msg/task_complete": _task_complete,
    "event_msg/turn_aborted": _turn_aborted,
    "event_msg/user_message": _user_message,
    "event_msg/item_completed": _item_completed,
    "event_msg/exec_command_end": _command_end,
    "event_msg/patch_apply_end": _patch_end,
    "event_msg/mcp_tool_call_end": _mcp_end,
    "response_item/function_call": _call,
    "response_item/custom_tool_call": _call,
    "response_item/local_shell_call": _call,
    "response_item/tool_search_call": _call,
    "response_item/web_search_call": _call,
    "response_item/image_generation_call": _call,
    "response_item/function_call_output": _output,
    "response_item/custom_tool_call_output": _output,
    "response_item/tool_search_output": _search_output,
}

PLAIN: Final[dict[str, ReadAs]] = {name: (name, _HANDLERS.get(name)) for name in RECORD_TYPES}
"""How records are read whose ``type`` says everything."""

TYPED: Final[dict[str, dict[bytes, ReadAs]]] = {
    outer: {name.encode(): (f"{outer}/{name}", _HANDLERS.get(f"{outer}/{name}")) for name in names}
    for outer, names in (("response_item", RESPONSE_ITEMS), ("event_msg", EVENTS))
}
"""How the others are read, by ``type`` and by the payload's own type as it stands in the file."""

BARE_PLAIN: Final[dict[str, ReadAs]] = {METADATA: (METADATA, None), STATE: (STATE, None)}
BARE_TYPED: Final[dict[str, dict[bytes, ReadAs]]] = {
    ITEM: {name: (name.decode(), handler) for name, (_, handler) in TYPED[ITEM].items()}
    | {b"message": ("message", _bare_message)}
}
"""The same two tables for the oldest form, whose records are counted by their own type."""
