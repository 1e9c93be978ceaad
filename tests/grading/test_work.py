"""``work``: what the class of a work makes of what is read in it."""

from typing import Any

import pytest

from sidecars.graded import Claim, ClaimsEntry, ClaimSource, Intent, SourceType, WorkClass, check_claims
from tests.grading.examples import AS_OF, OF_CLASSES
from timeline.grading.work import Extract, Extracted, Work, decide_intent, decide_verification, make_claim


def work(work_class: WorkClass, **changes: Any) -> Work:
    """Give a work with a root and a verification."""
    return Work("work:book", work_class, "person:ada", "root:book", 600_000)._replace(**changes)


def read(extract: Extract = "statement", **changes: Any) -> Extracted:
    """Give something about Bob that was read."""
    fields: dict[str, Any] = {
        "id": "claim:1",
        "extract": extract,
        "subject": "person:bob",
        "key": "born",
        "domain": "history",
        "value": "1970",
        "mutability": "immutable",
        "said_at": AS_OF,
    }
    return Extracted(**(fields | changes))


@pytest.mark.requirement("G2", "G5", "G25")
@pytest.mark.parametrize(("work_class", "intent", "source_type", "hops"), OF_CLASSES)
def test_the_class_of_a_work_decides(
    work_class: WorkClass, intent: Intent, source_type: SourceType, hops: int
) -> None:
    """Intent and distance; root and verification are the work's."""
    claim = make_claim(work(work_class), read())
    assert claim == Claim(
        id="claim:1",
        subject="person:bob",
        key="born",
        domain="history",
        value="1970",
        intent=intent,
        mutability="immutable",
        said_at=AS_OF,
        sources=(
            ClaimSource(
                entity="person:ada",
                source_type=source_type,
                hops=hops,
                verification=600_000,
                root="root:book",
            ),
        ),
    )
    check_claims(ClaimsEntry("work:book", work_class, "person:ada", (claim,)))


@pytest.mark.requirement("G8", "G25")
def test_what_an_author_says_of_himself_is_at_no_distance() -> None:
    """An autobiography is a report of its own; a session of the reading is kept."""
    claim = make_claim(work("autobiography"), read(subject="person:ada", session="session:1"))
    (source,) = claim.sources
    assert (source.source_type, source.hops, source.session) == ("self", 0, "session:1")
    assert claim.subject == "person:ada"


@pytest.mark.requirement("G25")
@pytest.mark.parametrize("extract", ["theme", "argument"])
@pytest.mark.parametrize("work_class", ["fiction", "paper"])
def test_what_a_work_is_about_and_argues_is_first_class(work_class: WorkClass, extract: Extract) -> None:
    """Of a novel too: it is asserted, by its author, of the work."""
    claim = make_claim(work(work_class), read(extract))
    assert (claim.intent, claim.subject) == ("asserted", "work:book")
    (source,) = claim.sources
    assert (source.entity, source.source_type, source.hops) == ("person:ada", "self", 0)
    assert (source.root, source.verification) == ("root:book", 600_000)
    check_claims(ClaimsEntry("work:book", work_class, "person:ada", (claim,)))


@pytest.mark.requirement("G25")
def test_a_reaction_is_the_readers() -> None:
    """Neither the work's root nor its verification is behind it."""
    claim = make_claim(work("fiction"), read("reaction", reader="agent:me", session="session:9"))
    assert (claim.intent, claim.subject) == ("asserted", "work:book")
    assert claim.sources == (
        ClaimSource(entity="agent:me", source_type="self", session="session:9", root="session:9"),
    )
    unknown = make_claim(work("fiction"), read("reaction", reader="agent:me"))
    assert unknown.sources[0].root is None


@pytest.mark.requirement("G2", "G5")
@pytest.mark.parametrize("signalled", ["asserted", "speculative", "disclaimed", "hypothetical"])
def test_the_wording_decides_what_the_class_leaves_open(signalled: Intent) -> None:
    """In a conversation it is taken as it was signalled; what a story tells is fictional, however it is worded."""
    assert decide_intent("conversation", "statement", signalled) == signalled
    assert decide_intent("fiction", "statement", signalled) == "fictional"
    assert decide_intent("fiction", "theme", signalled) == signalled
    assert make_claim(work("conversation"), read(intent=signalled)).intent == signalled


@pytest.mark.requirement("G9", "G10")
@pytest.mark.parametrize(
    ("known", "verification"),
    [
        ({}, None),
        ({"reliability": 0}, 0),
        ({"reliability": 1}, 200_000),
        ({"reliability": 5}, 1_000_000),
        ({"reliability": 9}, 1_000_000),
        ({"peer_reviewed": True}, 800_000),
        ({"peer_reviewed": False}, 0),
        ({"citations": 0}, 500_000),
        ({"citations": 2}, 700_000),
        ({"citations": 5}, 1_000_000),
        ({"citations": 50}, 1_000_000),
        ({"reliability": 4, "peer_reviewed": True, "citations": 1}, 733_333),
    ],
)
def test_verification_is_the_mean_of_what_was_assessed(
    known: dict[str, Any], verification: int | None
) -> None:
    """Nothing assessed is no number; a failed assessment is 0."""
    found = decide_verification(**known)
    assert (found, type(found)) == (verification, type(verification))
