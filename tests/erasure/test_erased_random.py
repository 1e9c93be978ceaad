"""Random logs, random erasures: every proof of everything verifies as before, and nothing goes unstated."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecars.erased import ERASED_SALT, stored_hash
from sidecars.errors import SidecarError
from sidecars.merkle import (
    consistency_proof,
    inclusion_proof,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from sidecars.trust import Consistent
from tests.erasure.erased_logs import erasure, examined, without
from tests.sidecars.samples import digest_text, make_enrollment
from tests.sidecars.simulator import LogSimulator, View, entry


@dataclass(frozen=True)
class Told:
    """A log, the leaves that its erasures name, and its view and leaf hashes after each commit."""

    log: LogSimulator
    named: frozenset[int]
    moments: tuple[tuple[View, tuple[bytes, ...]], ...]


def hashes_of(view: View) -> tuple[bytes, ...]:
    """Give the hash of every leaf, from what is stored of it."""
    return tuple(stored_hash(*row) for row in view.leaves)


@st.composite
def told_logs(draw: st.DrawFn) -> Told:
    """Commits of up to three leaves; now and then an erasure of some that are left."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    left, named = [2], set[int]()
    moments = []
    for number in range(draw(st.integers(2, 7))):
        chosen: Sequence[int] = ()
        if number and left:
            chosen = sorted(draw(st.sets(st.sampled_from(left), max_size=4)))
        bodies = [entry((number, place)) for place in range(draw(st.integers(0 if chosen else 1, 3)))]
        place = log.frontier.size
        if chosen:
            at = draw(st.integers(0, len(bodies)))
            bodies[at:at] = [erasure(*chosen, plan=digest_text(number))]  # type: ignore[list-item]  # of another kind
            left = [index for index in left if index not in chosen]
            named.update(chosen)
        else:
            at = -1
        left += [place + offset for offset in range(len(bodies)) if offset != at]
        log.commit(bodies)
        moments.append((log.view, hashes_of(log.view)))
    return Told(log, frozenset(named), tuple(moments))


@pytest.mark.requirement("M19", "X11")
@settings(max_examples=40, deadline=None)
@given(told_logs(), st.data())
def test_every_proof_of_every_log_verifies_as_before(told: Told, data: st.DataObject) -> None:
    """Inclusion and consistency, made before the erasures and after, of leaves that are left and of those that went."""
    some = frozenset(data.draw(st.sets(st.sampled_from(sorted(told.named))))) if told.named else frozenset()
    newest = without(told.log.view, some)
    hashes = hashes_of(newest)
    root = root_of(hashes)
    for view, before in told.moments:
        size = len(view.leaves)
        assert hashes[:size] == before
        verify_consistency(size, len(hashes), root_of(before), root, consistency_proof(hashes, size))
        index = data.draw(st.integers(0, size - 1))
        verify_inclusion(before[index], index, size, inclusion_proof(before, index), root_of(before))
        verify_inclusion(hashes[index], index, len(hashes), inclusion_proof(hashes, index), root)
    finding, due = examined(newest)
    assert isinstance(finding, Consistent)
    assert finding.belief.root.raw == root
    assert frozenset(due) == told.named - some


@pytest.mark.requirement("M20")
@settings(max_examples=40, deadline=None)
@given(told_logs(), st.data())
def test_no_log_hides_a_leaf_that_no_erasure_names(told: Told, data: st.DataObject) -> None:
    """Whatever else was erased with it."""
    size = len(told.log.view.leaves)
    others = sorted(set(range(size)) - told.named)
    hidden = data.draw(st.sets(st.sampled_from(others), min_size=1))
    view = without(told.log.view, told.named | hidden)
    assert any(salt == ERASED_SALT for salt, _ in view.leaves)
    with pytest.raises(SidecarError):
        examined(view)
