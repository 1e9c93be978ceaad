"""Works as files of their owner's, and what is said about them at the command line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.world.commands.speaking import Owner

SAID = "2026-06-01T00:00:00Z"
"""When the works of the tests say what they say: 80 days before the clock of the stage."""


def head(name: str, **changes: Any) -> dict[str, Any]:
    """The first line of a work of reference by an editor of its own, with a root of its own."""
    fields = {
        "schema": "timeline-claims/v1",
        "id": f"work:{name}",
        "class": "reference",
        "author": f"person:editor-{name}",
        "root": f"root:{name}",
        "saidAt": SAID,
        "domain": "biography",
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def line(name: str, value: object = 1815, **changes: Any) -> dict[str, Any]:
    """A claim about the year in which a person was born, which does not change."""
    fields = {
        "id": f"claim:{name}",
        "subject": "person:ada",
        "key": "born",
        "value": value,
        "mutability": "immutable",
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def lines_of(first: Mapping[str, Any], *claims: Mapping[str, Any]) -> bytes:
    """The file that says this."""
    return "".join(json.dumps(one) + "\n" for one in (first, *claims)).encode()


@dataclass(frozen=True, slots=True)
class Librarian:
    """The owner, who has works in a folder and takes them in."""

    owner: Owner
    folder: Path

    def write(self, first: Mapping[str, Any], *claims: Mapping[str, Any]) -> str:
        """Write a work's file, and give its name."""
        file = self.folder / f"{str(first['id']).partition(':')[2]}.jsonl"
        file.write_bytes(lines_of(first, *claims))
        return str(file)

    def takes_in(self, first: Mapping[str, Any], *claims: Mapping[str, Any]) -> dict[str, Any]:
        """Import a work."""
        return self.owner.says("world", "import-claims", self.write(first, *claims))

    def recomputes(self, *more: str) -> dict[str, Any]:
        """Compute the credibilities."""
        return self.owner.says("world", "recompute", *more)

    def scores(self) -> dict[str, int]:
        """The scores of a computation that is not recorded, by entity, of biography."""
        rows = self.recomputes("--dry-run")["rows"]
        return {row["entity"]: row["score"] for row in rows if row["domain"] == "biography"}

    def grade(self, name: str) -> dict[str, Any]:
        """The grade of a claim."""
        return self.owner.says("world", "grade", name)

    def question(self, subject: str = "person:ada", key: str = "born") -> dict[str, Any]:
        """The grades of one question."""
        (found,) = self.owner.says("world", "grades", subject, key)["questions"]
        return dict(found)


def weights(question: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Values with their weights, the heaviest first."""
    return [(one["value"], one["weight"]) for one in question["values"]]


def reasons_of(grade: Mapping[str, Any]) -> Sequence[str]:
    """Of the one source of a claim."""
    (source,) = grade["sources"]
    found: Sequence[str] = source["reasons"]
    return found
