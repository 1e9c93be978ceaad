"""Works are taken in, credibilities computed, claims graded, credentials and verdicts given: all by commands."""

import pytest

from tests.grading.commands.works import Librarian, head, line, reasons_of, weights
from tests.world.commands.speaking import Owner


@pytest.mark.requirement("G2", "G6", "G12", "G25", "G27")
def test_from_two_works_to_a_verdict(owner: Owner, library: Librarian) -> None:
    """Two works agree, one differs; the agreeing ones gain, a credential lifts one, and the owner settles it."""
    library.takes_in(head("lives"), line("lives"))
    library.takes_in(head("letters", reliability=4), line("letters"))
    library.takes_in(head("gossip", **{"class": "conversation"}), line("gossip", 1816))
    ran = library.recomputes()
    assert (ran["recorded"], ran["claims"], ran["previous"]) == (True, 3, None)
    scores = {row["entity"]: row["score"] for row in ran["rows"] if row["domain"] == "biography"}
    assert scores["person:editor-lives"] == scores["person:editor-letters"] > scores["person:editor-gossip"]
    assert scores["person:editor-gossip"] < 500_000

    grade = library.grade("claim:letters")
    (source,) = grade["sources"]
    assert source["S"] == {
        "score": scores["person:editor-letters"],
        "row": "domain",
        "domain": "biography",
        "evidence": 2,
    }
    assert source["D"] == {"factor": 800_000, "sourceType": "cited", "hops": 1, "tablesVersion": 1}
    assert source["V"] == {"value": 800_000, "assessed": True}
    assert source["composite"] == scores["person:editor-letters"] * 800_000 * 800_000 // 10**12
    assert source["unknowns"] == []
    assert {"corroborated", "contradicted", "credibility-of-domain"} == set(reasons_of(grade))
    assert (grade["run"], grade["runOutdated"]) == (ran["run"], False)
    assert [value for value, _ in weights(library.question())] == ["1815", "1816"]

    owner.says(
        "world", "credential", "add", "person:editor-gossip", "biography", "--quality", "1", "--basis", "x"
    )
    assert library.grade("claim:letters")["runOutdated"] is True
    again = library.recomputes()
    assert again["previous"] == ran["run"]
    (changed,) = [one for one in again["changes"] if one["domain"] == "biography"]
    assert changed["entity"] == "person:editor-gossip"
    assert changed["before"] == scores["person:editor-gossip"] < changed["after"]

    about = ("person:ada", "born")
    given = owner.says("world", "verdict", *about, "--choose", "claim:lives", "--reason", "the older one")
    (verdict,) = given["verdicts"]
    assert (verdict["chosen"], verdict["inForce"], verdict["gradesChanged"]) == (["claim:lives"], True, False)
    library.takes_in(head("notes"), line("notes", 1816))
    (listed,) = owner.says("world", "verdicts", "person:ada")["verdicts"]
    assert (listed["id"], listed["gradesChanged"]) == (verdict["id"], True)
    later = owner.says("world", "verdict", *about, "--none", "--reason", "they are two against two")
    assert later["verdicts"][0]["supersedes"] == [verdict["id"]]
    assert [one["inForce"] for one in owner.says("world", "verdicts")["verdicts"]] == [False, True]
    assert owner.run("verify", "--deep")[0] == 0


@pytest.mark.requirement("G21")
def test_only_another_root_corroborates(library: Librarian) -> None:
    """Two works that go back to one root are one voice; nor is anybody corroborated by what has no root."""
    library.takes_in(head("lives"), line("lives"))
    library.takes_in(head("copy", root="root:lives"), line("copy"))
    library.takes_in(head("rumour", root=None), line("rumour"))
    assert library.scores() == {}
    assert "lineage" in library.grade("claim:rumour")["sources"][0]["unknowns"]
    before = weights(library.question())
    library.takes_in(head("more", root="root:lives"), line("more"))
    assert weights(library.question()) == before
    library.takes_in(head("other"), line("other"))
    assert set(library.scores()) == {
        "person:editor-lives",
        "person:editor-copy",
        "person:editor-more",
        "person:editor-other",
    }


@pytest.mark.requirement("G25", "G4")
def test_fiction_changes_nothing(library: Librarian) -> None:
    """What a novel by somebody real tells moves no score and no grade; its theme is a claim of its own."""
    library.takes_in(head("lives"), line("lives"))
    library.takes_in(head("letters"), line("letters"))
    before = library.scores(), weights(library.question())
    library.takes_in(
        head("novel", author="person:editor-lives", **{"class": "fiction"}),
        line("novel", 1900, intent="asserted"),
        line("theme", "ambition", extract="theme", subject=None, key="theme"),
        line(
            "felt",
            "sad",
            extract="reaction",
            subject=None,
            key="felt",
            reader="person:me",
            session="session:1",
        ),
    )
    assert (library.scores(), weights(library.question())) == before
    graded = library.grade("claim:novel")
    assert (graded["intent"], graded["composite"], graded["reasons"]) == (
        "fictional",
        None,
        ["intent-fictional"],
    )
    theme = library.grade("claim:theme")
    assert (theme["subject"], theme["intent"]) == ("work:novel", "asserted")
    assert theme["sources"][0]["entity"] == "person:editor-lives"
    assert library.grade("claim:felt")["sources"][0]["entity"] == "person:me"


@pytest.mark.requirement("G15", "G18", "G28")
def test_what_changes_keeps_its_whole_course(library: Librarian) -> None:
    """The newest statement is current, the older ones stay and damage nobody."""
    where = {"key": "city", "mutability": "stateful"}
    library.takes_in(
        head("lives"),
        line("first", "London", saidAt="2026-01-01T00:00:00Z", **where),
        line("second", "Paris", saidAt="2026-02-01T00:00:00Z", **where),
        line("third", "Rome", saidAt="2026-03-01T00:00:00Z", intent="speculative", **where),
    )
    library.takes_in(head("letters"), line("fourth", "London", saidAt="2026-01-05T00:00:00Z", **where))
    current = library.question(key="city")["current"]
    assert (current["values"], current["assumption"]) == (['"Paris"'], False)
    assert [one["value"] for one in current["trajectory"]] == ['"London"', '"London"', '"Paris"', '"Rome"']
    rows = library.recomputes("--dry-run")["rows"]
    assert {row["contradicted"] for row in rows} == {0}


@pytest.mark.requirement("W16", "G6")
def test_a_grade_settles_no_conflict(owner: Owner, library: Librarian) -> None:
    """However much one side weighs, what is disputed stays so; a verdict moves nothing either."""
    first = owner.records("main")
    second = owner.records("next")
    subject, key = "service:api", "deploy.branch"
    for name in ("one", "two", "three"):
        library.takes_in(head(name), line(name, "main", subject=subject, key=key))
    library.recomputes()
    graded = library.grade(first)
    assert [one["value"] for one in graded["values"]] == ['"main"', '"next"']
    assert graded["values"][0]["weight"] > graded["values"][1]["weight"]
    owner.says("world", "verdict", subject, key, "--choose", "claim:one", "--reason", "all agree")
    (conflict,) = owner.says("world", "conflicts")["conflicts"]
    assert {one["id"] for one in conflict["assertions"]} == {first, second}
    assert owner.says("world", "facts")["facts"] == []
