"""Assertions of the world model as claims, so that one can ask what they weigh. Pure.

Who says it and from how far follows from who recorded it, and never from what it says (M2). What a model suggests is a
supposition of unknown lineage, however often it is said; so is what another system held, which was imported.

All that was captured has one speaker, the host, and is therefore one voice: a session that is enrolled twice, or that a
host has copied into another one, adds nothing.
"""

import re
from typing import Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.graded import Claim, ClaimSource, Intent, SourceType
from timeline.grading.claims import Claimed
from timeline.grading.credibility import GLOBAL
from timeline.world.assertion import Assertion
from timeline.world.derivation import OWNER_ROOT, root_of

HOST: Final = "host:transcript"
"""Who has observed what was captured: the host, whose transcript was read again."""

MODEL: Final = "model:suggestion"
IMPORTED: Final = "import:record"
LEDGER: Final = "work:world-model"
"""The work that assertions are in: the ledger itself."""

_NAME: Final = re.compile(r"[A-Za-z0-9._/-]{1,191}", re.ASCII)
_HEX: Final = 32


def claim_of(assertion: Assertion) -> Claimed:
    """An assertion as a claim of its source; nothing of it is recorded, and no credibility is made of it."""
    entry = assertion.entry
    intent: Intent = "speculative" if entry.recorder == "model" else "asserted"
    source = source_of(entry)
    claim = Claim(
        id=entry.id,
        subject=entry.subject,
        key=entry.predicate,
        domain=GLOBAL,
        value=entry.value,
        intent=intent,
        mutability="slow_changing",
        said_at=entry.observed_at,
        sources=(source,),
        valid_from=entry.starts_at,
        valid_until=entry.expires_at,
    )
    return Claimed(claim, LEDGER, "conversation", source.entity)


def source_of(entry: AssertionEntry) -> ClaimSource:
    """Who says an assertion, from how far, and what its independence is counted on."""
    entity, source_type = _speaker(entry)
    is_known = entry.recorder in {"owner", "capture"}
    return ClaimSource(
        entity=entity,
        source_type=source_type,
        hops=0 if source_type == "self" else 1,
        session=entry.session,
        root=root_of(entry) if is_known else None,
    )


def _speaker(entry: AssertionEntry) -> tuple[str, SourceType]:
    match entry.recorder:
        case "owner":
            return OWNER_ROOT, "self"
        case "capture" if entry.evidence_kind == "objective-measurement":
            return HOST, "observed"
        case "capture":
            return user_entity(entry.user), "self"
        case "model":
            return MODEL, "unknown"
        case _:
            return IMPORTED, "unknown"


def user_entity(user: str) -> str:
    """The user of a session as an entity; a name that no stable id can hold stands there as its digest."""
    name = user if _NAME.fullmatch(user) else f"sha256-{Digest.of(user.encode()).hex()[:_HEX]}"
    return f"user:{name}"
