"""``claims``: what competes, what counts for a record, and how strict a question is."""

import pytest

from sidecars.graded import ClaimsEntry, Intent, Mutability
from tests.grading.examples import claimed, said_of, says
from timeline.grading.claims import (
    ALWAYS,
    FOR_EVER,
    Claimed,
    group_by_question,
    read_claims,
    sources_of,
    strictest_mutability,
)
from timeline.grading.errors import ClaimIdError

INTENTS: dict[Intent, bool] = {
    "asserted": True,
    "speculative": True,
    "fictional": False,
    "disclaimed": False,
    "hypothetical": False,
}


def entry(*claims: Claimed, work: str = "work:talk") -> ClaimsEntry:
    """Give a work that makes the claims."""
    return ClaimsEntry(work, "conversation", "person:ada", tuple(one.claim for one in claims))


@pytest.mark.requirement("G3", "G4")
@pytest.mark.parametrize(("intent", "graded"), INTENTS.items())
def test_only_what_was_meant_to_be_believed_competes(intent: Intent, *, graded: bool) -> None:
    """And only what was asserted outside of fiction counts for anybody's record (G12)."""
    one = claimed("1", intent=intent)
    assert one.is_graded is graded
    assert one.counts is (intent == "asserted")
    assert one._replace(work_class="fiction").counts is False


def test_a_claim_without_bounds_holds_always() -> None:
    """From before any moment until after every one."""
    assert claimed("1").window == (ALWAYS, FOR_EVER)
    assert claimed("1", valid_from=5, valid_until=9).window == (5, 9)
    assert (ALWAYS, FOR_EVER) == (0, 253_402_300_799_999 + 1)


def test_claims_are_read_once_by_id() -> None:
    """What is imported twice was said once, and the order is that of the ids."""
    one, two = says("ada", "1970"), says("bob", "1971")
    found = read_claims([entry(two, one), entry(one)])
    assert [x.claim.id for x in found] == ["claim:ada-1970", "claim:bob-1971"]
    assert found[0] == one
    assert found[0].question == ("person:bob", "born")


@pytest.mark.parametrize(
    "other", [entry(says("ada", "1970", said_at=1)), entry(says("ada", "1970"), work="work:b")]
)
def test_an_id_for_two_claims_is_refused(other: ClaimsEntry) -> None:
    """Neither can be believed to be the one that was meant; another work is another claim."""
    with pytest.raises(ClaimIdError, match=r"^a claim's id must stand for one claim of one work$"):
        read_claims([entry(says("ada", "1970")), other])


def test_claims_are_grouped_by_what_they_are_about() -> None:
    """Subject and key, in the order given."""
    one, two, three = claimed("1"), claimed("2", key="died"), claimed("3")
    assert group_by_question([three, two, one]) == {
        ("person:bob", "born"): [three, one],
        ("person:bob", "died"): [two],
    }
    assert [(a.claim.id, b.entity) for a, b in sources_of([one])] == [("claim:1", "person:ada")]


@pytest.mark.requirement("G20")
@pytest.mark.parametrize(
    ("given", "strictest"),
    [
        (("stateful", "slow_changing", "immutable"), "immutable"),
        (("slow_changing", "stateful"), "slow_changing"),
        (("stateful",), "stateful"),
        ((), "stateful"),
    ],
)
def test_the_strictest_class_wins(given: tuple[Mutability, ...], strictest: Mutability) -> None:
    """For all claims of one question."""
    claims = [claimed(str(number), mutability=one) for number, one in enumerate(given)]
    assert strictest_mutability(claims) == strictest


@pytest.mark.requirement("G15", "G20")
def test_nothing_that_is_not_believed_hardens_a_question() -> None:
    """One fictional, denied or supposed immutable claim leaves real ones as they are; a speculative one does not."""
    soft = claimed("soft", mutability="stateful")
    for intent in ("fictional", "disclaimed", "hypothetical"):
        assert strictest_mutability([soft, claimed("hard", intent=intent)]) == "stateful"
    assert strictest_mutability([soft, claimed("hard", work_class="fiction")]) == "stateful"
    assert strictest_mutability([soft, said_of(claimed("hard"), intent="speculative")]) == "immutable"
