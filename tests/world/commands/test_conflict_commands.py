"""``timeline world resolve``: how people see a conflict, and how they settle it."""

import pytest

from tests.capture.stage import captured, failing, passing
from tests.world.commands.speaking import ABOUT, PREDICATE, SUBJECT, SUGGESTION, Owner, ids
from timeline.guard.request import Tool
from timeline.world import ledger
from timeline.world.assertion import Scope, make_entry
from timeline.world.owner_statement import owner_evidence
from timeline.world_use import OwnerStatement, record_statement
from timeline.world_view import standpoint


@pytest.mark.requirement("W12", "W15", "W18")
def test_a_conflict_is_shown_and_settled_by_one_assertion(owner: Owner) -> None:
    """It supersedes all that disagreed; nothing is disputed afterwards."""
    first, second, third = owner.records("main"), owner.records("next"), owner.records("main")
    assert owner.says("world", "facts")["facts"] == []
    answer = owner.says("world", "conflicts")
    (conflict,) = answer["conflicts"]
    assert ids(conflict["assertions"]) == [third, second, first]
    assert answer["uncertainty"]["requiresResolution"] is True
    before = owner.stage.leaves()
    found = owner.says("world", "resolve", *ABOUT, "--choose", second)
    assert owner.stage.leaves() == before + 1
    (one,) = found["assertions"]
    assert (one["value"], one["supersedes"]) == ("next", sorted([first, second, third]))
    assert found["uncertainty"]["requiresResolution"] is False
    (fact,) = owner.says("world", "facts")["facts"]
    assert fact["value"] == "next"
    assert owner.refused("world", "resolve", *ABOUT, "--text", "x") == "world-conflict-missing"


@pytest.mark.requirement("W18")
def test_a_part_of_a_conflict_leaves_a_conflict(owner: Owner) -> None:
    """A correction of one of them is no resolution, and the answer says what is disputed still."""
    first, second = owner.records("main"), owner.records("next")
    found = owner.says("world", "correct", first, "--text", "release")
    assert found["uncertainty"]["requiresResolution"] is True
    assert second in found["uncertainty"]["conflict"]


@pytest.mark.requirement("W18", "T31")
def test_measured_results_that_disagree_are_settled_by_the_owner_alone(owner: Owner) -> None:
    """The failed run and the passed one are both measured (T31); the owner's word supersedes both, on their route."""
    first = owner.stage.session("codex", failing)
    second = owner.stage.session("claude", passing, number=1)
    failed, passed = captured(first), captured(second, "pytest passed")
    (conflict,) = owner.says("world", "conflicts")["conflicts"]
    measured = ids(conflict["assertions"])
    assert set(measured) == {one["captured"]["assertionId"] for one in (failed, passed)}
    about = (conflict["subjectId"], conflict["predicate"])
    found = owner.says("world", "resolve", *about, "--choose", passed["captured"]["assertionId"])
    (one,) = found["assertions"]
    assert (one["supersedes"], one["recorder"]) == (sorted(measured), "owner")
    assert one["threadRef"] == conflict["assertions"][0]["threadRef"]
    (told,) = second.ask(Tool.CONTEXT, {"subjectId": about[0], "includePrivate": True})["facts"]
    assert told["value"]["outcome"] == "pass"


@pytest.mark.usefixtures("_terminal")
@pytest.mark.requirement("W18")
def test_the_owner_is_shown_what_disagrees_and_asked(owner: Owner) -> None:
    """On whose word each stands, what is superseded, and then once more."""
    first, second = owner.records("main"), owner.records("next")
    before = owner.stage.leaves()
    code, out, err = owner.types("world", "resolve", *ABOUT, given=b"3\n2\ny\n")
    assert (code, err, owner.stage.leaves()) == (0, "", before + 1)
    shown, _, asked = out.partition("Which one holds?")
    assert f'2  "main"  owner\'s word, 2 s ago  {first}' in shown
    assert f'1  "next"  owner\'s word, 1 s ago  {second}' in shown
    said = asked.partition("Record this?")[0]
    assert 'By your word "main" holds.' in said
    assert first in said
    assert second in said
    assert "supersedes 2 assertions" in asked
    (fact,) = owner.says("world", "facts")["facts"]
    assert fact["value"] == "main"


@pytest.mark.usefixtures("_terminal")
@pytest.mark.requirement("W18")
def test_another_value_can_settle_it(owner: Owner) -> None:
    """As JSON; 0 asks for it."""
    owner.records("main")
    owner.records("next")
    code, _, _ = owner.types("world", "resolve", *ABOUT, given=b'0\n{"on": ["a", 1.0]}\ny\n')
    assert code == 0
    (fact,) = owner.says("world", "facts")["facts"]
    assert fact["value"] == {"on": ["a", 1]}


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(
    ("given", "code"), [(b"", 130), (b"1\n", 130), (b"1\nn\n", 0), (b"1\n\n", 0), (b"0\nmain\n", 2)]
)
def test_without_a_yes_nothing_is_recorded(owner: Owner, given: bytes, code: int) -> None:
    """An interruption at any question leaves the conflict as it is."""
    owner.records("main")
    owner.records("next")
    before = owner.stage.leaves()
    assert owner.types("world", "resolve", *ABOUT, given=given)[0] == code
    assert owner.stage.leaves() == before
    assert len(owner.says("world", "conflicts")["conflicts"]) == 1


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("command", ["confirm", "correct"])
def test_an_interrupted_word_is_not_said(owner: Owner, command: str) -> None:
    """What it is about is shown, and asked."""
    agent = owner.stage.session("codex", failing)
    suggested = agent.ask(Tool.RECORD, SUGGESTION)["assertion"]["id"]
    value = ("--text", "release") if command == "correct" else ()
    before = owner.stage.leaves()
    code, out, _ = owner.types("world", command, suggested, *value)
    assert (code, owner.stage.leaves()) == (130, before)
    assert '"next"' in out
    assert suggested in out
    assert owner.types("world", command, suggested, *value, given=b"y\n")[0] == 0
    assert owner.stage.leaves() == before + 1


@pytest.mark.usefixtures("_terminal")
@pytest.mark.requirement("W18")
def test_what_comes_while_the_owner_thinks_is_not_overruled(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare and set: the conflict is not the one that was shown."""
    owner.records("main")
    owner.records("next")
    session = owner.stage.world.session

    def meanwhile(*_: object, **__: object) -> bool:
        where = standpoint(session, owner.stage.world.root)
        record_statement(session, where, OwnerStatement(subject=SUBJECT, predicate=PREDICATE, value="third"))
        return True

    monkeypatch.setattr("timeline.cli.world_owner.click.confirm", meanwhile)
    before = owner.stage.leaves()
    code, _, err = owner.types("world", "resolve", *ABOUT, given=b"1\n")
    assert (code, "[world-compare-and-set-failed]" in err) == (2, True)
    assert owner.stage.leaves() == before + 1
    (conflict,) = owner.says("world", "conflicts")["conflicts"]
    assert len(conflict["assertions"]) == 3


@pytest.mark.requirement("W18", "W54")
def test_a_conflict_between_this_project_and_all_is_settled_in_both(owner: Owner) -> None:
    """One assertion cannot replace both: each place gets its own, in one batch, and only where it has to."""
    here = owner.records("main")
    everywhere = owner.records("next", "--everywhere")
    found = owner.says("world", "resolve", *ABOUT, "--text", "release")
    assert [(one["projectId"], one["supersedes"]) for one in found["assertions"]] == [
        (None, [everywhere]),
        (owner.stage.world.root, [here]),
    ]
    assert found["uncertainty"]["requiresResolution"] is False
    owner.records("main")
    kept = found["assertions"][0]["id"]
    again = owner.says("world", "resolve", *ABOUT, "--choose", kept)
    assert [one["projectId"] for one in again["assertions"]] == [owner.stage.world.root]
    (fact,) = owner.says("world", "facts")["facts"]
    assert fact["value"] == "release"


@pytest.mark.requirement("W18")
def test_a_conflict_of_more_than_one_assertion_can_name_is_settled_too(owner: Owner) -> None:
    """Two assertions that say the same, in one batch."""
    where = standpoint(owner.stage.world.session, owner.stage.world.root)
    scope = Scope(where.reader.tenant, where.reader.user, where.reader.project)
    now_ms = owner.stage.world.clock.at_ms
    entries = [
        make_entry(
            id=f"assertion:run-{number}",
            recorder="owner",
            subject=SUBJECT,
            predicate=PREDICATE,
            value=number,
            evidence=owner_evidence(SUBJECT, PREDICATE, number, now_ms),
            scope=scope,
        )
        for number in range(51)
    ]
    with owner.stage.world.session.writing() as state:
        ledger.record(state, entries)
    before = owner.stage.leaves()
    found = owner.says("world", "resolve", *ABOUT, "--value", "7")
    assert owner.stage.leaves() == before + 2
    assert {len(one["supersedes"]) for one in found["assertions"]} == {50, 1}
    (fact,) = owner.says("world", "facts")["facts"]
    assert (fact["value"], len(fact["assertionIds"])) == (7, 2)


@pytest.mark.usefixtures("_terminal")
@pytest.mark.requirement("W23")
def test_another_decision_is_asked_for_its_reason(owner: Owner) -> None:
    """Where none was given, and the value is nobody's."""
    for text in ("main", "next"):
        owner.records(text, "--kind", "decision", "--reason", f"for {text}")
    assert owner.types("world", "resolve", *ABOUT, given=b'0\n"third"\nbetter\ny\n')[0] == 0
    (one, *_) = owner.says("world", "history", SUBJECT)["assertions"]
    assert (one["value"], one["reason"]) == ("third", "better")


@pytest.mark.requirement("W58", "H-b")
def test_a_resolution_is_for_those_whose_value_it_takes(owner: Owner) -> None:
    """Another value is private where anything of the conflict was: nothing private is shared by settling it."""
    shared = owner.records("main", "--shared")
    owner.records("next")
    (one,) = owner.says("world", "resolve", *ABOUT, "--choose", shared)["assertions"]
    assert (one["privacy"], one["value"]) == ("shared", "main")
    owner.records("next")
    (one,) = owner.says("world", "resolve", *ABOUT, "--text", "third")["assertions"]
    assert one["privacy"] == "private"
    # Shared and newest, so that it would be taken over if the newest were.
    owner.records("fourth", "--shared")
    (one,) = owner.says("world", "resolve", *ABOUT, "--text", "fifth")["assertions"]
    assert one["privacy"] == "private"
    assert owner.says("world", "facts", "--group", "team-a")["facts"] == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "usage"),
        (("--choose", "assertion:none"), "world-conflict-missing"),
        (("--choose", "assertion:none", "--text", "x"), "usage"),
    ],
)
def test_where_nobody_can_be_asked_the_choice_must_be_given(
    owner: Owner, arguments: tuple[str, ...], reason: str
) -> None:
    """And must be one of what is disputed."""
    owner.records("main")
    owner.records("next")
    assert owner.refused("world", "resolve", *ABOUT, *arguments) == reason
