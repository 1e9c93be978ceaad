"""Random lives: what is forgotten lies in no file of ours, wherever a crash came; all else is there and verifies."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.forgetting.lives import (
    Life,
    Ticking,
    apply_and_die,
    check_gone,
    choose,
    copy_of,
    forget,
    found_in,
    live,
    size_of,
    ticked,
)
from tests.simulators.worlds import refusal_of, verdict_of
from timeline import forget_use, store
from timeline.forget_use import Named

SOUND = ("ok", frozenset[str]())


@pytest.mark.requirement("X11", "M12", "M14", "M19", "M22")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_forgotten_lies_in_no_file(tmp_path: Path, seed: int) -> None:
    """In no encoding; a second time changes nothing, and the rest verifies."""
    life = live(tmp_path, seed)
    named, gone = choose(life)
    taken, kept = life.split(gone)
    assert found_in(life.world, taken) == set(range(len(taken)))
    planned = forget_use.plan_forgetting(life.world.session, named, "redact")
    check_plan_holds_no_word(life.world.locations.forgetting, [*taken, *kept])
    applied = forget_use.apply_plan(life.world.session, planned.digest, confirmed=True)
    assert applied.is_complete
    check_gone(life, life.world, gone)
    assert verdict_of(life.world, deep=True) == SOUND
    assert forget_use.verify_plan(life.world.session, planned.digest, taken).ok
    before = size_of(life.world)
    again = forget_use.apply_plan(life.world.session, planned.digest, confirmed=True)
    assert (again.is_new, again.leaf, size_of(life.world)) == (False, applied.leaf, before)
    # What was said of the plan is what was done.
    erased = {target.leaf for target in planned.targets}
    with life.world.session.reading() as state:
        assert state.view.erased == erased


def check_plan_holds_no_word(folder: Path, words: list[bytes]) -> None:
    """Plans and journals hold indexes and digests."""
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    assert content
    assert [word for word in words if word in content] == []


@pytest.mark.requirement("M21", "X11")
@pytest.mark.parametrize("part", range(3))
def test_a_kill_at_every_step_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
) -> None:
    """The same command once more comes to the same end; in between the log is believed or repaired, never refused."""
    life = live(tmp_path, 100 + part)
    named, gone = choose(life)
    planned = forget_use.plan_forgetting(life.world.session, named, "redact")
    counting = Ticking()
    with monkeypatch.context() as patch:
        ticked(patch.setattr, counting)
        whole = copy_of(life, tmp_path / "whole")
        forget_use.apply_plan(counting.session(whole.session), planned.digest, confirmed=True)
    assert counting.count > 30
    leaves = size_of(whole)
    for step in range(part, counting.count, 3):
        world = copy_of(life, tmp_path / f"step-{step}")
        ticking = Ticking(step)
        with monkeypatch.context() as patch:
            ticked(patch.setattr, ticking)
            assert apply_and_die(world, planned.digest, ticking), step
        (status,) = forget_use.list_plans(world.session)
        assert (status.standing == "done") <= (status.report is not None)
        applied = forget_use.apply_plan(world.session, planned.digest, confirmed=True)
        assert applied.is_complete, step
        assert size_of(world) == leaves, step
        assert forget_use.list_plans(world.session)[0].standing == "done"
        check_gone(life, world, gone)
        assert verdict_of(world) == SOUND, step


@pytest.mark.requirement("M14", "M21", "M22")
def test_a_failure_at_every_step_is_told_and_gone_on_from(
    lived: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is an error or a report that says what failed; the next run comes to the end."""
    named, gone = Named(source=lived.agents[0].ref), frozenset({lived.agents[0].ref})
    counting = Ticking()
    with monkeypatch.context() as patch:
        ticked(patch.setattr, counting)
        whole = copy_of(lived, tmp_path / "whole")
        forget(whole, named, ticking=counting)
    told = set()
    for step in range(0, counting.count, 5):
        world = copy_of(lived, tmp_path / f"step-{step}")
        with monkeypatch.context() as patch:
            ticking = Ticking(fail_at=step)
            ticked(patch.setattr, ticking)
            outcome = refusal_of(lambda world=world, ticking=ticking: forget(world, named, ticking=ticking))  # type: ignore[misc]  # a default
        told.add(outcome)
        plans = forget_use.list_plans(world.session)
        assert outcome is not None or plans[0].standing in {"done", "unfinished"}, step
        applied = forget(world, named) if not plans else None
        for status in plans:
            applied = forget_use.apply_plan(world.session, status.plan, confirmed=True)
        assert applied is not None
        assert applied.is_complete, step
        check_gone(lived, world, gone)
    assert told <= {None, "state-unwritable"}
    assert "state-unwritable" in told


@pytest.mark.requirement("M14", "M21")
def test_pages_that_somebody_still_reads_are_told_and_rewritten_later(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process in the midst of an older moment keeps the write-ahead log: the report says so."""
    impatient = tuple(
        "PRAGMA busy_timeout = 10" if "busy_timeout" in pragma else pragma for pragma in store._PRAGMAS
    )
    monkeypatch.setattr("timeline.store._PRAGMAS", impatient)
    named, gone = Named(source=life.agents[0].ref), frozenset({life.agents[0].ref})
    with closing(sqlite3.connect(life.world.locations.database, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM leaf").fetchall()
        applied = forget(life.world, named)
        assert [(item.target, item.why) for item in applied.report.failed] == [("database", "pages-retained")]
        assert not forget_use.verify_plan(life.world.session, applied.plan).ok
    again = forget_use.apply_plan(life.world.session, applied.plan, confirmed=True)
    assert again.is_complete
    assert again.is_new
    check_gone(life, life.world, gone)


@pytest.mark.requirement("X11")
def test_the_search_finds_what_was_not_forgotten(tmp_path: Path) -> None:
    """Else finding nothing would say nothing: of a life of canaries it finds each one."""
    life = live(tmp_path, 3)
    named, gone = choose(life)
    _, kept = life.split(gone)
    applied = forget(life.world, named)
    found = forget_use.verify_plan(life.world.session, applied.plan, kept[:1])
    assert not found.ok
    assert {hit.number for hit in found.hits} == {0}
    assert kept[0].decode() not in str(found)
