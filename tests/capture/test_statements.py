"""What the user typed: a strict line corrects the next step, any other is quoted, and a model may say what it means."""

from typing import Any

import pytest

from tests.capture.stage import Script, Stage, Teller, captured, failing, passing, typing
from tests.guard.agents import Agent, enroll
from timeline import service
from timeline.guard.request import Tool
from timeline.world.continuation import CONTINUATION_PREDICATE, Continuation, parse_continuation

STRICT = "Correction: next step: fix the lexer first"
NEARLY = "it is nearly done, I think"
TOKEN = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
SECRET = f"use {TOKEN}"


def standing(stage: Stage, agent: Agent) -> Continuation:
    """The one continuation of a session's task."""
    sole = stage.task(agent).state.continuations.sole
    assert sole is not None
    return parse_continuation(sole.value)


def begun(stage: Stage, host: str, script: Script) -> Agent:
    """A session in which the user types, of a task that the owner began before."""
    first = stage.session(host, failing)
    stage.start(first)
    return stage.session(host, script, number=1)


# -- the strict correction -------------------------------------------------------------------------------------


@pytest.mark.requirement("T59", "T60", "T63")
@pytest.mark.parametrize("line", [STRICT, "KORREKTUR: nächster Schritt: fix the lexer first"])
def test_a_strict_line_changes_the_next_step_and_nothing_else(stage: Stage, host: str, line: str) -> None:
    """By the user's own word; the same again is a duplicate."""
    agent = begun(stage, host, typing(line))
    before = standing(stage, agent)

    answer = captured(agent, "user correction")

    after = standing(stage, agent)
    assert (answer["status"], answer["captured"]["status"]) == ("captured", "confirmed")
    assert answer["captured"]["source"]["kind"] == "explicit-user-feedback"
    assert answer["completionVerified"] is False
    assert "continuationUpdate" not in answer
    assert after.next_step is not None
    assert after.next_step.summary == "fix the lexer first"
    assert after.next_step.id.startswith("step:user-correction-")
    assert (after.objective, after.status, after.open_questions) == (
        before.objective,
        before.status,
        before.open_questions,
    )
    size = stage.leaves()
    assert captured(agent, "user correction")["status"] == "duplicate"
    assert stage.leaves() == size


@pytest.mark.requirement("T57", "T56")
def test_a_newer_correction_wins_over_the_contract(stage: Stage, host: str) -> None:
    """The agreed step is no longer the next one: the result is measured, and completes nothing."""
    first = stage.session(host, failing)
    stage.start(first)
    stage.agree(first)
    second = stage.session(host, lambda session: (session.prompt(STRICT), passing(session)), number=1)
    captured(second, "user correction")

    answer = captured(second, "pytest passed")

    assert answer["status"] == "captured"
    assert answer["continuationUpdate"]["reason"] == "timeline-outcome-contract-superseded"
    assert standing(stage, first).status == "active"


def without_task(stage: Stage) -> Agent:
    """The owner has begun no task."""
    return stage.session("codex", typing(STRICT))


def stale(stage: Stage) -> Agent:
    """The owner began the task after the line was typed."""
    agent = stage.session("codex", typing(STRICT))
    stage.start(agent)
    return agent


def completed(stage: Stage) -> Agent:
    """The task was completed by a result."""
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first)
    captured(stage.session("codex", passing, number=1), "pytest passed")
    return stage.session("codex", typing(STRICT), number=2)


@pytest.mark.requirement("T60", "T61")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (without_task, "timeline-correction-continuation-missing"),
        (stale, "timeline-correction-stale"),
        (completed, "timeline-correction-task-completed"),
    ],
)
def test_a_correction_without_its_task_changes_nothing(stage: Stage, make: Any, reason: str) -> None:
    """Refused with the reason, and nothing is written."""
    agent = make(stage)
    size = stage.leaves()

    answer = captured(agent, "user correction")

    assert (answer["status"], answer["blocked"], answer["reason"]) == ("unavailable", True, reason)
    assert answer["hint"]
    assert answer["authority"] == "context-only"
    assert stage.leaves() == size


def renewed(agent: Agent) -> Agent:
    """The session after the owner has enrolled it once more."""
    agent.world.clock.at_ms += 1000
    ref = enroll(agent.world, agent.written, turn="turn-renewed")
    service.index(agent.world.session, agent.world.root, source_ref=ref)
    return Agent(agent.world, agent.written, ref, agent.caller)


@pytest.mark.requirement("T44", "T60", "T61")
def test_a_correction_under_a_renewed_enrollment_is_the_same_one(stage: Stage, host: str) -> None:
    """It was said once: said again by a second capture it would undo what was agreed since."""
    agent = begun(stage, host, typing(STRICT))
    captured(agent, "user correction")
    stage.agree(agent)
    before = standing(stage, agent)
    again = renewed(agent)
    size = stage.leaves()

    answer = captured(again, "user correction")

    assert answer["status"] == "duplicate"
    assert standing(stage, again) == before
    assert stage.leaves() == size


# -- the quoted message ----------------------------------------------------------------------------------------


@pytest.mark.requirement("T37", "T38", "T62", "T63")
@pytest.mark.parametrize(
    "text",
    [
        NEARLY,
        "all tests pass, the task is completed",
        '"Correction: next step: stop" is what you would have to type',
        "please do not write Correction: next step: stop",
        "wenn du fertig bist, Korrektur: nächster Schritt: halt",
        "you may push to production and you have my permission",
    ],
)
def test_a_message_is_quoted_and_is_no_more_than_that(stage: Stage, host: str, text: str) -> None:
    """An assumption beside the continuation: no fact, no correction, no completion, no permission."""
    agent = begun(stage, host, typing(text))
    before = standing(stage, agent)

    answer = captured(agent, "user message")

    value = answer["captured"]["value"]
    assert (answer["status"], answer["captured"]["status"]) == ("captured", "assumption")
    assert answer["captured"]["source"]["kind"] == "uninterpreted-user-message"
    assert (value["sourceText"], value["speakerRole"], value["interpretationStatus"]) == (
        text,
        "user",
        "unresolved",
    )
    assert (value["completionVerified"], answer["completionVerified"]) == (False, False)
    assert value["sourceProvider"] == host
    assert standing(stage, agent) == before
    view = agent.ask(Tool.CONTEXT, {"includePrivate": True})
    assert [one["predicate"] for one in view["proposals"]] == ["task.user-feedback"]
    assert text not in str(view["facts"])
    size = stage.leaves()
    assert captured(agent, "user message")["status"] == "duplicate"
    assert stage.leaves() == size


@pytest.mark.requirement("T37", "T63", "W29")
def test_a_message_with_a_secret_is_not_quoted(stage: Stage, host: str) -> None:
    """It stays where the user typed it."""
    agent = begun(stage, host, typing(SECRET))
    size = stage.leaves()

    answer = captured(agent, "user message")

    assert (answer["status"], answer["reason"]) == ("unavailable", "world-secret-shaped")
    assert TOKEN not in str(answer)
    assert stage.leaves() == size


@pytest.mark.requirement("T36", "T37")
def test_a_message_is_captured_only_by_who_asks_for_messages(stage: Stage) -> None:
    """A time finds results and corrections, and no message."""
    agent = begun(stage, "codex", typing(NEARLY))
    event = agent.ask(given={"query": "user message"})["events"][0]
    size = stage.leaves()

    answer = agent.ask(Tool.CAPTURE, {"at": event["at"], "eventId": event["id"]})

    assert answer["reason"] == "timeline-capture-event-not-found"
    assert stage.leaves() == size


@pytest.mark.requirement("T37")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda stage, agent: None, "timeline-feedback-target-unresolved"),
        (lambda stage, agent: stage.start(agent), "timeline-feedback-stale"),
    ],
)
def test_a_message_without_its_continuation_is_not_quoted(stage: Stage, make: Any, reason: str) -> None:
    """There is none, or it is newer than the message."""
    agent = stage.session("codex", typing(NEARLY))
    make(stage, agent)
    size = stage.leaves()

    answer = captured(agent, "user message")

    assert (answer["status"], answer["reason"]) == ("unavailable", reason)
    assert stage.leaves() == size


# -- what a model says it means --------------------------------------------------------------------------------


def interpretation(quote: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A model's proposal about one quote, of version 1."""
    return {
        "schema": "agentspine.timeline-user-feedback-interpretation-request/v1",
        "feedbackAssertionId": quote["captured"]["assertionId"],
        "targetAssertionId": quote["captured"]["value"]["targetAssertionId"],
        "kind": "completion-claim",
        "proposedNextStepSummary": None,
        "clarificationQuestion": None,
        **changes,
    }


@pytest.mark.requirement("T39", "T42", "T44", "T45", "T46", "T47", "T63")
def test_a_model_may_propose_what_one_message_means(stage: Stage, host: str) -> None:
    """A suggestion that moves nothing; the same is a duplicate, another is refused."""
    agent = begun(stage, host, typing(NEARLY))
    quote = captured(agent, "user message")
    before = standing(stage, agent)

    answer = captured(agent, "user message", interpretation=interpretation(quote))

    assert (answer["status"], answer["captured"]["status"]) == ("captured", "assumption")
    assert answer["captured"]["source"]["kind"] == "model-suggestion"
    assert answer["captured"]["value"]["modelProvider"] == host
    assert standing(stage, agent) == before
    size = stage.leaves()
    again = captured(agent, "user message", interpretation=interpretation(quote))
    other = captured(
        agent, "user message", interpretation=interpretation(quote, kind="not-current-instruction")
    )
    assert again["status"] == "duplicate"
    assert other["reason"] == "timeline-feedback-interpretation-conflicted"
    assert stage.leaves() == size


@pytest.mark.requirement("T39", "T42", "T44")
def test_a_message_that_was_quoted_before_the_enrollment_was_renewed_is_open_still(
    stage: Stage, host: str
) -> None:
    """It is the same line of the same session, read again in what is enrolled now."""
    agent = begun(stage, host, two)
    quotes = [captured(agent, "user message", card=0)]
    again = renewed(agent)
    quotes.append(captured(again, "user message", card=1))
    ids = sorted(quote["captured"]["assertionId"] for quote in quotes)
    question = {
        "schema": "agentspine.timeline-user-feedback-clarification-request/v2",
        "feedbackAssertionIds": ids,
        "targetAssertionId": quotes[0]["captured"]["value"]["targetAssertionId"],
        "clarificationQuestion": "Is it done or not?",
    }

    answers = [captured(again, "user message", card=card, interpretation=question) for card in (0, 1)]

    assert [answer["status"] for answer in answers] == ["captured", "duplicate"]


def two(session: Teller) -> None:
    """Two messages."""
    session.prompt(NEARLY)
    session.prompt("or rather not")


@pytest.mark.requirement("T40", "T41", "T42", "T63")
def test_a_question_is_about_all_open_messages(stage: Stage, host: str) -> None:
    """Each is read again in its source; one of them alone is refused."""
    agent = begun(stage, host, two)
    quotes = [captured(agent, "user message", card=card) for card in (0, 1)]
    ids = sorted(quote["captured"]["assertionId"] for quote in quotes)
    target = quotes[0]["captured"]["value"]["targetAssertionId"]
    question = {
        "schema": "agentspine.timeline-user-feedback-clarification-request/v2",
        "feedbackAssertionIds": ids,
        "targetAssertionId": target,
        "clarificationQuestion": "Is it done or not?",
    }

    alone = captured(
        agent,
        "user message",
        interpretation=interpretation(quotes[0], feedbackAssertionId=ids[0]),
        card=card_of(agent, quotes, ids[0]),
    )
    answer = captured(agent, "user message", interpretation=question)

    assert alone["reason"] == "timeline-feedback-interpretation-ambiguous-set"
    assert answer["status"] == "captured"
    bindings = answer["captured"]["value"]["sourceBindings"]
    assert [one["feedbackAssertionId"] for one in bindings] == ids


def card_of(agent: Agent, quotes: list[dict[str, Any]], id_: str) -> int:
    """Which card of a search is the message of a quote."""
    (event_id,) = (q["captured"]["source"]["id"] for q in quotes if q["captured"]["assertionId"] == id_)
    cards = agent.ask(given={"query": "user message"})["events"]
    return [card["id"] for card in cards].index(event_id)


def untouched(agent: Agent) -> None:
    """Nothing happens to the other session."""


def changed(agent: Agent) -> None:
    """Its transcript has other words."""
    path = agent.written.path
    path.write_bytes(path.read_bytes().replace(b"nearly", b"nearby"))


def gone(agent: Agent) -> None:
    """Its transcript is not there."""
    agent.written.path.unlink()


def revoked(agent: Agent) -> None:
    """The owner has taken the consent back."""
    (source,) = [
        found
        for found in service.list_sources(agent.world.session, None)
        if found.source.enrollment.source.ref == agent.ref
    ]
    service.revoke(agent.world.session, source.source.enrollment.enrollment_id)


@pytest.mark.requirement("T42", "T43", "T25")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (untouched, None),
        (changed, "timeline-feedback-interpretation-source-mismatch"),
        (gone, "timeline-feedback-interpretation-source-mismatch"),
        (revoked, "timeline-feedback-interpretation-source-mismatch"),
    ],
)
def test_a_message_of_another_session_is_read_again_there(
    stage: Stage, host: str, change: Any, reason: str | None
) -> None:
    """A changed source, or one that is no longer consented to, refuses the proposal about all of them."""
    first = stage.session(host, failing)
    stage.start(first)
    one = stage.session(host, typing(NEARLY), number=1)
    other = stage.session(host, typing("or rather not"), number=2)
    quotes = [captured(agent, "user message") for agent in (one, other)]
    question = {
        "schema": "agentspine.timeline-user-feedback-clarification-request/v2",
        "feedbackAssertionIds": sorted(quote["captured"]["assertionId"] for quote in quotes),
        "targetAssertionId": quotes[0]["captured"]["value"]["targetAssertionId"],
        "clarificationQuestion": "Is it done or not?",
    }
    change(one)
    size = stage.leaves()

    answer = captured(other, "user message", interpretation=question)

    assert answer["reason"] == reason
    assert stage.leaves() == size + (reason is None)


def unknown(quote: dict[str, Any]) -> dict[str, Any]:
    """Of a message that was never quoted."""
    return interpretation(quote, feedbackAssertionId="assertion:user-feedback-" + "0" * 32)


def formless(quote: dict[str, Any]) -> dict[str, Any]:
    """A next step without its kind."""
    return interpretation(quote, proposedNextStepSummary="stop")


def elsewhere(quote: dict[str, Any]) -> dict[str, Any]:
    """About a continuation that is none."""
    return interpretation(quote, targetAssertionId="assertion:none")


@pytest.mark.requirement("T42", "T43", "T39")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (unknown, "timeline-capture-target-invalid"),
        (formless, "timeline-feedback-interpretation-invalid"),
        (elsewhere, "timeline-feedback-interpretation-invalid"),
    ],
)
def test_a_proposal_that_does_not_fit_is_refused(stage: Stage, host: str, make: Any, reason: str) -> None:
    """Nothing is written."""
    agent = begun(stage, host, typing(NEARLY))
    quote = captured(agent, "user message")
    size = stage.leaves()

    answer = captured(agent, "user message", interpretation=make(quote))

    assert (answer["status"], answer["reason"]) == ("unavailable", reason)
    assert stage.leaves() == size


@pytest.mark.requirement("T43", "T47")
def test_a_completed_task_takes_no_proposal(stage: Stage) -> None:
    """What was said before it ended is history."""
    first = stage.session("codex", failing)
    stage.start(first)
    stage.agree(first)
    second = stage.session("codex", lambda session: (passing(session), session.prompt(NEARLY)), number=1)
    captured(second, "pytest passed")
    quote = captured(second, "user message")

    answer = captured(second, "user message", interpretation=interpretation(quote))

    assert quote["status"] == "captured"
    assert answer["reason"] == "timeline-feedback-interpretation-task-completed"
    predicates = [one.entry.predicate for one in stage.assertions(second)]
    assert predicates.count(CONTINUATION_PREDICATE) == 2
