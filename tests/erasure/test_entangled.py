"""What has to be erased together: an erasure takes away what was said, and brings nothing back that had ended."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sidecars.erasure import Exclusion
from sidecars.graded import CredentialEntry, CredibilityEntry, VerdictEntry
from sidecars.leaf import (
    Body,
    Enrollment,
    Extension,
    Invalidation,
    Leaf,
    PrefixProof,
    Revocation,
    SidecarEntry,
)
from sidecars.reasoned import ConflictInscription, EvidenceRevocation, PersonConsent
from tests.erasure.erased_logs import erasure
from tests.sidecars.samples import AT, ENROLLMENT, ORIGIN, SOURCE, digest_text, make_enrollment
from tests.sidecars.simulator import key_epoch, policy
from tests.sidecars.test_graded import CREDIBILITY
from tests.world.ledger.ledgers import entry
from timeline.entangled import Entangled
from timeline.erasure_errors import ErasureRefusedError
from timeline.errors import LogRefusedError
from timeline.fold import fold_leaves

OTHER_SOURCE = "source:" + "4e" * 16


def name_of(number: int) -> str:
    """Give the id of an enrollment."""
    return f"timeline-enrollment:{number:032x}"


def enrollment(
    number: int, *, session: str = "0199-aa", ref: str = SOURCE, mode: str = "follow"
) -> Enrollment:
    """Give a consent to a session, with a receipt of its own."""
    plain = make_enrollment(enrollment_id=name_of(number), receipt_digest=digest_text(number), mode=mode)
    return replace(
        plain,
        binding=replace(plain.binding, session=session),
        source=replace(plain.source, ref=ref),
        recall_until=plain.expires_at,
    )


def sidecar(number: int, segment: int) -> SidecarEntry:
    """Give a sidecar of an enrollment."""
    return SidecarEntry(
        digest=digest_text((number, segment)),
        source=SOURCE,
        segment=segment,
        enrollment_id=name_of(number),
        count=0,
        root=digest_text(0),
    )


def extension(number: int, generation: int) -> Extension:
    """Give an extension of an enrollment."""
    size = 1000 * (generation + 1)
    return Extension(
        enrollment_id=name_of(number),
        source=SOURCE,
        generation=generation,
        size=size,
        mtime_ns=str(size),
        ctime_ns=str(size),
    )


def revocation(number: int) -> Revocation:
    """Give the end of an enrollment."""
    return Revocation(name_of(number))


def credential(name: str, quality: int) -> CredentialEntry:
    """Give a credential that the owner has checked."""
    return CredentialEntry(
        id=f"credential:{name}", entity="person:a", domain="law", quality=quality, basis="seen", valid_from=AT
    )


def verdict(name: str, *supersedes: str) -> VerdictEntry:
    """Give a verdict on one question."""
    return VerdictEntry(
        id=f"verdict:{name}",
        subject="suite:a",
        key="test.result",
        grades_digest=digest_text(name),
        reason="as it stands",
        supersedes=tuple(f"verdict:{other}" for other in supersedes),
    )


def run_part(name: str, part: int) -> CredibilityEntry:
    """Give one of two parts of a run of the computation."""
    return replace(CREDIBILITY, run=f"run:{name}", part=part, parts=2, anomalies=(), anomalies_found=0)


def leaves_of(bodies: Sequence[Body]) -> list[Leaf]:
    """Give bodies as leaves, each a batch of its own."""
    return [
        Leaf(origin=ORIGIN, index=n, root=digest_text(n), batch_start=n, batch_size=1, at=AT + n, body=body)
        for n, body in enumerate(bodies)
    ]


def entangled_of(bodies: Sequence[Body]) -> Entangled:
    """Give leaves as they depend on each other."""
    found = Entangled()
    for leaf in leaves_of(bodies):
        found.add(leaf)
    return found


A, B = entry("a"), entry("b", supersedes=["a"])
C = entry("c", supersedes=["b"])
CASES: Mapping[str, tuple[Sequence[Body], set[int], set[int]]] = {
    "an assertion that nothing depends on": ([A], {0}, {0}),
    "what was replaced": ([A, B], {0}, {0}),
    "what replaces": ([A, B], {1}, {0, 1}),
    "the last of a chain": ([A, B, C], {2}, {0, 1, 2}),
    "the middle of a chain": ([A, B, C], {1}, {0, 1}),
    "a session with all that names it": (
        [
            enrollment(1),
            sidecar(1, 0),
            extension(1, 1),
            sidecar(1, 1),
            PrefixProof(enrollment_id=name_of(1), source=SOURCE, generation=1, proven=10),
            Invalidation(enrollment_id=name_of(1), source=SOURCE, reason="transcript-replaced"),
            revocation(1),
            enrollment(2, session="other"),
        ],
        {4},
        {0, 1, 2, 3, 4, 5, 6},
    ),
    "the newer consent to a session": (
        [enrollment(1), sidecar(1, 0), enrollment(2), sidecar(2, 0)],
        {2},
        {0, 1, 2, 3},
    ),
    "the older consent to a session": ([enrollment(1), sidecar(1, 0), enrollment(2)], {0}, {0, 1}),
    "the newest of three": ([enrollment(1), enrollment(2), enrollment(3)], {2}, {0, 1, 2}),
    "the consent after one that was taken back": ([enrollment(1), revocation(1), enrollment(2)], {2}, {2}),
    "the end of a consent": ([enrollment(1), revocation(1)], {1}, {0, 1}),
    "all sidecars of a snapshot": (
        [enrollment(1, mode="snapshot"), sidecar(1, 0), sidecar(1, 1)],
        {1, 2},
        {1, 2},
    ),
    "one sidecar of a snapshot": (
        [enrollment(1, mode="snapshot"), sidecar(1, 0), sidecar(1, 1)],
        {2},
        {0, 1, 2},
    ),
    "all sidecars of what was extended": (
        [enrollment(1), sidecar(1, 0), extension(1, 1), sidecar(1, 1)],
        {1, 3},
        {0, 1, 2, 3},
    ),
    "evidence that was taken back": ([A, EvidenceRevocation("assertion:a", "wrong")], {0}, {0, 1}),
    "the word that took it back": ([A, EvidenceRevocation("assertion:a", "wrong")], {1}, {0, 1}),
    "the word that took a session's evidence back": (
        [enrollment(1), EvidenceRevocation(SOURCE, "wrong"), enrollment(2, session="x", ref=OTHER_SOURCE)],
        {1},
        {0, 1},
    ),
    "one of two that contradict each other": (
        [A, entry("z"), ConflictInscription(("assertion:a", "assertion:z"), "both cannot be")],
        {0},
        {0, 2},
    ),
    "what a person said last": (
        [
            PersonConsent("person:a", None, None, granted=True),
            PersonConsent("person:b", None, None, granted=True),
            PersonConsent("person:a", None, None, granted=False),
        ],
        {2},
        {0, 2},
    ),
    "a credential that failed since": (
        [credential("d", 900_000), credential("e", 1), credential("d", 0)],
        {2},
        {0, 2},
    ),
    "an older credential": ([credential("d", 900_000), credential("d", 0)], {0}, {0}),
    "the newest verdict": ([verdict("a"), verdict("b"), verdict("c", "a")], {2}, {0, 2}),
    "the end of an exclusion": (
        [Exclusion("path", None, "/srv/a", excluded=True), Exclusion("path", None, "/srv/a", excluded=False)],
        {1},
        {0, 1},
    ),
    "a part of a computation": ([run_part("a", 1), run_part("a", 2), run_part("b", 1)], {1}, {0, 1}),
    "an exclusion of something else": (
        [Exclusion("path", None, "/srv/a", excluded=True), Exclusion("path", None, "/srv/b", excluded=True)],
        {1},
        {1},
    ),
}


@pytest.mark.requirement("M15", "M19", "P35")
@pytest.mark.parametrize(("bodies", "asked", "together"), CASES.values(), ids=CASES)
def test_what_goes_takes_along_what_it_had_ended(
    bodies: Sequence[Body], asked: set[int], together: set[int]
) -> None:
    """And nothing else; asked for alone, it is refused."""
    entangled = entangled_of(bodies)
    assert entangled.close_over(asked) == together
    entangled.check(frozenset(together))
    if asked != together:
        with pytest.raises(ErasureRefusedError):
            entangled.check(frozenset(asked))
    for left_out in together - asked:
        rest = frozenset(together - {left_out})
        if entangled.close_over(rest) != rest:
            with pytest.raises(ErasureRefusedError):
                entangled.check(rest)


def test_an_inscribed_conflict_goes_with_one_of_the_two_only() -> None:
    """Without either the two would be held together as if nobody had objected; which goes, the plan says."""
    bodies: list[Body] = [
        A,
        entry("z"),
        ConflictInscription(("assertion:a", "assertion:z"), "both cannot be"),
    ]
    entangled = entangled_of(bodies)
    assert entangled.close_over([2]) == {2}
    with pytest.raises(ErasureRefusedError, match="contradict"):
        entangled.check(frozenset({2}))
    entangled.check(frozenset({0, 2}))
    # Of one that is not there any more nothing comes back.
    entangled_of(bodies[1:]).check(frozenset({1}))


@pytest.mark.parametrize("body", [policy(), key_epoch(), erasure(0)])
def test_what_is_of_another_kind_stays(body: Body) -> None:
    """Rules, keys and what the owner had done."""
    with pytest.raises(ErasureRefusedError, match="stays"):
        entangled_of([body]).check(frozenset({0}))


def test_what_is_not_there_is_not_erased() -> None:
    """Beyond the end, or gone already."""
    with pytest.raises(ErasureRefusedError, match="not there"):
        entangled_of([A]).check(frozenset({1}))


@st.composite
def histories(draw: st.DrawFn) -> list[Body]:
    """Sessions that are enrolled, renewed, read, extended and revoked in any order that the log allows."""
    bodies: list[Body] = []
    for number in range(draw(st.integers(3, 14))):
        before = fold_leaves(leaves_of(bodies), [bytes(32)] * len(bodies))
        possible: list[Body] = [enrollment(number, session=draw(st.sampled_from(["x", "y"])))]
        for source in before.active:
            at = int(source.enrollment.enrollment_id[-32:], 16)
            possible.append(sidecar(at, len(source.entries)))
            possible.append(extension(at, len(source.extensions) + 1))
            possible.append(revocation(at))
        bodies.append(draw(st.sampled_from(possible)))
    return bodies


@pytest.mark.requirement("M19")
@settings(max_examples=60, deadline=None)
@given(histories(), st.data())
def test_what_is_left_says_of_itself_what_it_said_before(bodies: list[Body], data: st.DataObject) -> None:
    """No consent comes back, none ends, and no segment is missed: whatever is chosen, with what it takes along."""
    asked = data.draw(st.sets(st.integers(0, len(bodies) - 1), min_size=1))
    entangled = entangled_of(bodies)
    chosen = entangled.close_over(asked)
    entangled.check(chosen)
    assert entangled.close_over(chosen) == chosen
    leaves = leaves_of(bodies)
    before = fold_leaves(leaves, [bytes(32)] * len(leaves))
    left = [leaf for leaf in leaves if leaf.index not in chosen]
    try:
        after = fold_leaves(left, [bytes(32)] * len(left))
    except LogRefusedError as error:
        pytest.fail(f"what is left does not add up: {error}")
    kept = {source.index: source for source in before.sources if source.index not in chosen}
    assert set(kept) == {source.index for source in after.sources}
    for source in after.sources:
        assert source.standing is kept[source.index].standing
        if source.entries:
            assert source == kept[source.index]
    assert ENROLLMENT not in {source.enrollment.enrollment_id for source in after.sources}
