"""One task over several sessions of one host: a run fails, the user corrects, a run passes as agreed, and it is done.

The owner has given a standing consent, so that every session here is enrolled by its own prompt. What the model is
told at the beginning of a turn is read from what it was sent.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.hosts import conversations as talk
from tests.hosts.app_server import HOOKS_LOG
from tests.hosts.drivers import Driver
from tests.hosts.machine import FAILING, PASSING, Machine
from tests.hosts.model import Model
from tests.hosts.turn import finish, until

Step = tuple[str, str]

OBJECTIVE: Final = "Let every product be right"
STEP: Final = "Make the tests pass"
CORRECTED: Final = "mend the product only"
RECALL: Final = "agentspine.pre-answer-recall/v1"
_TOTAL: Final = str(PASSING + FAILING)


@dataclass(frozen=True, slots=True)
class TaskStory:
    """The task in one host, on the machine where the first story was told."""

    machine: Machine
    driver: Driver
    model: Model

    def tell(self) -> Iterator[Step]:
        """Each step and what it showed.

        Raises:
            AssertionError: something is not as it must be.
        """
        yield "task", self._begin()
        yield "run fails", self._fails()
        yield "user corrects", self._corrects()
        yield "run passes", self._passes()
        yield "asked", self._asked()
        yield "claim checked", self._checked()
        yield "told at last", self._told()

    def _begin(self) -> str:
        said = ("--objective", OBJECTIVE, "--next-step", STEP)
        self.machine.ask("task", "start", *said)
        self._agree()
        return f"{self._shown()['status']}, with an outcome contract"

    def _agree(self) -> None:
        counts = ("--label", "pytest", "--total", _TOTAL, "--success", _TOTAL)
        self.machine.ask("task", "contract", *counts, "--completes", "--yes")

    def _fails(self) -> str:
        session = self._turn("taska", "Go on.", talk.TESTS, talk.call("index"))
        answer = self._capture("taskb", session, "pytest failed")
        _expect(answer, "status", "captured")
        _expect(answer["continuationUpdate"], "lastVerifiedResult", "failed")
        _expect(self._shown(), "status", "active")
        return "captured; the step stays, nothing is tried again"

    def _corrects(self) -> str:
        prompt = f"Correction: next step: {CORRECTED}"
        session = self._turn("taskc", prompt, talk.call("index"))
        answer = self._capture("taskd", session, "user correction")
        _expect(answer, "status", "captured")
        step = self._shown()["nextStep"]["summary"]
        if not step.startswith(CORRECTED):
            raise AssertionError(f"the next step is not the user's: {step}")
        # The tag that chose the model's script is part of the line, and would choose it again wherever it is told.
        self.machine.ask("task", "correct", "--next-step", CORRECTED, "--yes")
        self._agree()
        return f"{CORRECTED!r} is the next step; agreed anew"

    def _passes(self) -> str:
        mend = {"sh": "sed -i 's/ \\* 2 == 5/ * 2 == 0/' test_numbers.py"}
        session = self._turn("taske", "Mend it.", mend, talk.TESTS, talk.call("index"))
        answer = self._capture("taskf", session, "pytest passed")
        _expect(answer, "status", "captured")
        _expect(answer, "completionVerified", True)
        _expect(self._shown(), "status", "completed")
        return "captured under the contract: the task is completed"

    def _asked(self) -> str:
        """What was captured may be said, with its source; what nobody measured may not."""
        measured = {"subjectId": "task:default", "predicate": "task.timeline-result.pytest"}
        self._turn(
            "taskx",
            "Report.",
            {"mcp": "timeline/world_resolve", "args": measured},
            {"mcp": "timeline/world_mediate", "args": {"text": "All 9 jest tests pass."}},
            session=self._newest(),
        )
        found, mediated = self.model.answer("taskx", 1), self.model.answer("taskx", 2)
        _expect(found, "status", "conflicted")
        (unit,) = mediated["units"]
        _expect(unit, "disposition", "blocked")
        return "two captured runs disagree, and it is said; a claim about jest is held back"

    def _checked(self) -> str:
        """The user is told what of the final message is measured, where the host says what its hooks said."""
        if not self.driver.shows_claims:
            return "nothing that this host prints shows what its hooks say"
        name, claim = "tasky", f"All {_TOTAL} pytest tests pass."
        self._turn(name, "Once more.", talk.TESTS, talk.call("index"), session=self._newest(), say=claim)
        told = self.machine.logs / HOOKS_LOG
        shown = told.read_text(encoding="utf-8") if told.exists() else ""
        if f"supported: tests passed [pytest, all, {_TOTAL} passed" not in shown:
            raise AssertionError(f"the user was not told: {shown[-800:]}")
        return "the user is told that the claim is supported"

    def _told(self) -> str:
        """A session that knows nothing is told that the task is done, by the host's own hook."""
        self._turn("taskg", "What is to be done?", {"sh": "sleep 1"})
        self._turn("taskh", "And now?", {"sh": "sleep 1"}, session=self._newest())
        heard = self.model.heard("taskh")
        if RECALL not in heard or "completed" not in heard:
            raise AssertionError("the session was not told that the task is completed")
        return "the fourth session is told that the task is completed"

    # -- turns -------------------------------------------------------------------------------------------------

    def _turn(
        self, name: str, prompt: str, *steps: talk.Step, session: Path | None = None, say: str = "Done."
    ) -> Path:
        """One turn, in a new session unless one is given, with what the agent does; the transcript of the session."""
        known = len(self._sources())
        self.model.add({name: ({"sh": "sleep 2"}, *steps, {"say": say})})
        resume = None if session is None else self.driver.session_of(session)
        turn = self.driver.start(self.machine, name, f"{prompt} [script:{name}]", resume=resume)
        if session is None:
            until("the enrollment", lambda: len(self._sources()) > known or None, (turn,))
        finish(turn, self.machine, name)
        return self._newest() if session is None else session

    def _capture(self, name: str, session: Path, query: str) -> dict[str, Any]:
        """What a capture of the one card of this query answers, in the session."""
        self._turn(f"{name}s", "Look.", talk.call("search", query=query), session=session)
        found = self.model.answer(f"{name}s", 1)
        if found.get("status") != "found":
            raise AssertionError(f"search for {query!r}: {found}")
        event = found["events"][0]["id"]
        self._turn(name, "Keep it.", talk.call("capture", query=query, eventId=event), session=session)
        return self.model.answer(name, 1)

    def _newest(self) -> Path:
        return max(self.driver.transcripts(self.machine), key=lambda path: path.stat().st_ctime_ns)

    def _sources(self) -> list[Any]:
        listed: list[Any] = json.loads(self.machine.timeline("sources", "--json"))
        return listed

    def _shown(self) -> dict[str, Any]:
        """The continuation as the owner sees it."""
        found: dict[str, Any] = self.machine.ask("task", "show")["continuation"]
        return found


def _expect(answer: Any, name: str, value: object) -> None:
    if answer.get(name) != value:
        raise AssertionError(f"{name} is not {value!r}: {str(answer)[:400]}")
