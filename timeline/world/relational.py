"""Whether a reader may be told what speaks of a person: by that person's consent, in force now (P49). Pure.

Without a consent nobody is told but the owner, whose record it is. A later word replaces an earlier one for all that it
covers, and what was taken back changes what is told from then on, never what was recorded.
"""

from collections.abc import Iterable

from sidecars.reasoned import PersonConsent


def is_consented(consents: Iterable[PersonConsent], person: str, reader: str, purpose: str | None) -> bool:
    """Whether ``person`` lets ``reader`` (``user:`` or ``group:`` and an id) know for a purpose; ``None`` names none.

    ``consents`` are in the log's order. Revocation is the wider of the two: whoever names no purpose is not told once
    any purpose was taken back from him, and is told only by a grant for any.
    """
    allowed = False
    for consent in consents:
        if consent.person != person or consent.reader not in {None, reader}:
            continue
        covers = consent.purpose in {None, purpose}
        if consent.granted:
            allowed = allowed or covers
        elif covers or purpose is None:
            allowed = False
    return allowed
