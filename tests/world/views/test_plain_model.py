"""Ledger, time and resolution in any order, against the plain model; and the same for whole random worlds."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.world.views.made import names
from tests.world.views.plain import WHO, Row, Who, assertions_of, bare_rows, told, worlds
from timeline.world.context import world_context
from timeline.world.knowledge import structured_knowledge
from timeline.world.supersession import replaced

END = 60


def compare(rows: list[Row], who: Who, now: int) -> None:
    """The product says what the model says, of collections, statuses and counts."""
    given_ = assertions_of(rows)
    expected = told(rows, who, now)
    context = world_context(given_, who.reader(), now)
    assert [names(fact.assertions) for fact in context.facts] == expected.facts
    assert [names(conflict.assertions) for conflict in context.conflicts] == expected.conflicts
    assert names(context.proposals) == expected.proposals
    assert names(context.stale) == expected.stale
    assert context.requires_resolution == bool(expected.conflicts)
    knowledge = structured_knowledge(given_, who.reader(), now, include_history=True)
    assert {
        item.assertion.id.removeprefix("assertion:"): (item.status, item.reason)
        for item in (*knowledge.current, *knowledge.history)
    } == expected.statuses
    assert len(knowledge.current) + len(knowledge.history) == len(expected.statuses)
    assert all(item.status == "superseded" for item in knowledge.history)
    assert all(item.status != "superseded" for item in knowledge.current)
    for status in ("confirmed", "assumption", "contradictory", "superseded"):
        count = sum(found == status for found, _ in expected.statuses.values())
        assert getattr(knowledge.counts, status) == count


@pytest.mark.requirement("W4", "W10", "W11", "W12", "W13", "W14", "W15", "W24", "H-a", "H-b", "H-g")
@given(worlds(END), st.sampled_from(WHO), st.integers(0, END + 6))
def test_any_world_stands_as_the_plain_model_says(rows: list[Row], who: Who, now: int) -> None:
    """Every collection and status, for every reader, at every moment."""
    compare(rows, who, now)


class Ledger(RuleBasedStateMachine):
    """Recording, replacing, resolving and waiting."""

    def __init__(self) -> None:
        """Begin with nothing recorded."""
        super().__init__()
        self.rows: list[Row] = []
        self.now = 10

    def append(self, row: Row, supersedes: list[str]) -> None:
        """Record a row as it is observed now."""
        self.rows.append(
            replace(
                row,
                name=f"n{len(self.rows)}",
                at=self.now,
                expires_at=None if row.expires_at is None else self.now + 1 + row.expires_at % 7,
                supersedes=tuple(supersedes),
            )
        )

    @rule(row=bare_rows(5))
    def record(self, row: Row) -> None:
        """Say something new, of whatever scope."""
        self.append(row, [])

    @precondition(lambda self: self.rows)
    @rule(row=bare_rows(5), data=st.data())
    def supersede(self, row: Row, data: st.DataObject) -> None:
        """Replace some of a bucket, replaced, expired and hidden ones too."""
        old = data.draw(st.sampled_from(self.rows))
        bucket = [other.name for other in self.rows if other.bucket == old.bucket]
        some = data.draw(st.sets(st.sampled_from(bucket), min_size=1, max_size=3))
        project, subject, predicate, route = old.bucket
        new = replace(row, project=project, subject=subject, predicate=predicate, route=route)
        self.append(replace(new, kind="explicit-user-feedback"), sorted(some))

    @precondition(lambda self: self.rows)
    @rule(row=bare_rows(5), data=st.data())
    def resolve(self, row: Row, data: st.DataObject) -> None:
        """Replace everything established and active of one bucket, without an end: it alone is active then."""
        old = data.draw(st.sampled_from(self.rows))
        retired = set(replaced(assertions_of(self.rows)))
        rivals = [
            other.name
            for other in self.rows
            if other.bucket == old.bucket and other.counts and f"assertion:{other.name}" not in retired
        ]
        project, subject, predicate, route = old.bucket
        new = replace(
            row, project=project, subject=subject, predicate=predicate, route=route, expires_at=None
        )
        self.append(replace(new, kind="objective-measurement"), rivals)
        after = set(replaced(assertions_of(self.rows)))
        left = [
            other.name
            for other in self.rows
            if other.bucket == old.bucket and other.counts and f"assertion:{other.name}" not in after
        ]
        assert left == [self.rows[-1].name]

    @rule(by=st.sampled_from([0, 1, 3, 7]))
    def wait(self, by: int) -> None:
        """Let time pass."""
        self.now += by

    @invariant()
    def stands_as_the_model_says(self) -> None:
        """For each reader."""
        for who in WHO:
            compare(self.rows, who, self.now)

    @invariant()
    def nothing_comes_back(self) -> None:
        """What was replaced once is replaced for good."""
        retired = set(replaced(assertions_of(self.rows)))
        assert {f"assertion:{name}" for row in self.rows for name in row.supersedes} == retired


@pytest.mark.requirement("W5", "W9", "W11", "W12", "W18", "W24", "H-a", "H-b", "H-i")
def test_any_history_stands_as_the_plain_model_says() -> None:
    """In any order of recording, replacing, resolving and waiting, after every step."""
    run_state_machine_as_test(
        Ledger, settings=settings(max_examples=25, stateful_step_count=20, deadline=None)
    )
