"""``timeline world credential|verdict|verdicts``: what the owner says about sources and questions."""

import pytest

from tests.grading.commands.works import Librarian, head, line
from tests.world.commands.speaking import Owner
from timeline.cli.grading import parse_quality
from timeline.errors import UsageError

ADD = ("world", "credential", "add", "person:ada", "chemistry")
SEEN = ("--quality", "0.9", "--basis", "doctorate, seen")


@pytest.mark.requirement("G12")
def test_a_credential_counts_as_two_observations(owner: Owner, library: Librarian) -> None:
    """In its domain alone, with the next computation, and as long as it is valid."""
    owner.says(*ADD, *SEEN)
    (row,) = library.recomputes()["rows"]
    assert (row["entity"], row["domain"], row["credential"]) == ("person:ada", "chemistry", 900_000)
    assert row["score"] == (1_000_000 + 2 * 900_000) * 1_000_000 // 4_000_000
    owner.says(*ADD, *SEEN, "--until", "2026-08-20T12:00:00Z")
    owner.stage.world.clock.at_ms += 3_600_000
    assert library.recomputes()["rows"] == []


@pytest.mark.requirement("G12")
def test_the_newest_of_one_id_counts(owner: Owner) -> None:
    """The same basis is the same credential; one that failed counts as such."""
    (first,) = owner.says(*ADD, *SEEN)["credentials"]
    assert (first["quality"], first["inForce"], first["validUntil"]) == (900_000, True, None)
    assert owner.refused(*ADD, *SEEN) == "grading-unchanged"
    both = owner.says(*ADD, "--quality", "0", "--basis", "doctorate, seen")["credentials"]
    assert [(one["id"], one["quality"], one["inForce"]) for one in both] == [
        (first["id"], 900_000, False),
        (first["id"], 0, True),
    ]
    thrice = owner.says(*ADD, *SEEN)["credentials"]
    assert [(one["quality"], one["inForce"]) for one in thrice] == [
        (900_000, False),
        (0, False),
        (900_000, True),
    ]
    named = owner.says(*ADD, "--quality", "1", "--basis", "other", "--id", "credential:mine")["credentials"]
    assert [one["inForce"] for one in named] == [False, False, True, True]
    assert owner.says("world", "credential", "list", "person:none")["credentials"] == []
    _, out, _ = owner.types("world", "credential", "list")
    said = [row.split("  ")[1] for row in out.splitlines()[2:]]
    assert said == ["does not count", "does not count", "counts", "counts"]


def test_a_credential_of_another_form_is_refused(owner: Owner) -> None:
    """By the field; a basis that looks like a secret too, untold."""
    assert owner.refused("world", "credential", "add", "ada", "chemistry", *SEEN) == "grading-invalid"
    assert owner.refused("world", "credential", "add", "person:ada", "Chemistry!", *SEEN) == "grading-invalid"
    assert owner.refused(*ADD, "--quality", "2", "--basis", "x") == "usage"
    assert owner.refused(*ADD, "--quality", "1", "--basis", "") == "grading-invalid"
    ends = ("--from", "2026-08-20T12:00:00Z", "--until", "2026-08-20T11:00:00Z")
    assert owner.refused(*ADD, *SEEN, *ends) == "grading-invalid"
    secret = "sk-proj-" + "abcDEF123456" * 4
    assert owner.refused(*ADD, "--quality", "1", "--basis", secret) == "world-secret-shaped"


@pytest.mark.parametrize(
    ("text", "millionths"), [("0", 0), ("1", 1_000_000), ("0.5", 500_000), ("0.000001", 1), ("1e-1", 100_000)]
)
def test_a_quality_is_exact(text: str, millionths: int) -> None:
    """Whole millionths of what was typed."""
    assert parse_quality(text) == millionths


@pytest.mark.parametrize("text", ["", "x", "-0.1", "1.000001", "0.0000001", "nan", "inf"])
def test_a_quality_is_between_0_and_1(text: str) -> None:
    """With at most six digits behind the point."""
    with pytest.raises(UsageError):
        parse_quality(text)


VERDICT = ("world", "verdict", "person:ada", "born")


@pytest.mark.requirement("G27")
def test_a_verdict_is_refused_where_it_cannot_be_given(owner: Owner, library: Librarian) -> None:
    """On nothing, with a claim of another question, with one that was not meant, or with neither word."""
    why = ("--reason", "it is")
    assert owner.refused(*VERDICT, "--none", *why) == "grading-unknown"
    library.takes_in(
        head("lives"), line("a"), line("denied", 2, intent="disclaimed"), line("other", subject="person:bo")
    )
    assert owner.refused(*VERDICT, *why) == "usage"
    assert owner.refused(*VERDICT, "--none", "--choose", "claim:a", *why) == "usage"
    assert owner.refused(*VERDICT, "--choose", "claim:other", *why) == "grading-invalid"
    assert owner.refused(*VERDICT, "--choose", "claim:denied", *why) == "grading-invalid"
    secret = "sk-proj-" + "abcDEF123456" * 4
    assert owner.refused(*VERDICT, "--choose", "claim:a", "--reason", secret) == "world-secret-shaped"
    owner.says(*VERDICT, "--choose", "claim:a", *why)
    assert owner.refused(*VERDICT, "--choose", "claim:a", *why) == "grading-unchanged"


@pytest.mark.requirement("G27", "G28")
def test_grades_have_changed_since(owner: Owner, library: Librarian) -> None:
    """Said by lists and by the question, in words too; a verdict on the new grades says so no more."""
    library.takes_in(head("lives"), line("a"))
    owner.says(*VERDICT, "--choose", "claim:a", "--reason", "one source")
    assert library.question()["verdicts"][0]["gradesChanged"] is False
    library.takes_in(head("letters"), line("b"))
    library.recomputes()
    assert library.question()["verdicts"][0]["gradesChanged"] is True
    _, out, _ = owner.types("world", "verdicts")
    assert "in force; grades have changed since" in out
    owner.says(*VERDICT, "--choose", "claim:a", "--choose", "claim:b", "--reason", "both")
    old, new = owner.says("world", "verdicts", "person:ada")["verdicts"]
    assert (old["inForce"], new["inForce"], new["gradesChanged"]) == (False, True, False)
    assert new["supersedes"] == [old["id"]]
    assert [one["id"] for one in library.question()["verdicts"]] == [new["id"]]
    assert owner.says("world", "verdicts", "person:none")["verdicts"] == []


@pytest.mark.requirement("G27")
def test_a_verdict_changes_no_score(owner: Owner, library: Librarian) -> None:
    """Neither does it count as a claim."""
    library.takes_in(head("lives"), line("a"))
    library.takes_in(head("letters"), line("b", 1816))
    before = library.scores()
    owner.says(*VERDICT, "--choose", "claim:a", "--reason", "it is")
    assert library.scores() == before
    assert library.grade("claim:a")["runOutdated"] is True
    library.recomputes()
    owner.says(*VERDICT, "--none", "--reason", "it is not")
    assert library.grade("claim:a")["runOutdated"] is False
