"""The use cases: made once, consented to once, taken back for good, and never wider than asked."""

import errno
import os
import shutil
import threading
from pathlib import Path

import pytest

from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import (
    NOW_MS,
    SEGMENT_BYTES,
    SetClock,
    World,
    consent,
    contents,
    empty_world,
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    session_at,
    write_transcript,
)
from tests.timeline.cases import Case, enroll_rollout, enroll_session, indexed_session
from timeline import service
from timeline.errors import QueryError, StateExistsError, UsageError
from timeline.guard.enrollment import snapshot_of
from timeline.guard.receipt import pending_receipts
from timeline.limits import RECALL_SECONDS_DEFAULT, RECEIPT_SECONDS
from timeline.search import Status
from timeline.source import take_snapshot
from timeline.terms import parse_query

SECOND = 1000
LONE = "@lone@"
"""Stands for half a surrogate pair, which Python cannot encode and JSON can escape."""


# -- init ------------------------------------------------------------------------------------------------------


def test_a_new_timeline_verifies_and_says_who_it_belongs_to(tmp_path: Path) -> None:
    """Its first leaf holds the owner's rules; a demonstration says that it is one."""
    world = empty_world(tmp_path / "w")
    view = service.init_state(world.session)
    assert view.policy is not None
    assert (view.policy.owner_presence, view.policy.simulated_host) == ("terminal", False)
    report = service.verify_timeline(world.session, deep=True)
    assert (report.verdict, report.size, report.level) == ("ok", 2, "L1")


@pytest.mark.parametrize("left", ["pins", "anchor", "head", "database", None])
def test_a_timeline_is_made_once(world: World, left: str | None) -> None:
    """Whichever file is there already, nothing is written over."""
    if left is not None:
        for name in ("pins", "anchor", "head", "database"):
            if name != left:
                getattr(world.locations, name).unlink()
    before = contents(world.folder)
    with pytest.raises(StateExistsError):
        service.init_state(world.session)
    assert contents(world.folder) == before


def test_a_trust_folder_inside_the_state_lowers_the_level(tmp_path: Path) -> None:
    """Restoring one would restore the other: only signatures can be claimed."""
    world = empty_world(tmp_path / "w")
    there = world.session.locations
    inside = type(there)(there.state, there.state / "trust", there.config, there.runtime)
    session = service.Session(inside, world.session.ports, world.session.environment)
    service.init_state(session)
    assert service.verify_timeline(session, deep=False).level == "L0"


# -- consent ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T6", "T10")
def test_a_receipt_is_spent_by_one_of_two_at_once(world: World) -> None:
    """Two owners' commands race: one enrolls, the other finds no receipt."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    receipt = service.receive_prompt(world.session, "codex", event)
    start = threading.Barrier(2)
    results: list[str | None] = []

    def enroll() -> None:
        start.wait()
        results.append(
            refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
        )

    racing = [threading.Thread(target=enroll) for _ in range(2)]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    assert sorted(results, key=str) == [None, "host-transcript-receipt-unavailable"]
    assert len(service.list_sources(world.session, None)) == 1


@pytest.mark.requirement("T6", "T7")
def test_an_old_database_does_not_bring_a_spent_receipt_back(world: World) -> None:
    """A database from before the spend is an older state and is refused."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    receipt = service.receive_prompt(world.session, "codex", event)
    shutil.copy2(world.locations.database, world.folder / "older")
    service.enroll(world.session, world.root, receipt.id, confirmed=True)
    shutil.copy2(world.folder / "older", world.locations.database)
    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refused == "state-behind-head"


@pytest.mark.requirement("T7")
def test_a_receipt_row_of_another_timeline_is_no_receipt(tmp_path: Path, world: World) -> None:
    """It is signed, by somebody else."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    other = new_world(tmp_path / "other")
    there = session_at(other.folder, world.home)
    receipt = service.receive_prompt(there, "codex", event)
    rows = []
    with there.reading() as state:
        rows = list(state.store.query("SELECT digest, envelope FROM receipt"))
    with world.session.writing() as state, state.store.transaction():
        state.store.write("INSERT INTO receipt (digest, envelope) VALUES (?, ?)", rows)
    assert service.list_receipts(world.session, world.root) == ()
    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refused == "host-transcript-receipt-unavailable"


@pytest.mark.requirement("T7", "T6")
def test_every_byte_of_a_stored_receipt_counts(world: World) -> None:
    """Source, host, session, scope, times: whatever is altered, it is no receipt any more."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    service.receive_prompt(world.session, "codex", event)
    with world.session.writing() as state:
        ((envelope,),) = state.store.query("SELECT envelope FROM receipt")
        assert isinstance(envelope, bytes)
        survivors = []
        for place in range(0, len(envelope), 7):
            changed = envelope[:place] + bytes([envelope[place] ^ 1]) + envelope[place + 1 :]
            with state.store.transaction():
                state.store.write("UPDATE receipt SET envelope = ?", [(changed,)])
            if pending_receipts(state.store, state.keystore, NOW_MS):
                survivors.append(place)
    assert survivors == []


@pytest.mark.requirement("T13")
def test_a_rewritten_beginning_is_named_as_such(world: World) -> None:
    """The same file, longer, with other first bytes: not the one that the host reported."""
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    event = prompt_event(world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(world.session, "codex", event)
    path.write_bytes(b" " + path.read_bytes())
    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refused == "transcript-snapshot-changed"
    assert service.list_sources(world.session, None) == ()


@pytest.mark.requirement("T7", "T12")
@pytest.mark.parametrize("grown", [b"", b"{}\n"])
def test_a_copy_in_the_place_of_the_file_is_not_the_file(world: World, grown: bytes) -> None:
    """The same bytes, and more, under another inode: the receipt does not cover it, and is spent."""
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    receipt = service.receive_prompt(
        world.session, "codex", prompt_event(world, rollout.thread_id, str(path))
    )
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    with copy.open("ab") as appended:
        appended.write(grown)
    os.utime(copy, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    copy.rename(path)
    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refused == "transcript-snapshot-changed"
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.requirement("T12")
def test_the_snapshot_is_fixed_when_the_receipt_is_spent(world: World) -> None:
    """Growth between prompt and consent is accepted; what is enrolled is the file at the consent."""
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    event = prompt_event(world, rollout.thread_id, str(path))
    receipt = service.receive_prompt(world.session, "codex", event)
    rollout.start_turn()
    path.write_bytes(rollout.to_bytes())
    enrolled = service.enroll(world.session, world.root, receipt.id, confirmed=True)
    assert enrolled.source.size == len(rollout.to_bytes())
    assert snapshot_of(enrolled) == take_snapshot(str(path))
    assert enrolled.expires_at == NOW_MS + RECALL_SECONDS_DEFAULT * SECOND
    assert enrolled.recall_until == enrolled.expires_at


def test_receipts_of_other_projects_are_not_listed(world: World) -> None:
    """A project sees its own; a folder in it is the project."""
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    other = world.home / "other"
    (other / ".git").mkdir(parents=True)
    (other / "deep" / "er").mkdir(parents=True)
    event = prompt_event(world, rollout.thread_id, str(path), cwd=str(other / "deep"))
    receipt = service.receive_prompt(world.session, "codex", event)
    assert service.list_receipts(world.session, world.root) == ()
    assert service.list_receipts(world.session, str(other / "deep" / "er")) == (receipt,)
    assert receipt.binding.project == str(other)
    world.clock.at_ms += RECEIPT_SECONDS * SECOND
    assert service.list_receipts(world.session, str(other)) == ()


def test_a_clock_before_the_receipt_does_not_revive_it(world: World) -> None:
    """A receipt from the future is not pending."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    service.receive_prompt(world.session, "codex", event)
    world.clock.at_ms -= 1
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.requirement("T5", "T8")
@pytest.mark.parametrize("host", ["gemini", "", "Codex", "codex\n"])
def test_an_unreviewed_host_is_denied(world: World, host: str) -> None:
    """Deny by default."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    refused = refusal_of(lambda: service.receive_prompt(world.session, host, event))
    assert refused == "host-receipt-event-not-supported"


@pytest.mark.requirement("T70")
def test_the_hosts_home_comes_from_the_environment(world: World) -> None:
    """Without CODEX_HOME it is below HOME; the event cannot name another."""
    rollout = rollout_of(world)
    event = prompt_event(world, rollout.thread_id, str(write_transcript(world, rollout)))
    session = service.Session(world.locations, world.session.ports, {"HOME": str(world.home)})
    assert service.receive_prompt(session, "codex", event).binding.host == "codex"
    elsewhere = service.Session(world.locations, world.session.ports, {"CODEX_HOME": str(world.home / "x")})
    refused = refusal_of(lambda: service.receive_prompt(elsewhere, "codex", event))
    assert refused == "transcript-outside-host-sessions"


# -- renewing and taking back ----------------------------------------------------------------------------------


@pytest.mark.requirement("T13", "T14")
def test_growth_ends_the_snapshot_and_a_new_consent_replaces_it(indexed: Case) -> None:
    """Nothing is followed: a new receipt, a new consent, and the old rows and sidecars are gone."""
    old = {path.name for path in indexed.world.locations.sidecars.iterdir()}
    indexed.rollout.start_turn()
    indexed.rollout.command("pytest -q", pytest_output(77), 0)
    indexed.rollout.end_turn("done")
    indexed.path.write_bytes(indexed.rollout.to_bytes())
    assert indexed.terms("pytest", "passed").status is Status.STALE
    assert refusal_of(indexed.index) is None  # nothing is left to read
    ref = consent(indexed.world, indexed.rollout, indexed.path, turn="turn-2")
    assert ref != indexed.ref
    assert {path.name for path in indexed.world.locations.sidecars.iterdir()} == set()
    missed = indexed.terms("pytest", "passed")
    assert (missed.status, missed.reason) == (Status.INDEX_UNVERIFIED, "source-not-indexed")
    assert Case(indexed.world, indexed.rollout, indexed.path, ref).index().events == 4
    new = {path.name for path in indexed.world.locations.sidecars.iterdir()}
    assert old.isdisjoint(new)
    assert [status.state for status in service.list_sources(indexed.session, None)] == ["current", "replaced"]
    assert service.verify_timeline(indexed.session, deep=True).verdict == "ok"


@pytest.mark.requirement("T4", "T12")
def test_what_is_revoked_is_found_by_nobody_and_cannot_be_revoked_twice(indexed: Case) -> None:
    """Rows and files go with the consent; the neighbour stays."""
    neighbour = enroll_session(indexed.world, seed=3)
    neighbour.index()
    service.revoke(indexed.session, indexed.ref)
    assert (
        refusal_of(lambda: service.revoke(indexed.session, indexed.ref)) == "private-enrollment-unavailable"
    )
    with indexed.state() as state:
        gone = state.view.sources[0].index
        for table in ("event", "pair", "number"):
            assert list(state.store.query(f"SELECT 1 FROM {table} WHERE source = ?", (gone,))) == []
    assert {c.source.enrollment.source.ref for c in indexed.terms("pytest", "passed").cards} == {
        neighbour.ref
    }
    refused = refusal_of(
        lambda: service.find(
            indexed.session, indexed.world.root, query=parse_query(("pytest", "12")), source_ref=indexed.ref
        )
    )
    assert refused == "private-enrollment-unavailable"


@pytest.mark.requirement("T4", "T12")
def test_an_expired_source_is_not_searched_beside_one_that_is_not(indexed: Case) -> None:
    """The end itself is outside, to the millisecond."""
    indexed.world.clock.at_ms += RECALL_SECONDS_DEFAULT * SECOND - 1
    assert indexed.terms("pytest", "passed").cards
    later = enroll_session(indexed.world, seed=3)
    later.index()
    indexed.world.clock.at_ms += 1
    assert {c.source.enrollment.source.ref for c in indexed.terms("pytest", "passed").cards} == {later.ref}
    assert [s.state for s in service.list_sources(indexed.session, None)] == ["current", "expired"]


def test_the_list_of_sources_says_what_became_of_each(indexed: Case) -> None:
    """Current, stale, gone, revoked, each with its reason."""

    def state() -> tuple[str, str | None]:
        (found,) = service.list_sources(indexed.session, indexed.world.root)
        return found.state, found.reason

    assert state() == ("current", None)
    times = indexed.path.stat()
    os.utime(indexed.path, ns=(1, 1))
    assert state() == ("stale", "transcript-snapshot-renewal-required")
    os.utime(indexed.path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert state()[0] == "stale"  # the change itself is seen: ctime cannot be put back
    indexed.path.unlink()
    assert state() == ("gone", "transcript-missing")
    service.revoke(indexed.session, indexed.ref)
    assert state() == ("revoked", None)


# -- search ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T24", "X14")
def test_an_id_that_may_have_been_evicted_is_not_called_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``show`` says not-found only where every event is accounted for, as a search does."""
    case = enroll_session(world)
    absent = "timeline-event:" + "0" * 32

    def show() -> tuple[Status, str | None]:
        answer = service.show(case.session, world.root, absent)[0]
        return answer.status, answer.reason

    assert show() == (Status.INDEX_UNVERIFIED, "source-not-indexed")
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 2)
    case.index()
    assert show() == (Status.INDEX_UNVERIFIED, "events-evicted")


@pytest.mark.requirement("X14")
def test_an_unknown_id_over_whole_sources_is_not_found(indexed: Case) -> None:
    """Every event was compared."""
    answer, _ = service.show(indexed.session, indexed.world.root, "timeline-event:" + "0" * 32)
    assert answer.status is Status.NOT_FOUND


@pytest.mark.requirement("X14")
def test_a_miss_over_a_half_read_source_is_not_called_one(world: World) -> None:
    """The rest of the file may hold it."""
    case = enroll_session(world, runs=4, filler_bytes=40_000)
    case.index(operations=1)
    missed = case.terms("cargo", "passed")
    assert (missed.status, missed.reason) == (Status.INDEX_UNVERIFIED, "source-partly-indexed")
    case.index()
    assert case.terms("cargo", "passed").status is Status.NOT_FOUND


@pytest.mark.requirement("X14")
def test_a_deleted_row_is_noticed_before_a_miss_is_called(indexed: Case) -> None:
    """Whatever table it was taken from, nothing is answered from the rest."""
    for table in ("event", "pair", "number"):
        with indexed.state() as state:
            kept = list(state.store.query(f"SELECT rowid FROM (SELECT 1 AS rowid FROM {table})"))
            assert kept
            with state.store.transaction():
                state.store.write(f"CREATE TEMP TABLE kept_{table} AS SELECT * FROM {table}", [()])
                state.store.write(
                    f"DELETE FROM {table} WHERE source = (SELECT max(source) FROM {table})", [()]
                )
        for words in (("pytest", "failed"), ("cargo", "passed")):
            assert refusal_of(lambda words=words: indexed.terms(*words)) == "index-unverified"
        assert indexed.index().events == 3
        assert indexed.terms("pytest", "failed").cards


def test_a_search_for_nothing_and_an_id_of_another_form_are_refused(indexed: Case) -> None:
    """Neither a time nor terms; not an event id."""
    with pytest.raises(QueryError):
        service.find(indexed.session, indexed.world.root)
    for text in ("", "timeline-event:", "timeline-event:" + "g" * 32, "timeline-event:" + "0" * 31, "0" * 32):
        with pytest.raises(QueryError):
            service.show(indexed.session, indexed.world.root, text)


def test_a_project_that_is_no_folder_is_refused(indexed: Case) -> None:
    """Also one whose name no file system takes."""
    for root in ("", str(indexed.path), "/none", "/" + "x" * 300, "/a\0b"):
        with pytest.raises(UsageError):
            service.find(indexed.session, root, query=parse_query(("pytest", "failed")))


def test_sources_of_two_owners_do_not_meet(indexed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same machine, another uid: every private file is refused."""
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert refusal_of(lambda: indexed.terms("pytest", "failed")) == "unsafe-file"


@pytest.mark.requirement("T23", "T21")
def test_terms_of_two_sources_give_cards_of_the_newest_only(world: World) -> None:
    """Not merged, not topped up from the other."""
    enroll_session(world, runs=9, seed=0).index()
    newer = enroll_session(world, runs=2, seed=30)
    newer.index()
    answer = newer.terms("pytest", "passed")
    assert {card.source.enrollment.source.ref for card in answer.cards} == {newer.ref}
    assert (len(answer.cards), answer.more) == (1, False)


@pytest.mark.requirement("T19", "T14")
def test_an_interrupted_index_goes_on_where_it_was_committed(world: World) -> None:
    """Each operation reads its own span: the position only moves forward."""
    case = enroll_session(world, runs=5, filler_bytes=40_000)
    positions = []
    while True:
        result = case.index(operations=1)
        positions.append(result.indexed)
        if result.complete:
            break
    assert positions == sorted(set(positions))
    assert positions[:-1] == [64 * 1024 * (n + 1) for n in range(len(positions) - 1)]
    assert result.events == 5


def test_a_full_disk_while_indexing_loses_nothing(enrolled: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is ours, and the next run does the work."""
    from timeline import files

    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "injected")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "write", fail)
        assert refusal_of(enrolled.index) in {"state-unwritable", "store-unwritable"}
    assert enrolled.index().events == 3
    assert service.verify_timeline(enrolled.session, deep=True).verdict == "ok"


def test_a_session_without_any_run_is_a_whole_index_of_nothing(world: World) -> None:
    """No event is an answer: not-found, and not a guess."""
    rollout = rollout_of(world, runs=0)
    case = enroll_rollout(world, rollout)
    assert case.index().events == 0
    assert case.terms("pytest", "passed").status is Status.NOT_FOUND


@pytest.mark.requirement("T2", "T69")
@pytest.mark.parametrize(
    "name", ["two words", "täst", 'a"b', "a\\b", "x\n", "\x7f", "\u2028", "x" * 200, "", LONE]
)
@pytest.mark.parametrize("place", ["call id", "tool", "record type", "turn"])
def test_a_strange_name_costs_its_own_line_at_most(world: World, name: str, place: str) -> None:
    """Names come from models and hosts: what is no name is not kept, and the file is still indexed."""
    rollout = rollout_of(world)
    rollout.start_turn()
    call = {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "call_1"}
    match place:
        case "call id":
            call["call_id"] = name
        case "tool":
            call["name"] = name
        case "turn":
            rollout.write("event_msg", {"type": "task_started", "turn_id": name})
        case _:
            rollout.write(name, {"type": name})
    rollout.write("response_item", call)
    rollout.lines = [line.replace(LONE.encode(), b"\\ud800") for line in rollout.lines]
    assert enroll_rollout(world, rollout).index(max_bytes=SEGMENT_BYTES).events == 3


def test_two_worlds_know_nothing_of_each_other(tmp_path: Path) -> None:
    """Equal sessions in two timelines have other references, ids and fingerprints."""
    one, two = (indexed_session(tmp_path / name) for name in ("one", "two"))
    first, second = (case.terms("pytest", "failed").cards[0].event for case in (one, two))
    assert one.ref != two.ref
    assert first.id != second.id
    assert first.fingerprint != second.fingerprint
    assert SetClock().now_ms() == NOW_MS
