"""Prints how the Codex files of ``../shared`` go through the whole program: `python -m tests.show_samples`.

Each file is given to the hook, enrolled, indexed, and its events are compared with ``truth.jsonl`` (for the
recognisers that exist) or ``damaged/expected.jsonl``. Ends with 1 when something disagrees.
"""

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.objective.runners import BY_RUNNER
from timeline import service
from timeline.errors import EnrollmentUnavailableError
from timeline.index import IndexResult
from timeline.paths import Locations
from timeline.state import open_state

_SHARED = Path(__file__).parents[2] / "shared"
_NEXT_ISSUE = re.compile(r"c18_|c2[1-4]")
"""Files whose remaining results need the parser of shell lists, polling, code mode or forks."""

_VERDICTS = {"pass": "pass", "fail": "fail", "unknown": "conflict"}
Run = tuple[str, int | None, int | None, int | None, str]


def main() -> int:
    """Print one line a file and a summary; return the exit code."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        stage = _Stage(Path(temporary).resolve())
        for number, (path, expected) in enumerate(_files()):
            verdict, detail = stage.judge(number, path, expected)
            counts[verdict] += 1
            print(f"{verdict:9} {path.relative_to(_SHARED)}  {detail}")
        report = service.verify_timeline(stage.session, deep=True)
    print(f"{dict(counts)}; verify --deep: {report.verdict}")
    return 1 if counts["DISAGREES"] or not report.ok else 0


def _files() -> Iterator[tuple[Path, list[Run] | None]]:
    """Every Codex file with the runs that are expected of it; ``None`` where no list of runs exists."""
    truth = {entry["file"]: entry for entry in _lines("samples/truth.jsonl")}
    for path in sorted((_SHARED / "samples/codex").glob("*.jsonl")):
        found = truth[f"codex/{path.name}"]["runner_results"]
        yield path, [_run_of_truth(run) for run in found if run["runner"] in BY_RUNNER]
    for entry in _lines("damaged/expected.jsonl"):
        if entry["provider"] == "codex":
            yield _SHARED / "damaged" / entry["file"], [_run_of_damaged(run) for run in entry["runners"]]
    for path in sorted((_SHARED / "samples/live").glob("codex-*/sessions/**/*.jsonl")):
        yield path, None


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_SHARED / name).read_text().split("\n") if line]


def _run_of_truth(run: dict[str, Any]) -> Run:
    verdict = {"success": "pass", "failure": "fail"}.get(run["outcome"], "conflict")
    return run["runner"], run["passed"], run["failed"], run["exit_code"], verdict


def _run_of_damaged(run: list[Any]) -> Run:
    _call, runner, passed, failed, _skipped, exit_code, verdict = run
    return runner, passed, failed, exit_code, verdict


class _Stage:
    """A timeline of its own, into which each file is taken as one session of one project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "home/.codex/sessions").mkdir(parents=True)
        locations = Locations(folder / "state", folder / "trust", folder / "config", folder / "runtime")
        self.session = service.Session(locations, environment={"HOME": str(folder / "home")})
        service.init_state(self.session, owner_presence="any")

    def judge(self, number: int, path: Path, expected: list[Run] | None) -> tuple[str, str]:
        """How one file went, in a word and in detail."""
        content = path.read_bytes()
        named = re.search(rb'"id":\s*"([^"]+)"', content[:20_000])
        session_id = named.group(1).decode() if named else f"none-{number}"
        project = self.folder / f"project-{number}"
        project.mkdir()
        transcript = self.folder / f"home/.codex/sessions/{number}/rollout-{session_id}.jsonl"
        transcript.parent.mkdir()
        transcript.write_bytes(content)
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session_id, "cwd": str(project)}
        event["transcript_path"] = str(transcript)
        try:
            receipt = service.receive_prompt(self.session, "codex", json.dumps(event).encode())
            service.enroll(self.session, str(project), receipt.id, confirmed=True)
            (result,) = service.index(self.session, str(project))
        except service.REFUSALS as error:
            return "refused", error.reason
        if not isinstance(result, IndexResult):
            return "refused", result[1].reason
        runs = self._runs(str(project))
        detail = f"{result.understanding}, {result.tallies.records} records, {result.tallies.defects} defects, {runs}"
        if expected is None or runs == expected:
            return ("agrees" if expected is not None else "understood"), detail
        if _NEXT_ISSUE.match(path.name) and all(run in expected for run in runs):
            return "partly", f"{detail} of {len(expected)}, the rest needs the next issue"
        return "DISAGREES", f"{detail}, expected {expected}"

    def _runs(self, project: str) -> list[Run]:
        with open_state(self.session.locations, self.session.ports) as state:
            for source in state.view.active:
                if source.enrollment.binding.project == project:
                    return [
                        (e.runner, e.passed, e.failed, e.exit_code, _VERDICTS[e.outcome.value])
                        for entry in source.kept
                        for e in state.open_sidecar(entry)[1].events
                    ]
        raise EnrollmentUnavailableError(project)


if __name__ == "__main__":
    sys.exit(main())
