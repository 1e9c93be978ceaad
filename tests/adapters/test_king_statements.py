"""What a person typed into King or Kimi Code, read from its own line alone: exact, and from no copy (T61–T63)."""

import pytest

from adapters.king import KingAdapter
from adapters.lines import LineSplitter
from tests.adapters.contract import check_statements, read_by_line
from tests.simulators.king import Wire, work_wire

CORRECTION = "Correction: next step: Compare both archives."
IN_ALL_VERSIONS = pytest.mark.parametrize("version", ["0.12.1", "2.1.0"])


def said_in(data: bytes, *, agent: str = "main") -> list[str]:
    """Every own statement of a file; of every other line it is checked that it is none."""
    adapter = KingAdapter()
    header = adapter.of_agent(adapter.read_header(data), "s1", agent)
    header = adapter.with_forks(header, LineSplitter().feed_blocks(data))
    reader = adapter.reader(header)
    records = [record for line in LineSplitter().feed(data) for record in reader.feed(line)]
    return check_statements(adapter, header, data, records)


def new_wire(version: str = "0.12.1") -> Wire:
    """A wire that has only begun."""
    return Wire(version, clock=iter(range(1_787_220_000_000, 2**60, 137)).__next__)


@pytest.mark.requirement("T61", "T63")
@IN_ALL_VERSIONS
@pytest.mark.parametrize(
    "text",
    [CORRECTION, 'Korrektur: nächster Schritt: Prüfen \u2028 \\ " 🙂', " spaced ", "two\nlines", "x" * 5000],
)
def test_a_prompt_reads_exactly_as_it_was_typed(version: str, text: str) -> None:
    """Once, from the message, though the wire holds it two or three times; what is said in a turn too."""
    wire = new_wire(version)
    wire.prompt(text)
    wire.steer(f"{text}!")
    assert said_in(wire.to_bytes()) == [text, f"{text}!"]


@pytest.mark.requirement("T61", "T62", "T63")
@IN_ALL_VERSIONS
def test_what_quotes_or_copies_a_prompt_is_no_statement(version: str) -> None:
    """The agent's words, a tool's result, every other origin, and a summary say nothing."""
    wire = new_wire(version)
    for kind in (
        "injection",
        "skill_activation",
        "compaction_summary",
        "background_task",
        "hook_result",
        "retry",
    ):
        wire.inject(CORRECTION, kind)
    wire.message(CORRECTION, None)
    wire.message(CORRECTION, {"kind": "never-seen"})
    wire.begin_step()
    wire.say(CORRECTION)
    wire.command("cat prompts.txt", f"{CORRECTION}\n")
    wire.compact(CORRECTION)
    assert said_in(wire.to_bytes()) == []


@pytest.mark.requirement("T61", "T63")
def test_of_several_parts_the_texts_stay_apart() -> None:
    """Media are no text; two texts never become one line; a plain text is taken as it is."""
    wire = new_wire()
    part = b'{"type":"text","text":"typed"}'
    wire.message("typed", {"kind": "user"})
    data = wire.to_bytes()
    assert data.count(part) == 1
    image = b'{"type":"image_url","imageUrl":{"url":"blobref:1"},"text":"not typed"}'
    assert said_in(data.replace(part, image + b"," + part)) == ["typed"]
    assert said_in(data.replace(part, part + b"," + part)) == ["typed\ntyped"]
    assert said_in(data.replace(b"[" + part + b"]", b'"typed"')) == ["typed"]


@pytest.mark.requirement("T61", "T63")
def test_a_copied_prompt_is_none_of_the_child() -> None:
    """Everything before the fork was said in another session."""
    child = work_wire().fork()
    child.prompt("and now the child")
    assert said_in(child.to_bytes()) == ["and now the child"]


@pytest.mark.requirement("T61", "T63")
def test_an_agents_task_is_no_statement() -> None:
    """A person talks to the main agent alone."""
    wire = new_wire()
    wire.prompt(CORRECTION)
    assert said_in(wire.to_bytes()) == [CORRECTION]
    assert said_in(wire.to_bytes(), agent="agent-0") == []


def test_a_wire_without_a_path_reads_the_same() -> None:
    """The header alone names no agent: it is read as the main one's."""
    adapter, data = KingAdapter(), work_wire().to_bytes()
    records, _ = read_by_line(adapter, data)
    assert check_statements(adapter, adapter.read_header(data), data, records)
