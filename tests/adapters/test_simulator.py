"""The simulated host writes what Codex writes, and always the same."""

import json

import pytest

from adapters.base import Verdict
from adapters.objective import decide_objective
from adapters.record import ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.simulators.hosts import CORPUS_START_MS, LEGACY, PAGINATED, codex_corpus, new_rollout, work_session


@pytest.mark.parametrize("mode", [LEGACY, PAGINATED])
def test_equal_arguments_give_equal_bytes(mode: str) -> None:
    """Seed and clock decide everything; appending in parts gives the whole file."""
    assert work_session(mode).to_bytes() == work_session(mode).to_bytes()
    assert work_session(mode, seed=1).to_bytes() != work_session(mode).to_bytes()
    rollout = new_rollout(mode)
    parts = [rollout.take()]
    for text in ("one", "two"):
        rollout.start_turn()
        rollout.prompt(text)
        rollout.end_turn(text)
        parts.append(rollout.take())
    assert rollout.take() == b""
    assert b"".join(parts) == rollout.to_bytes()


@pytest.mark.parametrize("mode", [LEGACY, PAGINATED])
def test_the_file_lies_where_codex_puts_it(mode: str) -> None:
    """Folder and name carry date and thread; every line is compact JSON in the envelope."""
    rollout = new_rollout(mode, start_ms=CORPUS_START_MS)
    assert (
        rollout.relative_path == f"sessions/2026/08/20/rollout-2026-08-20T10-00-00-{rollout.thread_id}.jsonl"
    )
    for number, line in enumerate(rollout.lines):
        record = json.loads(line)
        assert record.get("ordinal") == (number if mode == PAGINATED else None)
        assert json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() == line


@pytest.mark.parametrize("mode", [LEGACY, PAGINATED])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_corpus_has_the_share_that_was_asked_for(mode: str, share: float) -> None:
    """About that share of the bytes is in lines of reviewed commands, and all of it is understood."""
    total = reviewed = 0
    for _, data in codex_corpus(3_000_000, reviewed_share=share, mode=mode):
        records, reader = read(ADAPTERS["codex"], data)
        results = [record for record in records if isinstance(record, ToolResult)]
        assert all(decide_objective(result) is not None for result in results)
        total += len(data)
        reviewed += sum(ref.length for result in results for ref in result.lines)
        assert reader.self_check().verdict is Verdict.UNDERSTOOD
    assert total >= 3_000_000
    assert abs(share - reviewed / total) < 0.06
