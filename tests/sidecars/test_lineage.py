"""``lineage``: a fork is declared once, by both owners, and claimed by nobody else; a restoration is a statement."""

from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from sidecars.envelope import pae, seal
from sidecars.errors import (
    BadSignatureError,
    BrokenLinkError,
    MalformedError,
    NonCanonicalError,
    SidecarError,
    UnknownKeyError,
)
from sidecars.identity import canonical_bytes, strict_loads
from sidecars.keys import Signer
from sidecars.leaf import SIGNED_BY, Kind, Role, format_leaf, open_leaf, payload_type, seal_leaf
from sidecars.lineage import STATEMENT_TYPE, Fork, Restoration, check_fork, declare_fork
from sidecars.trust import Consistent
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, STRANGER, digest_text
from tests.sidecars.simulator import LogSimulator, entry, examine, key_epoch, policy

OLD = "agent-timeline/" + "0b" * 16
OLD_OWNER = Signer(f"{OLD}/owner", b"o" * 32)


def declared(**changes: Any) -> Fork:
    """Give the declaration that the log of the samples goes on from another one."""
    fields: dict[str, Any] = {
        "fork": ORIGIN,
        "owner": OWNER.verifier,
        "origin": OLD,
        "size": 7,
        "root": digest_text("old tree"),
        "old_owner": OLD_OWNER,
    }
    return declare_fork(**(fields | changes))


def forked() -> LogSimulator:
    """Give a log whose third leaf declares it a fork."""
    log = LogSimulator()
    log.commit([declared()])
    return log


# -- the statement ---------------------------------------------------------------------------------------------


def test_the_statement_is_what_the_specification_says() -> None:
    """A third party needs RFC 8785, DSSE's encoding and Ed25519, and no program of ours."""
    from sidecars.encoding import from_base64

    body = declared()
    statement = {
        "schema": "timeline-fork/v1",
        "fork": ORIGIN,
        "owner_key": str(OWNER.verifier),
        "origin": OLD,
        "size": 7,
        "root": digest_text("old tree"),
    }
    message = pae(STATEMENT_TYPE, canonical_bytes(statement))
    OLD_OWNER.verifier.verify(message, from_base64(body.signature, "signature"))


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 8},
        {"root": digest_text("another tree")},
        {"origin": "agent-timeline/" + "0c" * 16},
        {"owner_key": str(STRANGER.verifier)},
        {"old_owner_key": str(STRANGER.verifier)},
        {"signature": "A" * 86 + "=="},
    ],
)
def test_a_changed_field_breaks_the_signature(changes: dict[str, Any]) -> None:
    """Nobody makes the fork of a larger tree, of another log, or of another owner of it."""
    with pytest.raises(BadSignatureError):
        check_fork(msgspec.structs.replace(declared(), **changes), ORIGIN)


def test_a_declaration_fits_one_origin() -> None:
    """It cannot be taken into a third log."""
    with pytest.raises(BadSignatureError):
        check_fork(declared(), "agent-timeline/" + "0d" * 16)


def test_a_log_is_no_fork_of_itself() -> None:
    """That would be a second history under one name."""
    with pytest.raises(BrokenLinkError):
        check_fork(declared(origin=ORIGIN), ORIGIN)


# -- the leaf --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A leaf with a body, as a third one."""

    body: Any

    @property
    def payload(self) -> bytes:
        """Give its payload in its one spelling."""
        log = LogSimulator()
        return format_leaf(log.make_leaf(self.body, 2, 1))


BODIES = (declared(), Restoration("unverified", AT), Restoration("carried", AT))


@pytest.mark.parametrize("body", BODIES, ids=["fork", "unverified", "carried"])
def test_both_are_the_owners_word(body: Any) -> None:
    """A leaf round-trips, signed by the owner; the log key says nothing of it."""
    leaf = LogSimulator().make_leaf(body, 2, 1)
    assert SIGNED_BY[leaf.kind] is Role.OWNER
    assert open_leaf(seal_leaf(leaf, OWNER), OWNER.verifier, LOG.verifier) == leaf
    with pytest.raises(UnknownKeyError):
        open_leaf(seal_leaf(leaf, LOG), OWNER.verifier, LOG.verifier)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (Kind.RESTORATION, "basis", "external"),
        (Kind.RESTORATION, "backed_up_at", -1),
        (Kind.RESTORATION, "more", 1),
        (Kind.FORK, "size", 0),
        (Kind.FORK, "origin", "Not an origin"),
        (Kind.FORK, "old_owner_key", "no key"),
        (Kind.FORK, "owner_key", "no key"),
        (Kind.FORK, "signature", "short"),
        (Kind.FORK, "signature", "A" * 85 + "B=="),
        (Kind.FORK, "more", 1),
    ],
)
def test_a_field_out_of_its_form_is_refused(kind: Kind, field: str, value: object) -> None:
    """Even where the owner has signed it."""
    payload = strict_loads(Place(BODIES[0] if kind is Kind.FORK else BODIES[1]).payload)
    assert isinstance(payload, dict)
    payload["body"][field] = value
    envelope = seal(payload_type(kind), canonical_bytes(payload), [OWNER])
    with pytest.raises((MalformedError, NonCanonicalError, BadSignatureError)):
        open_leaf(envelope, OWNER.verifier, LOG.verifier)


# -- the log ---------------------------------------------------------------------------------------------------


def test_a_declared_fork_is_believed_as_any_log() -> None:
    """It goes on with its own keys."""
    log = forked()
    log.commit([entry("a")])
    assert isinstance(examine(log.view), Consistent)


@pytest.mark.parametrize("before", [[], [entry("a")]], ids=["second", "fourth"])
def test_a_fork_is_declared_by_its_third_leaf(before: list[Any]) -> None:
    """No log changes its descent later, and none declares it twice."""
    log = LogSimulator(started=before != [])
    if before:
        log.commit(before)
    with pytest.raises(BrokenLinkError):
        examine(log.commit([*([] if before else [policy()]), declared(), *([] if before else [key_epoch()])]))
    twice = forked()
    with pytest.raises(BrokenLinkError):
        examine(twice.commit([declared()]))


def test_a_fork_names_the_owner_that_is_pinned() -> None:
    """The old owner has signed for another owner key: whoever took over the log is not that one."""
    log = LogSimulator()
    with pytest.raises(UnknownKeyError):
        examine(log.commit([declared(owner=STRANGER.verifier)]))


def test_a_fork_that_the_old_owner_has_not_signed_is_never_written() -> None:
    """It shows before it is sealed, and again when it is opened."""
    body = msgspec.structs.replace(declared(), size=8)
    log = LogSimulator()
    with pytest.raises(SidecarError):
        log.commit([body])


def test_a_restoration_may_stand_anywhere() -> None:
    """And again after the next one."""
    log = LogSimulator()
    log.commit([Restoration("carried", AT)])
    log.commit([entry("a")])
    assert isinstance(examine(log.commit([Restoration("unverified", AT + 1)])), Consistent)
