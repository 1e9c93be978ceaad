"""The daemon's diagnostics: what can be written and what cannot, bounds, rotation, and reading it again."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from tests.simulators.worlds import SetClock
from timeline import diary
from timeline.diary import FIELDS, Diary, follow_diary, format_entry, read_diary
from timeline.errors import UnsafeFileError

SECRET = "tell nobody that the password is hunter2"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Give the place of a diary that nobody has written yet."""
    return tmp_path / "daemon.log"


@pytest.fixture
def written(path: Path) -> Diary:
    """Give the diary that is written there."""
    return Diary(path, SetClock())


def test_a_line_is_one_json_object_with_time_level_and_event(path: Path, written: Diary) -> None:
    """Programs can read it without knowing more than JSON; the time carries its zone."""
    written.write("permit", "warning", host="codex", standing="refused", reason="permit-replayed", tool=None)
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "at": "2026-08-20T11:00:00.000Z",
        "level": "warning",
        "event": "permit",
        "host": "codex",
        "standing": "refused",
        "reason": "permit-replayed",
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("event", sorted(FIELDS))
def test_no_event_has_a_field_for_text(event: str, path: Path, written: Diary) -> None:
    """A field that is not on the event's list is a fault of ours, and nothing is written."""
    for field in ("prompt", "arguments", "text", "message", "output", "path", "command"):
        with pytest.raises(RuntimeError, match="not on the list"):
            written.write(event, **{field: "x"})
    assert not path.exists()


@pytest.mark.parametrize("event", sorted(FIELDS))
def test_no_field_takes_a_sentence(event: str, path: Path, written: Diary) -> None:
    """Whatever is handed over for a field on the list: a value that is not a word or a count is not written."""
    for value in (SECRET, "x" * 129, "a\nb", '{"a":1}', 2**60, 1.5, [SECRET], {"a": SECRET}, b"hunter2"):
        for field in FIELDS[event]:
            written.write(event, **{field: value})  # type: ignore[arg-type]  # that is the question
    content = path.read_bytes()
    assert b"hunter2" not in content
    assert b"xxxx" not in content
    fields = {
        name: value
        for line in content.splitlines()
        for name, value in json.loads(line).items()
        if name in FIELDS[event]
    }
    assert set(fields.values()) == {"?"}


def test_an_event_that_is_not_on_the_list_is_refused(written: Diary) -> None:
    """The list is closed."""
    with pytest.raises(RuntimeError, match="not on the list"):
        written.write("prompt")


def test_a_full_file_makes_room_once(
    path: Path, written: Diary, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two bounded files at most, the newest lines in them."""
    monkeypatch.setattr(diary, "DIARY_BYTES_MAX", 1000)
    for number in range(200):
        written.write("watching", sources=number)
    files = sorted(tmp_path.glob("daemon.log*"))
    assert [file.name for file in files] == ["daemon.log", "daemon.log.1"]
    assert all(0 < file.stat().st_size <= 1000 for file in files)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    numbers = [entry.fields["sources"] for entry in read_diary(path)]
    assert numbers == list(range(200 - len(numbers), 200))
    assert [entry.fields["sources"] for entry in read_diary(path, last=2)] == [198, 199]
    assert read_diary(path, last=0) == ()


def test_lines_that_cannot_be_written_are_counted_and_said(tmp_path: Path) -> None:
    """A full or missing disk never stops the daemon, and the gap is visible afterwards."""
    path = tmp_path / "missing" / "daemon.log"
    written = Diary(path, SetClock())
    written.write("started", version="0.1.0", pid=1)
    written.write("watching", sources=1)
    path.parent.mkdir(mode=0o700)
    written.write("watching", sources=2)
    written.write("watching", sources=3)
    found = [(entry.event, entry.fields) for entry in read_diary(path)]
    assert found == [("lost", {"lines": 2}), ("watching", {"sources": 2}), ("watching", {"sources": 3})]


@pytest.mark.parametrize("kind", ["link", "open", "second name", "pipe"])
def test_nothing_is_written_to_a_file_that_is_not_private(
    kind: str, path: Path, written: Diary, tmp_path: Path
) -> None:
    """A link, a pipe or an open file in its place gets no line, and the daemon goes on."""
    other = tmp_path / "other"
    other.touch(mode=0o600)
    if kind == "link":
        path.symlink_to(other)
    elif kind == "second name":
        path.hardlink_to(other)
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    else:
        path.touch()
        path.chmod(0o644)
    written.write("watching", sources=1)
    assert other.read_bytes() == b""
    if kind != "pipe":
        assert path.read_bytes() == b""
    with pytest.raises(UnsafeFileError):
        read_diary(path)


def test_what_this_program_did_not_write_is_not_shown(path: Path, written: Diary) -> None:
    """A torn or foreign line is left out, and no field of another list comes through."""
    written.write("watching", sources=1)
    foreign = [b'{"at":"x","level":"info","event":"watching","sour', b"[1]", b'"a"', b"\xff", b"[" * 3000]
    foreign += [b'{"at":"x","level":"info","event":"watching","prompt":"hunter2"}', b'{"at":1,"event":2}']
    foreign.append(b'{"at":"x","level":"info","event":"watching","sources":"' + b"a" * 5000 + b'"}')
    with path.open("ab") as file:
        file.write(b"\n".join(foreign) + b"\n")
    written.write("watching", sources=2)
    assert [entry.fields for entry in read_diary(path)] == [{"sources": 1}, {"sources": 2}]


def test_nothing_written_is_no_error(path: Path) -> None:
    """A daemon that never ran has no diary."""
    assert read_diary(path) == ()


def test_following_gives_what_is_added_through_a_rotation(
    path: Path, written: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new line once and in order, whatever file it lies in by then."""
    monkeypatch.setattr(diary, "DIARY_BYTES_MAX", 1000)
    written.write("watching", sources=0)
    starts = iter(range(1, 41, 5))

    def wait() -> bool:
        start = next(starts, None)
        for number in range(start or 0, (start or 0) + 5):
            written.write("watching", sources=number)
        return start is not None

    assert [entry.fields["sources"] for entry in follow_diary(path, wait)] == list(range(1, 41))


def test_following_waits_for_the_end_of_a_line(path: Path, written: Diary) -> None:
    """Half a line is given when the other half is there."""
    written.write("watching", sources=0)
    line = path.read_bytes()
    pieces = iter([line[:20], line[20:]])

    def wait() -> bool:
        piece = next(pieces, None)
        if piece is not None:
            with path.open("ab") as file:
                file.write(piece)
        return piece is not None

    assert [entry.event for entry in follow_diary(path, wait)] == ["watching"]


def test_threads_write_whole_lines(path: Path, written: Diary) -> None:
    """Two threads never share a line."""

    def work() -> None:
        for number in range(50):
            written.write("watching", sources=number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_diary(path)) == 200


def test_a_line_for_a_person(path: Path, written: Diary) -> None:
    """Time, level, event, and the fields by name."""
    written.write("hook", host="codex", hook="PreToolUse", milliseconds=3)
    (entry,) = read_diary(path)
    expected = "2026-08-20T11:00:00.000Z info    hook host=codex hook=PreToolUse milliseconds=3"
    assert format_entry(entry) == expected
