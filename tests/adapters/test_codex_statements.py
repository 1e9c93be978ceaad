"""What a person typed into Codex, read from its own line alone: exact, and from no copy of it (T61, T62, T63)."""

import json

import pytest

from adapters.codex import CodexAdapter
from adapters.lines import CitedLine, LineSplitter
from adapters.record import Statement
from tests.adapters.contract import check_statements, read
from tests.simulators import hosts
from tests.simulators.bare_codex import BareRollout
from tests.simulators.hosts import LEGACY, PAGINATED, CodexRollout, new_rollout, work_session

CORRECTION = "Correction: next step: Compare both archives."
IN_BOTH_MODES = pytest.mark.parametrize("mode", [LEGACY, PAGINATED])


def said_in(data: bytes) -> list[str]:
    """Every own statement of a file; of every other line it is checked that it is none."""
    adapter = CodexAdapter()
    return check_statements(adapter, adapter.read_header(data), data, read(adapter, data)[0])


def begun(mode: str) -> CodexRollout:
    """A rollout in its first turn."""
    rollout = new_rollout(mode)
    rollout.start_turn()
    return rollout


def edited(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with exactly one place of it changed."""
    assert data.count(old) == 1
    return data.replace(old, new)


@pytest.mark.requirement("T61", "T63")
@IN_BOTH_MODES
@pytest.mark.parametrize(
    "text",
    [CORRECTION, 'Korrektur: nächster Schritt: Prüfen \u2028 \\ " 🙂', " spaced ", "two\nlines", "x" * 5000],
)
def test_a_prompt_reads_exactly_as_it_was_typed(mode: str, text: str) -> None:
    """Every character of it, whatever JSON makes of it; spaces and line breaks too."""
    rollout = begun(mode)
    rollout.prompt(text)
    assert said_in(rollout.to_bytes()) == [text]


@pytest.mark.requirement("T61", "T62", "T63")
@IN_BOTH_MODES
def test_what_quotes_or_copies_a_prompt_is_no_statement(mode: str) -> None:
    """The copy for the model, the agent's answer, a tool's output, and what the host injects say nothing."""
    rollout = begun(mode)
    rollout.inject(f"<environment_context>\n{CORRECTION}\n</environment_context>")
    rollout.inject(CORRECTION)
    rollout.answer(CORRECTION)
    rollout.command("cat prompts.txt", f"{CORRECTION}\n", 0)
    rollout.end_turn(CORRECTION)
    assert said_in(rollout.to_bytes()) == []


@pytest.mark.requirement("T61", "T63")
@IN_BOTH_MODES
def test_a_copied_prompt_is_none_of_the_child(mode: str) -> None:
    """A fork copies its parent's prompts; only what was typed after it is its own."""
    child = hosts.fork(work_session(mode))
    child.start_turn()
    child.prompt("and now the child")
    assert said_in(child.to_bytes()) == ["and now the child"]


@pytest.mark.requirement("T61", "T63")
@IN_BOTH_MODES
def test_a_subagents_task_is_no_statement(mode: str) -> None:
    """What another agent wrote into a subagent's file was typed by nobody."""
    rollout = begun(mode)
    rollout.prompt(CORRECTION)
    data = rollout.to_bytes()
    assert said_in(data) == [CORRECTION]
    first, rest = data.split(b"\n", 1)
    meta = json.loads(first)
    meta["payload"] |= {"source": {"subagent": {"other": "guardian"}}, "thread_source": "subagent"}
    assert said_in(json.dumps(meta, separators=(",", ":")).encode() + b"\n" + rest) == []


@pytest.mark.requirement("T61", "T63")
def test_a_prompt_that_the_host_marks_as_injected_is_none() -> None:
    """Early versions wrote injected texts as prompts of another kind."""
    rollout = begun(LEGACY)
    rollout.prompt(CORRECTION)
    data = rollout.to_bytes()
    typed = b'{"type":"user_message",'
    assert said_in(edited(data, typed, typed + b'"kind":"plain",')) == [CORRECTION]
    assert said_in(edited(data, typed, typed + b'"kind":"environment_context",')) == []


@pytest.mark.requirement("T61", "T63")
def test_of_several_parts_the_texts_stay_apart() -> None:
    """Pictures and skills are no text; two texts never become one line."""
    rollout = begun(PAGINATED)
    rollout.prompt(CORRECTION)
    data = rollout.to_bytes()
    part = b'{"type":"text","text":"Correction: next step: Compare both archives.","text_elements":[]}'
    image = b'{"type":"image","image_url":"data:image/png;base64,AAAA","text":"not typed"}'
    skill = b'{"type":"skill","name":"x","path":"/x"}'
    assert said_in(edited(data, part, image + b"," + part + b"," + skill)) == [CORRECTION]
    assert said_in(edited(data, part, part + b"," + part)) == [f"{CORRECTION}\n{CORRECTION}"]
    assert said_in(edited(data, part, image)) == [""]


@pytest.mark.requirement("T61", "T63")
def test_the_oldest_form_has_prompts_without_a_time() -> None:
    """A user's message is a prompt unless the host put it in front; nothing says when it was typed."""
    rollout = BareRollout()
    rollout.say("user", f"<user_instructions>{CORRECTION}</user_instructions>")
    rollout.say("user", CORRECTION)
    rollout.say("assistant", CORRECTION)
    data, adapter = rollout.to_bytes(), CodexAdapter()
    assert said_in(data) == [CORRECTION]
    header = adapter.read_header(data)
    found = [adapter.read_statement(header, CitedLine(*line)) for line in LineSplitter().feed(data)]
    assert [one for one in found if one is not None] == [Statement(CORRECTION, None)]


@pytest.mark.requirement("T61", "T63")
def test_a_text_with_half_a_character_is_no_statement() -> None:
    """What is no sound text cannot be quoted."""
    rollout = begun(PAGINATED)
    rollout.prompt("CUT")
    data = rollout.to_bytes()
    assert said_in(edited(data, b'"text":"CUT","text_elements"', b'"text":"\\ud83d","text_elements"')) == []
