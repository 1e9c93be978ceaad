"""Which kinds of leaves there are, and which of the two keys has to sign each. Pure."""

from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """The two keys: the owner's consents and rules, the daemon's log key records (TUF's root and online roles)."""

    OWNER = "owner"
    LOG = "log"


class Kind(StrEnum):
    """What a leaf states."""

    POLICY = "policy"
    FORMAT_POLICY = "format-policy"
    CONSENT_POLICY = "consent-policy"
    ANCHOR_POLICY = "anchor-policy"
    ANCHOR_RECOVERY = "anchor-recovery"
    RESTORATION = "restoration"
    FORK = "fork"
    KEY_EPOCH = "key-epoch"
    ENROLLMENT = "enrollment"
    EXTENSION = "extension"
    SIDECAR = "sidecar"
    PREFIX_PROOF = "prefix-proof"
    INVALIDATION = "invalidation"
    REVOCATION = "revocation"
    ASSERTION = "assertion"
    EVIDENCE_POLICY = "evidence-policy"
    EVIDENCE_REVOCATION = "evidence-revocation"
    CONFLICT = "conflict"
    PERSON_CONSENT = "person-consent"
    MEDIATION_TRACE = "mediation-trace"
    CLAIMS = "claims"
    CREDENTIAL = "credential"
    CREDIBILITY = "credibility"
    VERDICT = "verdict"
    ERASURE = "erasure"
    FORGET_REPORT = "forget-report"
    EXCLUSION = "exclusion"


SIGNED_BY: Final = {
    Kind.POLICY: Role.OWNER,
    Kind.FORMAT_POLICY: Role.OWNER,
    Kind.CONSENT_POLICY: Role.OWNER,
    Kind.ANCHOR_POLICY: Role.OWNER,
    Kind.ANCHOR_RECOVERY: Role.OWNER,
    Kind.RESTORATION: Role.OWNER,
    Kind.FORK: Role.OWNER,
    Kind.KEY_EPOCH: Role.OWNER,
    Kind.ENROLLMENT: Role.OWNER,
    Kind.REVOCATION: Role.OWNER,
    Kind.ERASURE: Role.OWNER,
    Kind.FORGET_REPORT: Role.OWNER,
    Kind.EXCLUSION: Role.OWNER,
    Kind.EXTENSION: Role.LOG,
    Kind.SIDECAR: Role.LOG,
    Kind.PREFIX_PROOF: Role.LOG,
    Kind.INVALIDATION: Role.LOG,
    Kind.ASSERTION: Role.LOG,
    Kind.EVIDENCE_POLICY: Role.OWNER,
    Kind.EVIDENCE_REVOCATION: Role.OWNER,
    Kind.CONFLICT: Role.OWNER,
    Kind.PERSON_CONSENT: Role.OWNER,
    Kind.MEDIATION_TRACE: Role.LOG,
    Kind.CLAIMS: Role.OWNER,
    Kind.CREDENTIAL: Role.OWNER,
    Kind.CREDIBILITY: Role.LOG,
    Kind.VERDICT: Role.OWNER,
}
"""Which key a kind needs. A kind that is missing here cannot be signed, opened or admitted.

Two bodies depart from it (``Leaf.signed_by``): an enrollment that names a standing consent needs the log key, and an
assertion that is the owner's word the owner key.
"""
