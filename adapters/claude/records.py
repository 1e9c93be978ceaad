"""What each reviewed record type means: one function a type, and the table that says which.

A handler reads what it needs of a record first and changes the state afterwards, so that a record with a bad field
is a defect and nothing else. It returns the records that the line completes, mostly none.
"""

from collections.abc import Callable, Sequence
from typing import Final

from adapters.base import add_to
from adapters.claude.calls import (
    Asked,
    Told,
    asked_by,
    call_id_of,
    is_result,
    is_use,
    stated_by,
    time_of,
    told_asked,
    told_result,
)
from adapters.claude.carriers import Ending, read_end
from adapters.claude.envelope import object_of
from adapters.claude.glance import unwanted_answer, unwanted_result
from adapters.claude.ledger import INHERITED, LOOK, SHELL_CALL
from adapters.claude.people import is_said, texts_of
from adapters.claude.state import State
from adapters.claude.types import ATTACHMENTS, BLOCKS, POLLS, PROGRESS, RECORD_TYPES, SHELL, SYSTEM
from adapters.decode import Fields, content_of, fields_of, refuse, text_of
from adapters.errors import DefectKind
from adapters.lines import Place
from adapters.names import count_name
from adapters.parts import blocks_of
from adapters.record import HumanStatement, Record, Unknown

Handler = Callable[[State, Place, Fields], Sequence[Record]]
ReadAs = tuple[str, Handler | None]
"""How a reviewed type is counted, and who reads it; ``None`` where it is only counted."""

NESTED: Final = "nested tool_result blocks in agent_progress"
"""The one count of evidence that is not read: a subagent's messages, copied into the progress of its call."""

_NESTED_BLOCK: Final = b'"type":"tool_result"'
_KNOWN_BLOCKS: Final = frozenset(f'"{name}"'.encode() for name in BLOCKS)
_KIND_FIRST: Final = b'{"type":"'

# ----------------------------------------------------------------------------------------------------------- messages


def _message_blocks(record: Fields) -> tuple[Fields, list[Fields] | None, str | None]:
    """Return a record's message, its content blocks, and the name of what was not understood of it.

    The blocks are ``None`` where the content is one text. A message of another shape is one that nobody reviewed.
    """
    kind = "user" if bytes(record["type"]) == b'"user"' else "assistant"
    message = object_of(record.get("message"))
    content = message.get("content") if message is not None else None
    if message is None or content is None:
        return {}, [], f"{kind}/message"
    if content_of(content) is not None:
        return message, None, None
    blocks = blocks_of(content)
    if blocks is None:
        return message, [], f"{kind}/content"
    for block in blocks:
        if bytes(block.get("type", b"")) not in _KNOWN_BLOCKS:
            return message, blocks, f"{kind}/{text_of(block.get('type')) or ''}"
    return message, blocks, None


def _note_unknown(state: State, place: Place, name: str | None) -> list[Record]:
    if name is None:
        return []
    return [Unknown(place.offset, place.length, count_name(state.tallies.unknown_types, name))]


def _whose(state: State, record: Fields) -> tuple[bool, bool]:
    """Return whether a record is a copy, and whether it is another session's. Raises: ``TranscriptSyntaxError``."""
    return state.origin.is_copied(record), state.origin.is_of_another(record)


def _note_session(state: State, *, other: bool) -> None:
    if other:
        add_to(state.tallies.anomalies, "another-session")


# -------------------------------------------------------------------------------------------------------------- calls


def _assistant(state: State, place: Place, record: Fields) -> Sequence[Record]:
    glance = unwanted_answer(record)
    if glance is True:
        return ()
    if glance is not False:
        copied, other = _whose(state, record)
        _note_session(state, other=other)
        return _called(state, glance, None, inherited=copied or other)
    _, blocks, strange = _message_blocks(record)
    asked = [asked_by(block, part) for part, block in enumerate(blocks or ()) if is_use(block)]
    if not asked:
        return _note_unknown(state, place, strange) if strange is not None else ()
    _refuse_repeats([one.call_id for one in asked])
    copied, other = _whose(state, record)
    told = [_worth_keeping(state, record, one, place) for one in asked]
    _note_session(state, other=other)
    found = _note_unknown(state, place, strange)
    for one, kept in zip(asked, told, strict=True):
        found += _called(state, one, kept, inherited=copied or other)
    return found


def _worth_keeping(state: State, record: Fields, asked: Asked, place: Place) -> Told | None:
    """Return what a call tells if it runs a reviewed command, or looks at one."""
    if asked.call_id is None:
        return None
    if asked.command in state.reviewed or state.ledger.looks_at_something(asked.task):
        return told_asked(record, asked, place)
    return None


def _called(state: State, asked: Asked, told: Told | None, *, inherited: bool) -> Sequence[Record]:
    settled: Sequence[Record] = ()
    if told is not None and told.looks:
        state.ledger.look(told)
    elif told is not None:
        settled = state.ledger.open(told, inherited=inherited)
    bits = (INHERITED if inherited else 0) | (SHELL_CALL if asked.tool == SHELL else 0)
    state.ledger.called(asked.call_id, bits | (LOOK if asked.tool in POLLS else 0))
    count_name(state.tallies.tool_calls, asked.tool)
    return settled


def _refuse_repeats(ids: Sequence[str | None]) -> None:
    named = [call_id for call_id in ids if call_id is not None]
    if len(set(named)) != len(named):
        refuse(DefectKind.SHAPE, "a line tells of a call once")


# -------------------------------------------------------------------------------------------------- results and texts


def _user(state: State, place: Place, record: Fields) -> Sequence[Record]:
    unwanted = unwanted_result(state.ledger, record)
    if unwanted is not None:
        copied, other = _whose(state, record)
        _note_session(state, other=other)
        state.ledger.resulted(*unwanted, inherited=copied or other)
        return ()
    message, blocks, strange = _message_blocks(record)
    parts = [part for part, block in enumerate(blocks or ()) if is_result(block)]
    if parts and blocks is not None:
        return _results(state, place, record, blocks, parts, strange)
    return _text(state, place, record, message, blocks, strange)


def _results(
    state: State,
    place: Place,
    record: Fields,
    blocks: list[Fields],
    parts: Sequence[int],
    strange: str | None,
) -> Sequence[Record]:
    ids = [call_id_of(blocks[part].get("tool_use_id")) for part in parts]
    _refuse_repeats(ids)
    copied, other = _whose(state, record)
    found: list[tuple[str | None, Ending, Told | None]] = []
    for part, call_id in zip(parts, ids, strict=True):
        if call_id is not None and state.ledger.is_open(call_id):
            told = told_result(record, blocks, part, place)
            found.append((call_id, told.ending, told))
        else:
            found.append((call_id, _end_of_unwanted(state, record, blocks, part, call_id), None))
    _note_session(state, other=other)
    for call_id, ending, kept in found:
        if kept is not None:
            state.ledger.add(kept)
        state.ledger.resulted(call_id, ending, inherited=copied or other)
    return _note_unknown(state, place, strange)


def _end_of_unwanted(
    state: State, record: Fields, blocks: list[Fields], part: int, call_id: str | None
) -> Ending:
    """Return what a result states whose text is not wanted."""
    kind = state.ledger.kind_of(call_id) if call_id is not None else 0
    ending = read_end(blocks[part], stated_by(record, blocks))
    if ending.exit_code is not None and not kind & (SHELL_CALL | LOOK):
        return ending._replace(exit_code=None)  # the words of another tool are no exit code
    return ending


def _text(
    state: State,
    place: Place,
    record: Fields,
    message: Fields,
    blocks: list[Fields] | None,
    strange: str | None,
) -> Sequence[Record]:
    """Take a record with text of its own: it may be a person's, and whatever ended before it is settled."""
    texts = texts_of(message["content"], blocks) if "content" in message else []
    said = is_said(record, texts)
    at_ms = time_of(record)
    copied, other = _whose(state, record)
    repeated = said and state.ledger.is_repeat(place.raw)
    _note_session(state, other=other)
    found: list[Record] = _note_unknown(state, place, strange)
    state.asked = state.asked or bool(texts)
    if not said:
        return found
    if repeated:
        add_to(state.tallies.anomalies, "repeated-line")
        return found
    if copied:
        state.tallies.inherited_prompts += 1
    else:
        state.tallies.prompts += 1
    return [
        *state.ledger.settle_ended(),
        *found,
        HumanStatement(place.offset, place.length, at_ms, copied or other),
    ]


# ----------------------------------------------------------------------------------------------------- beside the talk


def _agent_progress(state: State, place: Place, _record: Fields) -> Sequence[Record]:
    nested = place.within.count(_NESTED_BLOCK, place.start, place.end)
    if nested:
        evidence = state.tallies.evidence
        evidence[NESTED] = evidence.get(NESTED, 0) + nested
    return ()


_HANDLERS: Final[dict[str, Handler]] = {
    "user": _user,
    "assistant": _assistant,
    "progress/agent_progress": _agent_progress,
}

_SYSTEM: Final = b'"system"'

PLAIN: Final[dict[bytes, ReadAs]] = {
    f'"{name}"'.encode(): (name, _HANDLERS.get(name)) for name in RECORD_TYPES if name != "system"
}
"""How records are read whose ``type``, as it stands in the file, says everything."""

_INNER: Final[dict[bytes, tuple[str, dict[bytes, ReadAs]]]] = {
    f'"{outer}"'.encode(): (
        field,
        {f'"{name}"'.encode(): (f"{outer}/{name}", _HANDLERS.get(f"{outer}/{name}")) for name in names},
    )
    for outer, field, names in (("progress", "data", PROGRESS), ("attachment", "attachment", ATTACHMENTS))
}
_SUBTYPES: Final[dict[bytes, ReadAs]] = {f'"{name}"'.encode(): (f"system/{name}", None) for name in SYSTEM}


def how_to_read(record: Fields) -> ReadAs | str:
    """Return how a record of this type is read, or the name of a type that was never reviewed.

    Raises: ``TranscriptSyntaxError`` where it has no type, or a reviewed type without what says its kind.
    """
    raw = bytes(record.get("type", b""))
    read_as = PLAIN.get(raw)
    if read_as is not None:
        return read_as
    if raw in _INNER:
        return _kind_of(record, raw[1:-1].decode(), *_INNER[raw])
    if raw == _SYSTEM:
        if "subtype" not in record:
            return ("system", None)
        subtype = record["subtype"]
        return _SUBTYPES.get(bytes(subtype)) or f"system/{text_of(subtype) or ''}"
    name = text_of(record.get("type"))
    if name is None:
        refuse(DefectKind.NO_TYPE, "a record has a type")
    if name in RECORD_TYPES or f'"{name}"'.encode() in _INNER:
        refuse(DefectKind.SHAPE, "a type is written without escapes")
    return name


def _kind_of(record: Fields, outer: str, field: str, names: dict[bytes, ReadAs]) -> ReadAs | str:
    """Return how a record is read whose kind stands in an object of its own, mostly as its first key."""
    raw = record.get(field, b"")
    head = memoryview(raw)[:64].tobytes()
    if head.startswith(_KIND_FIRST):
        end = head.find(b'"', len(_KIND_FIRST))
        read_as = names.get(head[len(_KIND_FIRST) - 1 : end + 1]) if end > 0 else None
        if read_as is not None:
            return read_as
    kind = text_of(fields_of(raw).get("type"))
    if kind is None:
        refuse(DefectKind.NO_TYPE, f"a record of the type {outer} has a kind")
    return names.get(f'"{kind}"'.encode()) or f"{outer}/{kind}"
