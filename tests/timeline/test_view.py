"""Folding the leaves: what contradicts itself is refused, what is taken back stays taken back."""

import hashlib
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.leaf import (
    AnchorRecovery,
    Body,
    EnrolledSource,
    Enrollment,
    EnrollmentBinding,
    Leaf,
    Policy,
    Revocation,
    SidecarEntry,
)
from sidecars.lineage import Restoration
from timeline.errors import LogRefusedError
from timeline.fold import fold_leaves
from timeline.view import LogView, Standing

POLICY = Policy(owner_presence="terminal", simulated_host=False)


def digest(name: str) -> str:
    """Give a digest that stands for ``name``."""
    return str(Digest(hashlib.sha256(name.encode()).digest()))


def enrollment(name: str, *, session: str = "s", path: str = "/t", receipt: str | None = None) -> Enrollment:
    """Give an enrollment whose references are made from one letter."""
    return Enrollment(
        enrollment_id="timeline-enrollment:" + name * 32,
        receipt_digest=digest(receipt or name),
        binding=EnrollmentBinding("codex", session, "u", "t", "/p", "k", None, None, None),
        source=EnrolledSource("source:" + name * 32, path, "1", "2", 10, "3", "4", 0, digest("")),
        mode="snapshot",
        confirmed_at=1,
        expires_at=2,
        recall_until=2,
    )


def sidecar(
    name: str, segment: int, *, source: str | None = None, evicts: Sequence[str] = ()
) -> SidecarEntry:
    """Give a sidecar of an enrollment."""
    return SidecarEntry(
        digest=digest(f"{name}{segment}"),
        source="source:" + (source or name) * 32,
        segment=segment,
        enrollment_id="timeline-enrollment:" + name * 32,
        count=1,
        root=digest("root"),
        evicts=tuple(sorted(evicts)),
    )


def revocation(name: str) -> Revocation:
    """Take the consent back."""
    return Revocation(enrollment_id="timeline-enrollment:" + name * 32)


def leaves(*bodies: Body) -> list[Leaf]:
    """Give leaves in a row; times fall, since order is the index alone."""
    return [
        Leaf(
            origin="o",
            index=index,
            root=digest("r"),
            batch_start=index,
            batch_size=1,
            at=100 - index,
            body=body,
        )
        for index, body in enumerate(bodies)
    ]


def folded(leaves: Sequence[Leaf], onto: LogView | None = None) -> LogView:
    """Add up leaves whose hashes nothing asks for."""
    return fold_leaves(leaves, [bytes(32)] * len(leaves), onto)


def test_nothing_adds_up_to_nothing() -> None:
    """An empty log has no policy and no source."""
    view = folded([])
    assert (view.policy, view.sources, view.newest_ms) == (None, (), 0)


def test_sidecars_gather_under_their_enrollment() -> None:
    """In order of their segments; what was given up is no longer kept."""
    view = folded(
        leaves(
            POLICY, enrollment("a"), sidecar("a", 0), sidecar("a", 1), sidecar("a", 2, evicts=[digest("a0")])
        )
    )
    (source,) = view.active
    assert source.index == 1
    assert [entry.segment for entry in source.entries] == [0, 1, 2]
    assert [entry.segment for entry in source.kept] == [1, 2]
    assert view.kept_digests() == {digest("a1"), digest("a2")}
    assert view.newest_ms == 100


@pytest.mark.requirement("T4", "T12")
def test_a_newer_consent_for_the_same_transcript_replaces_the_older() -> None:
    """Session and path together; another path or session is another source."""
    view = folded(
        leaves(
            POLICY,
            enrollment("a"),
            sidecar("a", 0),
            enrollment("b"),
            enrollment("c", path="/other"),
            enrollment("d", session="other"),
        )
    )
    assert [source.standing for source in view.sources] == [Standing.REPLACED, *[Standing.ACTIVE] * 3]
    assert view.kept_digests() == frozenset()


@pytest.mark.requirement("T4")
def test_a_revoked_consent_keeps_nothing() -> None:
    """The leaves stay; the files need not."""
    view = folded(leaves(POLICY, enrollment("a"), sidecar("a", 0), revocation("a")))
    assert view.active == ()
    assert view.sources[0].standing is Standing.REVOKED
    assert view.sources[0].kept == ()


CONFIRMED = AnchorRecovery(lost="anchor", basis="external")
DECLARED = AnchorRecovery(lost="pin", basis="unverified")
CARRIED = AnchorRecovery(lost="anchor", basis="carried")
RESTORED = Restoration("unverified", 7)


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ((), 0),
        ((CONFIRMED,), 0),
        ((DECLARED,), 2),
        ((CARRIED, CONFIRMED), 2),
        ((RESTORED,), 2),
        ((Restoration("carried", 7), enrollment("a")), 2),
        ((RESTORED, enrollment("a"), DECLARED), 4),
        ((DECLARED, enrollment("a"), RESTORED, CONFIRMED), 4),
        ((CARRIED, DECLARED), 3),
    ],
)
def test_what_nobody_outside_confirmed_is_not_vouched_for(bodies: tuple[Body, ...], expected: int) -> None:
    """Confirmations count from behind the newest leaf that accepted a state without one."""
    assert folded(leaves(POLICY, *bodies)).vouched_from == expected


@pytest.mark.requirement("X5")
def test_every_accepted_state_is_kept_with_its_leaf() -> None:
    """In the order of the log, and whichever process added them up."""
    everything = leaves(POLICY, RESTORED, DECLARED, enrollment("a"), CONFIRMED, RESTORED)
    for cut in range(len(everything) + 1):
        view = folded(everything[cut:], folded(everything[:cut]))
        assert [(made.leaf, made.restoration) for made in view.restorations] == [(1, RESTORED), (5, RESTORED)]
        assert [(made.leaf, made.recovery) for made in view.recoveries] == [(2, DECLARED), (4, CONFIRMED)]


CONTRADICTIONS: dict[str, tuple[Body, ...]] = {
    "the same enrollment again": (enrollment("a"), enrollment("a", receipt="other")),
    "the same receipt again": (enrollment("a"), enrollment("b", session="x", receipt="a")),
    "the same receipt after a revocation": (enrollment("a"), revocation("a"), enrollment("b", receipt="a")),
    "a sidecar without an enrollment": (sidecar("a", 0),),
    "a sidecar before its enrollment": (sidecar("a", 0), enrollment("a")),
    "a sidecar of another source": (enrollment("a"), sidecar("a", 0, source="b")),
    "a gap between segments": (enrollment("a"), sidecar("a", 1)),
    "a segment twice": (enrollment("a"), sidecar("a", 0), sidecar("a", 0)),
    "a segment over again": (enrollment("a"), sidecar("a", 0), sidecar("a", 1), sidecar("a", 1)),
    "a sidecar after the revocation": (enrollment("a"), revocation("a"), sidecar("a", 0)),
    "a sidecar of a replaced enrollment": (enrollment("a"), enrollment("b"), sidecar("a", 0)),
    "giving up what never was": (enrollment("a"), sidecar("a", 0, evicts=[digest("x")])),
    "giving up itself": (enrollment("a"), sidecar("a", 0, evicts=[digest("a0")])),
    "giving up another source's": (
        enrollment("a"),
        enrollment("b", session="x"),
        sidecar("b", 0),
        sidecar("a", 0, evicts=[digest("b0")]),
    ),
    "a digest twice": (
        enrollment("a"),
        sidecar("a", 0),
        msgspec.structs.replace(sidecar("a", 1), digest=digest("a0")),
    ),
    "revoking what never was": (revocation("a"),),
    "revoking twice": (enrollment("a"), revocation("a"), revocation("a")),
    "revoking a replaced one": (enrollment("a"), enrollment("b"), revocation("a")),
}


@pytest.mark.requirement("T67", "T6")
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_leaf_that_contradicts_those_before_it_is_refused(name: str) -> None:
    """Signed or not: the rules between leaves are rules. The message names the leaf."""
    bodies = CONTRADICTIONS[name]
    with pytest.raises(LogRefusedError, match=r"leaf \d+ \((sidecar|enrollment|revocation)\)"):
        folded(leaves(POLICY, *bodies))


MOVES = st.lists(
    st.one_of(
        st.builds(enrollment, st.sampled_from("ab"), session=st.sampled_from(["s", "x"])),
        st.builds(sidecar, st.sampled_from("ab"), st.integers(0, 2)),
        st.builds(revocation, st.sampled_from("ab")),
    ),
    max_size=8,
)


@given(MOVES)
def test_any_order_of_leaves_adds_up_or_is_refused(bodies: list[Body]) -> None:
    """A view that exists has segments without gaps and at most one active consent for a transcript."""
    try:
        view = folded(leaves(POLICY, *bodies))
    except LogRefusedError:
        return
    for source in view.sources:
        assert [entry.segment for entry in source.entries] == list(range(len(source.entries)))
    active = [(s.enrollment.binding.session, s.enrollment.source.path) for s in view.active]
    assert len(active) == len(set(active))
    assert len(view.receipts) == len(view.sources)
