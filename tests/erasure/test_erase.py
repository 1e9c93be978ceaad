"""Erasing from a timeline: what is named is in no file of ours any more, and everything else is as it was."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sidecars.checkpoint import Checkpoint
from sidecars.digest import Digest
from sidecars.merkle import root_of, verify_consistency
from sidecars.proven import verify_bundle
from tests.backup.places import DECLARED, place_for
from tests.erasure.erased_logs import KEY, PLAN
from tests.erasure.stages import CANARIES, Stage, stopping_at
from tests.sidecars.samples import digest_text
from tests.simulators.worlds import (
    World,
    answers_of,
    contents,
    event_ids,
    leaves_of,
    refusal_of,
    verdict_of,
)
from tests.world.ledger.ledgers import about, entry, names, record
from timeline import service
from timeline.anchors.proving import Subject
from timeline.backup import back_up
from timeline.carried import committed_hashes, export_anchor
from timeline.epochs import change_log_key
from timeline.erasing import close_over, erase, finish, pages_due
from timeline.erasure_errors import ErasureRefusedError
from timeline.errors import EventNotFoundError
from timeline.forking import fork_backup
from timeline.live import Live
from timeline.prove import prove_event
from timeline.restore import restore
from timeline.rewriting import Erasing, Pages
from timeline.store import open_store
from timeline.view import EnrolledSource

OK: tuple[str, frozenset[str]] = ("ok", frozenset())
REPAIRABLE: tuple[str, frozenset[str]] = ("repairable", frozenset())


def untouched(world: World) -> dict[str, bytes]:
    """Give every file of state and trust."""
    return {
        f"{name}/{path}": content
        for name in ("state", "trust")
        for path, content in contents(world.folder / name).items()
    }


def sources_of(stage: Stage) -> tuple[EnrolledSource, ...]:
    """Give what the log says of sources."""
    with stage.kept.state() as state:
        return state.view.sources


# -- a session -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("X11", "M19", "N11")
def test_of_an_erased_session_nothing_is_left_in_any_file(stage: Stage) -> None:
    """Its id, its path and its events stood in the database and in sidecars."""
    thread, path = stage.gone.rollout.thread_id, str(stage.gone.path)
    ids, gone = event_ids(stage.world), stage.gone_events()
    assert "state/state.db" in stage.holders(thread)
    assert len(stage.holders(thread)) > 1
    stage.erase(stage.leaves_of(stage.gone))
    assert stage.holders(thread, path, Path(path).name) == []
    assert set(event_ids(stage.world)) == set(ids) - gone
    assert stage.holders(*gone) == []
    assert verdict_of(stage.world, deep=True) == OK


@pytest.mark.requirement("M19", "M20")
def test_everything_else_of_the_log_is_as_it_was(stage: Stage) -> None:
    """The rows that stay are the same bytes, of those that went the hash stays, and the owner's leaf says which."""
    before, chosen = leaves_of(stage.world), stage.leaves_of(stage.gone)
    kept = [source for source in sources_of(stage) if source.index not in chosen]
    (leaf,) = stage.erase(chosen)
    after = leaves_of(stage.world)
    for (index, salt, envelope), now in zip(before, after, strict=False):
        assert now == ((index, b"", now[2]) if index in chosen else (index, salt, envelope))
        assert len(now[2]) == (32 if index in chosen else len(envelope))
    assert len(after) == len(before) + 1
    assert leaf.index == len(before)
    view = stage.kept.view
    assert list(view.sources) == kept
    assert view.erased == chosen
    assert [(made.leaf, made.at, made.body.plan) for made in view.erasures] == [(leaf.index, leaf.at, PLAN)]


def test_a_search_finds_what_is_left_and_no_more(stage: Stage) -> None:
    """The other session answers as before; the erased one is asked for in vain."""
    gone, before = stage.gone_events(), stage.kept.terms("pytest", "12").cards
    (found,) = stage.kept.terms("pytest", "13").cards
    assert found.event.id in gone
    stage.erase(stage.leaves_of(stage.gone))
    assert stage.kept.terms("pytest", "13").cards == ()
    assert service.show(stage.world.session, stage.world.root, found.event.id)[0].cards == ()
    assert [card.event.id for card in stage.kept.terms("pytest", "12").cards] == [
        card.event.id for card in before
    ]
    listed = service.list_sources(stage.world.session, stage.world.root)
    assert [status.source.enrollment.source.ref for status in listed] == [stage.kept.ref]


def test_the_session_that_stays_goes_on(stage: Stage) -> None:
    """It is revoked, indexed and proved as if nothing else had been there."""
    stage.erase(stage.leaves_of(stage.gone))
    stage.kept.index()
    record(stage.world, entry("later"))
    change_log_key(stage.world.session, "compromised")
    report = service.verify_timeline(stage.world.session, deep=True)
    assert (report.verdict, report.erased) == ("ok", len(stage.kept.view.erased))
    said = [item for item in report.not_checked if "erased since" in item]
    assert len(said) == 1, "the signers of erased leaves are unknown, and it is said"
    assert any(check.name == "erasure" for check in report.checks)


# -- an assertion ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("X11", "P35", "N10")
def test_of_an_erased_assertion_nothing_is_left_in_any_file(stage: Stage) -> None:
    """With what it had replaced, which must not come back; another one stays."""
    assert stage.holders(CANARIES["new"], CANARIES["old"]) == ["state/state.db"]
    chosen = stage.leaves_of_assertion("new")
    assert len(chosen) == 2
    stage.erase(chosen)
    assert stage.holders(CANARIES["new"], CANARIES["old"]) == []
    assert stage.holders(CANARIES["kept"]) == ["state/state.db"]
    assert about(stage.world) == ()
    assert names(about(stage.world, "suite:b")) == ["kept"]
    assert verdict_of(stage.world, deep=True) == OK


def test_what_was_replaced_may_go_alone(stage: Stage) -> None:
    """What has replaced it stays, and goes on to hold."""
    stage.erase(stage.leaves_of_assertion("old"))
    assert names(about(stage.world)) == ["new"]
    assert stage.holders(CANARIES["old"]) == []
    record(stage.world, entry("newer", supersedes=["new"], observed_at=entry("x").observed_at + 2))
    assert verdict_of(stage.world, deep=True) == OK


def test_values_that_lay_in_unused_pages_are_gone_too(stage: Stage) -> None:
    """Rows that were deleted or moved long before: copies of them lie where no row is any more."""
    with closing(sqlite3.connect(stage.world.locations.database, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = OFF")
        rows = [(100 + number, CANARIES["new"].encode() * 40) for number in range(40)]
        database.executemany("INSERT INTO setting VALUES (?, ?)", rows)
        database.execute("DELETE FROM setting WHERE key >= 100")
    content = stage.world.locations.database.read_bytes()
    assert content.count(CANARIES["new"].encode()) > 40
    stage.erase(stage.leaves_of_assertion("new"))
    assert stage.holders(CANARIES["new"]) == []


def test_tables_are_made_anew_from_the_leaves_that_are_left(stage: Stage) -> None:
    """What was erased has no rows, and is no reason to refuse."""
    stage.erase(stage.leaves_of_assertion("new") | stage.leaves_of(stage.gone))
    with stage.writing() as state:
        state.assertions.rebuild(state.view.assertions)
        state.register.rebuild(state.view.register)
    assert names(about(stage.world, "suite:b")) == ["kept"]
    assert verdict_of(stage.world, deep=True) == OK


def test_an_external_anchor_is_shown_that_the_log_continues(stage: Stage) -> None:
    """From every older size: of erased leaves the hashes are there, and nothing else is asked for."""
    stage.erase(stage.leaves_of(stage.gone))
    with stage.kept.state() as state:
        hashes = committed_hashes(state)
        checkpoint = Checkpoint(state.keystore.pins.origin, state.belief.size, state.belief.root)
        subject = Subject(stage.world.locations.database, checkpoint, state.reading.finding.head.note)
    for size in range(1, len(hashes)):
        root = root_of(hashes[:size])
        verify_consistency(size, len(hashes), root, checkpoint.root.raw, subject.prove(size))
        assert subject.continues(Checkpoint(checkpoint.origin, size, Digest(root)))


# -- proofs and copies -----------------------------------------------------------------------------------------


@pytest.mark.requirement("X11", "M19")
def test_proofs_of_everything_else_verify_those_of_before_too(stage: Stage) -> None:
    """Offline, with the keys alone; of the erased event no proof can be made any more."""
    stage.erase(stage.leaves_of_assertion("new"))
    ids = event_ids(stage.world)
    before = {event: prove_event(stage.world.session, stage.world.root, event) for event in ids}
    stage.erase(stage.leaves_of(stage.gone), plan=digest_text("second"))
    left = event_ids(stage.world)
    assert set(left) < set(ids)
    for event, old in before.items():
        assert verify_bundle(old.content, old.keys) == old.proven
        if event in left:
            proof = prove_event(stage.world.session, stage.world.root, event)
            assert verify_bundle(proof.content, proof.keys).event["id"] == event
        else:
            with pytest.raises(EventNotFoundError) as caught:
                prove_event(stage.world.session, stage.world.root, event)
            assert "were erased" in caught.value.hint


def test_an_anchor_that_was_carried_away_before_is_contained_still(stage: Stage, tmp_path: Path) -> None:
    """And one of after; both say how far the log was this one."""
    with stage.kept.state() as state:
        export_anchor(state, tmp_path / "before")
    stage.erase(stage.leaves_of(stage.gone))
    with stage.kept.state() as state:
        export_anchor(state, tmp_path / "after")
    for name in ("before", "after"):
        report = service.verify_timeline(stage.world.session, deep=False, against=[tmp_path / name])
        assert report.verdict == "ok"


def test_a_backup_of_an_erased_log_comes_back(stage: Stage, tmp_path: Path) -> None:
    """With the same answers, and without a byte of what was erased."""
    thread = stage.gone.rollout.thread_id
    stage.erase(stage.leaves_of(stage.gone) | stage.leaves_of_assertion("new"))
    back_up(stage.world.session, tmp_path / "b.tar")
    content = (tmp_path / "b.tar").read_bytes()
    assert not any(needle.encode() in content for needle in (thread, CANARIES["new"], CANARIES["old"]))
    place = place_for(stage.world, tmp_path / "place")
    assert restore(place.session, tmp_path / "b.tar", DECLARED) is not None
    assert answers_of(place) == answers_of(stage.world)
    assert verdict_of(place, deep=True) == OK


def test_a_backup_that_is_made_before_an_erasure_is_carried_out_holds_nothing_of_it(
    stage: Stage, tmp_path: Path
) -> None:
    """The copy takes the repair that is due; the timeline itself is left as it is."""
    thread = stage.gone.rollout.thread_id
    with pytest.raises(InterruptedError):
        stage.erase(stage.leaves_of(stage.gone), watch=stopping_at(Erasing.ROWS))
    assert verdict_of(stage.world) == REPAIRABLE
    back_up(stage.world.session, tmp_path / "b.tar")
    assert thread.encode() not in (tmp_path / "b.tar").read_bytes()
    assert "state/state.db" in stage.holders(thread)


def test_a_fork_takes_nothing_over_that_was_erased(stage: Stage, tmp_path: Path) -> None:
    """It begins with what the old log still says."""
    stage.erase(stage.leaves_of(stage.gone))
    back_up(stage.world.session, tmp_path / "b.tar")
    place = place_for(stage.world, tmp_path / "place")
    forked = fork_backup(place.session, tmp_path / "b.tar")
    assert forked is not None
    assert forked.enrollments == 1
    assert verdict_of(place) == OK


# -- again, and in the way -------------------------------------------------------------------------------------


def test_the_same_plan_once_more_states_nothing(stage: Stage) -> None:
    """An interrupted caller asks again; what another plan has erased is not there to be named."""
    chosen = stage.leaves_of(stage.gone)
    stage.erase(chosen)
    before = untouched(stage.world)
    assert stage.erase(chosen) == ()
    assert untouched(stage.world) == before
    with pytest.raises(ErasureRefusedError, match="erased already"):
        stage.erase(chosen, plan=digest_text("second"))
    assert untouched(stage.world) == before


def test_what_a_plan_has_not_stated_yet_is_stated(stage: Stage) -> None:
    """A plan that is carried out in parts: each part is stated once."""
    old, new = sorted(stage.leaves_of_assertion("new"))
    stage.erase([old])
    (leaf,) = stage.erase([old, new])
    assert stage.kept.view.erasures[-1].leaf == leaf.index
    assert stage.kept.view.erasures[-1].body.leaves == (new,)


@pytest.mark.requirement("M19")
def test_more_than_one_leaf_can_state_goes_into_several_of_one_commit(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaves and digests are divided alike; what has no room in a commit is refused before."""
    monkeypatch.setattr("timeline.erasing.ERASED_MAX", 2)
    chosen = stage.leaves_of(stage.gone)
    digests = sorted(digest_text(number) for number in range(9))
    too_many = [digest_text(number) for number in range(9, 999)]
    with stage.writing() as state:
        committed = erase(state, plan=PLAN, leaves=chosen, suppressed=digests, key=KEY)
        assert state.view.suppressed == frozenset(digests)
        assert state.view.erased == chosen
        assert state.consistent
        with pytest.raises(ErasureRefusedError, match="one commit"):
            erase(state, plan=digest_text("second"), leaves=(), suppressed=too_many, key=KEY)
    assert {leaf.batch_size for leaf in committed} == {5}


def test_leaves_that_belong_together_do_not_go_alone(stage: Stage) -> None:
    """An enrollment without its sidecars, a sidecar without its enrollment, what replaces without what it replaced."""
    together = sorted(stage.leaves_of(stage.gone))
    replaced, replacing = sorted(stage.leaves_of_assertion("new"))
    before = untouched(stage.world)
    for chosen in ([together[0]], [together[-1]], [replacing], [0], [1], [10_000], [together[0], replaced]):
        with pytest.raises(ErasureRefusedError):
            stage.erase(chosen)
    assert untouched(stage.world) == before


def test_all_sidecars_of_a_session_may_go_and_it_is_read_again(stage: Stage) -> None:
    """Its enrollment stays; its segments count from the first again."""
    (index,) = [s.index for s in sources_of(stage) if s.enrollment.source.ref == stage.gone.ref]
    ids = event_ids(stage.world)
    sidecars = stage.leaves_of(stage.gone) - {index}
    assert len(sidecars) > 1
    with stage.writing() as state:
        assert close_over(state, sidecars) == sidecars
    stage.erase(sidecars)
    assert verdict_of(stage.world, deep=True) == OK
    assert len(event_ids(stage.world)) < len(ids)
    stage.gone.index()
    assert sorted(event_ids(stage.world)) == sorted(ids)
    assert verdict_of(stage.world, deep=True) == OK


def test_a_reader_who_is_in_the_way_is_waited_for_and_then_reported(stage: Stage) -> None:
    """While somebody reads an older moment the log keeps it; the next writing command finds it free."""
    chosen, needle = stage.leaves_of_assertion("new"), CANARIES["new"]
    reader = open_store(stage.world.locations.database)
    try:
        with reader.snapshot():
            with stage.writing() as state:
                list(state.store.query("PRAGMA busy_timeout = 1"))
                erase(state, plan=PLAN, leaves=chosen, suppressed=(), key=KEY)
                assert pages_due(state)
                assert finish(state) is Pages.RETAINED
                assert state.consistent
            assert verdict_of(stage.world) == REPAIRABLE
            assert about(stage.world) == ()
    finally:
        reader.close()
    with stage.writing() as state:
        assert not pages_due(state)
        assert finish(state) is Pages.CLEAN
    assert stage.holders(needle) == []
    assert verdict_of(stage.world) == OK


def test_who_keeps_a_timeline_open_meets_the_erasure(stage: Stage) -> None:
    """The daemon's opener reads all of it anew, and answers nothing of before."""
    session = stage.world.session
    live = Live()
    try:
        with live.reading(session.locations, session.ports) as state:
            assert len(state.view.sources) == 2
        stage.erase(stage.leaves_of(stage.gone))
        with live.reading(session.locations, session.ports) as state:
            assert [source.enrollment.source.ref for source in state.view.sources] == [stage.kept.ref]
        assert live.openings == 2
        with live.reading(session.locations, session.ports):
            assert live.openings == 2
    finally:
        live.close()


def test_who_erases_in_an_open_timeline_goes_on_in_it(stage: Stage) -> None:
    """The view is that of after, rows account, and the next commit follows."""
    chosen = stage.leaves_of(stage.gone) | stage.leaves_of_assertion("new")
    session = stage.world.session
    live = Live()
    try:
        with live.writing(session.locations, session.ports) as state:
            erase(state, plan=PLAN, leaves=chosen, suppressed=(), key=KEY)
            assert (state.consistent, pages_due(state)) == (True, False)
            assert [source.enrollment.source.ref for source in state.view.sources] == [stage.kept.ref]
        with live.reading(session.locations, session.ports) as state:
            assert state.view.erased == chosen
        assert live.openings == 1, "what it has done itself is no change by somebody else"
    finally:
        live.close()
    record(stage.world, entry("later"))
    assert refusal_of(stage.kept.index) is None
