"""A sidecar leaf that takes the place of an earlier one: only with the owner's erasure, and only of its own segment."""

from collections.abc import Sequence

import msgspec
import pytest

from sidecars.erasure import Erasure
from sidecars.leaf import Body, Extension, Invalidation, Leaf, SidecarEntry
from tests.timeline.test_view import POLICY, digest, enrollment, folded, leaves, sidecar
from timeline.errors import LogRefusedError
from timeline.fold import fold_leaves

ERASURE = Erasure(digest("plan"), (), (digest("gone"),), digest("key"))
NAMED = {"source": "source:" + "a" * 32, "enrollment_id": "timeline-enrollment:" + "a" * 32}


def reduced(segment: int, of: str, **changes: object) -> SidecarEntry:
    """Give a sidecar in the place of another one."""
    entry = msgspec.structs.replace(sidecar("a", segment, evicts=[digest(of)]), digest=digest(f"new {of}"))
    return msgspec.structs.replace(entry, **changes)


def batch(before: Sequence[Leaf], *bodies: Body) -> list[Leaf]:
    """Give leaves with one commit more."""
    start = len(before)
    return [
        *before,
        *(
            msgspec.structs.replace(
                leaf, index=start + number, batch_start=start, batch_size=len(bodies), at=0
            )
            for number, leaf in enumerate(leaves(*bodies))
        ),
    ]


BEFORE = leaves(POLICY, enrollment("a"), sidecar("a", 0), sidecar("a", 1), sidecar("a", 2))


@pytest.mark.parametrize("segment", range(3))
def test_it_takes_the_place_of_the_one_that_it_gives_up(segment: int) -> None:
    """Its digest and its leaf stand there; what follows is the next segment as before."""
    old = f"a{segment}"
    log = batch(BEFORE, ERASURE, reduced(segment, old))
    log = batch(log, sidecar("a", 3))
    for cut in range(1, len(log)):
        source = folded(log[cut:], folded(log[:cut])).sources[0]
        names = [digest(f"a{number}") for number in range(4)]
        names[segment] = digest(f"new {old}")
        places = [2, 3, 4, 7]
        places[segment] = 6
        assert [entry.digest for entry in source.kept] == names
        assert [entry.segment for entry in source.entries] == [0, 1, 2, 3]
        assert list(source.leaves) == places
        assert source.evicted == {digest(old)}


def test_it_may_be_reduced_again() -> None:
    """In the same commit or a later one, also among sidecars that were just added."""
    log = batch(BEFORE, ERASURE, reduced(1, "a1"))
    log = batch(log, ERASURE, reduced(1, "new a1"), sidecar("a", 3), reduced(3, "a3"))
    for cut in range(1, len(log)):
        source = folded(log[cut:], folded(log[:cut])).sources[0]
        assert [entry.digest for entry in source.kept] == [
            digest("a0"),
            digest("new new a1"),
            digest("a2"),
            digest("new a3"),
        ]
        assert source.leaves == (2, 8, 4, 10)


@pytest.mark.parametrize(
    "bodies",
    [
        (reduced(1, "a1"),),
        (reduced(1, "a1"), ERASURE),
        (ERASURE, reduced(1, "a0")),
        (ERASURE, reduced(1, "a1", evicts=())),
        (ERASURE, reduced(1, "a1", evicts=tuple(sorted((digest("a0"), digest("a1")))))),
        (ERASURE, reduced(1, "a1", digest=digest("a2"))),
        (ERASURE, reduced(1, "a1", digest=digest("a1"))),
        (ERASURE, reduced(1, "a1", count=2)),
        (ERASURE, reduced(1, "a1"), reduced(1, "a1", digest=digest("other"))),
        (ERASURE, reduced(1, "a1"), sidecar("a", 3), reduced(1, "new a1", digest=digest("a1"))),
        (ERASURE, reduced(4, "a1")),
        (ERASURE, sidecar("a", 3, evicts=[digest("a1")]), reduced(1, "a1")),
        (ERASURE, reduced(1, "a1", source="source:" + "b" * 32)),
    ],
)
def test_nothing_else_takes_the_place_of_a_sidecar(bodies: tuple[Body, ...]) -> None:
    """Not without an erasure before it in its commit, nor for another one, nor with more in it."""
    log = batch(BEFORE, *bodies)
    for cut in range(1, len(log)):
        with pytest.raises(LogRefusedError):
            fold_leaves(log[cut:], [bytes(32)] * (len(log) - cut), folded(log[:cut]))


def test_an_erasure_of_an_earlier_commit_allows_nothing() -> None:
    """The owner has signed each by itself."""
    with pytest.raises(LogRefusedError):
        folded(batch(batch(BEFORE, ERASURE), reduced(1, "a1")))


def test_a_source_that_was_found_changed_can_lose_an_event() -> None:
    """Nothing else may follow for it."""
    follow = msgspec.structs.replace(enrollment("a"), mode="follow", recall_until=3)
    broken = Invalidation(reason="transcript-rewritten", **NAMED)
    grown = Extension(generation=1, size=25, mtime_ns="30", ctime_ns="40", **NAMED)
    log = leaves(POLICY, follow, sidecar("a", 0), grown, sidecar("a", 1), broken)
    (source,) = folded(batch(log, ERASURE, reduced(0, "a0"))).sources
    assert source.kept[0].digest == digest("new a0")
    assert source.newest.first_segment == 1
    with pytest.raises(LogRefusedError):
        folded(batch(log, ERASURE, sidecar("a", 2)))
