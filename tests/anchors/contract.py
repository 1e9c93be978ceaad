"""What every external anchor answers, as a table of situations; each kind brings a stage and passes all of them.

A stage is one anchor of one kind together with what somebody may do to it behind its back.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sidecars.checkpoint import Checkpoint, open_checkpoint
from sidecars.digest import Digest
from tests.simulators.witnesses import LOG, ORIGIN, START_MS, Branch
from timeline.anchors.port import Answer, MonotonicAnchor, Question, Standing

DEADLINE_SECONDS = 60.0
"""Long: no situation but that of the silent anchor waits for it."""

SHORT_SECONDS = 0.2

T = TypeVar("T")


class Stage(Protocol):
    """One anchor and its surroundings; its clock stands at ``START_MS``."""

    def opened(self) -> AbstractContextManager[MonotonicAnchor]:
        """Serve the anchor while the block runs."""

    def keep(self) -> object:
        """Copy what the anchor remembers, as a backup does."""

    def put_back(self, kept: object) -> None:
        """Restore such a copy."""

    def garbled(self) -> AbstractContextManager[MonotonicAnchor]:
        """Serve the anchor while what it remembers, or answers, is garbage; afterwards it is as before."""

    def silent(self) -> AbstractContextManager[MonotonicAnchor]:
        """Serve an anchor in the same place that does not answer."""


def question(log: Branch, known: int = 0, *, deadline_seconds: float = DEADLINE_SECONDS) -> Question:
    """Ask whether the whole of this branch is the newest tree."""
    checkpoint = Checkpoint(log.origin, log.size, Digest(log.root()))
    return Question(
        log.note(), checkpoint, (log.signer.verifier,), known, log.prove, deadline_seconds=deadline_seconds
    )


def ask(stage: Stage, log: Branch, known: int = 0) -> Answer:
    """Ask the stage's anchor once."""
    with stage.opened() as anchor:
        return anchor.advance(question(log, known))


def grown(size: int) -> Branch:
    """Give the one history of these tests at a size."""
    return Branch.of(size)


def forked(keep: int, size: int, word: str = "other") -> Branch:
    """Give a history that leaves that one after ``keep`` leaves."""
    return grown(keep).fork(keep, word, size - keep)


def confirms(answer: Answer, log: Branch) -> bool:
    """Whether the answer is a confirmation of exactly this tree, now, with our own note in it."""
    assert answer.standing is Standing.CONFIRMED, answer
    assert answer.note is not None
    opened = open_checkpoint(answer.note, ORIGIN, [LOG.verifier])
    return (opened.checkpoint.size, opened.checkpoint.root.raw, answer.size, answer.at) == (
        log.size,
        log.root(),
        log.size,
        START_MS // 1000,
    )


def holds(stage: Stage, log: Branch) -> bool:
    """Whether the anchor remembers exactly this tree: it confirms it, and calls anything smaller old."""
    # The larger tree is not remembered here, so that a smaller one would be taken if the anchor had forgotten it.
    older = ask(stage, Branch(log.leaves[:1], log.signer))
    assert (older.standing, older.size) == (Standing.AHEAD, log.size), older
    return confirms(ask(stage, log, log.size), log)


def shows(answer: Answer, log: Branch) -> bool:
    """Whether the evidence is what our own log has signed at this size."""
    assert answer.evidence is not None, answer
    held = open_checkpoint(answer.evidence, ORIGIN, [LOG.verifier]).checkpoint
    return (held.size, held.root.raw) == (log.size, log.root())


# -- the situations --------------------------------------------------------------------------------------------


def the_first_question_is_confirmed(stage: Stage) -> None:
    """An anchor that knows nothing of the log takes what it is shown."""
    assert confirms(ask(stage, grown(3)), grown(3))
    assert holds(stage, grown(3))


def the_same_question_again_is_confirmed(stage: Stage) -> None:
    """Nothing moves, and it is the newest all the same, whether or not the last answer was remembered."""
    ask(stage, grown(3))
    assert confirms(ask(stage, grown(3), 3), grown(3))
    assert confirms(ask(stage, grown(3)), grown(3))
    assert holds(stage, grown(3))


def an_extension_is_confirmed(stage: Stage) -> None:
    """The anchor moves forward, from sizes that are powers of two and others."""
    known = 0
    for size in (1, 2, 4, 5, 8, 13, 64):
        assert confirms(ask(stage, grown(size), known), grown(size))
        known = size
    assert holds(stage, grown(64))


def an_extension_of_what_nobody_remembers_here_is_confirmed(stage: Stage) -> None:
    """Where our own memory of the anchor is lost, its word is enough to prove from."""
    ask(stage, grown(3))
    assert confirms(ask(stage, grown(7)), grown(7))
    assert holds(stage, grown(7))


def a_larger_remembered_tree_is_ahead(stage: Stage) -> None:
    """An older state is told so, with the larger checkpoint that its own log has signed; nothing moves."""
    ask(stage, grown(7))
    for known in (0, 3):
        answer = ask(stage, grown(3), known)
        assert (answer.standing, answer.size, answer.note) == (Standing.AHEAD, 7, None)
        assert shows(answer, grown(7))
    assert holds(stage, grown(7))


def another_root_at_the_same_size_is_a_fork(stage: Stage) -> None:
    """Equivocation is no newest tree, and the other history is shown."""
    ask(stage, grown(5))
    answer = ask(stage, forked(4, 5), 5)
    assert (answer.standing, answer.size) == (Standing.FORKED, 5)
    assert shows(answer, grown(5))
    assert holds(stage, grown(5))


def a_larger_tree_that_left_the_remembered_one_is_a_fork(stage: Stage) -> None:
    """Growing beyond the remembered size does not hide that history was changed below it."""
    ask(stage, grown(5))
    for known in (0, 5):
        answer = ask(stage, forked(3, 8), known)
        assert (answer.standing, answer.size) == (Standing.FORKED, 5)
        assert shows(answer, grown(5))
    assert holds(stage, grown(5))


def an_anchor_that_has_forgotten_everything_has_regressed(stage: Stage) -> None:
    """Who remembers a confirmation does not begin again with an empty anchor."""
    empty = stage.keep()
    ask(stage, grown(5))
    stage.put_back(empty)
    for _ in range(2):  # nothing was written the first time
        answer = ask(stage, grown(6), 5)
        assert (answer.standing, answer.size) == (Standing.REGRESSED, 0)


def an_anchor_that_was_put_back_has_regressed(stage: Stage) -> None:
    """An older memory than one that was confirmed is neither ahead nor a confirmation."""
    ask(stage, grown(3))
    kept = stage.keep()
    ask(stage, grown(7), 3)
    stage.put_back(kept)
    for size in (7, 9):
        answer = ask(stage, grown(size), 7)
        assert (answer.standing, answer.size) == (Standing.REGRESSED, 3)


def an_anchor_that_was_put_back_unseen_goes_on(stage: Stage) -> None:
    """The limit: where neither side remembers, nothing is seen; the older memory still refuses what is older."""
    ask(stage, grown(3))
    kept = stage.keep()
    ask(stage, grown(7), 3)
    stage.put_back(kept)
    assert ask(stage, grown(2)).standing is Standing.AHEAD
    assert confirms(ask(stage, grown(5)), grown(5))


def of_many_forks_at_once_one_is_confirmed(stage: Stage) -> None:
    """Askers that have all seen the same size cannot both be the newest."""
    ask(stage, grown(3))
    forks = [forked(3, 6, f"branch {number}") for number in range(8)]
    with stage.opened() as anchor:
        answers = at_once([ask_of(anchor, fork, 3) for fork in forks])
    standings = {answer.standing for answer in answers}
    assert standings <= {Standing.CONFIRMED, Standing.FORKED, Standing.UNAVAILABLE}
    (winner,) = [
        fork
        for fork, answer in zip(forks, answers, strict=True)
        if answer.standing is Standing.CONFIRMED and confirms(answer, fork)
    ]
    assert holds(stage, winner)


def of_many_sizes_at_once_the_largest_confirmed_one_stays(stage: Stage) -> None:
    """No asker moves the anchor backwards, in whatever order they come."""
    ask(stage, grown(3))
    with stage.opened() as anchor:
        answers = at_once([ask_of(anchor, grown(size), 3) for size in range(4, 12)])
    standings = {answer.standing for answer in answers}
    assert standings <= {Standing.CONFIRMED, Standing.AHEAD, Standing.UNAVAILABLE}
    sizes = [answer.size for answer in answers if answer.standing is Standing.CONFIRMED]
    assert holds(stage, grown(max(size for size in sizes if size is not None)))


def garbage_says_nothing_and_is_got_over(stage: Stage) -> None:
    """An unreadable answer is neither a confirmation nor an alarm about our state; a good one counts again."""
    ask(stage, grown(3))
    with stage.garbled() as anchor:
        answer = anchor.advance(question(grown(5), 3))
        assert answer.standing in {Standing.MISBEHAVED, Standing.UNAVAILABLE}
        assert answer.reason
    assert confirms(ask(stage, grown(5), 3), grown(5))


def a_silent_anchor_is_unavailable(stage: Stage) -> None:
    """The asker goes on when the time is over, and nothing has moved."""
    ask(stage, grown(3))
    with stage.silent() as anchor:
        answer = anchor.advance(question(grown(5), 3, deadline_seconds=SHORT_SECONDS))
    assert answer.standing is Standing.UNAVAILABLE
    assert answer.reason
    assert holds(stage, grown(3))


def ask_of(anchor: MonotonicAnchor, log: Branch, known: int) -> Callable[[], Answer]:
    """Prepare a question, so that asking it is all that is left."""
    prepared = question(log, known)
    return lambda: anchor.advance(prepared)


def at_once(actions: list[Callable[[], T]]) -> list[T]:
    """Do all at the same moment, each in a thread of its own, and give what they return."""
    gate = threading.Barrier(len(actions))
    results: list[T | None] = [None] * len(actions)

    def act(number: int) -> None:
        gate.wait()
        results[number] = actions[number]()

    threads = [threading.Thread(target=act, args=(number,)) for number in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in results
    return results  # type: ignore[return-value]  # see the line before


SITUATIONS: tuple[Callable[[Stage], None], ...] = (
    the_first_question_is_confirmed,
    the_same_question_again_is_confirmed,
    an_extension_is_confirmed,
    an_extension_of_what_nobody_remembers_here_is_confirmed,
    a_larger_remembered_tree_is_ahead,
    another_root_at_the_same_size_is_a_fork,
    a_larger_tree_that_left_the_remembered_one_is_a_fork,
    an_anchor_that_has_forgotten_everything_has_regressed,
    an_anchor_that_was_put_back_has_regressed,
    an_anchor_that_was_put_back_unseen_goes_on,
    of_many_forks_at_once_one_is_confirmed,
    of_many_sizes_at_once_the_largest_confirmed_one_stays,
    garbage_says_nothing_and_is_got_over,
    a_silent_anchor_is_unavailable,
)
