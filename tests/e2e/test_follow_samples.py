"""Real sessions that grew, replayed as growth: at each step the events are those of a snapshot of that step.

The chains are snapshots of one session each, every one a byte prefix of the next. A host joins with its adapter.
"""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.registry import ADAPTERS
from sidecars.event import Event
from tests.simulators.worlds import World, empty_world, verdict_of
from timeline import service
from timeline.hosts import HOSTS
from timeline.index import IndexResult
from timeline.state import open_state

SAMPLES = Path(__file__).resolve().parents[2].parent / "shared/samples"


@dataclass(frozen=True)
class Chain:
    """One session as it grew: its host, where it lies below the host's home, and its files in order."""

    host: str
    path: str
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """The first file's name up to its number."""
        return self.files[0].name.partition("_")[0]


def _chains() -> list[Chain]:
    """Every chain of the samples."""
    found: dict[tuple[str, str], tuple[str, list[Path]]] = {}
    manifest = SAMPLES / "MANIFEST.tsv"
    rows = manifest.read_text(encoding="utf-8").split("\n")[1:-1] if manifest.is_file() else []
    for row in rows:
        file, host, _, _, _, _, path, _ = row.split("\t")
        name = Path(file).name
        if name.startswith("chain"):
            found.setdefault((host, name.partition("_")[0]), (path, []))[1].append(SAMPLES / file)
    return [Chain(host, path, tuple(files)) for (host, _), (path, files) in sorted(found.items())]


CHAINS = [chain for chain in _chains() if chain.host in HOSTS and chain.host in ADAPTERS]


@pytest.mark.usefixtures("shared")
def test_the_samples_hold_chains() -> None:
    """Of Codex at least: else nothing below is shown."""
    assert {chain.host for chain in CHAINS} >= {"codex"}
    for chain in CHAINS:
        contents = [file.read_bytes() for file in chain.files]
        assert all(later.startswith(earlier) for earlier, later in pairwise(contents))


@pytest.mark.requirement("T13", "T14", "X4")
@pytest.mark.parametrize("chain", CHAINS, ids=lambda chain: f"{chain.host}-{chain.name}")
def test_a_real_session_is_followed_step_by_step(chain: Chain, tmp_path: Path) -> None:
    """Nothing is lost, nothing is told twice, and each step has what a snapshot of it has."""
    followed = _Enrolled(chain, tmp_path / "followed", chain.files[0].read_bytes(), follow=True)
    seen: set[str] = set()
    for number, file in enumerate(chain.files):
        content = file.read_bytes()
        with followed.path.open("ab") as transcript:
            transcript.write(content[followed.path.stat().st_size :])
        result = followed.index()
        assert (result.complete, result.indexed) == (True, len(content))
        assert result.source.is_prefix_proven
        events = followed.events()
        assert seen <= events
        seen = followed.events(settled=True)
        snapshot = _Enrolled(chain, tmp_path / f"snapshot-{number}", content, follow=False)
        assert snapshot.index().complete
        assert events == snapshot.events()
    assert verdict_of(followed.world, deep=True) == ("ok", frozenset())


class _Enrolled:
    """A sample in a timeline of its own, enrolled through its host's prompt event."""

    def __init__(self, chain: Chain, folder: Path, content: bytes, *, follow: bool) -> None:
        self.world: World = empty_world(folder)
        host = HOSTS[chain.host]
        self.path = self.world.home / host.home_default / chain.path
        self.path.parent.mkdir(parents=True)
        self.path.write_bytes(content)
        named = ADAPTERS[chain.host].read_header(content).session_id
        session_id = named if host.header_names_session else self.path.parts[-4].removeprefix("session_")
        event = {
            "hook_event_name": "UserPromptSubmit",
            host.session_field: session_id,
            host.cwd_field: self.world.root,
        }
        environment = {"HOME": str(self.world.home)}
        if host.transcript_field is not None:
            event[host.transcript_field] = str(self.path)
        elif host.path_variable is not None:
            environment[host.path_variable] = str(self.path)
        given = self.world.session
        self.session = service.Session(given.locations, given.ports, environment)
        service.init_state(self.session, owner_presence="any", simulated_host=True)
        receipt = service.receive_prompt(self.session, chain.host, json.dumps(event).encode())
        service.enroll(self.session, self.world.root, receipt.id, confirmed=True, follow=follow)

    def index(self) -> IndexResult:
        """Index it; a refusal is raised."""
        (found,) = service.index(self.session, self.world.root)
        if isinstance(found, tuple):
            raise found[1]
        return found

    def events(self, *, settled: bool = False) -> set[str]:
        """What its sidecars state, without what differs between two timelines; each event once."""
        with open_state(self.session.locations, self.session.ports) as state:
            (source,) = state.view.active
            opened = [state.open_sidecar(entry)[1] for entry in source.kept]
            listed = [
                _told(event)
                for sidecar in opened
                if not settled or sidecar.header.start < sidecar.header.end
                for event in sidecar.events
            ]
        assert len(listed) == len(set(listed))
        return set(listed)


def _told(event: Event) -> str:
    return repr(
        [getattr(event, name) for name in event.__struct_fields__ if name not in {"id", "fingerprint"}]
    )
