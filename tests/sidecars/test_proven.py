"""``proven``: whose keys are needed, and which parts do not belong together."""

import hashlib
from collections.abc import Callable

import msgspec
import pytest

from sidecars.bundle import parse_bundle
from sidecars.cosignature import WitnessSigner
from sidecars.digest import Digest
from sidecars.envelope import Envelope, EnvelopeSignature, format_envelope, pae, parse_envelope
from sidecars.errors import (
    BadProofError,
    BadSignatureError,
    BrokenLinkError,
    CosignatureMissingError,
    DigestMismatchError,
    MalformedError,
    OriginMismatchError,
    PayloadTypeError,
    SidecarError,
    UnknownKeyError,
)
from sidecars.event import format_event
from sidecars.keys import Signer, Verifier
from sidecars.leaf import EpochReason, Kind, SidecarEntry, parse_leaf
from sidecars.merkle import leaf_hash
from sidecars.note import Note, NoteSignature, format_note, parse_note
from sidecars.proven import not_proved, verify_bundle
from tests.sidecars.proofs import (
    KEYS,
    WITNESSES,
    Case,
    edited,
    enter,
    events_of,
    make_case,
    with_leaf,
    witness_keys,
)
from tests.sidecars.samples import (
    ENROLLMENT,
    LOG,
    ORIGIN,
    OWNER,
    SOURCE,
    STRANGER,
    make_event,
)
from tests.sidecars.simulator import REVOCATION, LogSimulator, entry, key_epoch, policy

NEW_LOG = Signer(ORIGIN, hashlib.sha256(b"the next log key").digest())
CONTENT = make_case().but(witnesses=WITNESSES).content


# -- keys ------------------------------------------------------------------------------------------------------


def renamed(signer: Signer, name: str) -> Verifier:
    """Give the same public key under another name."""
    return Verifier(name, signer.verifier.public_key)


@pytest.mark.requirement("X6")
@pytest.mark.parametrize(
    "keys",
    [
        (),
        (LOG.verifier,),
        (OWNER.verifier,),
        (OWNER.verifier, STRANGER.verifier),
        (renamed(STRANGER, f"{ORIGIN}/owner"), LOG.verifier),
        (
            renamed(OWNER, "agent-timeline/" + "0b" * 16 + "/owner"),
            renamed(LOG, "agent-timeline/" + "0b" * 16),
        ),
        (OWNER.verifier, NEW_LOG.verifier),
    ],
    ids=["none", "no owner", "no log", "stranger", "strange owner", "another log's", "another epoch's"],
)
def test_without_every_right_key_there_is_no_verdict(keys: tuple[Verifier, ...]) -> None:
    """Missing, strange, another log's, another epoch's: by no supplied key, and the hint says what to do."""
    with pytest.raises(UnknownKeyError) as refused:
        verify_bundle(make_case().content, keys)
    assert "--key" in refused.value.hint


def test_keys_that_are_not_needed_do_no_harm() -> None:
    """Whoever checks several logs gives all his keys at once."""
    assert verify_bundle(make_case().content, (STRANGER.verifier, NEW_LOG.verifier, *KEYS, *KEYS))


def test_two_supplied_keys_under_one_name_and_id_are_refused() -> None:
    """An id has four bytes and can be made to meet; that is the caller's input and no crash."""

    class Twin(Verifier):
        @property
        def key_id(self) -> bytes:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
            return LOG.verifier.key_id

    with pytest.raises(MalformedError, match="share one name and id"):
        verify_bundle(make_case().content, (*KEYS, Twin(ORIGIN, STRANGER.verifier.public_key)))


@pytest.mark.requirement("X6")
def test_every_cosignature_must_be_by_a_supplied_witness_and_every_witness_must_have_cosigned() -> None:
    """One too many in the file, one too many asked for, the same key under another name: refused."""
    with pytest.raises(UnknownKeyError, match="witness signature"):
        verify_bundle(CONTENT, KEYS)
    with pytest.raises(UnknownKeyError, match="witness signature"):
        verify_bundle(CONTENT, KEYS, witness_keys(1))
    with pytest.raises(CosignatureMissingError):
        verify_bundle(make_case().but(witnesses=WITNESSES[:1]).content, KEYS, witness_keys())
    with pytest.raises(CosignatureMissingError):
        verify_bundle(make_case().content, KEYS, witness_keys(1))
    other = WitnessSigner("witness.example/w1", b"3" * 32)
    with pytest.raises(UnknownKeyError):
        verify_bundle(make_case().but(witnesses=(other,)).content, KEYS, witness_keys(1))


def test_a_cosignature_of_another_tree_is_refused() -> None:
    """A witness's line is taken from an older checkpoint of the same log."""
    old = parse_note(parse_bundle(make_case(after=1).but(witnesses=WITNESSES[:1]).content).checkpoint)
    new = parse_note(parse_bundle(make_case().content).checkpoint)
    note = format_note(Note(new.text, (*new.signatures, old.signatures[-1])))
    with pytest.raises(BadSignatureError):
        verify_bundle(edited(make_case().content, checkpoint=note), KEYS, witness_keys(1))


def test_a_head_whose_signature_does_not_fit_is_refused() -> None:
    """The line names the log key and its bytes are those of another text."""
    note = parse_note(parse_bundle(make_case().content).checkpoint)
    forged = NoteSignature(LOG.ref, LOG.sign(b"another text\n"))
    with pytest.raises(BadSignatureError):
        verify_bundle(edited(make_case().content, checkpoint=format_note(Note(note.text, (forged,)))), KEYS)


def test_a_witness_cannot_stand_in_for_the_log_nor_the_log_for_a_witness() -> None:
    """The checkpoint needs a log key; a cosignature made with the log's key is by no supplied witness."""
    note = parse_note(parse_bundle(CONTENT).checkpoint)
    only = format_note(Note(note.text, tuple(s for s in note.signatures if len(s.signature) == 72)))
    with pytest.raises(UnknownKeyError, match="must be signed by a log key"):
        verify_bundle(edited(CONTENT, checkpoint=only), KEYS, witness_keys())
    posing = WitnessSigner(ORIGIN, hashlib.sha256(b"log").digest())
    with pytest.raises(UnknownKeyError):
        verify_bundle(make_case().but(witnesses=(posing,)).content, KEYS, witness_keys(0))


def test_an_unknown_signature_on_the_checkpoint_is_refused() -> None:
    """A note allows strangers' lines; a proof does not, since nobody could say what they add."""
    with pytest.raises(UnknownKeyError):
        verify_bundle(make_case().but(signers=(LOG, STRANGER)).content, KEYS)


# -- parts that do not belong together -------------------------------------------------------------------------


@pytest.mark.requirement("X6")
def test_a_proof_of_one_event_is_none_of_another() -> None:
    """Line, place and path of another event of the same sidecar, or of another sidecar, are refused one by one."""
    case = make_case(events=4, place=1)
    other = make_case(events=5, place=2)
    content = case.content
    for donor in (case.but(place=2).content, other.content):
        taken = parse_bundle(donor)
        for change in ({"event": taken.event}, {"place": taken.place}, {"hashes": taken.hashes}):
            with pytest.raises(BadProofError):
                verify_bundle(edited(content, **change), KEYS)
    taken = parse_bundle(other.content)
    with pytest.raises(BadProofError):
        verify_bundle(edited(content, event=taken.event, place=taken.place, hashes=taken.hashes), KEYS)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_each_leaf_must_stand_where_it_says(number: int) -> None:
    """Index, salt, envelope and path of a leaf are held together by the root."""
    content = make_case().content
    leaves = parse_bundle(content).leaves
    leaf = leaves[number]
    for change in (
        {"salt": bytes(32)},
        {"hashes": leaf.hashes[:-1]},
        {"hashes": (*leaf.hashes, bytes(32))},
        {"hashes": leaves[number - 1].hashes},
        {"envelope": leaves[number - 1].envelope},
        {"envelope": leaf.envelope[:-1]},
        {"salt": leaf.salt + leaf.envelope[:1], "envelope": leaf.envelope[1:]},
    ):
        if change.get("salt", b"")[32:]:
            with pytest.raises(MalformedError):
                with_leaf(content, number, **change)
            continue
        with pytest.raises(BadProofError):
            verify_bundle(with_leaf(content, number, **change), KEYS)
    with pytest.raises(BadProofError):
        verify_bundle(with_leaf(content, 2, index=3), KEYS)


def test_another_checkpoint_of_the_same_log_does_not_fit() -> None:
    """A newer or an older head, correctly signed, has another root."""
    donor = parse_bundle(make_case(after=5).content).checkpoint
    with pytest.raises(BadProofError):
        verify_bundle(edited(make_case().content, checkpoint=donor), KEYS)


def leaf_sets() -> dict[str, tuple[Callable[[LogSimulator], None], tuple[int, ...], type[SidecarError]]]:
    """Give what is appended after a sidecar leaf (2), which leaves are shown besides, and the refusal."""

    def more(log: LogSimulator) -> None:
        log.commit([entry("more")])

    def later_policy(log: LogSimulator) -> None:
        log.commit([policy(presence="any")])

    def revocation(log: LogSimulator) -> None:
        log.commit([REVOCATION])

    def same_key_again(log: LogSimulator) -> None:
        log.commit([key_epoch(1)])

    def unused_key(log: LogSimulator) -> None:
        log.commit([key_epoch(1, NEW_LOG), key_epoch(2)])

    return {
        "no policy": (more, (1,), BrokenLinkError),
        "no epoch": (more, (0,), UnknownKeyError),
        "two entries": (more, (0, 1, 3), BrokenLinkError),
        "two policies": (later_policy, (0, 1, 3), BrokenLinkError),
        "a later policy only": (later_policy, (1, 3), BrokenLinkError),
        "a revocation": (revocation, (0, 1, 3), PayloadTypeError),
        "an epoch too many": (same_key_again, (0, 1, 3), BrokenLinkError),
        "an epoch without a signature": (unused_key, (0, 1, 3, 4), BrokenLinkError),
    }


@pytest.mark.parametrize("what", sorted(leaf_sets()))
def test_exactly_the_needed_leaves_are_shown(what: str) -> None:
    """The first policy, the needed epochs, one entry; less shows too little and more could mislead."""
    append, shown, refusal = leaf_sets()[what]
    log = LogSimulator()
    leaf, sidecar = enter(log, events_of(1))
    append(log)
    with pytest.raises(refusal):
        verify_bundle(Case(log, leaf, sidecar, shown=shown).content, (*KEYS, NEW_LOG.verifier))


def test_the_log_key_cannot_play_the_owner() -> None:
    """Whoever has the log key only signs policy and epoch with it and names it as owner: roles come from our keys."""
    log = LogSimulator(started=False)
    log.owner = LOG
    log.commit([policy(), key_epoch(owner=LOG)])
    leaf, sidecar = enter(log, events_of(1))
    with pytest.raises(UnknownKeyError, match="name must be that of the log's owner key"):
        verify_bundle(Case(log, leaf, sidecar).content, KEYS)


def test_the_owner_key_cannot_play_the_log() -> None:
    """A sidecar's leaf, or a checkpoint, that the owner key signed is not the log's."""
    log = LogSimulator()
    log.log = OWNER
    leaf, sidecar = enter(log, events_of(1))
    with pytest.raises(UnknownKeyError, match="name must be that of the log's log key"):
        verify_bundle(Case(log, leaf, sidecar).content, KEYS)
    with pytest.raises(UnknownKeyError, match="name must be that of the log's log key"):
        verify_bundle(make_case().but(signers=(OWNER,)).content, KEYS)


def test_an_epoch_must_name_the_owner_that_signed_it() -> None:
    """An epoch that names another owner key is not one that our owner stands by."""
    other = Signer(f"{ORIGIN}/owner", b"o" * 32)
    log = LogSimulator(started=False)
    log.commit([policy(), key_epoch(owner=other)])
    leaf, sidecar = enter(log, events_of(1))
    with pytest.raises(UnknownKeyError, match="must name the owner key"):
        verify_bundle(Case(log, leaf, sidecar).content, (*KEYS, other.verifier))


# -- key epochs ------------------------------------------------------------------------------------------------


def rotated(signers: tuple[Signer, ...] = (NEW_LOG,), shown: tuple[int, ...] = (0, 1, 3)) -> Case:
    """Give a log whose key changes at leaf 3; the event stands before, in leaf 2."""
    log = LogSimulator()
    leaf, sidecar = enter(log, events_of(2))
    log.commit([key_epoch(1, NEW_LOG)])
    log.log = NEW_LOG
    log.commit([entry("after")])
    return Case(log, leaf, sidecar, shown=shown, signers=signers)


BOTH = (*KEYS, NEW_LOG.verifier)


def test_an_event_of_an_older_epoch_is_proven_under_a_newer_head() -> None:
    """Both epochs are shown and both keys are needed, with one signature on the head or, right after, with two."""
    for case in (rotated(), rotated((LOG, NEW_LOG))):
        proven = verify_bundle(case.content, BOTH)
        assert (proven.epoch, set(proven.log_keys)) == (0, {LOG.verifier.ref, NEW_LOG.verifier.ref})
        assert proven.checkpoint_key == NEW_LOG.verifier.ref
        for keys in (KEYS, (OWNER.verifier, NEW_LOG.verifier)):
            with pytest.raises(UnknownKeyError):
                verify_bundle(case.content, keys)


def test_an_event_of_the_newer_epoch_needs_no_older_key() -> None:
    """Who trusts the present key and the owner need not know the past."""
    log = LogSimulator()
    log.commit([key_epoch(1, NEW_LOG)])
    log.log = NEW_LOG
    leaf, sidecar = enter(log, events_of(1))
    proven = verify_bundle(
        Case(log, leaf, sidecar, shown=(0, 2), signers=(NEW_LOG,)).content, (OWNER.verifier, NEW_LOG.verifier)
    )
    assert (proven.epoch, proven.log_keys) == (1, (NEW_LOG.verifier.ref,))


@pytest.mark.requirement("X7")
def test_the_first_head_after_a_rotation_proves_by_both_signatures() -> None:
    """Before, at and right after the change; the new key's signature alone is one that no orderly log shows."""
    log = LogSimulator()
    leaf, sidecar = enter(log, events_of(2))
    before = Case(log, leaf, sidecar)
    assert verify_bundle(before.content, KEYS).checkpoint.size == 3
    log.rotate(1, NEW_LOG)
    at = Case(log, leaf, sidecar, shown=(0, 1, 3), signers=(LOG, NEW_LOG))
    assert verify_bundle(at.content, BOTH).log_keys == tuple(sorted((LOG.ref, NEW_LOG.ref)))
    with pytest.raises(UnknownKeyError, match="first checkpoint after a rotation"):
        verify_bundle(at.but(signers=(NEW_LOG,)).content, BOTH)
    with pytest.raises(UnknownKeyError, match="newest epoch"):
        verify_bundle(at.but(signers=(LOG,)).content, BOTH)
    log.commit([entry("after")])
    after = Case(log, leaf, sidecar, shown=(0, 1, 3), signers=(NEW_LOG,))
    assert verify_bundle(after.content, BOTH).epoch == 0


@pytest.mark.requirement("X7")
@pytest.mark.parametrize("reason", ["lost", "compromised", "rotation"])
def test_a_proof_says_where_its_own_log_key_was_declared_stolen(reason: EpochReason) -> None:
    """What a thief could have written is named as that; a key that was lost or replaced is no such thing."""
    log = LogSimulator()
    leaf, sidecar = enter(log, events_of(1))
    log.commit([key_epoch(1, NEW_LOG, reason=reason)])
    log.log = NEW_LOG
    signers = (LOG, NEW_LOG) if reason == "rotation" else (NEW_LOG,)
    proven = verify_bundle(Case(log, leaf, sidecar, shown=(0, 1, 3), signers=signers).content, BOTH)
    stolen = reason == "compromised"
    assert proven.compromised == stolen
    assert any("stolen" in item for item in not_proved(proven)) == stolen
    second, sidecar = enter(log, events_of(2))
    later = verify_bundle(
        Case(log, second, sidecar, shown=(0, 3), signers=(NEW_LOG,)).content,
        (OWNER.verifier, NEW_LOG.verifier),
    )
    assert not later.compromised


def test_a_key_of_another_epoch_proves_nothing() -> None:
    """A newer key under an older leaf, an older key under a newer leaf or head: refused, all keys being known."""
    with pytest.raises(UnknownKeyError, match="newest epoch"):
        verify_bundle(rotated((LOG,)).content, BOTH)  # an old key signs a new head
    with pytest.raises(UnknownKeyError, match="of its epoch"):
        verify_bundle(rotated(shown=(0, 3)).content, BOTH)  # the old epoch is hidden
    log = LogSimulator()
    log.log = NEW_LOG
    leaf, sidecar = enter(log, events_of(1))  # an old generation, signed again with the newer key
    log.commit([key_epoch(1, NEW_LOG)])
    for shown in ((0, 1, 3), (0, 3)):
        with pytest.raises(UnknownKeyError, match="of its epoch"):
            verify_bundle(Case(log, leaf, sidecar, shown=shown, signers=(NEW_LOG,)).content, BOTH)
    log = LogSimulator()
    log.commit([key_epoch(1, NEW_LOG)])
    leaf, sidecar = enter(log, events_of(1))  # the old key goes on after the change
    with pytest.raises(UnknownKeyError, match="of its epoch"):
        verify_bundle(Case(log, leaf, sidecar, shown=(0, 1, 2), signers=(NEW_LOG,)).content, BOTH)


def test_each_epoch_shown_is_needed_and_each_needed_one_is_shown() -> None:
    """An epoch between whose key signed nothing here, and a signature on the head whose epoch is not shown."""
    third = Signer(ORIGIN, hashlib.sha256(b"the third log key").digest())
    log = LogSimulator()
    leaf, sidecar = enter(log, events_of(1))
    log.commit([key_epoch(1, NEW_LOG)])
    log.commit([key_epoch(2, third)])
    log.log = third
    log.commit([entry("after")])
    case = Case(log, leaf, sidecar, shown=(0, 1, 4), signers=(third,))
    keys = (*BOTH, third.verifier)
    assert verify_bundle(case.content, keys).epoch == 0
    with pytest.raises(BrokenLinkError, match="exactly the epochs"):
        verify_bundle(case.but(shown=(0, 1, 3, 4)).content, keys)
    with pytest.raises(BrokenLinkError, match="exactly the epochs"):
        verify_bundle(rotated((LOG, NEW_LOG), shown=(0, 1)).content, BOTH)


def test_epochs_count_upwards() -> None:
    """A log that goes back to an older epoch's number is refused."""
    log = LogSimulator(started=False)
    log.commit([policy(), key_epoch(1)])
    leaf, sidecar = enter(log, events_of(1))
    log.commit([key_epoch(0, NEW_LOG)])
    with pytest.raises(BrokenLinkError, match="count upwards"):
        verify_bundle(Case(log, leaf, sidecar, shown=(0, 1, 3), signers=(NEW_LOG,)).content, BOTH)


# -- what the log itself states wrongly ------------------------------------------------------------------------


def test_a_leaf_of_another_log_or_place_is_refused_though_it_is_in_the_tree() -> None:
    """A leaf says its origin and index; both must be those at which it was found."""
    for change, refusal in (
        ({"origin": "another-log"}, OriginMismatchError),
        ({"index": 5}, BrokenLinkError),
    ):
        log = LogSimulator()
        _, sidecar = enter(log, events_of(1))
        body = parse_leaf(parse_envelope(log.view.leaves[2][1]).payload, Kind.SIDECAR).body
        leaf = log.make_leaf(body, 3, 3)
        log.append(msgspec.structs.replace(leaf, **change))
        with pytest.raises(refusal):
            verify_bundle(Case(log, 3, sidecar).content, KEYS)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_leaf_with_a_bad_signature_is_refused_though_it_is_in_the_tree(number: int) -> None:
    """Being in a signed tree is not enough: policy, epoch and entry each need the signature of their key."""
    whole = LogSimulator()
    leaf, sidecar = enter(whole, events_of(1))
    log = LogSimulator(started=False)
    for index, (_, envelope) in enumerate(whole.view.leaves):
        if index == number:
            parsed = parse_envelope(envelope)
            forged = EnvelopeSignature(parsed.signatures[0].key, STRANGER.sign(b"something else"))
            envelope = format_envelope(Envelope(parsed.payload_type, (forged,), parsed.payload))  # noqa: PLW2901 - replaced
        log.append_bytes(envelope)
    with pytest.raises(BadSignatureError):
        verify_bundle(Case(log, leaf, sidecar).content, KEYS)


def test_a_countersigned_leaf_is_refused() -> None:
    """An envelope allows others' signatures; in a proof each must be verified, so a leaf has exactly one."""
    log = LogSimulator()
    enter(log, events_of(1))
    _, sidecar = enter(LogSimulator(), events_of(1))
    envelope = parse_envelope(log.view.leaves[2][1])
    extra = EnvelopeSignature(
        STRANGER.verifier.ref, STRANGER.sign(pae(envelope.payload_type, envelope.payload))
    )
    signatures = tuple(sorted((*envelope.signatures, extra), key=EnvelopeSignature.line))
    log.append_bytes(format_envelope(Envelope(envelope.payload_type, signatures, envelope.payload)))
    with pytest.raises(UnknownKeyError, match="exactly one signature"):
        verify_bundle(Case(log, 3, sidecar).content, KEYS)


def test_an_event_whose_id_is_not_its_own_is_refused() -> None:
    """The id must be that of the leaf's source and the event's lines, though the log key signed the line."""
    line = format_event(make_event(0, id="timeline-event:" + "0" * 32))
    log = LogSimulator()
    log.commit(
        [
            SidecarEntry(
                digest=str(Digest.of(b"x")),
                source=SOURCE,
                segment=0,
                enrollment_id=ENROLLMENT,
                count=1,
                root=str(Digest(leaf_hash(line))),
            )
        ]
    )
    _, sidecar = enter(LogSimulator(), events_of(1))
    content = Case(log, 2, sidecar).content
    with pytest.raises(DigestMismatchError):
        verify_bundle(edited(content, event=line, place=0, hashes=()), KEYS)
