"""The owner's commands about evidence and answers, as he types them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.capture.stage import passing
from tests.world.commands.speaking import PREDICATE, SUBJECT, SUGGESTION, Owner
from timeline.guard.request import Tool

ABOUT = (SUBJECT, PREDICATE)
UNIT = {"id": "u1", "subjectId": SUBJECT, "predicate": PREDICATE, "value": "main"}
WHY = ("--reason", "the wrong machine")


def asked(owner: Owner, *more: str) -> dict[str, Any]:
    """How the branch stands for him."""
    return owner.says("world", "ask", *ABOUT, *more)


@pytest.mark.requirement("P21", "P22", "P26", "P29")
def test_what_he_said_is_supported_by_his_word(owner: Owner) -> None:
    """With status, flags, premises and attribution; the witness only where he asks for it."""
    id_ = owner.records("main")
    found = asked(owner)
    assert (found["status"], found["contents"][0]["value"]) == ("supported", "main")
    decision = found["decision"]
    assert (decision["status"], decision["flags"], decision["policyVersion"]) == ("supported", [], 0)
    assert [one["assertionId"] for one in decision["premises"]] == [id_]
    assert "witness" not in decision
    witness = asked(owner, "--witness")["decision"]["witness"]
    assert witness["supported"][0]["roots"] == ["owner:word"]
    _, out, _ = owner.types("world", "ask", *ABOUT)
    assert id_ in out
    assert "owner:word" not in out
    assert "owner:word" in owner.types("world", "ask", *ABOUT, "--witness")[1]


@pytest.mark.requirement("P30", "X12")
def test_a_group_is_told_what_it_may_know(owner: Owner) -> None:
    """No decision, and no witness; what is private leaves no trace."""
    before = asked(owner, "--group", "team")
    owner.records("main")
    assert asked(owner, "--group", "team") == before
    assert "decision" not in before
    refused = owner.refused("world", "ask", *ABOUT, "--group", "team", "--witness")
    assert refused == "usage"


@pytest.mark.requirement("P3")
def test_a_policy_is_changed_version_by_version(owner: Owner) -> None:
    """What is not named stays; the same again is refused."""
    owner.records("main")
    assert owner.says("world", "policy", "show")["version"] == 0
    first = owner.says("world", "policy", "set", "--roots", "2", "--no-collapse")
    assert (first["version"], first["roots"], first["collapse"]) == (1, 2, False)
    assert asked(owner)["status"] == "unrecorded"
    second = owner.says("world", "policy", "set", "--require", f"{PREDICATE}=1", "--snapshot")
    assert (second["roots"], second["required"], second["collapse"]) == (2, {PREDICATE: 1}, False)
    assert asked(owner)["decision"]["policyVersion"] == 2
    assert asked(owner)["status"] == "supported"
    assert owner.refused("world", "policy", "set", "--roots", "2") == "world-evidence-unchanged"
    assert owner.says("world", "policy", "set", "--require", f"{PREDICATE}=0")["required"] == {}
    assert owner.refused("world", "policy", "set", "--require", "Deploy=1") == "world-evidence-invalid"
    assert owner.refused("world", "policy", "set", "--require", "x.y") == "usage"
    accepted = owner.says("world", "policy", "set", "--accept", "model:codex", "--accept", "model:king")
    assert accepted["evaluators"] == ["model:codex", "model:king"]
    assert "model:codex, model:king" in owner.types("world", "policy", "show")[1]
    assert owner.says("world", "policy", "set", "--reject", "model:king")["evaluators"] == ["model:codex"]
    assert owner.refused("world", "policy", "set", "--accept", "a model") == "world-evidence-invalid"
    for text in ("independent roots", "version"):
        assert text in owner.types("world", "policy", "show")[1]


@pytest.mark.requirement("P34")
def test_he_takes_evidence_away(owner: Owner) -> None:
    """Once; of an id that he does not see, that it is none."""
    id_ = owner.records("main")
    assert owner.says("world", "revoke", id_, *WHY)["revoked"] == id_
    assert asked(owner)["status"] == "unrecorded"
    assert owner.refused("world", "revoke", id_, *WHY) == "world-evidence-unchanged"
    assert owner.refused("world", "revoke", "assertion:x", *WHY) == "world-assertion-unknown"
    assert owner.refused("world", "revoke", id_ + "0", "--reason", "x" * 501) == "world-assertion-unknown"
    owner.records("next")
    owner.says("world", "revoke", "owner:word", *WHY)
    assert asked(owner)["status"] == "unrecorded"


@pytest.mark.requirement("P35")
def test_he_declares_a_contradiction(owner: Owner) -> None:
    """In whichever order he names the two."""
    one = owner.records("main")
    other = owner.says("world", "record", SUBJECT, "release.state", "--text", "open")["assertions"][0]["id"]
    assert owner.refused("world", "inscribe", one, one, *WHY) == "world-evidence-invalid"
    assert owner.refused("world", "inscribe", one, "assertion:x", *WHY) == "world-assertion-unknown"
    assert owner.says("world", "inscribe", other, one, *WHY)["assertions"] == sorted((one, other))
    assert owner.refused("world", "inscribe", one, other, *WHY) == "world-evidence-unchanged"
    found = asked(owner)
    assert (found["status"], found["contents"]) == ("conflicted", [])
    assert found["decision"]["flags"] == ["conflicted"]


@pytest.mark.requirement("P49")
def test_a_persons_word_is_recorded_and_listed(owner: Owner) -> None:
    """A session is told what speaks of a person once that person has agreed, and not after."""
    session = owner.stage.session("codex", passing)
    owner.types("world", "record", *ABOUT, "--text", "main", "--shared", "--about", "person:kim")
    question = {"subjectId": SUBJECT, "predicate": PREDICATE}

    def told() -> str:
        return str(session.ask(Tool.RESOLVE, question)["status"])

    assert (told(), asked(owner)["status"]) == ("unrecorded", "supported")
    consents = owner.says("world", "consent", "person:kim", "--allow")["consents"]
    assert consents == [{"person": "person:kim", "reader": None, "purpose": None, "granted": True}]
    assert told() == "supported"
    owner.says("world", "consent", "person:kim", "--deny")
    assert told() == "unrecorded"
    assert owner.refused("world", "consent", "person:kim", "--deny") == "world-evidence-unchanged"
    assert owner.refused("world", "consent", "kim", "--allow") == "world-evidence-invalid"
    both = ("--user", "ada", "--for-group", "team")
    assert owner.refused("world", "consent", "person:kim", "--allow", *both) == "usage"
    assert len(owner.says("world", "consents")["consents"]) == 2
    assert "taken back" in owner.types("world", "consents", "person:kim")[1]
    assert "nobody" in owner.types("world", "consents", "person:lee")[1]


@pytest.mark.requirement("P13", "P46", "M3")
def test_he_takes_up_an_interpretation_as_his_belief(owner: Owner) -> None:
    """Of what a session made of its own measurement; nothing else can be believed in that way."""
    session = owner.stage.session("codex", passing)
    event = session.ask(Tool.SEARCH, {"query": "pytest passed"})["events"][0]["id"]
    capture = session.ask(Tool.CAPTURE, {"query": "pytest passed", "eventId": event})
    measured = capture["captured"]["assertionId"]
    derivation = {"role": "memory-interpretation", "alternatives": [[measured]]}
    bound = {"subjectId": "task:default", "knowledgeKind": "task-state"}
    made = session.ask(Tool.RECORD, {**SUGGESTION, **bound, "derivation": derivation})
    belief = ("world", "record", "task:default", "build.state", "--text", "good", "--kind", "task-state")
    assert owner.refused(*belief, "--from", measured) == "world-derivation-invalid"
    said = owner.says(*belief, "--from", made["assertionId"], "--purpose", "planning")
    id_ = said["assertions"][0]["id"]
    shown = owner.says("world", "show", id_)
    assert (shown["purposes"], shown["derivation"]["role"]) == (["planning"], "recorded-belief")
    text = owner.types("world", "show", id_)[1]
    assert "planning" in text
    assert "recorded-belief by owner" in text
    found = owner.says("world", "ask", "task:default", "build.state")
    assert [one["role"] for one in found["decision"]["premises"]] == ["recorded-belief"]


@pytest.mark.requirement("P4", "P36", "P42")
def test_he_has_an_answer_checked(owner: Owner, tmp_path: Path) -> None:
    """Units from a file or a text from standard input; what was decided is found by its trace."""
    owner.records("main")
    file = tmp_path / "answer.json"
    file.write_text(json.dumps([UNIT]), encoding="utf-8")
    found = owner.says("world", "mediate", str(file))
    assert (found["status"], found["units"][0]["disposition"]) == ("bounded", "passed")
    trace = owner.says("world", "trace", found["traceId"])
    assert [unit["disposition"] for unit in trace["trace"]["units"]] == ["passed"]
    assert "passed" in owner.types("world", "trace", found["traceId"])[1]
    assert owner.refused("world", "trace", "trace:" + "0" * 32) == "world-trace-unknown"
    code, out, _ = owner.types("world", "mediate", "-", given=b"All 214 tests pass.")
    assert (code, "blocked" in out, "214 tests" in out) == (3, True, False)
    code, out, _ = owner.types("world", "mediate", "-", given=b"Nothing much.")
    assert (code, "no claim" in out) == (0, True)


@pytest.mark.parametrize("given", [b"", b"[]", b"[1]", b'[{"id": "u"}]', b"\xff", b"[" * 9999])
def test_what_is_no_answer_is_refused(owner: Owner, given: bytes) -> None:
    """With what is wrong, and nothing is recorded."""
    before = owner.stage.leaves()
    code, out, err = owner.types("world", "mediate", "-", given=given)
    assert (code, out, "[usage]" in err) == (2, "", True)
    assert owner.stage.leaves() == before
