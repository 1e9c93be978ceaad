"""The rules of the views once more, as slow and plain as can be: rows, loops and lists, and nothing of the product.

The tests compare the product with this. Values are compared as Python compares them (1 is 1.0), no text is made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from tests.world.views.made import HERE, OTHER_PROJECT, PROJECT, TASK, THERE, entry, reader, recorded
from timeline.world.assertion import Assertion
from timeline.world.scope import Reader

ROUTES = {"here": HERE, "there": THERE, None: None}
VALUES = [1, 1.0, 2, {"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}, {"a": 1}]


@dataclass(frozen=True)
class Row:
    """One assertion; its place in the list of rows is its place in the log."""

    name: str
    value: Any = 1
    at: int = 0
    kind: str = "objective-measurement"
    subject: str = "build:main"
    predicate: str = "test.outcome"
    user: str = "ada"
    project: str | None = PROJECT
    privacy: str = "private"
    group: str | None = None
    route: str | None = None
    knowledge: str | None = None
    expires_at: int | None = None
    supersedes: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        return self.kind in {"objective-measurement", "explicit-user-feedback"}

    @property
    def bucket(self) -> tuple[Any, ...]:
        return (self.project, self.subject, self.predicate, self.route)


@dataclass(frozen=True)
class Who:
    """One who reads."""

    user: str = "ada"
    project: str | None = PROJECT
    task: str | None = None
    route: str | None = None
    private: bool = True
    group: str | None = None
    is_owner: bool = False

    def reader(self) -> Reader:
        return reader(
            user=self.user,
            project=self.project,
            task=self.task,
            route=ROUTES[self.route],
            private=self.private,
            group=self.group,
            is_owner=self.is_owner,
        )


WHO = [
    Who(task=TASK, route="here"),
    Who(task=TASK, route="there"),
    Who(),
    Who(private=False),
    Who(private=False, group="team"),
    Who(user="bob", task=TASK, route="here"),
    Who(project=OTHER_PROJECT),
    Who(project=None),
    Who(is_owner=True),
]


def assertions_of(rows: Iterable[Row]) -> tuple[Assertion, ...]:
    """What the product is given."""
    return recorded(
        *(
            entry(
                row.name,
                row.value,
                at=row.at,
                kind=row.kind,
                subject=row.subject,
                predicate=row.predicate,
                user=row.user,
                project=row.project,
                privacy=row.privacy,
                group=row.group,
                route=ROUTES[row.route],
                knowledge=row.knowledge,
                expires_at=row.expires_at,
                supersedes=sorted(row.supersedes),
            )
            for row in rows
        )
    )


def sees(row: Row, who: Who) -> bool:
    """Whether one who reads may see a row."""
    if row.project is not None and row.project != who.project:
        return False
    if row.privacy == "private" and not (who.private and row.user == who.user):
        return False
    if row.privacy == "group" and row.group != who.group:
        return False
    if row.route is not None:
        return row.route == who.route or (who.is_owner and who.group is None)
    if who.route is None:
        return True
    return row.knowledge is None or row.subject != who.task


@dataclass
class Found:
    """What one who reads is told, by names."""

    facts: list[list[str]] = field(default_factory=list)
    conflicts: list[list[str]] = field(default_factory=list)
    proposals: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    statuses: dict[str, tuple[str, str]] = field(default_factory=dict)


def told(rows: Sequence[Row], who: Who, now: int) -> Found:
    """All that follows from the rows for one who reads."""
    retired = {name for row in rows for name in row.supersedes}
    found = Found()
    live: list[Row] = []
    for row in sorted(rows, key=lambda row: (-row.at, row.name)):
        if not sees(row, who):
            continue
        if row.name in retired:
            found.statuses[row.name] = ("superseded", "replaced")
        elif row.expires_at is not None and now >= row.expires_at:
            found.stale.append(row.name)
            found.statuses[row.name] = ("superseded", "expired")
        elif not row.counts:
            found.proposals.append(row.name)
            found.statuses[row.name] = ("assumption", row.kind)
        else:
            live.append(row)
    for group in _compared(live, who):
        agree = all(row.value == group[0].value for row in group)
        (found.facts if agree else found.conflicts).append([row.name for row in group])
        for row in group:
            if row.knowledge is not None:
                found.statuses[row.name] = (
                    ("confirmed", "established-evidence") if agree else ("contradictory", "active-conflict")
                )
    untyped = {row.name for row in rows if row.knowledge is None}
    found.statuses = {name: status for name, status in found.statuses.items() if name not in untyped}
    at = {row.name: row.at for row in rows}
    for groups in (found.facts, found.conflicts):
        groups.sort(key=lambda names: [(-at[name], name) for name in names])
    return found


def _compared(live: list[Row], who: Who) -> list[list[Row]]:
    """Which rows are compared with each other."""
    groups: list[list[Row]] = []
    for key in sorted({(row.subject, row.predicate) for row in live}):
        bucket = [row for row in live if (row.subject, row.predicate) == key]
        bound = sorted({row.route for row in bucket if row.route is not None})
        if not who.is_owner:
            groups.append(bucket)
            continue
        groups += [
            [row for row in bucket if row.route == route or (row.route is None and row.knowledge is None)]
            for route in bound
        ]
        loose = [row for row in bucket if row.route is None]
        if loose and (not bound or any(row.knowledge is not None for row in loose)):
            groups.append(loose)
    return groups


KINDS = st.sampled_from(
    ["objective-measurement", "explicit-user-feedback", "model-suggestion", "uninterpreted-user-message"]
)


@st.composite
def bare_rows(draw: st.DrawFn, now: int) -> Row:
    """A row of any scope that supersedes nothing, and has no name yet."""
    privacy = draw(st.sampled_from(["private", "shared", "group"]))
    at = draw(st.integers(0, now))
    return Row(
        name="",
        value=draw(st.sampled_from(VALUES)),
        at=at,
        kind=draw(KINDS),
        subject=draw(st.sampled_from(["build:main", TASK])),
        predicate=draw(st.sampled_from(["test.outcome", "test.count"])),
        user=draw(st.sampled_from(["ada", "bob"])),
        project=draw(st.sampled_from([PROJECT, None, OTHER_PROJECT])),
        privacy=privacy,
        group=draw(st.sampled_from(["team", "others"])) if privacy == "group" else None,
        route=draw(st.sampled_from([None, None, "here", "there"])),
        knowledge=draw(st.sampled_from([None, "fact", "task-state"])),
        expires_at=draw(st.none() | st.integers(at + 1, now + 5)),
    )


@st.composite
def worlds(draw: st.DrawFn, now: int) -> list[Row]:
    """Some rows in the order of the log, of which established ones replace older ones of their bucket."""
    rows: list[Row] = []
    for bare in draw(st.lists(bare_rows(now), max_size=14)):
        row = replace(bare, name=f"n{len(rows)}")
        older = [other.name for other in rows if other.bucket == row.bucket and other.at <= row.at]
        if row.counts and older:
            row = replace(row, supersedes=tuple(draw(st.sets(st.sampled_from(older), max_size=3))))
        rows.append(row)
    return rows
