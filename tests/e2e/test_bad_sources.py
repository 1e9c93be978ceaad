"""Bad input through hook, enrollment, index and search: a stable reason and a hint, and the next good one works.

In each world a bad source and a good one are offered; what is found out about the bad one changes nothing for the
good one. Faults of owner and disk are injected: the tests run as root, too, whom file modes do not stop.
"""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

import timeline.source
from tests.e2e.offers import MIB, RUNS, Put, assert_good_one_works, find, offer
from tests.simulators import hosts
from tests.simulators.crash_child import peak_growth_of
from tests.simulators.worlds import (
    World,
    consent,
    prompt_event,
    refusal_of,
    rollout_of,
    verdict_of,
    write_transcript,
)
from timeline import service
from timeline.index import IndexResult
from timeline.search import Status
from timeline.terms import parse_query


@pytest.fixture
def world(host: World) -> World:
    """Give a timeline after ``init``, with a home of its own."""
    return host


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


def _content(change: Callable[[bytes], bytes]) -> Put:
    return lambda world, rollout: write_transcript(world, rollout, change(rollout.to_bytes()))


AT_THE_PATH: dict[str, tuple[Put, str]] = {
    "nothing": (_gone, "transcript-missing"),
    "a folder": (_folder, "transcript-not-regular"),
    "a FIFO": (_fifo, "transcript-not-regular"),
    "a symbolic link": (_symbolic_link, "transcript-linked"),
    "a folder that is a link": (_linked_folder, "transcript-outside-host-sessions"),
    "a file with a second name": (_hard_link, "transcript-linked"),
    "a path with a newline": (_newline_in_path, "host-receipt-event-not-supported"),
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
def test_what_is_no_transcript_is_refused_and_the_next_is_read(world: World, put: Put, reason: str) -> None:
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
