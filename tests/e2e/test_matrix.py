"""The detection matrix: every mix of older and newer state, head and anchor, and what must be said of it.

Moments are numbered by commit: 0 after ``init`` (one batch of two leaves), 1 after ``enroll``, 2 to 4 after each
indexed segment. ``expected`` is written from the rules of docs/design.md, not from the code.
"""

import itertools
import shutil

import pytest

from tests.simulators.worlds import (
    Moment,
    World,
    answers_of,
    contents,
    is_refused,
    search_once,
    verdict_of,
    with_folders_of,
)
from timeline import service

Grown = tuple[World, tuple[Moment, ...]]
MOMENTS = range(5)
OK, REPAIRABLE = "ok", "repairable"
LAG, BEHIND, AHEAD = "lag-beyond-one-batch", "state-behind-head", "anchor-ahead"


def expected(state: int, head: int, anchor: int) -> str:
    """Say what a mix must be found to be: in order, repairable by one batch, or refused with this reason."""
    if head < anchor:  # a crash never leaves it so: an older head, or an older state folder, was put back
        return AHEAD
    if state < head:
        return BEHIND
    if state == head == anchor:
        return OK
    if (state - head, head - anchor) in {(1, 0), (0, 1)}:
        return REPAIRABLE
    return LAG


def mixed(
    grown: Grown, world: World, state: int, head: int, anchor: int, *, sidecars: int | None = None
) -> None:
    """Put database and sidecars of one moment beside head and anchor of others."""
    _, moments = grown
    moments[state].place(world)
    shutil.copy2(moments[head].folder / "state" / "head", world.locations.head)
    shutil.copy2(moments[anchor].folder / "trust" / "anchor", world.locations.anchor)
    if sidecars is not None:
        shutil.rmtree(world.locations.sidecars)
        shutil.copytree(moments[sidecars].folder / "state" / "sidecars", world.locations.sidecars)


@pytest.fixture(scope="module")
def truths(grown: Grown, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """Give what each moment answers when all of it is of that moment."""
    origin, moments = grown
    world = origin.copy(tmp_path_factory.mktemp("truths") / "copy")
    found = []
    for moment in moments:
        moment.place(world)
        found.append(answers_of(world))
    return found


@pytest.fixture
def world(grown: Grown, tmp_path) -> World:
    """Give a copy of the grown world, to be mixed."""
    return grown[0].copy(tmp_path / "copy")


def test_the_moments_differ(truths: list[dict[str, bytes]]) -> None:
    """Five moments, five different sets of answers: an older one taken for a newer one would show."""
    assert len(truths) == len(MOMENTS)
    assert all(one != other for one, other in itertools.combinations(truths, 2))


@pytest.mark.requirement("T65", "T66", "T67", "D3", "D8")
@pytest.mark.parametrize("sidecars", ["of the state", "of the newest"])
@pytest.mark.parametrize("state", MOMENTS)
def test_every_mix_of_moments_gets_the_verdict_of_the_matrix(
    grown: Grown, world: World, truths: list[dict[str, bytes]], state: int, sidecars: str
) -> None:
    """All mixes with one state: in order, repaired by exactly one batch, or refused with its reason."""
    newest = MOMENTS[-1] if sidecars == "of the newest" else None
    for head, anchor in itertools.product(MOMENTS, MOMENTS):
        mixed(grown, world, state, head, anchor, sidecars=newest)
        verdict = expected(state, head, anchor)
        if verdict in {OK, REPAIRABLE}:
            assert verdict_of(world) == (verdict, frozenset()), (head, anchor)
            assert answers_of(world) == truths[state], (head, anchor)
            assert verdict_of(world) == (OK, frozenset()), (head, anchor)
            assert world.locations.head.read_bytes() == world.locations.anchor.read_bytes()
        else:
            before = contents(world.folder)
            assert verdict_of(world) == ("refused", frozenset({verdict})), (head, anchor)
            assert set(answers_of(world).values()) == {f"refused: {verdict}".encode()}, (head, anchor)
            assert contents(world.folder) == before, (head, anchor)


@pytest.mark.requirement("T65", "T67")
def test_a_state_whose_sidecars_are_of_an_older_moment_gives_no_answer(grown: Grown, world: World) -> None:
    """Sidecar files that the leaves name are missing: refused, whether or not a repair is due."""
    for state, (head, anchor) in itertools.product((2, 3, 4), ((0, 0), (-1, -1), (0, -1))):
        for older in range(state):
            mixed(grown, world, state, state + head, state + anchor, sidecars=older)
            assert search_once(world) == b"refused: store-file-missing"
            verdict, reasons = verdict_of(world)
            assert verdict == "refused"
            assert reasons == {"store-file-missing"}


@pytest.mark.requirement("T65", "D8")
def test_all_together_put_back_is_accepted_and_said_to_be_unseen(
    grown: Grown, world: World, truths: list[dict[str, bytes]]
) -> None:
    """State, head and anchor of one older moment are consistent; ``verify`` names this among what it cannot see."""
    for number, moment in enumerate(grown[1]):
        moment.place(world)
        report = service.verify_timeline(world.session, deep=False)
        assert report.verdict == OK
        assert report.level == "L1"
        assert any(item.startswith("complete restoration") for item in report.not_checked)
        assert answers_of(world) == truths[number]


@pytest.mark.requirement("T66")
def test_a_repair_goes_on_as_if_nothing_had_happened(
    grown: Grown, world: World, truths: list[dict[str, bytes]]
) -> None:
    """After either repair the rest of the transcript is indexed, and the end is the same."""
    for head, anchor in ((2, 2), (3, 2)):
        mixed(grown, world, 3, head, anchor)
        service.index(world.session, world.root, max_bytes=64 * 1024)
        assert verdict_of(world, deep=True) == (OK, frozenset())
        assert answers_of(world) == truths[-1]


@pytest.mark.requirement("T65", "T67")
@pytest.mark.parametrize(
    "piece", ["state", "trust", "trust/keys", "trust/pins", "trust/anchor", "state/head", "state/state.db"]
)
def test_a_piece_of_another_timeline_is_refused(small: World, world: World, piece: str) -> None:
    """Other keys, another origin, another log: nothing of a second timeline passes for this one's."""
    with_folders_of(world, small, piece)
    assert is_refused(search_once(world))
    assert verdict_of(world)[0] == "refused"


@pytest.mark.requirement("T65")
def test_two_logs_with_the_same_keys_are_an_equivocation(grown: Grown, world: World, tmp_path) -> None:
    """One timeline goes on in two copies: the anchor of the one refuses the other, and names the fork."""
    _, moments = grown
    moments[2].place(world)
    service.index(world.session, world.root, max_bytes=64 * 1024)
    other = world.folder / "trust"
    shutil.rmtree(other)
    shutil.copytree(moments[4].folder / "trust", other)
    assert search_once(world) == b"refused: equivocation"
    assert verdict_of(world) == ("refused", frozenset({"equivocation"}))
