"""``trust``: a log key is in force from its epoch to the next one, and nowhere else (X7, CVE-2023-31439)."""

from dataclasses import replace

import pytest

from sidecars.errors import BrokenLinkError, LagError, UnknownKeyError
from sidecars.keys import Signer
from sidecars.leaf import EpochReason
from sidecars.trust import AnchorRepairable, Belief, Consistent, Epoch, HeadRepairable
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, STRANGER, make_enrollment
from tests.sidecars.simulator import LogSimulator, Until, View, entry, examine, key_epoch, policy

SECOND = Signer(ORIGIN, b"n" * 32)
THIRD = Signer(ORIGIN, b"o" * 32)
BOTH = (LOG.verifier, SECOND.verifier)
NEW = (SECOND.verifier,)


@pytest.fixture
def log() -> LogSimulator:
    """Give a log of four leaves: rules, consent, one sidecar."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    log.commit([entry("a")])
    return log


# -- the first head after a change -----------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_a_rotation_is_believed_by_both_signatures_and_repaired_like_any_commit(log: LogSimulator) -> None:
    """Leaf, head, anchor: a crash between leaves one repair; at the end both have signed head and anchor."""
    log.rotate(1, SECOND, Until.STATE)
    assert isinstance(examine(log.view, log_keys=BOTH), HeadRepairable)
    log.publish_head(LOG, SECOND)
    assert isinstance(examine(log.view, log_keys=BOTH), AnchorRepairable)
    log.publish_anchor()
    for pinned in (BOTH, NEW):
        finding = examine(log.view, log_keys=pinned)
        assert isinstance(finding, Consistent)
        assert finding.belief.epochs == (
            Epoch(0, 1, AT + 1, "first", LOG.verifier),
            Epoch(1, 4, AT + 4, "rotation", SECOND.verifier),
        )
        assert finding.belief.head_keys == BOTH
    log.commit([entry("b")])
    finding = examine(log.view, log_keys=NEW)
    assert isinstance(finding, Consistent)
    assert finding.belief.head_keys == NEW


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("part", ["head", "anchor"])
@pytest.mark.parametrize(
    "signers", [(LOG,), (SECOND,), (SECOND, STRANGER), (LOG, STRANGER)], ids=["old", "new", "new+", "old+"]
)
def test_one_signature_on_the_first_head_after_a_rotation_is_refused(
    log: LogSimulator, part: str, signers: tuple[Signer, ...]
) -> None:
    """The owner alone, or the old key alone, does not hand a log over in an orderly way."""
    log.rotate(1, SECOND)
    view = replace(log.view, **{part: log.sign(*signers)})
    with pytest.raises(UnknownKeyError, match=f"{part} of size 5 must be signed|no signature of the note"):
        examine(view, log_keys=BOTH)
    assert isinstance(examine(log.view, log_keys=BOTH), Consistent)


@pytest.mark.requirement("X7")
def test_an_anchor_one_batch_behind_still_needs_both(log: LogSimulator) -> None:
    """The head has gone on, signed by the new key alone; the anchor of the change itself is looked at all the same."""
    log.rotate(1, SECOND)
    single = log.sign(SECOND)
    log.commit([entry("b")], Until.HEAD)
    assert isinstance(examine(log.view, log_keys=NEW), AnchorRepairable)
    with pytest.raises(UnknownKeyError, match="the anchor of size 5"):
        examine(replace(log.view, anchor=single), log_keys=NEW)


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("reason", ["lost", "compromised"])
def test_a_key_that_is_gone_or_stolen_need_not_sign_the_next_head(
    log: LogSimulator, reason: EpochReason
) -> None:
    """The owner's signature on the leaf stands for it; the old key's own signature is not enough."""
    log.commit([key_epoch(1, SECOND, reason=reason)], Until.STATE)
    log.publish_head(SECOND)
    log.publish_anchor()
    finding = examine(log.view, log_keys=NEW)
    assert isinstance(finding, Consistent)
    assert finding.belief.head_keys == NEW
    log.publish_head(LOG)
    log.publish_anchor()
    with pytest.raises(UnknownKeyError, match="of size 5"):
        examine(log.view, log_keys=BOTH)


# -- each key at its own place ---------------------------------------------------------------------------------


@pytest.mark.requirement("X7")
def test_an_old_key_speaks_no_more_after_the_change(log: LogSimulator) -> None:
    """Neither a leaf nor a head by the retired key is believed, however correct, though it were still pinned."""
    log.rotate(1, SECOND)
    for signer in (LOG, SECOND):
        later = log.fork(5)
        later.view = replace(log.view)
        later.append(later.make_leaf(entry("b"), 5, 1), signer)
        if signer is LOG:
            with pytest.raises(UnknownKeyError, match="log key in force"):
                examine(later.view, log_keys=BOTH)
            continue
        later.publish_head(LOG)
        with pytest.raises(UnknownKeyError, match="head of size 6"):
            examine(later.view, log_keys=BOTH)


@pytest.mark.requirement("X7")
def test_an_older_generation_signed_again_with_a_newer_key_is_refused() -> None:
    """A thief of the present key writes the past anew: the leaf, and the head of that time, by his key."""
    forged = LogSimulator()
    forged.commit([make_enrollment()])
    forged.append(forged.make_leaf(entry("a"), 3, 1), SECOND)
    forged.publish_head(SECOND)
    forged.publish_anchor()
    with pytest.raises(UnknownKeyError, match="log key in force"):
        examine(forged.view, log_keys=BOTH)
    honest = LogSimulator()
    honest.commit([make_enrollment()])
    note = honest.sign(SECOND)
    for pinned, rule in ((BOTH, "head of size 3"), (NEW, "must be a pinned one")):
        with pytest.raises(UnknownKeyError, match=rule):
            examine(View(honest.view.leaves, note, note), log_keys=pinned)


@pytest.mark.requirement("X7")
def test_the_key_of_each_leaf_is_that_of_its_own_epoch(log: LogSimulator) -> None:
    """Borders: the leaf that begins an epoch still stands in the one before it."""
    log.rotate(1, SECOND)
    log.commit([entry("b")])
    log.rotate(2, THIRD)
    belief = examine(log.view, log_keys=[THIRD.verifier]).belief
    first, second, third = LOG.verifier, SECOND.verifier, THIRD.verifier
    found = [belief.key_at(index) for index in range(9)]
    assert found == [None, None, first, first, first, second, second, third, third]
    assert Belief().key_at(0) is None


# -- state and trust of two epochs -----------------------------------------------------------------------------


@pytest.mark.requirement("X7", "T65")
def test_older_pins_do_not_pass_under_a_newer_state(log: LogSimulator) -> None:
    """Trust was put back to before the change: the old key is on the newest head, and in force no more."""
    old = log.view
    log.rotate(1, SECOND)
    for anchor in (old.anchor, log.view.anchor):
        with pytest.raises(UnknownKeyError, match="must be a pinned one") as caught:
            examine(replace(log.view, anchor=anchor), log_keys=[LOG.verifier])
        assert "restore the newest" in caught.value.hint
    log.commit([entry("b")])
    with pytest.raises(UnknownKeyError):
        examine(replace(log.view, anchor=old.anchor), log_keys=[LOG.verifier])


@pytest.mark.requirement("X7", "T65")
def test_newer_pins_do_not_pass_over_an_older_state(log: LogSimulator) -> None:
    """State was put back to before the change: its head is by a key that is pinned no more."""
    old = log.view
    log.rotate(1, SECOND)
    for anchor in (old.anchor, log.view.anchor):
        with pytest.raises(UnknownKeyError):
            examine(replace(old, anchor=anchor), log_keys=NEW)


def test_an_earlier_belief_goes_on_across_a_change(log: LogSimulator) -> None:
    """A process that verified the log before learns the new key from the new leaf alone."""
    before = examine(log.view).belief
    log.rotate(1, SECOND)
    finding = examine(log.view, log_keys=BOTH, believed=before, skip=4)
    assert finding.belief == examine(log.view, log_keys=NEW).belief
    log.commit([entry("b")])
    assert isinstance(examine(log.view, log_keys=NEW, believed=finding.belief, skip=5), Consistent)


# -- what an epoch leaf may say --------------------------------------------------------------------------------


@pytest.mark.parametrize("epoch", [1, 3])
def test_key_epochs_count_without_gaps(log: LogSimulator, epoch: int) -> None:
    """A repeated or skipped epoch would hide a key change."""
    log.rotate(1, SECOND)
    log.commit([key_epoch(epoch, THIRD)], Until.STATE)
    with pytest.raises(BrokenLinkError, match="without gaps"):
        examine(log.view, log_keys=BOTH)


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("back", [LOG, SECOND], ids=["an older one", "the same"])
def test_a_key_comes_into_force_once(log: LogSimulator, back: Signer) -> None:
    """Not even the owner's key brings back a key that was lost, stolen or retired."""
    log.rotate(1, SECOND)
    log.commit([key_epoch(2, back)], Until.STATE)
    with pytest.raises(BrokenLinkError, match="twice"):
        examine(log.view, log_keys=BOTH)


def test_a_log_key_bears_the_origin_as_its_name(log: LogSimulator) -> None:
    """C2SP: who reads a head knows whose it is by the key's name."""
    log.commit([key_epoch(1, Signer(f"{ORIGIN}/2", b"n" * 32))], Until.STATE)
    with pytest.raises(BrokenLinkError, match="origin as its name"):
        examine(log.view)


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_key_change_is_a_batch_of_its_own(log: LogSimulator, place: str) -> None:
    """Nothing is slipped in before both keys have signed."""
    bodies = [policy(presence="any"), key_epoch(1, SECOND)]
    log.commit(bodies if place == "last" else bodies[::-1], Until.STATE)
    with pytest.raises(BrokenLinkError, match="batch of its own"):
        examine(log.view, log_keys=BOTH)


def test_two_changes_cannot_follow_one_head(log: LogSimulator) -> None:
    """Each change is completed before the next: at most one batch is ahead of the head."""
    log.rotate(1, SECOND, Until.STATE)
    log.rotate(2, THIRD, Until.STATE)
    with pytest.raises(LagError):
        examine(log.view, log_keys=(*BOTH, THIRD.verifier))


@pytest.mark.requirement("X7")
def test_only_the_owner_changes_a_key(log: LogSimulator) -> None:
    """The old key, the new key, and both together do not."""
    for signer in (LOG, SECOND):
        other = log.fork(4)
        other.view = replace(log.view)
        other.append(other.make_leaf(key_epoch(1, SECOND), 4, 1), signer)
        other.publish_head(LOG, SECOND)
        with pytest.raises(UnknownKeyError, match="owner key in force"):
            examine(other.view, log_keys=BOTH)
    assert OWNER.verifier not in BOTH
