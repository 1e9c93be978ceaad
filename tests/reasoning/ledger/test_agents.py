"""What agents of real sessions are told: through hook and server, from transcripts that their hosts wrote."""

from pathlib import Path
from typing import Any

import pytest

from sidecars.leaf import Kind
from sidecars.reasoned import EvidencePolicyEntry, EvidenceRevocation, MediationTraceEntry
from tests.capture.stage import Script, Stage, captured, failing, passing, typing
from tests.guard.agents import Agent, denial
from tests.guard.test_prior_sessions import set_scope
from tests.reasoning.ledger.asking import commit
from timeline.guard.request import Tool
from timeline.mcp_server.answered import prepare
from timeline.reasoning_reading import read_graph
from timeline.reasoning_use import resolve_question
from timeline.registered import read_register
from timeline.state import State
from timeline.world.scope import Reader

TASK, RESULT = "task:default", "task.timeline-result.pytest"
ABOUT = {"subjectId": TASK, "predicate": RESULT}
TWO = EvidencePolicyEntry(1, 2, {}, collapse=True, snapshot=False)


def told(*scripts: Script) -> Script:
    """One script after the other."""

    def script(session: Any) -> None:
        for one in scripts:
            one(session)

    return script


def asked(agent: Agent, **more: Any) -> dict[str, Any]:
    """How its test results stand."""
    return agent.ask(Tool.RESOLVE, {**ABOUT, **more})


@pytest.mark.requirement("P10", "P11", "P16", "P21", "P45", "X1", "X2")
@pytest.mark.parametrize("other", ["claude", "king"])
def test_two_sessions_captures_corroborate_and_one_twice_does_not(stage: Stage, other: str) -> None:
    """From the transcripts of two hosts to what may be said, with whose word it is."""
    commit(stage.world, TWO)
    first = stage.session("codex", told(passing, passing))
    for card in (0, 1):
        assert captured(first, "pytest passed", card=card)["status"] == "captured"
    assert asked(first)["status"] == "unrecorded"
    second = stage.session(other, passing, number=1)
    captured(second, "pytest passed")

    found = asked(first)

    assert (found["status"], found["blocked"], found["reason"]) == ("supported", False, None)
    (content,) = found["contents"]
    assert content["value"]["outcome"] == "pass"
    assert [source["role"] for source in content["sources"]] == ["observed-event"] * 2
    assert (found["authority"], found["transport"]) == ("context-only", first_bond(first))
    assert not {"head", "witness", "leaf", "size", "policy"} & found.keys()
    assert asked(second)["say"] == found["say"]


def first_bond(agent: Agent) -> str:
    """How its calls are attributed."""
    return str(agent.ask(Tool.BRIEFING, {})["transport"])


@pytest.mark.requirement("P36", "P37", "P42", "M1")
def test_an_agent_has_its_answer_checked(stage: Stage) -> None:
    """What was measured is released, what was not is not; after another result nothing of it is."""
    agent = stage.session("codex", told(passing, failing))
    captured(agent, "pytest passed")
    found = asked(agent)
    right = {"id": "right", **ABOUT, "value": found["contents"][0]["value"], "asOf": found["asOf"]}
    wrong = {"id": "wrong", **ABOUT, "value": "everything is fine"}

    answer = agent.ask(Tool.MEDIATE, {"units": [right, wrong]})

    assert answer["status"] == "held-back"
    assert [unit["disposition"] for unit in answer["units"]] == ["passed", "blocked"]
    assert answer["text"] == found["say"][1]
    assert answer["units"][1]["rule"] == "view"
    with stage.world.session.reading() as state:
        (trace,) = read_register(state, Kind.MEDIATION_TRACE, answer["traceId"])
    assert isinstance(trace.body, MediationTraceEntry)
    assert len(trace.body.units) == 2
    assert asked(agent, asOf=found["asOf"])["current"] is True
    captured(agent, "pytest failed")
    assert asked(agent, asOf=found["asOf"])["current"] is False
    answer = agent.ask(Tool.MEDIATE, {"units": [right]})
    assert answer["units"][0]["rule"] == "head"
    assert answer["text"] == ""


@pytest.mark.requirement("P36", "N1")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("All 12 tests pass.", ["passed"]),
        ("All 14 tests pass.", ["blocked"]),
        ("1 test failed.", ["blocked"]),
        ("The build succeeded.", ["blocked"]),
        ("Lint is clean.", ["blocked"]),
        ("The task is done.", ["blocked"]),
        ("Nothing was claimed here.", []),
    ],
)
def test_claims_in_a_text_are_checked(stage: Stage, text: str, found: list[str]) -> None:
    """Heuristically, and so it says; what was captured decides."""
    agent = stage.session("codex", passing)
    captured(agent, "pytest passed")

    answer = agent.ask(Tool.MEDIATE, {"text": text})

    assert answer["heuristic"] is True
    assert [unit["disposition"] for unit in answer["units"]] == found
    assert text not in repr(answer)


@pytest.mark.requirement("P14", "P36", "M4")
def test_no_interpretation_passes_for_a_measurement(stage: Stage) -> None:
    """What a model says that its results mean is no result of a program that never ran."""
    agent = stage.session("codex", passing)
    found = captured(agent, "pytest passed")["captured"]
    made = {
        "id": "note:jest",
        "subjectId": TASK,
        "predicate": "task.timeline-result.jest",
        "value": found["value"],
        "evidenceKind": "model-suggestion",
        "knowledgeKind": "task-state",
        "derivation": {"role": "memory-interpretation", "alternatives": [[found["assertionId"]]]},
    }
    assert agent.ask(Tool.RECORD, made)["status"] == "recorded"

    answer = agent.ask(Tool.MEDIATE, {"text": "All 12 jest tests pass."})

    assert [unit["disposition"] for unit in answer["units"]] == ["blocked"]


@pytest.mark.requirement("P14", "P15", "M3", "M4")
def test_a_model_derives_as_an_interpretation_or_less(stage: Stage) -> None:
    """It names assertions that it sees; who ran it and by which policy, the runtime says."""
    agent = stage.session("codex", passing)
    id_ = captured(agent, "pytest passed")["captured"]["assertionId"]
    base = {
        "id": "note:green",
        "subjectId": "service:api",
        "predicate": "build.state",
        "value": "green",
        "evidenceKind": "model-suggestion",
    }
    question = {"subjectId": "service:api", "predicate": "build.state"}
    route = {"knowledgeKind": "task-state", "subjectId": TASK}

    def derived(role: str, *names: str) -> dict[str, Any]:
        return {"derivation": {"role": role, "alternatives": [list(names)]}}

    wide = agent.ask(Tool.RECORD, {**base, **derived("memory-interpretation", id_)})
    assert wide["reason"] == "world-derivation-invalid"
    narrow = {**base, **route, **derived("memory-interpretation", id_)}
    assert agent.ask(Tool.RECORD, narrow)["status"] == "recorded"
    assert agent.ask(Tool.RESOLVE, {**question, "subjectId": TASK})["contents"] == []
    accepted = EvidencePolicyEntry(
        1, 1, {"x.y": 2}, collapse=True, snapshot=False, evaluators=("model:codex",)
    )
    commit(stage.world, accepted)
    assert agent.ask(Tool.RECORD, narrow)["status"] == "duplicate"
    found = agent.ask(Tool.RESOLVE, {**question, "subjectId": TASK})
    assert found["contents"][0]["sources"][0]["role"] == "memory-interpretation"
    for role in ("recorded-belief", "observed-event"):
        refused = agent.permit(Tool.RECORD, {**base, **derived(role, id_)})
        assert denial(refused) == "timeline-request-invalid"
    unknown = agent.ask(Tool.RECORD, {**base, "id": "note:h", **derived("hypothesis", "assertion:nowhere")})
    assert unknown["reason"] == "world-derivation-invalid"


@pytest.mark.requirement("P8", "P33", "P49")
def test_purposes_and_persons_bound_what_a_session_is_told(stage: Stage) -> None:
    """What it says itself for one purpose it is told for that one only; of a person, nothing."""
    agent = stage.session("codex", typing("remember that"))
    said = {
        "id": "note:p",
        "subjectId": "service:api",
        "predicate": "build.state",
        "value": "green",
        "evidenceKind": "model-suggestion",
    }
    agent.ask(Tool.RECORD, {**said, "purposes": ["planning"]})
    agent.ask(Tool.RECORD, {**said, "id": "note:k", "about": "person:kim"})
    seen = agent.ask(Tool.CONTEXT, {"subjectId": "service:api", "includePrivate": True})
    assert seen["proposals"] == []


@pytest.mark.requirement("D7", "T15")
@pytest.mark.parametrize("tool", [Tool.RESOLVE, Tool.MEDIATE])
def test_both_want_a_permit_for_exactly_this_call(stage: Stage, tool: Tool) -> None:
    """Another question, another unit, or the same call again is refused; so is what is no request."""
    agent = stage.session("codex", passing)
    unit = {"id": "u", **ABOUT, "value": 1}
    asking: dict[Tool, tuple[dict[str, Any], dict[str, Any]]] = {
        Tool.RESOLVE: (dict(ABOUT), {**ABOUT, "predicate": "x.y"}),
        Tool.MEDIATE: ({"units": [unit]}, {"units": [{**unit, "value": 2}]}),
    }
    given, other = asking[tool]
    agent.permit(tool, given)
    assert agent.call(tool, other)["reason"] == "timeline-permit-other-request"
    assert agent.call(tool, given)["blocked"] is False
    assert agent.call(tool, given)["reason"] == "timeline-permit-required"
    assert denial(agent.permit(tool, {})) == "timeline-request-invalid"


def test_a_long_answer_is_cut_by_units(stage: Stage) -> None:
    """Twenty long units are more than an answer holds; how many are left out is counted."""
    agent = stage.session("codex", passing)
    units = [{"id": f"u{number}", **ABOUT, "status": "x" * 900} for number in range(20)]
    answer = agent.ask(Tool.MEDIATE, {"units": units})
    assert len(answer["units"]) == 20
    long = {**answer, "units": [{**unit, "text": "y" * 900} for unit in answer["units"]]}
    sent = prepare(long, is_error=False)
    assert sent.structured["omitted"]["units"] > 0


@pytest.mark.requirement("P11", "G21", "M5")
def test_a_session_that_was_enrolled_for_two_goals_is_one_witness(stage: Stage, tmp_path: Path) -> None:
    """Its reference is another one for each goal; who sees both captures is still told of one session."""
    commit(stage.world, TWO)
    for number, goal in enumerate(("", "release")):
        set_scope(stage.world, goal=goal)
        agent = stage.session("codex", passing)
        assert captured(agent, "pytest passed")["status"] == "captured", number
    with stage.world.session.reading() as state:
        owner = Reader("local", agent_user(state), stage.world.root, is_owner=True)
        found = read_graph(state, owner, [(TASK, RESULT)]).vertices.values()
        answer = resolve_question(state, owner, TASK, RESULT).answer
        refs = [one.origin.fields["path"] for one in found if one.origin is not None]
    assert (len(found), len(set(refs)), len({one.root for one in found})) == (2, 2, 1)
    assert answer.view.standing == "unrecorded"
    commit(stage.world, EvidencePolicyEntry(2, 1, {}, collapse=True, snapshot=False))
    with stage.world.session.reading() as state:
        assert resolve_question(state, owner, TASK, RESULT).answer.view.standing == "supported"
    for ref in refs:
        place = stage.world.copy(tmp_path / ref)
        place.clock.at_ms = stage.world.clock.at_ms
        commit(place, EvidenceRevocation(ref, "not this session"))
        with place.session.reading() as state:
            assert resolve_question(state, owner, TASK, RESULT).answer.view.standing == "unrecorded"


def agent_user(state: State) -> str:
    """The user of the sessions."""
    return str(state.view.sources[0].enrollment.binding.user)


@pytest.mark.requirement("P36", "P41")
def test_a_text_with_more_claims_than_are_looked_at_is_held_back(stage: Stage) -> None:
    """Else what was not looked at would go out with what was."""
    agent = stage.session("codex", passing)
    captured(agent, "pytest passed")
    right = "All 12 tests pass.\n\n"
    assert agent.ask(Tool.MEDIATE, {"text": right * 20})["status"] == "bounded"
    answer = agent.ask(Tool.MEDIATE, {"text": right * 20 + "All 999 tests pass."})
    assert (answer["status"], answer["claimsOmitted"]) == ("held-back", 1)
    assert {unit["disposition"] for unit in answer["units"]} == {"passed"}


@pytest.mark.requirement("P42")
def test_a_host_may_number_its_calls_anew_in_each_session(stage: Stage) -> None:
    """Each answer has a trace of its own."""
    agents = [stage.session("codex", passing, number=number) for number in range(2)]
    found = []
    for agent in agents:
        agent.permit(Tool.MEDIATE, {"units": [{"id": "u", **ABOUT, "value": 1}]}, tool_use_id="call-1")
        found.append(agent.call(Tool.MEDIATE, {"units": [{"id": "u", **ABOUT, "value": 1}]}))
    assert [one["status"] for one in found] == ["held-back"] * 2
    assert found[0]["traceId"] != found[1]["traceId"]
