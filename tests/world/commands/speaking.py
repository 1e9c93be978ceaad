"""The owner at the command line: what he types, a second after what he typed before."""

import json
from dataclasses import dataclass
from typing import Any

from tests.capture.stage import Stage
from tests.programs import Run

SUBJECT, PREDICATE = "service:api", "deploy.branch"
ABOUT = (SUBJECT, PREDICATE)
SUGGESTION: dict[str, Any] = {
    "id": "note:branch",
    "subjectId": SUBJECT,
    "predicate": PREDICATE,
    "value": "next",
    "evidenceKind": "model-suggestion",
}
"""What a model suggests about the same."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who types commands in a stage's project."""

    stage: Stage
    run: Run

    def types(self, *arguments: str, given: bytes = b"") -> tuple[int, str, str]:
        """Run a command in the project: exit code, output, errors."""
        self.stage.world.clock.at_ms += 1000
        return self.run(*arguments, "--root", self.stage.world.root, given=given)

    def says(self, *arguments: str) -> dict[str, Any]:
        """The answer of a command as JSON; it must not fail."""
        code, out, err = self.types(*arguments, "--json")
        assert (code, err) == (0, ""), arguments
        found: dict[str, Any] = json.loads(out)
        assert found["authority"] == "context-only"
        return found

    def refused(self, *arguments: str, code: int = 2) -> str:
        """The reason for which a command is refused; nothing is recorded."""
        before = self.stage.leaves()
        ended, out, err = self.types(*arguments, "--json")
        assert (ended, out, self.stage.leaves()) == (code, "", before), arguments
        reason: str = json.loads(err)["reason"]
        return reason

    def records(self, text: str, *more: str) -> str:
        """Say that the branch is this one; the id of what was recorded."""
        found = self.says("world", "record", SUBJECT, PREDICATE, "--text", text, *more)
        (one,) = found["assertions"]
        return str(one["id"])


def ids(assertions: list[dict[str, Any]]) -> list[str]:
    """Of assertions in an answer."""
    return [str(one["id"]) for one in assertions]
