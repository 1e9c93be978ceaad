"""What happens after the consent: files that change, a clock that goes back, a disk that refuses, Ctrl-C.

Each gives a stable reason and a hint, no card from what is not the snapshot, and the next good source still works.
"""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import timeline.source
from tests.e2e.offers import RUNS, TEST_RUNS, assert_good_one_works, find, offer
from tests.simulators.faults import WRITES, Faults, injected
from tests.simulators.worlds import (
    NOW_MS,
    SEGMENT_BYTES,
    Moment,
    World,
    answers_of,
    consent,
    event_ids,
    leaves_of,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.errors import TimelineError
from timeline.index import IndexResult
from timeline.search import Status


@pytest.fixture
def world(host: World) -> World:
    """Give a timeline after ``init``, with a home of its own."""
    return host


# -- what changes after the consent ----------------------------------------------------------------------------


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{}\n")


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _change(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"12 passed", b"92 passed"))


def _touch(path: Path) -> None:
    os.utime(path, ns=(0, 0))


def _replace(path: Path) -> None:
    """The same bytes in another file."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def _second_name(path: Path) -> None:
    os.link(path, path.with_name("second name"))


def _link_in_place(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("moved")))


LATER: dict[Callable[[Path], None], tuple[str, Status]] = {
    _append: ("transcript-snapshot-renewal-required", Status.STALE),
    _truncate: ("transcript-snapshot-renewal-required", Status.STALE),
    _empty: ("transcript-snapshot-renewal-required", Status.STALE),
    _change: ("transcript-snapshot-renewal-required", Status.STALE),
    _touch: ("transcript-snapshot-renewal-required", Status.STALE),
    _replace: ("transcript-replaced", Status.STALE),
    _second_name: ("transcript-linked", Status.STALE),
    _link_in_place: ("transcript-linked", Status.STALE),
    Path.unlink: ("transcript-missing", Status.SOURCE_GONE),
}

each_change = pytest.mark.parametrize("change", LATER, ids=lambda change: change.__name__.lstrip("_"))


@pytest.mark.requirement("T12", "T13", "T14", "T69")
@each_change
def test_a_file_that_changes_before_it_is_indexed_gives_nothing(
    world: World, change: Callable[[Path], None]
) -> None:
    """``index`` refuses it with its reason and goes on to the next source."""
    reason, _ = LATER[change]
    rollout, good = rollout_of(world, seed=1), rollout_of(world, seed=2)
    path = write_transcript(world, rollout)
    consent(world, rollout, path)
    consent(world, good, write_transcript(world, good))
    change(path)
    bad_found, good_found = service.index(world.session, world.root)
    assert isinstance(bad_found, tuple)
    error = bad_found[1]
    assert isinstance(error, TimelineError)
    assert (error.reason, bool(error.hint)) == (reason, True)
    assert isinstance(good_found, IndexResult)
    assert good_found.events == RUNS
    assert_good_one_works(world)


@pytest.mark.requirement("T12", "T13", "T14", "T69")
@each_change
def test_a_file_that_changed_gives_no_card(world: World, change: Callable[[Path], None]) -> None:
    """No card, its status, reason and hint; not retried, and no other source is opened in its place."""
    reason, status = LATER[change]
    assert_good_one_works(world)
    rollout = rollout_of(world, seed=100)
    path = write_transcript(world, rollout)
    ref = consent(world, rollout, path)
    service.index(world.session, world.root)
    assert find(world).source is not None
    change(path)
    with _opened() as opened:
        answer = find(world)
    assert (answer.status, answer.reason, answer.cards) == (status, reason, ())
    assert answer.hint
    assert answer.source is not None
    assert answer.source.enrollment.source.ref == ref
    assert set(opened) <= {str(path)}
    assert len(opened) <= 1
    (good,) = [s for s in service.list_sources(world.session, world.root) if s.state == "current"]
    assert len(find(world, good.source.enrollment.source.ref).cards) == RUNS


def _opened() -> mock._patch:
    """Note every transcript that is opened."""
    opened: list[str] = []

    class Os:
        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def open(self, path: str, flags: int) -> int:
            opened.append(path)
            return os.open(path, flags)

    patch = mock.patch.object(timeline.source, "os", Os())
    return _Noted(patch, opened)


class _Noted:
    """A patch that gives its list when it is entered."""

    def __init__(self, patch: "mock._patch[object]", noted: list[str]) -> None:
        self._patch, self._noted = patch, noted

    def __enter__(self) -> list[str]:
        self._patch.__enter__()
        return self._noted

    def __exit__(self, *ended: object) -> None:
        self._patch.__exit__(*ended)


@pytest.mark.requirement("T11")
def test_consent_reads_four_kibibytes_and_no_byte_behind_them(world: World) -> None:
    """Hook and enrollment look at metadata and at the beginning, however long the file is."""
    reads: list[tuple[int, int]] = []

    class Os:
        def __getattr__(self, name: str) -> object:
            assert name not in {"read", "sendfile"}
            return getattr(os, name)

        def pread(self, descriptor: int, length: int, offset: int) -> bytes:
            found = os.pread(descriptor, length, offset)
            reads.append((offset, offset + len(found)))
            return found

        def preadv(self, descriptor: int, buffers: list[memoryview], offset: int) -> int:
            count = os.preadv(descriptor, buffers, offset)
            reads.append((offset, offset + count))
            return count

    rollout = rollout_of(world, runs=2, filler_bytes=100_000)
    path = write_transcript(world, rollout)
    with mock.patch.object(timeline.source, "os", Os()):
        consent(world, rollout, path)
    assert reads
    assert max(end for _, end in reads) <= 4096


@pytest.mark.requirement("T12")
def test_another_project_and_another_scope_see_nothing(world: World) -> None:
    """The project's root and every field of the scope are compared at each search."""
    assert_good_one_works(world)
    other = world.home / "other"
    other.mkdir()
    assert (
        refusal_of(lambda: service.find(world.session, str(other), query=TEST_RUNS))
        == "private-enrollment-unavailable"
    )
    settings = world.locations.settings
    text = settings.read_text(encoding="utf-8")
    for field in ("tenant", "task"):
        lines = [
            f'{field} = "another"' if line.startswith(f"{field} =") else line for line in text.split("\n")
        ]
        settings.write_text("\n".join(lines), encoding="utf-8")
        assert refusal_of(lambda: find(world)) == "private-enrollment-unavailable"
    settings.write_text(text, encoding="utf-8")
    assert find(world).status is Status.FOUND


# -- clock, disk, Ctrl-C ---------------------------------------------------------------------------------------


def test_a_clock_that_went_back_writes_nothing(world: World) -> None:
    """Behind the newest entry by more than the allowed second: refused; set right, it works."""
    assert_good_one_works(world)
    before = leaves_of(world)
    world.clock.at_ms = NOW_MS - 1_001
    offered = offer(world, 1, write_transcript)
    assert (offered.reason, bool(offered.hint)) == ("clock-went-back", True)
    assert leaves_of(world) == before
    assert refusal_of(lambda: find(world)) == "clock-went-back"
    assert refusal_of(lambda: service.index(world.session, world.root)) == "clock-went-back"
    world.clock.at_ms = NOW_MS
    assert find(world).status is Status.FOUND
    rollout = rollout_of(world, seed=1)
    path = write_transcript(world, rollout)
    assert refusal_of(lambda: consent(world, rollout, path, turn="turn-2")) is None


@pytest.mark.requirement("T69")
@pytest.mark.parametrize(
    ("code", "sqlite_name"),
    [(errno.ENOSPC, "SQLITE_FULL"), (errno.EROFS, "SQLITE_READONLY")],
    ids=["full", "read-only"],
)
def test_a_state_that_cannot_be_written_can_still_be_searched(
    world: World, code: int, sqlite_name: str
) -> None:
    """Every writing command says so and changes nothing; search and ``verify`` go on."""
    assert_good_one_works(world)
    rollout = rollout_of(world, seed=1)
    path = write_transcript(world, rollout)
    receipt = service.receive_prompt(
        world.session, "codex", prompt_event(world, rollout.thread_id, str(path))
    )
    (status,) = service.list_sources(world.session, world.root)
    answers, leaves = answers_of(world), leaves_of(world)
    writing: dict[str, Callable[[], object]] = {
        "hook": lambda: service.receive_prompt(
            world.session, "codex", prompt_event(world, rollout.thread_id, str(path), turn_id="turn-2")
        ),
        "enroll": lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True),
        "revoke": lambda: service.revoke(world.session, status.source.enrollment.enrollment_id),
    }
    for name, write in writing.items():
        with injected(Faults(1, code, sqlite_name, persistent=True, names=WRITES)):
            assert refusal_of(write) == "state-unwritable", name
            assert answers_of(world) == answers
            assert verdict_of(world) == ("ok", frozenset())
    assert leaves_of(world) == leaves
    assert writing["enroll"]() is not None
    with injected(Faults(1, code, sqlite_name, persistent=True, names=WRITES)):
        reason = refusal_of(lambda: service.index(world.session, world.root))
    assert reason in {"store-unwritable", "state-unwritable"}
    assert len(service.index(world.session, world.root)) == 2
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("T66")
def test_ctrl_c_between_two_operations_keeps_what_was_done(
    grown: tuple[World, tuple[Moment, ...]], tmp_path: Path
) -> None:
    """Interrupted at the progress display: what is committed stays, and indexing goes on behind it."""
    world = grown[0].copy(tmp_path / "copy")
    grown[1][1].place(world)

    def interrupt(_done: int, _size: int) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, progress=interrupt)
        assert verdict_of(world, deep=True) == ("ok", frozenset())
    (result,) = service.index(world.session, world.root, max_bytes=SEGMENT_BYTES)
    assert isinstance(result, IndexResult)
    assert (result.complete, result.operations) == (True, 1)
    assert event_ids(world) == event_ids(grown[0])


@pytest.mark.requirement("T13")
def test_a_file_that_changes_while_it_is_indexed_gives_nothing_from_then_on(
    grown: tuple[World, tuple[Moment, ...]], world: World
) -> None:
    """The host writes between two operations: what was committed stays signed, and no card comes from it."""
    rollout = rollout_of(world, runs=4, filler_bytes=40_000)
    path = write_transcript(world, rollout)
    consent(world, rollout, path)

    def write(done: int, _size: int) -> None:
        if done == SEGMENT_BYTES:
            _append(path)

    (found,) = service.index(world.session, world.root, max_bytes=SEGMENT_BYTES, progress=write)
    assert isinstance(found, tuple)
    assert isinstance(found[1], TimelineError)
    assert found[1].reason == "transcript-snapshot-renewal-required"
    assert find(world).status is Status.STALE
    assert verdict_of(world)[0] == "ok"
    assert_good_one_works_beside(world)


def assert_good_one_works_beside(world: World) -> None:
    """As ``assert_good_one_works``, where a deep verification is not all that counts."""
    good = offer(world, 99, write_transcript)
    assert good.result is not None
    assert len(find(world, good.result.source.enrollment.source.ref).cards) == RUNS
