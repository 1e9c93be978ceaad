"""What a surface is: the records of one session as they lie on disk, and any list of them written back.

Whoever edits a surface has write access and no key. Whatever can be recomputed without a key is recomputed: lengths,
counts, Merkle roots, file names, digests in leaves, and every row of the search index. Signatures, head and anchor
stay as they are.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from tests.agmi.stage import HostSession, Stage

Json = dict[str, Any]

_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Item:
    """One stored record: its place, whose place that is, what it says, and its labels (JSON texts)."""

    slot: str
    owner: str
    content: str
    label: str

    def saying(self, other: "Item") -> "Item":
        """This place with what the other record says."""
        return replace(self, content=other.content, label=other.label)

    def with_content(self, **changes: object) -> "Item":
        """The same record saying something else."""
        return replace(self, content=to_text(json.loads(self.content) | changes))

    def with_label(self, **changes: object) -> "Item":
        """The same record with other labels."""
        return replace(self, label=to_text(json.loads(self.label) | changes))


class Surface(Protocol):
    """One kind of stored record. ``follow`` says how the sessions are enrolled that it is tried on."""

    name: str
    follow: bool
    stage: Stage

    def __init__(self, stage: Stage) -> None:
        """Look at one timeline."""

    def load(self, session: HostSession) -> list[Item]:
        """The records of a session in order, believed or not."""

    def save(self, session: HostSession, items: Sequence[Item]) -> None:
        """Make these the records of a session."""

    def changed(self, item: Item) -> Item:
        """The record with another content that is as plausible."""

    def relabelled(self, item: Item) -> Item:
        """The record with another time."""

    def forged(self, items: Sequence[Item]) -> Item:
        """A record that could stand behind these; its place may be left open."""


def more_passed(item: Item) -> Item:
    """A record of a test run, with a thousand more that passed."""
    content = json.loads(item.content)
    return item.with_content(passed=content["passed"] + 1000, total=content["total"] + 1000)


def hour_earlier(item: Item) -> Item:
    """A record that bears its time, an hour earlier."""
    return item.with_label(at=json.loads(item.label)["at"] - _HOUR_MS)


def to_text(value: object) -> str:
    """JSON without spaces, keys as they come: as a host spells it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def to_canonical(value: object) -> bytes:
    """JSON as sidecars and leaves spell it: keys in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
