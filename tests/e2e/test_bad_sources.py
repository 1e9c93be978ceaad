"""Bad input through hook, enrollment, index and search: a stable reason and a hint, and the next good one works.

In each world a bad source and a good one are offered; what is found out about the bad one changes nothing for the
good one. Faults of owner and disk are injected: the tests run as root, too, whom file modes do not stop.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

import timeline.source
from adapters.errors import AdapterError
from tests.simulators import hosts
from tests.simulators.crash_child import peak_growth_of
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
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.errors import TimelineError
from timeline.index import IndexResult
from timeline.search import Answer, Status
from timeline.terms import parse_query

RUNS = 3
TEST_RUNS = parse_query(("pytest", "test-run"))
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Give a timeline after ``init``, to be copied."""
    return new_world(tmp_path_factory.mktemp("fresh"))


@pytest.fixture
def world(fresh: World, tmp_path: Path) -> World:
    """Give a timeline and a home of its own."""
    copy = fresh.copy(tmp_path / "copy")
    (tmp_path / "host" / "project").mkdir(parents=True)
    (tmp_path / "host" / ".codex" / "sessions").mkdir(parents=True)
    return World(copy.folder, tmp_path / "host")


@dataclass(frozen=True)
class Offered:
    """What became of one source."""

    reason: str | None
    hint: str
    result: IndexResult | None = None


def offer(
    world: World, seed: int, put: Callable[[World, hosts.CodexRollout], Path], runs: int = RUNS
) -> Offered:
    """Offer one source through hook, enrollment and index."""
    rollout = rollout_of(world, seed=seed, runs=runs)
    path = put(world, rollout)
    try:
        ref = consent(world, rollout, path)
        (found,) = service.index(world.session, world.root, source_ref=ref)
    except service.REFUSALS as error:
        return Offered(error.reason, error.hint or "")
    if isinstance(found, IndexResult):
        return Offered(None, "", found)
    error = found[1]
    assert isinstance(error, TimelineError | AdapterError)
    return Offered(error.reason, error.hint or "")


def assert_good_one_works(world: World) -> None:
    """A good source offered next is enrolled, indexed and found."""
    good = offer(world, 99, write_transcript)
    assert good.result is not None, good
    assert good.result.complete
    assert good.result.events == RUNS
    answer = find(world, good.result.source.enrollment.source.ref)
    assert answer.status is Status.FOUND
    assert len(answer.cards) == RUNS
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def find(world: World, source_ref: str | None = None) -> Answer:
    """Search for runs of pytest."""
    return service.find(world.session, world.root, query=TEST_RUNS, source_ref=source_ref)[0]


# -- what stands at the path -----------------------------------------------------------------------------------


def _moved(path: Path, target: Path) -> Path:
    path.rename(target)
    return target


def _gone(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    path.unlink()
    return path


def _folder(world: World, rollout: hosts.CodexRollout) -> Path:
    path = _gone(world, rollout)
    path.mkdir()
    return path


def _fifo(world: World, rollout: hosts.CodexRollout) -> Path:
    path = _gone(world, rollout)
    os.mkfifo(path)
    return path


def _symbolic_link(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    path.symlink_to(_moved(path, path.with_name("elsewhere")))
    return path


def _linked_folder(world: World, rollout: hosts.CodexRollout) -> Path:
    """A folder below the sessions that leads out of them."""
    path = write_transcript(world, rollout)
    aside, link = world.home / "elsewhere", world.home / ".codex" / "sessions" / "linked"
    aside.mkdir()
    link.symlink_to(aside)
    _moved(path, aside / path.name)
    return link / path.name


def _hard_link(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    os.link(path, world.home / "second name")
    return path


def _newline_in_path(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    return _moved(path, path.with_name("a\n" + path.name))


def _not_utf8_path(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    return _moved(path, path.with_name(os.fsdecode(b"a\xff") + path.name))


def _outside(world: World, rollout: hosts.CodexRollout) -> Path:
    path = write_transcript(world, rollout)
    return _moved(path, world.home / path.name)


def _other_session(world: World, rollout: hosts.CodexRollout) -> Path:
    """The name says another session than the host."""
    path = write_transcript(world, rollout)
    return _moved(path, path.with_name("rollout-2026-08-20T10-00-00-00000000.jsonl"))


def _content(change: Callable[[bytes], bytes]) -> Callable[[World, hosts.CodexRollout], Path]:
    return lambda world, rollout: write_transcript(world, rollout, change(rollout.to_bytes()))


AT_THE_PATH: dict[str, tuple[Callable[[World, hosts.CodexRollout], Path], str]] = {
    "nothing": (_gone, "transcript-missing"),
    "a folder": (_folder, "transcript-not-regular"),
    "a FIFO": (_fifo, "transcript-not-regular"),
    "a symbolic link": (_symbolic_link, "transcript-linked"),
    "a folder that is a link": (_linked_folder, "transcript-outside-host-sessions"),
    "a file with a second name": (_hard_link, "transcript-linked"),
    "a path with a newline": (_newline_in_path, "transcript-path-unsupported"),
    "a path that is not UTF-8": (_not_utf8_path, "host-receipt-event-not-supported"),
    "a file outside the host's folder": (_outside, "transcript-outside-host-sessions"),
    "a file of another session": (_other_session, "transcript-session-mismatch"),
    "no record of a session": (_content(lambda data: data.split(b"\n", 1)[1]), "header"),
    "another session's record": (
        _content(lambda data: data.replace(b'"id":"0', b'"id":"f', 1)),
        "transcript-session-mismatch",
    ),
    "no transcript": (_content(lambda data: b"hello\nworld\n"), "header"),
    "NUL bytes only": (_content(lambda data: b"\0" * 1000), "header-incomplete"),
    "an unfinished first line": (_content(lambda data: data[:100]), "header-incomplete"),
    "an unknown history mode": (
        _content(lambda data: data.replace(b'"cwd"', b'"history_mode":"later","cwd"', 1)),
        "unknown-history-mode",
    ),
}


@pytest.mark.requirement("T12", "T69")
@pytest.mark.parametrize(("put", "reason"), AT_THE_PATH.values(), ids=AT_THE_PATH)
def test_what_is_no_transcript_is_refused_and_the_next_is_read(
    world: World, put: Callable[[World, hosts.CodexRollout], Path], reason: str
) -> None:
    """A reason and a hint; nothing is indexed from it; the good one beside it is."""
    offered = offer(world, 1, put)
    assert (offered.reason, bool(offered.hint)) == (reason, True)
    assert_good_one_works(world)


@pytest.mark.requirement("T12")
def test_a_transcript_of_another_user_is_refused(world: World) -> None:
    """The owner is injected: root may read everything, and still must not."""
    rollout = rollout_of(world, seed=1)
    path = write_transcript(world, rollout)
    inode = path.stat().st_ino
    with _foreign(inode):
        event = prompt_event(world, rollout.thread_id, str(path))
        assert (
            refusal_of(lambda: service.receive_prompt(world.session, "codex", event))
            == "transcript-foreign-owner"
        )
    assert_good_one_works(world)


def _foreign(inode: int) -> mock._patch:
    class Os:
        def __getattr__(self, name: str) -> object:
            real = getattr(os, name)
            if name not in {"fstat", "lstat"}:
                return real

            def looked(*args: object) -> object:
                found = real(*args)
                if found.st_ino != inode:
                    return found
                fields = {field: getattr(found, field) for field in dir(found) if field.startswith("st_")}
                return SimpleNamespace(**{**fields, "st_uid": found.st_uid + 1})

            return looked

    return mock.patch.object(timeline.source, "os", Os())


@pytest.mark.requirement("X14")
def test_an_empty_file_holds_nothing_and_hides_nothing(world: World) -> None:
    """It can be enrolled before the host writes; it has no events, and a miss beside it is still a miss."""
    offered = offer(world, 1, _content(lambda data: b""))
    assert offered.reason in {None, "header-incomplete"}
    assert_good_one_works(world)
    answer, _ = service.find(world.session, world.root, query=parse_query(("cargo", "passed")))
    assert answer.status is Status.NOT_FOUND


# -- lines -----------------------------------------------------------------------------------------------------


def _line(raw: bytes) -> Callable[[bytes], bytes]:
    """A bad line between good ones, behind the first run."""
    return lambda data: hosts.with_line(data, 8, raw)


DEPTH = 5_000
BAD_LINES: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "brackets": (_line(b"[" * DEPTH), RUNS),
    "nested objects": (_line(b'{"a":' * DEPTH + b"1" + b"}" * DEPTH), RUNS),
    "NUL bytes": (_line(b"\0" * 4096), RUNS),
    "a NUL escape": (_line(b'{"timestamp":"\\u0000","type":"event_msg","payload":{"type":"\\u0000"}}'), RUNS),
    "line ends of another system": (hosts.with_crlf, RUNS),
    "a byte order mark": (hosts.with_bom, RUNS),
    "a line separator": (
        _line('{"type":"event_msg","payload":{"type":"a\u2028b\u2029c\u0085d"}}'.encode()),
        RUNS,
    ),
    "invalid UTF-8": (_line(b'{"type":"event_msg","payload":{"type":"\xff\xfe\xc0\x80"}}'), RUNS),
    "a lone surrogate": (_line(b'{"type":"event_msg","payload":{"type":"\\ud800"}}'), RUNS),
    "a surrogate in bytes": (_line(b'{"type":"event_msg","payload":{"type":"\xed\xa0\x80"}}'), RUNS),
    "duplicate keys": (_line(b'{"type":"event_msg","type":"response_item","payload":{}}'), RUNS),
    "not a number": (_line(b'{"type":"event_msg","payload":{"type":"x","n":NaN}}'), RUNS),
    "a huge number": (_line(b'{"type":"event_msg","payload":{"type":"x","n":1' + b"0" * 5000 + b"}}"), RUNS),
    "an empty line": (_line(b""), RUNS),
    "no record": (_line(b"null"), RUNS),
    "a line longer than is read": (_line(b"x" * (9 * MIB)), RUNS),
    "a torn end": (lambda data: hosts.torn(data, 30), RUNS),
}


@pytest.mark.requirement("T69", "X14")
@pytest.mark.parametrize(("change", "events"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_is_stepped_over(world: World, change: Callable[[bytes], bytes], events: int) -> None:
    """The good lines before and behind it are read; the same cards as without it, but for their places."""
    offered = offer(world, 1, _content(change))
    assert offered.result is not None, offered
    assert offered.result.complete
    assert offered.result.events == events
    answer = find(world)
    assert answer.status is Status.FOUND
    assert [(card.event.passed, card.event.failed) for card in answer.cards] == [(13, 0), (12, 0), (11, 1)]
    assert_good_one_works(world)


DAMAGES: dict[str, Callable[[bytes, int], bytes]] = {
    "glued": lambda data, line: hosts.glued(data, line, 7),
    "NUL run": lambda data, line: hosts.with_nul_run(data, line, 64),
}


@pytest.mark.requirement("T69", "X14")
@pytest.mark.parametrize("line", range(1, 40))
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_record_makes_no_event_of_its_own(
    world: World, damage: Callable[[bytes, int], bytes], line: int
) -> None:
    """Whichever record is damaged: the events are some of those that the whole file has, or the file is refused."""
    rollout = rollout_of(world, seed=1, runs=6)
    offered = offer(world, 1, _content(lambda data: damage(data, line)), runs=6)
    if offered.result is None:
        assert (offered.reason, bool(offered.hint)) == ("format-not-understood", True)
    else:
        found = {(card.event.passed, card.event.exit_code) for card in find(world).cards}
        assert found <= {(11 + run, 1 if run == 0 else 0) for run in range(6)}
        assert offered.result.tallies.defects > 0 or len(rollout.lines) <= line
    assert verdict_of(world, deep=True) == ("ok", frozenset())


LINE_BYTES = 500 * MIB


def test_a_line_of_500_megabytes_takes_no_memory(world: World) -> None:
    """It is skipped, over as many operations as it needs; what stands before and behind it is read."""

    def put(world: World, rollout: hosts.CodexRollout) -> Path:
        """Write a hole in the middle: it reads as NUL bytes and takes no disk."""
        data = rollout.to_bytes()
        cut = data.index(b"\n", len(data) // 2) + 1
        path = write_transcript(world, rollout, data[:cut])
        with path.open("r+b") as file:
            file.seek(cut + LINE_BYTES)
            file.write(b"\n" + data[cut:])
        return path

    rollout = rollout_of(world, seed=1)
    ref = consent(world, rollout, put(world, rollout))
    grown = peak_growth_of(lambda: service.index(world.session, world.root))
    assert grown < 100 * MIB
    (result,) = service.index(world.session, world.root)
    assert isinstance(result, IndexResult)
    assert (result.complete, result.events) == (True, RUNS)
    assert len(find(world, ref).cards) == RUNS
    assert_good_one_works(world)


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
    assert refusal_of(lambda: find(world)) == "private-enrollment-expired"
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
