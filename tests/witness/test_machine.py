"""A witness as a state machine: whatever a log submits, what it has ever signed is one history that only grows."""

import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidecars.cosignature import open_cosignatures
from tests.simulators.witnesses import ORIGIN, Branch, HandClock, make_folder
from timeline.witness.client import Prove
from timeline.witness.exchange import Ask, Cosigned, Reply, decide_reply, first_ask, make_request
from timeline.witness.identity import OpenWitness, open_witness
from timeline.witness.protocol import format_submission, origin_digest
from timeline.witness.service import Answer, Witness


class WatchedLog(RuleBasedStateMachine):
    """One log with several histories, any of which is submitted at any size, and a witness that restarts."""

    @initialize()
    def begin(self) -> None:
        """Start with an empty witness and a log of three leaves."""
        self.place = tempfile.TemporaryDirectory(prefix="witness-")
        self.folder = make_folder(Path(self.place.name) / "w")
        self.clock = HandClock()
        self.branches = [Branch.of(3)]
        self.signed: list[tuple[int, tuple[bytes, ...], int]] = []
        self.words = 0
        self.opened: OpenWitness
        self.open()

    def open(self) -> None:
        """Start the witness on what is on disk."""
        self.opened = open_witness(self.folder)
        self.witness = Witness(self.opened.signer, self.opened.store, self.clock)

    def teardown(self) -> None:
        """Close what is open."""
        if hasattr(self, "opened"):
            self.opened.store.close()
            self.place.cleanup()

    def branch(self, which: int) -> Branch:
        """Give one of the histories."""
        return self.branches[which % len(self.branches)]

    @rule(which=st.integers(0, 3), count=st.integers(1, 5))
    def grow(self, which: int, count: int) -> None:
        """A history goes on."""
        self.words += 1
        self.branch(which).grow(count, f"word {self.words}")

    @precondition(lambda self: len(self.branches) < 4)
    @rule(which=st.integers(0, 3), keep=st.integers(0, 20), count=st.integers(0, 4))
    def fork(self, which: int, keep: int, count: int) -> None:
        """A second history begins: the log's state was put back, and it went on from there."""
        self.words += 1
        branch = self.branch(which)
        self.branches.append(branch.fork(min(keep, branch.size), f"fork {self.words}", count))

    @rule(which=st.integers(0, 3), old=st.integers(0, 30), size=st.integers(0, 30))
    def submit(self, which: int, old: int, size: int) -> None:
        """Any submission, honest or not."""
        branch = self.branch(which)
        size = min(size, branch.size)
        self.give(branch, min(old, size), size)

    @rule(which=st.integers(0, 3), size=st.integers(0, 30))
    def submit_from_there(self, which: int, size: int) -> None:
        """A submission that names the witness's own size."""
        branch = self.branch(which)
        old = self.signed[-1][0] if self.signed else 0
        size = min(max(size, old), branch.size)
        if old <= size:
            self.give(branch, old, size)

    @rule(which=st.integers(0, 3), known=st.integers(0, 30))
    def ask_as_a_client(self, which: int, known: int) -> None:
        """The client's own decisions, with whatever it remembers."""
        branch = self.branch(which)
        request = make_request(branch.note(), self.witness.verifier, min(known, branch.size))
        prove: Prove = branch.prove
        step: object = first_ask(request)
        for _ in range(4):
            if not isinstance(step, Ask):
                break
            proof = prove(step.old_size) if 0 < step.old_size < branch.size else ()
            answer = self.witness.add_checkpoint(format_submission(step.old_size, proof, request.note))
            self.note_down(branch, branch.size, answer)
            step = decide_reply(
                request, step, Reply(answer.status, answer.content_type, answer.body), self.clock.seconds
            )
        largest = self.signed[-1][0] if self.signed else 0
        if isinstance(step, Cosigned):
            assert largest == branch.size

    @rule(steps=st.sampled_from([0, 1, 59, 3600, -1, -5, -6, -3600]))
    def set_clock(self, steps: int) -> None:
        """Time passes, or is corrected."""
        self.clock.at_ms += steps * 1000

    @rule()
    def restart(self) -> None:
        """The witness stops and starts."""
        self.opened.store.close()
        self.open()

    def give(self, branch: Branch, old: int, size: int) -> None:
        """Submit a size of a history, with its own proof."""
        self.note_down(branch, size, self.witness.add_checkpoint(branch.body(old, size)))

    def note_down(self, branch: Branch, size: int, answer: Answer) -> None:
        """Remember what was signed; it is on disk already."""
        if answer.status != 200:
            return
        (found,) = open_cosignatures(branch.note(size) + answer.body, [self.witness.verifier])
        row = self.opened.store.find_log(origin_digest(ORIGIN))
        assert row is not None
        assert row.note == branch.note(size) + answer.body
        self.signed.append((size, tuple(branch.leaves[:size]), found.at))

    @invariant()
    def what_was_signed_is_one_history(self) -> None:
        """Sizes and times never fall, and each signed tree is the beginning of the next."""
        for (size, leaves, at), (next_size, next_leaves, next_at) in zip(
            getattr(self, "signed", []), getattr(self, "signed", [])[1:], strict=False
        ):
            assert size <= next_size
            assert at <= next_at
            assert next_leaves[:size] == leaves


TestWatchedLog = WatchedLog.TestCase
TestWatchedLog.settings = settings(
    settings(), max_examples=min(settings().max_examples, 60), stateful_step_count=30
)
