"""Generations of a followed source in the log, and the pure decisions about them."""

import hashlib
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.leaf import Body, Enrollment, Extension, Invalidation, PrefixProof
from sidecars.sidecar import CHUNK_BYTES, SidecarHeader, Tallies, span_chunks
from tests.timeline.test_view import POLICY, enrollment, folded, leaves, revocation, sidecar
from timeline.errors import LogRefusedError
from timeline.extend import Round, decide_extension, decide_round, decide_step
from timeline.guard.enrollment import Consent, decide_consent, is_following, newest_snapshot
from timeline.limits import INDEX_BYTES_MAX, INDEX_BYTES_MIN
from timeline.prefix import Chunk, check_generations
from timeline.view import EnrolledSource

NAMED = {"source": "source:" + "a" * 32, "enrollment_id": "timeline-enrollment:" + "a" * 32}


def followed() -> Enrollment:
    """Give an enrollment of ten bytes with the owner's word to follow."""
    return msgspec.structs.replace(enrollment("a"), mode="follow", recall_until=3)


def extension(generation: int, size: int, **changes: str) -> Extension:
    """Give a generation."""
    return Extension(generation=generation, size=size, mtime_ns="30", ctime_ns="40", **{**NAMED, **changes})


def proof(generation: int, proven: int) -> PrefixProof:
    """Give a step of a proof."""
    return PrefixProof(generation=generation, proven=proven, **NAMED)


BROKEN = Invalidation(reason="transcript-rewritten", **NAMED)


def source_of(*bodies: Body) -> EnrolledSource:
    """Fold a followed enrollment and what comes after it."""
    return folded(leaves(POLICY, followed(), *bodies)).sources[0]


def test_the_newest_generation_is_the_snapshot_that_counts() -> None:
    """Its size and times; path, device, inode and first bytes stay those of the enrollment."""
    source = source_of(sidecar("a", 0), extension(1, 25), sidecar("a", 1), extension(2, 40))
    assert [g.size for g in source.generations] == [10, 25, 40]
    assert [g.first_segment for g in source.generations] == [0, 1, 2]
    newest = newest_snapshot(source)
    assert (newest.size, newest.mtime_ns, newest.ctime_ns) == (40, 30, 40)
    assert (newest.path, newest.device, newest.inode) == ("/t", 1, 2)


def test_a_generation_is_proven_when_all_that_stood_before_it_was_compared() -> None:
    """Not by a proof of an older one, and not in part."""
    assert source_of().is_prefix_proven
    grown = (extension(1, 25), extension(2, 40))
    assert not source_of(*grown).is_prefix_proven
    for step, proven, whole in (
        (proof(1, 10), 0, False),
        (proof(2, 24), 24, False),
        (proof(2, 25), 25, True),
    ):
        source = source_of(*grown, step)
        assert (source.proven, source.is_prefix_proven, source.to_prove) == (proven, whole, 25)


@pytest.mark.requirement("T14")
@pytest.mark.parametrize(
    "bodies",
    [
        (extension(2, 25),),
        (extension(1, 10),),
        (extension(1, 9),),
        (extension(1, 25), extension(1, 30)),
        (extension(1, 25, source="source:" + "b" * 32),),
        (extension(1, 25, enrollment_id="timeline-enrollment:" + "b" * 32),),
        (proof(1, 5),),
        (extension(1, 25), proof(2, 5)),
        (extension(1, 25), proof(1, 11)),
        (extension(1, 25), proof(1, 5), proof(1, 5)),
        (extension(1, 25), extension(2, 40), proof(2, 1), proof(1, 9)),
        (BROKEN, BROKEN),
        (BROKEN, extension(1, 25)),
        (BROKEN, sidecar("a", 0)),
        (extension(1, 25), BROKEN, proof(1, 5)),
        (revocation("a"), extension(1, 25)),
        (revocation("a"), BROKEN),
    ],
    ids=repr,
)
def test_a_leaf_that_does_not_go_on_from_those_before_is_refused(bodies: tuple[Body, ...]) -> None:
    """Even if the log key signed it."""
    with pytest.raises(LogRefusedError):
        source_of(*bodies)


@pytest.mark.requirement("T13", "T14")
@pytest.mark.parametrize("body", [extension(1, 25), BROKEN])
def test_a_snapshot_is_never_extended(body: Body) -> None:
    """The log key alone cannot follow what the owner has not allowed."""
    with pytest.raises(LogRefusedError):
        folded(leaves(POLICY, enrollment("a"), body))


def test_a_revocation_may_follow_what_was_found_changed() -> None:
    """The owner can always take a consent back."""
    assert source_of(BROKEN, revocation("a")).kept == ()


def test_folding_in_pieces_is_folding_at_once() -> None:
    """A commit adds to what was added up, and comes to the same."""
    bodies = (
        POLICY,
        followed(),
        sidecar("a", 0),
        extension(1, 25),
        sidecar("a", 1),
        sidecar("a", 2, evicts=[sidecar("a", 1).digest]),
        proof(1, 10),
        enrollment("b", session="other"),
        BROKEN,
    )
    everything = leaves(*bodies)
    for cut in range(len(everything)):
        assert folded(everything[cut:], folded(everything[:cut])) == folded(everything)


@pytest.mark.parametrize(
    ("now_ms", "follows", "consent"),
    [
        (0, True, Consent.NOT_YET),
        (1, True, Consent.HOLDS),
        (2, False, Consent.HOLDS),
        (3, False, Consent.ENDED),
    ],
)
def test_following_ends_before_recall_does(now_ms: int, follows: bool, consent: Consent) -> None:
    """Between the two ends the newest generation is recalled and no longer extended."""
    source = source_of()
    assert is_following(source.enrollment, now_ms) or not follows
    assert decide_consent(source, now_ms) is consent
    assert not is_following(enrollment("a"), now_ms)


# -- the decisions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("position", "size", "extends"), [(10, 11, True), (10, 10, False), (9, 11, False)])
def test_a_generation_is_read_to_its_end_before_the_next(position: int, size: int, extends: bool) -> None:
    """And there is none where nothing was added."""
    source = source_of()
    now = msgspec.structs.replace(newest_snapshot(source), size=size, mtime_ns=7, ctime_ns=8)
    found = decide_extension(source, position, now)
    expected = Extension(generation=1, size=size, mtime_ns="7", ctime_ns="8", **NAMED)
    assert found == (expected if extends else None)


@pytest.mark.parametrize(
    ("bodies", "begun"),
    [
        ((), None),
        ((extension(1, 25),), Round(1, 0)),
        ((extension(1, 25), proof(1, 4)), Round(1, 4)),
        ((extension(1, 25), proof(1, 10)), None),
        ((extension(1, 25), proof(1, 4), extension(2, 40)), Round(1, 4)),
        ((extension(1, 25), proof(1, 10), extension(2, 40)), Round(2, 0)),
    ],
)
def test_a_round_goes_on_where_it_stopped(bodies: tuple[Body, ...], begun: Round | None) -> None:
    """Growth does not send it back to the beginning; the next round is that of the newest generation."""
    assert decide_round(source_of(*bodies)) == begun


def chunks_of(sizes: list[int]) -> list[Chunk]:
    """Lay chunks one behind the other."""
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [Chunk(end - size, size, "") for size, end in zip(sizes, ends, strict=True)]


@given(
    st.lists(st.lists(st.integers(1, CHUNK_BYTES), min_size=1, max_size=6), min_size=2, max_size=5),
    st.integers(INDEX_BYTES_MIN, INDEX_BYTES_MAX),
)
def test_steps_cover_everything_once_and_stay_in_their_bound(
    generations: list[list[int]], max_bytes: int
) -> None:
    """Whatever the chunks and the budget: all of what stood before the newest generation, in order, then an end."""
    sizes = [sum(sum(part) for part in generations[: number + 1]) for number in range(len(generations))]
    enrolled = msgspec.structs.replace(followed(), source=_sized(followed(), sizes[0]))
    bodies = [extension(number, size) for number, size in enumerate(sizes[1:], start=1)]
    source = folded(leaves(POLICY, enrolled, *bodies)).sources[0]
    chunks = chunks_of([size for part in generations for size in part])
    compared: list[Chunk] = []
    while not source.is_prefix_proven:
        due, step = decide_step(source, chunks, max_bytes)
        assert step is not None
        assert sum(chunk.length for chunk in due) <= max_bytes or len(due) == 1
        compared += due
        source = msgspec.structs.replace(source, proof=step)
    assert compared == [chunk for chunk in chunks if chunk.offset < sizes[-2]]
    assert decide_step(source, chunks, max_bytes) == ([], None)


def _sized(enrolled: Enrollment, size: int) -> Any:
    return msgspec.structs.replace(enrolled.source, size=size)


# -- sidecars and generations ----------------------------------------------------------------------------------


def header(segment: int, start: int, end: int) -> SidecarHeader:
    """Give the header of a span."""
    return SidecarHeader(
        origin="o",
        nonce="0" * 32,
        source=NAMED["source"],
        host="codex",
        format="f",
        segment=segment,
        start=start,
        end=end,
        chunks=tuple(str(Digest(hashlib.sha256(b"").digest())) for _ in range(span_chunks(start, end))),
        understanding="understood",
        tallies=Tallies(),
    )


GROWN = (
    sidecar("a", 0),
    sidecar("a", 1),
    extension(1, 25),
    sidecar("a", 2),
    extension(2, 40),
    sidecar("a", 3),
)
SOUND = ((0, 0, 4), (1, 4, 10), (2, 10, 25), (3, 25, 40))


def test_spans_that_follow_each_other_and_the_generations_are_taken() -> None:
    """The empty span of unsettled results too, and a generation that is not read to its end yet."""
    check_generations(source_of(*GROWN), [header(*span) for span in SOUND])
    check_generations(source_of(*GROWN), [header(*span) for span in SOUND[:3]] + [header(3, 25, 30)])
    check_generations(source_of(*GROWN[:2]), [header(*span) for span in SOUND[:2]])
    check_generations(source_of(*GROWN), [header(*span) for span in (SOUND[0], *SOUND[2:])][:1])


@pytest.mark.parametrize(
    "spans",
    [
        ((0, 0, 4), (1, 5, 10), (2, 10, 25), (3, 25, 40)),
        ((0, 0, 4), (1, 4, 9), (2, 9, 25), (3, 25, 40)),
        ((0, 0, 4), (1, 4, 11), (2, 11, 25), (3, 25, 40)),
        ((0, 0, 4), (1, 4, 10), (2, 10, 26)),
        ((0, 0, 4), (2, 4, 25)),
        ((0, 0, 4), (1, 4, 10), (2, 10, 25), (3, 25, 41)),
    ],
)
def test_spans_with_a_gap_or_over_a_border_are_refused(spans: tuple[tuple[int, int, int], ...]) -> None:
    """What was committed must be all of the file up to there, generation by generation."""
    with pytest.raises(LogRefusedError):
        check_generations(source_of(*GROWN), [header(*span) for span in spans])


def test_generations_grow() -> None:
    """By the rule of the log, so that a border is never behind the next one."""
    sizes = [generation.size for generation in source_of(*GROWN).generations]
    assert all(one < other for one, other in pairwise(sizes))
