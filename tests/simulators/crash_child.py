"""A child process that indexes and is killed, by itself at a step of a commit or by its parent; or that is measured.

The child is a fork of the process that runs the tests, so that it starts at once; it never returns to the test.
"""

import os
import resource
import select
import signal
import warnings
from collections.abc import Callable

from tests.simulators.worlds import SEGMENT_BYTES, World, with_probe
from timeline import service
from timeline.rewriting import Erasing, Watch
from timeline.tlog import Probe, Step

_FAILED = 70


def index_and_die_at(world: World, step: Step, occurrence: int) -> bool:
    """Index in a child that kills itself at the ``occurrence``-th time of ``step``; whether it got that far."""
    session = with_probe(world.session, _dying_at(step, occurrence))
    return _was_killed(_start(lambda: _index(session, world)))


def init_and_die_at(world: World, step: Step) -> bool:
    """Make a timeline in a child that kills itself at ``step``; whether it got that far."""
    session = with_probe(world.session, _dying_at(step, 1))
    return _was_killed(_start(lambda: service.init_state(session, owner_presence="any")))


def act_and_die_at(world: World, step: Step, act: Callable[[service.Session], object]) -> bool:
    """Do something that commits in a child that kills itself at ``step``; whether it got that far."""
    session = with_probe(world.session, _dying_at(step, 1))
    return _was_killed(_start(lambda: act(session)))


def killed_while(
    watched: Callable[[World, Watch], service.Session],
    world: World,
    step: Erasing,
    act: Callable[[service.Session], object],
) -> bool:
    """Erase something in a child that kills itself at ``step``; whether it got that far.

    ``watched`` gives the session of a world with an eye on the steps of an erasure.
    """

    def watch(now: Erasing) -> None:
        if now is step:
            os.kill(os.getpid(), signal.SIGKILL)

    session = watched(world, watch)
    return _was_killed(_start(lambda: act(session)))


def index_and_kill_after(world: World, seconds: float) -> bool:
    """Index in a child and kill it after ``seconds``; whether it was still at work then."""
    reading, writing = os.pipe()
    child = _start(lambda: _index(world.session, world))
    os.close(writing)  # the child holds the other end: it closes when the child ends
    select.select([reading], [], [], seconds)
    os.kill(child, signal.SIGKILL)
    os.close(reading)
    return _was_killed(child)


def peak_growth_of(action: Callable[[], object]) -> int:
    """Do something in a child; by how many bytes its resident memory grew at most.

    A child's peak begins at what it inherited, so what the tests did before does not hide the growth.
    """
    reading, writing = os.pipe()

    def measure() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        action()
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(writing, str((after - before) * 1024).encode())

    child = _start(measure)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    if _was_killed(child):
        raise RuntimeError(child)
    return int(told)


def _dying_at(step: Step, occurrence: int) -> Probe:
    left = occurrence

    def probe(now: Step) -> None:
        nonlocal left
        left -= now is step
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return probe


def _index(session: service.Session, world: World) -> None:
    for result in service.index(session, world.root, max_bytes=SEGMENT_BYTES):
        if isinstance(result, tuple):
            raise result[1]


def _start(action: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns where other threads are alive; ours hold no lock that the child needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    code = _FAILED
    try:
        action()
        code = 0
    finally:
        os._exit(code)


def _was_killed(child: int) -> bool:
    """Wait for the child; an end that is neither its own nor the kill fails."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(status)
    return False
