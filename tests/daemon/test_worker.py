"""The one thread that touches the timeline."""

import threading

import pytest

from timeline.daemon import worker as module
from timeline.daemon.errors import DaemonBusyError, DaemonStoppingError
from timeline.daemon.worker import Worker

SECONDS = 30.0
"""A deadline of tests: it is never waited for unless something is wrong."""


@pytest.fixture
def failures() -> list[tuple[str, str]]:
    """Give the list of failed work."""
    return []


@pytest.fixture
def worker(failures):
    """Give a running worker."""
    found = Worker(lambda name, error: failures.append((name, str(error))))
    found.start()
    yield found
    found.stop()


def test_calls_run_on_one_thread_in_order(worker: Worker) -> None:
    """Whoever calls, one thread does it."""
    names = {worker.call(threading.current_thread, wait_seconds=SECONDS).ident for _ in range(20)}
    assert len(names) == 1
    assert names != {threading.get_ident()}


def test_a_job_that_fails_fails_for_its_caller_alone(worker: Worker, failures) -> None:
    """The next one runs."""
    with pytest.raises(ZeroDivisionError):
        worker.call(lambda: 1 / 0, wait_seconds=SECONDS)
    assert worker.call(lambda: 7, wait_seconds=SECONDS) == 7
    assert failures == []


def test_a_job_may_raise_a_timeout_of_its_own(worker: Worker) -> None:
    """It is the job's and not taken for ours."""

    def job() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        worker.call(job, wait_seconds=SECONDS)


def test_work_of_one_name_that_waits_is_done_once(worker: Worker) -> None:
    """A hundred changes of one file become one reading, and it is the newest request that runs."""
    go, done = threading.Event(), []
    worker.post("first", lambda: go.wait(SECONDS))
    for number in range(100):
        worker.post("same", lambda number=number: done.append(number))
    go.set()
    assert worker.drain(SECONDS)
    assert done == [99]


def test_calls_go_before_work(worker: Worker) -> None:
    """Somebody waits for them."""
    running, go, order = threading.Event(), threading.Event(), []

    def hold() -> None:
        running.set()
        go.wait(SECONDS)

    worker.post("first", hold)
    assert running.wait(SECONDS)
    worker.post("work", lambda: order.append("work"))
    caller = threading.Thread(target=lambda: worker.call(lambda: order.append("call"), wait_seconds=SECONDS))
    caller.start()
    while not worker._calls:  # until the call is queued
        threading.Event().wait(0.001)
    go.set()
    caller.join(SECONDS)
    assert worker.drain(SECONDS)
    assert order == ["call", "work"]


def test_who_gives_up_first_is_answered_first(worker: Worker) -> None:
    """A hook is not kept by the tools that came before it."""
    running, go, order = threading.Event(), threading.Event(), []

    def hold() -> None:
        running.set()
        go.wait(SECONDS)

    worker.post("first", hold)
    assert running.wait(SECONDS)
    callers = []
    for number, wait_seconds in enumerate((2 * SECONDS, 2 * SECONDS, SECONDS)):
        caller = threading.Thread(
            target=lambda number=number, wait_seconds=wait_seconds: worker.call(
                lambda: order.append(number), wait_seconds=wait_seconds
            )
        )
        caller.start()
        callers.append(caller)
        while len(worker._calls) != number + 1:  # until the call is queued
            threading.Event().wait(0.001)
    go.set()
    for caller in callers:
        caller.join(SECONDS)
    assert order == [2, 0, 1]


def test_work_that_fails_is_told(worker: Worker, failures) -> None:
    """And ends nothing."""
    worker.post("broken", lambda: 1 / 0)
    assert worker.drain(SECONDS)
    assert failures == [("broken", "division by zero")]
    assert worker.call(lambda: 1, wait_seconds=SECONDS) == 1


def test_a_call_waits_no_longer_than_it_may(worker: Worker) -> None:
    """The caller is told; a job that had not begun never does."""
    go, ran = threading.Event(), []
    worker.post("long", lambda: go.wait(SECONDS))
    with pytest.raises(DaemonBusyError):
        worker.call(lambda: ran.append(1), wait_seconds=0)
    go.set()
    assert worker.drain(SECONDS)
    assert ran == []


def test_too_many_calls_are_refused_at_once(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """A longer queue helps nobody."""
    monkeypatch.setattr(module, "CALLS_MAX", 0)
    with pytest.raises(DaemonBusyError, match="wait already"):
        worker.call(lambda: 1, wait_seconds=SECONDS)


def test_what_is_queued_ends_before_it_does() -> None:
    """A clean stop loses no work, and takes none."""
    done: list[int] = []
    found = Worker(lambda _name, _error: None)
    for number in range(5):
        found.post(str(number), lambda number=number: done.append(number))
    found.start()
    found.stop()
    assert done == [0, 1, 2, 3, 4]
    with pytest.raises(DaemonStoppingError):
        found.post("late", lambda: None)
    with pytest.raises(DaemonStoppingError):
        found.call(lambda: None, wait_seconds=SECONDS)
