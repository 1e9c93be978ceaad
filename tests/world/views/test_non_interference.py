"""X12: what a reader may not see leaves no trace in any answer.

The exact rule: an answer is a function of what the reader may see and of which of it is replaced. Two logs that agree
in both give byte-equal answers, whatever else they hold, wherever it stands, and whoever has replaced what.
"""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.views.made import CONFIRMED, NOW, SUGGESTED, T0, entry, reader, recorded
from tests.world.views.plain import WHO, Row, Who, assertions_of, bare_rows, sees, worlds
from timeline.world.context import format_context, world_context
from timeline.world.errors import WorldError
from timeline.world.knowledge import format_knowledge, structured_knowledge

END = 40


def answers(rows: list[Row], who: Who, now: int, max_items: int) -> bytes:
    """All that a reader can be answered of the rows, as bytes."""
    given_ = assertions_of(rows)
    asked = who.reader()
    found = []
    for subject in (None, "build:main", "task:release"):
        context = world_context(given_, asked, now, subject=subject, max_items=max_items)
        for include_history in (False, True):
            knowledge = structured_knowledge(
                given_, asked, now, subject=subject, include_history=include_history, max_items=max_items
            )
            found.append(format_context(context, knowledge=format_knowledge(knowledge)))
    return msgspec.json.encode(found)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[Row], list[Row], Who]:
    """Two logs that differ in what one reader may not see, and in nothing else."""
    who = draw(st.sampled_from(WHO))
    one = draw(worlds(END))
    visible = [row for row in one if sees(row, who)]
    of_visible = {name for row in visible for name in row.supersedes}
    by_hidden = {name for row in one if not sees(row, who) for name in row.supersedes} - of_visible
    two: list[Row] = []
    for number, bare in enumerate(draw(st.lists(bare_rows(END), max_size=6))):
        if not sees(hidden := replace(bare, name=f"other{number}"), who):
            two.append(hidden)
    for row in visible:
        place = draw(st.integers(0, len(two)))
        known = [two.index(other) for other in two if other in visible]
        two.insert(max([place, *(index + 1 for index in known)]), row)
    # Each visible one that was replaced out of sight is replaced out of sight again, by another and elsewhere.
    for row in visible:
        if row.name in by_hidden:
            kind = draw(st.sampled_from([CONFIRMED, "objective-measurement"]))
            two.append(
                replace(row, name=f"by{row.name}", at=END + 1, kind=kind, user="carol", privacy="private",
                        group=None, expires_at=draw(st.sampled_from([None, END + 2])), supersedes=(row.name,))
            )  # fmt: skip
    return one, two, who


@pytest.mark.requirement("X12", "W59", "H-a", "H-b")
@given(pairs(), st.integers(0, END + 6), st.integers(1, 4))
def test_what_is_hidden_leaves_no_trace(
    pair: tuple[list[Row], list[Row], Who], now: int, max_items: int
) -> None:
    """Two logs that differ only in hidden assertions are answered byte by byte the same, counts and omitted too."""
    one, two, who = pair
    assert [row for row in one if sees(row, who)] == [row for row in two if sees(row, who)]
    assert answers(one, who, now, max_items) == answers(two, who, now, max_items)


@pytest.mark.requirement("X12")
@given(pairs(), st.sampled_from([-1, 0, 501]))
def test_a_refusal_tells_nothing_either(pair: tuple[list[Row], list[Row], Who], max_items: int) -> None:
    """The same question is refused in the same words, whatever is recorded."""
    said = set()
    for rows in (*pair[:2], []):
        with pytest.raises(WorldError) as refusal:
            answers(rows, pair[2], END, max_items)
        said.add((refusal.value.reason, str(refusal.value), refusal.value.hint))
    assert len(said) == 1


@pytest.mark.requirement("X12")
@pytest.mark.parametrize(
    "hidden",
    [
        {"user": "bob"},
        {"privacy": "group", "group": "others"},
        {"tenant": "work", "privacy": "shared"},
        {"project": "/srv/ada/other", "privacy": "shared"},
        {"privacy": "shared", "subject": "task:x", "knowledge": "task-state", "portal": "portal-ref:" + "3" * 32,
         "thread": "thread-ref:" + "3" * 32},
    ],
    ids=["user", "group", "tenant", "project", "route"],
)  # fmt: skip
def test_a_thousand_hidden_ones_are_as_none(hidden: dict[str, str]) -> None:
    """Facts, rivals, suggestions and stale ones: no count, no bound and no order moves."""
    seen = [entry("a", "1"), entry("b", "2", at=T0 + 1, kind=CONFIRMED), entry("c", kind=SUGGESTED)]
    crowd = [
        entry(
            f"h{number}",
            number,
            kind=[CONFIRMED, SUGGESTED][number % 2],
            at=T0 + number % 3,
            expires_at=[None, NOW - 1][number // 2 % 2],
            **hidden,
        )
        for number in range(1000)
    ]
    alone = format_context(world_context(recorded(*seen), reader(), NOW, max_items=2))
    among = recorded(*crowd[:500], seen[0], *crowd[500:], seen[1], seen[2])
    assert msgspec.json.encode(format_context(world_context(among, reader(), NOW, max_items=2))) == (
        msgspec.json.encode(alone)
    )


@pytest.mark.requirement("H-b")
def test_a_hidden_correction_is_the_one_thing_that_shows() -> None:
    """It has to: a retired value is no fact for anybody. That it is retired is all that can be told."""
    given_ = recorded(
        entry("a", "1", privacy="shared"), entry("b", "2", at=T0 + 1, user="bob", supersedes=["a"])
    )
    answer = format_context(world_context(given_, reader(), NOW))
    assert answer == format_context(world_context((), reader(), NOW))
