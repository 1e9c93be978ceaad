"""Timeline as the suite ``agent-memory-integrity`` sees a store: one adapter for each surface and each attacker.

The suite's rules: seed and verify by the tool's own interface, edit past it, and let ``verify`` say what the tool
says. Ours is the read path: an edit is refused only where not one question is answered (``tests.agmi.stage``). What
attacks what is the suite's business; nothing of it is repeated here.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path

from agmi.adapters.base import MemoryAdapter, Record  # type: ignore[import-not-found]  # installed by `make agmi`

from tests.agmi.database import IndexRows, LogLeaves
from tests.agmi.files import EveryStore, FollowedTranscriptLines, Sidecars, TranscriptLines
from tests.agmi.records import Item, Surface
from tests.agmi.stage import FIRST, SECOND, STATE, Copy, Stage, stage_folder
from tests.agmi.watcher import Watcher


class TimelineAdapter(MemoryAdapter):  # type: ignore[misc]  # a class of a package that the type checker cannot see
    """The hooks that attacks use; ``surface`` is what they edit, ``restores`` what T9 puts back."""

    surface: type[Surface]
    restores: Sequence[str] = STATE
    put_back = "the state folder"
    watcher: type[Watcher] | None = None
    supports_replay = True
    supports_metadata = True
    supports_snapshot = True
    detection_point = "read"

    def __init__(self) -> None:
        """Nothing is made before ``setup``."""
        self.name = f"timeline, {self.surface.name}; T9 puts back {self.put_back}"
        self.verify_detail: str | None = None

    # -- life ----------------------------------------------------------------------------------------------

    def setup(self) -> None:
        """A new timeline."""
        self._kept = ExitStack()
        folder = self._kept.enter_context(stage_folder())
        self.stage = Stage(Path(folder).resolve() / "timeline", self.surface.follow)
        self._edited = self.surface(self.stage)
        if self.watcher is not None:
            self._kept.enter_context(closing(self.watcher())).know(self.stage)

    def teardown(self) -> None:
        """Remove it."""
        self._kept.close()

    def seed(self, n: int) -> None:
        """Index a session of ``n`` test runs.

        Then write its records back as they are: the suite's look at the clean store shows that this is not refused.
        """
        self.stage.seed(FIRST, n)
        self._save(self._items())

    def reload(self) -> None:
        """Nothing stays open between two questions: each opens and verifies the timeline anew."""

    def verify(self) -> bool:
        """Ask; false where nothing is answered."""
        reading = self.stage.read(FIRST)
        self.verify_detail = reading.text()
        return not reading.is_rejected

    # -- edits ---------------------------------------------------------------------------------------------

    def read_all_raw(self) -> list[Record]:
        """The records of the first session."""
        return [Record(number, asdict(item)) for number, item in enumerate(self._items())]

    def write_raw(self, record: Record) -> None:
        """Let a record say what this one says; behind the last one, add it."""
        items, item = self._items(), Item(**record.fields)
        if record.seq < len(items):
            items[record.seq] = items[record.seq].saying(item)
        else:
            items.append(item)
        self._save(items)

    def delete_raw(self, seq: int) -> None:
        """Take a record away."""
        items = self._items()
        del items[seq]
        self._save(items)

    def mutate_payload(self, record: Record) -> Record:
        """Another content, as plausible."""
        return Record(record.seq, asdict(self._edited.changed(Item(**record.fields))))

    def forge_record(self, template: Record) -> Record:
        """A record to stand behind the last one."""
        return Record(template.seq + 1, asdict(self._edited.forged(self._items())))

    def seed_other(self, n: int) -> None:
        """A second session, in another project."""
        self.stage.seed(SECOND, n)

    def read_other_raw(self) -> list[Record]:
        """The records of the second session."""
        found = self._edited.load(self.stage.sessions[SECOND])
        return [Record(number, asdict(item)) for number, item in enumerate(found)]

    def replay_onto(self, victim_seq: int, donor: Record) -> None:
        """Let a record say what a genuine one says elsewhere."""
        items = self._items()
        items[victim_seq] = items[victim_seq].saying(Item(**donor.fields))
        self._save(items)

    def read_meta(self, seq: int) -> dict[str, object]:
        """The labels of a record."""
        return {"label": self._items()[seq].label}

    def write_meta(self, seq: int, meta: dict[str, object]) -> None:
        """Give a record other labels; the content stays."""
        if meta.get("agmi_meta_tampered"):
            items = self._items()
            items[seq] = self._edited.relabelled(items[seq])
            self._save(items)

    def _items(self) -> list[Item]:
        return self._edited.load(self.stage.sessions[FIRST])

    def _save(self, items: Sequence[Item]) -> None:
        self._edited.save(self.stage.sessions[FIRST], items)

    # -- what a record is ----------------------------------------------------------------------------------

    def identity_of(self, record: Record) -> str:
        """Its place, in its session."""
        return f"{record.fields['owner']} {record.fields['slot']}"

    def payload_of(self, record: Record) -> str:
        """What it says."""
        return str(record.fields["content"])

    def owner_of(self, record: Record) -> str:
        """The session whose place it is."""
        return str(record.fields["owner"])

    # -- T9 ------------------------------------------------------------------------------------------------

    def snapshot_store(self) -> Copy:
        """Copy everything that the timeline keeps."""
        return self.stage.copy()

    def restore_store(self, token: Copy) -> None:
        """Put back what this attacker can write."""
        self.stage.restore(token, self.restores)

    def append_genuine(self) -> None:
        """One more test run, indexed."""
        self.stage.append(FIRST)


class LogLeavesAdapter(TimelineAdapter):
    """Leaves in the database."""

    surface = LogLeaves


class IndexRowsAdapter(TimelineAdapter):
    """Rows of the search index."""

    surface = IndexRows


class SidecarsAdapter(TimelineAdapter):
    """Event lines in sidecar files."""

    surface = Sidecars


class EveryStoreAdapter(TimelineAdapter):
    """One consistent change of sidecar, leaf and index."""

    surface = EveryStore


class TranscriptAdapter(TimelineAdapter):
    """The host's file; T9 puts an older copy of it back."""

    surface = TranscriptLines
    restores = ("transcript",)
    put_back = "the host's file"


class FollowedTranscriptAdapter(TranscriptAdapter):
    """The file of a session that may grow."""

    surface = FollowedTranscriptLines


class CompleteAdapter(LogLeavesAdapter):
    """T9 by somebody who also writes trust and configuration: all of it is put back."""

    restores = (*STATE, "trust", "config")
    put_back = "state, trust and configuration"


class WatchedAdapter(CompleteAdapter):
    """The same, where a witness that he cannot write is required."""

    watcher = Watcher
    put_back = "state, trust and configuration, a witness is required"
