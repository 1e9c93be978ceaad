"""Enrollment: the owner's confirmed, expiring consent to read one source, as a signed leaf (DESIGN 7, T10 to T13).

What is enrolled is a snapshot, fixed when the receipt is spent. Every use checks again that the enrollment still
counts and that the file still is the snapshot.
"""

import hashlib
from typing import Final

from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from sidecars.leaf import EnrolledSource as WireSource
from sidecars.leaf import Enrollment
from timeline.errors import ConfirmationError, EnrollmentExpiredError, ReceiptChangedError
from timeline.guard.receipt import Receipt
from timeline.source import Snapshot
from timeline.view import EnrolledSource

_REF_HEX_DIGITS: Final = 32


def check_confirmed(*, confirmed: bool) -> None:
    """The owner must have said so in words; no default does (T10).

    Raises:
        ConfirmationError: not said.
    """
    if not confirmed:
        message = "enrolling lets this program read the transcript of a session"
        raise ConfirmationError(message)


def make_enrollment(receipt: Receipt, now: Snapshot, *, now_ms: int, recall_seconds: int) -> Enrollment:
    """The consent that a spent receipt and the present file add up to.

    Raises:
        ReceiptChangedError: the file is not the one that the receipt was issued for, or has not grown from it.
    """
    if not receipt.source.covers(now):
        message = f"{receipt.source.path}: not the file that the host reported, or not grown from it"
        raise ReceiptChangedError(message)
    ends = now_ms + recall_seconds * 1000
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
        mode="snapshot",
        confirmed_at=now_ms,
        expires_at=ends,
        recall_until=ends,
    )


def source_ref(receipt: Receipt, now: Snapshot) -> str:
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


def is_expired(source: EnrolledSource, now_ms: int) -> bool:
    """Whether the consent has ended. The end itself is outside; so is a clock before the consent."""
    enrollment = source.enrollment
    return not enrollment.confirmed_at <= now_ms < min(enrollment.expires_at, enrollment.recall_until)


def check_not_expired(source: EnrolledSource, now_ms: int) -> None:
    """The consent must still hold.

    Raises:
        EnrollmentExpiredError: it has ended.
    """
    if is_expired(source, now_ms):
        message = f"{source.enrollment.enrollment_id}: ended"
        raise EnrollmentExpiredError(message)
