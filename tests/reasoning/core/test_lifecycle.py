from collections.abc import Callable

import pytest

from tests.reasoning.core.made import (
    ADA,
    HEAD,
    LATER,
    NOW,
    ONE,
    QUERY,
    derived,
    gone,
    graph,
    ids,
    replace,
    root,
    says,
)
from timeline.reasoning.decision import Flag, Status
from timeline.reasoning.errors import (
    HeadOrderError,
    OriginError,
    PromotionBindingError,
    ShapeError,
    VertexReusedError,
    VertexUnknownError,
)
from timeline.reasoning.graph import Derivation, Graph, Head
from timeline.reasoning.lifecycle import admit, erase, inscribe, revoke, supersede
from timeline.reasoning.promotion import Target, promote
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import Role


def two_values() -> Graph:
    """Tea on one word, coffee on another."""
    return graph(root("r"), root("s", "coffee", observed_at=1_500))


@pytest.mark.requirement("P1", "P13", "N8")
def test_admission_adds_a_checked_vertex_at_a_later_head() -> None:
    """A root by its origin, anything else by the table; the graph before is as it was."""
    before = graph(root("r"))
    after = admit(before, LATER, root("s"))
    assert (after.head, ids(after.vertices.values())) == (LATER, ["r", "s"])
    assert (before.head, ids(before.vertices.values())) == (HEAD, ["r"])
    target = Target("i", Role.MEMORY_INTERPRETATION, says("tea"), NOW)
    made = promote(before, target, Derivation("rule", 1, "model", (frozenset({"r"}),)))
    assert admit(before, LATER, made).vertices["i"] == made
    with pytest.raises(PromotionBindingError):
        admit(before, LATER, derived("d", "r"))
    with pytest.raises(OriginError):
        admit(before, LATER, root("s", role=Role.OBSERVED_EVENT))
    with pytest.raises(ShapeError):
        admit(before, LATER, root("s", origin=None))


@pytest.mark.requirement("P2", "P13")
def test_an_id_is_given_once() -> None:
    """Neither a vertex nor a marker is ever overwritten."""
    for name in ("r", "m"):
        with pytest.raises(VertexReusedError, match=f"^vertex {name}: the id is in use$"):
            admit(graph(root("r"), gone("m")), LATER, root(name, "coffee"))


CHANGES: dict[str, Callable[[Graph, Head], Graph]] = {
    "admit": lambda before, head: admit(before, head, root("new")),
    "supersede": lambda before, head: supersede(before, head, "s", "r"),
    "revoke": lambda before, head: revoke(before, head, "r"),
    "inscribe": lambda before, head: inscribe(before, head, "r", "s"),
    "erase": lambda before, head: erase(before, head, gone("r")),
}


@pytest.mark.requirement("P1", "P35")
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_goes_forward(change: str) -> None:
    """A head that is not a later one is refused; what was there before is not touched."""
    before = two_values()
    for size in (HEAD.size, HEAD.size - 1):
        with pytest.raises(HeadOrderError, match=f"^head {size}: has to be after 10$"):
            CHANGES[change](before, Head(size, "root"))
    after = CHANGES[change](before, LATER)
    assert before == two_values()
    assert after.head == LATER
    assert after != replace(before, head=LATER)


@pytest.mark.requirement("P35", "P2")
@pytest.mark.parametrize("change", ["supersede", "revoke", "inscribe", "erase"])
def test_what_is_not_there_cannot_be_changed(change: str) -> None:
    """Each change names what it is about."""
    with pytest.raises(VertexUnknownError, match=r"^vertex r: is not there$"):
        CHANGES[change](graph(root("s")), LATER)
    if change in ("supersede", "inscribe"):
        with pytest.raises(VertexUnknownError, match=r"^vertex s: is not there$"):
            CHANGES[change](graph(root("r")), LATER)


def test_nothing_replaces_or_contradicts_itself() -> None:
    """Two different ones are needed."""
    for change in (supersede, inscribe):
        with pytest.raises(VertexReusedError, match=r"^vertex r: two different ones are needed$"):
            change(two_values(), LATER, "r", "r")


@pytest.mark.requirement("P35", "P8")
def test_a_supersession_ends_the_older_claim_for_questions_and_keeps_it() -> None:
    """Of two values the successor's is left."""
    after = supersede(two_values(), LATER, "s", "r")
    assert after.superseded == {"r"}
    assert ids(after.vertices.values()) == ["r", "s"]
    again = supersede(
        supersede(graph(root("q"), root("r"), root("s")), LATER, "r", "q"), Head(12, "x"), "s", "r"
    )
    assert again.superseded == {"q", "r"}
    found = resolve(after, QUERY, ADA, ONE)
    assert (found.status, found.flags, ids(found.premises)) == (Status.SUPPORTED, frozenset(), ["s"])


@pytest.mark.requirement("P35", "P34")
def test_a_revocation_takes_the_ground_away() -> None:
    """By the id of a vertex, of its root, or of what is gone."""
    before = graph(root("r", None, root="session"), gone("m"), derived("d", "r"))
    for name in ("r", "session", "m"):
        assert revoke(before, LATER, name).revoked == {name}
    assert revoke(revoke(before, LATER, "r"), Head(12, "x"), "m").revoked == {"r", "m"}
    assert resolve(before, QUERY, ADA, ONE).status is Status.SUPPORTED
    for name in ("r", "session"):
        after = resolve(revoke(before, LATER, name), QUERY, ADA, ONE)
        assert (after.status, after.premises, after.witness) == (Status.UNKNOWN, (), None)


@pytest.mark.requirement("P35")
def test_an_inscribed_conflict_is_one_pair_however_it_is_named() -> None:
    """Sorted, once."""
    before = graph(root("r"), root("s"), root("t"))
    after = inscribe(inscribe(before, LATER, "s", "r"), Head(12, "x"), "r", "s")
    assert after.inscribed == {("r", "s")}
    assert inscribe(after, Head(13, "x"), "r", "t").inscribed == {("r", "s"), ("r", "t")}


@pytest.mark.requirement("P35", "P50", "P2")
def test_an_erasure_leaves_a_marker_and_makes_unavailable() -> None:
    """Nothing else is taken away, and what does not depend on it stands."""
    before = graph(root("r", None), derived("d", "r"), gone("m"))
    after = erase(before, LATER, gone("r"))
    assert (sorted(after.vertices), sorted(after.markers)) == (["d"], ["m", "r"])
    assert resolve(after, QUERY, ADA, ONE).status is Status.UNAVAILABLE
    assert Flag.STALE not in resolve(after, QUERY, ADA, ONE).flags
