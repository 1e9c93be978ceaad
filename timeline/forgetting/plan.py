"""What is to be forgotten, and all that goes with it, decided from the log before anything is changed. Pure.

A plan names leaves by index, hash and kind, sidecar files by digest, and what must not come back by keyed digests: no
value, no path and no name stands in it. Its digest is that of its RFC 8785 bytes, so that what was shown is what is
carried out. The same selection at the same log makes the same plan.

Lineage (M22): with a source goes everything that was captured from it; with an assertion everything that it had
replaced and that would come back; with both everything that rests on them alone. What rests on other things too goes
by the rule that the owner gives beforehand (M15).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.graded import ClaimsEntry
from sidecars.leaf import (
    Body,
    Enrollment,
)
from sidecars.wire import Count, DigestText, Identifier, Origin, format_struct, parse_struct
from timeline.forgetting.errors import PlanInvalidError
from timeline.forgetting.suppression import Forgotten, Suppression

SCHEMA: Final = "timeline-forget-plan/v1"

Rule = Literal["keep", "recompute", "redact"]
"""What becomes of an item that rests on other sources too: it stays, is made anew from those, or goes."""

Sort = Literal["session", "assertions", "subject", "event", "work", "suppressed"]
"""In what way the owner names something; ``suppressed`` is all that was forgotten before, in a state put back."""

Why = Literal["named", "of-the-source", "captured", "would-come-back", "derived", "mixed", "made-anew"]


class Item(msgspec.Struct, frozen=True):
    """One leaf of the log that is not erased: its index, its hash in the tree, its kind and its body."""

    leaf: int
    hash: bytes
    kind: str
    body: Body


class Selector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner has named, as keyed digests."""

    sort: Sort
    digests: tuple[DigestText, ...]


class Target(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One leaf that is to be erased, and why it is among them."""

    leaf: Count
    hash: DigestText
    kind: Identifier
    why: Why


class Retained(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One leaf that stays although it rests on a target too."""

    leaf: Count
    why: Identifier


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that carrying it out will do. ``size`` and ``root`` are those of the log that it was made at.

    ``files`` are digests of sidecar files; ``suppressed`` are what must not be taken in again; ``key`` names the key
    of all keyed digests. ``authorised_by`` is the owner's public key, ``presence`` the rule by which he is known.
    """

    schema: Literal["timeline-forget-plan/v1"] = SCHEMA
    origin: Origin
    size: Count
    root: DigestText
    rule: Rule
    selector: Selector
    targets: tuple[Target, ...]
    files: tuple[DigestText, ...]
    retained: tuple[Retained, ...]
    suppressed: tuple[DigestText, ...]
    key: DigestText
    authorised_by: Annotated[str, msgspec.Meta(max_length=256)]
    presence: Literal["terminal", "any"]
    coverage: tuple[Identifier, ...]
    not_covered: tuple[Identifier, ...]

    @property
    def leaves(self) -> tuple[int, ...]:
        """The leaves that are to be erased, in order."""
        return tuple(target.leaf for target in self.targets)


_DECODER: Final = msgspec.json.Decoder(Plan)


def format_plan(plan: Plan) -> bytes:
    """The one spelling of a plan.

    Raises:
        MalformedError: a field is against the rules.
    """
    return format_struct(plan, _DECODER, "plan")


def parse_plan(content: bytes) -> Plan:
    """Read a plan.

    Raises:
        PlanInvalidError: it is none, or another spelling.
    """
    try:
        return parse_struct(content, _DECODER, "plan")
    except SidecarError as error:
        raise PlanInvalidError(str(error)) from error


def digest_of_plan(plan: Plan) -> str:
    """What a plan is known by."""
    return str(Digest.of(format_plan(plan)))


def is_same_matter(plan: Plan, other: Plan) -> bool:
    """Whether two plans do the same, at whatever log they were made."""
    return msgspec.structs.replace(plan, size=other.size, root=other.root) == other


def selector_of(suppression: Suppression, sort: Sort, names: Iterable[tuple[str, ...]]) -> Selector:
    """The selector of what the owner has named; of a session, host and id are its parts."""
    kind = _KIND_OF_SORT[sort]
    return Selector(sort, tuple(sorted({suppression.digest(kind, *parts) for parts in names})))


_KIND_OF_SORT: Final[Mapping[str, Forgotten]] = {
    "session": Forgotten.SESSION,
    "assertions": Forgotten.ASSERTION,
    "subject": Forgotten.SUBJECT,
    "event": Forgotten.EVENT,
    "work": Forgotten.WORK,
}


class Decided(msgspec.Struct, frozen=True):
    """What a selection comes to: why each leaf is erased, why each other stays, and the digests to suppress."""

    targets: Mapping[int, Why]
    retained: Mapping[int, str]
    files: tuple[str, ...]
    suppressed: frozenset[str]
    anew: tuple[AssertionEntry, ...] = ()
    """What is recorded in place of items that are made anew, from what is left of their sources."""


def value_parts(body: AssertionEntry) -> tuple[str, ...]:
    """By what a value is known where it is said again to the same readers: tenant, project, audience, and the value.

    The audience is in it, so that no refusal tells a session of a value that it could not have seen (X12).
    """
    return (
        body.tenant,
        body.project or "",
        body.privacy,
        body.user if body.privacy == "private" else "",
        body.group or "",
        body.portal or "",
        body.thread or "",
        " ".join(body.purposes),
        body.about or "",
        body.subject,
        body.predicate,
        body.value,
    )


def imported_parts(body: AssertionEntry) -> tuple[str, ...]:
    """By what a value is known where the owner brings it in: tenant, project, subject, predicate and its text."""
    return (body.tenant, body.project or "", body.subject, body.predicate, body.value)


def _audiences(entry: AssertionEntry, *, is_seen: bool) -> Iterator[AssertionEntry]:
    """The same said to each audience that whoever says it belongs to: all, the user, and the entry's own if it sees it.

    Pure; ``is_seen``: whether who records may see the entry.
    """
    if is_seen:
        yield entry
    route = (entry.portal, entry.thread) if is_seen else (None, None)
    wide = msgspec.structs.replace(
        entry, group=None, purposes=(), about=None, portal=route[0], thread=route[1]
    )
    for project in {entry.project, None}:
        for privacy in ("shared", "private"):
            yield msgspec.structs.replace(wide, project=project, privacy=privacy)


def is_entry_named(suppression: Suppression, entry: AssertionEntry) -> bool:
    """Whether an assertion, or the event that it rests on, was forgotten by its id."""
    return (
        suppression.holds(Forgotten.ASSERTION, entry.id)
        or suppression.holds(Forgotten.EVENT, entry.evidence_id)
        or (entry.message is not None and suppression.holds(Forgotten.EVENT, entry.message))
    )


def is_entry_forgotten(suppression: Suppression, entry: AssertionEntry, *, is_seen: bool = True) -> bool:
    """Whether an assertion, its value or the event that it rests on was forgotten.

    ``is_seen``: whether who records it may see it: else only what is said to wider audiences counts.
    """
    return (
        is_entry_named(suppression, entry)
        or any(
            suppression.holds(Forgotten.VALUE, *value_parts(said))
            for said in _audiences(entry, is_seen=is_seen)
        )
        or (
            entry.recorder == "import"
            and (
                suppression.holds(Forgotten.IMPORTED_VALUE, *imported_parts(entry))
                or suppression.holds(Forgotten.ASSERTION, _before_import(entry.id))
            )
        )
    )


def _before_import(name: str) -> str:
    """The id that an imported record had here, where it came from an export of ours."""
    return name.replace("legacy:", "assertion:", 1)


def is_work_forgotten(suppression: Suppression, body: ClaimsEntry) -> bool:
    """Whether a work, or one of its claims, was forgotten."""
    return suppression.holds(Forgotten.WORK, body.work) or any(
        suppression.holds(Forgotten.CLAIM, claim.id) for claim in body.claims
    )


def is_enrollment_forgotten(suppression: Suppression, body: Enrollment) -> bool:
    """Whether an enrollment's session, its path, its first bytes or its reference was forgotten."""
    source = body.source
    return (
        suppression.holds(Forgotten.SESSION, body.binding.host, body.binding.session)
        or suppression.holds(Forgotten.PATH, source.path)
        or suppression.holds(Forgotten.SOURCE, source.ref)
        or suppression.holds(Forgotten.PREFIX, str(source.prefix_length), source.prefix_digest)
    )


def make_plan(
    decided: Decided,
    items: Mapping[int, Item],
    selector: Selector,
    rule: Rule,
    **at: Any,  # noqa: ANN401  # the fields of the plan that say where and on whose word
) -> Plan:
    """The plan of what was decided."""
    targets = tuple(
        Target(leaf, str(Digest(items[leaf].hash)), items[leaf].kind, why)
        for leaf, why in sorted(decided.targets.items())
    )
    return Plan(
        rule=rule,
        selector=selector,
        targets=targets,
        files=decided.files,
        retained=tuple(Retained(leaf, why) for leaf, why in sorted(decided.retained.items())),
        suppressed=tuple(sorted(decided.suppressed)),
        **at,
    )
