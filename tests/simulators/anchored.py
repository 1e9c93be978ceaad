"""A timeline that a real witness watches, kept at several moments: state, trust, configuration, and the witness too.

The witness serves on a Unix socket in this process. Its place is in the signed policy, so a copy of the timeline asks
at the same socket; each test serves there whichever copy of the witness it means.
"""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sidecars.cosignature import WitnessVerifier
from sidecars.leaf import open_leaf
from tests.simulators.witnesses import HandClock, Served, serving
from tests.simulators.worlds import (
    SEGMENT_BYTES,
    World,
    answers_of,
    consent,
    copy_folders,
    new_world,
    refusal_of,
    rollout_of,
    write_transcript,
)
from timeline import anchoring, service
from timeline.anchoring import Bounds
from timeline.anchors.memory import memory_path
from timeline.anchors.port import Answer as Said
from timeline.anchors.port import MonotonicAnchor, Question
from timeline.assurance import AnchorStatus, find_standing
from timeline.clock import SystemEntropy
from timeline.keystore import read_pins
from timeline.paths import Locations
from timeline.prove import prove_event
from timeline.state import open_local
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.service import know_log

ALL = ("state", "trust", "config")
"""Everything that lies on the machine of the timeline."""

MOMENTS = ("unanchored", "anchored", "enrolled", "first", "second")
"""After ``init``; after ``anchor add``; after the consent; after each of two indexed segments."""


@dataclass
class Anchored:
    """The world, the witness's folder, and both clocks, which move together."""

    world: World
    witness: Folder
    socket: str
    kept: Path
    clock: HandClock = field(default_factory=HandClock)

    @contextmanager
    def served(self) -> Iterator[Served]:
        """Let the witness answer while the block runs."""
        self.clock.at_ms = self.world.clock.at_ms
        with serving(self.witness, clock=self.clock, at=self.socket) as found:
            yield found

    def wait(self, seconds: int) -> None:
        """Let time pass for both."""
        self.world.clock.at_ms += seconds * 1000
        self.clock.at_ms = self.world.clock.at_ms

    def put_back(self, moment: str, *pieces: str) -> None:
        """Put these folders (``state``, ``trust``, ``config``, ``witness``) or files back as they were then."""
        for piece in pieces:
            target = self.witness.path if piece == "witness" else self.world.folder / piece
            source = self.kept / moment / piece
            if source.is_dir():
                shutil.rmtree(target, ignore_errors=True)
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)

    def keep(self, moment: str) -> None:
        """Copy everything as it is now."""
        copy_folders(self.world.folder, self.kept / moment)
        shutil.copytree(self.witness.path, self.kept / moment / "witness")

    def copy(self, folder: Path) -> "Anchored":
        """The same once more, in a folder of its own; what was kept is shared."""
        world = self.world.copy(folder / "world")
        world.clock.at_ms = self.world.clock.at_ms
        shutil.copytree(self.witness.path, folder / "witness")
        return Anchored(world, Folder(folder / "witness"), self.socket, self.kept)

    def key(self) -> WitnessVerifier:
        """The witness's public key."""
        opened = open_witness(self.witness)
        opened.store.close()
        return opened.signer.verifier

    def index(self, operations: int | None = None) -> None:
        """Index the next part of the transcript."""
        for result in service.index(
            self.world.session, self.world.root, max_bytes=SEGMENT_BYTES, operations=operations
        ):
            if isinstance(result, tuple):
                raise result[1]


def make_witness(world: World, path: Path, name: str = "witness.example/w") -> Folder:
    """A witness that knows the log of ``world``."""
    folder = Folder(path)
    init_witness(folder, name, SystemEntropy())
    opened = open_witness(folder)
    know_log(opened.store, log_key_of(world), None)
    opened.store.close()
    return folder


def log_key_of(world: World) -> str:
    """The vkey of a timeline's log key, as its pins state it."""
    return str(read_pins(world.locations).log)


def make_anchored(folder: Path, socket: str, bounds: Bounds | None = None) -> Anchored:
    """Lead a new world through ``MOMENTS``, each of which is kept."""
    world = new_world(folder / "world")
    found = Anchored(world, make_witness(world, folder / "witness"), socket, folder / "kept")
    found.keep("unanchored")
    with found.served():
        anchoring.add_anchor(
            world.session, "witness", f"unix:{socket}", key=str(found.key()), bounds=bounds or Bounds()
        )
        found.keep("anchored")
        rollout = rollout_of(world, runs=4, filler_bytes=40_000)
        consent(world, rollout, write_transcript(world, rollout))
        found.keep("enrolled")
        for name in ("first", "second"):
            found.index(operations=1)
            found.keep(name)
    return found


# -- what is asked of it ---------------------------------------------------------------------------------------


def refused(reason: str) -> bytes:
    """Give what a search answers that is refused so."""
    return f"refused: {reason}".encode()


def everything_of(world: World) -> set[str | None]:
    """Ask, index, list, prove and consent: the reasons why each is refused."""
    session, root = world.session, world.root
    actions: list[Callable[[], object]] = [
        lambda: service.index(session, root),
        lambda: service.list_sources(session, root),
        lambda: prove_event(session, root, "timeline-event:" + "0" * 32),
        lambda: service.revoke(session, "timeline-enrollment:" + "0" * 32),
    ]
    asked = {answer.decode().partition("refused: ")[2] or None for answer in answers_of(world).values()}
    return {*asked, *(refusal_of(action) for action in actions)}


def bodies_of(world: World) -> list[object]:
    """Give the owner's anchor leaves of a log, in order."""
    found: list[object] = []
    with open_local(world.locations, world.session.ports) as state:
        owner = state.keystore.pins.owner
        for _, _, envelope in state.store.leaves():
            if b"leaf.anchor-" in envelope:
                found.append(open_leaf(envelope, owner, None).body)
    return found


def enrollment_of(anchored: Anchored) -> str:
    """Give the id of the one consent."""
    (source,) = service.list_sources(anchored.world.session, anchored.world.root)
    return source.source.enrollment.enrollment_id


def standing_of(world: World) -> AnchorStatus:
    """Ask the anchors of a world now."""
    with open_local(world.locations, world.session.ports) as state:
        return find_standing(state, ask=True)


class Scripted:
    """An anchor that says what it is told to say."""

    def __init__(self, answers: list[Said]) -> None:
        self.answers = answers

    def advance(self, question: Question) -> Said:
        """Say the next thing."""
        del question
        return self.answers.pop(0)

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True)
class Overheard:
    """An anchor whose answers set an event once they are there."""

    anchor: MonotonicAnchor
    heard: threading.Event

    def advance(self, question: Question) -> Said:
        """Ask, then tell."""
        answer = self.anchor.advance(question)
        self.heard.set()
        return answer

    def close(self) -> None:
        """Give back what is held."""
        self.anchor.close()


def memory_note(anchored: Anchored) -> bytes:
    """Give the cosigned note that is remembered."""
    return memory_path(anchored.world.locations, "witness-1").read_bytes().partition(b"\n\n")[2]


def lose(anchored: Anchored, lost: str) -> Path:
    """Remove the local anchor or the pin; give where it lay."""
    locations: Locations = anchored.world.locations
    path = locations.anchor if lost == "anchor" else locations.anchor_pin
    path.unlink()
    return path
