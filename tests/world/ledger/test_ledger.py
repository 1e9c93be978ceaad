"""Recording and reading: what is taken, what is refused, and that a refusal writes nothing."""

from contextlib import suppress

import pytest

from tests.simulators.worlds import NOW_MS, World, leaves_of, verdict_of
from tests.world.ledger.ledgers import (
    OBSERVED,
    OTHER_PROJECT,
    PROJECT,
    SUBJECT,
    TENANT,
    about,
    entry,
    moved,
    names,
    reading,
    record,
)
from timeline.assertions import select_rows
from timeline.errors import TimelineError
from timeline.world import ledger
from timeline.world.errors import (
    AssertionConflictError,
    AssertionInvalidError,
    CompareAndSetError,
    SupersessionError,
)
from timeline.world.supersession import bucket_of

ROUTE = {"portal": "portal-ref:" + "a" * 32, "thread": "thread-ref:" + "b" * 32}


@pytest.mark.requirement("W5", "D5")
def test_what_is_recorded_is_read(world: World) -> None:
    """Leaf, time, entry and value come back; the log grows by one batch."""
    (first, second) = record(world, entry("a", value={"b": 1, "a": [1.5]}), entry("b"))
    assert [first.status, second.status] == ["recorded", "recorded"]
    found = about(world)
    assert found == (first.assertion, second.assertion)
    assert found[0].value == {"a": [1.5], "b": 1}
    assert (found[0].leaf, found[1].leaf, found[0].recorded_at) == (2, 3, NOW_MS)
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def test_the_owners_word_is_signed_by_the_owner(world: World) -> None:
    """And a capture by the log key; both are read again."""
    record(world, entry("a"), entry("b", evidence_kind="explicit-user-feedback"))
    assert names(about(world)) == ["a", "b"]


@pytest.mark.requirement("W6")
def test_the_same_material_is_recorded_once(world: World) -> None:
    """Again in the same call, in a later one, and beside something new."""
    first, again = record(world, entry("a"), entry("a"))
    assert (first.status, again.status) == ("recorded", "duplicate")
    before = leaves_of(world)
    world.clock.at_ms += 1000
    (later,) = record(world, entry("a"))
    assert (later.status, later.assertion) == ("duplicate", first.assertion)
    assert leaves_of(world) == before
    mixed = record(world, entry("a"), entry("b"))
    assert [one.status for one in mixed] == ["duplicate", "recorded"]
    assert names(about(world)) == ["a", "b"]


OTHER_MATERIAL = {
    "recorder": {"recorder": "import"},
    "subject": {"subject": "suite:other"},
    "predicate": {"predicate": "test.other"},
    "value": {"value": "2"},
    "evidence_kind": {"evidence_kind": "explicit-user-feedback"},
    "evidence_id": {"evidence_id": "evidence:other"},
    "evidence_digest": {"evidence_digest": "A" * 42 + "E"},
    "observed_at": {"observed_at": OBSERVED - 1},
    "tenant": {"tenant": "other"},
    "user": {"user": "other"},
    "privacy": {"privacy": "private"},
    "project": {"project": None},
    "route": ROUTE,
    "expires_at": {"expires_at": NOW_MS + 1},
}


@pytest.mark.requirement("W7")
@pytest.mark.parametrize("changed", OTHER_MATERIAL)
def test_an_id_with_other_material_is_refused(world: World, changed: str) -> None:
    """Whatever differs; nothing of the call is written, not even what is new."""
    record(world, entry("a"))
    before = leaves_of(world)
    with pytest.raises(AssertionConflictError):
        record(world, entry("b"), moved(entry("a"), **OTHER_MATERIAL[changed]))
    assert leaves_of(world) == before
    with pytest.raises(AssertionConflictError):
        record(world, entry("c"), moved(entry("c"), **OTHER_MATERIAL[changed]))


@pytest.mark.requirement("W8", "W9")
def test_a_newer_one_replaces_an_older_one(world: World) -> None:
    """Both stay; one is current. In one call as in two."""
    record(world, entry("a"), entry("b"))
    record(world, entry("c", supersedes=["a"]), entry("d", supersedes=["c", "b"]))
    assert names(about(world)) == ["a", "b", "c", "d"]
    with reading(world) as state:
        current = ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT)
        assert names(current) == ["d"]
        replaced = [ledger.is_replaced(state, f"assertion:{name}") for name in "abcd"]
        assert replaced == [True, True, True, False]


@pytest.mark.requirement("W8", "W9")
def test_what_is_replaced_may_be_replaced_again(world: World) -> None:
    """It stays replaced, and the table, which names the first that did so, still adds up."""
    record(world, entry("a"), entry("b", supersedes=["a"]))
    record(world, entry("c", supersedes=["a", "b"]), entry("d", supersedes=["a"]))
    with reading(world) as state:
        assert names(ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT)) == ["c", "d"]
        rows = select_rows(state.store, "a.replaced IS NOT NULL ORDER BY a.leaf", ())
        assert [(stored.row.id, stored.replaced) for stored in rows] == [
            ("assertion:a", 3),
            ("assertion:b", 4),
        ]


@pytest.mark.requirement("W8")
def test_a_proposal_may_be_replaced_and_replaces_nothing(world: World) -> None:
    """A suggestion is retired by an established assertion; the leaf itself cannot say the reverse."""
    record(world, entry("s", evidence_kind="model-suggestion"), entry("c", supersedes=["s"]))
    with pytest.raises(TimelineError) as refused:
        record(world, entry("t", evidence_kind="model-suggestion", supersedes=["c"]))
    assert refused.value.reason in {"world-supersession-invalid", "malformed"}


NOT_TO_BE_REPLACED = {
    "unknown": {},
    "subject": {"subject": "suite:other"},
    "predicate": {"predicate": "test.other"},
    "tenant": {"tenant": "other"},
    "project": {"project": OTHER_PROJECT},
    "no project": {"project": None},
    "route": ROUTE,
}


@pytest.mark.requirement("W8", "W54", "X12")
@pytest.mark.parametrize("scope", NOT_TO_BE_REPLACED)
def test_what_is_unknown_or_elsewhere_cannot_be_replaced(world: World, scope: str) -> None:
    """In the same words: a refusal does not tell whether something exists elsewhere."""
    if scope != "unknown":
        record(world, entry("a", **NOT_TO_BE_REPLACED[scope]))
    before = leaves_of(world)
    with pytest.raises(SupersessionError) as refused:
        record(world, entry("b"), entry("c", supersedes=["a"]))
    assert str(refused.value).startswith(
        "field supersedes: a superseded assertion must have the same tenant, project, subject, predicate, portal and"
    )
    assert leaves_of(world) == before


@pytest.mark.requirement("W8", "H-c")
@pytest.mark.parametrize("older_by", [-1, 0, 1])
def test_only_an_older_observation_is_replaced(world: World, older_by: int) -> None:
    """At one instant the order of the log decides; a newer one is never replaced."""
    record(world, entry("a", observed_at=OBSERVED - older_by))
    if older_by >= 0:
        record(world, entry("b", supersedes=["a"]))
        return
    with pytest.raises(SupersessionError, match="older"):
        record(world, entry("b", supersedes=["a"]))


@pytest.mark.requirement("H-b")
def test_a_private_correction_replaces_a_shared_value(world: World) -> None:
    """Privacy is not a part of the bucket: for every reader the value is retired."""
    record(world, entry("a"), entry("b", privacy="private", user="other", supersedes=["a"]))
    with reading(world) as state:
        assert ledger.is_replaced(state, "assertion:a")


@pytest.mark.requirement("H-a")
def test_an_expired_correction_still_replaces(world: World) -> None:
    """Expiry is not looked at."""
    record(world, entry("a"), entry("b", supersedes=["a"], expires_at=NOW_MS + 1))
    world.clock.at_ms = NOW_MS + 10
    with reading(world) as state:
        assert names(ledger.read_current(state, SUBJECT, tenant=TENANT, project=PROJECT)) == ["b"]


def test_nothing_is_observed_in_the_future(world: World) -> None:
    """The instant itself is no future."""
    record(world, entry("now", observed_at=NOW_MS))
    with pytest.raises(AssertionInvalidError, match="observedAt"):
        record(world, entry("later", observed_at=NOW_MS + 1))


# -- compare-and-set ---------------------------------------------------------------------------------------------


def ids(*given: str) -> frozenset[str]:
    """Give ids by their names."""
    return frozenset(f"assertion:{name}" for name in given)


def expect(name: str, *given: str) -> dict[str, frozenset[str]]:
    """What must be active for an entry."""
    return {f"assertion:{name}": ids(*given)}


def test_what_was_expected_is_replaced(world: World) -> None:
    """Exactly the active ones: not replaced, not expired, established, whoever may see them."""
    record(
        world,
        entry("a"),
        entry("b", supersedes=["a"]),
        entry("c", privacy="private", user="other"),
        entry("s", evidence_kind="model-suggestion"),
        entry("x", expires_at=NOW_MS + 1),
        entry("other", subject="suite:other"),
    )
    world.clock.at_ms = NOW_MS + 1
    record(world, entry("d", supersedes=["b", "c"]), expect_active=expect("d", "b", "c"))


@pytest.mark.parametrize("given", [(), ("a",), ("a", "b", "c"), ("b",)])
def test_another_set_is_refused(world: World, given: tuple[str, ...]) -> None:
    """Fewer, more or others."""
    record(world, entry("a"), entry("b"))
    before = leaves_of(world)
    with pytest.raises(CompareAndSetError):
        record(world, entry("d", supersedes=["a"]), expect_active=expect("d", *given))
    assert leaves_of(world) == before


def test_what_the_same_call_adds_counts(world: World) -> None:
    """The second of a call finds the first."""
    record(world, entry("a"))
    expected = {**expect("b", "a"), **expect("c", "b")}
    record(world, entry("b", supersedes=["a"]), entry("c", supersedes=["b"]), expect_active=expected)
    assert names(about(world)) == ["a", "b", "c"]


def test_a_repetition_expects_nothing(world: World) -> None:
    """What was recorded is a duplicate, though what it expected is not active any more."""
    record(world, entry("a"))
    once = entry("b", supersedes=["a"])
    record(world, once, expect_active=expect("b", "a"))
    (again,) = record(world, once, expect_active=expect("b", "a"))
    assert again.status == "duplicate"


# -- reading -----------------------------------------------------------------------------------------------------


def test_a_subject_is_read_in_its_tenant_and_project(world: World) -> None:
    """Of the project that is asked for and of none."""
    record(
        world,
        entry("here"),
        entry("anywhere", project=None),
        entry("elsewhere", project=OTHER_PROJECT),
        entry("theirs", tenant="other"),
        entry("about", subject="suite:other"),
    )
    assert names(about(world)) == ["here", "anywhere"]
    assert names(about(world, project=None)) == ["anywhere"]
    assert names(about(world, project=OTHER_PROJECT)) == ["anywhere", "elsewhere"]
    assert names(about(world, tenant="other")) == ["theirs"]
    assert about(world, "suite:nothing") == ()


def test_a_bucket_is_read_whole(world: World) -> None:
    """Every part of it counts."""
    one = record(world, entry("a"))[0].assertion
    record(world, *(entry(str(n), **scope) for n, scope in enumerate(NOT_TO_BE_REPLACED.values()) if scope))
    record(world, entry("b", privacy="private", supersedes=["a"]))
    with reading(world) as state:
        assert names(ledger.read_bucket(state, bucket_of(one))) == ["a", "b"]


def test_one_is_found_by_its_id(world: World) -> None:
    """Or there is none."""
    record(world, entry("a"), entry("b"))
    with reading(world) as state:
        found = ledger.find(state, "assertion:b")
        assert found is not None
        assert found.entry == entry("b")
        assert ledger.find(state, "assertion:c") is None
        assert not ledger.is_replaced(state, "assertion:c")


def test_a_refused_call_leaves_nothing_claimed(world: World) -> None:
    """The next call of the same process about the same is not kept waiting."""
    with world.session.writing() as state:
        ledger.record(state, [entry("a")])
        for _ in range(2):
            with suppress(SupersessionError):
                ledger.record(state, [entry("b", supersedes=["c"])])
        assert ledger.record(state, [entry("b", supersedes=["a"])])[0].status == "recorded"
        assert not state.assertions.claimed
