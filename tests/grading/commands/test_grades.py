"""``timeline world grade|grades``: what a claim or an assertion weighs, and why."""

from typing import Any

import pytest

from tests.capture.stage import Stage, captured, failing
from tests.grading.commands.works import Librarian, head, line
from tests.guard.agents import Agent
from tests.world.commands.speaking import PREDICATE, SUBJECT, SUGGESTION, Owner
from timeline.asserted_claims import user_entity
from timeline.guard.request import Tool


def source_of(grade: dict[str, Any]) -> dict[str, Any]:
    """The one source of a grade."""
    (source,) = grade["sources"]
    return dict(source)


@pytest.fixture
def agent(stage: Stage) -> Agent:
    """Give a session of the stage."""
    return stage.session("codex", failing)


@pytest.mark.requirement("G10")
def test_unknown_and_failed_are_two_things(library: Librarian) -> None:
    """Not assessed is null and named; failed is 0 and drags the grade down to nothing."""
    library.takes_in(head("lives"), line("a"))
    library.takes_in(head("failed", peerReviewed=False), line("b", subject="person:bo"))
    unassessed, failed = source_of(library.grade("claim:a")), source_of(library.grade("claim:b"))
    assert unassessed["V"] == {"value": None, "assessed": False}
    assert (unassessed["composite"], unassessed["unknowns"]) == (200_000, ["credibility", "verification"])
    assert failed["V"] == {"value": 0, "assessed": True}
    assert (failed["composite"], failed["reasons"]) == (0, ["failed-verification"])


@pytest.mark.requirement("G11")
def test_s_says_which_row_it_is_of(library: Librarian) -> None:
    """Of the domain, else of all of them, else none; a half that was earned is another than one of nobody."""
    library.takes_in(head("lives"), line("a"), line("other", 1, domain="chess", subject="person:bo"))
    library.takes_in(head("letters"), line("b"))
    library.takes_in(head("odd"), line("c", 1816))
    before = source_of(library.grade("claim:a"))["S"]
    assert before == {"score": 500_000, "row": "none", "domain": None, "evidence": 0}
    library.recomputes()
    own, other = source_of(library.grade("claim:a"))["S"], source_of(library.grade("claim:other"))["S"]
    assert own == {"score": 500_000, "row": "domain", "domain": "biography", "evidence": 2}
    assert (other["row"], other["domain"], other["evidence"]) == ("global", None, 2)


@pytest.mark.requirement("G6", "M4")
def test_an_assertion_is_graded_by_who_recorded_it(
    owner: Owner, stage: Stage, agent: Agent, library: Librarian
) -> None:
    """Captured: the host saw it. The owner's word: himself. A suggestion: a supposition without a root."""
    capture = captured(agent)["captured"]["assertionId"]
    seen = source_of(library.grade(capture))
    assert (seen["entity"], seen["D"]["sourceType"], seen["D"]["hops"]) == ("host:transcript", "observed", 1)
    assert "lineage" not in seen["unknowns"]

    mine = library.grade(owner.records("main"))
    assert (source_of(mine)["entity"], source_of(mine)["D"]["factor"]) == ("owner:word", 1_000_000)
    assert (mine["intent"], mine["ceiling"]) == ("asserted", None)

    suggested = agent.ask(Tool.RECORD, {**SUGGESTION, "value": "other"})["assertion"]["id"]
    model = library.grade(suggested)
    assert (source_of(model)["entity"], source_of(model)["D"]["sourceType"]) == (
        "model:suggestion",
        "unknown",
    )
    assert (model["intent"], model["ceiling"]) == ("speculative", "assumption")
    assert {"lineage", "distance"} <= set(source_of(model)["unknowns"])
    assert {one["value"] for one in model["values"]} == {'"main"', '"other"'}


@pytest.mark.requirement("M5", "M6")
def test_saying_it_again_adds_nothing(owner: Owner, library: Librarian) -> None:
    """The owner is one voice, however often he says so."""
    first = owner.records("main")
    once = library.grade(first)["values"]
    owner.records("main", "--everywhere")
    again = library.grade(first)["values"]
    assert (again[0]["weight"], again[0]["voices"]) == (once[0]["weight"], 1)
    assert len(again[0]["claims"]) == 2


def test_what_is_revoked_stands_no_more(owner: Owner, library: Librarian) -> None:
    """Beside another one; by its own id it can be looked at."""
    first, second = owner.records("main"), owner.records("next")
    assert len(library.grade(first)["values"]) == 2
    owner.says("world", "revoke", second, "--reason", "a slip")
    assert [one["claims"] for one in library.grade(first)["values"]] == [[first]]
    assert len(library.grade(second)["values"]) == 2


def test_works_stand_beside_assertions(owner: Owner, library: Librarian) -> None:
    """Of one question both are told, each under its own source."""
    mine = owner.records("main")
    library.takes_in(head("notes"), line("a", "next", subject=SUBJECT, key=PREDICATE))
    assert {value for one in library.grade(mine)["values"] for value in one["claims"]} == {mine, "claim:a"}
    assert [one["claims"] for one in library.grade("claim:a")["values"]] == [["claim:a"]]


def test_what_is_not_seen_is_not_graded(owner: Owner, library: Librarian) -> None:
    """As what is not there: nothing private is shown in a group's view."""
    mine = owner.records("main")
    assert owner.refused("world", "grade", mine, "--group", "team") == "grading-unknown"
    shared = owner.records("next", "--shared")
    seen = owner.says("world", "grade", shared, "--group", "team")
    assert [one["claims"] for one in seen["values"]] == [[shared]]
    assert owner.refused("world", "grade", "assertion:none") == "grading-unknown"
    assert owner.refused("world", "grades", "person:none") == "grading-unknown"
    library.takes_in(head("lives"), line("a"))
    assert owner.refused("world", "grades", "person:ada", "died") == "grading-unknown"


@pytest.mark.requirement("G6")
def test_claims_are_ordered_by_their_grade(library: Librarian) -> None:
    """What is asserted before what is assumed, the best first, and what is no answer last."""
    library.takes_in(
        head("lives", reliability=5),
        line(
            "a-weak",
            1,
            sources=[{"entity": "person:x", "sourceType": "hearsay", "hops": 3, "root": "root:x"}],
        ),
        line("guess", 2, intent="speculative"),
        line("denied", 3, intent="disclaimed"),
        line("good", 4),
    )
    found = library.question()
    assert [one["id"] for one in found["claims"]] == [
        "claim:good",
        "claim:a-weak",
        "claim:guess",
        "claim:denied",
    ]
    assert [one["ceiling"] for one in found["values"] if one["value"] == "2"] == ["assumption"]


def test_it_is_told_for_a_person(owner: Owner, library: Librarian) -> None:
    """In a few lines, or with every part and its reason."""
    library.takes_in(head("lives"), line("a"), line("city", "Paris", key="city", mutability="stateful"))
    _, out, _ = owner.types("world", "grade", "claim:a")
    assert "composite      0.200" in out
    assert "unknown: credibility, verification; --explain shows S, D and V of each source" in out
    assert "never computed: timeline world recompute" in out
    _, out, _ = owner.types("world", "grade", "claim:a", "--explain")
    assert "S        0.500         no row: a stand-in" in out
    assert "D        0.800         cited, hops: 1, table 1" in out
    assert "V        none          not assessed: 0.500 stands in" in out
    assert "nobody has checked it: 0.5 stands in for V" in out
    _, out, _ = owner.types("world", "grades", "person:ada")
    assert "born of person:ada (immutable)" in out
    assert 'current: "Paris"' in out


def test_a_user_of_any_name_is_an_entity() -> None:
    """One that no stable id can hold stands there as its digest."""
    assert user_entity("dev") == "user:dev"
    assert user_entity("me@home").startswith("user:sha256-")
    assert user_entity("me@home") != user_entity("you@home")
