"""Timelines to measure on, made through the real hook, enrollment and index, and kept between runs."""

import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path

from benchmarks.corpus import RUNS, START_MS, write_corpus
from timeline import service
from timeline.paths import Locations
from timeline.simulated_host import CodexRollout, stepping_clock

HERE = Path(__file__).parent / ".corpus"
"""Where corpora and large states are kept; not part of the repository. Delete it to have them made again."""

_FOLDERS = ("state", "trust", "config", "runtime")
_STEP_MS = 250


def session_at(folder: Path) -> service.Session:
    """The timeline below ``folder``, made if it is not there."""
    (folder / "home" / ".codex").mkdir(parents=True, exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    locations = Locations(*(folder / name for name in _FOLDERS))
    session = service.Session(locations, environment={"HOME": str(folder / "home")})
    if not locations.pins.exists():
        service.init_state(session, owner_presence="any", simulated_host=True)
    return session


def enroll_all(folder: Path, paths: Iterable[Path]) -> service.Session:
    """A new timeline below ``folder``, with these transcripts enrolled and nothing indexed."""
    for name in _FOLDERS:
        shutil.rmtree(folder / name, ignore_errors=True)
    session = session_at(folder)
    for path in paths:
        enroll(session, folder / "project", path)
    return session


def enroll(session: service.Session, project: Path, transcript: Path, *, follow: bool = False) -> None:
    """Prompt, receipt, consent."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": transcript.stem[-36:],
        "transcript_path": str(transcript),
        "cwd": str(project),
    }
    receipt = service.receive_prompt(session, "codex", json.dumps(event).encode())
    service.enroll(session, str(project), receipt.id, confirmed=True, follow=follow)


def corpus(total_bytes: int, reviewed_share: float) -> Path:
    """A folder with rollouts of both history modes; made once."""
    folder = HERE / f"rollouts-{total_bytes >> 20}-{int(100 * reviewed_share)}"
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for path, content in write_corpus(total_bytes, reviewed_share):
            target = folder / "home" / ".codex" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        done.touch()
    return folder


def transcripts(folder: Path) -> list[Path]:
    """Every transcript of a world, in a fixed order."""
    return sorted((folder / "home" / ".codex").rglob("*.jsonl"))


def index_all(folder: Path) -> None:
    """Index everything that is enrolled below ``folder``; the first error is raised."""
    for result in service.index(session_at(folder), str(folder / "project")):
        if isinstance(result, tuple):
            raise result[1]


def big_state(sources: int, events_each: int) -> service.Session:
    """A timeline with ``sources`` sources of ``events_each`` events; made once, through the real index."""
    folder = HERE / f"events-{sources}x{events_each}"
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for number in range(sources):
            _write_runs(folder, number, events_each)
        enroll_all(folder, transcripts(folder))
        index_all(folder)
        done.touch()
    return session_at(folder)


def span_ms(sources: int, events_each: int) -> tuple[int, int]:
    """The first and the last time of such a state, in milliseconds."""
    return START_MS, START_MS + sources * _session_ms(events_each)


def _session_ms(events: int) -> int:
    """How long a session of runs takes: three records a run, each a step of the clock, and some to spare."""
    return events * 3 * _STEP_MS + 60_000


def _write_runs(folder: Path, number: int, events: int) -> None:
    """A session of nothing but reviewed runs: every runner, directly and as a script, and doubtful ones."""
    chance = random.Random(number)
    clock = stepping_clock(START_MS + number * _session_ms(events), _STEP_MS)
    rollout = CodexRollout(clock=clock, seed=number, cwd="/w/bench")
    rollout.start_turn()
    rollout.prompt("go on")
    for run in range(events):
        command, fine, broken = RUNS[(run * 7 + number) % len(RUNS)]
        passed, failed = chance.randint(1, 60), 1 + run % 3
        fails = run % 5 == 0
        text = (broken if fails else fine).format(p=passed, f=failed, t=passed + failed)
        # Every ninth run is inconsistent: the exit code says one thing and the summary another.
        code = int(fails) if run % 9 else int(not fails)
        rollout.command("npm test" if run % 11 == 0 else command, text, code)
    rollout.end_turn("done")
    path = folder / "home" / ".codex" / rollout.relative_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rollout.to_bytes())
