"""``timeline world``: what people see of the world model, and how their own word gets into it."""

import json
from pathlib import Path
from typing import Literal

import pytest

from sidecars.digest import Digest
from tests.capture.stage import Stage, capture_of, captured, failing
from tests.programs import Run
from tests.world.commands.speaking import ABOUT, PREDICATE, SUBJECT, SUGGESTION, Owner, ids
from timeline.guard.request import Tool
from timeline.world import ledger
from timeline.world.assertion import Evidence, Scope, make_entry
from timeline.world_view import standpoint

# -- the owner's own path --------------------------------------------------------------------------------------


@pytest.mark.requirement("W1", "W2", "W11", "W61")
def test_what_the_owner_records_is_a_fact_on_his_own_statement(owner: Owner) -> None:
    """The owner key signs it; who has the assertion can make the statement again and compare its digest."""
    found = owner.says("world", "record", *ABOUT, "--text", "main", "--reason", "said so")
    (one,) = found["assertions"]
    assert found["status"] == "recorded"
    assert found["uncertainty"] == {"requiresResolution": False, "conflict": []}
    assert {name: one[name] for name in ("subjectId", "predicate", "value", "privacy", "reason")} == {
        "subjectId": SUBJECT,
        "predicate": PREDICATE,
        "value": "main",
        "privacy": "private",
        "reason": "said so",
    }
    assert (one["recorder"], one["evidenceKind"], one["status"]) == (
        "owner",
        "explicit-user-feedback",
        "established",
    )
    assert one["evidenceId"].startswith("owner-statement:")
    assert one["projectId"] == owner.stage.world.root
    (fact,) = owner.says("world", "facts")["facts"]
    assert (fact["value"], fact["assertionIds"]) == ("main", [one["id"]])
    shown = owner.says("world", "show", one["id"])
    assert (shown["assertion"]["standing"], shown["evidenceCheck"]["status"]) == ("fact", "same")
    assert owner.run("verify", "--deep")[0] == 0


@pytest.mark.requirement("W60")
def test_a_fact_is_one_of_its_project_unless_it_is_for_all(owner: Owner, tmp_path: Path) -> None:
    """Another project does not see the one, and sees the other."""
    owner.says("world", "record", "user:me", "editor.tabs", "--value", "4", "--everywhere")
    owner.records("main")
    other = tmp_path / "other"
    other.mkdir()
    _, out, _ = owner.run("world", "facts", "--root", str(other), "--json")
    (fact,) = json.loads(out)["facts"]
    assert (fact["predicate"], fact["value"], fact["projectId"]) == ("editor.tabs", 4, None)


@pytest.mark.requirement("W58", "W59")
def test_a_group_sees_its_own_and_what_is_shared(owner: Owner) -> None:
    """Nothing private, and nobody but the group sees what is the group's."""
    owner.records("private")
    owner.says("world", "record", SUBJECT, "api.port", "--value", "80", "--shared")
    group = ("--group", "team-a")
    at_group = owner.says("world", "record", SUBJECT, "api.host", "--text", "a.example", *group)
    seen = {fact["predicate"] for fact in owner.says("world", "facts", *group)["facts"]}
    assert seen == {"api.port", "api.host"}
    assert {fact["predicate"] for fact in owner.says("world", "facts")["facts"]} == {"api.port", PREDICATE}
    (one,) = ids(at_group["assertions"])
    assert owner.refused("world", "show", one) == "world-assertion-unknown"
    assert owner.says("world", "show", one, *group)["assertion"]["groupId"] == "team-a"


@pytest.mark.requirement("W3", "W4", "W12", "W13")
def test_a_confirmed_suggestion_stays_a_suggestion(owner: Owner) -> None:
    """The owner's own word is what is established; the model's is not touched."""
    agent = owner.stage.session("codex", failing)
    suggested = agent.ask(Tool.RECORD, SUGGESTION)["assertion"]["id"]
    assert owner.says("world", "facts")["facts"] == []
    found = owner.says("world", "confirm", suggested)
    (one,) = found["assertions"]
    assert (one["value"], one["recorder"], one["supersedes"]) == ("next", "owner", [])
    (fact,) = owner.says("world", "facts")["facts"]
    assert fact["assertionIds"] == [one["id"]]
    assert ids(owner.says("world", "proposals")["proposals"]) == [suggested]
    assert owner.says("world", "show", suggested)["evidenceCheck"] == {
        "status": "not-checked",
        "detail": "a model's words are not kept",
    }


def test_only_a_suggestion_in_force_is_confirmed(owner: Owner) -> None:
    """Neither what is established, nor what is stale, nor what was replaced, nor what nobody sees."""
    agent = owner.stage.session("codex", failing)
    own = owner.records("main")
    assert owner.refused("world", "confirm", own) == "world-not-to-be-confirmed"
    assert owner.refused("world", "confirm", "note:branch") == "world-assertion-unknown"
    suggested = agent.ask(Tool.RECORD, SUGGESTION)["assertion"]["id"]
    owner.says("world", "correct", suggested, "--text", "release")
    assert owner.refused("world", "confirm", suggested) == "world-not-to-be-confirmed"


@pytest.mark.requirement("W26", "W9", "W39")
def test_a_correction_names_what_it_replaces_and_keeps_it_in_the_history(owner: Owner) -> None:
    """Every replaced assertion by its id; a replaced one is not replaced again."""
    first, second = owner.records("main"), owner.records("next")
    found = owner.says("world", "correct", first, second, "--text", "release", "--reason", "main is frozen")
    (one,) = found["assertions"]
    assert one["supersedes"] == sorted([first, second])
    told = owner.says("world", "history", SUBJECT, PREDICATE)["assertions"]
    assert [(a["id"], a["standing"]) for a in told] == [
        (one["id"], "fact"),
        (second, "superseded"),
        (first, "superseded"),
    ]
    assert told[0]["supersedes"] == sorted([first, second])
    assert told[1]["replacedBy"] == [one["id"]]
    assert owner.refused("world", "correct", first, "--text", "again") == "world-compare-and-set-failed"
    assert owner.says("world", "history", SUBJECT, "another")["assertions"] == []


def test_a_correction_of_two_subjects_is_refused_whole(owner: Owner) -> None:
    """Only what is about the same is replaced together."""
    first = owner.records("main")
    other = owner.says("world", "record", SUBJECT, "api.port", "--value", "80")["assertions"][0]["id"]
    assert owner.refused("world", "correct", first, other, "--text", "x") == "world-supersession-invalid"


@pytest.mark.requirement("W14", "W17")
def test_what_has_expired_is_stale_and_no_fact(owner: Owner) -> None:
    """At the very instant; and it can no longer be found among the facts."""
    one = owner.records("main", "--expires", "2026-08-20T12:00:00Z")
    assert len(owner.says("world", "facts")["facts"]) == 1
    owner.stage.world.clock.at_ms = 1_787_227_200_000 - 1000
    assert ids(owner.says("world", "stale")["stale"]) == [one]
    assert owner.says("world", "facts")["facts"] == []


@pytest.mark.requirement("W29", "W62")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((SUBJECT, "access.token", "--text", "x"), "world-authority-shaped"),
        ((SUBJECT, PREDICATE, "--value", '{"apiKey2": 1}'), "world-authority-shaped"),
        ((SUBJECT, PREDICATE, "--text", "ghp_" + "aB3" * 12), "world-secret-shaped"),
        (("Not A Subject", PREDICATE, "--text", "x"), "world-assertion-invalid"),
        ((SUBJECT, PREDICATE, "--text", "x", "--kind", "decision"), "world-assertion-invalid"),
        ((SUBJECT, PREDICATE, "--text", "x", "--expires", "2020-01-01T00:00:00Z"), "world-assertion-invalid"),
        ((SUBJECT, PREDICATE, "--text", "x", "--expires", "tomorrow"), "usage"),
        ((SUBJECT, PREDICATE, "--value", "main"), "usage"),
        ((SUBJECT, PREDICATE, "--value", '{"a":1,"a":2}'), "usage"),
        ((SUBJECT, PREDICATE), "usage"),
        ((SUBJECT, PREDICATE, "--text", "x", "--value", "1"), "usage"),
        ((SUBJECT, PREDICATE, "--text", "x", "--shared", "--group", "a"), "usage"),
        (("task:default", "task.continuation", "--value", "{}"), "world-task-moved"),
    ],
)
def test_what_is_not_taken_is_refused_before_anything_is_written(
    owner: Owner, arguments: tuple[str, ...], reason: str
) -> None:
    """With the reason, and exit code 2."""
    assert owner.refused("world", "record", *arguments) == reason


@pytest.mark.requirement("W47", "W48", "W52", "W55")
def test_what_is_said_of_the_task_is_bound_to_its_conversation(owner: Owner) -> None:
    """By the runtime, if it is knowledge; what is said of anything else crosses conversations."""
    agent = owner.stage.session("codex", failing)
    bound = owner.says("world", "record", "task:default", "build.note", "--text", "a", "--kind", "fact")
    free = owner.says(
        "world", "record", "user:me", "editor.tabs", "--value", "4", "--kind", "user-preference"
    )
    plain = owner.says("world", "record", "task:default", "build.host", "--text", "b")
    routed = captured(agent)["captured"]["scope"]["threadRef"]
    said = [found["assertions"][0].get("threadRef") for found in (bound, free, plain)]
    assert said == [routed, None, None]
    told = agent.ask(Tool.CONTEXT, {"includePrivate": True})["facts"]
    assert {"build.note", "editor.tabs"} <= {fact["predicate"] for fact in told}


@pytest.mark.requirement("W23")
def test_a_decision_keeps_its_reason_where_its_value_is_kept(owner: Owner) -> None:
    """Confirmed or chosen, it is the same decision; another value needs another reason."""
    agent = owner.stage.session("codex", failing)
    decision = {**SUGGESTION, "knowledgeKind": "decision", "reason": "main is frozen"}
    suggested = agent.ask(Tool.RECORD, decision)["assertion"]["id"]
    (first,) = owner.says("world", "confirm", suggested)["assertions"]
    assert (first["knowledgeKind"], first["reason"]) == ("decision", "main is frozen")
    owner.records("other", "--kind", "decision", "--reason", "why not")
    assert owner.refused("world", "resolve", *ABOUT, "--text", "third") == "world-assertion-invalid"
    (one,) = owner.says("world", "resolve", *ABOUT, "--choose", first["id"])["assertions"]
    assert (one["knowledgeKind"], one["reason"]) == ("decision", "main is frozen")
    (last,) = owner.says("world", "correct", one["id"], "--text", "x", "--reason", "new")["assertions"]
    assert last["reason"] == "new"


# -- showing ---------------------------------------------------------------------------------------------------


def test_a_captured_result_is_looked_at_again(owner: Owner) -> None:
    """Its line is read in the transcript; once that has changed, or may not be read, this is what is said."""
    agent = owner.stage.session("codex", failing)
    one = captured(agent)["captured"]["assertionId"]
    found = owner.says("world", "show", one)
    assert found["evidenceCheck"]["status"] == "same"
    assert found["assertion"]["threadRef"].startswith("thread-ref:")
    _, out, _ = owner.types("world", "show", one)
    assert "measured (objective-measurement, by capture)" in out
    content = agent.written.path.read_bytes()
    agent.written.path.write_bytes(content.replace(b"11 passed", b"12 passed"))
    assert owner.says("world", "show", one)["evidenceCheck"]["status"] == "different"
    agent.written.path.unlink()
    assert owner.says("world", "show", one)["evidenceCheck"]["status"] == "not-checked"
    owner.run("revoke", agent.ref)
    told = owner.says("world", "show", one)["evidenceCheck"]
    assert (told["status"], "no source may be read for it" in told["detail"]) == ("not-checked", True)


@pytest.mark.requirement("H-f")
@pytest.mark.parametrize("recorder", ["owner", "capture"])
def test_evidence_that_is_not_what_it_says_is_seen(
    owner: Owner, recorder: Literal["owner", "capture"]
) -> None:
    """Whoever wrote the digest: of another statement, or of another line than those of the event."""
    agent = owner.stage.session("codex", failing)
    event_id = str(capture_of(agent)["eventId"])
    where = standpoint(owner.stage.world.session, owner.stage.world.root)
    by_owner = recorder == "owner"
    evidence = Evidence(
        "explicit-user-feedback" if by_owner else "objective-measurement",
        "owner-statement:" + "0" * 32 if by_owner else event_id,
        Digest.of(b"another"),
        owner.stage.world.clock.at_ms,
    )
    entry = make_entry(
        id="assertion:forged",
        recorder=recorder,
        subject=SUBJECT,
        predicate=PREDICATE,
        value="x",
        evidence=evidence,
        scope=Scope(where.reader.tenant, where.reader.user, where.reader.project),
    )
    with owner.stage.world.session.writing() as state:
        ledger.record(state, [entry])
    assert owner.says("world", "show", entry.id)["evidenceCheck"]["status"] == "different"


def test_what_a_model_wrote_cannot_move_the_terminal(owner: Owner) -> None:
    """Escapes, and characters that change the direction of text, are spelled out."""
    agent = owner.stage.session("codex", failing)
    agent.ask(Tool.RECORD, {**SUGGESTION, "value": "a\u202eb\u009b31mc\u2028d"})
    _, out, _ = owner.types("world", "proposals")
    assert "a\\u202eb\\x9b31mc\\u2028d" in out
    assert not [character for character in out if not character.isprintable() and character != "\n"]


def test_the_tables_say_the_same_in_words(owner: Owner) -> None:
    """One line an assertion; an empty table says so."""
    assert owner.types("world", "facts")[1] == "facts\n  nothing is established yet\n"
    assert owner.types("world", "conflicts")[1] == "conflicts\n  nothing is disputed\n"
    assert "nothing is suggested" in owner.types("world", "proposals")[1]
    assert "nothing has expired" in owner.types("world", "stale")[1]
    assert "nothing was ever said about it" in owner.types("world", "history", "a:b")[1]
    one = owner.records("main")
    assert owner.types("world", "facts", SUBJECT)[1] == (
        "facts\n"
        "     about                      value   held on                assertion\n"
        f'  ●  service:api deploy.branch  "main"  owner\'s word, 1 s ago  {one}\n'
    )


def test_what_does_not_fit_is_counted(owner: Owner) -> None:
    """By the bound that was asked for."""
    for number in range(3):
        owner.says("world", "record", SUBJECT, f"port.{number}", "--value", str(number))
    found = owner.says("world", "facts", "--limit", "2")
    assert (len(found["facts"]), found["omitted"]["facts"]) == (2, 1)
    assert "1 more; see --limit" in owner.types("world", "facts", "--limit", "2")[1]


def test_the_json_of_each_view_is_the_reference_s_part(owner: Owner) -> None:
    """One collection, with what is uncertain beside it."""
    one = owner.records("main")
    common = {"schema", "omitted", "uncertainty", "authority", "note"}
    for name in ("facts", "conflicts", "proposals", "stale"):
        assert set(owner.says("world", name)) == {name, *common}
    shown = owner.says("world", "show", one)
    assert set(shown) == {"schema", "assertion", "evidenceCheck", "history", "authority"}
    assert (shown["schema"], shown["history"]) == ("timeline-world-assertion/v1", [one])


def test_another_project_s_and_another_user_s_are_not_there(
    owner: Owner, stage: Stage, run: Run, tmp_path: Path
) -> None:
    """In the words of an id that nobody has given."""
    one = owner.records("main")
    other = tmp_path / "other"
    other.mkdir()
    errors = [
        run("world", "show", name, "--root", str(other), "--json")[2].replace(name, "ID")
        for name in (one, "assertion:x")
    ]
    assert errors[0] == errors[1]
