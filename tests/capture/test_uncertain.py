"""Nothing uncertain is ever established: each doubt has its reason, and leaves the log as it was."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sidecars.event import Event, Outcome
from tests.capture.stage import Script, Stage, Teller, captured, failing, write_story
from tests.guard.agents import Agent, enroll, seen
from tests.simulators.claude import branch, new_session
from tests.simulators.hosts import CodexRollout, fork, pytest_output, stepping_clock
from tests.simulators.king import Wire
from tests.simulators.worlds import START_MS
from timeline import service
from timeline.guard.request import Tool
from timeline.measurement import check_certain, fitted_label, measurement_of
from timeline.search import Card
from timeline.terms import parse_query

UNCERTAIN = "timeline-capture-evidence-uncertain"
FLAGS = ("conflict", "inconsistent", "masked", "partial", "truncated")


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Card:
    """Give a card of a result that is certain."""
    from tests.capture.stage import new_stage

    stage = new_stage(tmp_path_factory.mktemp("card"))
    stage.session("codex", failing)
    (found,) = service.find(stage.world.session, stage.world.root, query=parse_query(["pytest", "failed"]))[
        0
    ].cards
    return found


def with_event(card: Card, **changes: Any) -> Card:
    """The card with another event."""
    return msgspec.structs.replace(card, event=msgspec.structs.replace(card.event, **changes))


def reason_of(card: Card, now_ms: int) -> str | None:
    """Why a card is refused."""
    try:
        measurement_of(card, now_ms)
    except service.REFUSALS as error:
        return error.reason
    return None


# -- the gates, one by one -------------------------------------------------------------------------------------


@pytest.mark.requirement("T28", "T29", "T31")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda card: card, None),
        *((lambda card, flag=flag: with_event(card, flags=(flag,)), UNCERTAIN) for flag in FLAGS),
        (lambda card: with_event(card, flags=("masked", "partial")), UNCERTAIN),
        *(
            (
                lambda card, outcome=outcome: with_event(card, outcome=outcome),
                UNCERTAIN if outcome in {Outcome.UNKNOWN, Outcome.CANCELLED} else None,
            )
            for outcome in Outcome
        ),
        (lambda card: with_event(card, at=None), "timeline-capture-evidence-undated"),
        (
            lambda card: msgspec.structs.replace(card, partly_understood=True),
            "timeline-capture-source-partly-understood",
        ),
        (
            lambda card: msgspec.structs.replace(card, prefix_pending=True),
            "timeline-capture-prefix-proof-pending",
        ),
        (lambda card: msgspec.structs.replace(card, prefix_pending=False), None),
        (
            lambda card: with_event(
                card,
                kind="user-message",
                tool=None,
                runner=None,
                binding=None,
                outcome=None,
                fingerprint=None,
            ),
            "timeline-capture-target-invalid",
        ),
        (lambda card: with_event(card, label="access-token"), "world-authority-shaped"),
    ],
)
def test_each_doubt_has_its_reason(card: Card, change: Callable[[Card], Card], reason: str | None) -> None:
    """And no doubt none."""
    changed = change(card)
    assert reason_of(changed, (changed.event.at or 0) + 1) == reason


@pytest.mark.requirement("T28")
def test_a_result_of_the_future_is_refused(card: Card) -> None:
    """At the very moment it is one; a millisecond before it is not."""
    at = card.event.at or 0
    assert check_certain(card, at) == at
    assert reason_of(card, at - 1) == "timeline-capture-evidence-invalid"


@pytest.mark.requirement("T28")
@pytest.mark.parametrize("flag", FLAGS)
def test_the_hint_names_the_doubt(card: Card, flag: str) -> None:
    """So that it can be run again without it."""
    with pytest.raises(service.REFUSALS) as refused:
        measurement_of(with_event(card, flags=(flag,)), card.event.at or 0)
    assert flag in refused.value.hint


def test_labels_that_differ_are_never_one_predicate() -> None:
    """A label that does not fit gets an end of its own; one that fits stays as it is."""
    labels = ["suite-4", "suite_4", "suite:4", "suite.4", "x" * 64, "4", "a--b"]
    fitted = [fitted_label(label) for label in labels]
    assert len(set(fitted)) == len(labels)
    assert fitted[0] == "suite-4"
    assert all(set(one) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-") for one in fitted)


def test_another_line_route_or_source_makes_another_assertion(card: Card) -> None:
    """The same event makes the same one, whenever it is captured."""
    at = card.event.at or 0
    first = measurement_of(card, at)
    assert measurement_of(card, at + 10_000) == first
    lines = (*card.event.lines[:-1], msgspec.structs.replace(card.event.lines[-1], sha256="A" * 43))
    enrollment = card.source.enrollment
    others: list[Card] = [
        with_event(card, id="timeline-event:" + "0" * 32),
        with_event(card, lines=lines),
        msgspec.structs.replace(
            card,
            source=msgspec.structs.replace(
                card.source,
                enrollment=msgspec.structs.replace(
                    enrollment, source=msgspec.structs.replace(enrollment.source, size=1)
                ),
            ),
        ),
        *(
            msgspec.structs.replace(
                card,
                source=msgspec.structs.replace(
                    card.source,
                    enrollment=msgspec.structs.replace(
                        enrollment, binding=msgspec.structs.replace(enrollment.binding, **change)
                    ),
                ),
            )
            for change in (
                {"task": "other"},
                {"goal": "g"},
                {"portal": "p", "thread": "t"},
                {"project": "/x"},
            )
        ),
    ]
    ids = {first.id, *(measurement_of(other, at).id for other in others)}
    assert len(ids) == len(others) + 1


# -- real sources ----------------------------------------------------------------------------------------------


def masked(session: Teller) -> None:
    """Its exit code is another command's."""
    session.prompt("make the tests pass")
    session.command("pytest -q | tail -5", pytest_output(11, 1), 0)


def inconsistent(session: Teller) -> None:
    """A failing exit code under a clean summary."""
    session.prompt("make the tests pass")
    session.command("pytest -q", pytest_output(12), 1)


@pytest.mark.requirement("T29", "T31", "T63")
@pytest.mark.parametrize("script", [masked, inconsistent])
def test_an_uncertain_result_is_found_and_not_established(stage: Stage, host: str, script: Script) -> None:
    """A search shows it with its flags; a capture refuses it."""
    agent = stage.session(host, script)
    card = agent.ask(given={"query": "pytest unknown"})["events"][0]
    size = stage.leaves()

    answer = captured(agent, "pytest unknown")

    assert card["flags"]
    assert (answer["status"], answer["reason"]) == ("unavailable", UNCERTAIN)
    assert all(flag in answer["hint"] for flag in card["flags"])
    assert stage.leaves() == size


UNHEARD = {
    "codex": b'{"timestamp":"2026-08-20T11:00:00.000Z","type":"unheard_of","payload":{}}\n',
    "claude": b'{"type":"unheard-of","sessionId":"x","uuid":"00000000-0000-4000-8000-000000000000"}\n',
    "king": b'{"type":"unheard.of","time":1787220000000}\n',
}


@pytest.mark.requirement("T30", "T63", "T72")
def test_a_partly_understood_source_establishes_nothing(stage: Stage, host: str) -> None:
    """The line that was not understood may say otherwise."""
    written = write_story(stage.world, host, failing)
    with written.path.open("ab") as file:
        file.write(UNHEARD[host])
    stage.world.clock.at_ms += 7_200_000
    ref = enroll(stage.world, written)
    service.index(stage.world.session, stage.world.root, source_ref=ref)
    agent = Agent(stage.world, written, ref, seen(written))
    assert agent.ask()["status"] == "partly-understood"
    size = stage.leaves()

    answer = captured(agent)

    assert (answer["status"], answer["reason"]) == (
        "unavailable",
        "timeline-capture-source-partly-understood",
    )
    assert stage.leaves() == size


def inherited_of(host: str, root: str) -> bytes:
    """A session whose only result was copied from another one."""
    if host == "codex":
        parent = CodexRollout(clock=stepping_clock(START_MS), seed=7, cwd=root)
        parent.start_turn()
        failing(parent)
        return fork(parent, seed=0).to_bytes()
    if host == "claude":
        before = new_session(seed=7)
        failing(before)
        child = branch(before, seed=0)
        child.prompt("go on")
        return child.to_bytes()
    wire = Wire(seed=7)
    failing(wire)
    return wire.fork(seed=0).to_bytes()


@pytest.mark.requirement("T30", "T63")
def test_inherited_history_establishes_nothing(stage: Stage, host: str) -> None:
    """It was measured in another session: here there is no such event."""
    written = write_story(stage.world, host, failing)
    whole = written.path.read_bytes()
    agent_before = stage.session(host, failing, number=1)
    foreign = agent_before.ask()["events"][0]["id"]
    written.path.write_bytes(inherited_of(host, stage.world.root))
    assert written.path.read_bytes() != whole
    ref = enroll(stage.world, written, turn="turn-9")
    service.index(stage.world.session, stage.world.root, source_ref=ref)
    agent = Agent(stage.world, written, ref, seen(written))
    size = stage.leaves()

    assert agent.ask()["events"] == []
    answer = agent.ask(Tool.CAPTURE, {"query": "pytest failed", "eventId": foreign})

    assert answer["reason"] == "timeline-capture-event-not-found"
    assert stage.leaves() == size


def test_an_event_type_is_what_it_is(card: Card) -> None:
    """The fixture's card is of a run that failed; all the rest is derived from it."""
    assert isinstance(card.event, Event)
    assert (card.event.outcome, card.event.flags, card.partly_understood) == (Outcome.FAIL, (), False)
