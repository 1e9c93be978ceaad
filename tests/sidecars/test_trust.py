"""``trust``: each row of the detection matrix that needs no witness."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import msgspec
import pytest

from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.digest import Digest
from sidecars.envelope import parse_envelope
from sidecars.errors import (
    AnchorAheadError,
    BadSignatureError,
    BrokenLinkError,
    DigestMismatchError,
    EquivocationError,
    LagError,
    MalformedError,
    OriginMismatchError,
    RollbackError,
    SidecarError,
    StateBehindError,
    UnknownKeyError,
)
from sidecars.keys import Signer
from sidecars.leaf import Leaf, seal_leaf
from sidecars.trust import AnchorRepairable, Consistent, Epoch, HeadRepairable
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, STRANGER, digest_text, make_enrollment
from tests.sidecars.simulator import REVOCATION, LogSimulator, Until, View, entry, examine, key_epoch, policy

NEXT_LOG = Signer(ORIGIN, b"n" * 32)


@pytest.fixture
def log() -> LogSimulator:
    """Give a log of eight leaves in four batches: rules, consent, two sidecars, three more."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    log.commit([entry("a"), entry("b")])
    log.commit([entry("c"), entry("d"), entry("e")])
    return log


# -- what is accepted ------------------------------------------------------------------------------------------


def test_state_head_and_anchor_that_agree_are_believed(log: LogSimulator) -> None:
    """Row n, n, n: the rules, the key and the tree in force come out."""
    finding = examine(log.view)
    assert isinstance(finding, Consistent)
    assert (finding.belief.size, finding.belief.root) == (8, Digest(log.frontier.root()))
    assert finding.belief.policy == policy()
    assert finding.belief.epochs == (Epoch(0, 1, AT + 1, "first", LOG.verifier),)
    assert finding.belief.log_key == LOG.verifier
    assert finding.head.note == log.view.head


def test_the_empty_log_is_a_state_of_its_own() -> None:
    """``init`` writes head and anchor of the empty tree first, so nothing at all is never a fresh start."""
    finding = examine(LogSimulator(started=False).view)
    assert isinstance(finding, Consistent)
    assert finding.belief.size == 0


@pytest.mark.requirement("T66")
def test_a_state_one_batch_ahead_is_repairable_by_a_head(log: LogSimulator) -> None:
    """Row n+1, n, n: the whole batch is signed and linked, so a head may be signed for it."""
    log.commit([entry("f"), entry("g")], Until.STATE)
    finding = examine(log.view)
    assert isinstance(finding, HeadRepairable)
    assert (finding.belief.size, finding.head.checkpoint.size) == (10, 8)
    log.publish_head()
    log.publish_anchor()
    assert isinstance(examine(log.view), Consistent)


@pytest.mark.requirement("T66")
def test_an_anchor_one_batch_behind_is_repairable_by_the_head(log: LogSimulator) -> None:
    """Row n+1, n+1, n: the anchor may be moved to the head, and to nothing else."""
    log.commit([entry("f"), entry("g")], Until.HEAD)
    finding = examine(log.view)
    assert isinstance(finding, AnchorRepairable)
    assert (finding.belief.size, finding.anchor_size) == (10, 8)
    assert finding.head.note == log.view.head


@pytest.mark.parametrize("until", [Until.STATE, Until.HEAD])
def test_the_very_first_batch_is_repairable_too(until: Until) -> None:
    """A crash during ``init`` leaves a log that can be completed."""
    log = LogSimulator(started=False)
    log.commit([policy(), key_epoch()], until)
    finding = examine(log.view)
    assert isinstance(finding, HeadRepairable if until is Until.STATE else AnchorRepairable)
    assert finding.belief.size == 2


def test_only_newer_leaves_are_admitted_after_an_earlier_belief(log: LogSimulator) -> None:
    """A process that verified eight leaves goes on from there, with the rules and key that it learnt."""
    first = examine(log.view)
    log.commit([entry("f")])
    second = examine(log.view, believed=first.belief, skip=8)
    assert isinstance(second, Consistent)
    assert second.belief == examine(log.view).belief
    assert isinstance(examine(log.view, believed=second.belief, skip=9), Consistent)


# -- the detection matrix --------------------------------------------------------------------------------------


def parts(log: LogSimulator) -> tuple[list[View], LogSimulator]:
    """Give the views after each commit, and the log."""
    return [log.view, *(log.commit([entry(word)]) for word in ("f", "g", "h"))], log


def expected(state: int, head: int, anchor: int) -> type[object]:
    """Give the verdict of the detection matrix for three ages, counted in commits."""
    if head < anchor:
        return AnchorAheadError
    if state < head:
        return StateBehindError
    match (state - head, head - anchor):
        case (0, 0):
            return Consistent
        case (1, 0):
            return HeadRepairable
        case (0, 1):
            return AnchorRepairable
        case _:
            return LagError


@pytest.mark.requirement("T65", "T66", "T67")
@pytest.mark.parametrize(("state", "head", "anchor"), list(product(range(4), repeat=3)))
def test_every_mix_of_older_state_head_and_anchor_gets_its_verdict(
    log: LogSimulator, state: int, head: int, anchor: int
) -> None:
    """All 64 mixes of four generations: one batch behind is repairable, the same age is fine, the rest refused.

    Three parts of one older age are believed: only somebody outside can remember more (a witness).
    """
    views, _ = parts(log)
    view = View(views[state].leaves, views[head].head, views[anchor].anchor)
    verdict = expected(state, head, anchor)
    if issubclass(verdict, Exception):
        with pytest.raises(verdict) as caught:
            examine(view)
        assert type(caught.value) is verdict
        if verdict is not LagError:
            assert isinstance(caught.value, RollbackError)
    else:
        assert type(examine(view)) is verdict


def test_a_head_of_the_anchors_size_with_another_root_is_equivocation(log: LogSimulator) -> None:
    """Same size, other root: both notes are kept as evidence."""
    fork = log.fork(5)
    fork.commit([entry("x"), entry("y"), entry("z")])
    with pytest.raises(EquivocationError) as caught:
        examine(replace(fork.view, anchor=log.view.anchor))
    assert caught.value.evidence == (log.view.anchor, fork.view.head)


def test_a_fork_that_has_grown_past_the_anchor_is_equivocation(log: LogSimulator) -> None:
    """A longer history that does not contain the anchored one is refused, though every part of it is signed."""
    fork = log.fork(3)
    fork.commit([entry("x"), entry("y"), entry("z"), entry("u"), entry("v")])
    fork.commit([entry("w")])
    with pytest.raises(EquivocationError):
        examine(replace(fork.view, anchor=log.view.anchor))


def test_a_forged_fork_leaves_the_trusted_log_where_it_was(log: LogSimulator) -> None:
    """The same, by what an earlier belief remembers: the leaf after it names another root."""
    belief = examine(log.view).belief
    fork = log.fork(5)
    fork.commit([entry("x"), entry("y"), entry("z")])
    fork.commit([entry("w")])
    with pytest.raises(BrokenLinkError):
        examine(fork.view, believed=belief, skip=8)
    with pytest.raises(RollbackError):
        examine(log.fork(5).view, believed=belief)


# -- leaves that do not belong ---------------------------------------------------------------------------------


def drop(number: int) -> Callable[[View], View]:
    """Take one leaf out."""
    return lambda view: replace(view, leaves=view.leaves[:number] + view.leaves[number + 1 :])


def swap(first: int, second: int) -> Callable[[View], View]:
    """Exchange two leaves."""

    def change(view: View) -> View:
        leaves = list(view.leaves)
        leaves[first], leaves[second] = leaves[second], leaves[first]
        return replace(view, leaves=tuple(leaves))

    return change


def salt(number: int) -> Callable[[View], View]:
    """Give one leaf another salt."""

    def change(view: View) -> View:
        leaves = list(view.leaves)
        leaves[number] = (bytes(32), leaves[number][1])
        return replace(view, leaves=tuple(leaves))

    return change


def repeat(number: int) -> Callable[[View], View]:
    """Append one leaf again."""
    return lambda view: replace(view, leaves=(*view.leaves, view.leaves[number]))


@pytest.mark.parametrize("number", range(8))
def test_a_dropped_leaf_is_noticed_wherever_it_was(log: LogSimulator, number: int) -> None:
    """Index and root of the next leaf, or the head, show the gap."""
    with pytest.raises((BrokenLinkError, StateBehindError, UnknownKeyError)):
        examine(drop(number)(log.view))


@pytest.mark.parametrize("number", range(8))
def test_another_salt_is_noticed_by_the_next_leaf_or_the_head(log: LogSimulator, number: int) -> None:
    """Salts are not signed, but the root before each leaf and the head's root are."""
    with pytest.raises((BrokenLinkError, DigestMismatchError)):
        examine(salt(number)(log.view))


@pytest.mark.parametrize(("first", "second"), [(3, 4), (4, 5), (6, 7), (2, 7)])
def test_leaves_that_changed_places_are_noticed(log: LogSimulator, first: int, second: int) -> None:
    """Each leaf names its place."""
    with pytest.raises(BrokenLinkError):
        examine(swap(first, second)(log.view))


@pytest.mark.parametrize("number", range(8))
def test_a_leaf_that_is_replayed_is_refused(log: LogSimulator, number: int) -> None:
    """An old signed leaf cannot be appended again."""
    with pytest.raises(SidecarError):
        examine(repeat(number)(log.view))


@pytest.mark.requirement("T66")
def test_a_hand_written_leaf_is_never_adopted(log: LogSimulator) -> None:
    """What stands in the database without a signature, or with a stranger's, is refused and not repaired."""
    leaf = log.make_leaf(entry("forged"), 8, 1)
    before = log.view
    envelope = seal_leaf(leaf, LOG)
    payload = parse_envelope(envelope).payload
    for wrong, reason in (
        (payload, MalformedError),
        (b"", MalformedError),
        (seal_leaf(leaf, STRANGER), UnknownKeyError),
        (seal_leaf(leaf, OWNER), UnknownKeyError),
        (envelope.replace(payload, payload.replace(b'"segment":0', b'"segment":7')), BadSignatureError),
    ):
        log.view = before
        log.append_bytes(wrong)
        with pytest.raises(reason):
            examine(log.view)


@pytest.mark.parametrize(
    ("start", "size", "leaves"),
    [(8, 2, 1), (8, 3, 2), (7, 2, 1), (8, 1, 2)],
    ids=["half", "two of three", "started earlier", "two batches"],
)
def test_an_incomplete_or_second_batch_is_never_adopted(
    log: LogSimulator, start: int, size: int, leaves: int
) -> None:
    """Repair takes exactly one complete batch that starts at the head, or none."""
    for number in range(leaves):
        body = log.make_leaf(entry(number), start if size > 1 else log.frontier.size, size)
        log.append(body)
    with pytest.raises((BrokenLinkError, LagError)):
        examine(log.view)


def test_a_batch_that_changes_its_mind_is_refused(log: LogSimulator) -> None:
    """All leaves of a batch name the same batch."""
    log.append(log.make_leaf(entry("f"), 8, 3))
    log.append(log.make_leaf(entry("g"), 8, 2))
    log.publish_head()
    with pytest.raises(BrokenLinkError):
        examine(log.view)


@pytest.mark.parametrize("part", ["head", "anchor"])
def test_a_checkpoint_inside_a_batch_is_refused(part: str) -> None:
    """Heads are signed at the end of a batch only; one inside it was made by hand."""
    log = LogSimulator()
    log.append(log.make_leaf(entry("a"), 2, 2))
    inside = log.sign(LOG)
    log.append(log.make_leaf(entry("b"), 2, 2))
    log.publish_head()
    log.publish_anchor()
    view = replace(log.view, **{part: inside} | ({"anchor": inside} if part == "head" else {}))
    with pytest.raises(BrokenLinkError):
        examine(view)
    if part == "head":
        with pytest.raises(BrokenLinkError):
            examine(replace(view, leaves=view.leaves[:-1]))


def changed_leaf(log: LogSimulator, **fields: object) -> Leaf:
    """Give the next leaf, signed later by the right key, with fields that do not fit."""
    leaf: Leaf = msgspec.structs.replace(log.make_leaf(entry("f"), log.frontier.size, 1), **fields)
    return leaf


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"index": 9, "batch_start": 9}, "its index must be its place"),
        ({"index": 7, "batch_start": 7}, "its index must be its place"),
        ({"root": digest_text("other")}, "its root must be that of the tree before it"),
        ({"batch_start": 7, "batch_size": 2}, "a batch must start where the one before it ends"),
    ],
)
def test_a_leaf_that_names_another_place_is_refused_by_that_rule(
    log: LogSimulator, fields: dict[str, object], rule: str
) -> None:
    """Even the log key itself cannot place a leaf elsewhere: each rule of the link holds by itself."""
    log.append(changed_leaf(log, **fields))
    log.publish_head()
    with pytest.raises(BrokenLinkError, match=rule):
        examine(log.view)


def test_leaves_of_another_log_are_refused(log: LogSimulator) -> None:
    """The origin is signed in every leaf."""
    log.append(changed_leaf(log, origin="other"))
    with pytest.raises(OriginMismatchError):
        examine(log.view)


# -- rules and keys --------------------------------------------------------------------------------------------


def test_the_first_leaf_must_be_a_policy() -> None:
    """How the owner's presence is shown is recorded before anything else."""
    log = LogSimulator(started=False)
    log.commit([key_epoch(), policy()])
    with pytest.raises(BrokenLinkError):
        examine(log.view)


def test_only_the_first_leaf_says_whether_a_host_is_simulated(log: LogSimulator) -> None:
    """A demo cannot become real, nor a real log a demo; the presence rule may change by the owner's key."""
    log.commit([policy(presence="any")])
    finding = examine(log.view)
    assert finding.belief.policy == policy(presence="any")
    log.commit([policy(simulated=True)])
    with pytest.raises(BrokenLinkError):
        examine(log.view)


@pytest.mark.parametrize("epoch", [0, 2])
def test_key_epochs_count_without_gaps(log: LogSimulator, epoch: int) -> None:
    """A repeated or skipped epoch would hide a key change."""
    log.commit([key_epoch(epoch, NEXT_LOG)])
    with pytest.raises(BrokenLinkError):
        examine(log.view, log_keys=[LOG.verifier, NEXT_LOG.verifier])


def test_a_key_epoch_for_another_owner_is_refused(log: LogSimulator) -> None:
    """The owner key is pinned; a leaf cannot hand the log to somebody else."""
    log.commit([key_epoch(1, LOG, STRANGER)])
    with pytest.raises(UnknownKeyError):
        examine(log.view)


def test_a_head_by_a_key_that_is_not_pinned_is_refused_at_once(log: LogSimulator) -> None:
    """A stranger's head or anchor is refused before any leaf is read."""
    for part in ("head", "anchor"):
        with pytest.raises(UnknownKeyError):
            examine(replace(log.view, **{part: log.sign(STRANGER)}))
    with pytest.raises(UnknownKeyError):
        examine(log.view, log_keys=[])


def test_a_pinned_key_that_no_epoch_names_is_refused(log: LogSimulator) -> None:
    """A pinned but retired or foreign key signs no head: the key-epoch leaves decide."""
    view = View(log.view.leaves, log.sign(NEXT_LOG), log.sign(NEXT_LOG))
    with pytest.raises(UnknownKeyError):
        examine(view, log_keys=[LOG.verifier, NEXT_LOG.verifier])


def test_a_head_whose_root_is_not_that_of_the_leaves_is_refused(log: LogSimulator) -> None:
    """A head for other leaves, signed by the log key itself, does not make these leaves right."""
    note = sign_checkpoint(Checkpoint(ORIGIN, 8, Digest.of(b"other leaves")), [LOG])
    with pytest.raises(DigestMismatchError):
        examine(View(log.view.leaves, note, note))


def test_a_checkpoint_of_another_log_is_refused(log: LogSimulator) -> None:
    """The origin is pinned by the caller, whatever the note says."""
    note = sign_checkpoint(Checkpoint("other", 8, Digest(log.frontier.root())), [LOG])
    for part in ("head", "anchor"):
        with pytest.raises(OriginMismatchError):
            examine(replace(log.view, **{part: note}))


def test_a_revocation_is_a_leaf_like_any_other(log: LogSimulator) -> None:
    """The owner's key signs it, the log's cannot."""
    log.commit([REVOCATION])
    assert examine(log.view).belief.size == 9
    log.append(log.make_leaf(REVOCATION, 9, 1), LOG)
    with pytest.raises(UnknownKeyError):
        examine(log.view)
