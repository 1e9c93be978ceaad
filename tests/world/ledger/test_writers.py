"""Sixty-four writers from eight processes: nothing is lost, nothing doubled, and everybody sees one order."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.simulators.worlds import World, verdict_of
from tests.world.ledger.ledgers import about, names
from tests.world.ledger.writing import COUNT, THREADS

PROCESSES = 8
SECONDS_MAX = 100.0


@pytest.mark.requirement("W5", "W6", "W64")
def test_64_writers_of_8_processes(world: World, root: Path) -> None:
    """Each records its own, all the same one, and each process takes a step of a count (compare-and-set)."""
    command = [sys.executable, "-m", "tests.world.ledger.writing", str(world.folder), str(world.home)]
    started = [
        subprocess.Popen(
            [*command, str(number)],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for number in range(PROCESSES)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        for process in started:
            _, errors = process.communicate(timeout=SECONDS_MAX)
            assert (process.returncode, errors) == (0, "")
    finally:
        for process in started:
            process.kill()
            process.communicate()
    writers = [f"{process}-{thread}" for process in range(PROCESSES) for thread in range(THREADS)]
    for writer in writers:
        assert names(about(world, f"suite:{writer}")) == [writer]
    assert len(about(world, "suite:shared")) == 1
    counted = about(world, COUNT)
    assert [one.value for one in counted] == list(range(1, PROCESSES + 1))
    assert {one.id for one in counted} == {f"assertion:count-{process}" for process in range(PROCESSES)}
    assert [one.leaf for one in counted] == sorted(one.leaf for one in counted)
    for before, after in pairwise(counted):
        assert after.entry.supersedes == (before.id,)
    assert verdict_of(world, deep=True) == ("ok", frozenset())
