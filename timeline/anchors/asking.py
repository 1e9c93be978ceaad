"""Put the question to every external anchor that the owner requires, and remember what they confirm.

Anchors are asked side by side, each with its own deadline: a silent one costs the deadline once. What they confirm is
stored before anything is decided, so that a later run knows it, whatever becomes of this one.
"""

from collections.abc import Sequence

import msgspec

from sidecars.keys import Verifier
from sidecars.leaf import AnchorEntry, AnchorPolicy
from timeline.anchors.memory import Remembered, read_memory, stated_size, write_memory
from timeline.anchors.port import Answer, Connect, Question, Standing
from timeline.anchors.proving import Subject
from timeline.anchors.rules import AnchorReport, Confirmation, Memory, decide
from timeline.clock import Clock, Stopwatch
from timeline.errors import StateError, TimelineError
from timeline.limits import ANCHOR_SKEW_SECONDS
from timeline.paths import Locations


class Asker(msgspec.Struct, frozen=True):
    """Who asks: the log's folders and keys, and the ways out.

    ``known`` is what this process has read or stored of the anchors before: it is not read and verified again.
    """

    locations: Locations
    verifiers: tuple[Verifier, ...]
    clock: Clock
    stopwatch: Stopwatch
    connect: Connect
    known: dict[str, Remembered]

    def recall(self, entry: AnchorEntry, origin: str) -> Remembered | None:
        """What is remembered of an anchor.

        Raises:
            UnsafeFileError: it is not private.
        """
        found = self.known.get(entry.name) or read_memory(self.locations, entry, origin, self.verifiers)
        if found is not None:
            self.known[entry.name] = found
        return found


def confirm_newest(
    asker: Asker, policy: AnchorPolicy, subject: Subject, *, now_ms: int, counts_from: int
) -> Confirmation:
    """Ask all anchors, and give what they say together; ``counts_from`` is as in ``rules.decide``.

    Raises:
        StateError: they do not let this state be used (``rules``), or see ``ask_anchors``.
    """
    return settle(
        policy, ask_anchors(asker, policy, subject), subject, now_ms=now_ms, counts_from=counts_from
    )


def settle(
    policy: AnchorPolicy, reports: Sequence[AnchorReport], subject: Subject, *, now_ms: int, counts_from: int
) -> Confirmation:
    """What the answers mean together.

    Raises:
        StateError: they do not let this state be used (``rules``).
    """
    size = subject.checkpoint.size
    found = decide(policy, reports, size=size, now_ms=now_ms, counts_from=counts_from)
    if isinstance(found, StateError):
        raise found
    return found


def ask_anchors(asker: Asker, policy: AnchorPolicy, subject: Subject) -> tuple[AnchorReport, ...]:
    """Ask all anchors of ``policy`` about our log's newest checkpoint, and store what they confirm.

    Raises:
        UnsafeFileError: what is remembered of an anchor is not private.
        StateUnwritableError: a confirmation cannot be stored.
    """
    remembered = recall_all(asker, policy, subject.checkpoint.origin)
    return store_answers(asker, policy, subject, remembered, question_all(asker, policy, subject, remembered))


def recall_all(asker: Asker, policy: AnchorPolicy, origin: str) -> tuple[Remembered | None, ...]:
    """What is remembered of each anchor of ``policy``.

    Raises:
        UnsafeFileError: it is not private.
    """
    return tuple(asker.recall(entry, origin) for entry in policy.anchors)


def store_answers(
    asker: Asker,
    policy: AnchorPolicy,
    subject: Subject,
    remembered: Sequence[Remembered | None],
    answers: Sequence[Answer],
) -> tuple[AnchorReport, ...]:
    """Store what the anchors have just confirmed; ``remembered`` and ``answers`` are in the policy's order.

    Raises:
        StateUnwritableError: a confirmation cannot be stored.
    """
    return tuple(
        _remember(asker, subject, entry, before, answer)
        for entry, before, answer in zip(policy.anchors, remembered, answers, strict=True)
    )


def recall_anchors(asker: Asker, policy: AnchorPolicy, subject: Subject) -> tuple[AnchorReport, ...]:
    """What is remembered of all anchors, without a question to any; what contradicts our checkpoint is an answer.

    Raises:
        UnsafeFileError: it is not private.
    """
    remembered = recall_all(asker, policy, subject.checkpoint.origin)
    return tuple(
        AnchorReport(entry, None if before is None else _contradiction(subject, before), _memory(before))
        for entry, before in zip(policy.anchors, remembered, strict=True)
    )


def recall_notes(asker: Asker, policy: AnchorPolicy, origin: str) -> tuple[bytes, ...]:
    """The notes that the anchors have confirmed last.

    Raises:
        UnsafeFileError: one is not private.
    """
    found = recall_all(asker, policy, origin)
    return tuple(remembered.note for remembered in found if remembered is not None)


def ask_one(
    asker: Asker, entry: AnchorEntry, subject: Subject, *, known: int, deadline_seconds: float
) -> Answer:
    """Ask one anchor, which has confirmed ``known`` leaves before. What a kind cannot do here is an answer too."""
    question = Question(
        subject.note, subject.checkpoint, asker.verifiers, known, subject.prove, deadline_seconds
    )
    try:
        return asker.connect(entry, asker.clock, asker.stopwatch).advance(question)
    except TimelineError as error:
        return Answer(Standing.UNAVAILABLE, reason=error.reason)


def question_all(
    asker: Asker, policy: AnchorPolicy, subject: Subject, remembered: Sequence[Remembered | None]
) -> list[Answer]:
    """The answers of all anchors, in the policy's order; no file of ours is written.

    Raises:
        StateError: our own leaves cannot be read for a proof.
    """

    def one(entry: AnchorEntry, before: Remembered | None) -> Answer:
        contradiction = None if before is None else _contradiction(subject, before)
        if contradiction is not None:
            return contradiction
        known = 0 if before is None else before.checkpoint.size
        return ask_one(asker, entry, subject, known=known, deadline_seconds=policy.deadline_ms / 1000)

    if len(policy.anchors) == 1:
        return [one(policy.anchors[0], remembered[0])]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=len(policy.anchors)) as pool:
        return list(pool.map(one, policy.anchors, remembered))


def _contradiction(subject: Subject, before: Remembered) -> Answer | None:
    """Our own copy of an anchor's confirmation may show the fork; the anchor need not be reached for that."""
    if subject.continues(before.checkpoint):
        return None
    size = before.checkpoint.size
    return Answer(Standing.FORKED, size=size, reason="remembered-other-root", evidence=before.note)


def _remember(
    asker: Asker, subject: Subject, entry: AnchorEntry, before: Remembered | None, answer: Answer
) -> AnchorReport:
    if answer.standing is not Standing.CONFIRMED or answer.note is None or answer.at is None:
        return AnchorReport(entry, answer, _memory(before))
    found = Remembered(subject.checkpoint, answer.at, answer.note)
    overtaken = not subject.was_just_committed and _is_overtaken(asker, entry, found)
    if _is_newer(found, before, asker.clock) and not overtaken:
        write_memory(asker.locations, entry.name, found)
        asker.known[entry.name] = found
    if before is not None and before.checkpoint.size > found.checkpoint.size:
        return AnchorReport(entry, answer, before.memory)
    return AnchorReport(entry, answer, found.memory)


def _is_newer(found: Remembered, before: Remembered | None, clock: Clock) -> bool:
    """Whether it replaces what is remembered; a time that was recorded while the clock ran ahead does not stay."""
    if before is None or before.at > clock.now_ms() // 1000 + ANCHOR_SKEW_SECONDS:
        return True
    return (found.checkpoint.size, found.at) > (before.checkpoint.size, before.at)


def _is_overtaken(asker: Asker, entry: AnchorEntry, found: Remembered) -> bool:
    """Whether another process has stored a confirmation of a larger tree since it was read here."""
    if stated_size(asker.locations, entry.name) <= found.checkpoint.size:
        return False
    stored = read_memory(asker.locations, entry, found.checkpoint.origin, asker.verifiers)
    return stored is not None and stored.checkpoint.size > found.checkpoint.size


def _memory(remembered: Remembered | None) -> Memory | None:
    return None if remembered is None else remembered.memory
