"""An erasure that is interrupted: before its leaf nothing has happened, behind it the next writer finishes."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sidecars.erased import ERASED_SALT
from sidecars.leaf import leaf_hash
from tests.erasure.erased_logs import KEY, PLAN
from tests.erasure.stages import CANARIES, Stage, stopping_at, watched
from tests.simulators.crash_child import act_and_die_at, killed_while
from tests.simulators.worlds import answers_of, is_refused, leaves_of, refusal_of, verdict_of
from tests.world.ledger.ledgers import about, entry, names, record
from timeline import service
from timeline.erasing import erase
from timeline.rewriting import Erasing
from timeline.state import open_local
from timeline.tlog import Step

OK: tuple[str, frozenset[str]] = ("ok", frozenset())
REPAIRABLE: tuple[str, frozenset[str]] = ("repairable", frozenset())
COMMITTING = [step for step in Step if step is not Step.SIDECAR]


def needles_of(stage: Stage) -> tuple[str, ...]:
    """Give what must be found nowhere once everything of the plan was erased."""
    return (stage.gone.rollout.thread_id, CANARIES["old"], CANARIES["new"], *stage.gone_events())


def chosen_of(stage: Stage) -> frozenset[int]:
    """Give the leaves of the plan: a session, and an assertion with what it had replaced."""
    return stage.leaves_of(stage.gone) | stage.leaves_of_assertion("new")


def carry_out(stage: Stage, chosen: frozenset[int]) -> Callable[[service.Session], object]:
    """Give the erasure as something that a session does."""

    def act(session: service.Session) -> object:
        with session.writing() as state:
            return erase(state, plan=PLAN, leaves=chosen, suppressed=(), key=KEY)

    return act


def assert_finished(stage: Stage, chosen: frozenset[int], needles: tuple[str, ...]) -> None:
    """The next use that may write has finished it: all of it is gone, and the rest stands."""
    record(stage.world, entry("after", subject="suite:c"))
    assert verdict_of(stage.world, deep=True) == OK
    assert stage.kept.view.erased == chosen
    assert stage.holders(*needles) == []
    assert names(about(stage.world, "suite:b")) == ["kept"]
    assert not is_refused(answers_of(stage.world)["sources"])


@pytest.mark.requirement("T66", "T67", "X11", "N9", "M21")
@pytest.mark.parametrize("step", COMMITTING)
def test_a_kill_while_it_is_stated_leaves_it_stated_or_not(stage: Stage, step: Step) -> None:
    """Not stated, nothing is gone; stated, it is carried out by whoever writes next."""
    chosen, needles, before = chosen_of(stage), needles_of(stage), leaves_of(stage.world)
    assert act_and_die_at(stage.world, step, carry_out(stage, chosen))
    if step in {Step.HEAD, Step.ANCHOR, Step.DONE}:
        assert verdict_of(stage.world) == REPAIRABLE
        assert_finished(stage, chosen, needles)
    else:
        assert leaves_of(stage.world) == before
        assert verdict_of(stage.world, deep=True) == OK
        assert stage.erase(chosen) != ()
        assert_finished(stage, chosen, needles)


@pytest.mark.requirement("T66", "T67", "X11", "N9", "M21")
@pytest.mark.parametrize("step", Erasing)
def test_a_kill_while_it_is_carried_out_is_made_good_by_the_next_writer(stage: Stage, step: Erasing) -> None:
    """At each of its steps, and once more while that is made good."""
    chosen, needles = chosen_of(stage), needles_of(stage)
    assert killed_while(watched, stage.world, step, carry_out(stage, chosen))
    assert verdict_of(stage.world) == (OK if step is Erasing.DONE else REPAIRABLE)
    assert names(about(stage.world)) == []
    for later in Erasing:
        killed_while(watched, stage.world, later, carry_out(stage, chosen))
    assert_finished(stage, chosen, needles)


def test_who_only_asks_is_answered_from_what_is_left(stage: Stage) -> None:
    """A search that meets an erasure which was stated only, carries it out before it answers."""
    chosen, needles = chosen_of(stage), needles_of(stage)
    assert act_and_die_at(stage.world, Step.DONE, carry_out(stage, chosen))
    assert stage.kept.terms("pytest", "13").cards == ()
    assert verdict_of(stage.world) == OK
    assert stage.holders(*needles) == []


def test_what_is_stated_is_in_no_view_although_its_bytes_are_there(stage: Stage) -> None:
    """Who looks at a timeline on which a repair is due sees it as it will be."""
    chosen = chosen_of(stage)
    with pytest.raises(InterruptedError):
        stage.erase(chosen, watch=stopping_at(Erasing.ROWS))
    session = stage.world.session
    with open_local(session.locations, session.ports) as state:
        assert not state.consistent
        assert state.reading.due == tuple(sorted(chosen))
        assert [source.enrollment.source.ref for source in state.view.sources] == [stage.kept.ref]
        assert state.view.assertions.count == 1


def test_a_second_writer_waits_for_the_erasure(stage: Stage) -> None:
    """While one carries it out, another is told that the state is in use."""
    chosen = chosen_of(stage)
    said: list[str | None] = []

    def ask(step: Erasing) -> None:
        if step is Erasing.FILES:
            said.append(refusal_of(lambda: stage.erase([], plan=PLAN)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeline.lock.hold_writer_lock.__wrapped__.__kwdefaults__", {"wait_seconds": 0.0})
        stage.erase(chosen, watch=ask)
    assert said == ["state-busy"]


# -- who can write the database --------------------------------------------------------------------------------


def by_hand(stage: Stage, *rows: tuple[bytes, bytes, int]) -> None:
    """Write salt and envelope of leaves over what stands there."""
    with closing(sqlite3.connect(stage.world.locations.database, isolation_level=None)) as database:
        database.executemany("UPDATE leaf SET salt = ?, envelope = ? WHERE idx = ?", rows)


@pytest.mark.requirement("M20", "P35")
def test_a_leaf_that_somebody_takes_out_is_an_alarm(stage: Stage) -> None:
    """Whatever it said: without the owner's word nothing is missing from a log unnoticed."""
    rows = leaves_of(stage.world)
    for index, salt, envelope in rows:
        by_hand(stage, (ERASED_SALT, leaf_hash(salt, envelope), index))
        verdict, reasons = verdict_of(stage.world)
        assert verdict == "refused"
        assert reasons <= {"erasure-unstated", "broken-link", "unknown-key"}, index
        assert is_refused(answers_of(stage.world)["pytest passed"])
        assert refusal_of(lambda: record(stage.world, entry("x"))) in reasons
        by_hand(stage, (salt, envelope, index))
    assert verdict_of(stage.world, deep=True) == OK


@pytest.mark.requirement("M20", "X11")
def test_bytes_that_somebody_puts_back_are_erased_again(stage: Stage) -> None:
    """They are signed and fit; nobody is answered from them, and the next writer takes them out."""
    chosen, needles, before = chosen_of(stage), needles_of(stage), leaves_of(stage.world)
    stage.erase(chosen)
    by_hand(stage, *((salt, envelope, index) for index, salt, envelope in before if index in chosen))
    assert verdict_of(stage.world) == REPAIRABLE
    assert names(about(stage.world)) == []
    assert verdict_of(stage.world, deep=True) == OK
    assert stage.holders(*needles) == []


def test_sidecars_that_went_alone_and_are_put_back_are_erased_again(stage: Stage) -> None:
    """Although newer ones stand in their places: two of one segment would else be a contradiction."""
    with stage.gone.state() as state:
        (source,) = [s for s in state.view.sources if s.enrollment.source.ref == stage.gone.ref]
    before = leaves_of(stage.world)
    stage.erase(source.leaves)
    stage.gone.index()
    by_hand(stage, *((salt, envelope, index) for index, salt, envelope in before if index in source.leaves))
    assert verdict_of(stage.world) == REPAIRABLE
    stage.gone.index()
    assert verdict_of(stage.world, deep=True) == OK


def test_an_older_database_in_place_of_the_erased_one_is_refused(stage: Stage, tmp_path: Path) -> None:
    """It lacks the erasure: head and anchor are ahead of it."""
    shutil.copytree(stage.world.locations.state, tmp_path / "state")
    stage.erase(chosen_of(stage))
    shutil.copy2(tmp_path / "state" / "state.db", stage.world.locations.database)
    verdict, reasons = verdict_of(stage.world)
    assert verdict == "refused"
    assert reasons == {"state-behind-head"}
