"""Indexing: bounded operations, resumable anywhere, and the same result however it is cut."""

from pathlib import Path

import pytest

from adapters.record import ToolResult
from sidecars.errors import MalformedError
from sidecars.event import Event
from tests.simulators.hosts import pytest_output
from tests.simulators.worlds import (
    World,
    consent,
    event_ids,
    new_world,
    refusal_of,
    rollout_of,
    write_transcript,
)
from timeline import segment, service
from timeline.index import IndexResult
from timeline.limits import INDEX_BYTES_MAX, INDEX_BYTES_MIN, KIB


def enrolled(folder: Path, *, runs: int = 4, filler_bytes: int = 40_000) -> World:
    """Give a world with one enrolled session that is not indexed."""
    world = new_world(folder)
    rollout = rollout_of(world, runs=runs, filler_bytes=filler_bytes)
    consent(world, rollout, write_transcript(world, rollout))
    return world


def index(world: World, **options: int) -> IndexResult:
    """Index the one source."""
    (result,) = service.index(world.session, world.root, **options)
    if isinstance(result, tuple):
        raise result[1]
    return result


@pytest.mark.requirement("T19")
@pytest.mark.parametrize("size", [0, INDEX_BYTES_MIN - 1, INDEX_BYTES_MAX + 1])
def test_an_operation_is_bounded(tmp_path: Path, size: int) -> None:
    """Less than 64 KiB and more than 16 MiB are refused."""
    world = enrolled(tmp_path / "w")

    assert refusal_of(lambda: service.index(world.session, world.root, max_bytes=size)) == "limit-exceeded"


@pytest.mark.requirement("T19")
def test_many_small_operations_give_what_one_gives(tmp_path: Path) -> None:
    """However often it stops, the events are the same and every row is accounted for."""
    whole = enrolled(tmp_path / "whole")
    parts = whole.copy(tmp_path / "parts")

    once = index(whole)
    steps = 0
    while not (result := index(parts, max_bytes=INDEX_BYTES_MIN, operations=1)).complete:
        steps += 1

    assert steps >= 2
    assert result.events == once.events
    assert event_ids(parts) == event_ids(whole)
    assert service.verify_timeline(parts.session, deep=True).verdict == "ok"


def test_indexing_again_adds_nothing(tmp_path: Path) -> None:
    """A finished source costs no leaf."""
    world = enrolled(tmp_path / "w")
    index(world)
    head = world.locations.head.read_bytes()

    again = index(world)

    assert (again.operations, again.added) == (0, 0)
    assert world.locations.head.read_bytes() == head


@pytest.mark.requirement("T19")
def test_a_line_that_is_too_long_is_skipped_over_several_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one counted defect, and what comes after it is read."""
    monkeypatch.setattr("adapters.lines.MAX_LINE_BYTES", 100 * KIB)
    monkeypatch.setattr("timeline.span.MAX_LINE_BYTES", 100 * KIB)
    monkeypatch.setattr("adapters.lines.LineSplitter.__init__.__defaults__", (0, 100 * KIB))
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world, runs=1)
    rollout.lines.append(b'{"timestamp":"' + b"x" * (400 * KIB))
    rollout.start_turn()
    rollout.prompt("go on")
    rollout.command("pytest -q", pytest_output(77), 0)
    rollout.end_turn("done")
    consent(world, rollout, write_transcript(world, rollout))

    result = index(world, max_bytes=INDEX_BYTES_MIN)

    assert result.complete
    assert result.operations > 5
    assert result.tallies.defects == 1
    assert result.events == 2


@pytest.mark.requirement("T70")
def test_a_file_whose_header_names_another_session_is_refused(tmp_path: Path) -> None:
    """The file's name is not enough."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    content = rollout.to_bytes().replace(rollout.thread_id.encode(), b"0" * 36)
    consent(world, rollout, write_transcript(world, rollout, content))

    (result,) = service.index(world.session, world.root)

    assert isinstance(result, tuple)
    assert result[1].reason == "transcript-session-mismatch"  # type: ignore[attr-defined]  # every refusal has one


def test_a_damaged_index_is_built_again(tmp_path: Path) -> None:
    """Rows are a projection: the sidecars give them back."""
    import sqlite3
    from contextlib import closing

    world = enrolled(tmp_path / "w")
    index(world)
    with closing(sqlite3.connect(world.locations.database)) as database, database:
        database.execute("DELETE FROM event")
    assert service.verify_timeline(world.session, deep=True).verdict == "refused"

    index(world)

    assert service.verify_timeline(world.session, deep=True).verdict == "ok"


def test_a_file_without_a_byte_is_refused_with_a_reason(tmp_path: Path) -> None:
    """Nothing is written, and the answer says that there is no header yet."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    consent(world, rollout, write_transcript(world, rollout, b""))

    (result,) = service.index(world.session, world.root)

    assert isinstance(result, tuple)
    assert result[1].reason == "header-incomplete"  # type: ignore[attr-defined]  # every refusal has one


def test_content_that_cannot_be_stored_refuses_its_own_file_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other session of the project is indexed all the same."""
    world = new_world(tmp_path / "w")
    for seed in range(2):
        rollout = rollout_of(world, seed=seed)
        consent(world, rollout, write_transcript(world, rollout))
    bad = service.list_sources(world.session, world.root)[1].source.enrollment.source.ref
    original = segment.event_of

    def event_of(result: ToolResult, *, source_ref: str, fingerprint_key: bytes) -> Event | None:
        if source_ref == bad:
            raise MalformedError("a number is out of its bounds")
        return original(result, source_ref=source_ref, fingerprint_key=fingerprint_key)

    monkeypatch.setattr(segment, "event_of", event_of)

    refused, indexed = service.index(world.session, world.root)

    assert isinstance(refused, tuple)
    assert refused[1].reason == "format-not-understood"  # type: ignore[attr-defined]  # every refusal has one
    assert isinstance(indexed, IndexResult)
    assert indexed.complete
