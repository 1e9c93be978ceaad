"""What a person typed into Claude Code, read from its own line alone: exact, and from no copy (T61, T62, T63)."""

import pytest

from adapters.claude import ClaudeAdapter
from tests.adapters.contract import check_statements, read
from tests.simulators.claude import ClaudeSession, branch, new_session, uuids_of, work_session

CORRECTION = "Correction: next step: Compare both archives."
IN_ALL_VERSIONS = pytest.mark.parametrize("version", ["2.0.14", "2.1.49", "2.1.220"])


def said_in(data: bytes, adapter: ClaudeAdapter | None = None) -> list[str]:
    """Every own statement of a file; of every other line it is checked that it is none."""
    adapter = adapter or ClaudeAdapter()
    return check_statements(adapter, adapter.read_header(data), data, read(adapter, data)[0])


def text(words: str) -> dict[str, object]:
    """A block of text."""
    return {"type": "text", "text": words}


@pytest.mark.requirement("T61", "T63")
@IN_ALL_VERSIONS
@pytest.mark.parametrize(
    "typed",
    [CORRECTION, 'Korrektur: nächster Schritt: Prüfen \u2028 \\ " 🙂', " spaced ", "two\nlines", "x" * 5000],
)
def test_a_prompt_reads_exactly_as_it_was_typed(version: str, typed: str) -> None:
    """Every character of it, as one text or as one block."""
    session = new_session(version)
    session.prompt(typed)
    session.prompt([text(typed)])
    assert said_in(session.to_bytes()) == [typed, typed]


@pytest.mark.requirement("T61", "T62", "T63")
@IN_ALL_VERSIONS
def test_what_quotes_or_copies_a_prompt_is_no_statement(version: str) -> None:
    """The agent's answer, a tool's result, what the host puts before the model, and a summary say nothing."""
    session = new_session(version)
    session.meta(CORRECTION)
    session.say(CORRECTION)
    session.command("cat prompts.txt", f"{CORRECTION}\n")
    session.prompt(CORRECTION, isSidechain=True)
    session.prompt(CORRECTION, isVisibleInTranscriptOnly=True)
    session.prompt(CORRECTION, isCompactSummary=True)
    session.prompt(CORRECTION, origin={"kind": "task-notification"})
    session.prompt(f"<command-name>/note</command-name> {CORRECTION}")
    session.prompt(f"<local-command-stdout>{CORRECTION}</local-command-stdout>")
    session.prompt(f"<system-reminder>{CORRECTION}</system-reminder>")
    session.compact()
    assert said_in(session.to_bytes()) == []


@pytest.mark.requirement("T61", "T63")
def test_the_hosts_own_blocks_are_left_out() -> None:
    """What the editor shows stands beside a person's text in the same line, and is none of it; pictures are no text."""
    session = new_session()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    session.prompt([text("<ide_opened_file>a.py</ide_opened_file>"), text(CORRECTION), image])
    session.prompt([text(CORRECTION), text(CORRECTION)])
    session.prompt([text("<ide_opened_file>a.py</ide_opened_file>")])
    assert said_in(session.to_bytes()) == [CORRECTION, f"{CORRECTION}\n{CORRECTION}"]


@pytest.mark.requirement("T61", "T63")
def test_a_copied_prompt_is_none_of_the_child() -> None:
    """A branch marks its copies; an older fork is known by the uuids of the parent's file."""
    parent = work_session()
    for marked in (True, False):
        child = branch(parent, marked=marked)
        child.prompt("and now the child")
        adapter = ClaudeAdapter(uuids_of(parent))
        assert said_in(child.to_bytes(), adapter) == ["and now the child"]


@pytest.mark.requirement("T61", "T63")
def test_a_prompt_of_another_session_in_the_file_is_none() -> None:
    """A second terminal's lines, or a copy: they name another session."""
    session = new_session()
    session.prompt("mine")
    data = session.to_bytes()
    line = data.strip(b"\n").split(b"\n")[-1]
    other = line.replace(session.session_id.encode(), b"11111111-2222-4333-8444-555555555555")
    assert other != line
    assert said_in(data + other.replace(b"mine", b"theirs") + b"\n") == ["mine"]


@pytest.mark.requirement("T61", "T63")
def test_a_subagents_task_is_no_statement() -> None:
    """In a subagent's file every line is a side chain."""
    session = new_session()
    session.common = {**session.common, "isSidechain": True, "agentId": "a1b2c3d4"}
    session.prompt(CORRECTION)
    assert said_in(session.to_bytes()) == []


def test_a_session_of_nothing_but_statements_is_read() -> None:
    """The simulator itself writes what the adapter takes for statements."""
    session: ClaudeSession = new_session()
    for number in range(3):
        session.prompt(f"note {number}")
    assert said_in(session.to_bytes()) == ["note 0", "note 1", "note 2"]
