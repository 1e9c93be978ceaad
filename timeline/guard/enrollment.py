"""Enrollment: the owner's confirmed, expiring consent to read one source, as a signed leaf (T10 to T13).

What is enrolled is a snapshot, fixed when the receipt is spent; where the owner asked to follow the file, each
extension makes a newer one. Every use checks again that the enrollment still counts and what the file is.
"""

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from sidecars.leaf import EnrolledSource as WireSource
from sidecars.leaf import Enrollment
from timeline.errors import ClockError, ConfirmationError, EnrollmentExpiredError, ReceiptChangedError
from timeline.source import Snapshot
from timeline.view import EnrolledSource

if TYPE_CHECKING:
    from timeline.guard.receipt import Receipt

_REF_HEX_DIGITS: Final = 32


def check_confirmed(*, confirmed: bool) -> None:
    """The owner must have said so in words; no default does (T10).

    Raises:
        ConfirmationError: not said.
    """
    if not confirmed:
        message = "enrolling lets this program read the transcript of a session"
        raise ConfirmationError(message)


def check_covered(receipt: "Receipt", now: Snapshot) -> None:
    """The file that is there now must be the one that the receipt was issued for, equal or grown since.

    Raises:
        ReceiptChangedError: it is not.
    """
    if not receipt.source.covers(now):
        message = f"{receipt.source.path}: not the file that the host reported, or not grown from it"
        raise ReceiptChangedError(message)


def make_enrollment(
    receipt: "Receipt",
    now: Snapshot,
    *,
    now_ms: int,
    recall_seconds: int,
    follow_seconds: int | None = None,
    consent: int | None = None,
) -> Enrollment:
    """The consent that a spent receipt and the present file add up to.

    With ``follow_seconds`` the file may grow for so long, and no longer than it may be recalled. ``consent`` is the
    leaf of the standing consent that it rests on; without one, the owner himself has said so.

    Raises:
        ReceiptChangedError: the file is not the one that the receipt was issued for, or has not grown from it.
    """
    check_covered(receipt, now)
    ends = now_ms + recall_seconds * 1000
    follows = ends if follow_seconds is None else min(ends, now_ms + follow_seconds * 1000)
    receipt_text = str(Digest(receipt.digest))
    identity = canonical_bytes({"receipt": receipt_text, "schema": "timeline-enrollment-id/v1"})
    return Enrollment(
        enrollment_id="timeline-enrollment:" + hashlib.sha256(identity).hexdigest()[:_REF_HEX_DIGITS],
        receipt_digest=receipt_text,
        binding=receipt.binding,
        source=WireSource(
            ref=source_ref(receipt, now),
            path=now.path,
            device=str(now.device),
            inode=str(now.inode),
            size=now.size,
            mtime_ns=str(now.mtime_ns),
            ctime_ns=str(now.ctime_ns),
            prefix_length=now.prefix_length,
            prefix_digest=str(Digest(now.prefix_digest)),
        ),
        mode="snapshot" if follow_seconds is None else "follow",
        confirmed_at=now_ms,
        expires_at=follows,
        recall_until=ends,
        consent=consent,
    )


def source_ref(receipt: "Receipt", now: Snapshot) -> str:
    """The opaque name of a snapshot of one session's transcript; it tells nothing of path or session."""
    identity = canonical_bytes(
        {
            "host": receipt.binding.host,
            "receipt": str(Digest(receipt.digest)),
            "session": receipt.binding.session,
            "size": now.size,
            "schema": "timeline-source-ref/v1",
        }
    )
    return "source:" + hashlib.sha256(identity).hexdigest()[:_REF_HEX_DIGITS]


def snapshot_of(enrollment: Enrollment) -> Snapshot:
    """The snapshot that was enrolled."""
    source = enrollment.source
    return Snapshot(
        path=source.path,
        device=int(source.device),
        inode=int(source.inode),
        size=source.size,
        mtime_ns=int(source.mtime_ns),
        ctime_ns=int(source.ctime_ns),
        prefix_length=source.prefix_length,
        prefix_digest=Digest.parse(source.prefix_digest).raw,
    )


def newest_snapshot(source: EnrolledSource) -> Snapshot:
    """The snapshot that counts: the enrolled one, or of a followed file its newest generation."""
    newest = source.newest
    return msgspec.structs.replace(
        snapshot_of(source.enrollment),
        size=newest.size,
        mtime_ns=newest.mtime_ns,
        ctime_ns=newest.ctime_ns,
    )


def is_following(enrollment: Enrollment, now_ms: int) -> bool:
    """Whether the file may still grow; afterwards its newest generation is a snapshot like any other."""
    return enrollment.mode == "follow" and now_ms < enrollment.expires_at


class Consent(StrEnum):
    """Whether the time is within what was consented to."""

    HOLDS = "holds"
    ENDED = "ended"
    NOT_YET = "not-yet"
    """The clock stands before the consent: it went back, and says nothing about the end either."""


def decide_consent(source: EnrolledSource, now_ms: int) -> Consent:
    """Whether the consent holds at a time. The end itself is outside."""
    enrollment = source.enrollment
    if now_ms < enrollment.confirmed_at:
        return Consent.NOT_YET
    ends = min(enrollment.expires_at, enrollment.recall_until)
    if now_ms < (enrollment.recall_until if enrollment.mode == "follow" else ends):
        return Consent.HOLDS
    return Consent.ENDED


def check_consent(source: EnrolledSource, now_ms: int) -> None:
    """The consent must hold now.

    Raises:
        EnrollmentExpiredError: it has ended.
        ClockError: the clock stands before it.
    """
    match decide_consent(source, now_ms):
        case Consent.HOLDS:
            pass
        case Consent.ENDED:
            message = f"{source.enrollment.enrollment_id}: ended"
            raise EnrollmentExpiredError(message)
        case Consent.NOT_YET:
            early_ms = source.enrollment.confirmed_at - now_ms
            message = f"{source.enrollment.enrollment_id}: the clock stands {early_ms} ms before its consent"
            raise ClockError(message)
