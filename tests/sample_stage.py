"""Takes files of ``../shared`` through the whole program, each as one session of one project."""

import json
from pathlib import Path

from adapters.registry import ADAPTERS
from tests.sample_truth import Sample
from timeline import service
from timeline.findings import Findings, RunFound
from timeline.hosts import HOSTS
from timeline.index import IndexResult
from timeline.paths import Locations
from timeline.state import open_state


class Stage:
    """A timeline of its own, into which each file is taken as one session of one project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        locations = Locations(folder / "state", folder / "trust", folder / "config", folder / "runtime")
        self.session = service.Session(locations, environment={"HOME": str(folder / "home")})
        service.init_state(self.session, owner_presence="any")

    def differing(self, sample: Sample, number: int, found: Findings) -> str:
        """Take one file through the program; say how its stored events differ from the reported runs."""
        content = sample.path.read_bytes()
        project = self.folder / f"project-{number}"
        project.mkdir()
        session, transcript, more = self.place(sample, number, content)
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": str(project), **more}
        transcript.parent.mkdir(parents=True)
        transcript.write_bytes(content)
        try:
            receipt = service.receive_prompt(self.session, sample.host, json.dumps(event).encode())
            service.enroll(self.session, str(project), receipt.id, confirmed=True)
            (result,) = service.index(self.session, str(project))
        except service.REFUSALS as error:
            return f"refused: {error.reason}: {error}"
        if not isinstance(result, IndexResult):
            return f"refused: {result[1]}"
        reported = {_facts(run): run for run in found.runner_results if not run.inherited}
        stored = set(self.events(str(project)))
        # The report was made of the completed file where the last record has no newline.
        extra = (
            {facts for facts in reported if facts[0] >= len(content) - result.pending}
            if result.pending
            else set()
        )
        difference = (set(reported) - extra) ^ stored
        return f"{len(difference)} runs: {sorted(difference, key=str)}" if difference else ""

    def place(self, sample: Sample, number: int, content: bytes) -> tuple[str, Path, dict[str, str]]:
        """The session's id, where its host would keep the file, and what more its event says."""
        host = HOSTS[sample.host]
        root = self.folder / "home" / host.home_default / host.sessions
        named = ADAPTERS[sample.host].read_header(content[: 1 << 20]).session_id
        if host.transcript_field is None:
            session = f"session_{number:08d}"
            path = root / "wd_x" / session / "agents" / "main" / "wire.jsonl"
            root.mkdir(parents=True, exist_ok=True)
            with (root.parent / "session_index.jsonl").open("a", encoding="utf-8") as index:
                entry = {"sessionId": session, "sessionDir": str(path.parents[2])}
                index.write(json.dumps(entry) + "\n")
            return session, path, {}
        path = root / str(number) / (f"rollout-{named}.jsonl" if sample.host == "codex" else f"{named}.jsonl")
        return named, path, {host.transcript_field: str(path)}

    def events(self, project: str) -> list[tuple[object, ...]]:
        """The facts of every stored event of a project."""
        with open_state(self.session.locations, self.session.ports) as state:
            return [
                (
                    event.lines[-1].offset,
                    event.runner,
                    event.outcome.value,
                    event.passed,
                    event.failed,
                    event.skipped,
                    event.total,
                    event.exit_code,
                )
                for source in state.view.active
                if source.enrollment.binding.project == project
                for entry in source.kept
                for event in state.open_sidecar(entry)[1].events
                if event.outcome is not None
            ]


def _facts(run: RunFound) -> tuple[int, object, ...]:
    numbers = (run.passed, run.failed, run.skipped, run.total, run.exit_code)
    return (run.offset, run.runner, run.outcome, *numbers)
