"""A bounded number of crashes, faults, races and kills; ``python -m tests.faults`` runs them all.

The interposer counts only in a process that started with it, so each part runs in a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.__main__ import FLOOR, below_floor
from tests.faults.controls import CONTROLS
from tests.faults.interposer import missing, preloaded_environment
from tests.services import skip_without

ROOT = Path(__file__).resolve().parents[2]


def needs_interposer() -> None:
    """Skip where it cannot be made."""
    if sys.platform != "linux":
        pytest.skip("the interposer needs Linux")
    lacking = missing()
    if lacking is not None:
        skip_without(lacking)


def run(part: str) -> dict[str, Any]:
    """Give what one part found in a bounded number of runs."""
    needs_interposer()
    command = [sys.executable, "-m", "tests.faults", part, "--sample", "--json"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, encoding="utf-8")
    assert result.stdout, result.stderr
    found = json.loads(result.stdout)[part]
    assert found["failures"] == []
    assert result.returncode == 0
    return found


@pytest.mark.requirement("T66", "T67", "D3")
def test_a_crash_at_any_call_leaves_the_old_state_the_new_one_or_one_repair() -> None:
    """What was not synced is lost, torn or reordered; nothing promised is lost, and each life goes on."""
    found = run("crashes")
    assert found["timeline"]["states"] >= 300
    assert {"old", "new", "repaired"} < set(found["timeline"]["outcomes"])
    assert found["witness"]["states"] >= 50
    assert {"old", "new"} < set(found["witness"]["outcomes"])


@pytest.mark.requirement("T66", "T67", "T69")
def test_a_call_that_fails_gives_an_error_of_ours_and_loses_nothing() -> None:
    """Python's calls and SQLite's: each kind about each kind of file, refused, done and refused, or short."""
    found = run("errors")
    assert found["total"]["runs"] >= 500
    assert {"state-unwritable", "unsafe-file", "done"} < set(found["index"]["reasons"])


@pytest.mark.requirement("T66", "T67")
def test_a_process_that_stalls_at_any_call_lets_no_second_history_in() -> None:
    """A commit or a submission is stopped in its middle while another one is made; also where no lock holds."""
    found = run("races")
    assert found["writers"]["stops"] == 12
    assert any("state-busy" in outcome for outcome in found["writers"]["outcomes"])
    free = found["writers whom no lock keeps apart"]["outcomes"]
    assert any(outcome.startswith("state-busy, done") for outcome in free), (
        "the commit's own condition was not met"
    )
    assert found["submissions"]["stops"] == 8


@pytest.mark.requirement("T66", "T67")
def test_processes_that_are_killed_together_leave_one_history() -> None:
    """Two writers and a reader, two submissions: SIGKILL at calls drawn by lot, SQLite's among them."""
    found = run("kills")
    assert found["writers and readers"]["stops"] >= 12
    assert found["submissions"]["stops"] >= 10


def test_each_weakened_program_is_found_out() -> None:
    """A missing sync or a wrong order shows: the simulator is itself a thing that can be wrong."""
    found = run("controls")
    assert all(found[name]["found out by"] for name in CONTROLS)


def test_the_number_of_fault_points_has_not_fallen() -> None:
    """Calls that go past the interposer, or a story that ends early, would leave fewer."""
    points = run("count")["points"]
    floor = json.loads(FLOOR.read_text(encoding="utf-8"))
    assert set(points) == set(floor), "a new action needs its floor: python -m tests.faults count --raise"
    assert floor["in all"] >= 2500


def test_a_number_that_has_fallen_is_named() -> None:
    """More than a tenth less, or an action that nobody counts any more."""
    floor = json.loads(FLOOR.read_text(encoding="utf-8"))
    name = next(iter(floor))
    assert below_floor(floor) == []
    assert below_floor({**floor, name: floor[name] - 1}) == []
    assert len(below_floor({**floor, name: floor[name] * 8 // 10})) == 1
    assert len(below_floor({})) == len(floor)


PROGRAM = """
import sqlite3, sys
from pathlib import Path
from tests.faults.interposer import Mode, Plan, recording
from tests.faults.calls import Kind

folder = Path(sys.argv[1])

def write():
    connection = sqlite3.connect(folder / "state.db", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE t (x)"):
        connection.execute(statement)
    connection.execute("INSERT INTO t VALUES (1)")
    connection.close()

with recording(folder) as record:
    write()
    (folder / "head").write_bytes(b"12345678")
print(sorted({f"{call.kind.name} {call.role}" for call in record.calls}))
connection = sqlite3.connect(folder / "state.db", isolation_level=None)
connection.execute("SELECT * FROM t").fetchall()
with recording(folder, Plan(Mode.FAIL, 1, 28, True, frozenset({Kind.WRITE}))):
    try:
        connection.execute("INSERT INTO t VALUES (2)")
    except sqlite3.Error as error:
        print(error.sqlite_errorname)
with recording(folder, Plan(Mode.SHORT, 1, 0, False, frozenset({Kind.WRITE}))) as record:
    with open(folder / "head", "wb", buffering=0) as file:
        print(file.write(b"12345678"), [call.injected for call in record.calls])
print((folder / "head").read_bytes())
"""


def test_the_interposer_sees_the_calls_of_python_and_of_sqlite(tmp_path: Path) -> None:
    """The write-ahead log and its syncs are met, and a full disk is what SQLite says it is."""
    needs_interposer()
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        env=preloaded_environment({"PYTHONPATH": str(ROOT)}),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    seen, full, short, content = result.stdout.split("\n")[:4]
    for call in ("WRITE state.db-wal", "SYNC state.db-wal", "WRITE state.db", "SYNC state.db", "WRITE head"):
        assert f"'{call}'" in seen
    assert full == "SQLITE_FULL"
    assert short.startswith("4 ")
    assert content == "b'1234'"
