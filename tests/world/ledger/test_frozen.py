"""Time as the system's own clock tells it, stopped at the edges: recording, expiry, and what is read then."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from freezegun import freeze_time

from sidecars.digest import Digest
from tests.simulators.worlds import NOW_MS, World
from timeline.clock import SystemClock
from timeline.service import Session
from timeline.world import ledger
from timeline.world.assertion import Evidence, Scope, make_entry
from timeline.world.context import world_context
from timeline.world.errors import AssertionInvalidError
from timeline.world.scope import Reader

NOW = datetime.fromtimestamp(NOW_MS / 1000, UTC) + timedelta(hours=1)
ENDS = NOW + timedelta(seconds=10)
READER = Reader(tenant="local", user="ann", project="/srv/demo")


@pytest.fixture
def session(world: World) -> Session:
    """Give a session that looks at the system's clock."""
    ports = msgspec.structs.replace(world.session.ports, clock=SystemClock())
    return msgspec.structs.replace(world.session, ports=ports)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _record(session: Session, observed: datetime) -> None:
    entry = make_entry(
        id="assertion:one",
        recorder="owner",
        subject="service:api",
        predicate="deploy.branch",
        value="main",
        evidence=Evidence("explicit-user-feedback", "owner-statement:one", Digest.of(b"one"), _ms(observed)),
        scope=Scope("local", "ann", "/srv/demo"),
        expires_at=_ms(ENDS),
    )
    with session.writing() as state:
        ledger.record(state, [entry])


def _standing(session: Session) -> tuple[int, int]:
    """How many facts and stale items there are now."""
    with session.reading() as state:
        found = ledger.read_subject(state, "service:api", tenant="local", project="/srv/demo")
        context = world_context(found, READER, ledger.now_ms(state))
    return len(context.facts), len(context.stale)


@pytest.mark.requirement("W11", "W14", "W17")
@pytest.mark.parametrize(
    ("moment", "standing"),
    [
        (NOW, (1, 0)),
        (ENDS - timedelta(milliseconds=1), (1, 0)),
        (ENDS, (0, 1)),
        (ENDS + timedelta(milliseconds=1), (0, 1)),
    ],
)
def test_an_assertion_is_stale_from_the_very_millisecond_of_its_end(
    session: Session, moment: datetime, standing: tuple[int, int]
) -> None:
    """Not before, and not a moment later."""
    with freeze_time(NOW):
        _record(session, NOW)
    with freeze_time(moment):
        assert _standing(session) == standing


@pytest.mark.requirement("W2")
@pytest.mark.parametrize(("late_ms", "is_taken"), [(0, True), (1, False)])
def test_nothing_is_observed_after_it_is_recorded(session: Session, late_ms: int, *, is_taken: bool) -> None:
    """At the very millisecond it is."""
    with freeze_time(NOW):
        if is_taken:
            _record(session, NOW + timedelta(milliseconds=late_ms))
            assert _standing(session) == (1, 0)
        else:
            with pytest.raises(AssertionInvalidError, match="observedAt"):
                _record(session, NOW + timedelta(milliseconds=late_ms))
