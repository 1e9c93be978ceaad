"""References to what the user typed: kept within their bounds, found by their own two terms, read again to count."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from sidecars.event import Event
from tests.simulators.growth import follow
from tests.simulators.hosts import fork, pytest_output
from tests.simulators.worlds import (
    NOW_MS,
    World,
    consent,
    contents,
    new_world,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import answers, evidence, service
from timeline.account import expected_rows
from timeline.cli.render import card_lines
from timeline.events import read_header
from timeline.index import IndexResult
from timeline.opening import open_state
from timeline.prefix import open_enrolled
from timeline.projection import read_source
from timeline.provider import adapter_for
from timeline.search import Answer, Status, Window
from timeline.terms import parse_query

CORRECTION = "Correction: next step: Compare both archives."
SECRET_WORDS = "the heron lands at noon"


def find(world: World, *terms: str, window: Window | None = None) -> Answer:
    """Search as the command does."""
    query = parse_query(terms) if terms else None
    return service.find(world.session, world.root, window=window, query=query)[0]


def said(
    folder: Path, prompts: Sequence[str], *, runs: Sequence[int] = (), max_bytes: int | None = None
) -> World:
    """A world whose one indexed session began with test runs and then heard these prompts."""
    world = new_world(folder)
    rollout = rollout_of(world, runs=0)
    rollout.start_turn()
    for passed in runs:
        rollout.command("pytest -q", pytest_output(passed), 0)
    for prompt in prompts:
        rollout.prompt(prompt)
    rollout.end_turn("done")
    consent(world, rollout, write_transcript(world, rollout))
    index(world, max_bytes)
    return world


def index(world: World, max_bytes: int | None = None) -> IndexResult:
    """Index the one source; a refusal is raised."""
    bounds = {} if max_bytes is None else {"max_bytes": max_bytes}
    (found,) = service.index(world.session, world.root, **bounds)
    assert isinstance(found, IndexResult), found
    return found


def stored(world: World) -> list[Event]:
    """Every event of the signed sidecars that is kept, in file order."""
    with open_state(world.session.locations, world.session.ports) as state:
        (source,) = state.view.active
        bounds = state.sidecar(source.entries[-1]).header.bounds
        events = [event for entry in source.kept for event in state.open_sidecar(entry)[1].events]
        assert read_source(state.store, source.index) == expected_rows(state, source)
        return sorted((one for one in events if bounds.keeps_event(one)), key=lambda event: event.sort_key)


def kinds(world: World) -> dict[str, int]:
    """How many events of each kind are kept."""
    found = [event.kind for event in stored(world)]
    return {kind: found.count(kind) for kind in sorted(set(found))}


def texts_again(world: World) -> list[str]:
    """The words of every kept statement, read again as a capture reads them."""
    with open_state(world.session.locations, world.session.ports) as state:
        (source,) = state.view.active
        adapter = adapter_for(state.view.formats, "codex")
        with open_enrolled(state, source) as opened:
            header = read_header(adapter, opened)
            again = [
                evidence.read_statement_again(state, source, adapter, header, opened, event)
                for event in stored(world)
            ]
    return [one.text for one in again if one is not None]


@pytest.mark.requirement("T33", "T35", "T36", "T59")
def test_what_is_kept_is_that_there_is_a_statement_and_where(tmp_path: Path) -> None:
    """One-line statements are kept by kind, the others not; their words are in no file of the timeline."""
    prompts = [
        SECRET_WORDS,
        CORRECTION,
        "two\nlines",
        "ä" * 1024,
        "ä" * 1024 + "a",
        "Korrektur: nächster Schritt: a",
    ]
    world = said(tmp_path / "w", prompts, runs=[3])
    assert kinds(world) == {"correction": 2, "test-run": 1, "user-message": 2}
    assert texts_again(world) == [SECRET_WORDS, CORRECTION, "ä" * 1024, "Korrektur: nächster Schritt: a"]
    for name, content in contents(world.locations.state).items():
        for words in (SECRET_WORDS, "heron", "Compare both", "archives"):
            assert words.encode() not in content, name
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T36")
@pytest.mark.parametrize(
    ("terms", "kind"),
    [
        (("user", "message"), "user-message"),
        (("nutzer", "nachricht"), "user-message"),
        (("Prompts", "USER"), "user-message"),
        (("user", "correction"), "correction"),
        (("korrektur", "nachricht"), "correction"),
        (("nutzer", "korrektur"), "correction"),
    ],
)
def test_two_terms_select_a_lane(tmp_path: Path, terms: tuple[str, str], kind: str) -> None:
    """User messages and corrections are found by their own words and never by each other's, nor by a run's."""
    world = said(tmp_path / "w", ["first", CORRECTION, "second"], runs=[3])
    found = find(world, *terms)
    assert found.status is Status.FOUND
    assert {card.event.kind for card in found.cards} == {kind}
    assert {card.event.kind for card in find(world, "pytest", "passed").cards} == {"test-run"}
    assert find(world, "user", "passed").status is Status.NOT_FOUND


@pytest.mark.requirement("T35", "T36")
def test_a_card_of_a_statement_holds_no_word_of_it(tmp_path: Path) -> None:
    """Kind, time and references; that nobody has interpreted it; and what every card says."""
    world = said(tmp_path / "w", [SECRET_WORDS, CORRECTION])
    (message,) = find(world, "user", "message").cards
    (correction,) = find(world, "user", "correction").cards
    cards = [answers.card_json(message), answers.card_json(correction)]
    assert [card["kind"] for card in cards] == ["user-message-candidate", "explicit-next-step-correction"]
    assert [card.get("interpretationStatus") for card in cards] == ["unresolved", None]
    shown_to_people = [card_lines(card)[0].split("  ", 1)[1] for card in cards]
    assert shown_to_people == ["user message", "correction of the next step"]
    for card in cards:
        assert card["speakerRole"] == "user"
        assert card["authority"] == "context-only"
        assert not {"outcome", "runner", "fingerprint", "sourceText", "count"} & card.keys()
        shown = answers.encode(card).decode() + "".join(card_lines(card))
        assert not any(word in shown for word in (*SECRET_WORDS.split(), "archives") if len(word) > 3)


@pytest.mark.requirement("T20", "T36")
def test_a_time_alone_finds_no_user_message(tmp_path: Path) -> None:
    """A time finds runs and corrections; with the terms of messages it finds messages of that time."""
    world = said(tmp_path / "w", ["first", CORRECTION, "second"], runs=[3])
    messages = find(world, "user", "message").cards
    for card in messages:
        assert card.event.at is not None
        assert find(world, window=Window(card.event.at, 0)).status is Status.NOT_FOUND
        assert find(world, "user", "message", window=Window(card.event.at, 0)).cards == (card,)
    at = messages[0].event.at
    assert at is not None
    near = find(world, window=Window(at, 60_000))
    assert sorted(card.event.kind for card in near.cards) == ["correction", "test-run"]


@pytest.mark.requirement("T21", "T36")
def test_a_time_chooses_its_source_by_results_alone(tmp_path: Path) -> None:
    """A user message that is nearer than any result does not make its session the one that is opened."""
    world = new_world(tmp_path / "w")
    talker, runner = rollout_of(world, runs=0, seed=1), rollout_of(world, runs=0, seed=2)
    for rollout, runs in ((talker, 0), (runner, 1)):
        rollout.start_turn()
        rollout.prompt("go on")
        for _ in range(runs):
            rollout.command("pytest -q", pytest_output(3), 0)
        rollout.end_turn("done")
        consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)
    (message, *_), (run,) = find(world, "user", "message").cards, find(world, "pytest", "passed").cards
    assert message.event.at is not None
    assert run.event.at is not None
    nearest = find(world, window=Window(run.event.at - 60_000, 120_000))
    assert [card.event for card in nearest.cards] == [run.event]


@pytest.mark.requirement("T33")
@pytest.mark.parametrize("max_bytes", [None, 64 * 1024], ids=["one span", "many spans"])
def test_256_user_messages_are_kept_and_nothing_stronger_goes(tmp_path: Path, max_bytes: int | None) -> None:
    """Of 270 notes the newest 256; the runs and the corrections before them all stay."""
    notes = [f"note {number} {'x' * 200}" for number in range(270)]
    world = said(tmp_path / "w", [CORRECTION, *notes, CORRECTION], runs=[3, 4], max_bytes=max_bytes)
    assert kinds(world) == {"correction": 2, "test-run": 2, "user-message": 256}
    assert texts_again(world) == [CORRECTION, *notes[14:], CORRECTION]
    again = index(world)
    assert (again.events, again.user_messages, again.evicted, again.added) == (4, 256, 0, 0)
    (status,) = service.list_sources(world.session, world.root)
    assert status.events == 4
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T33", "X14")
def test_only_a_miss_of_the_lane_is_unsure_when_messages_went(tmp_path: Path) -> None:
    """A result that is not found is not there; a message may have been among those that were given up."""
    world = said(tmp_path / "w", [f"note {number}" for number in range(257)], runs=[3])
    assert find(world, "cargo", "passed").status is Status.NOT_FOUND
    assert find(world, "user", "correction").status is Status.NOT_FOUND
    missed = find(world, "user", "message", window=Window(NOW_MS + 86_400_000, 1000))
    assert (missed.status, missed.reason) == (Status.INDEX_UNVERIFIED, "messages-evicted")
    unknown = service.show(world.session, world.root, "timeline-event:" + "0" * 32)[0]
    assert (unknown.status, unknown.reason) == (Status.INDEX_UNVERIFIED, "messages-evicted")


@pytest.mark.requirement("T33", "T34")
def test_user_messages_take_the_room_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results and corrections come first; at the bound of all events no message is kept, and a result goes last."""
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 5)
    notes = [f"note {number}" for number in range(4)]
    some = said(tmp_path / "some", [CORRECTION, *notes], runs=[1, 2])
    assert kinds(some) == {"correction": 1, "test-run": 2, "user-message": 2}
    assert texts_again(some) == [CORRECTION, *notes[2:]]
    none = said(tmp_path / "none", [CORRECTION, *notes], runs=[1, 2, 3, 4])
    assert kinds(none) == {"correction": 1, "test-run": 4}
    over = said(tmp_path / "over", [CORRECTION, *notes], runs=[1, 2, 3, 4, 5, 6])
    assert kinds(over) == {"correction": 1, "test-run": 4}
    assert [event.passed for event in stored(over) if event.kind == "test-run"] == [3, 4, 5, 6]
    for world in (some, none, over):
        assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T34")
def test_the_bound_of_all_events_is_4096(tmp_path: Path) -> None:
    """4,000 corrections leave room for 96 messages."""
    prompts = [f"note {number}" for number in range(100)] + [
        f"{CORRECTION} {number}" for number in range(4000)
    ]
    world = said(tmp_path / "w", prompts)
    assert kinds(world) == {"correction": 4000, "user-message": 96}


@pytest.mark.requirement("T33", "T34")
def test_a_sidecar_goes_only_when_none_of_its_messages_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where later results push earlier ones out, messages beside these stay readable, and every count is right."""
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 6)
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world, runs=0)
    rollout.start_turn()
    for number in range(8):
        rollout.prompt(f"note {number}")
        rollout.command("pytest -q", pytest_output(number + 1), 0)
        rollout.command("cat numbers.txt", "0123456789abcdef\n" * 5000, 0)
    rollout.end_turn("done")
    consent(world, rollout, write_transcript(world, rollout))
    index(world, 64 * 1024)
    assert kinds(world) == {"test-run": 6}
    (status,) = service.list_sources(world.session, world.root)
    with open_state(world.session.locations, world.session.ports) as state:
        (source,) = state.view.active
        header = state.sidecar(source.entries[-1]).header
        events = [event for entry in source.kept for event in state.open_sidecar(entry)[1].events]
    assert sum(event.kind == "user-message" for event in events) == (header.user_messages or 0)
    assert status.events == sum(event.kind == "test-run" for event in events)
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T33")
def test_a_followed_session_keeps_its_newest_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read on in any steps, it has the same events as when it is read at once."""
    monkeypatch.setattr("timeline.segment.USER_MESSAGES_PER_SOURCE_MAX", 3)
    whole = follow(new_world(tmp_path / "whole"), first=10**6, runs=6)
    whole.index()
    growing = follow(new_world(tmp_path / "growing"), first=2000, runs=6)
    while growing.written < len(growing.whole):
        growing.index()
        growing.write(1777)
    growing.index()
    for world in (whole.world, growing.world):
        assert kinds(world) == {"test-run": 6, "user-message": 3}
        assert verdict_of(world, deep=True) == ("ok", frozenset())
    facts = [[(event.kind, event.lines[0].role) for event in stored(one.world)] for one in (whole, growing)]
    assert facts[0] == facts[1]


@pytest.mark.requirement("T22", "T28", "T61")
def test_a_statement_that_reads_differently_now_gives_no_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is read and classified again; where a rule has changed the card is dropped, and no words are given."""
    world = said(tmp_path / "w", ["first"])
    assert texts_again(world) == ["first"]
    monkeypatch.setattr("timeline.statements.is_capturable", lambda _: False)
    answer = find(world, "user", "message")
    assert (answer.status, answer.reason) == (Status.UNAVAILABLE, "event-read-differently")
    assert texts_again(world) == []


@pytest.mark.requirement("T22", "T33")
def test_rows_of_statements_are_built_again_from_the_sidecars(tmp_path: Path) -> None:
    """Whatever is in the database, indexing makes the rows that the signed sidecars stand for."""
    world = said(tmp_path / "w", ["first", CORRECTION, "second"], runs=[3])
    before = stored(world)
    with closing(sqlite3.connect(world.locations.database, isolation_level=None)) as database:
        database.execute("DELETE FROM event")
    assert verdict_of(world, deep=True)[0] == "refused"
    index(world)
    assert stored(world) == before
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T33", "T61", "T62")
def test_copied_and_quoted_words_are_no_reference(tmp_path: Path) -> None:
    """A fork keeps what was typed into it; neither its parent's prompts nor what answers, tools and the host quote."""
    world = new_world(tmp_path / "w")
    parent = rollout_of(world, runs=0, seed=1)
    parent.start_turn()
    parent.prompt(CORRECTION)
    parent.end_turn("done")
    child = fork(parent, seed=2)
    child.start_turn()
    child.inject(CORRECTION)
    child.prompt("and now the child")
    child.answer(CORRECTION)
    child.command("cat prompts.txt", f"{CORRECTION}\n", 0)
    child.end_turn(CORRECTION)
    consent(world, child, write_transcript(world, child))
    index(world)
    assert kinds(world) == {"user-message": 1}
    assert texts_again(world) == ["and now the child"]
