"""What an event measures, and under which name a contract may wait for it."""

from typing import Any

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.event import Event, EventLine, Outcome
from tests.world.task.story import ORIGIN, T0, measured
from timeline.world.advancing import label_of, measurement_of


def event(**fields: Any) -> Event:
    """A run of pytest as an event."""
    return Event(
        **{
            "id": "timeline-event:" + "d" * 32,
            "kind": "test-run",
            "lines": (EventLine("output", 0, 10, str(Digest.of(b"line"))),),
            "tool": "shell",
            "runner": "pytest",
            "binding": "direct",
            "outcome": Outcome.PASS,
            "fingerprint": "A" * 22,
            "at": T0,
            "total": 12,
            "passed": 11,
            **fields,
        }
    )


@pytest.mark.requirement("T52")
def test_an_event_is_named_by_its_label_or_else_by_its_runner() -> None:
    """Every objective result can be named in a contract; what a person typed cannot."""
    typed = Event(
        id=event().id, kind="user-message", lines=(EventLine("prompt", 0, 9, str(Digest.of(b"a"))),)
    )

    assert label_of(event(label="suite-4")) == "suite-4"
    assert label_of(event()) == "pytest"
    assert label_of(typed) is None
    for statement in (typed, msgspec.structs.replace(event(), outcome=None)):
        made = measurement_of(statement, evidence_digest=Digest.of(b"x"), observed_at=T0, origin=ORIGIN)
        assert made is None


@pytest.mark.requirement("T52", "T53")
def test_an_event_becomes_a_measurement() -> None:
    """Counts that the runner did not print stay absent."""
    digest = Digest.of(b"x")

    made = measurement_of(event(passed=None), evidence_digest=digest, observed_at=T0, origin=ORIGIN)

    assert made == measured(
        label="pytest",
        success_count=None,
        at=T0,
        evidence_id=event().id,
        evidence_digest=digest,
        origin=ORIGIN,
    )
