"""What the owner states when something is forgotten or excluded: what was erased, what came of it. Pure.

An erasure is a leaf like any other: it stays. Of the leaves that it names, salt and envelope are taken out of the
database and the hash is kept, so that the tree still verifies, and nobody who has only the hash can try out what the
leaf may have said. It names places and no contents.
"""

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sidecars.digest import Digest
from sidecars.errors import MalformedError
from sidecars.kind import Kind
from sidecars.wire import Count, DigestText, Identifier

ERASED_MAX: Final = 4096
"""Leaves of one erasure, and what it suppresses: both together fit into a leaf."""

Places = Annotated[tuple[Count, ...], msgspec.Meta(max_length=ERASED_MAX)]
Suppressed = Annotated[tuple[DigestText, ...], msgspec.Meta(max_length=ERASED_MAX)]


class Erasure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="erasure", tag_field="kind"):
    """The owner had ``leaves`` erased, by carrying out the plan with the digest ``plan`` (or a part of it).

    ``leaves`` are indexes of earlier commits. ``suppressed`` are keyed digests of what must not be taken in again, and
    ``key`` commits to the key that they were made with: whoever has the log alone learns nothing from them.
    """

    plan: DigestText
    leaves: Places
    suppressed: Suppressed
    key: DigestText


def check_erasure(body: Erasure, batch_start: int) -> None:
    """Return only if an erasure in the batch that begins at leaf ``batch_start`` is one.

    Raises:
        MalformedError: it states nothing, names a place twice or out of order, or one of its own commit or a later.
    """
    if not body.leaves and not body.suppressed:
        raise MalformedError("an erasure must name a leaf or suppress something")
    if list(body.leaves) != sorted(set(body.leaves)):
        raise MalformedError("erased leaves must be sorted and unique")
    if list(body.suppressed) != sorted(set(body.suppressed)):
        raise MalformedError("suppressed digests must be sorted and unique")
    if body.leaves and body.leaves[-1] >= batch_start:
        raise MalformedError("an erasure must name leaves of earlier commits only")


# -- what came of it, and what is never to be taken in ---------------------------------------------------------

REPORTED_MAX: Final = 1024
"""Items of one list of a report; of more the number is stated."""

Reported = Annotated[tuple["ReportItem", ...], msgspec.Meta(max_length=REPORTED_MAX)]
Names = Annotated[tuple[Identifier, ...], msgspec.Meta(max_length=64)]
ExcludedName = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]+\Z", max_length=4096)]


class Changed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of one sort were erased or removed: leaves of a kind, sidecar files, receipts."""

    what: Identifier
    count: Count


class ReportItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One item that stayed: a leaf by its index or a sidecar by its digest, and why as a reason code."""

    target: Annotated[
        str, msgspec.Meta(pattern=r"^(leaf:[0-9]{1,16}|sidecar:[A-Za-z0-9_-]{43}|[a-z-]{1,32})\Z")
    ]
    why: Identifier


class ForgetReport(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="forget-report", tag_field="kind"
):
    """What carrying out a plan has changed, what it has retained and why, and what failed and why (M14).

    ``erasures`` are the leaves that name what was erased; ``coverage`` and ``not_covered`` name stores (M16, M17).
    ``retained_count`` and ``failed_count`` count also what has no room in the lists.
    """

    plan: DigestText
    erasures: Places
    changed: Annotated[tuple[Changed, ...], msgspec.Meta(max_length=64)]
    retained: Reported
    retained_count: Count
    failed: Reported
    failed_count: Count
    coverage: Names
    not_covered: Names

    @property
    def abouts(self) -> tuple[str, ...]:
        """By what it is found: the plan."""
        return (self.plan,)


class Exclusion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="exclusion", tag_field="kind"):
    """From here on nothing of a session, a path or a project is taken in; or, with ``excluded`` false, it is again.

    ``host`` is there for a session only. Of a suppression key that was lost, named by its commitment, the owner can
    only say that he goes on without it.
    """

    about: Literal["session", "path", "project", "suppression-key"]
    host: Identifier | None
    name: ExcludedName
    excluded: bool

    @property
    def abouts(self) -> tuple[str, ...]:
        """By what it is found: its sort. The name is no key, since it may be long."""
        return (self.about,)


ErasureBody: TypeAlias = Erasure | ForgetReport | Exclusion

FORGETTING: Final[dict[type, Kind]] = {
    Erasure: Kind.ERASURE,
    ForgetReport: Kind.FORGET_REPORT,
    Exclusion: Kind.EXCLUSION,
}
"""The kind of each body."""


def check_report(body: ForgetReport) -> None:
    """Return only if a report counts at least what it lists.

    Raises:
        MalformedError: it does not.
    """
    if len(body.retained) > body.retained_count or len(body.failed) > body.failed_count:
        raise MalformedError("a report must count at least what it lists")
    if list(body.erasures) != sorted(set(body.erasures)):
        raise MalformedError("the erasures of a report must be sorted and unique")


def check_exclusion(body: Exclusion) -> None:
    """Return only if an exclusion names what it can.

    Raises:
        MalformedError: it does not.
    """
    if (body.host is not None) != (body.about == "session"):
        raise MalformedError("an exclusion must name a host exactly if it is about a session")
    if body.about in {"path", "project"} and not body.name.startswith("/"):
        raise MalformedError("an excluded path must be absolute")
    if body.about == "suppression-key":
        Digest.parse(body.name)
        if body.excluded:
            raise MalformedError("a suppression key can only be given up")
