"""``backfill``: older records filled up, and the way back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.graded import Claim, ClaimsEntry, ClaimSource, check_claims
from timeline.grading.backfill import OlderFact, fill_up, take_back
from timeline.grading.distance import decide_distance
from timeline.grading.grade import grade_source

FACT = OlderFact(
    id="claim:1",
    subject="person:bob",
    key="lives-in",
    value='"Ulm"',
    said_at=5,
    entity="person:ada",
    session="session:1",
)
NAMES = st.sampled_from(["a:1", "b:2", "c:3"])


@pytest.mark.requirement("G26", "G29")
def test_an_older_fact_is_filled_up_by_the_design_s_defaults() -> None:
    """Asserted, slow-changing, distance 1.0 and no verification; its session is its only voice."""
    claim = fill_up(FACT)
    assert claim == Claim(
        id="claim:1",
        subject="person:bob",
        key="lives-in",
        domain="_global",
        value='"Ulm"',
        intent="asserted",
        mutability="slow_changing",
        said_at=5,
        sources=(
            ClaimSource(entity="person:ada", source_type="unstated", session="session:1", root="session:1"),
        ),
    )
    assert decide_distance(claim.sources[0]) == 1_000_000
    check_claims(ClaimsEntry("work:older", "conversation", "person:ada", (claim,)))


@pytest.mark.requirement("G26", "M7")
def test_what_was_never_recorded_is_told_as_unknown() -> None:
    """The default distance is a stand-in, and without a session the lineage is unknown."""
    assert grade_source(fill_up(FACT).sources[0], "_global", {}).unknowns == (
        "credibility",
        "distance",
        "verification",
    )
    (source,) = fill_up(
        OlderFact(id="c:1", subject="a:1", key="k", value="1", said_at=1, entity="a:1")
    ).sources
    assert (source.session, source.root) == (None, None)


@pytest.mark.requirement("G29")
@given(NAMES, NAMES, st.sampled_from(["k", "l"]), st.integers(0, 9), NAMES, st.none() | NAMES)
def test_the_way_back_gives_the_fact_as_it_was(
    name: str, subject: str, key: str, said_at: int, entity: str, session: str | None
) -> None:
    """Filling up adds fields and changes none."""
    fact = OlderFact(
        id=name, subject=subject, key=key, value=str(said_at), said_at=said_at, entity=entity, session=session
    )
    assert take_back(fill_up(fact)) == fact
