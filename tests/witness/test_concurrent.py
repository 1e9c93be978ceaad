"""Check and store are one step: requests at the same time never both get a signature where they contradict."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.cosignature import WitnessSigner, open_cosignatures
from sidecars.note import NoteSignature
from tests.simulators.witnesses import (
    ORIGIN,
    Branch,
    HandClock,
    in_child,
    make_folder,
    serving,
    wait_for,
    working,
)
from tests.witness.talk import post
from timeline.errors import StateBusyError
from timeline.witness.identity import Folder, open_witness
from timeline.witness.protocol import origin_digest
from timeline.witness.service import Witness
from timeline.witness.store import open_store

FORKS = 8


def forks(count: int = FORKS) -> list[Branch]:
    """Give histories that share three leaves and have the same size."""
    trunk = Branch.of(3)
    return [trunk.fork(3, f"fork {number}", 4) for number in range(count)]


def together(actions: list[Callable[[], None]]) -> None:
    """Run each in a thread, all from one moment on."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], None]) -> None:
        barrier.wait()
        action()

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_of_forks_at_the_same_time_one_is_signed(tmp_path: Path) -> None:
    """Threads over HTTP: one 200, every other 409, and what is stored is what was signed."""
    branches = forks()
    answers: dict[int, tuple[int, bytes]] = {}
    with serving(make_folder(tmp_path / "w")) as served:
        assert post(served.endpoint, branches[0].body(0, 3))[0] == 200

        def submit(number: int) -> Callable[[], None]:
            def run() -> None:
                status, _, body = post(served.endpoint, branches[number].body(3))
                answers[number] = (status, body)

            return run

        together([submit(number) for number in range(FORKS)])
    codes = sorted(status for status, _ in answers.values())
    assert codes == [200] + [409] * (FORKS - 1)
    (winner,) = (number for number, (status, _) in answers.items() if status == 200)
    with working(Folder(tmp_path / "w")) as witness:
        assert witness.latest(origin_digest(ORIGIN)).body == branches[winner].note() + answers[winner][1]


def test_of_forks_from_other_processes_one_is_signed(tmp_path: Path) -> None:
    """Processes, each with a connection of its own to one memory."""
    folder = make_folder(tmp_path / "w")
    branches = forks(4)
    with working(folder) as witness:
        assert witness.add_checkpoint(branches[0].body(0, 3)).status == 200

    def submit(branch: Branch) -> Callable[[], bytes]:
        def run() -> bytes:
            with working(folder) as witness:
                answers = [witness.add_checkpoint(branch.body(3)) for _ in range(5)]
                return b"".join(b"%d " % answer.status for answer in answers)

        return run

    children = [in_child(submit(branch)) for branch in branches]
    said = [wait_for(*child) for child in children]
    assert not any(killed for _, killed in said)
    codes = [[int(code) for code in text.split()] for text, _ in said]
    assert sum(200 in row for row in codes) == 1
    assert {code for row in codes for code in row} == {200, 409}


def test_a_request_that_stalls_between_check_and_store_rolls_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race that C2SP prints: A at size N is checked, B at N + K is signed, A must not be stored after it."""
    log = Branch.of(9)
    folder = make_folder(tmp_path / "w")
    clock = HandClock()
    stalled, go_on = threading.Event(), threading.Event()
    real = WitnessSigner.cosign
    codes: dict[str, int] = {}

    def stall(self: WitnessSigner, text: str, at: int) -> NoteSignature:
        if "\n5\n" in text:
            stalled.set()
            assert go_on.wait(30)
        return real(self, text, at)

    monkeypatch.setattr(WitnessSigner, "cosign", stall)
    opened = open_witness(folder)
    witness = Witness(opened.signer, opened.store, clock)
    # The second request comes over a connection of its own, as from another process.
    second = open_witness(folder)
    other = Witness(second.signer, second.store, clock)
    assert witness.add_checkpoint(log.body(0, 3)).status == 200

    def submit(name: str, at: Witness, size: int) -> Callable[[], None]:
        return lambda: codes.__setitem__(name, at.add_checkpoint(log.body(3, size)).status)

    first = threading.Thread(target=submit("A", witness, 5))
    first.start()
    assert stalled.wait(30)
    later = [threading.Thread(target=submit(name, at, 9)) for name, at in (("B", witness), ("C", other))]
    for thread in later:
        thread.start()
    go_on.set()
    for thread in (first, *later):
        thread.join()
    assert codes == {"A": 200, "B": 409, "C": 409}
    assert other.add_checkpoint(log.body(5, 9)).status == 200
    assert witness.latest(origin_digest(ORIGIN)).body.startswith(log.note(9))
    second.store.close()
    opened.store.close()


def test_what_comes_between_reading_and_writing_refuses(tmp_path: Path) -> None:
    """The condition of the update stands by itself: a row that is not the one that was checked is not replaced."""
    folder = make_folder(tmp_path / "w")
    log = Branch.of(5)
    with working(folder) as witness:
        before = open_store(folder.database)
        stale = before.find_log(origin_digest(ORIGIN))
        assert stale is not None
        assert witness.add_checkpoint(log.body(0, 3)).status == 200
        with pytest.raises(StateBusyError, match="between"), before.transaction():
            before.advance(stale, 5, b"anything")
        before.close()
        assert open_cosignatures(witness.latest(origin_digest(ORIGIN)).body, [witness.verifier])
