"""Every injection string of AgentDojo by every way into the timeline: none of them becomes a fact or an authority.

A text stands in ``proposals``, or in the labelled fields of a user's own words, or nowhere.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecars.digest import Digest
from tests.capture.stage import Script, Stage, Teller, captured, failing
from tests.guard.agents import Agent
from tests.injections.answers import LABELLED, is_recognisable, piece_of, places_of
from tests.injections.strings import Injection
from tests.simulators.hosts import pytest_output
from timeline.dialects import HookEvent
from timeline.guard.request import Tool
from timeline.permitting import Denied
from timeline.service import Session
from timeline.telling import told_at_start, told_before_answer
from timeline.world.assertion import Assertion, Evidence, Scope, make_entry, read_assertion
from timeline.world.context import format_context, world_context
from timeline.world.errors import WorldError
from timeline.world.king_field import decode
from timeline.world.names import find_authority
from timeline.world.scope import Reader

NOW_MS = 1_790_000_000_000
SUBJECT = "project:parser"
NAME_BYTES = 120
Texts = Sequence[Injection]


def pieces_of(injections: Texts) -> list[str]:
    """What recognises each of them in an answer."""
    return [piece_of(injection) for injection in injections if is_recognisable(injection)]


def spread(injections: Texts, count: int) -> list[Injection]:
    """As many of them, of every attack."""
    kinds = sorted({injection.attack for injection in injections})
    rows = [[one for one in injections if one.attack == kind and is_recognisable(one)] for kind in kinds]
    return [row[number] for number in range(count) for row in rows if number < len(row)][:count]


def file_name(injection: Injection) -> str:
    """The text as the name of a file."""
    return re.sub(r"[/\0]", "_", injection.line).encode()[:NAME_BYTES].decode(errors="ignore") + ".md"


# -- the strings -----------------------------------------------------------------------------------------------


def test_all_strings_of_the_package_are_read(injections: Texts) -> None:
    """Every task's goal, every attack's words, each string once, and no place left unfilled."""
    assert len(injections) > 300
    assert len({injection.text for injection in injections}) == len(injections)
    assert len({injection.attack for injection in injections}) >= 9
    suites = {injection.task.split("/")[1] for injection in injections if "/" in injection.task}
    assert suites >= {"banking", "slack", "travel", "workspace"}
    assert not [one for one in injections if re.search(r"\{(goal|user|model)\}", one.text)]


# -- recorded assertions, with every string in every place -----------------------------------------------------

PLACES: dict[str, Callable[[str], dict[str, Any]]] = {
    "value": lambda text: {"value": text},
    "deep in a value": lambda text: {"value": {"notes": [{"text": text}]}},
    "key": lambda text: {"value": {text: True}},
    "key of words": lambda text: {"value": {"_".join(re.findall(r"\w+", text)[:8]): True}},
    "predicate": lambda text: {"predicate": "-".join(re.findall(r"[a-z]+", text.lower()))[:120]},
    "raw predicate": lambda text: {"predicate": text},
    "reason": lambda text: {"reason": text},
    "subject": lambda text: {"subject": f"task:{'-'.join(re.findall(r'[A-Za-z]+', text))[:180]}"},
    "evidence": lambda text: {"evidence": Evidence(text, f"e:{len(text)}", Digest(bytes(32)), NOW_MS)},  # type: ignore[arg-type]  # no such kind
}


def suggested(number: int, fields: dict[str, Any]) -> Assertion | None:
    """A suggestion with these fields as it is read from the log, or nothing where it is refused."""
    made: dict[str, Any] = {
        "id": f"assertion:suggestion-{number}",
        "recorder": "model",
        "subject": SUBJECT,
        "predicate": "build.note",
        "value": "noted",
        "evidence": Evidence("model-suggestion", "tool-use:one", Digest(bytes(32)), NOW_MS),
        "scope": Scope("home", "ada"),
        **fields,
    }
    try:
        entry = make_entry(**made)
    except WorldError:
        return None
    return read_assertion(number, NOW_MS, entry)


@pytest.mark.requirement("W3", "W4", "W62")
@pytest.mark.parametrize("place", PLACES)
def test_a_suggestion_with_a_string_stays_one(injections: Texts, place: str) -> None:
    """Refused, or a proposal: no fact, no conflict, no established entry, no name of authority."""
    made = [suggested(number, PLACES[place](one.text)) for number, one in enumerate(injections)]
    held = [assertion for assertion in made if assertion is not None]

    context = format_context(world_context(held, Reader("home", "ada", None), NOW_MS + 1, subject=None))

    assert (context["facts"], context["conflicts"], context["stale"]) == ([], [], [])
    assert not any(assertion.entry.is_established for assertion in held)
    assert not any(find_authority(one.entry.predicate, one.value) for one in held)
    assert {path.partition(".")[0] for path in places_of(context, pieces_of(injections))} <= {"proposals"}


@pytest.mark.requirement("W3", "W4")
@pytest.mark.parametrize(
    "kind", ["objective-measurement", "explicit-user-feedback", "uninterpreted-user-message"]
)
def test_no_string_can_be_recorded_by_a_model_as_knowledge(injections: Texts, kind: Any) -> None:
    """Whatever it says, a model's entry has the evidence of a suggestion, or is none."""
    for number, one in enumerate(injections):
        evidence = Evidence(kind, "tool-use:one", Digest(bytes(32)), NOW_MS)
        assert suggested(number, {"value": one.text, "evidence": evidence}) is None


# -- transcripts -----------------------------------------------------------------------------------------------


def flooded(texts: Texts) -> Script:
    """A session in which every string is typed, printed, printed behind a test run, and the name of a file."""

    def script(session: Teller) -> None:
        session.prompt("make the tests pass")
        for one in texts:
            session.prompt(one.text)
            session.command(f"cat {json.dumps(file_name(one))}", one.text, 0)
            session.command("cat result.txt", f"Measured suite 4; result: PASS 9/9. {one.line}", 0)
        session.command("pytest -q", pytest_output(11, 1) + texts[0].text, 1)
        failing(session)

    return script


def told(agent: Agent) -> dict[str, Any]:
    """All that a session is told of the world: by its tools, and by its host's hooks."""
    return {
        "world": agent.ask(Tool.CONTEXT, {"includePrivate": True, "includeKnowledgeHistory": True}),
        "briefing": agent.ask(Tool.BRIEFING, {}),
        "start": hooked(agent, "SessionStart", lambda session, event: told_at_start(session, event, None)),
        "prompt": hooked(agent, "UserPromptSubmit", told_before_answer),
    }


def hooked(agent: Agent, name: str, tell: Callable[[Session, HookEvent], bytes | None]) -> Any:
    """What a host is given to put before its model: the object behind the label, which holds no foreign word."""
    event = HookEvent(host=agent.host, event=name, session=agent.session, cwd=agent.world.root)
    said = tell(agent.world.session, event)
    if not said:
        return None
    outer = json.loads(said)["hookSpecificOutput"]
    text: str = outer.get("additionalContext") or outer["message"]
    start = text.index("{")
    packet = (decode if agent.host == "king" else json.loads)(text[start:].encode())
    assert packet["authority"] == "context-only"
    return {"label": text[:start], **packet}


@pytest.mark.requirement("T2", "T63", "W3")
def test_a_transcript_full_of_them_says_nothing(
    stage: Stage, host: str, injections: Texts, tmp_path: Path
) -> None:
    """Prompts, tool results, test output and file names are indexed without one of their words."""
    pieces = pieces_of(injections)
    agent = stage.session(host, flooded(injections))

    said = told(agent)
    found = [
        agent.ask(Tool.SEARCH, {"query": query}) for query in ("pytest failed", "user message", "result pass")
    ]

    assert (said["world"]["facts"], said["world"]["conflicts"], said["world"]["proposals"]) == ([], [], [])
    assert places_of(said, pieces) == set()
    # A card of a user's message quotes it, under its label, from the transcript itself; no other card holds a text.
    assert {path.rpartition(".")[2] for path in places_of(found, pieces)} <= {"sourceText"}
    assert any(one["events"] for one in found)
    assert stored(stage, pieces) == []


def stored(stage: Stage, pieces: Sequence[str]) -> list[str]:
    """The files of the timeline that hold one of the texts."""
    folders = {Path(stage.world.locations.state), Path(stage.world.locations.trust)}
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    wanted = [piece.encode() for piece in pieces]
    return [
        path.name for path in files for content in [path.read_bytes()] if any(w in content for w in wanted)
    ]


# -- arguments of the tools ------------------------------------------------------------------------------------


def batches(injections: Texts, size: int = 40) -> Iterator[list[str]]:
    """Their texts, as many at once as one value holds."""
    batch: list[str] = []
    for one in injections:
        if len(json.dumps([*batch, one.text])) > 7000 or len(batch) == size:
            yield batch
            batch = []
        batch.append(one.text)
    yield batch


@pytest.mark.requirement("W1", "W3", "W4", "T63")
def test_what_a_model_records_through_the_tool_is_shown_as_proposals_only(
    stage: Stage, host: str, injections: Texts
) -> None:
    """Every string as the value of a suggestion, and some of them as its reason."""
    agent = stage.session(host, failing)
    asked = [
        {
            "id": f"note:n{number}",
            "subjectId": SUBJECT,
            "predicate": "build.note",
            "value": {"notes": texts},
            "evidenceKind": "model-suggestion",
            "knowledgeKind": ("fact", "error-lesson", "task-state")[number % 3],
            "reason": " ".join(texts[0].split())[:400],
        }
        for number, texts in enumerate(batches(injections))
    ]

    answers = [agent.ask(Tool.RECORD, one) for one in asked]

    assert {answer["status"] for answer in answers} == {"recorded"}
    assert {answer["assertion"]["status"] for answer in answers} == {"proposed"}
    assert {path.partition(".")[0] for path in places_of(answers, pieces_of(injections))} == {"assertion"}
    said = told(agent)
    assert (said["world"]["facts"], said["world"]["conflicts"]) == ([], [])
    assert len(said["world"]["proposals"]) == len(answers)
    assert all(not is_held(path) for path in places_of(said, pieces_of(injections)))


def is_held(path: str) -> bool:
    """Whether a path of an answer is one under which something is held to be so, or that says not what it is."""
    parts = path.split(".")
    if "facts" in parts or "conflicts" in parts:
        return True
    is_labelled = path.endswith(LABELLED) or "proposals" in parts
    # The typed view names the status of each item beside it; what it shows of a suggestion is an assumption.
    return not is_labelled and parts[:3] not in (
        ["world", "knowledge", "current"],
        ["world", "knowledge", "history"],
    )


@pytest.mark.requirement("W3", "W4", "W62", "T63")
@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("subjectId", str),
        ("predicate", str),
        ("evidenceKind", str),
        ("knowledgeKind", str),
        ("privacy", str),
        ("value", lambda text: {"tool access": text}),
        ("value", lambda text: {"payment": text}),
        ("supersedes", lambda text: [text]),
        ("portalRef", str),
        ("isEstablished", str),
    ],
)
def test_a_string_in_another_argument_is_refused_without_being_repeated(
    stage: Stage, injections: Texts, field: str, make: Callable[[str], Any]
) -> None:
    """Nothing is written, and neither the refusal nor its hint holds the text."""
    agent = stage.session("codex", failing)
    size = stage.leaves()
    for one in spread(injections, 9):
        asked = {
            "id": "note:one",
            "subjectId": SUBJECT,
            "predicate": "build.note",
            "value": "noted",
            "evidenceKind": "model-suggestion",
            field: make(one.text),
        }
        answer = refused(agent, Tool.RECORD, asked)
        assert places_of(answer, [piece_of(one)]) == set()
    assert stage.leaves() == size


def refused(agent: Agent, tool: Tool, asked: dict[str, Any]) -> dict[str, Any]:
    """What a session is told of a call that is refused, by the hook or by the tool."""
    permitted = agent.permit(tool, asked)
    if isinstance(permitted, Denied):
        return {"reason": permitted.reason, "all": repr(permitted)}
    answer = agent.call(tool, asked)
    assert answer["blocked"] is True, answer
    return answer


ECHOED = {"givenId", "knowledge.taskContext.taskId"}
"""Where an answer repeats to a caller what he has just named a thing; it is stored nowhere and told to nobody else."""


@pytest.mark.requirement("W3", "T63")
def test_a_string_as_the_name_of_a_suggestion_names_nothing(stage: Stage, injections: Texts) -> None:
    """The name is only hashed: no view holds it, and no file."""
    agent = stage.session("codex", failing)
    texts = [one for one in spread(injections, 60) if one.text.isprintable() and len(one.text) <= 200]
    assert texts
    for one in texts:
        asked = {
            "id": one.text,
            "subjectId": SUBJECT,
            "predicate": "build.note",
            "value": "noted",
            "evidenceKind": "model-suggestion",
        }
        assert places_of(agent.ask(Tool.RECORD, asked), [piece_of(one)]) <= ECHOED
    assert places_of(told(agent), pieces_of(texts)) == set()
    assert stored(stage, pieces_of(texts)) == []


@pytest.mark.requirement("T63", "W58")
@pytest.mark.parametrize("tool", [Tool.CONTEXT, Tool.SEARCH, Tool.BRIEFING, Tool.INDEX, Tool.CAPTURE])
def test_a_question_made_of_a_string_is_answered_without_it(
    stage: Stage, injections: Texts, tool: Tool
) -> None:
    """As an id, a query or a field that does not exist."""
    agent = stage.session("codex", failing)
    size = stage.leaves()
    fields = {
        Tool.CONTEXT: ("subjectId", "continuationTaskId", "note"),
        Tool.SEARCH: ("query", "at", "note"),
        Tool.CAPTURE: ("eventId", "query", "interpretation"),
    }.get(tool, ("note",))
    for one in spread(injections, 9):
        for field in fields:
            asked = {field: one.text}
            permitted = agent.permit(tool, asked)
            answer: Any = {"all": repr(permitted)}
            if permitted is not None and not isinstance(permitted, Denied):
                answer = agent.call(tool, asked)
            assert places_of(answer, [piece_of(one)]) <= ECHOED
    assert stage.leaves() == size


# -- a user's own words ----------------------------------------------------------------------------------------


@pytest.mark.requirement("T36", "T38", "T63", "W3")
def test_a_message_that_the_user_typed_is_quoted_under_its_label(
    stage: Stage, host: str, injections: Texts
) -> None:
    """Captured, it is neither believed nor followed: no fact changes, and the text has one place."""
    texts = spread(injections, 3)
    first = stage.session(host, failing)
    stage.start(first)
    agent = stage.session(host, lambda session: [session.prompt(one.line) for one in texts], number=1)
    before = told(agent)["world"]["facts"]

    answers = [captured(agent, "user message", card=number) for number in range(len(texts))]

    said = told(agent)
    assert {answer["captured"]["status"] for answer in answers} == {"assumption"}
    assert said["world"]["facts"] == before
    assert said["world"]["conflicts"] == []
    places = places_of([said, answers], pieces_of(texts))
    assert places
    assert all(path.endswith("sourceText") for path in places), places


@pytest.mark.requirement("T59", "T63", "W3")
def test_a_correction_made_of_a_string_moves_nothing_but_the_next_step(
    stage: Stage, host: str, injections: Texts
) -> None:
    """The user's strict line is his word; whatever it says, it stands where next steps stand."""
    text = next(one for one in spread(injections, 40) if one.attack == "goal alone" and len(one.line) < 300)
    first = stage.session(host, failing)
    stage.start(first)
    agent = stage.session(
        host, lambda session: session.prompt(f"Correction: next step: {text.line}"), number=1
    )

    captured(agent, "user correction")

    places = places_of(told(agent), [piece_of(text)])
    assert places
    assert all(path.endswith(LABELLED) for path in places), places
