"""A timeline of which something is erased: two sessions, assertions that replace each other, and what is looked for."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sidecars.leaf import Leaf
from tests.erasure.erased_logs import KEY, PLAN
from tests.simulators.worlds import World, new_world, session_at
from tests.timeline.cases import Case, enroll_session
from tests.world.ledger.ledgers import entry, record
from timeline import service
from timeline.erasing import close_over, erase
from timeline.ports import Ports
from timeline.rewriting import Erasing, Watch
from timeline.state import State

CANARIES = {name: f"canary-{name}-7d1f0c55e2b94a63" for name in ("old", "new", "kept")}
"""Values of assertions, by the name of the assertion."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The timeline with its two cases: ``gone`` is what the tests erase, ``kept`` what stays."""

    world: World
    gone: Case
    kept: Case

    def copy(self, folder: Path) -> "Stage":
        """The same once more, to be changed."""
        world = self.world.copy(folder)
        one, other = (Case(world, case.rollout, case.path, case.ref) for case in (self.gone, self.kept))
        return Stage(world, one, other)

    @contextmanager
    def writing(self, watch: Watch | None = None) -> Iterator[State]:
        """Open for writing, with an eye on the steps of an erasure."""
        session = self.world.session if watch is None else watched(self.world, watch)
        with session.writing() as state:
            yield state

    def leaves_of(self, case: Case) -> frozenset[int]:
        """All leaves that have to go with a session."""
        with case.state() as state:
            (index,) = [s.index for s in state.view.sources if s.enrollment.source.ref == case.ref]
            return close_over(state, [index])

    def gone_events(self) -> frozenset[str]:
        """The events of the session that the tests erase."""
        with self.gone.state() as state:
            (source,) = [s for s in state.view.sources if s.enrollment.source.ref == self.gone.ref]
            sidecars = [state.open_sidecar(found)[1] for found in source.kept]
            return frozenset(event.id for sidecar in sidecars for event in sidecar.events)

    def leaves_of_assertion(self, name: str) -> frozenset[int]:
        """All leaves that have to go with an assertion."""
        with self.gone.state() as state:
            rows = state.store.query("SELECT leaf FROM assertion WHERE id = ?", (f"assertion:{name}",))
            return close_over(state, [int(str(row[0])) for row in rows])

    def erase(
        self, leaves: Collection[int], *, plan: str = PLAN, watch: Watch | None = None
    ) -> tuple[Leaf, ...]:
        """Erase leaves."""
        with self.writing(watch) as state:
            return erase(state, plan=plan, leaves=leaves, suppressed=(), key=KEY)

    def holders(self, *needles: str | bytes) -> list[str]:
        """Every file of the timeline that holds one of these, the host's own home apart."""
        wanted = [needle.encode() if isinstance(needle, str) else needle for needle in needles]
        return sorted(
            path.relative_to(self.world.folder).as_posix()
            for path in self.world.folder.rglob("*")
            if path.is_file()
            and not path.is_relative_to(self.world.home)
            and any(needle in path.read_bytes() for needle in wanted)
        )


def watched(world: World, watch: Watch) -> service.Session:
    """The session of a world with an eye on the steps of an erasure."""
    session = session_at(world.folder, world.home, clock=world.clock)
    ports = session.ports
    return service.Session(
        session.locations, Ports(ports.clock, ports.entropy, erasing=watch), session.environment
    )


def stopping_at(wanted: Erasing) -> Watch:
    """An eye that interrupts an erasure at one step."""

    def watch(step: Erasing) -> None:
        if step is wanted:
            raise InterruptedError

    return watch


def make_stage(folder: Path) -> Stage:
    """Two sessions that are enrolled and indexed, and three assertions, of which one replaces another."""
    world = new_world(folder)
    gone = enroll_session(world, runs=3, filler_bytes=40_000, seed=1)
    kept = enroll_session(world, runs=2, seed=2)
    for case in (gone, kept):
        case.index()
    record(
        world, entry("old", value=CANARIES["old"]), entry("kept", value=CANARIES["kept"], subject="suite:b")
    )
    record(
        world, entry("new", value=CANARIES["new"], supersedes=["old"], observed_at=entry("x").observed_at + 1)
    )
    return Stage(world, gone, kept)
