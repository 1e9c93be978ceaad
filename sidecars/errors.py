"""The refusals of the signed format, split by who must act and then by the rule that was broken.

Every class carries a stable ``reason`` in kebab case; a message names field, line or index and the rule, never a
payload. Misuse by our own code, such as admitting out of order, is ``RuntimeError`` and not one of these.
Any bytes given to this package give a value or one of these errors, and nothing else.
"""

from typing import ClassVar


class SidecarError(Exception):
    """Root of everything this package refuses.

    ``reason`` is stable and meant for programs, ``rule`` says which rule failed and where, ``hint`` what a person
    can do (it may be empty).
    """

    reason: ClassVar[str] = "sidecar-error"
    default_hint: ClassVar[str] = ""

    def __init__(self, rule: str, *, hint: str | None = None) -> None:
        """Keep rule and advice apart, so that both can be shown as data."""
        super().__init__(rule)
        self.rule = rule
        self.hint = self.default_hint if hint is None else hint


# -- form ------------------------------------------------------------------------------------------------------


class MalformedError(SidecarError):
    """The bytes are not of the format."""

    reason = "malformed"


class NonCanonicalError(MalformedError):
    """Another spelling of an acceptable value; one value has one spelling, or signatures could be dressed up."""

    reason = "non-canonical"


class UnsupportedVersionError(SidecarError):
    """The format is newer than this program."""

    reason = "unsupported-version"
    default_hint = "use the program that wrote it, or a newer one"


# -- trust -----------------------------------------------------------------------------------------------------


class UnverifiedError(SidecarError):
    """Well formed, but not to be trusted. Who only asks whether to trust catches this one."""

    reason = "unverified"


class UnknownKeyError(UnverifiedError):
    """No signature is by a key that was expected here."""

    reason = "unknown-key"


class BadSignatureError(UnverifiedError):
    """A signature by a known key does not fit the bytes."""

    reason = "bad-signature"


class PayloadTypeError(UnverifiedError):
    """Signed, but as something else than what it is offered as."""

    reason = "payload-type-mismatch"


class OriginMismatchError(UnverifiedError):
    """It belongs to another log than the one that is pinned."""

    reason = "origin-mismatch"


class DigestMismatchError(UnverifiedError):
    """The bytes are not those that the digest, count or root stands for."""

    reason = "digest-mismatch"


class BadProofError(UnverifiedError):
    """A Merkle proof does not lead to the root."""

    reason = "bad-proof"


class CosignatureMissingError(UnverifiedError):
    """A witness that was asked for has not cosigned the checkpoint."""

    reason = "cosignature-missing"
    default_hint = (
        "ask for a proof under a newer checkpoint that this witness has cosigned, or leave the witness out"
    )


class BrokenLinkError(UnverifiedError):
    """A leaf does not continue the log: wrong index, wrong root before it, or a broken batch."""

    reason = "broken-link"


class RollbackError(UnverifiedError):
    """Older than what is already trusted."""

    reason = "rollback"
    default_hint = "an older copy was put back; restore the newest state, nothing is answered from this one"


class AnchorAheadError(RollbackError):
    """The anchor remembers more than the head shows; no crash can leave that behind, so it is an alarm."""

    reason = "anchor-ahead"


class StateBehindError(RollbackError):
    """The head signs more leaves than there are."""

    reason = "state-behind-head"


class ErasureUnstatedError(UnverifiedError):
    """A leaf's bytes are gone, and no erasure that the owner has signed names it."""

    reason = "erasure-unstated"
    default_hint = "somebody took bytes out of the log; restore the newest backup"


class LagError(UnverifiedError):
    """State, head and anchor differ by more than the one batch that a crash can leave."""

    reason = "lag-beyond-one-batch"
    default_hint = "head or anchor is an older copy; restore the newest of both"


class EquivocationError(UnverifiedError):
    """Two roots for one size. ``evidence`` holds what was signed, as far as it is known: keep it."""

    reason = "equivocation"
    default_hint = "two histories exist under one key; keep both files as evidence and ask the owner"

    def __init__(self, rule: str, *, evidence: tuple[bytes, ...] = (), hint: str | None = None) -> None:
        """Keep the signed notes that contradict each other."""
        super().__init__(rule, hint=hint)
        self.evidence = evidence


# -- the write-once store --------------------------------------------------------------------------------------


class StoreError(SidecarError):
    """The folder of write-once files could not be used."""

    reason = "store-error"


class StoreMissingError(StoreError):
    """There is no such file."""

    reason = "store-file-missing"


class StoreUnsafeError(StoreError):
    """A link, a stranger's file or one open to others stands where a private file belongs."""

    reason = "store-file-unsafe"


class StoreUnwritableError(StoreError):
    """The file system did not take the file; what was there before still is."""

    reason = "store-unwritable"
    default_hint = "free space or correct the folder's rights, then run the command again"
