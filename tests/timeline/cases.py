"""What the tests of the use cases begin with: a timeline with one enrolled session, and questions to ask of it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import SEGMENT_BYTES, World, consent, new_world, rollout_of, write_transcript
from timeline import answers, service
from timeline.index import IndexResult
from timeline.search import Answer, Window
from timeline.state import State, open_state
from timeline.terms import parse_query

SECRET = "MARKER-sk-9f8e7d6c5b4a"


@dataclass(frozen=True, slots=True)
class Case:
    """One session of a world: its rollout, where the host wrote it, and the reference it was enrolled under."""

    world: World
    rollout: CodexRollout
    path: Path
    ref: str

    @property
    def session(self) -> service.Session:
        """The owner's session."""
        return self.world.session

    def index(self, *, max_bytes: int = SEGMENT_BYTES, operations: int | None = None) -> IndexResult:
        """Index this source; a refusal is raised."""
        (result,) = service.index(
            self.session, self.world.root, source_ref=self.ref, max_bytes=max_bytes, operations=operations
        )
        if isinstance(result, tuple):
            raise result[1]
        return result

    def terms(self, *words: str) -> Answer:
        """Search by two terms."""
        return service.find(self.session, self.world.root, query=parse_query(words))[0]

    def window(self, at_ms: int, half_ms: int = 0) -> Answer:
        """Search by time."""
        return service.find(self.session, self.world.root, window=Window(at_ms, half_ms))[0]

    def all_answers(self) -> bytes:
        """Everything that this case says to anybody but the owner, as the bytes of JSON."""
        said = []
        for question in (lambda: self.terms("pytest", "passed"), lambda: self.terms("failed", "1")):
            answer = question()
            said.append(answers.search_answer(answer, self.view, at_ms=None, query=None))
        return json.dumps(said).encode()

    @property
    def view(self) -> "answers.LogView":
        """What the log says."""
        with self.state() as state:
            return state.view

    @contextmanager
    def state(self) -> Iterator[State]:
        """The opened state."""
        with open_state(self.world.locations, self.session.ports) as state:
            yield state


def enroll_session(
    world: World,
    *,
    runs: int = 3,
    filler_bytes: int = 0,
    seed: int = 0,
    write: Callable[[CodexRollout], bytes] = CodexRollout.to_bytes,
) -> Case:
    """Let the host write a session, prompt, and let the owner enroll it."""
    rollout = rollout_of(world, runs=runs, filler_bytes=filler_bytes, seed=seed)
    path = write_transcript(world, rollout, write(rollout))
    return Case(world, rollout, path, consent(world, rollout, path))


def enroll_rollout(world: World, rollout: CodexRollout) -> Case:
    """Enroll a rollout that the test wrote itself."""
    path = write_transcript(world, rollout)
    return Case(world, rollout, path, consent(world, rollout, path))


def indexed_session(folder: Path, *, runs: int = 3, filler_bytes: int = 0) -> Case:
    """A new world with one session, enrolled and indexed to its end."""
    case = enroll_session(new_world(folder), runs=runs, filler_bytes=filler_bytes)
    case.index()
    return case
