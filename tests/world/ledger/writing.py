"""Eight of the writers that write at one time: ``python -m tests.world.ledger.writing FOLDER HOME PROCESS``.

Says ``ready``, waits for a line, and then each thread records what is its own and what every thread records; one of
them takes a step of a count that each process has to find as the last has left it.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.simulators.worlds import World
from tests.world.ledger.ledgers import entry
from timeline.errors import StateBusyError
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.errors import CompareAndSetError

THREADS = 8
COUNT = "suite:count"
TENANT, PROJECT = "local", "/srv/project"


def write(world: World, process: str, thread: int) -> None:
    """What one writer records."""
    while not _record(world, f"{process}-{thread}"):
        pass
    while thread == 0 and not _count(world, process):
        pass


def _record(world: World, name: str) -> bool:
    own, all_the_same = entry(name, subject=f"suite:{name}"), entry("shared", subject="suite:shared")
    try:
        with world.session.writing() as state:
            found = ledger.record(state, [own, all_the_same])
            assert found[0].status == "recorded"
    except StateBusyError:
        return False
    return True


def _count(world: World, name: str) -> bool:
    """Replace the one active count by the next: read without the lock, decided again under it."""
    try:
        with world.session.reading() as state:
            current = ledger.read_current(state, COUNT, tenant=TENANT, project=PROJECT)
        (last,) = current or (None,)
        with world.session.writing() as state:
            ledger.record(state, [_next(last, name)], expect_active=_expected(last, name))
    except (CompareAndSetError, StateBusyError):
        return False
    return True


def _next(last: Assertion | None, name: str) -> object:
    value = 1 if last is None else int(str(last.value)) + 1
    replaced = () if last is None else (last.id.removeprefix("assertion:"),)
    return entry(f"count-{name}", subject=COUNT, value=value, supersedes=replaced)


def _expected(last: Assertion | None, name: str) -> dict[str, frozenset[str]]:
    return {f"assertion:count-{name}": frozenset() if last is None else frozenset((last.id,))}


def main(folder: str, home: str, process: str) -> None:
    """Write with all threads."""
    world = World(Path(folder), Path(home))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with ThreadPoolExecutor(THREADS) as threads:
        done = [threads.submit(write, world, process, thread) for thread in range(THREADS)]
    for one in done:
        one.result()


if __name__ == "__main__":
    main(*sys.argv[1:])
