"""The watcher marks a touched transcript and nothing else."""

import queue
from pathlib import Path

import pytest

from timeline.watch import watch_transcripts

_WAIT_SECONDS = 20


@pytest.mark.requirement("D1", "T14")
def test_a_touched_transcript_is_marked_and_its_neighbour_is_not(tmp_path: Path) -> None:
    """Only the enrolled file is named, by whatever it was touched."""
    enrolled, neighbour = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    enrolled.write_bytes(b"1")
    marked: queue.SimpleQueue[str] = queue.SimpleQueue()

    with watch_transcripts([str(enrolled)], marked.put):
        neighbour.write_bytes(b"2")
        enrolled.write_bytes(b"12")
        first = marked.get(timeout=_WAIT_SECONDS)

    assert first == str(enrolled)
    rest = {marked.get_nowait() for _ in range(marked.qsize())}
    assert rest <= {str(enrolled)}


def test_a_folder_that_is_gone_is_not_watched(tmp_path: Path) -> None:
    """A vanished source does not stop the others from being watched."""
    there = tmp_path / "a.jsonl"
    there.write_bytes(b"1")
    marked: queue.SimpleQueue[str] = queue.SimpleQueue()

    with watch_transcripts([str(tmp_path / "gone" / "x.jsonl"), str(there)], marked.put):
        there.unlink()

        assert marked.get(timeout=_WAIT_SECONDS) == str(there)
