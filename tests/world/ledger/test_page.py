"""A page over all subjects: the newest that a reader may see, what is left out of those, and nothing of the rest."""

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecars.assertion import AssertionEntry
from tests.simulators.worlds import NOW_MS, World
from tests.world.ledger.ledgers import OBSERVED, OTHER_PROJECT, PROJECT, TENANT, entry, names, reading, record
from timeline.world import ledger
from timeline.world.assertion import RouteRefs
from timeline.world.scope import Reader, is_visible

HERE = RouteRefs("portal-ref:" + "a" * 32, "thread-ref:" + "a" * 32)
THERE = RouteRefs("portal-ref:" + "a" * 32, "thread-ref:" + "b" * 32)
TASK = "task:release"
ME = Reader(TENANT, "dev", PROJECT, TASK, HERE)


def page(world: World, reader: Reader = ME, limit: int = 100) -> ledger.Page:
    """Read a page."""
    with reading(world) as state:
        return ledger.read_visible(state, reader, limit=limit)


def about(number: int, **fields: object) -> AssertionEntry:
    """One of many subjects, the newer the higher its number."""
    return entry(f"n{number}", subject=f"suite:n{number}", observed_at=OBSERVED + number, **fields)


def test_the_newest_come_first_and_the_rest_is_counted(world: World) -> None:
    """By observation, not by the order of the log; of the project and of none."""
    record(world, about(2), about(0, project=None), about(3), about(1))
    found = page(world, limit=3)
    assert (names(found.assertions), found.left_out) == (["n3", "n2", "n1"], 1)
    assert page(world, limit=4).left_out == 0


def test_what_is_replaced_is_neither_shown_nor_counted(world: World) -> None:
    """By whomever."""
    record(world, entry("a"), entry("b", privacy="private", user="other", supersedes=["a"]))
    assert page(world) == ledger.Page((), 0)


HIDDEN = {
    "tenant": {"tenant": "other"},
    "project": {"project": OTHER_PROJECT},
    "user": {"privacy": "private", "user": "other"},
    "group": {"privacy": "group", "group": "team"},
    "route": {"portal": THERE.portal, "thread": THERE.thread},
    "without a route": {"subject": TASK, "knowledge": "fact"},
}


@pytest.mark.requirement("X12", "W50", "W51", "W52")
@pytest.mark.parametrize("scope", HIDDEN)
def test_what_is_hidden_leaves_no_trace(world: World, scope: str) -> None:
    """Not in what is shown, not in what is counted, not by taking another's place."""
    shown = [about(1), about(2), about(3)]
    record(world, *shown)
    before = [page(world, limit=limit) for limit in (1, 2, 3)]
    hidden = [
        entry(f"h{n}", **{"subject": f"suite:n{n}", "observed_at": OBSERVED + 9, "value": n, **HIDDEN[scope]})
        for n in range(4)
    ]
    record(world, *hidden)
    assert [page(world, limit=limit) for limit in (1, 2, 3)] == before


def test_a_conflict_is_never_cut_off(world: World) -> None:
    """An older value that still stands is on the page though it is full; an expired one is no conflict."""
    record(
        world,
        entry("old", value="fails"),
        *(about(number) for number in range(1, 4)),
        entry("stale", value="skipped", expires_at=NOW_MS),
        entry("suggested", value="maybe", evidence_kind="model-suggestion"),
        entry("again", value="passes", observed_at=OBSERVED + 8),
        entry("new", value="passes", observed_at=OBSERVED + 9),
    )
    found = page(world, limit=1)
    assert names(found.assertions) == ["new", "old"]
    assert found.left_out == 6


@pytest.mark.requirement("W3", "W19")
@pytest.mark.parametrize("room", [None, 1])
def test_suggestions_crowd_out_nothing_that_is_established(
    world: World, monkeypatch: pytest.MonkeyPatch, room: int | None
) -> None:
    """However many newer ones there are: more than are counted, too."""
    monkeypatch.setattr(ledger, "LEFT_OUT_COUNTED_MAX", 5)
    monkeypatch.setattr(ledger, "VALUES_MAX", 1)
    suggested = [about(number, evidence_kind="model-suggestion") for number in range(4, 30)]
    record(world, about(1), about(2), *suggested)
    with reading(world) as state:
        found = ledger.read_visible(state, ME, limit=4, suggestions_max=room)
    some = ["n29", "n28"][:room]
    assert (names(found.assertions), found.left_out) == ([*some, "n2", "n1"], 5)


def test_more_than_can_be_counted_is_said_to_be_so_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count is bounded, and so is the reading."""
    monkeypatch.setattr(ledger, "LEFT_OUT_COUNTED_MAX", 5)
    record(world, *(about(number) for number in range(20)))
    assert page(world, limit=1).left_out == 5


entries = st.lists(
    st.tuples(
        st.sampled_from(["suite:a", "suite:b", TASK]),
        st.integers(0, 2),
        st.sampled_from(["shared", "private", "group"]),
        st.sampled_from(["dev", "other"]),
        st.sampled_from([None, HERE, THERE]),
        st.sampled_from([None, PROJECT, OTHER_PROJECT]),
        st.sampled_from([None, "fact"]),
        st.sampled_from(["objective-measurement", "model-suggestion"]),
        st.integers(0, 3),
    ),
    max_size=12,
)
readers = st.sampled_from(
    [
        ME,
        Reader(TENANT, "dev", PROJECT),
        Reader(TENANT, "dev", PROJECT, private=False, group="team"),
        Reader(TENANT, "dev", PROJECT, is_owner=True),
        Reader(TENANT, "other", OTHER_PROJECT, TASK, THERE),
        Reader(TENANT, "dev", None),
    ]
)


@pytest.mark.requirement("X12")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, readers, st.integers(1, 5))
def test_a_page_is_what_a_plain_reading_gives(
    begun: World,
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[object, ...]],
    reader: Reader,
    limit: int,
) -> None:
    """The same as filtering everything there is; and as if what is hidden had never been recorded."""
    number = itertools.count()
    recorded = [
        entry(
            f"e{next(number)}",
            subject=subject,
            value=value,
            privacy=privacy,
            user=user,
            portal=route and route.portal,
            thread=route and route.thread,
            project=project,
            knowledge=knowledge,
            evidence_kind=kind,
            group="team" if privacy == "group" else None,
            observed_at=OBSERVED + later,
        )
        for subject, value, privacy, user, route, project, knowledge, kind, later in made
    ]
    folder: Path = tmp_path_factory.mktemp("page")
    whole, seen = begun.copy(folder / "whole"), begun.copy(folder / "seen")
    visible = [one for one in recorded if is_visible(one, reader)]
    for world, those in ((whole, recorded), (seen, visible)):
        if those:
            record(world, *those)
    found, alone = page(whole, reader, limit), page(seen, reader, limit)
    assert names(found.assertions) == names(alone.assertions)
    assert found.left_out == alone.left_out == len(visible) - len(found.assertions)
    newest = sorted(visible, key=lambda one: (one.observed_at, recorded.index(one)), reverse=True)
    held = [one for one in newest if one.is_established]
    suggested = [one for one in newest if not one.is_established]
    room = limit - limit // 2
    expected = [one for one in newest if one in held[:limit] or one in suggested[:room]][:limit]
    assert {one.entry.id for one in found.assertions} >= {one.id for one in expected}
    for subject in {one.entry.subject for one in found.assertions}:
        values = {one.value for one in held if one.subject == subject}
        shown = {
            one.entry.value
            for one in found.assertions
            if one.entry.subject == subject and one.entry.is_established
        }
        assert shown == values
