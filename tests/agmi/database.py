"""Surfaces in the database: the leaves of the log, and the rows of the search index."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Final

import msgspec

from sidecars.digest import Digest
from sidecars.envelope import Envelope, EnvelopeSignature, format_envelope, parse_envelope
from sidecars.keys import KeyRef
from tests.agmi.records import Item, hour_earlier, more_passed, to_canonical, to_text
from tests.agmi.stage import HostSession, Stage
from timeline.projection import read_source, source_rows, write_source
from timeline.store import EventRow, open_store

_SIDECAR_LEAF: Final = "application/vnd.timeline.leaf.sidecar.v1+json"


class LogLeaves:
    """The leaves that name a session's sidecars, in the database."""

    name = "log leaves"
    follow = True

    def __init__(self, stage: Stage) -> None:
        """Remember whose a place is by what stood there first: a replay does not change it."""
        self.stage = stage
        self._owners: dict[int, str] = {}

    def load(self, session: HostSession) -> list[Item]:
        """One record for each sidecar leaf that names an event."""
        items = []
        with self.rows() as connection:
            rows = connection.execute("SELECT idx, salt, envelope FROM leaf ORDER BY idx").fetchall()
        for index, salt, envelope in rows:
            parsed = parse_envelope(envelope)
            payload = json.loads(parsed.payload)
            if parsed.payload_type != _SIDECAR_LEAF or not payload["body"]["count"]:
                continue
            if self._owners.setdefault(index, payload["body"]["source"]) == session.ref:
                label = {"at": payload.pop("at")}
                content = {"salt": salt.hex(), "signatures": _signatures(parsed), "leaf": payload}
                items.append(Item(str(index), session.ref, to_text(content), to_text(label)))
        return items

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Replace the rows at a session's places; a record that is taken away takes along what came with it."""
        left = {int(item.slot) for item in items}
        with self.rows() as connection:
            for index in [index for index, owner in self._owners.items() if owner == session.ref]:
                # Before the sidecar stands the extension that it covers, behind it the proof of what stood before.
                gone = (index,) if index in left else (index - 1, index, index + 1)
                connection.executemany("DELETE FROM leaf WHERE idx = ?", [(place,) for place in gone])
            for item in items:
                content = json.loads(item.content)
                payload = content["leaf"] | json.loads(item.label)
                envelope = Envelope(
                    _SIDECAR_LEAF, _as_signatures(content["signatures"]), to_canonical(payload)
                )
                row = (int(item.slot), bytes.fromhex(content["salt"]), format_envelope(envelope))
                connection.execute("INSERT INTO leaf (idx, salt, envelope) VALUES (?, ?, ?)", row)

    def changed(self, item: Item) -> Item:
        """Another root over the sidecar's events."""
        leaf = json.loads(item.content)["leaf"]
        leaf["body"]["root"] = str(Digest.of(item.content.encode()))
        return item.with_content(leaf=leaf)

    def relabelled(self, item: Item) -> Item:
        """Committed an hour earlier."""
        return hour_earlier(item)

    def forged(self, items: Sequence[Item]) -> Item:
        """One more sidecar, at the end of the log and linked by index and batch."""
        with self.rows() as connection:
            ((place,),) = connection.execute("SELECT max(idx) + 1 FROM leaf")
        leaf = json.loads(items[-1].content)["leaf"]
        leaf |= {"index": place, "batch_start": place, "batch_size": 1}
        leaf["body"]["segment"] += 1
        return replace(items[-1], slot=str(place)).with_content(leaf=leaf, salt="5a" * 32)

    @contextmanager
    def rows(self) -> Iterator[sqlite3.Connection]:
        """The database, past the program."""
        with closing(sqlite3.connect(self.stage.world.locations.database)) as connection, connection:
            yield connection


class IndexRows:
    """The rows of the search index; all its tables are kept consistent with each other."""

    name = "index rows"
    follow = True

    def __init__(self, stage: Stage) -> None:
        """Look at one timeline."""
        self.stage = stage

    def load(self, session: HostSession) -> list[Item]:
        """One record for each event row."""
        with closing(open_store(self.stage.world.locations.database)) as store:
            rows = read_source(store, session.source).events
        return [_row_item(row, session) for row in rows]

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Replace every row of the source in every table."""
        rows = [
            EventRow(
                source=session.source,
                pos=int(item.slot),
                **json.loads(item.label),
                **json.loads(item.content),
            )
            for item in items
        ]
        write_rows(self.stage, session, rows)

    def changed(self, item: Item) -> Item:
        """A thousand tests more passed."""
        return more_passed(item)

    def relabelled(self, item: Item) -> Item:
        """An hour earlier."""
        return hour_earlier(item)

    def forged(self, items: Sequence[Item]) -> Item:
        """One more run, behind the last."""
        place = str(int(items[-1].slot) + 1)
        return self.changed(replace(items[-1], slot=place)).with_content(id64=1)


def write_rows(stage: Stage, session: HostSession, rows: Sequence[EventRow]) -> None:
    """Make these the index rows of a session, in every table of the index."""
    with closing(open_store(stage.world.locations.database)) as store, store.transaction():
        write_source(store, session.source, source_rows(rows))


def _signatures(envelope: Envelope) -> list[list[str]]:
    return [[s.key.name, s.key.key_id.hex(), s.signature.hex()] for s in envelope.signatures]


def _as_signatures(texts: Sequence[Sequence[str]]) -> tuple[EnvelopeSignature, ...]:
    return tuple(
        EnvelopeSignature(KeyRef(name, bytes.fromhex(key)), bytes.fromhex(signature))
        for name, key, signature in texts
    )


def _row_item(row: EventRow, session: HostSession) -> Item:
    values = msgspec.structs.asdict(row)
    place, _ = values.pop("pos"), values.pop("source")
    label = {"at": values.pop("at")}
    return Item(str(place), session.ref, to_text(values), to_text(label))
