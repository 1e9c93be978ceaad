"""Search: an exact window or two terms, one transcript, eight cards, and a miss that is a miss."""

import shutil
from pathlib import Path

import pytest

from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import (
    NOW_MS,
    SetClock,
    World,
    consent,
    new_world,
    refusal_of,
    rollout_of,
    session_at,
    write_transcript,
)
from timeline import answers, evidence, prefix, service
from timeline.errors import LimitError, QueryError
from timeline.search import Answer, Card, Status, Window
from timeline.terms import parse_query


def find(world: World, *terms: str, window: Window | None = None, source: str | None = None) -> Answer:
    """Search as the command does."""
    query = parse_query(terms) if terms else None
    return service.find(world.session, world.root, window=window, query=query, source_ref=source)[0]


def with_runs(folder: Path, counts: list[tuple[int, int]]) -> World:
    """Give a world whose one session ran pytest with these (passed, failed)."""
    world = new_world(folder)
    rollout = rollout_of(world, runs=0)
    rollout.start_turn()
    rollout.prompt("go on")
    for passed, failed in counts:
        rollout.command("pytest -q", pytest_output(passed, failed), 1 if failed else 0)
    rollout.end_turn("done")
    consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)
    return world


def times(answer: Answer) -> list[int]:
    """The times of an answer's cards."""
    return [card.event.at for card in answer.cards if card.event.at is not None]


@pytest.mark.requirement("T20", "D4")
def test_a_window_is_exact_at_both_edges(small: World) -> None:
    """The edge itself is inside, one millisecond beyond it is not."""
    (at, *_) = times(find(small, "pytest", "failed"))

    assert times(find(small, window=Window(at, 0))) == [at]
    assert times(find(small, window=Window(at - 1, 0))) == []
    assert at in times(find(small, window=Window(at - 500, 500)))
    assert at in times(find(small, window=Window(at + 500, 500)))
    assert at not in times(find(small, window=Window(at - 500, 499)))


@pytest.mark.requirement("T14", "T20")
@pytest.mark.parametrize("half_ms", [-1, 900_001])
def test_a_wider_window_is_refused(half_ms: int) -> None:
    """A broad scan cannot be asked for."""
    with pytest.raises(LimitError):
        Window(NOW_MS, half_ms)


@pytest.mark.requirement("T23")
def test_at_most_eight_cards_the_newest_first(tmp_path: Path) -> None:
    """More matches are said to exist and are not given."""
    world = with_runs(tmp_path / "w", [(number, 0) for number in range(1, 12)])

    answer = find(world, "pytest", "passed")

    assert [card.event.passed for card in answer.cards] == [11, 10, 9, 8, 7, 6, 5, 4]
    assert answer.more


@pytest.mark.requirement("T21")
def test_one_search_opens_one_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three sessions that match only the one with the newest match is opened."""
    world = new_world(tmp_path / "w")
    for seed in range(3):
        rollout = rollout_of(world, seed=seed)
        consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)
    opened = []
    original = prefix.open_source
    monkeypatch.setattr(
        prefix, "open_source", lambda snapshot: opened.append(snapshot.path) or original(snapshot)
    )

    answer = find(world, "pytest", "passed")

    assert answer.status is Status.FOUND
    assert len(opened) == 1
    assert {card.source.enrollment.source.path for card in answer.cards} == set(opened)


@pytest.mark.requirement("T24", "X14")
def test_a_miss_opens_nothing_and_is_not_widened(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing near is offered, and no transcript is opened to look further."""
    monkeypatch.setattr(prefix, "open_source", lambda _: pytest.fail("a miss must open nothing"))

    assert find(small, "cargo", "passed").status is Status.NOT_FOUND
    assert find(small, window=Window(NOW_MS + 86_400_000, 900_000)).status is Status.NOT_FOUND


@pytest.mark.requirement("X14")
def test_a_miss_over_an_unread_source_is_not_called_one(tmp_path: Path) -> None:
    """Where not every event is accounted for, the answer says so."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    consent(world, rollout, write_transcript(world, rollout))

    unread = find(world, "cargo", "passed")

    assert (unread.status, unread.reason) == (Status.INDEX_UNVERIFIED, "source-not-indexed")


@pytest.mark.requirement("X14", "T34")
def test_events_beyond_the_bound_go_by_position_and_a_miss_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones of the file go; what they were can no longer be ruled out."""
    monkeypatch.setattr("timeline.segment.EVENTS_PER_SOURCE_MAX", 3)
    world = with_runs(tmp_path / "w", [(number, 0) for number in range(1, 6)])

    assert [card.event.passed for card in find(world, "pytest", "passed").cards] == [5, 4, 3]
    missed = find(world, "cargo", "passed")

    assert (missed.status, missed.reason) == (Status.INDEX_UNVERIFIED, "events-evicted")
    assert service.verify_timeline(world.session, deep=True).verdict == "ok"


@pytest.mark.requirement("T1", "T22", "T28")
def test_a_card_is_derived_again_from_the_transcript(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that today's adapter reads differently gives no card, and the answer says why."""
    assert find(small, "pytest", "failed").cards
    monkeypatch.setattr(evidence, "derive_again", lambda *_a, **_k: None)

    answer = find(small, "pytest", "failed")

    assert (answer.status, answer.reason, answer.cards) == (Status.UNAVAILABLE, "event-read-differently", ())


@pytest.mark.requirement("T22")
def test_other_bytes_under_the_same_metadata_are_noticed(
    small: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if size and times could be forged, the line's digest refuses."""
    original = evidence.OpenSource.read

    def forged(self: evidence.OpenSource, offset: int, length: int) -> bytes:
        content = original(self, offset, length)
        return content.replace(b"1 failed", b"0 failed") if offset else content

    monkeypatch.setattr(evidence.OpenSource, "read", forged)

    answer = find(small, "pytest", "failed")

    assert (answer.status, answer.cards) == (Status.STALE, ())


@pytest.mark.requirement("T4", "T12")
def test_only_what_was_consented_to_in_this_scope_is_seen(small: World, world: World, tmp_path: Path) -> None:
    """Another project, another task, an ended or revoked consent: as if nothing were there."""
    other = tmp_path / "other"
    other.mkdir()
    assert refusal_of(
        lambda: service.find(small.session, str(other), query=parse_query(("pytest", "failed")))
    ) == ("private-enrollment-unavailable")
    settings = world.locations.settings
    settings.write_text(
        settings.read_text(encoding="utf-8").replace('task = "default"', 'task = "another"', 1),
        encoding="utf-8",
    )
    assert refusal_of(lambda: find(world, "pytest", "failed")) == "private-enrollment-unavailable"
    late = session_at(small.folder, small.home, clock=SetClock(NOW_MS + 40 * 86_400_000))
    assert refusal_of(lambda: service.find(late, small.root, query=parse_query(("pytest", "failed")))) == (
        "private-enrollment-expired"
    )


@pytest.mark.requirement("T4")
def test_revoking_ends_recall_and_removes_what_was_kept(world: World) -> None:
    """The leaf stays, the sidecars and rows are gone, and verify agrees."""
    (status,) = service.list_sources(world.session, world.root)

    service.revoke(world.session, status.source.enrollment.enrollment_id)

    assert refusal_of(lambda: find(world, "pytest", "failed")) == "private-enrollment-unavailable"
    assert list(world.locations.sidecars.iterdir()) == []
    assert service.verify_timeline(world.session, deep=True).verdict == "ok"


@pytest.mark.requirement("T2", "T4")
def test_an_answer_holds_no_path_no_offset_and_no_text(small: World) -> None:
    """Cards say what ran and how it ended; they are context and grant nothing."""
    query = parse_query(("pytest", "failed"))
    answer, view = service.find(small.session, small.root, query=query)
    found = answers.search_answer(answer, view, at_ms=None, query=query)

    text = answers.encode(found).decode()

    assert small.root not in text
    assert ".jsonl" not in text
    assert "make the tests pass" not in text
    assert not {"offset", "bytes", "sha256", "path"} & set(found["events"][0])
    assert found["authority"] == found["events"][0]["authority"] == "context-only"


@pytest.mark.requirement("T2", "T73")
def test_nothing_of_the_conversation_is_in_any_file(tmp_path: Path) -> None:
    """Prompts, outputs and commands leave no trace in state, trust or configuration."""
    marker = "zanzibar-marker-7351"
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    rollout.start_turn()
    rollout.prompt(f"say {marker}")
    rollout.command(f"pytest -q -k {marker}", f"{marker}\n" + pytest_output(3), 0)
    rollout.command(f"cat {marker}", pytest_output(99), 0)
    rollout.end_turn(f"I ran {marker}: 500 passed in 1.00s")
    consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)

    assert {card.event.passed for card in find(world, "pytest", "passed").cards}.isdisjoint({99, 500})
    for path in world.folder.rglob("*"):
        if path.is_file() and not path.is_relative_to(world.home):
            assert marker.encode() not in path.read_bytes(), path


def test_a_source_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    """What was found before is not recalled without its transcript."""
    world = with_runs(tmp_path / "w", [(3, 0)])
    shutil.rmtree(world.home / ".codex" / "sessions")

    answer = find(world, "pytest", "passed")

    assert (answer.status, answer.reason, answer.cards) == (Status.SOURCE_GONE, "transcript-missing", ())


@pytest.mark.requirement("T20")
@pytest.mark.parametrize(
    ("terms", "used"),
    [
        (("pytest", "failed"), ("pytest", "fail")),
        (("PyTest", "FEHLGESCHLAGEN"), ("pytest", "fail")),
        (("pytst", "failed"), ("pytest", "fail")),
        (("pytest", "12"), ("pytest", "12")),
        (("suite-4", "bestanden"), ("suite-4", "pass")),
    ],
)
def test_two_terms_of_the_vocabulary_are_understood(terms: tuple[str, str], used: tuple[str, str]) -> None:
    """English, German, numbers, labels, and a typing error within the vocabulary."""
    assert tuple(term.text for term in parse_query(terms).terms) == used


def test_a_forgiven_typing_error_is_said() -> None:
    """The answer names what was taken for what."""
    assert parse_query(("pytst", "failed")).corrections == (("pytst", "pytest"),)


@pytest.mark.requirement("T20", "T24")
@pytest.mark.parametrize(
    "terms",
    [
        (),
        ("pytest",),
        ("pytest", "failed", "12"),
        ("pytest", "pytest"),
        ("pass", "passed"),
        ("rm", "-rf"),
        ("x" * 500, "pass"),
    ],
)
def test_anything_but_two_different_terms_is_refused(terms: tuple[str, ...]) -> None:
    """Prose is not searched, and one term is no search."""
    with pytest.raises(QueryError):
        parse_query(terms)


def test_a_number_term_finds_exactly_its_runs(tmp_path: Path) -> None:
    """A count is matched as a whole number in passed, failed or total."""
    world = with_runs(tmp_path / "w", [(12, 0), (1, 2), (2, 0), (120, 0)])

    def passed(*terms: str) -> list[int | None]:
        return [card.event.passed for card in find(world, *terms).cards]

    assert passed("pytest", "12") == [12]
    assert passed("2", "1") == [1]
    assert passed("fail", "2") == [1]
    assert passed("pytest", "13") == []


def test_a_window_with_terms_keeps_to_both(tmp_path: Path) -> None:
    """Time and terms together narrow, never widen."""
    world = with_runs(tmp_path / "w", [(12, 0), (1, 2)])
    (at,) = times(find(world, "pytest", "failed"))

    both = find(world, "pytest", "passed", window=Window(at, 900_000))

    assert {card.event.outcome.value for card in both.cards} == {"pass"}


def test_a_card_says_how_far_its_source_was_understood(tmp_path: Path) -> None:
    """One unknown record type marks every card of the source."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    rollout.write("quantum_state", {"type": "x"})
    consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)

    cards: tuple[Card, ...] = find(world, "pytest", "passed").cards

    assert cards
    assert all(card.partly_understood for card in cards)


@pytest.mark.requirement("X14")
def test_a_miss_where_lines_were_not_understood_is_not_called_one(tmp_path: Path) -> None:
    """An event may stand on the line that nobody could read."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    rollout.lines.append(b'{"timestamp":"torn')
    rollout.end_turn("done")
    consent(world, rollout, write_transcript(world, rollout))
    service.index(world.session, world.root)

    missed = find(world, "cargo", "passed")

    assert (missed.status, missed.reason) == (Status.PARTLY_UNDERSTOOD, "lines-not-understood")


@pytest.mark.parametrize("seconds", [0, 59, 90 * 86_400 + 1])
def test_consent_ends_within_its_bounds(world: World, seconds: int) -> None:
    """Neither at once nor never."""
    refused = refusal_of(
        lambda: service.enroll(world.session, world.root, "asthr_x", confirmed=True, recall_seconds=seconds)
    )
    assert refused == "limit-exceeded"
