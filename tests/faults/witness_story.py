"""The life of a witness: made, told of a log, asked for cosignatures; after a crash it has forgotten none of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.faults.interposer import mark
from tests.faults.stories import Moment, Told, told
from tests.simulators.witnesses import LOG, ORIGIN, Branch, HandClock, working
from tests.simulators.worlds import refusal_of
from timeline.clock import SystemEntropy
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.protocol import origin_digest
from timeline.witness.service import know_log
from timeline.witness.store import LogRow

NAME: Final = "witness.example/w"
SIZES: Final = (3, 5, 9)
TRUNK: Final = Branch.of(12)
FORK: Final = TRUNK.fork(2, "fork", 10)
BEGINNING: Final = frozenset(("witness-missing", "witness-memory-lost"))
"""How a witness that was not made to the end is refused; making it again completes it."""


@dataclass(slots=True)
class WitnessStory:
    """A witness from ``init`` to its third cosignature."""

    folder: Path
    name: str = "witness"
    notes: dict[int, bytes] = field(default_factory=dict)

    def steps(self, folder: Folder) -> Mapping[str, Callable[[], object]]:
        """What is done, in order; ``cosign N`` is promised when N was answered."""

        def know() -> None:
            opened = open_witness(folder)
            know_log(opened.store, str(LOG.verifier), ORIGIN)
            opened.store.close()

        def submit(old: int, size: int) -> Callable[[], None]:
            return lambda: self._cosign(folder, old, size)

        made: dict[str, Callable[[], object]] = {
            "init": lambda: init_witness(folder, NAME, SystemEntropy()),
            "know": know,
        }
        made |= {f"cosign {size}": submit(old, size) for old, size in zip((0, *SIZES), SIZES, strict=False)}
        return made

    def _cosign(self, folder: Folder, old: int, size: int) -> None:
        with working(folder) as witness:
            answer = witness.add_checkpoint(TRUNK.body(old, size))
        assert answer.status == 200, answer
        self.notes[size] = TRUNK.note(size) + answer.body

    def tell(self) -> Told:
        """Live it once and write it down."""
        with told(self.folder / "told") as found:
            for name, step in self.steps(Folder(self.folder / "told" / "w")).items():
                step()
                mark(name)
        return found[0]

    def check_remains(self, moment: Moment, contents: Iterable[bytes]) -> None:
        """A witness destroys nothing."""

    def judge(self, folder: Path, moment: Moment) -> str:
        """What was answered is remembered; nothing smaller and no other tree is signed; the next is."""
        place = Folder(folder / "w")
        size_min = size_of(moment.promised)
        reason = refusal_of(lambda: row_of(place))
        if reason is not None:
            assert not moment.promised, f"refused after a promise: {reason}"
            assert reason in BEGINNING, f"refused: {reason}"
        if not moment.promised:
            assert refusal_of(self.steps(place)["init"]) in {None, "witness-exists"}
        row = row_of(place)
        size = 0 if row is None else row.size
        assert row is not None or moment.promised in {"", "init"}, "the log was forgotten"
        assert size >= size_min, f"rollback: {size} remembered, {size_min} answered"
        if row is not None and row.note is not None:
            assert row.note == self.notes[size], "a cosignature that was never made"
        if row is None:
            self.steps(place)["know"]()
        self._assert_honest(place, size)
        if reason is not None:
            return f"closed: {reason}"
        return "old" if size == size_min else "new"

    def _assert_honest(self, folder: Folder, size: int) -> None:
        """A fork and a smaller size are refused, the log itself is signed on."""
        with working(folder, HandClock()) as witness:
            if size:
                for body in (
                    FORK.body(size, size),
                    FORK.body(size, size + 1),
                    TRUNK.body(size - 1, size - 1),
                ):
                    answer = witness.add_checkpoint(body)
                    assert answer.status in {409, 422}, f"signed beside the log: {answer.status}"
            answer = witness.add_checkpoint(TRUNK.body(size, size + 2))
            assert answer.status == 200, f"does not go on: {answer.reason}"


def size_of(promised: str) -> int:
    """The size that was answered last."""
    return int(promised.removeprefix("cosign ")) if promised.startswith("cosign ") else 0


def row_of(folder: Folder) -> LogRow | None:
    """What the witness remembers of the log."""
    opened = open_witness(folder)
    try:
        return opened.store.find_log(origin_digest(ORIGIN))
    finally:
        opened.store.close()
