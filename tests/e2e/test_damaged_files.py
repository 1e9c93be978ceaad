"""Damaged files go through the whole program as ``timeline inspect`` says, for every host that has an adapter."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.registry import ADAPTERS
from tests.sample_stage import Stage
from tests.sample_truth import SHARED, report_of, samples
from timeline import service


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is absent")
@pytest.mark.requirement("T5", "T73", "X3")
@pytest.mark.parametrize("host", sorted(ADAPTERS))
def test_stored_events_are_the_reported_runs(host: str, tmp_path: Path) -> None:
    """Hook, enrollment, index: each file that is not refused is indexed, and keeps exactly its own proved runs."""
    stage = Stage(tmp_path)
    wrong = {}
    for number, sample in enumerate(samples()):
        if sample.collection == "damaged" and sample.host == host:
            found = report_of(sample, tmp_path)
            if found.verdict != "refused":
                wrong[sample.name] = stage.differing(sample, number, found)
    assert not {name: said for name, said in wrong.items() if said}
    assert service.verify_timeline(stage.session, deep=True).ok


@pytest.mark.skipif(
    not SHARED.is_dir() or "kimi" not in ADAPTERS, reason="../shared or the adapter is absent"
)
@pytest.mark.requirement("T72")
def test_a_fork_far_behind_the_beginning_is_seen(tmp_path: Path) -> None:
    """What stands before a ``forked`` record is copied, however long it is: it proves nothing for this session."""
    (sample,) = (s for s in samples() if s.path.name == "k07_forked_copy.jsonl")
    head, mark, tail = sample.path.read_bytes().partition(b'{"type":"forked"')
    filler = b'{"type":"config.update","time":1787220000045}\n'
    path = tmp_path / "long.jsonl"
    path.write_bytes(head + filler * (3_000_000 // len(filler)) + mark + tail)
    long = replace(sample, path=path)
    found, short = report_of(long, tmp_path), report_of(sample, tmp_path)
    assert found.inherited == short.inherited
    assert short.inherited.prompts
    assert found.outcomes == short.outcomes
    assert Stage(tmp_path / "stage").differing(long, 0, found) == ""
