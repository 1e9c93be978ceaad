"""One event is forgotten: its sidecar is made again without it, and everything else stays as it was."""

import random
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec
import pytest

from sidecars.event import USER_MESSAGE, Event, EventLine
from sidecars.proven import verify_bundle
from sidecars.sidecar import SidecarHeader
from tests.e2e.test_several_in_one_line import found, indexed, together
from tests.forgetting.lives import Ticking, apply_and_die, forget, found_in, ticked
from tests.simulators.claude import new_session
from tests.simulators.crash_child import act_and_die_at
from tests.simulators.growth import Growing, follow, overwrite
from tests.simulators.worlds import SEGMENT_BYTES, World, new_world, refusal_of, verdict_of
from tests.timeline.cases import indexed_session
from timeline import forget_use, service
from timeline.account import count_events, is_accounted
from timeline.backup import back_up
from timeline.cli.forget_render import show_planned
from timeline.erasing import pages_due
from timeline.forget_use import Named
from timeline.forgetting.intake import beginnings_of, is_event_forgotten
from timeline.forgetting.suppression import Forgotten, Suppression
from timeline.projection import id_number
from timeline.prove import Proof, prove_event
from timeline.restore import restore
from timeline.staging import Given
from timeline.terms import parse_query
from timeline.tlog import Step

SOUND = ("ok", frozenset[str]())


def events_of(world: World) -> list[list[Event]]:
    """The events that are kept, by their sidecars, and the index agrees with them."""
    with world.session.reading() as state:
        found = []
        for source in state.view.active:
            assert is_accounted(state, source)
            sidecars = [state.open_sidecar(entry)[1] for entry in source.kept]
            events = [event for sidecar in sidecars for event in sidecar.events]
            messages = sum(event.kind == USER_MESSAGE for event in events)
            assert count_events(state, source) == len(events) - messages
            assert (sidecars[-1].header.user_messages or 0) == messages
            found += [list(sidecar.events) for sidecar in sidecars]
        return found


def all_events(world: World) -> list[Event]:
    """The events that are kept."""
    return [event for events in events_of(world) for event in events]


def proofs_of(world: World, events: Collection[Event]) -> dict[str, Proof]:
    """A proof of each event."""
    return {event.id: prove_event(world.session, world.root, event.id) for event in events}


def numbers_found(world: World) -> list[int | None]:
    """What a search tells: how many tests have passed, on each card."""
    answer, _ = service.find(world.session, world.root, query=parse_query(["pytest", "passed"]))
    return [card.event.passed for card in answer.cards]


def check_forgotten(
    world: World, before: Collection[Event], gone: Collection[Event], going_on: Collection[Event] = ()
) -> None:
    """Nothing of these is in a file of ours; all others are there, told by the transcript and proven.

    Of calls that are ``going_on`` a cursor holds the digests of the lines.
    """
    names = {event.id for event in gone}
    after = all_events(world)
    assert [event for event in before if event.id not in names] == after
    words = {word for event in gone for word in (event.id, event.lines[-1].sha256)}
    words -= {line.sha256 for event in going_on for line in event.lines}
    assert found_in(world, [word.encode() for word in sorted(words)]) == set()
    check_pages(world, gone)
    with world.session.reading() as state:
        rows = {row.id64 for row in state.store.events("", ())}
    assert rows == {id_number(event.id) for event in after}
    assert verdict_of(world, deep=True) == SOUND
    for event in after:
        proof = prove_event(world.session, world.root, event.id)
        assert verify_bundle(proof.content, proof.keys).event["id"] == event.id
    for name in names:
        assert refusal_of(lambda name=name: prove_event(world.session, world.root, name)) == "event-not-found"  # type: ignore[misc]  # a default


def check_pages(world: World, gone: Collection[Event]) -> None:
    """Neither a page of the database nor its write-ahead log holds the number of an event."""
    database = world.locations.database
    content = b"".join(path.read_bytes() for path in database.parent.glob(database.name + "*"))
    numbers = [id_number(event.id).to_bytes(8, "big", signed=True) for event in gone]
    assert [number for number in numbers if number in content] == []


def snapshot(folder: Path) -> World:
    """A session of which the sidecars hold an event and messages each."""
    return indexed_session(folder / "world", runs=5, filler_bytes=40_000).world


def followed(folder: Path) -> World:
    """The same, read in several generations, up to the middle of a turn: a call may go on."""
    return following(folder).world


def following(folder: Path, *, first: int = 40_000) -> Growing:
    """A followed session with a call that may go on."""
    growing = follow(new_world(folder / "world"), first=first, runs=6, filler_bytes=30_000)
    growing.index(max_bytes=SEGMENT_BYTES)
    result = growing.whole.index(b"\n", growing.whole.index(b"13 passed")) + 1
    for size in (result // 2, result):
        growing.write_up_to(max(size, growing.written))
        growing.index(max_bytes=SEGMENT_BYTES)
    return growing


CHOICES: dict[str, Callable[[list[list[Event]]], list[Event]]] = {
    "first": lambda found: [next(e for e in found[0] + found[1] if not e.is_statement)],
    "middle": lambda found: [found[len(found) // 2][0]],
    "newest": lambda found: [found[-1][-1]],
    "a message": lambda found: [next(e for events in found for e in events if e.is_statement)],
    "several": lambda found: [found[0][0], found[1][-1], found[-1][-1]],
    "all of one": lambda found: list(found[len(found) // 2]),
    "all": lambda found: [event for events in found for event in events],
}


@pytest.mark.requirement("X11", "M12", "M22", "X6")
@pytest.mark.parametrize("make", [snapshot, followed])
@pytest.mark.parametrize("choice", CHOICES)
def test_an_event_goes_and_all_others_stay(
    tmp_path: Path, make: Callable[[Path], World], choice: str
) -> None:
    """Wherever it stands; proofs of the others that were made before verify as well."""
    world = make(tmp_path)
    found = [events for events in events_of(world) if events]
    before = [event for events in found for event in events]
    assert len(before) > 5
    gone = CHOICES[choice](found)
    proofs = proofs_of(world, before[:3])
    for event in gone:
        applied = forget(world, Named(event=event.id))
        assert applied.is_complete
        assert "sidecar" not in {one.what for one in applied.report.changed}
        assert {one.what: one.count for one in applied.report.changed}["sidecar-files"] == 1
        assert forget_use.verify_plan(world.session, applied.plan, [event.id.encode()]).ok
    check_forgotten(world, before, gone, found[-1] if make is followed else ())
    for name, proof in proofs.items():
        assert verify_bundle(proof.content, proof.keys).event["id"] == name
    if make is snapshot:
        told = [event.passed for event in before if event not in gone and event.outcome == "pass"]
        assert sorted(map(str, numbers_found(world))) == sorted(map(str, told))


@pytest.mark.requirement("M18", "T14")
@pytest.mark.parametrize("choice", CHOICES)
def test_following_goes_on_afterwards(tmp_path: Path, choice: str) -> None:
    """What comes next is read; what is told again of a call that went on is as forgotten."""
    growing = following(tmp_path)
    world = growing.world
    with world.session.reading() as state:
        (source,) = state.view.active
        newest = state.sidecar(source.entries[-1]).header
        assert newest.start == newest.end, "calls that may go on stand in a sidecar of their own"
        assert len(source.extensions) >= 2
    found = [events for events in events_of(world) if events]
    gone = CHOICES[choice](found)
    twin = world.copy(tmp_path / "twin")
    for event in gone:
        assert forget(world, Named(event=event.id)).is_complete
    growing.write(len(growing.whole))
    for one in (world, twin):
        for _ in range(4):
            service.index(one.session, one.root, source_ref=growing.ref, max_bytes=SEGMENT_BYTES)
    lines = {beginnings_of(event)[-1] for event in gone}
    told = all_events(twin)
    lost = [event for event in told if not lines.isdisjoint(beginnings_of(event))]
    assert len(lost) == len(gone)
    check_forgotten(world, told, lost, found[-1])


@pytest.mark.requirement("M22")
@pytest.mark.parametrize("seed", range(4))
def test_random_lives_of_a_followed_file(tmp_path: Path, seed: int) -> None:
    """Written, read and forgotten in any order: at the end all is there but what was forgotten."""
    chance = random.Random(seed)
    growing = follow(
        new_world(tmp_path / "world"), first=chance.randint(0, 20_000), runs=5, filler_bytes=9000
    )
    growing.write_up_to(20_000)
    growing.index(max_bytes=SEGMENT_BYTES)
    twin = growing.world.copy(tmp_path / "twin")
    lines = set()
    for _ in range(10):
        there = all_events(growing.world)
        if chance.random() < 0.4 and there:
            event = chance.choice(there)
            lines.add(beginnings_of(event)[-1])
            assert forget(growing.world, Named(event=event.id)).is_complete
        else:
            growing.write(chance.randint(1, 12_000))
            growing.index(max_bytes=SEGMENT_BYTES)
    growing.write(len(growing.whole))
    for world in (growing.world, twin):
        for _ in range(3):
            service.index(world.session, world.root, source_ref=growing.ref, max_bytes=SEGMENT_BYTES)
    told = all_events(twin)
    assert lines
    lost = [event for event in told if not lines.isdisjoint(beginnings_of(event))]
    check_forgotten(growing.world, told, lost)


@pytest.mark.requirement("M21", "X11")
@pytest.mark.parametrize("make", [snapshot, followed])
def test_a_kill_at_every_step_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], World]
) -> None:
    """In between the state is believed or repaired; the same command comes to the same end."""
    world = make(tmp_path)
    before = all_events(world)
    event = next(event for event in before if event.is_statement)
    planned = forget_use.plan_forgetting(world.session, Named(event=event.id), "redact")
    counting = Ticking()
    with monkeypatch.context() as patch:
        ticked(patch.setattr, counting)
        whole = world.copy(tmp_path / "whole")
        forget_use.apply_plan(counting.session(whole.session), planned.digest, confirmed=True)
    assert counting.count > 15
    for step in range(counting.count):
        copy = world.copy(tmp_path / f"step-{step}")
        ticking = Ticking(step)
        with monkeypatch.context() as patch:
            ticked(patch.setattr, ticking)
            assert apply_and_die(copy, planned.digest, ticking), step
        verdict, refused = verdict_of(copy)
        assert verdict != "refused", (step, refused)
        applied = forget_use.apply_plan(copy.session, planned.digest, confirmed=True)
        assert applied.is_complete, step
        assert [one for one in before if one != event] == all_events(copy), step
        assert found_in(copy, [event.id.encode()]) == set(), step
        check_pages(copy, [event])
        assert verdict_of(copy) == SOUND, step


@pytest.mark.requirement("M22")
def test_a_transcript_that_is_gone_or_changed_is_not_needed(tmp_path: Path) -> None:
    """It is not read: the event goes all the same, also where the log knows that the file was changed."""
    growing = following(tmp_path)
    before = all_events(growing.world)
    overwrite(growing.path, 10, keep_time=False)
    growing.write(100)
    assert refusal_of(growing.index) == "transcript-replaced"
    assert forget(growing.world, Named(event=before[0].id)).is_complete
    growing.path.unlink()
    assert forget(growing.world, Named(event=before[-1].id)).is_complete
    assert all_events(growing.world) == before[1:-1]
    assert verdict_of(growing.world) == SOUND


@pytest.mark.requirement("M22")
def test_one_of_several_events_of_the_same_lines_goes(tmp_path: Path) -> None:
    """Calls that were asked for together stand on the same lines; the others stay, in any enrollment."""
    claude = new_session()
    claude.prompt("test everything at once")
    together(claude, 3, first=21)
    session, project = indexed(tmp_path, claude)
    (card,) = service.find(session, project, query=parse_query(["pytest", "26"]))[0].cards
    planned = forget_use.plan_forgetting(session, Named(event=card.event.id), "redact")
    assert forget_use.apply_plan(session, planned.digest, confirmed=True).is_complete
    assert sorted(map(str, found(session, project, "failed"))) == ["21", "31"]
    assert service.verify_timeline(session, deep=True).ok


@pytest.mark.requirement("M18")
def test_an_older_backup_comes_back_without_the_event(tmp_path: Path) -> None:
    """Its sidecar is made again in what is restored; the rest of the followed file is there."""
    growing = following(tmp_path)
    world, before = growing.world, all_events(growing.world)
    file = tmp_path / "before.tar"
    back_up(world.session, file)
    gone = [before[0], before[2]]
    for event in gone:
        forget(world, Named(event=event.id))
    trust = tmp_path / "trust-aside"
    world.locations.trust.rename(trust)
    shutil.rmtree(world.locations.state)
    restore(world.session, file, Given(unverified=True, forgotten=trust))
    check_forgotten(world, before, gone, before[-1:])
    growing.write(len(growing.whole))
    growing.index(max_bytes=SEGMENT_BYTES)
    assert {event.id for event in gone}.isdisjoint(event.id for event in all_events(world))


@pytest.mark.requirement("M18")
def test_a_source_that_goes_whole_is_not_reduced_first(tmp_path: Path) -> None:
    """An event of it was forgotten before all of it was, and an older backup comes back."""
    growing = following(tmp_path)
    world = growing.world
    file = tmp_path / "before.tar"
    back_up(world.session, file)
    forget(world, Named(event=all_events(world)[0].id))
    forget(world, Named(source=growing.ref))
    trust = tmp_path / "trust-aside"
    world.locations.trust.rename(trust)
    shutil.rmtree(world.locations.state)
    restore(world.session, file, Given(unverified=True, forgotten=trust))
    assert all_events(world) == []
    assert verdict_of(world, deep=True) == SOUND


@pytest.mark.requirement("M12", "M21")
def test_an_interrupted_run_says_that_pages_are_due(tmp_path: Path) -> None:
    """The commit itself says so: whatever writes next goes on, even if nobody asks for the plan again."""
    world = followed(tmp_path)
    event = all_events(world)[0]
    planned = forget_use.plan_forgetting(world.session, Named(event=event.id), "redact")
    old = planned.plan.files
    assert act_and_die_at(
        world, Step.DONE, lambda session: forget_use.apply_plan(session, planned.digest, confirmed=True)
    )
    with world.session.reading() as state:
        assert pages_due(state)
        assert len(state.sidecars.listing().digests) > len(state.view.kept_digests())
    with world.session.writing() as state:
        assert not pages_due(state)
        assert {str(digest) for digest in state.sidecars.listing().digests} == state.view.kept_digests()
        assert state.view.kept_digests().isdisjoint(old)
    check_pages(world, [event])


def test_what_is_made_again_has_a_number_of_its_own(tmp_path: Path) -> None:
    """All else of the header but count and root is what it was: place, span, cursor, bounds."""
    world = followed(tmp_path)

    def headers() -> list[SidecarHeader]:
        with world.session.reading() as state:
            (source,) = state.view.active
            return [state.sidecar(entry).header for entry in source.kept]

    before = headers()
    forget(world, Named(event=all_events(world)[0].id))
    changed = [(old, new) for old, new in zip(before, headers(), strict=True) if old != new]
    assert len(changed) == 2  # the one that held it, and the newest, which counts the user messages
    for old, new in changed:
        assert old.nonce != new.nonce
        lasting = {name: getattr(new, name) for name in ("nonce", "count", "root", "user_messages")}
        assert msgspec.structs.replace(old, **lasting) == new
        assert (old.user_messages or 0) - (new.user_messages or 0) == 1


@pytest.mark.requirement("M18")
def test_an_event_is_known_by_the_lines_that_it_begins_with(tmp_path: Path) -> None:
    """A call that went on is told with more lines; one that shares but its first line is another."""
    event = next(event for event in all_events(followed(tmp_path)) if len(event.lines) > 1)
    held = Suppression(bytes(32)).with_digests(
        [Suppression(bytes(32)).digest(Forgotten.LINES, *beginnings_of(event)[-1])]
    )

    def with_lines(*lines: EventLine) -> Event:
        return msgspec.structs.replace(event, id="timeline-event:" + "0" * 32, lines=lines)

    last = event.lines[-1]
    more = EventLine("output", last.end + 10, 5, "A" * 43)
    assert is_event_forgotten(held, with_lines(*event.lines))
    assert is_event_forgotten(held, with_lines(*event.lines, more))
    assert not is_event_forgotten(held, with_lines(*event.lines[:-1], more))
    assert not is_event_forgotten(held, with_lines(*event.lines[:-1], msgspec.structs.replace(last, part=1)))
    assert not is_event_forgotten(held, with_lines(*event.lines[1:]))


def test_a_plan_says_that_files_are_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No leaf goes with an event that nothing was captured from."""
    world = snapshot(tmp_path)
    event = all_events(world)[0]
    planned = forget_use.plan_forgetting(world.session, Named(event=event.id), "redact")
    assert planned.targets == ()
    show_planned(planned)
    said = capsys.readouterr().out
    assert "0 leaves and 1 sidecar files" in said
    assert "1 of the files are made again with the events that stay" in said
