"""Leaves that are added up one by one while the log is read, and what a commit finds when somebody was faster."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.leaf import SALT_BYTES, Body, Leaf, SidecarEntry, seal_leaf
from tests.simulators.worlds import refusal_of
from tests.timeline.cases import Case
from tests.timeline.test_view import POLICY, digest, enrollment, folded, leaves, revocation, sidecar
from timeline import service
from timeline.errors import LogRefusedError
from timeline.fold import LogFold
from timeline.state import State, open_for_writing
from timeline.view import Standing

BODIES: tuple[Body, ...] = (
    POLICY,
    enrollment("a"),
    sidecar("a", 0),
    enrollment("b", session="other"),
    sidecar("b", 0),
    sidecar("a", 1, evicts=[digest("a0")]),
    sidecar("a", 2, evicts=[digest("a1")]),
    enrollment("c"),
    sidecar("c", 0),
    revocation("c"),
    enrollment("d"),
    sidecar("b", 1),
    enrollment("e", session="other"),
)
"""Two transcripts, enrolled again while active and after a revocation, with their sidecars mixed."""


def test_each_sidecar_names_its_own_leaf() -> None:
    """Whoever proves an event looks the leaf up there; sources may take turns."""
    first, second, third, *_ = folded(leaves(*BODIES)).sources
    assert (first.leaves, second.leaves, third.leaves) == ((2, 5, 6), (4, 11), (8,))
    assert [[entry.digest for entry in source.entries] for source in (first, second)] == [
        [digest("a0"), digest("a1"), digest("a2")],
        [digest("b0"), digest("b1")],
    ]


def test_one_enrollment_of_a_transcript_counts() -> None:
    """The newest, whatever became of those before."""
    standings = [source.standing for source in folded(leaves(*BODIES)).sources]
    assert standings == [
        Standing.REPLACED,
        Standing.REPLACED,
        Standing.REVOKED,
        Standing.ACTIVE,
        Standing.ACTIVE,
    ]


@given(st.lists(st.integers(0, len(BODIES)), max_size=4))
def test_pieces_of_any_size_add_up_to_the_same(cuts: list[int]) -> None:
    """What was added up before a commit, or by an earlier process, makes no difference."""
    everything = leaves(*BODIES)
    view, begin = folded([]), 0
    for end in (*sorted(cuts), len(everything)):
        view, begin = folded(everything[begin:end], view), end
    assert view == folded(everything)


def test_the_first_contradiction_is_the_one_that_is_told() -> None:
    """Adding never raises: a damaged log is refused for the damage first. Nothing that follows mends it."""
    fold = LogFold()
    for leaf in leaves(POLICY, revocation("a"), enrollment("a"), enrollment("a")):
        fold.add(leaf, bytes(32))
    with pytest.raises(LogRefusedError, match=r"leaf 1 \(revocation\)"):
        fold.view()


def test_a_fold_leaves_what_it_goes_on_from_alone() -> None:
    """A batch that is refused was never added to the view that the state goes on with."""
    everything = leaves(*BODIES)
    before = folded(everything[:6])
    folded(everything[6:], before)
    with pytest.raises(LogRefusedError):
        folded(everything[1:2], before)
    assert before == folded(everything[:6])


# -- in a state ------------------------------------------------------------------------------------------------


def _unenrolled() -> SidecarEntry:
    return sidecar("f", 0)


def _next_row(state: State, body: Body) -> tuple[int, bytes, bytes]:
    """A leaf of the log key that links to the log as it stands."""
    belief = state.belief
    leaf = Leaf(
        origin=state.keystore.pins.origin,
        index=belief.size,
        root=str(belief.root),
        batch_start=belief.size,
        batch_size=1,
        at=state.view.newest_ms,
        body=body,
    )
    return belief.size, bytes(SALT_BYTES), seal_leaf(leaf, state.keystore.log)


def _insert(case: Case, row: tuple[int, bytes, bytes]) -> None:
    with closing(sqlite3.connect(case.session.locations.database)) as connection, connection:
        connection.execute("INSERT INTO leaf (idx, salt, envelope) VALUES (?, ?, ?)", row)


@pytest.mark.requirement("T66", "T67")
def test_damage_behind_a_contradiction_is_told_before_it(indexed: Case) -> None:
    """What is signed by nobody is worse than what a key signed against the rules."""
    with indexed.state() as state:
        index, salt, envelope = _next_row(state, _unenrolled())
    _insert(indexed, (index, salt, envelope))
    assert refusal_of(lambda: service.index(indexed.session, indexed.world.root)) == "log-refused"
    _insert(indexed, (index + 1, salt, b"by nobody"))
    assert refusal_of(lambda: service.index(indexed.session, indexed.world.root)) == "malformed"


def test_a_commit_after_a_leaf_that_another_process_wrote_changes_nothing(indexed: Case) -> None:
    """The writer lock was another one, or none: whoever comes second is told so."""
    locations = indexed.session.locations
    with open_for_writing(locations, indexed.session.ports) as state:
        source = state.view.active[0]
        body = SidecarEntry(
            digest=digest("new"),
            source=source.enrollment.source.ref,
            segment=len(source.entries),
            enrollment_id=source.enrollment.enrollment_id,
            count=0,
            root=digest("root"),
        )
        row = _next_row(state, body)
        _insert(indexed, row)
        before = locations.head.read_bytes(), locations.anchor.read_bytes(), list(state.store.leaves())
        assert refusal_of(lambda: state.commit([body])) == "state-busy"
        assert before == (
            locations.head.read_bytes(),
            locations.anchor.read_bytes(),
            list(state.store.leaves()),
        )
