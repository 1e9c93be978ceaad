"""``recompute``: rows of a run, by hand."""

import msgspec
import pytest

from sidecars.graded import ANOMALIES_MAX, ROWS_MAX, CredibilityRow, check_graded
from tests.grading.examples import AS_OF, DAY, claimed, credential, row_of, rows_of, said_of, says, source
from timeline.grading.credibility import read_run
from timeline.grading.recompute import Run, digest_inputs, format_run, recompute


def test_a_row_holds_everything_that_its_score_is_computed_from() -> None:
    """Two positions of 90 days and one of today, in one domain and over all."""
    old = {"said_at": AS_OF - 90 * DAY}
    run = recompute(
        [
            says("ada", "1970", **old),
            says("bob", "1970"),
            says("eve", "1971"),
            says("ada", "1", key="height", domain="medicine"),
            says("bob", "1", key="height", domain="medicine"),
            says("ada", "7", key="alone"),
        ],
        [credential()],
        AS_OF,
    )
    assert row_of(run, "ada") == CredibilityRow(
        entity="person:ada",
        domain="history",
        score=(1_000_000 + 500_000 + 2_000_000) * 1_000_000 // (2_000_000 + 1_000_000 + 2_000_000),
        claims=2,
        corroborated=1,
        contradicted=1,
        corroborated_weight=500_000,
        contradicted_weight=500_000,
        stood_days=0,
        credential=1_000_000,
    )
    whole = row_of(run, "ada", "_global")
    assert (whole.claims, whole.corroborated, whole.contradicted, whole.credential) == (3, 2, 1, None)
    assert (whole.corroborated_weight, whole.contradicted_weight) == (1_500_000, 500_000)
    assert whole.score == 625_000
    assert row_of(run, "ada", "medicine").score == 666_666
    assert row_of(run, "eve").score == 333_333
    assert [(row.entity, row.domain) for row in run.rows] == sorted(rows_of(run))
    assert (run.computation_version, run.as_of, run.anomalies) == (1, AS_OF, ())


@pytest.mark.requirement("G11")
def test_there_is_no_row_without_evidence_and_one_for_a_credential_alone() -> None:
    """Nobody has a score of 0.5 from nothing."""
    assert recompute([says("ada", "1970")], (), AS_OF).rows == ()
    assert recompute((), (), AS_OF).rows == ()
    run = recompute((), [credential()], AS_OF)
    assert [(row.score, row.claims, row.credential) for row in run.rows] == [(750_000, 0, 1_000_000)]


def test_how_long_positions_have_stood_is_recorded_and_counts_for_nothing() -> None:
    """The mean over those that nobody contradicts, in whole days."""
    long = [
        claimed("1", source("ada"), said_at=AS_OF - 10 * DAY, mutability="stateful"),
        claimed("2", source("ada"), key="other", said_at=AS_OF - 5 * DAY - 1),
        claimed("3", source("bob"), mutability="stateful"),
    ]
    row = row_of(recompute(long, (), AS_OF), "ada")
    assert (row.claims, row.stood_days) == (2, 7)
    stood = recompute([says("ada", "1", said_at=AS_OF - 9 * DAY), says("bob", "2")], (), AS_OF)
    assert row_of(stood, "ada").stood_days == 0
    young = recompute([says("ada", "1", said_at=AS_OF + DAY), says("bob", "1")], (), AS_OF)
    assert row_of(young, "ada").stood_days == 0


@pytest.mark.requirement("M5", "M6")
def test_a_position_counts_once_and_is_as_old_as_its_first_statement() -> None:
    """Saying it again makes it neither heavier nor younger, whatever its lineage is."""
    first, other = says("ada", "1970", said_at=AS_OF - 90 * DAY), says("bob", "1970")
    again = claimed("again", source("ada", root="root:later"), value="1970", said_at=AS_OF)
    lost = claimed("lost", source("ada", root=None), value="1970", said_at=AS_OF - 900 * DAY)
    alone = recompute([first, other], (), AS_OF)
    assert recompute([lost, again, first, other], (), AS_OF).rows == alone.rows
    assert row_of(alone, "ada").corroborated_weight == 500_000


@pytest.mark.requirement("M7")
def test_what_is_of_unknown_lineage_stands_alone_as_old_as_its_first_statement() -> None:
    """Its positions are counted, and nothing is made of them."""
    lost = [
        claimed(str(days), source("ada", root=None), said_at=AS_OF - days * DAY, key="lost")
        for days in (1, 9, 4)
    ]
    real = [says("ada", "1970"), says("bob", "1970")]
    for order in (lost, list(reversed(lost))):
        row = row_of(recompute([*order, *real], (), AS_OF), "ada")
        assert (row.claims, row.corroborated, row.stood_days) == (2, 1, 4)


def test_a_claim_of_no_known_domain_counts_once_in_the_whole_record() -> None:
    """It has no row of a domain of its own."""
    run = recompute([says("ada", "1970", domain="_global"), says("bob", "1970", domain="_global")], (), AS_OF)
    assert [(row.entity, row.domain, row.claims) for row in run.rows] == [
        ("person:ada", "_global", 1),
        ("person:bob", "_global", 1),
    ]


def test_one_value_in_two_domains_is_one_position_of_the_whole_record() -> None:
    """And one in each domain."""
    run = recompute(
        [says("ada", "1"), said_of(says("ada", "1"), id="claim:x", domain="law"), says("bob", "1")], (), AS_OF
    )
    counts = {row.domain: row.claims for row in run.rows if row.entity == "person:ada"}
    assert counts == {"_global": 1, "history": 1, "law": 1}


def test_a_position_is_tested_wherever_one_of_its_times_is() -> None:
    """A value for two times, of which others speak of the first alone, in either order."""
    early, late = {"valid_from": 0, "valid_until": 9}, {"valid_from": 20}
    first, second = says("ada", "1", **early), said_of(says("ada", "1", **late), id="claim:late")
    others = [says("bob", "1", **early), says("eve", "2", **early)]
    for claims in ([first, second, *others], [second, first, *others]):
        row = row_of(recompute(claims, (), AS_OF), "ada")
        assert (row.claims, row.corroborated, row.contradicted) == (1, 1, 1)


def test_the_mean_time_is_that_of_what_nobody_contradicts() -> None:
    """A contradicted position is none of them."""
    alone = [
        says("ada", "1", key=f"k{days}", said_at=AS_OF - days * DAY, mutability="stateful") for days in (4, 8)
    ]
    alone = [said_of(one, id=f"claim:{number}") for number, one in enumerate(alone)]
    row = row_of(recompute([*alone, says("ada", "5"), says("bob", "6")], (), AS_OF), "ada")
    assert (row.claims, row.contradicted, row.stood_days) == (3, 1, 6)
    one = row_of(recompute([alone[0], says("ada", "5"), says("bob", "6")], (), AS_OF), "ada")
    assert (one.claims, one.stood_days) == (2, 4)
    assert type(one.stood_days) is int


# -- inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G13")
def test_the_digest_is_that_of_everything_a_score_depends_on() -> None:
    """Another claim, work, credential or moment gives another digest; another order the same."""
    claims, papers = [says("ada", "1"), says("bob", "2")], [credential("ada"), credential("bob")]
    digest = digest_inputs(claims, papers, AS_OF)
    assert digest == digest_inputs(claims[::-1], papers[::-1], AS_OF)
    assert digest == recompute(claims, papers, AS_OF).inputs_digest
    others = {
        digest_inputs(claims[:1], papers, AS_OF),
        digest_inputs([said_of(claims[0], said_at=1), claims[1]], papers, AS_OF),
        digest_inputs([claims[0]._replace(work_class="fiction"), claims[1]], papers, AS_OF),
        digest_inputs(claims, papers[:1], AS_OF),
        digest_inputs(claims, [papers[0], credential("bob", quality=1)], AS_OF),
        digest_inputs(claims, papers, AS_OF + 1),
        digest_inputs((), (), AS_OF),
    }
    assert len(others) == 7
    assert digest not in others


# -- recording -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("G13")
def test_a_run_is_recorded_in_parts_that_say_what_it_was_made_of() -> None:
    """And is read back as it was; anomalies are in the first part, counted where there are too many to list."""
    claims = [
        claimed(f"{who}{number}", source(f"{who}{number}"), subject=f"thing:{number}", said_at=AS_OF + 1)
        for number in range(70)
        for who in ("ada", "bob")
    ]
    run = recompute(claims, (), AS_OF)
    bodies = format_run(run, "run:2", 77, "run:1")
    for body in bodies:
        check_graded(body)
    first, second = bodies
    assert (first.part, first.parts, second.part, second.parts) == (1, 2, 2, 2)
    assert (len(first.rows), len(second.rows)) == (ROWS_MAX, 280 - ROWS_MAX)
    assert (len(first.anomalies), first.anomalies_found) == (ANOMALIES_MAX, 140)
    assert (second.anomalies, second.anomalies_found) == ((), 0)
    assert {(x.run, x.inputs, x.previous, x.as_of, x.tables_version) for x in bodies} == {
        ("run:2", 77, "run:1", AS_OF, 1)
    }
    assert {x.inputs_digest for x in bodies} == {run.inputs_digest}
    assert tuple(read_run(bodies).values()) == run.rows


def test_a_run_without_rows_is_recorded_too() -> None:
    """That nobody has a record is a result."""
    (body,) = format_run(recompute((), (), AS_OF), "run:1", 0, None)
    assert (body.rows, body.part, body.parts, body.previous) == ((), 1, 1, None)
    assert read_run([body]) == {}


def test_a_run_of_exactly_one_part_has_no_empty_second_one() -> None:
    """256 rows are one part, and what a run says of its version is what its parts say."""
    run = recompute([says("ada", "1"), says("bob", "1")], (), AS_OF)
    rows = tuple(msgspec.structs.replace(run.rows[0], entity=f"a:{number:03d}") for number in range(ROWS_MAX))
    full = Run(2, run.as_of, run.inputs_digest, rows, ())
    (body,) = format_run(full, "run:1", 0, None)
    assert (len(body.rows), body.computation_version) == (ROWS_MAX, 2)
