"""docs/spec/capture.md says what the program does."""

import json
import re
from pathlib import Path

from tests.capture.stage import Stage, capture_of, captured, failing
from timeline import capture_errors
from timeline.capture_errors import CaptureError

SPEC = Path(__file__).parents[2] / "docs" / "spec" / "capture.md"


def test_every_reason_of_a_capture_is_in_the_table() -> None:
    """No more and no fewer than the classes have."""
    classes = [
        found
        for found in vars(capture_errors).values()
        if isinstance(found, type)
        and found.__module__ == capture_errors.__name__
        and found is not CaptureError
    ]
    stated = re.findall(
        r"^\| `(timeline-capture-[a-z-]+)` \|", SPEC.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(stated) == sorted(found.reason for found in classes)


def test_the_example_is_what_a_capture_answers(stage: Stage) -> None:
    """Its fields and closed words; digests and ids are those of another machine."""
    asked, answer = (
        json.loads(block)
        for block in re.findall(r"```json\n(.*?)\n```", SPEC.read_text(encoding="utf-8"), re.DOTALL)[:2]
    )
    agent = stage.session("codex", failing)

    found = captured(agent)

    assert asked.keys() == capture_of(agent).keys()
    assert answer.keys() <= found.keys()
    assert answer["captured"].keys() <= found["captured"].keys()
    made_here = {"assertionId", "value"}
    for name in answer["captured"].keys() - made_here:
        assert answer["captured"][name] == found["captured"][name]
    assert answer["captured"]["value"] == found["captured"]["value"]
    assert answer["continuationUpdate"].items() <= found["continuationUpdate"].items()
    assert [answer[name] for name in ("completionVerified", "deliveryConfirmed", "automaticRetry")] == [
        False
    ] * 3
