"""Older facts, which say nothing of intent, change, distance or verification, filled up; and the way back. Pure.

The defaults are those of the design: ``asserted``, ``slow_changing``, distance 1.0 and no verification (G26). The
source type is ``unstated``, so that a grade tells the distance as unknown. Filling up adds fields and changes none,
and taking them away gives the fact as it was (G29).
"""

import msgspec

from sidecars.graded import Claim, ClaimSource


class OlderFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as it was recorded before there were grades. ``session`` is where it was said, if that was kept."""

    id: str
    subject: str
    key: str
    value: str
    said_at: int
    entity: str
    session: str | None = None


def fill_up(fact: OlderFact) -> Claim:
    """The claim that an older fact makes; its session is its root, and without one its lineage is unknown (M7)."""
    return Claim(
        id=fact.id,
        subject=fact.subject,
        key=fact.key,
        domain="_global",
        value=fact.value,
        intent="asserted",
        mutability="slow_changing",
        said_at=fact.said_at,
        sources=(
            ClaimSource(entity=fact.entity, source_type="unstated", session=fact.session, root=fact.session),
        ),
    )


def take_back(claim: Claim) -> OlderFact:
    """The older fact that a claim was filled up from."""
    source = claim.sources[0]
    return OlderFact(
        id=claim.id,
        subject=claim.subject,
        key=claim.key,
        value=claim.value,
        said_at=claim.said_at,
        entity=source.entity,
        session=source.session,
    )
