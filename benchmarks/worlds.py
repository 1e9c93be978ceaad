"""Timelines to measure on, made through the real hook, enrollment and index."""

import json
from collections.abc import Iterable
from pathlib import Path

from benchmarks.corpus import write_corpus
from timeline import service
from timeline.paths import Locations
from timeline.simulated_host import CodexRollout, stepping_clock

HERE = Path(__file__).parent / ".corpus"
"""Where corpora and large states are kept between runs; not part of the repository."""

_START_MS = 1_790_000_000_000


def session_at(folder: Path) -> service.Session:
    """The timeline below ``folder``, made if it is not there."""
    (folder / "home" / ".codex").mkdir(parents=True, exist_ok=True)
    (folder / "project").mkdir(exist_ok=True)
    locations = Locations(folder / "state", folder / "trust", folder / "config", folder / "runtime")
    session = service.Session(locations, environment={"HOME": str(folder / "home")})
    if not locations.pins.exists():
        service.init_state(session, owner_presence="any", simulated_host=True)
    return session


def enroll(session: service.Session, project: Path, transcript: Path) -> str:
    """Prompt, receipt, consent; returns the source's reference."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": transcript.stem[-36:],
        "transcript_path": str(transcript),
        "cwd": str(project),
    }
    receipt = service.receive_prompt(session, "codex", json.dumps(event).encode())
    return service.enroll(session, str(project), receipt.id, confirmed=True).source.ref


def corpus(total_bytes: int, reviewed_share: float) -> Path:
    """A folder with rollouts of both history modes; made once."""
    folder = HERE / f"rollouts-{total_bytes >> 20}-{int(100 * reviewed_share)}"
    done = folder / "done"
    if not done.exists():
        for path, content in write_corpus(total_bytes, reviewed_share):
            target = folder / "home" / ".codex" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        done.touch()
    return folder


def transcripts(folder: Path) -> list[Path]:
    """Every transcript of a world, in a fixed order."""
    return sorted((folder / "home" / ".codex").rglob("*.jsonl"))


def enroll_all(session: service.Session, folder: Path, paths: Iterable[Path]) -> None:
    """Enroll transcripts that are there."""
    for path in paths:
        enroll(session, folder / "project", path)


_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("pytest -q", "{p} passed in 0.41s\n", "{f} failed, {p} passed in 0.52s\n"),
    (
        "cargo test",
        "test result: ok. {p} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
        "test result: FAILED. {p} passed; {f} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s\n",
    ),
    (
        "go test ./...",
        "ok  \texample.com/a\t0.010s\n",
        "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.010s\n",
    ),
    (
        "npx vitest run",
        " Test Files  1 passed (1)\n      Tests  {p} passed ({p})\n",
        " Test Files  1 failed (1)\n      Tests  {f} failed | {p} passed ({t})\n",
    ),
    (
        "python -m unittest",
        "Ran {p} tests in 0.010s\n\nOK\n",
        "Ran {t} tests in 0.010s\n\nFAILED (failures={f})\n",
    ),
    ("npm test", "{p} passed in 0.41s\n", "{f} failed, {p} passed in 0.52s\n"),
)


def big_state(sources: int, events_each: int) -> tuple[service.Session, Path]:
    """A timeline with ``sources`` sources of ``events_each`` events; made once, through the real index."""
    folder = HERE / f"state-{sources}x{events_each}"
    session = session_at(folder)
    project = folder / "project"
    have = len(service.list_sources(session, str(project))) if (folder / "done").exists() else 0
    if have != sources:
        for number in range(sources):
            path = _write_runs(folder, number, events_each)
            ref = enroll(session, project, path)
            service.index(session, str(project), source_ref=ref)
        (folder / "done").touch()
    return session, project


def _write_runs(folder: Path, number: int, events: int) -> Path:
    clock = stepping_clock(_START_MS + number * events * 1_000, 250)
    rollout = CodexRollout(clock=clock, seed=number, cwd="/w/bench")
    rollout.start_turn()
    rollout.prompt("go on")
    for run in range(events):
        command, fine, broken = _COMMANDS[(run * 7 + number) % len(_COMMANDS)]
        passed, failed = 1 + run % 50, 1 + run % 3
        fails = run % 5 == 0
        text = (broken if fails else fine).format(p=passed, f=failed, t=passed + failed)
        # Every ninth run is inconsistent: the exit code says one thing and the summary another.
        rollout.command(command, text, (1 if fails else 0) if run % 9 else (0 if fails else 1))
    rollout.end_turn("done")
    path = folder / "home" / ".codex" / rollout.relative_path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(rollout.to_bytes())
    return path
