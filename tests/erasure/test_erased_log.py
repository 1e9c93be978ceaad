"""A log of which leaves were erased: believed where the owner has stated it, and refused where not."""

from dataclasses import replace

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.erased import ERASABLE, ERASED_SALT, stored_hash
from sidecars.errors import (
    AnchorAheadError,
    BadSignatureError,
    BrokenLinkError,
    DigestMismatchError,
    ErasureUnstatedError,
    LagError,
    MalformedError,
    SidecarError,
    StateBehindError,
    UnknownKeyError,
)
from sidecars.keys import Signer
from sidecars.leaf import Kind, Leaf, format_leaf, leaf_hash, open_leaf, seal_leaf
from sidecars.trust import AnchorRepairable, Consistent, HeadRepairable, extend_belief
from tests.erasure.erased_logs import KEY, PLAN, enrolled_log, erasure, examined, without
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, digest_text
from tests.sidecars.simulator import LogSimulator, Until, View, entry, key_epoch, policy, standing

PLACES: dict[str, tuple[int, ...]] = {
    "the first of a batch": (5,),
    "the middle of a batch": (6,),
    "the last of a batch": (7,),
    "all but the middle of a batch": (5, 7),
    "a whole batch": (3, 4),
    "the whole batch before the erasure": (5, 6, 7),
    "a batch of one": (2,),
    "the end of one batch and the beginning of the next": (4, 5),
    "everything that may be": (2, 3, 4, 5, 6, 7),
}


@pytest.fixture
def log() -> LogSimulator:
    """Give a log of eight leaves in four batches."""
    return enrolled_log()


# -- what is believed ------------------------------------------------------------------------------------------


@pytest.mark.requirement("M19", "P35")
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_leaves_that_the_owner_had_erased_are_not_missed(log: LogSimulator, places: tuple[int, ...]) -> None:
    """Tree, rules and keys are those of before, wherever in their batches the leaves stood."""
    log.commit([erasure(*places)])
    whole, due = examined(log.view)
    assert due == places
    found, left = examined(without(log.view, places))
    assert left == ()
    assert isinstance(found, Consistent)
    assert found.belief == whole.belief
    assert found.belief.erased == frozenset(places)
    assert found.belief.root == Digest(log.frontier.root())


def test_of_what_was_stated_the_rest_is_due(log: LogSimulator) -> None:
    """A crash in the middle, or bytes that somebody put back: named, there, and not to be answered from."""
    log.commit([erasure(3, 5, 7)])
    assert examined(without(log.view, (5,)))[1] == (3, 7)


def test_erasures_follow_each_other(log: LogSimulator) -> None:
    """Each names what is left; nothing of an earlier one has to be there."""
    log.commit([erasure(3)])
    first = without(log.view, (3,))
    assert isinstance(examined(first)[0], Consistent)
    log.commit([entry("f"), erasure(4, 5), erasure(6)])
    log.commit([erasure(7, 9)])
    finding, due = examined(without(log.view, (3, 4, 5, 6, 7, 9)))
    assert isinstance(finding, Consistent)
    assert due == ()


def test_an_erasure_may_name_no_leaf(log: LogSimulator) -> None:
    """What is only not to be taken in again has no leaf yet."""
    log.commit([erasure(suppressed=(digest_text("s"),))])
    assert examined(log.view)[1] == ()


@pytest.mark.requirement("T66")
@pytest.mark.parametrize("until", [Until.STATE, Until.HEAD])
def test_an_interrupted_erasure_is_repaired_like_any_commit(log: LogSimulator, until: Until) -> None:
    """Before the anchor holds it, no byte has gone."""
    log.commit([erasure(3, 4)], until)
    finding, due = examined(log.view)
    assert isinstance(finding, HeadRepairable if until is Until.STATE else AnchorRepairable)
    assert due == (3, 4)


@pytest.mark.requirement("T66")
@pytest.mark.parametrize("until", [Until.STATE, Until.HEAD])
def test_a_commit_after_an_erasure_is_repaired_like_any_other(log: LogSimulator, until: Until) -> None:
    """Also where the batch before the one that is repaired was erased in part."""
    log.commit([erasure(5, 6, 7)])
    log.commit([entry("f"), entry("g")], until)
    finding, due = examined(without(log.view, (5, 6, 7)))
    assert isinstance(finding, HeadRepairable if until is Until.STATE else AnchorRepairable)
    assert due == ()


def test_the_anchor_may_stand_where_a_whole_batch_was_erased(log: LogSimulator) -> None:
    """A copy made between head and anchor, in which the erasure was carried out: the anchor is one batch behind."""
    anchor = log.view.anchor
    log.commit([erasure(5, 6, 7)])
    finding, _ = examined(without(replace(log.view, anchor=anchor), (5, 6, 7)))
    assert isinstance(finding, AnchorRepairable)
    assert finding.anchor_size == 8


def test_who_goes_on_from_an_earlier_belief_has_to_read_it_all_again(log: LogSimulator) -> None:
    """He was shown the bytes, and cannot see now whether they are gone."""
    believed = examined(log.view)[0].belief
    log.commit([erasure(3)])
    finding, due = examined(without(log.view, (3,)), believed=believed, skip=8)
    assert due == (3,)
    log.commit([entry("f")])
    assert examined(without(log.view, (3,)), believed=finding.belief, skip=9)[1] == ()


def test_key_epochs_before_and_after_an_erasure_keep_their_leaves(log: LogSimulator) -> None:
    """Each leaf that is left is verified with the key in force at its own place."""
    new = Signer(ORIGIN, b"n" * 32)
    keys = (LOG.verifier, new.verifier)
    log.rotate(1, new)
    log.commit([entry("f")])
    log.commit([erasure(3, 4, 9)])
    finding, _ = examined(without(log.view, (3, 4, 9)), log_keys=keys)
    assert isinstance(finding, Consistent)
    assert finding.belief.key_at(9) == new.verifier


# -- what is refused -------------------------------------------------------------------------------------------


@pytest.mark.requirement("M20", "P35")
@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_leaves_that_nobody_has_stated_are_refused(log: LogSimulator, places: tuple[int, ...]) -> None:
    """Who can write the database can take bytes out; the tree still fits, and it is refused all the same."""
    log.commit([entry("f")])
    with pytest.raises(ErasureUnstatedError, match=f"leaf {places[0]}:"):
        examined(without(log.view, places))


@pytest.mark.requirement("M20")
def test_one_leaf_more_than_was_stated_is_refused(log: LogSimulator) -> None:
    """A statement covers what it names, and nothing beside it."""
    log.commit([erasure(3, 5)])
    with pytest.raises(ErasureUnstatedError, match="leaf 4:"):
        examined(without(log.view, (3, 4, 5)))


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_another_hash_in_place_of_the_leaf_is_refused(log: LogSimulator, places: tuple[int, ...]) -> None:
    """What is kept of a leaf is what every later leaf and the head were signed over."""
    log.commit([erasure(*places)])
    for place in places:
        view = without(log.view, places)
        rows = [*view.leaves]
        rows[place] = (ERASED_SALT, bytes(32))
        with pytest.raises((BrokenLinkError, DigestMismatchError)):
            examined(replace(view, leaves=tuple(rows)))


@pytest.mark.parametrize("kept", [b"", b"x" * 31, b"x" * 33, b"timeline-envelope/v1\n"])
def test_what_is_no_hash_is_not_taken_for_an_erased_leaf(log: LogSimulator, kept: bytes) -> None:
    """An empty salt and anything but 32 bytes is neither a leaf nor what is left of one."""
    view = log.view
    rows = [*view.leaves]
    rows[3] = (ERASED_SALT, kept)
    with pytest.raises(MalformedError):
        examined(replace(view, leaves=tuple(rows)))
    with pytest.raises(MalformedError):
        stored_hash(b"s" * 31, b"envelope")


def test_the_hash_of_an_erased_leaf_is_that_of_its_bytes(log: LogSimulator) -> None:
    """So that every proof that was made before stays one."""
    salt, envelope = log.view.leaves[3]
    assert stored_hash(*without(log.view, (3,)).leaves[3]) == leaf_hash(salt, envelope)


@pytest.mark.parametrize("place", [0, 1])
def test_rules_and_keys_are_never_erased(log: LogSimulator, place: int) -> None:
    """The owner's own signature does not make it so: without them nothing behind could be read."""
    log.commit([erasure(place)])
    with pytest.raises(BrokenLinkError, match="must not be erased"):
        examined(log.view)
    with pytest.raises((BrokenLinkError, UnknownKeyError)):
        examined(without(log.view, (place,)))


def test_what_the_owner_consented_to_and_what_was_erased_stay_stated(log: LogSimulator) -> None:
    """A standing consent, and an erasure."""
    log.commit([standing()])
    log.commit([erasure(3)])
    for place in (8, 9):
        log = enrolled_log()
        log.commit([standing()])
        log.commit([erasure(3)])
        log.commit([erasure(place)])
        with pytest.raises(BrokenLinkError, match="must not be erased"):
            examined(log.view)


def test_a_leaf_is_erased_once(log: LogSimulator) -> None:
    """A second plan cannot claim what another one did."""
    log.commit([erasure(3)])
    log.commit([erasure(3, plan=digest_text("another"))])
    with pytest.raises(BrokenLinkError, match="erased once"):
        examined(without(log.view, (3,)))


def test_an_erasure_without_the_owners_signature_is_refused(log: LogSimulator) -> None:
    """The log key records, and takes nothing away."""
    leaf = log.make_leaf(erasure(3), 8, 1)
    log.append(leaf, LOG)
    log.publish_head()
    log.publish_anchor()
    with pytest.raises(UnknownKeyError):
        examined(without(log.view, (3,)))
    with pytest.raises(UnknownKeyError):
        open_leaf(seal_leaf(leaf, LOG), OWNER.verifier, LOG.verifier)
    forged = Signer(OWNER.verifier.name, b"f" * 32)
    with pytest.raises((UnknownKeyError, BadSignatureError)):
        open_leaf(seal_leaf(leaf, forged), OWNER.verifier, LOG.verifier)


@pytest.mark.requirement("T67")
def test_nothing_is_erased_behind_the_head(log: LogSimulator) -> None:
    """An older head and anchor with a newer state: what they do not sign yet was not erased by anybody."""
    old = log.view
    log.commit([entry("f")])
    log.commit([erasure(8)])
    with pytest.raises(LagError):
        examined(replace(without(log.view, (8,)), head=old.head, anchor=old.anchor))


@pytest.mark.requirement("T65", "T66", "T67")
def test_an_older_head_or_anchor_beside_an_erased_log_gets_its_verdict(log: LogSimulator) -> None:
    """The erasure and everything older is at least a batch apart; each mix is an alarm as without it."""
    before = log.view
    log.commit([erasure(3, 4, 5, 6, 7)])
    stated = log.view
    log.commit([entry("f")])
    newest = without(log.view, (3, 4, 5, 6, 7))
    mixes: list[tuple[type[SidecarError], View]] = [
        (LagError, replace(newest, head=before.head, anchor=before.anchor)),
        (LagError, replace(newest, anchor=before.anchor)),
        (AnchorAheadError, replace(newest, head=stated.head)),
    ]
    for reason, view in mixes:
        with pytest.raises(reason) as caught:
            examined(view)
        assert type(caught.value) is reason
    with pytest.raises(StateBehindError):
        examined(replace(newest, leaves=newest.leaves[:9]))
    assert isinstance(examined(replace(newest, head=stated.head, anchor=stated.anchor))[0], HeadRepairable)


def test_a_head_inside_a_batch_is_refused_although_its_beginning_was_erased(log: LogSimulator) -> None:
    """The leaf behind says where its batch began; it cannot have ended in between."""
    log.append(log.make_leaf(entry("f"), 8, 2))
    log.publish_head()
    log.publish_anchor()
    inside = log.view
    log.append(log.make_leaf(entry("g"), 8, 2))
    log.publish_head()
    log.publish_anchor()
    log.commit([erasure(8)])
    with pytest.raises(BrokenLinkError, match="end of a batch"):
        examined(replace(without(log.view, (8,)), anchor=inside.anchor))


def test_a_batch_does_not_reach_into_the_one_before_it(log: LogSimulator) -> None:
    """Behind erased leaves a batch may have begun anywhere among them, and nowhere before."""
    log.commit([entry("f")])
    leaf = log.make_leaf(entry("g"), 7, 3)
    log.append(leaf)
    log.publish_head()
    log.publish_anchor()
    log.commit([erasure(8)])
    with pytest.raises(BrokenLinkError, match="must not reach"):
        examined(without(log.view, (8,)))


def test_the_first_leaf_is_never_one_that_was_erased() -> None:
    """Without the rules there is no log to take anything from."""
    log = LogSimulator(started=False)
    log.commit([policy(), key_epoch()])
    with pytest.raises(BrokenLinkError, match="leaf 0"):
        examined(without(log.view, (0,)))


# -- the leaf --------------------------------------------------------------------------------------------------


def leaf_of(body: object, *, index: int = 8) -> Leaf:
    """Give an erasure as leaf 8, a batch of its own."""
    return Leaf(
        origin=ORIGIN,
        index=index,
        root=digest_text("root"),
        batch_start=8,
        batch_size=index - 7,
        at=1,
        body=body,  # type: ignore[arg-type]  # an erasure that may be none
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"leaves": (), "suppressed": ()},
        {"leaves": (5, 3)},
        {"leaves": (3, 3)},
        {"leaves": (8,)},
        {"leaves": (3, 9)},
        {"leaves": (-1,)},
        {"leaves": tuple(range(4097))},
        {"suppressed": (digest_text("b"), digest_text("a"), digest_text("a"))},
        {"suppressed": ("x",)},
        {"plan": "x"},
        {"key": ""},
    ],
)
def test_a_body_that_states_nothing_or_too_much_is_refused(changes: dict[str, object]) -> None:
    """Empty, out of order, twice, of its own commit, or beyond the bound."""
    body = msgspec.structs.replace(erasure(3, 5), **changes)
    with pytest.raises(MalformedError):
        format_leaf(leaf_of(body))


def test_an_erasure_in_a_later_place_of_its_batch_names_none_of_it() -> None:
    """Nothing is erased by the commit that records it."""
    with pytest.raises(MalformedError):
        format_leaf(leaf_of(erasure(8), index=9))


def test_the_largest_erasure_fits_into_a_leaf() -> None:
    """As many leaves and digests as one may state, of a log as long as one can be."""
    last = 2**53 - 2
    digests = tuple(sorted(digest_text(number) for number in range(4096)))
    body = erasure(*range(last - 4096, last), suppressed=digests)
    leaf = Leaf(
        origin=ORIGIN,
        index=last,
        root=digest_text(0),
        batch_start=last,
        batch_size=1,
        at=AT,
        body=body,
    )
    sealed = seal_leaf(leaf, OWNER)
    assert open_leaf(sealed, OWNER.verifier, LOG.verifier) == leaf
    assert (body.plan, body.key) == (PLAN, KEY)


def test_an_erasure_that_a_belief_does_not_allow_is_not_even_sealed(log: LogSimulator) -> None:
    """Whoever commits finds out before anything is written."""
    belief = examined(log.view)[0].belief
    for body in (erasure(0), erasure(1)):
        with pytest.raises(BrokenLinkError):
            extend_belief(belief, log.make_leaf(body, 8, 1), bytes(32), OWNER.verifier)


def test_every_kind_is_either_one_that_may_be_erased_or_one_that_stays() -> None:
    """A new kind stays until somebody has thought about it."""
    stays = {
        "policy",
        "format-policy",
        "consent-policy",
        "anchor-policy",
        "anchor-recovery",
        "restoration",
        "fork",
        "key-epoch",
        "evidence-policy",
        "erasure",
        "forget-report",
    }
    assert set(Kind) - ERASABLE == stays
