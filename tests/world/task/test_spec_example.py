"""The examples in docs/spec/tasks.md are real: each is made again byte for byte, and read back."""

import re
from pathlib import Path
from typing import Any

import pytest

from sidecars.digest import Digest
from sidecars.event import Outcome
from sidecars.identity import canonical_bytes, strict_loads
from tests.world.task.story import T0, TASK, Story, corrected, measured, scope_of
from timeline.world.advancing import advance
from timeline.world.assertion import Evidence, canonical_text, make_entry
from timeline.world.capsules import format_continuation_context
from timeline.world.continuation import format_continuation, parse_continuation
from timeline.world.correction import correct, parse_correction
from timeline.world.outcome_contract import format_contract, parse_contract
from timeline.world.task_context import format_task_context, task_context


def block(root: Path, kind: str) -> str:
    """Give the one fenced example of a kind."""
    text = (root / "docs" / "spec" / "tasks.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def told() -> dict[str, str]:
    """The example's story: begun, agreed on, measured and failed, corrected; with one lesson known before."""
    story = Story()
    story.record(
        make_entry(
            id="assertion:clean-cache",
            recorder="owner",
            subject="project:parser",
            predicate="lesson.cache",
            value="Suite 4 of the parser needs a clean cache",
            evidence=Evidence("explicit-user-feedback", "note:cache", Digest.of(b"note"), T0),
            scope=scope_of(route=None),
            knowledge="error-lesson",
        )
    )
    examples = {"begun": story.begin(questions=("Which tag?",)).entry.value}
    story.at(10)
    examples["contract"] = story.agree().entry.value
    story.at(100)
    failed = measured(at=story.now, outcome=Outcome.FAIL, success_count=11)
    decided = story.replace(advance(story.state(), failed))
    examples |= {"failed": decided.entry.value, "id": decided.id}
    examples["identity"] = canonical_bytes(
        {
            "schema": "timeline-continuation-id/v1",
            "taskId": TASK,
            "projectId": story.reader.project,
            "portalRef": decided.entry.portal,
            "threadRef": decided.entry.thread,
            "evidenceId": failed.evidence_id,
            "evidenceDigest": str(failed.evidence_digest),
        }
    ).decode()
    story.at(200)
    examples["context"] = canonical_text(format_task_context(task_context(story.standing(), TASK)))
    summary = parse_correction("Korrektur:  nächster Schritt: Cache leeren, dann Suite 4")
    assert summary is not None
    story.replace(correct(story.state(), corrected(summary, at=story.now)))
    examples["capsules"] = canonical_text(format_continuation_context(story.context()))
    return examples


@pytest.mark.requirement("W31", "W36", "W44", "T52", "T59")
@pytest.mark.parametrize("kind", ["begun", "contract", "failed", "identity", "context", "capsules"])
def test_the_examples_are_what_the_library_makes(root: Path, kind: str) -> None:
    """Each is the RFC 8785 text of what follows from the story."""
    assert block(root, kind) == told()[kind]


def test_the_identity_is_that_of_the_continuation(root: Path) -> None:
    """Its id is the beginning of the digest, and stands on the page."""
    digest = Digest.of(block(root, "identity").encode()).hex()
    id_ = f"assertion:timeline-continuation-{digest[:32]}"

    assert told()["id"] == id_
    assert id_ in (root / "docs" / "spec" / "tasks.md").read_text(encoding="utf-8")


def test_the_examples_are_read_back(root: Path) -> None:
    """Each value is the one spelling of what is read from it."""
    for kind in ("begun", "failed"):
        value: Any = strict_loads(block(root, kind).encode())
        assert format_continuation(parse_continuation(value)) == value
    contract: Any = strict_loads(block(root, "contract").encode())
    assert format_contract(parse_contract(contract)) == contract


def test_the_lines_of_the_page_are_corrections(root: Path) -> None:
    """And those that it calls none are none."""
    assert [parse_correction(line) for line in block(root, "corrections").split("\n")] == [
        "run suite 5",
        "Cache leeren, dann Suite 4",
    ]
    assert {parse_correction(line) for line in block(root, "no-corrections").split("\n")} == {None}


def test_every_reason_stands_on_the_page(root: Path) -> None:
    """The refusals of both decisions are named, and no other with their beginning."""
    from timeline.world import advancing, correction

    page = (root / "docs" / "spec" / "tasks.md").read_text(encoding="utf-8")
    known = {
        value
        for module in (advancing, correction)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str) and value.startswith("timeline-")
    }

    assert len(known) == 16
    assert set(re.findall(r"`(timeline-(?:continuation|outcome|correction)-[a-z-]+)`", page)) == known
