"""``trust`` as a state machine: whatever a log does, accepted sizes never fall and no size has two roots."""

from collections.abc import Sequence

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.trust import AnchorRepairable, Consistent, HeadRepairable
from tests.sidecars.samples import LOG
from tests.sidecars.simulator import LogSimulator, Until, View, entry, examine


class RememberingReader(RuleBasedStateMachine):
    """A reader that keeps its anchor, and an adversary who swaps whole logs, parts and ages under it."""

    @initialize()
    def begin(self) -> None:
        """Start with an honest log of some age and a second history beside it."""
        log = LogSimulator()
        self.kept: list[View] = [log.view, *(log.commit([entry(word)]) for word in ("a", "b", "c"))]
        fork = log.fork(3)
        self.kept += [fork.commit([entry(word)]) for word in ("x", "y", "z")]
        self.logs = [log, fork]
        self.anchor = self.kept[1].anchor
        self.sizes: list[int] = []
        self.roots: dict[int, Digest] = {}
        self.words = 0

    @rule(which=st.integers(0, 3), until=st.sampled_from(Until), count=st.integers(1, 3))
    def commit(self, which: int, until: Until, count: int) -> None:
        """One of the logs grows, perhaps not to the end."""
        log = self.logs[which % len(self.logs)]
        self.words += 1
        log.commit([entry((self.words, number)) for number in range(count)], until)
        self.kept.append(log.view)

    @precondition(lambda self: len(self.logs) < 4)
    @rule(which=st.integers(0, 3), keep=st.integers(2, 9))
    def fork(self, which: int, keep: int) -> None:
        """A second history starts, signed by the same keys."""
        log = self.logs[which % len(self.logs)]
        self.logs.append(log.fork(min(keep, len(log.view.leaves))))

    @rule(which=st.integers(0, 3), stranger=st.booleans())
    def sign_head(self, which: int, *, stranger: bool) -> None:
        """A head is signed for whatever is there."""
        log = self.logs[which % len(self.logs)]
        if not stranger:
            log.publish_head(LOG)
        self.kept.append(log.view)

    @rule(data=st.data(), together=st.booleans())
    def read(self, data: st.DataObject, *, together: bool) -> None:
        """The reader is shown leaves and head of any age, together or mixed; its anchor is its own."""
        state = data.draw(st.sampled_from(self.kept))
        head = state if together else data.draw(st.sampled_from(self.kept))
        view = View(state.leaves, head.head, self.anchor)
        try:
            finding = examine(view)
        except SidecarError:
            return
        size = finding.belief.size
        match finding:
            case Consistent() | AnchorRepairable():
                self.anchor = finding.head.note
                self.accept(size, finding.belief.root)
            case HeadRepairable():
                self.accept(finding.head.checkpoint.size, finding.head.checkpoint.root)

    def accept(self, size: int, root: Digest) -> None:
        """Write down what was believed."""
        self.sizes.append(size)
        assert self.roots.setdefault(size, root) == root

    @invariant()
    def accepted_sizes_never_fall(self) -> None:
        """A reader with an anchor never goes back."""
        sizes: Sequence[int] = getattr(self, "sizes", [])
        assert list(sizes) == sorted(sizes)


RememberingReader.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestRememberingReader = RememberingReader.TestCase
