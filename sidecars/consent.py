"""Standing consent: the owner's word that prompts of one host in one project are consented to, until taken back.

The word is a leaf that the owner key signs. An enrollment that rests on it is signed by the log key, which the daemon
has while the owner key may be locked; it names the leaf, and counts only where that consent is in force at its place,
for its host, its project and its mode. Whoever reads the log can check that from the log alone. Pure.
"""

from typing import Final

import msgspec

from sidecars.errors import BrokenLinkError, MalformedError
from sidecars.wire import Identifier, ProjectRoot

CONSENTED_MS_MAX: Final = 90 * 24 * 3600 * 1000
"""How long an enrollment that rests on a standing consent may be recalled, in milliseconds.

The owner sees no single one of them; without a bound in the format a stolen log key could make one that never ends.
"""


class ConsentPolicy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="consent-policy", tag_field="kind"
):
    """Whether sessions of ``host`` in ``project`` are consented to without being asked about, from here on.

    ``follow`` says that their files may be followed as they grow. ``allowed`` false takes the consent back.
    """

    host: Identifier
    project: ProjectRoot
    follow: bool
    allowed: bool


class StandingConsent(msgspec.Struct, frozen=True):
    """A consent in force, the leaf that states it, and that leaf's time (UTC milliseconds)."""

    leaf: int
    at: int
    policy: ConsentPolicy

    def covers(self, *, host: str, project: str, follow: bool) -> bool:
        """Whether a session of this host and project is consented to, and, if ``follow``, that its file is followed."""
        policy = self.policy
        return (policy.host, policy.project) == (host, project) and (policy.follow or not follow)


Consents = tuple[StandingConsent, ...]
"""The consents in force, oldest first; at most one for each host and project."""


def check_consent_policy(body: ConsentPolicy) -> None:
    """Return only if a body is one that can be said.

    Raises:
        MalformedError: it takes a consent back and speaks of following.
    """
    if body.follow and not body.allowed:
        raise MalformedError("a consent that is taken back must not speak of following")


def find_consent(consents: Consents, host: str, project: str) -> StandingConsent | None:
    """The consent in force for a host and a project, ``None`` if there is none."""
    return next((one for one in consents if (one.policy.host, one.policy.project) == (host, project)), None)


def is_consent_change(consents: Consents, body: ConsentPolicy) -> bool:
    """Whether a policy would change what is in force."""
    known = find_consent(consents, body.host, body.project)
    return body.allowed if known is None else known.policy != body


def with_consent(consents: Consents, leaf: int, at: int, body: ConsentPolicy) -> Consents:
    """What is in force after ``leaf``, which states ``body`` at a time; a newer consent replaces the older one.

    Raises:
        BrokenLinkError: it changes nothing.
    """
    if not is_consent_change(consents, body):
        raise BrokenLinkError(f"leaf {leaf}: a decision about a standing consent must change something")
    others = tuple(
        one for one in consents if (one.policy.host, one.policy.project) != (body.host, body.project)
    )
    return (*others, StandingConsent(leaf, at, body)) if body.allowed else others


def check_consented(
    consents: Consents, leaf: int, named: int, *, host: str, project: str, follow: bool
) -> None:
    """Return only if the consent that the leaf ``named`` states covers the enrollment of the leaf ``leaf``.

    Raises:
        BrokenLinkError: it is not in force there, or does not cover it.
    """
    consent = next((one for one in consents if one.leaf == named), None)
    if consent is None:
        raise BrokenLinkError(f"leaf {leaf}: the standing consent of leaf {named} must be in force there")
    if not consent.covers(host=host, project=project, follow=follow):
        raise BrokenLinkError(
            f"leaf {leaf}: the standing consent of leaf {named} must cover its host, its project and its mode"
        )
