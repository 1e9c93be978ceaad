"""A followed session: growth is taken up, everything else is refused by its own reason, and nothing is pretended."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.digest import Digest
from tests.e2e.offers import RUNS, TEST_RUNS, find, offer
from tests.simulators import growth
from tests.simulators.growth import Growing, follow
from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import (
    NOW_MS,
    World,
    consent,
    event_ids,
    leaves_of,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import answers, service
from timeline.errors import SourceError
from timeline.limits import FOLLOW_SECONDS_DEFAULT, KIB, RECALL_SECONDS_DEFAULT
from timeline.search import Answer, Status
from timeline.terms import parse_query

SECOND_MS = 1000
TEST_RUNS_OF_CARGO = parse_query(("cargo", "passed"))


@pytest.fixture
def world(host: World) -> World:
    """Give a timeline after ``init``, with a home of its own."""
    return host


def state_of(growing: Growing) -> str:
    """What ``timeline sources`` says of the source."""
    found = growing.status()
    return found.state if found.reason is None else f"{found.state} ({found.reason})"


def seen(growing: Growing) -> Answer:
    """Search the source."""
    return find(growing.world, growing.ref)


def lines_of(answer: Answer) -> set[tuple[object, ...]]:
    """Which lines of the transcript the cards come from, and what they say."""
    return {
        (card.event.lines, card.event.outcome, card.event.passed, card.event.failed) for card in answer.cards
    }


# -- growth ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T13", "T14", "X4")
@pytest.mark.parametrize("step", [1_100, 2_500, 9_000])
def test_a_followed_session_has_at_each_step_the_events_of_a_snapshot(world: World, step: int) -> None:
    """Cut anywhere, also inside a line and between a call and its result: what is found is what stands there."""
    header = rollout_of(world, runs=3, filler_bytes=3_000).to_bytes().index(b"\n") + 1
    growing = follow(world, first=header, runs=3, filler_bytes=3_000)
    while True:
        result = growing.index()
        assert (result.complete, result.indexed) == (True, growing.written)
        twin = rollout_of(world, runs=3, filler_bytes=3_000)
        snapshot = _snapshot_answer(world, twin, growing.path.read_bytes())
        answer = seen(growing)
        assert lines_of(answer) == lines_of(snapshot)
        assert [card.prefix_pending for card in answer.cards] == [False] * len(answer.cards)
        if growing.written == len(growing.whole):
            break
        growing.write(step)
    assert len(answer.cards) == 3
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def _snapshot_answer(world: World, rollout: CodexRollout, content: bytes) -> Answer:
    """Index the same bytes as a snapshot, in a timeline of its own."""
    folder = world.folder.parent / f"twin-{len(content)}"
    twin = world.copy(folder)
    twin = World(twin.folder, folder / "home")
    (twin.home / "project").mkdir(parents=True)
    (twin.home / ".codex" / "sessions").mkdir(parents=True)
    ref = consent(twin, rollout, write_transcript(twin, rollout, content))
    service.index(twin.session, twin.root)
    return find(twin, ref)


@pytest.mark.requirement("T13")
def test_growth_that_is_not_read_yet_is_said_and_hides_nothing(world: World) -> None:
    """Cards come from what was committed, marked; a miss is no miss; reading on settles both."""
    growing = follow(world, first=0, runs=2)
    growing.write(len(growing.whole) // 2)
    growing.index()
    before = seen(growing)
    assert before.status is Status.FOUND
    growing.write(len(growing.whole))
    assert state_of(growing) == "grown"
    answer = seen(growing)
    assert lines_of(answer) == lines_of(before)
    assert [card.prefix_pending for card in answer.cards] == [True]
    missed = service.find(world.session, world.root, query=TEST_RUNS_OF_CARGO)[0]
    assert (missed.status, missed.reason) == (Status.INDEX_UNVERIFIED, "source-grown")
    growing.index()
    assert state_of(growing) == "current"
    assert [card.prefix_pending for card in seen(growing).cards] == [False, False]
    assert service.find(world.session, world.root, query=TEST_RUNS_OF_CARGO)[0].status is Status.NOT_FOUND


@pytest.mark.requirement("T14", "T19")
def test_each_call_extends_once_and_proves_no_more_than_its_bytes(world: World) -> None:
    """The proof of a longer file is spread over calls, goes on where it stopped, and is said to be pending."""
    growing = follow(world, first=300 * KIB, runs=12, filler_bytes=40_000)
    growing.index(max_bytes=64 * KIB)
    size = growing.written
    growing.write(20 * KIB)
    proven = []
    while not (result := growing.index(max_bytes=64 * KIB)).source.is_prefix_proven:
        proven.append(result.source.proven)
        answer = seen(growing)
        found = answers.search_answer(answer, _view(world), at_ms=None, query=None)
        assert found["prefixProof"] == "prefix-proof-pending"
        assert {card["prefixProof"] for card in found["events"]} == {"prefix-proof-pending"}
        assert any("prefix-proof-pending" in item for item in _not_checked(world))
    steps = [end - begin for begin, end in zip([0, *proven], [*proven, size], strict=True)]
    assert len(steps) >= 4
    assert max(steps) <= 64 * KIB
    assert result.source.newest.number == 1
    assert [card.prefix_pending for card in seen(growing).cards] == [False] * len(seen(growing).cards)
    assert not any("prefix-proof-pending" in item for item in _not_checked(world))


@pytest.mark.requirement("T14")
def test_a_proof_that_was_begun_ends_though_the_file_goes_on_growing(world: World) -> None:
    """Growing at every call, the whole file is compared all the same, round after round."""
    growing = follow(world, first=200 * KIB, runs=40, filler_bytes=20_000)
    growing.index(max_bytes=64 * KIB)
    ends = set()
    for _ in range(12):
        growing.write(8 * KIB)
        source = growing.index(max_bytes=64 * KIB).source
        assert source.proof is not None
        if source.proof.proven == source.generations[source.proof.generation - 1].size:
            ends.add(source.proof.generation)
    assert len(ends) >= 2


def _view(world: World) -> "service.LogView":
    return service.find(world.session, world.root, query=TEST_RUNS)[1]


def _not_checked(world: World) -> list[str]:
    return service.verify_timeline(world.session, deep=True).not_checked


# -- everything else -------------------------------------------------------------------------------------------

MIDDLE = 40_000
"""A place behind the first 4 KiB and before the tail that is compared at every use."""

MISHAPS: dict[str, tuple[Callable[[Path], None], str, Status, bool]] = {
    "changed in place": (
        lambda path: growth.overwrite(path, MIDDLE, keep_time=False),
        "transcript-changed-without-growth",
        Status.STALE,
        False,
    ),
    "changed in place, old time put back": (
        lambda path: growth.overwrite(path, MIDDLE, keep_time=True),
        "transcript-changed-without-growth",
        Status.STALE,
        False,
    ),
    "copied over": (growth.copy_over, "transcript-changed-without-growth", Status.STALE, False),
    "renamed and back": (growth.rename_and_back, "transcript-changed-without-growth", Status.STALE, False),
    "cut by a byte": (
        lambda path: growth.truncate(path, path.stat().st_size - 1),
        "transcript-truncated",
        Status.STALE,
        True,
    ),
    "emptied": (lambda path: growth.truncate(path, 0), "transcript-truncated", Status.STALE, True),
    "compressed and back": (growth.replace, "transcript-replaced", Status.STALE, True),
    "renamed": (
        lambda path: path.rename(path.with_name("away")),
        "transcript-missing",
        Status.SOURCE_GONE,
        False,
    ),
    "compressed": (growth.compress, "transcript-compressed", Status.SOURCE_GONE, False),
    "cut and grown": (
        lambda path: _cut_and_grow(path, 90_000),
        "transcript-rewritten",
        Status.STALE,
        True,
    ),
    "changed at its end and grown": (
        lambda path: _change_and_grow(path, path.stat().st_size - 10),
        "transcript-rewritten",
        Status.STALE,
        True,
    ),
    "changed at its beginning and grown": (
        lambda path: _change_and_grow(path, 5),
        "transcript-replaced",
        Status.STALE,
        True,
    ),
    "a second name": (
        lambda path: path.with_name("second").hardlink_to(path),
        "transcript-linked",
        Status.STALE,
        False,
    ),
}
"""What happens, the reason, the status of a search, and whether ``index`` ends the following for good."""


def _cut_and_grow(path: Path, size: int) -> None:
    growth.truncate(path, size)
    with path.open("ab") as file:
        file.write(b"x" * 300_000)


def _change_and_grow(path: Path, offset: int) -> None:
    growth.overwrite(path, offset, keep_time=False)
    with path.open("ab") as file:
        file.write(b"{}\n")


@pytest.mark.requirement("T12", "T13", "T14", "T69")
@pytest.mark.parametrize("name", MISHAPS)
def test_whatever_is_no_growth_is_refused_by_its_reason(world: World, name: str) -> None:
    """No card, the reason, a hint; ``index`` says the same, and where the file is another one, for good."""
    happen, reason, status, for_good = MISHAPS[name]
    growing = follow(world, first=300 * KIB, runs=12, filler_bytes=30_000)
    growing.index()
    growing.write(2 * KIB)
    growing.index()
    assert seen(growing).status is Status.FOUND
    saved, mode = growing.path.read_bytes(), growing.path.stat()
    happen(growing.path)
    answer = seen(growing)
    assert (answer.status, answer.reason, answer.cards, bool(answer.hint)) == (status, reason, (), True)
    leaves = leaves_of(world)
    with pytest.raises(SourceError) as caught:
        growing.index()
    assert (caught.value.reason, bool(caught.value.hint)) == (reason, True)
    assert len(leaves_of(world)) - len(leaves) == for_good
    assert verdict_of(world)[0] == "ok"
    if for_good:  # nobody can put it right again, not even with the very bytes
        growing.path.write_bytes(saved)
        assert refusal_of(growing.index) == reason
        assert (seen(growing).status, seen(growing).reason) == (Status.STALE, reason)
        assert state_of(growing) == f"stale ({reason})"
        assert growing.path.stat().st_size == mode.st_size
    other = offer(world, 99, write_transcript)
    assert other.result is not None
    assert len(find(world, other.result.source.enrollment.source.ref).cards) == RUNS


@pytest.mark.requirement("T13")
@pytest.mark.parametrize("keep_time", [False, True])
def test_a_change_before_the_tail_is_found_by_the_proof_once_the_file_has_grown(
    world: World, keep_time: bool
) -> None:
    """Pending says so until then; the call that compares those bytes ends the following; deep verify says it too."""
    growing = follow(world, first=1_024 * KIB, runs=30, filler_bytes=40_000)
    growing.index()
    growth.overwrite(growing.path, 300 * KIB, keep_time=keep_time)
    assert seen(growing).status is Status.STALE
    growing.write(1 * KIB)
    answer = seen(growing)
    assert answer.status is Status.FOUND
    assert {card.prefix_pending for card in answer.cards} == {True}
    _assert_lines_stand(growing, answer)
    assert verdict_of(world, deep=True) == ("refused", frozenset({"transcript-rewritten"}))
    calls = 0
    while refusal_of(lambda: growing.index(max_bytes=256 * KIB)) is None:
        calls += 1
        assert {card.prefix_pending for card in seen(growing).cards} == {True}
    assert calls == 1  # the changed byte stands in the second of four chunks
    assert (seen(growing).status, seen(growing).reason) == (Status.STALE, "transcript-rewritten")
    assert verdict_of(world, deep=True)[0] == "ok"
    assert any("transcript-rewritten, on record" in item for item in _not_checked(world))
    (status,) = service.list_sources(world.session, world.root)
    assert len(event_ids(world)) == status.events


def _assert_lines_stand(growing: Growing, answer: Answer) -> None:
    """Every line that a card comes from is in the file as it was."""
    content = growing.path.read_bytes()
    for card in answer.cards:
        for line in card.event.lines:
            found = content[line.offset : line.end]
            assert str(Digest(hashlib.sha256(found).digest())) == line.sha256
            assert found == growing.whole[line.offset : line.end]


@pytest.mark.requirement("T13")
def test_the_beginning_of_an_unfinished_line_is_compared_before_it_is_read_again(world: World) -> None:
    """A line longer than the tail: what was committed of it must stand, or no event is made of it."""
    growing = follow(world, first=0, runs=1, filler_bytes=700_000)
    growing.write(650_000)
    assert growing.index().pending > 500_000
    growth.overwrite(growing.path, 200_000, keep_time=False)
    growing.write(len(growing.whole))
    leaves = leaves_of(world)
    assert refusal_of(growing.index) == "transcript-rewritten"
    assert len(leaves_of(world)) == len(leaves) + 1  # what was found, and no generation


# -- consent ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T14")
def test_following_ends_and_the_newest_generation_is_a_frozen_snapshot(world: World) -> None:
    """After twelve hours nothing is extended; unchanged it is recalled for thirty days, grown it is not."""
    growing = follow(world, first=12_000, filler_bytes=3_000)
    growing.index()
    growing.write(8_000)
    growing.index()
    cards = lines_of(seen(growing))
    world.clock.at_ms = NOW_MS + FOLLOW_SECONDS_DEFAULT * SECOND_MS - 1
    assert state_of(growing) == "current"
    world.clock.at_ms += 1
    assert lines_of(seen(growing)) == cards
    assert growing.index().operations == 0
    growing.write(1_000)
    answer = seen(growing)
    assert (answer.status, answer.reason) == (Status.STALE, "transcript-snapshot-renewal-required")
    leaves = leaves_of(world)
    assert refusal_of(growing.index) in {None, "transcript-snapshot-renewal-required"}
    assert leaves_of(world) == leaves
    world.clock.at_ms = NOW_MS + RECALL_SECONDS_DEFAULT * SECOND_MS
    assert refusal_of(lambda: seen(growing)) == "private-enrollment-expired"


@pytest.mark.requirement("T14")
def test_what_a_frozen_generation_still_holds_may_be_read(world: World) -> None:
    """A call that was cut short is finished after following has ended, up to the generation and no further."""
    growing = follow(world, first=200 * KIB, runs=8, filler_bytes=30_000)
    growing.index(max_bytes=64 * KIB, operations=2)
    world.clock.at_ms = NOW_MS + FOLLOW_SECONDS_DEFAULT * SECOND_MS
    result = growing.index(max_bytes=64 * KIB)
    assert (result.complete, result.source.newest.number) == (True, 0)


@pytest.mark.requirement("T13", "T14")
def test_without_the_owners_word_nothing_is_followed(world: World) -> None:
    """A snapshot that grows is refused as ever: the mode is in the leaf that the owner's key signed."""
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    ref = consent(world, rollout, path)
    service.index(world.session, world.root)
    with path.open("ab") as file:
        file.write(b"{}\n")
    leaves = leaves_of(world)
    (found,) = service.index(world.session, world.root)
    assert not isinstance(found, tuple)
    assert (found.operations, found.source.newest.number) == (0, 0)
    assert find(world, ref).reason == "transcript-snapshot-renewal-required"
    assert leaves_of(world) == leaves


@pytest.mark.requirement("T14")
def test_a_renewed_consent_begins_anew(world: World) -> None:
    """After the end of a following the owner enrolls again: another source, and the old one's files are gone."""
    growing = follow(world, first=8_000)
    growing.index()
    growth.truncate(growing.path, 7_000)
    assert refusal_of(growing.index) == "transcript-truncated"
    rollout = rollout_of(world, runs=4)
    growing.path.write_bytes(growing.whole)
    ref = consent(world, rollout, growing.path, turn="turn-2", follow=True)
    service.index(world.session, world.root)
    assert len(find(world, ref).cards) == 4
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T11", "T14")
def test_a_session_is_followed_from_its_first_byte(world: World) -> None:
    """Enrolled while its file was empty: refused as no transcript yet, then taken up."""
    growing = follow(world, first=0)
    assert refusal_of(growing.index) == "header-incomplete"
    growing.write(700)
    assert refusal_of(growing.index) == "header-incomplete"
    growing.write(len(growing.whole))
    assert growing.index().events == 4
    assert seen(growing).status is Status.FOUND


# -- while it is written -----------------------------------------------------------------------------------------


@pytest.mark.requirement("T12", "T19")
def test_a_host_that_writes_while_it_is_read_is_taken_up_by_the_next_call(world: World) -> None:
    """Between two operations the file grows: the call ends where it began to, and nothing is lost."""
    growing = follow(world, first=100 * KIB, runs=12, filler_bytes=30_000)

    def write(_done: int, _size: int) -> None:
        growing.write(10 * KIB)

    (result,) = service.index(world.session, world.root, max_bytes=64 * KIB, progress=write)
    assert not isinstance(result, tuple)
    assert result.source.newest.number == 1
    assert result.indexed < growing.written
    growing.write(len(growing.whole))
    assert growing.index().events == 12
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T12", "T13")
def test_a_cut_while_it_is_read_commits_nothing_more(world: World) -> None:
    """What was committed before stays, and the finding is recorded."""
    growing = follow(world, first=200 * KIB, runs=12, filler_bytes=30_000)

    def cut(done: int, _size: int) -> None:
        if done == 64 * KIB:
            growth.truncate(growing.path, 50 * KIB)

    (found,) = service.index(world.session, world.root, max_bytes=64 * KIB, progress=cut)
    assert isinstance(found, tuple)
    assert isinstance(found[1], SourceError)
    assert found[1].reason == "transcript-truncated"
    assert state_of(growing) == "stale (transcript-truncated)"
    assert verdict_of(world)[0] == "ok"
