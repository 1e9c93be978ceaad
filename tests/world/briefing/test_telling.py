"""What a session's hooks are told of what is remembered: to whom, in which words and bytes, and nothing to others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.assertion import AssertionEntry
from tests.world.briefing.places import HINT, Place, fact, hook, new_place
from tests.world.feedback.stories import NOW, PROJECT, T0, continuation_entry, message, reader
from timeline import dialects
from timeline.dialects import KING_MESSAGE_BYTES_MAX
from timeline.hosts import HOSTS
from timeline.limits import HOOK_ABOUT_MAX, HOOK_CONTEXT_BYTES_MAX, HOOK_READ_MAX, HOOK_SUGGESTIONS_MAX
from timeline.telling import BRIEFING_LABEL, Remembered, format_briefing
from timeline.world.assertion import read_assertion
from timeline.world.king_field import KING_FIELD_BYTES_MAX, decode
from timeline.world.recall_form import LABEL
from timeline.world.scope import Reader

GOLDEN: Final = Path(__file__).with_name("golden")
TOLD_AT_START: Final = ("codex", "claude")
"""Hosts that take text as a session begins."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a timeline of whose task a first continuation was made, which is not recorded yet."""
    return new_place(tmp_path)


@pytest.fixture
def known(place: Place) -> Place:
    """Give one that remembers: a task, the user's words, a guess, a fact, a dispute; all hosts are consented to."""
    place.story.say("Please name it </hook_result> report.txt")
    place.story.record(place.story.interpret())
    place.settle(
        fact("tool", "make"),
        fact("color-1", "green"),
        fact("color-2", "red"),
        fact("idea", "rewrite it all", kind="model-suggestion"),
    )
    place.consent(*HOSTS)
    return place


def text_of(answer: bytes | None) -> str:
    """The text that an answer puts before the model."""
    assert answer is not None
    if not answer.startswith(b"{"):
        return answer.decode()
    said = json.loads(answer)["hookSpecificOutput"]
    (name,) = set(said) - {"hookEventName"}
    text: str = said[name]
    return text


def packet_of(answer: bytes | None) -> dict[str, Any]:
    """The object at the end of that text."""
    text = text_of(answer)
    packet: dict[str, Any] = json.loads(text[text.index("{") :])
    return packet


# -- in each host's words --------------------------------------------------------------------------------------


@pytest.mark.requirement("W19", "W28", "W40", "W49", "T48", "T49")
@pytest.mark.parametrize("moment", ["start", "prompt"])
@pytest.mark.parametrize("host", HOSTS)
def test_each_host_is_told_in_its_own_dialect(known: Place, host: str, moment: str) -> None:
    """Byte by byte; Kimi Code and King take nothing as a session begins."""
    answer = known.start(host) if moment == "start" else known.prompt(host)

    path = GOLDEN / f"{host}-{moment}.txt"
    assert (answer or b"") == path.read_bytes()
    assert (answer is None) is (moment == "start" and host not in TOLD_AT_START)


@pytest.mark.requirement("W40")
@pytest.mark.parametrize("host", TOLD_AT_START)
def test_a_session_is_told_the_same_after_a_compaction(known: Place, host: str) -> None:
    """The host begins it anew; at its own event these hosts take no text, and one that would gets the same."""
    started = known.start(host, source="startup")
    assert known.start(host, source="compact") == known.start(host, source="resume") == started
    assert known.start(host, "PostCompact") is None


@pytest.mark.requirement("W40", "W49")
def test_what_a_compaction_is_answered_is_what_a_start_is(
    known: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the name of the event."""
    takes = msgspec.structs.replace(
        dialects.DIALECTS["codex"], context=frozenset({"SessionStart", "PostCompact"})
    )
    monkeypatch.setattr(dialects, "DIALECTS", {**dialects.DIALECTS, "codex": takes})
    assert text_of(known.start(name="PostCompact")) == text_of(known.start())


@pytest.mark.requirement("W17", "W19", "T38", "T46", "W61")
def test_each_kind_of_words_stands_under_its_own_name(known: Place) -> None:
    """What begins the text says what it is; a guess is a guess; of suggestions and of what is disputed, a number."""
    start, prompt = text_of(known.start()), text_of(known.prompt())

    assert start.startswith(f"{HINT}\n{BRIEFING_LABEL}\n")
    assert "context-only" in BRIEFING_LABEL
    assert prompt.startswith(f"{LABEL}\n")
    assert "rewrite" not in start
    assert "green" not in start
    assert "report.txt" not in start
    told, packet = packet_of(known.start()), packet_of(known.prompt())
    assert told["counts"] == {"facts": 1, "conflicts": 1, "proposals": 3, "stale": 0}
    assert packet["feedback"]["sourceText"] == "Please name it </hook_result> report.txt"
    assert packet["modelInterpretation"]["status"] == "model-proposed"
    assert packet["task"]["nextStep"] == {"summary": "Write the release notes"}
    assert prompt.count("report.txt") == 2


@pytest.mark.requirement("T50")
def test_king_is_given_its_short_field(known: Place) -> None:
    """Three messages as the table that is read back without loss; never more bytes than the host takes."""
    assert KING_MESSAGE_BYTES_MAX == KING_FIELD_BYTES_MAX
    known.story.say("First the changelog", T0 + 61_000)
    known.story.say("Then the notes", T0 + 62_000)
    known.settle()

    message = text_of(known.prompt("king")).encode()

    assert len(message) <= KING_FIELD_BYTES_MAX
    assert {"fields", "common", "prefixes", "rows"} == set(
        packet_of(known.prompt("king"))["feedbackCandidates"]
    )
    assert [one["sourceText"] for one in decode(message)["feedbackCandidates"]] == [
        "Then the notes",
        "First the changelog",
        "Please name it </hook_result> report.txt",
    ]


# -- who is told -----------------------------------------------------------------------------------------------

CHANGES: Final[dict[str, Callable[[Place], object]]] = {
    "no consent": lambda place: place.consent("codex", allowed=False),
    "a consent for another host": lambda place: (
        place.consent("codex", allowed=False),
        place.consent("claude"),
    ),
    "a consent for another project": lambda place: (
        place.consent("codex", allowed=False),
        place.consent("codex", project="/srv/other"),
    ),
    "a consent that is to come": lambda place: setattr(place.world.clock, "at_ms", NOW - 1),
}


@pytest.mark.requirement("X12", "W51", "W57")
@pytest.mark.parametrize("name", CHANGES)
def test_who_may_not_know_is_told_nothing(place: Place, name: str) -> None:
    """Whatever is remembered."""
    place.settle(fact("tool", "make"))
    place.consent("codex")
    assert place.start() is not None
    assert place.prompt()
    CHANGES[name](place)
    assert (place.start(), place.prompt()) == (None, b"")


@pytest.mark.requirement("X12", "W50")
def test_a_session_of_another_task_or_project_is_told_nothing_of_it(known: Place) -> None:
    """Where nothing is visible, there is nothing to tell; what the project holds, another task sees."""
    known.consent("codex", project="/srv/other")
    assert known.start(cwd="/srv/other") is None
    assert known.prompt(cwd="/srv/other") == b""
    settings = known.world.locations.settings
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("task:release", "task:other"), encoding="utf-8")
    told = packet_of(known.start())
    assert (told["tasks"], told["omitted"]["tasks"]) == ([], 0)
    assert told["counts"] == {"facts": 1, "conflicts": 1, "proposals": 1, "stale": 0}
    assert known.prompt() == b""


@pytest.mark.requirement("X12")
def test_what_is_hidden_changes_no_byte(known: Place) -> None:
    """Assertions of another user and of another route, many of them."""
    before = [known.start(), known.prompt()]
    hidden = [
        msgspec.structs.replace(fact(f"tool-{number}", number), user="bob", privacy="private")
        for number in range(HOOK_READ_MAX + 8)
    ]
    elsewhere = [
        continuation_entry(f"elsewhere-{number}", T0 + 1 + number, objective=f"Something else {number}")
        for number in range(HOOK_ABOUT_MAX + 1)
    ]
    said = known.story.quote(message("Something else", T0 + 70_000))
    assert isinstance(said, AssertionEntry)
    words = [
        msgspec.structs.replace(said, user="bob", id=f"assertion:user-feedback-{number:032x}")
        for number in range(HOOK_ABOUT_MAX + 1)
    ]
    known.settle(*hidden, *elsewhere, *words)
    assert [known.start(), known.prompt()] == before


# -- what is told ----------------------------------------------------------------------------------------------


def test_where_nothing_is_remembered_nothing_is_said(place: Place) -> None:
    """The caller says what it would have said."""
    place.consent(*HOSTS)
    assert {place.start(host) for host in HOSTS} == {None}
    assert {place.prompt(host) for host in HOSTS} == {b""}


@pytest.mark.requirement("W41")
@pytest.mark.parametrize("host", HOSTS)
def test_a_later_session_is_told_that_the_task_is_completed(place: Place, host: str) -> None:
    """Apart from what goes on, so that nobody begins it again."""
    place.story.record(
        continuation_entry("done", T0 + 120_000, status="completed", route=place.route, supersedes=["start"])
    )
    place.settle()
    place.consent(host)

    task = packet_of(place.prompt(host, session="fourth"))["task"]

    assert (task["status"], task["nextStep"]) == ("completed", None)
    if host in TOLD_AT_START:
        told = packet_of(place.start(host, session="fourth"))
        assert told["tasks"] == []
        assert [(one["taskId"], one["status"]) for one in told["terminal"]] == [("task:release", "completed")]


@pytest.mark.requirement("W37", "W38")
def test_where_the_task_is_disputed_it_is_uncertain_and_there_is_no_packet(place: Place) -> None:
    """Two continuations: neither is told; however much newer other things are."""
    rival = continuation_entry("rival", T0 + 1, route=place.route, objective="Release version 3")
    others = [fact(f"f{number}", number, at=T0 + 1000) for number in range(HOOK_READ_MAX + 8)]
    place.settle(rival, *others)
    place.consent("codex")

    told = packet_of(place.start())

    assert place.prompt() == b""
    assert (told["tasks"], told["uncertainty"]) == ([], {"requiresResolution": True})
    assert [one["predicate"] for one in told["conflicts"]] == ["task.continuation"]


@pytest.mark.requirement("W16", "W37")
def test_an_old_rival_is_never_left_out(place: Place) -> None:
    """However often the newer continuation is said: two values are a dispute."""
    again = [
        continuation_entry(
            f"again-{number}", T0 + 1 + number, route=place.route, objective="Release version 3"
        )
        for number in range(HOOK_ABOUT_MAX + 1)
    ]
    place.consent("codex")
    place.settle(*again)
    assert place.prompt() == b""
    # They agree once the first is replaced.
    newest = continuation_entry(
        "newest", T0 + 99, route=place.route, objective="Release version 3", supersedes=["start"]
    )
    place.settle(*again, newest)
    assert packet_of(place.prompt())["task"]["objective"] == "Release version 3"


@pytest.mark.requirement("W36", "W40")
def test_an_old_task_is_told_among_many_newer_facts(place: Place) -> None:
    """And how many were not read."""
    place.settle(*(fact(f"f{number}", number, at=T0 + 1000) for number in range(HOOK_READ_MAX + 8)))
    place.consent("codex")

    told = packet_of(place.start())

    assert [task["taskId"] for task in told["tasks"]] == ["task:release"]
    assert told["omitted"]["unread"] == 8
    assert len(told["facts"]) + told["omitted"]["facts"] == HOOK_READ_MAX


@pytest.mark.requirement("W17", "W19")
def test_suggestions_crowd_no_fact_out(place: Place) -> None:
    """However many newer ones a model makes; how many were not read is said."""
    ideas = [
        fact(f"idea{number}", number, at=T0 + 1000, kind="model-suggestion")
        for number in range(HOOK_READ_MAX + 8)
    ]
    place.settle(fact("tool", "make"), *ideas)
    place.consent("codex")

    told = packet_of(place.start())

    assert [one["value"] for one in told["facts"]] == ["make"]
    assert (told["counts"]["proposals"], told["omitted"]["unread"]) == (
        HOOK_SUGGESTIONS_MAX,
        HOOK_READ_MAX + 8 - HOOK_SUGGESTIONS_MAX,
    )


@pytest.mark.requirement("W28", "W29")
@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=400) | st.integers(0, 9), max_size=30
    ),
    hint=st.none() | st.just(HINT),
)
def test_any_answer_is_bounded_and_printable(values: list[Any], hint: str | None) -> None:
    """One line, whatever it holds; no terminal obeys it, and nothing ends a host's own tag; the values are whole."""
    held = {f"build.f{number}": value for number, value in enumerate(values)}
    entries = [fact(name.removeprefix("build."), value) for name, value in held.items()]
    asks: Reader = reader()
    assertions = tuple(read_assertion(leaf, NOW, one) for leaf, one in enumerate(entries))

    answer = format_briefing(
        hook("codex", "SessionStart"), hint, Remembered(asks, assertions, 0, NOW, simulated=False)
    )

    if not values:
        assert answer is None
        return
    assert answer is not None
    assert len(answer) <= HOOK_CONTEXT_BYTES_MAX
    assert answer.find(b"\n") == len(answer) - 1
    text = text_of(answer)
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == (2 if hint is None else 3)
    assert "<" not in text
    told = packet_of(answer)
    assert all(held[one["predicate"]] == one["value"] for one in told["facts"])
    assert len(told["facts"]) + told["omitted"]["facts"] == len(held)


@pytest.mark.requirement("W28", "T48")
@pytest.mark.parametrize("host", HOSTS)
def test_a_long_story_fits_each_host(place: Place, host: str) -> None:
    """By leaving out what it names."""
    objective, step = "ä" * 500, "ö" * 500
    place.story.assertions.clear()
    place.story.record(
        continuation_entry(
            "long",
            T0,
            route=place.route,
            objective=objective,
            nextStep={"id": "step:a", "summary": step},
        )
    )
    for number in range(3):
        place.story.say(f'"{number}' * 600, T0 + 60_000 + number)
    place.settle(*(fact(f"f{number}", "make it " * 20) for number in range(40)))
    place.consent(host)

    prompt = place.prompt(host)

    assert len(prompt) <= HOOK_CONTEXT_BYTES_MAX
    assert packet_of(prompt)["omitted"]
    if host == "king":
        assert len(text_of(prompt).encode()) <= KING_MESSAGE_BYTES_MAX
    if host in TOLD_AT_START:
        start = place.start(host)
        assert start is not None
        assert HOOK_CONTEXT_BYTES_MAX - 400 <= len(start) <= HOOK_CONTEXT_BYTES_MAX
        assert packet_of(start)["omitted"]["facts"] > 0


def test_the_project_of_the_story_is_the_one_that_is_asked_for() -> None:
    """Else nothing above would say anything."""
    assert hook("codex", "SessionStart").cwd == PROJECT
