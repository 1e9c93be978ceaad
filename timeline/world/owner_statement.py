"""What the owner says with a command, as evidence: the statement itself, under the owner key's signature.

Nobody else holds its bytes, so that they are made of the assertion: who has the assertion can make them again, and
compare the digest (hole f). Pure.
"""

from typing import Final

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.identity import JSON
from timeline.clock import format_utc
from timeline.world.assertion import Evidence, canonical_text

NAMESPACE: Final = "owner-statement"
_ID_HEX: Final = 32


def owner_evidence(subject: str, predicate: str, value: JSON, observed_at: int) -> Evidence:
    """The evidence that the owner's word is: its digest is that of the statement, its id the beginning of it.

    ``observed_at`` is when it is said, in UTC milliseconds.

    Raises:
        AssertionInvalidError: the value has no RFC 8785 form.
    """
    statement = canonical_text(
        {"subject": subject, "predicate": predicate, "value": value, "observedAt": format_utc(observed_at)}
    )
    digest = Digest.of(statement.encode())
    return Evidence("explicit-user-feedback", f"{NAMESPACE}:{digest.hex()[:_ID_HEX]}", digest, observed_at)


def is_of_owner(entry: AssertionEntry, value: JSON) -> bool:
    """Whether the evidence that an assertion names is the owner's statement of exactly this."""
    if entry.recorder != "owner":
        return False
    made = owner_evidence(entry.subject, entry.predicate, value, entry.observed_at)
    return (entry.evidence_id, entry.evidence_digest) == (made.id, str(made.digest))
