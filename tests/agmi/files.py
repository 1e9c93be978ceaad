"""Surfaces in files: sidecars alone, sidecars with all that depends on them, and the host's transcript."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec

from sidecars.digest import Digest
from sidecars.envelope import Envelope, format_envelope, parse_envelope
from sidecars.event import Event
from sidecars.merkle import leaf_hash, root_of
from sidecars.sidecar import EventRange
from tests.agmi.database import write_rows
from tests.agmi.records import Item, Json, hour_earlier, more_passed, to_canonical, to_text
from tests.agmi.stage import HostSession, Stage
from timeline.projection import event_row
from timeline.store import EventRow

Put = Callable[[Path, bytes, Json], object]
"""Writes a changed sidecar: where it lies, its new bytes, its new header."""


class _EventLines:
    """The event lines of a session's sidecars as records, and what may be done to one."""

    follow = True

    def __init__(self, stage: Stage) -> None:
        """Look at one timeline."""
        self.stage = stage

    def load(self, session: HostSession) -> list[Item]:
        """One record for each event line."""
        return load_lines(self.stage, session)

    def changed(self, item: Item) -> Item:
        """A thousand tests more passed."""
        return more_passed(item)

    def relabelled(self, item: Item) -> Item:
        """An hour earlier."""
        return hour_earlier(item)

    def forged(self, items: Sequence[Item]) -> Item:
        """One more run, of lines behind those of the last."""
        return run_behind(items)


class Sidecars(_EventLines):
    """Event lines in a session's sidecar files; the files keep their names, so that the leaves still find them."""

    name = "sidecar files"

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Write each file with its lines."""
        save_lines(self.stage, session, items, lambda path, content, _: path.write_bytes(content))


class EveryStore(_EventLines):
    """The same lines, and the change is carried on into file name, leaf and index rows: only signatures are old."""

    name = "all together"

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Write the files, then the rows that the changed files would have."""
        save_lines(self.stage, session, items, self._put)
        rows: dict[tuple[int, int], EventRow] = {}
        for path, envelope in sidecar_files(self.stage, session):
            first, *lines = envelope.payload[:-1].split(b"\n")
            offset, beginning = len(first) + 1, len(path.read_bytes()) - len(envelope.payload)
            for line in lines:
                row = event_row(
                    msgspec.json.decode(line, type=Event),
                    EventRange(offset, len(line)),
                    source=session.source,
                    segment=json.loads(first)["segment"],
                    payload_offset=beginning,
                )
                rows[row.pos, row.id64] = row
                offset += len(line) + 1
        write_rows(self.stage, session, list(rows.values()))

    def _put(self, path: Path, content: bytes, header: Json) -> None:
        """Write the file under its new name, and let its leaf name that."""
        digest = Digest.of(content)
        new = path.with_name(f"sha256-{digest.hex()}")
        path.write_bytes(content)
        path.rename(new)
        old = str(Digest(bytes.fromhex(path.name.removeprefix("sha256-"))))
        changes = {"digest": str(digest), "count": header["count"], "root": header["root"]}
        with closing(sqlite3.connect(self.stage.world.locations.database)) as connection, connection:
            for index, envelope in connection.execute("SELECT idx, envelope FROM leaf").fetchall():
                parsed = parse_envelope(envelope)
                payload = json.loads(parsed.payload)
                if payload["body"].get("digest") == old:
                    payload["body"] |= changes
                    changed = parsed._replace(payload=to_canonical(payload))
                    row = (format_envelope(changed), index)
                    connection.execute("UPDATE leaf SET envelope = ? WHERE idx = ?", row)


class TranscriptLines:
    """The lines of the host's own file that hold the results; its modification time is put back after each edit."""

    name = "transcript"
    follow = False

    def __init__(self, stage: Stage) -> None:
        """Look at one timeline."""
        self.stage = stage

    def load(self, session: HostSession) -> list[Item]:
        """One record for each line with a test runner's output; its place is that behind its call."""
        return [_line_item(call, session, line) for call, line in _behind_calls(session) if _is_result(line)]

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Rewrite the file in place: results where they stood, one that is added at the end."""
        left = {item.slot: _line(item) for item in items if item.slot}
        kept = [left.get(call) if _is_result(line) else line for call, line in _behind_calls(session)]
        kept += [_line(item) for item in items if not item.slot]
        content = b"".join(line + b"\n" for line in kept if line is not None)
        if content == session.path.read_bytes():
            return
        before = session.path.stat()
        with session.path.open("r+b") as file:
            file.write(content)
            file.truncate()
        os.utime(session.path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def changed(self, item: Item) -> Item:
        """Other numbers in the runner's summary line."""
        payload = json.loads(item.content)["payload"]
        payload["output"] = payload["output"].replace(" passed", "7 passed")
        return item.with_content(payload=payload)

    def relabelled(self, item: Item) -> Item:
        """Another time."""
        return item.with_label(timestamp="2026-01-01T00:00:00.000Z")

    def forged(self, items: Sequence[Item]) -> Item:
        """One more result, of a call that was never made."""
        forged = self.changed(replace(items[-1], slot=""))
        payload = json.loads(forged.content)["payload"] | {"call_id": "call_" + "5a" * 10}
        return forged.with_content(payload=payload)


class FollowedTranscriptLines(TranscriptLines):
    """The same file where the owner lets it grow."""

    name = "followed transcript"
    follow = True


# -- sidecar files -------------------------------------------------------------------------------------------------


def load_lines(stage: Stage, session: HostSession) -> list[Item]:
    """One record for each event line of a session's sidecars."""
    items = []
    for _, envelope in sidecar_files(stage, session):
        header, *lines = envelope.payload[:-1].split(b"\n")
        segment = json.loads(header)["segment"]
        for number, line in enumerate(lines):
            event = json.loads(line)
            label = {"at": event.pop("at")}
            items.append(Item(f"{segment}.{number}", session.ref, to_text(event), to_text(label)))
    return items


def save_lines(stage: Stage, session: HostSession, items: Sequence[Item], put: Put) -> None:
    """Give each file its lines, and ``put`` what has changed; a place that is no file's belongs to the last."""
    files = sidecar_files(stage, session)
    last = json.loads(files[-1][1].payload.split(b"\n")[0])["segment"]
    lines: dict[int, list[bytes]] = {}
    for item in items:
        segment = int(item.slot.partition(".")[0]) if item.slot else last
        event = json.loads(item.content) | json.loads(item.label)
        lines.setdefault(segment, []).append(to_canonical(event))
    for path, envelope in files:
        header = json.loads(envelope.payload.split(b"\n")[0])
        content = _with_lines(envelope, header, lines.get(header["segment"], []))
        if content != path.read_bytes():
            put(path, content, header)


def sidecar_files(stage: Stage, session: HostSession) -> list[tuple[Path, Envelope]]:
    """A session's sidecar files in segment order."""
    found = []
    for path in stage.world.locations.sidecars.iterdir():
        envelope = parse_envelope(path.read_bytes())
        header = json.loads(envelope.payload.split(b"\n")[0])
        if header["source"] == session.ref:
            found.append((header["segment"], path, envelope))
    return [(path, envelope) for _, path, envelope in sorted(found, key=lambda file: file[0])]


def run_behind(items: Sequence[Item]) -> Item:
    """One more run that cites lines behind those of the last."""
    lines = json.loads(items[-1].content)["lines"]
    behind = [[role, offset + 5000, *rest] for role, offset, *rest in lines]
    forged = more_passed(replace(items[-1], slot=""))
    return forged.with_content(id="timeline-event:" + "5a" * 16, lines=behind)


def _with_lines(envelope: Envelope, header: Json, lines: Sequence[bytes]) -> bytes:
    """The sidecar with these lines, its signature left; ``header`` is brought up to date."""
    header |= {"count": len(lines), "root": str(Digest(root_of([leaf_hash(line) for line in lines])))}
    payload = b"\n".join([to_canonical(header), *lines, b""])
    return format_envelope(envelope._replace(payload=payload))


# -- transcripts ---------------------------------------------------------------------------------------------------


def _behind_calls(session: HostSession) -> Iterator[tuple[str, bytes]]:
    """Every line of the transcript with the id of the call that stands before it."""
    call = ""
    for line in session.path.read_bytes()[:-1].split(b"\n"):
        if b'"function_call"' in line:
            call = json.loads(line)["payload"]["call_id"]
        yield call, line


def _is_result(line: bytes) -> bool:
    return b'"function_call_output"' in line


def _line_item(slot: str, session: HostSession, line: bytes) -> Item:
    record = json.loads(line)
    label = {"timestamp": record.pop("timestamp")}
    return Item(slot, session.rollout.thread_id, to_text(record), to_text(label))


def _line(item: Item) -> bytes:
    record: Json = json.loads(item.label) | json.loads(item.content)
    return to_text(record).encode()
