"""``consent``: what the log key may enroll, decided by whoever reads the log, with nothing but the log."""

import hashlib
import json

import msgspec
import pytest

from sidecars.bundle import BundleLeaf
from sidecars.checkpoint import Checkpoint
from sidecars.consent import (
    StandingConsent,
    check_consent_policy,
    find_consent,
    is_consent_change,
    with_consent,
)
from sidecars.digest import Digest
from sidecars.envelope import parse_envelope
from sidecars.errors import (
    BrokenLinkError,
    MalformedError,
    NonCanonicalError,
    PayloadTypeError,
    UnknownKeyError,
)
from sidecars.identity import canonical_bytes, strict_loads
from sidecars.keys import Signer
from sidecars.leaf import Body, ConsentPolicy, Enrollment, Kind, format_leaf, leaf_hash, parse_leaf
from sidecars.merkle import inclusion_proof
from sidecars.proven import _open_leaf, _Ring
from sidecars.trust import Consistent
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, digest_text, make_enrollment
from tests.sidecars.simulator import LogSimulator, examine, policy, standing

FIRST = 2
"""The leaf behind policy and key epoch, where the tests put the standing consent."""


def enrolled(consent: int | None = FIRST, *, number: int = 0, **changes: object) -> Enrollment:
    """Give an enrollment that rests on the consent of a leaf."""
    fields = {"enrollment_id": f"timeline-enrollment:{number:032x}", "receipt_digest": digest_text(number)}
    return make_enrollment(consent=consent, **(fields | changes))


def followed(**changes: object) -> Enrollment:
    """Give one that follows the file."""
    return enrolled(mode="follow", expires_at=AT + 1, recall_until=AT + 2, **changes)


def bound(**changes: object) -> Enrollment:
    """Give one with another binding."""
    body = enrolled()
    return msgspec.structs.replace(body, binding=msgspec.structs.replace(body.binding, **changes))


def log_of(*batches: list[Body]) -> LogSimulator:
    """Give a log with these commits behind its first one."""
    log = LogSimulator()
    for bodies in batches:
        log.commit(bodies)
    return log


@pytest.mark.requirement("T8")
@pytest.mark.parametrize(
    ("consent", "body"),
    [
        (standing(), enrolled()),
        (standing(follow=True), followed()),
        (standing(follow=True), enrolled()),
    ],
    ids=["snapshot", "follow", "less than was consented to"],
)
def test_a_reader_of_the_log_admits_what_the_owner_has_consented_to(consent: Body, body: Body) -> None:
    """An enrollment by the log key is believed where the named consent is in force and covers it."""
    log = log_of([consent], [body])
    finding = examine(log.view)
    assert isinstance(finding, Consistent)
    assert [one.leaf for one in finding.belief.consents] == [FIRST]
    assert leaf_signer(log, -1) == LOG.ref


@pytest.mark.requirement("T8")
@pytest.mark.parametrize(
    "batches",
    [
        [[enrolled()]],
        [[standing()], [enrolled(FIRST + 1)]],
        [[standing()], [enrolled(0)]],
        [[standing()], [standing(allowed=False)], [enrolled()]],
        [[standing()], [standing(follow=True)], [enrolled()]],
        [[standing()], [bound(project="/srv/u/other")]],
        [[standing()], [bound(host="claude")]],
        [[standing(host="claude")], [enrolled()]],
        [[standing(project="/srv/u")], [enrolled()]],
        [[standing()], [followed()]],
        [[standing(follow=True)], [standing()], [followed(consent=FIRST + 1)]],
        [[standing(), standing(allowed=False), enrolled()]],
        [[enrolled(FIRST + 1), standing()]],
    ],
    ids=[
        "no consent",
        "names itself",
        "names another leaf",
        "removed",
        "replaced by a newer one",
        "other project",
        "other host",
        "consent for another host",
        "project above",
        "follow not allowed",
        "follow not allowed any more",
        "removed in the same commit",
        "consent comes later",
    ],
)
def test_a_reader_of_the_log_refuses_what_no_consent_covers(batches: list[list[Body]]) -> None:
    """Whoever has the log key alone cannot enroll: the whole log is refused, by anyone who reads it."""
    with pytest.raises(BrokenLinkError):
        examine(log_of(*batches).view)


@pytest.mark.parametrize("signer", [LOG, OWNER], ids=["log", "owner"])
def test_the_body_says_which_key_it_needs(signer: Signer) -> None:
    """Without a consent the log key is refused as before; with one, the owner key has no business there."""
    body = enrolled() if signer is OWNER else enrolled(None)
    log = log_of([standing()])
    log.append(log.make_leaf(body, FIRST + 1, 1), signer)
    log.publish_head()
    log.publish_anchor()
    with pytest.raises(UnknownKeyError):
        examine(log.view)


def test_before_the_first_epoch_nothing_rests_on_a_consent() -> None:
    """There is no log key yet that could say so."""
    log = LogSimulator(started=False)
    log.commit([policy(), standing(), enrolled(1)])
    with pytest.raises(UnknownKeyError):
        examine(log.view)


@pytest.mark.parametrize(
    "batches",
    [
        [[standing(allowed=False)]],
        [[standing()], [standing()]],
        [[standing()], [standing(allowed=False)], [standing(allowed=False)]],
    ],
    ids=["nothing to take back", "said twice", "taken back twice"],
)
def test_a_decision_that_changes_nothing_is_refused(batches: list[list[Body]]) -> None:
    """Each decision in the log is one that the owner has made."""
    with pytest.raises(BrokenLinkError):
        examine(log_of(*batches).view)


def test_consents_stand_apart() -> None:
    """There is at most one for a host and a project, and taking one back leaves the others."""
    one, other, newer = standing(), standing(host="kimi"), standing(follow=True)
    consents = with_consent(with_consent((), 2, AT, one), 3, AT, other)
    consents = with_consent(consents, 4, AT + 1, newer)
    assert consents == (StandingConsent(3, AT, other), StandingConsent(4, AT + 1, newer))
    assert find_consent(consents, one.host, one.project) == StandingConsent(4, AT + 1, newer)
    left = with_consent(consents, 5, AT + 2, standing(allowed=False))
    assert left == (StandingConsent(3, AT, other),)
    assert find_consent(left, one.host, one.project) is None
    assert is_consent_change(left, one)
    assert not is_consent_change(left, other)


def test_consents_outlive_a_change_of_the_log_key() -> None:
    """The owner's word stands whoever records; the new log key enrolls by it, the old one no more."""
    log = log_of([standing()])
    new = Signer(ORIGIN, hashlib.sha256(b"new log").digest())
    log.rotate(1, new)
    log.commit([enrolled()])
    assert isinstance(examine(log.view, log_keys=[new.verifier]), Consistent)
    log.append(log.make_leaf(enrolled(number=1), FIRST + 3, 1), LOG)
    log.publish_head()
    log.publish_anchor()
    with pytest.raises(UnknownKeyError):
        examine(log.view, log_keys=[new.verifier])


def test_a_consent_that_is_taken_back_says_no_more() -> None:
    """Taking back has one spelling."""
    with pytest.raises(MalformedError):
        check_consent_policy(ConsentPolicy("codex", "/p", follow=True, allowed=False))


def test_older_enrollments_keep_their_bytes() -> None:
    """The field is left out where it says nothing, and writing it out as null is another spelling."""
    log = LogSimulator()
    payload = format_leaf(log.make_leaf(enrolled(None), FIRST, 1))
    fields = json.loads(payload)
    assert "consent" not in fields["body"]
    assert len(fields["body"]) == 9
    assert parse_leaf(payload, Kind.ENROLLMENT).body == enrolled(None)
    fields["body"]["consent"] = None
    with pytest.raises(NonCanonicalError):
        parse_leaf(canonical_bytes(strict_loads(json.dumps(fields).encode())), Kind.ENROLLMENT)


@pytest.mark.parametrize("body", [standing(), enrolled()], ids=["consent", "enrollment"])
def test_an_offline_proof_shows_neither(body: Body) -> None:
    """Both name folders of the owner: a proof of one event refuses to carry them."""
    log = log_of(*([] if isinstance(body, ConsentPolicy) else [[standing()]]), [body])
    index = len(log.view.leaves) - 1
    salt, envelope = log.view.leaves[index]
    hashes = [leaf_hash(*leaf) for leaf in log.view.leaves]
    shown = BundleLeaf(index, salt, envelope, inclusion_proof(hashes, index))
    checkpoint = Checkpoint(ORIGIN, len(hashes), Digest(log.frontier.root()))
    with pytest.raises(PayloadTypeError):
        _open_leaf(shown, checkpoint, _Ring(ORIGIN, [OWNER.verifier, LOG.verifier]))


def leaf_signer(log: LogSimulator, index: int) -> object:
    """Give who has signed a leaf."""
    (signature,) = parse_envelope(log.view.leaves[index][1]).signatures
    return signature.key
