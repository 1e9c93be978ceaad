"""The ledger against a plain list: whatever is recorded, refused, reopened, dropped and made anew."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sidecars.assertion import AssertionEntry
from tests.simulators.worlds import NOW_MS, new_world, refusal_of
from tests.world.ledger.ledgers import PROJECT, SUBJECT, TENANT, entry, record
from timeline.assertion_account import account_assertions
from timeline.world import ledger

NAMES = "abcdef"
kinds = st.sampled_from(["objective-measurement", "explicit-user-feedback"])


class LedgerMachine(RuleBasedStateMachine):
    """``model`` is what was recorded, in order: entry and place."""

    @initialize()
    def begin(self) -> None:
        """Make a timeline."""
        self.folder = Path(tempfile.mkdtemp(prefix="ledger-run-"))
        self.world = new_world(self.folder / "world")
        self.model: list[AssertionEntry] = []

    def teardown(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule(
        name=st.sampled_from(NAMES),
        kind=kinds,
        value=st.integers(0, 1),
        predicate=st.sampled_from(["test.result", "test.other"]),
        others=st.sets(st.sampled_from(NAMES), max_size=3),
        age=st.integers(0, 2),
    )
    def record(self, name: str, kind: str, value: int, predicate: str, others: set[str], age: int) -> None:
        """Record one; the model says what has to come of it."""
        new = entry(
            name,
            evidence_kind=kind,
            value=value,
            predicate=predicate,
            supersedes=sorted(others - {name}),
            observed_at=NOW_MS - age,
        )
        before = {one.id: (one, place) for place, one in enumerate(self.model)}
        expected = None
        if new.id in before:
            expected = None if before[new.id][0] == new else "world-assertion-id-reused"
        else:
            for named in new.supersedes:
                older = before.get(named)
                if (
                    older is None
                    or older[0].predicate != new.predicate
                    or (older[0].observed_at, older[1]) >= (new.observed_at, len(self.model))
                ):
                    expected = "world-supersession-invalid"
        assert refusal_of(lambda: record(self.world, new)) == expected
        if expected is None and new.id not in before:
            self.model.append(new)

    @rule()
    def drop(self) -> None:
        """Somebody removes the table's rows: a reader refuses until something is recorded."""
        with closing(sqlite3.connect(self.world.locations.database)) as database, database:
            gone = database.execute("DELETE FROM assertion").rowcount
        if gone:
            with self.world.session.reading() as state:
                assert refusal_of(lambda: ledger.find(state, "assertion:a")) == "index-unverified"
        with self.world.session.writing() as state:
            account_assertions(state)

    @invariant()
    def everything_is_there_in_order(self) -> None:
        """What was recorded, what is replaced, and nothing else."""
        replaced = {named for one in self.model for named in one.supersedes}
        with self.world.session.reading() as state:
            found = ledger.read_subject(state, SUBJECT, tenant=TENANT, project=PROJECT)
            assert [one.entry for one in found] == self.model
            assert [one.leaf for one in found] == sorted(one.leaf for one in found)
            current = ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT)
            assert {one.id for one in current} == {one.id for one in self.model} - replaced


LedgerMachine.TestCase.settings = settings(max_examples=12, stateful_step_count=12, deadline=None)
TestLedgerMachine = pytest.mark.requirement("W5", "W6", "W7", "W8", "W9")(LedgerMachine.TestCase)
