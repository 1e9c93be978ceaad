"""A followed file under any order of writing, tampering, indexing and searching, against a model that knows its bytes.

The model keeps what was committed as bytes and says from them alone what must be refused, and why. Growth is always
taken up; no card ever comes from other bytes than those that were indexed; what is pending is said.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.e2e.offers import find
from tests.simulators import growth
from tests.simulators.growth import follow
from tests.simulators.worlds import consent, empty_world, refusal_of, rollout_of, verdict_of
from timeline import service
from timeline.limits import KIB
from timeline.search import Answer, Status

TAIL = 2 * KIB
"""What is compared at every use, small here so that most of a small file stands before it."""

HEAD = 6 * KIB
"""The same at the beginning; the header stands within."""

LEAST = 1 * KIB
"""The smallest operation here: a proof takes several calls."""

SMALL = 3 * KIB
"""Small enough that a file has chunks between its ends."""

FINAL = {"transcript-truncated", "transcript-replaced", "transcript-rewritten"}
AWAY = "away"


def _somewhere(path: Path, header: int, share: float) -> int:
    return header + int(share * (path.stat().st_size - header - 1))


def _truncate(path: Path, header: int, share: float) -> None:
    growth.truncate(path, _somewhere(path, header, share))
    growth.until_times_move(path)


def _truncate_and_grow(path: Path, header: int, share: float) -> None:
    size, cut = path.stat().st_size, _somewhere(path, header, share)
    growth.truncate(path, cut)
    with path.open("ab") as file:
        file.write(b"{}\n" * ((size - cut) // 3 + 1))


TAMPERING: dict[str, Callable[[Path, int, float], None]] = {
    "overwrite": lambda path, header, share: growth.overwrite(
        path, _somewhere(path, header, share), keep_time=True
    ),
    "overwrite the beginning": lambda path, _header, _share: growth.overwrite(path, 0, keep_time=False),
    "copy over": lambda path, _header, _share: growth.copy_over(path),
    "truncate": _truncate,
    "truncate and grow": _truncate_and_grow,
    "replace": lambda path, _header, _share: growth.replace(path),
    "rename": lambda path, _header, _share: path.rename(path.with_name(AWAY)) and None,
}


USES = ("index", "search", "prove", "none")


class FollowedFile(RuleBasedStateMachine):
    """One followed session, its host, and somebody who tampers with its file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="timeline-machine-"))
        self.patches = [
            mock.patch("timeline.prefix.TAIL_BYTES", TAIL),
            mock.patch("timeline.prefix.HEAD_BYTES", HEAD),
            mock.patch("timeline.index.HEAD_BYTES", HEAD),
            mock.patch("timeline.index.INDEX_BYTES_MIN", LEAST),
        ]
        for patch in self.patches:
            patch.start()

    def teardown(self) -> None:
        """Whatever was done to the transcript says nothing against the state."""
        try:
            if hasattr(self, "world"):
                assert verdict_of(self.world)[0] == "ok"
        finally:
            for patch in self.patches:
                patch.stop()
            shutil.rmtree(self.folder)

    @initialize(beginning=st.just(0) | st.integers(4_000, 40_000))
    def enroll(self, beginning: int) -> None:
        self.world = empty_world(self.folder / "world")
        service.init_state(self.world.session, owner_presence="any", simulated_host=True)
        self.growing = follow(self.world, first=beginning, runs=10, filler_bytes=2_000)
        self.turns = 0
        self.begin()
        self.index(SMALL, None)

    def begin(self) -> None:
        """What a new consent starts from."""
        self.path = self.growing.path
        self.header = self.growing.whole.index(b"\n") + 1
        self.prefix = self.path.read_bytes()[: 4 * KIB]
        self.seen = self.path.stat()
        """The file as the newest generation has it."""
        self.committed = b""
        """The bytes that were indexed."""
        self.ended: str | None = None
        """Why following ended for good."""

    @precondition(lambda self: self.expected() is not None)
    @rule()
    def renew(self) -> None:
        """The owner enrolls again what the host has written so far."""
        self.path.with_name(AWAY).unlink(missing_ok=True)
        self.path.write_bytes(self.growing.whole[: self.growing.written])
        self.turns += 1
        rollout = rollout_of(self.world, runs=10, filler_bytes=2_000)
        self.growing.ref = consent(self.world, rollout, self.path, turn=f"again-{self.turns}", follow=True)
        self.begin()

    # -- what happens to the file ------------------------------------------------------------------------------

    @rule(length=st.integers(1, 12_000))
    def write(self, length: int) -> None:
        if self.path.exists():
            self.growing.write(length)

    def tamper(self, happen: str, share: float) -> None:
        if self.path.exists() and self.path.stat().st_size > self.header + 1:
            TAMPERING[happen](self.path, self.header, share)

    @rule(happen=st.sampled_from(sorted(TAMPERING)), share=st.floats(0, 1), use=st.sampled_from(USES))
    def tamper_and_use(self, happen: str, share: float, use: str) -> None:
        """Something else than growth, and a use of the file, or none yet."""
        self.tamper(happen, share)
        self.use(use)

    @rule(
        share=st.floats(0, 1), length=st.integers(1, 4_000), use=st.sampled_from(["index", "search", "prove"])
    )
    def tamper_and_write(self, share: float, length: int, use: str) -> None:
        """A change in place that growth hides from size and times, and a use of it."""
        self.tamper("overwrite", share)
        self.write(length)
        self.use(use)

    def use(self, use: str) -> None:
        match use:
            case "index":
                self.index(LEAST, None)
            case "search":
                self.search()
            case "prove":
                self.prove_to_the_end()
            case _:
                return
        if self.expected() is not None:  # seen: the next steps start from something sound
            self.renew()
            self.index(SMALL, None)

    @precondition(lambda self: self.path.with_name(AWAY).exists())
    @rule()
    def rename_back(self) -> None:
        self.path.with_name(AWAY).rename(self.path)
        growth.until_times_move(self.path)

    @rule()
    def restore(self) -> None:
        """Put the host's own bytes back into the file, as far as it had come: growth may go on from there."""
        if self.path.exists() and not self.growing.whole.startswith(self.path.read_bytes()):
            with self.path.open("r+b") as file:
                file.write(self.growing.whole[: self.growing.written])
            growth.until_times_move(self.path)

    # -- what the model says ---------------------------------------------------------------------------------------

    def expected(self) -> str | None:
        """The reason with which every use must be refused now; ``None`` where it must not, but for the proof."""
        if self.ended is not None:
            return self.ended
        if not self.path.exists():
            return "transcript-missing"
        found, content = self.path.stat(), self.path.read_bytes()
        if (found.st_dev, found.st_ino) != (self.seen.st_dev, self.seen.st_ino):
            return "transcript-replaced"
        if found.st_size < self.seen.st_size:
            return "transcript-truncated"
        times = (found.st_mtime_ns, found.st_ctime_ns) != (self.seen.st_mtime_ns, self.seen.st_ctime_ns)
        if found.st_size == self.seen.st_size and times:
            return "transcript-changed-without-growth"
        if not content.startswith(self.prefix):
            return "transcript-replaced"
        end = len(self.committed)
        for part in (slice(0, min(end, HEAD)), slice(max(0, end - TAIL), end)):
            if content[part] != self.committed[part]:
                return "transcript-rewritten"
        return None

    def stands(self) -> bool:
        """Whether all that was committed is still there."""
        return self.path.read_bytes().startswith(self.committed)

    # -- what we do --------------------------------------------------------------------------------------------

    @rule(length=st.integers(1, 12_000), max_bytes=st.sampled_from([LEAST, SMALL]))
    def write_and_index(self, length: int, max_bytes: int) -> None:
        self.write(length)
        self.index(max_bytes, None)

    @rule(max_bytes=st.sampled_from([LEAST, SMALL, 64 * KIB]), operations=st.sampled_from([None, 1, 2]))
    def index(self, max_bytes: int, operations: int | None) -> None:
        """Growth is taken up; what is refused is refused for the reason that the bytes give."""
        expected, stood = self.expected(), self.path.exists() and self.stands()
        before = self.path.stat() if self.path.exists() else None
        reason = None
        try:
            result = self.growing.index(max_bytes=max_bytes, operations=operations)
        except service.REFUSALS as error:
            reason = error.reason
        else:
            assert expected is None
            newest = result.source.newest
            assert (newest.size, result.indexed) >= (self.seen.st_size, len(self.committed))
            if newest.size != self.seen.st_size:
                self.seen = before
            assert newest.size == self.seen.st_size
            self.committed += self.path.read_bytes()[len(self.committed) : result.indexed]
            assert operations is not None or result.indexed == before.st_size
            if result.source.is_prefix_proven and result.source.extensions:
                assert self.stands()
            return
        if expected is not None:
            assert reason == expected
        elif stood and self.growing.whole.startswith(self.path.read_bytes()):
            # A file that only grew: not begun yet, or it must be taken up.
            assert (reason, self.path.stat().st_size < self.header) == ("header-incomplete", True)
        else:
            assert reason == "transcript-rewritten" or stood or not self.committed
        if reason in FINAL:
            self.ended = reason
        self.catch_up()

    def catch_up(self) -> None:
        """What a refused call had committed before: read from the log, and compared with the bytes it was read from."""
        status = self.growing.status()
        newest = status.source.newest
        if newest.size != self.seen.st_size:
            self.seen = self.path.stat()
            assert newest.size == self.seen.st_size
        if status.indexed > len(self.committed):
            self.committed += self.path.read_bytes()[len(self.committed) : status.indexed]

    @rule()
    def search(self) -> None:
        """No card where the bytes say no, no card from other bytes, and pending where something was changed."""
        answer: Answer = find(self.world, self.growing.ref)
        expected = self.expected()
        if answer.cards:
            assert answer.status is Status.FOUND
            assert expected is None
            content = self.path.read_bytes()
            for card in answer.cards:
                for line in card.event.lines:
                    assert content[line.offset : line.end] == self.committed[line.offset : line.end]
                assert card.prefix_pending or self.stands()
        elif answer.source is not None:  # it was opened
            assert (answer.reason == expected) or (
                expected is None and not self.stands() and answer.status in {Status.STALE, Status.UNAVAILABLE}
            )
        elif answer.status is Status.NOT_FOUND:
            assert expected is None
            assert self.path.stat().st_size == len(self.committed)

    @rule()
    def prove_to_the_end(self) -> None:
        """Called again and again, the proof ends: whole, or with the change found."""
        if self.expected() is not None or self.path.stat().st_size < self.header or not self.committed:
            return
        stood = self.stands()
        reason = None
        for _ in range(200):
            reason = refusal_of(lambda: self.growing.index(max_bytes=64 * KIB))
            status = self.growing.status()
            if reason is not None or status.source.is_prefix_proven:
                break
        if self.path.stat().st_size > self.seen.st_size and not stood:
            assert reason is not None
        if stood and self.growing.whole.startswith(self.path.read_bytes()):
            assert reason is None
        if reason in FINAL:
            self.ended = reason
        self.catch_up()


FollowedFile.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestFollowedFile = FollowedFile.TestCase
