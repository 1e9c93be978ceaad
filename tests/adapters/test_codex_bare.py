"""The oldest form of a rollout: no envelope, no times, one line of bare metadata first."""

import json
from typing import ClassVar

import pytest

from adapters.base import Verdict
from adapters.codex import CodexAdapter
from adapters.codex.bare import BARE
from adapters.errors import HeaderError, WrongHostError
from adapters.objective import Outcome, decide_objective
from adapters.record import Defect, DefectKind, HumanStatement, ToolResult, Unknown
from tests.adapters.contract import AdapterContract, read
from tests.simulators.bare_codex import METADATA, bare_rollout
from tests.simulators.hosts import pytest_output

CODEX = CodexAdapter()


def lines_of(*records: dict, end: bytes = b"\r\n") -> bytes:
    """Return records as the file of this form holds them."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + end for record in records)


def user(text: str) -> dict:
    """Return a message under role user."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class TestBare(AdapterContract):
    """What every adapter must do, on files of this form."""

    adapter = CODEX
    transcripts: ClassVar = {"bare": bare_rollout().to_bytes(), "unix": bare_rollout(end=b"\n").to_bytes()}


def test_a_run_is_read_without_times_and_without_turns() -> None:
    """The exit code stands in the output's own JSON; the prompt is what the host did not put there itself."""
    records, reader = read(CODEX, bare_rollout().to_bytes())
    found = [decide_objective(record) for record in records if isinstance(record, ToolResult)]
    assert [(one.runner, one.passed, one.failed, one.outcome) for one in found if one is not None] == [
        ("pytest", 11, 1, Outcome.FAIL),
        ("pytest", 12, 0, Outcome.PASS),
    ]
    assert all(record.at_ms is None for record in records if isinstance(record, ToolResult | HumanStatement))
    assert reader.tallies.prompts == 1
    assert reader.tallies.records["bare-metadata"] == 1
    assert reader.tallies.records["record_type=state"] > 0
    assert reader.self_check().verdict is Verdict.UNDERSTOOD
    assert CODEX.read_header(bare_rollout().to_bytes()).history_mode == BARE


@pytest.mark.parametrize(
    ("text", "prompts"),
    [
        ("make it pass", 1),
        ("<b>bold</b> wish", 1),
        ("<user_instructions>\n\nbe kind", 0),
        ("<environment_context>\n  <cwd>/w</cwd>", 0),
        ("", 1),
    ],
)
def test_injected_texts_are_no_prompts(text: str, prompts: int) -> None:
    """What the host puts in front of a conversation is not what a person typed."""
    _, reader = read(CODEX, lines_of(METADATA, user(text)))
    assert reader.tallies.prompts == prompts


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"record_type":"dream"}', DefectKind.NO_TYPE),
        (b'{"record_type":"state","record_type":"state"}', DefectKind.DUPLICATE_KEY),
        (b'{"type":"quantum"}', "quantum"),
        (b'{"type":"message","role":"user","content":"x"}', DefectKind.SHAPE),
        (b'{"type":1}', DefectKind.NO_TYPE),
        (b'{"type":"message","role":"user","content":[]', DefectKind.NOT_JSON),
        (b'{"type":"message"', DefectKind.NOT_JSON),
        (b'\xff{"type":"message"}', DefectKind.UTF8),
    ],
)
def test_a_strange_line_is_one_defect_or_one_unknown(line: bytes, found: object) -> None:
    """The next good line is read all the same."""
    records, reader = read(CODEX, lines_of(METADATA) + line + b"\r\n" + lines_of(user("go on")))
    strange = [record for record in records if isinstance(record, Defect | Unknown)]
    assert [one.kind if isinstance(one, Defect) else one.type for one in strange] == [found]
    assert reader.tallies.prompts == 1


def test_a_later_line_of_metadata_is_counted_and_changes_nothing() -> None:
    """The first line alone says whose file it is."""
    data = lines_of(METADATA, {**METADATA, "id": "another"}, user("hello"))
    _, reader = read(CODEX, data)
    assert reader.tallies.records["bare-metadata"] == 2
    assert CODEX.read_header(data).session_id == METADATA["id"]


@pytest.mark.parametrize(
    ("first", "error"),
    [
        ({"timestamp": "t"}, HeaderError),
        ({"id": "a b", "timestamp": "t"}, HeaderError),
        ({"id": "x", "timestamp": "t", "sessionId": "y"}, WrongHostError),
        ({"id": "x", "timestamp": "t", "type": "message"}, HeaderError),
    ],
)
def test_other_first_lines_are_refused(first: dict, error: type[Exception]) -> None:
    """Metadata has an id and a time, and is no record and no other host's."""
    with pytest.raises(error):
        CODEX.read_header(lines_of(first))


def test_a_summary_that_was_printed_is_no_result() -> None:
    """The same rule as in every generation: the call must run the runner."""
    rollout = bare_rollout(run=False)
    rollout.shell(["bash", "-lc", "cat old.log"], pytest_output(12), 0)
    assert not [record for record in read(CODEX, rollout.to_bytes())[0] if isinstance(record, ToolResult)]
