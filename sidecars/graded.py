"""What is claimed by a work, and what its grades are made of: the bodies of four kinds of leaves.

The owner key signs what a work or a source document claims (``ClaimsEntry``), a credential that the owner has checked
(``CredentialEntry``), and how the owner settles a question (``VerdictEntry``). The log key signs what was computed from
them: how credible each source is (``CredibilityEntry``). No body lets anybody state a credibility: the owner has no key
for that kind, and whoever reads the log computes it again (G7).

Scores, qualities, shares and weights are whole millionths, times are UTC milliseconds: no fraction is ever signed. Each
body says by ``abouts`` under which short texts the register finds it. What follows from them is decided in
``timeline.grading``; the format is in ``docs/spec/grading.md``. Pure.
"""

import re
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from sidecars.assertion import REASON_CHARACTERS_MAX, VALUE_BYTES_MAX, Predicate, StableId
from sidecars.errors import MalformedError
from sidecars.identity import canonical_bytes_with_floats, strict_loads_with_floats
from sidecars.kind import Kind
from sidecars.wire import Count, DigestText, TimeMs

MILLION: Final = 1_000_000
"""What a score of one is written as."""

CLAIMS_MAX: Final = 256
"""Claims in one leaf; a longer work has several leaves."""

SOURCES_MAX: Final = 16
"""Sources of one claim."""

HOPS_MAX: Final = 16
"""Who passed a claim on; a longer chain weighs nothing that could still be told apart."""

ROWS_MAX: Final = 256
"""Rows of credibility in one leaf."""

ANOMALIES_MAX: Final = 64
"""Anomalies that one run of the computation lists; it counts all."""

CHOSEN_MAX: Final = 16
PARTS_MAX: Final = 4096
GRADED_BYTES_MAX: Final = 240 * 1024
"""Of one body: the rest of a leaf's 256 KiB is for what every leaf says."""

# -- fields ----------------------------------------------------------------------------------------------------

Millionths = Annotated[int, msgspec.Meta(ge=0, le=MILLION)]
"""A number from 0 to 1 in whole millionths."""

Domain = Annotated[str, msgspec.Meta(pattern=r"^(_global|[a-z][a-z0-9.-]{0,63})\Z")]
"""A field of knowledge, such as ``chemistry``; ``_global`` where none is known."""

Intent = Literal["asserted", "speculative", "fictional", "disclaimed", "hypothetical"]
"""Whether and how a claim was meant to be believed; decided when it is taken in (G1, G2)."""

Mutability = Literal["immutable", "slow_changing", "stateful"]
"""How what is claimed may change by itself (G15)."""

WorkClass = Literal["fiction", "autobiography", "biography", "paper", "reference", "conversation", "data"]
"""What kind of work a claim was taken from (G25)."""

SourceType = Literal["self", "observed", "cited", "secondhand", "hearsay", "unstated", "unknown"]
"""How a source came to what it says. ``unstated``: recorded before this was kept (G26); ``unknown``: nobody knows."""

AnomalyKind = Literal[
    "mutual-corroboration",
    "one-root-flood",
    "said-in-future",
    "self-contradiction",
    "sudden-drop",
    "unknown-lineage",
]
"""What a person should look at; no anomaly changes a score by itself."""

Reason = Annotated[str, msgspec.Meta(min_length=1, max_length=REASON_CHARACTERS_MAX)]
ValueText = Annotated[str, msgspec.Meta(min_length=1, max_length=VALUE_BYTES_MAX)]
Classifier = Annotated[str, msgspec.Meta(pattern=r"^[a-z]{1,32}/v[0-9]{1,4}\Z")]
"""Name and version of rules that read an intent from a wording."""

ComputationVersion = Annotated[int, msgspec.Meta(ge=1, le=2)]
Part = Annotated[int, msgspec.Meta(ge=1, le=PARTS_MAX)]

# -- bodies ----------------------------------------------------------------------------------------------------


class ClaimSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Who says a claim, and how far that one stood from its subject (G22).

    ``hops`` counts who passed it on: 0 exactly where the subject speaks of itself. ``verification`` is absent where
    nobody has assessed it, which is another thing than 0, assessed and failed (G10). ``root`` is what independence is
    counted on; without one the lineage is unknown and never independent of anything (M7).
    """

    entity: StableId
    source_type: SourceType
    hops: Annotated[int, msgspec.Meta(ge=0, le=HOPS_MAX)] = 0
    session: StableId | None = None
    verification: Millionths | None = None
    root: StableId | None = None


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One value that is claimed for one key of a subject. ``value`` is the RFC 8785 text of a JSON value.

    It holds from ``valid_from`` until before ``valid_until``, each without a bound where it is absent. ``classifier``
    names the rules that told ``intent`` from the wording; absent where somebody said it, or the class of the work.
    """

    id: StableId
    subject: StableId
    key: Predicate
    domain: Domain
    value: ValueText
    intent: Intent
    mutability: Mutability
    said_at: TimeMs
    sources: Annotated[tuple[ClaimSource, ...], msgspec.Meta(min_length=1, max_length=SOURCES_MAX)]
    valid_from: TimeMs | None = None
    valid_until: TimeMs | None = None
    classifier: Classifier | None = None


class ClaimsEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="claims", tag_field="kind"):
    """What one work or source document claims; ``author`` is the entity that speaks in it (G25)."""

    work: StableId
    work_class: WorkClass
    author: StableId
    claims: Annotated[tuple[Claim, ...], msgspec.Meta(min_length=1, max_length=CLAIMS_MAX)]

    @property
    def abouts(self) -> tuple[str, ...]:
        """The work and every subject, sorted."""
        return tuple(sorted({self.work, *(claim.subject for claim in self.claims)}))


class CredentialEntry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag="credential",
    tag_field="kind",
):
    """A credential that the owner has checked (G12); 0 is one that failed. The newest of one ``id`` counts.

    It counts from ``valid_from`` until before ``valid_until``.
    """

    id: StableId
    entity: StableId
    domain: Domain
    quality: Millionths
    basis: Reason
    valid_from: TimeMs
    valid_until: TimeMs | None = None

    @property
    def abouts(self) -> tuple[str, ...]:
        """Its id and its bearer, sorted."""
        return tuple(sorted({self.id, self.entity}))


class CredibilityRow(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """How credible one entity was in one domain, and everything that the score is computed from.

    ``claims`` are its positions, of which so many were corroborated and contradicted, with these weights (millionths;
    2^53 - 1 at most). ``stood_days`` is how long its uncontradicted positions have stood on average: recorded, and
    without a part in the score.
    """

    entity: StableId
    domain: Domain
    score: Millionths
    claims: Count
    corroborated: Count
    contradicted: Count
    corroborated_weight: Count
    contradicted_weight: Count
    stood_days: Count
    credential: Millionths | None = None


class Anomaly(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a person should look at: an entity or a root, in which domain, and how many claims it concerns."""

    kind: AnomalyKind
    about: StableId
    domain: Domain
    count: Count


class CredibilityEntry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag="credibility",
    tag_field="kind",
):
    """One part of one run of the computation (G13). A newer run replaces none.

    ``inputs`` is the size of the log that was read and ``inputs_digest`` what was found in it; ages are counted to
    ``as_of``. ``previous`` is the run that it was compared with. The first part lists anomalies and counts all.
    """

    run: StableId
    computation_version: ComputationVersion
    tables_version: Annotated[int, msgspec.Meta(ge=1)]
    part: Part
    parts: Part
    as_of: TimeMs
    inputs: Count
    inputs_digest: DigestText
    rows: Annotated[tuple[CredibilityRow, ...], msgspec.Meta(max_length=ROWS_MAX)]
    anomalies: Annotated[tuple[Anomaly, ...], msgspec.Meta(max_length=ANOMALIES_MAX)] = ()
    anomalies_found: Count = 0
    previous: StableId | None = None

    @property
    def abouts(self) -> tuple[str, ...]:
        """The run and every entity, sorted."""
        return tuple(sorted({self.run, *(row.entity for row in self.rows)}))


class VerdictEntry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag="verdict",
    tag_field="kind",
):
    """How the owner settles a question for now (G27): with the chosen claims, or with none.

    ``grades_digest`` fixes the grades that were looked at, so that it shows when they have changed. A verdict is never
    changed; a newer one names it in ``supersedes``.
    """

    id: StableId
    subject: StableId
    key: Predicate
    grades_digest: DigestText
    reason: Reason
    chosen: Annotated[tuple[StableId, ...], msgspec.Meta(max_length=CHOSEN_MAX)] = ()
    supersedes: Annotated[tuple[StableId, ...], msgspec.Meta(max_length=CHOSEN_MAX)] = ()

    @property
    def abouts(self) -> tuple[str, ...]:
        """Its id and its subject, sorted."""
        return tuple(sorted({self.id, self.subject}))


GradedBody: TypeAlias = ClaimsEntry | CredentialEntry | CredibilityEntry | VerdictEntry

GRADED: Final[dict[type, Kind]] = {
    ClaimsEntry: Kind.CLAIMS,
    CredentialEntry: Kind.CREDENTIAL,
    CredibilityEntry: Kind.CREDIBILITY,
    VerdictEntry: Kind.VERDICT,
}

# -- checks ----------------------------------------------------------------------------------------------------


def check_graded(body: GradedBody) -> None:
    """Return only if a body is one that can be said.

    Raises:
        MalformedError: two fields do not fit each other, or it is too large for a leaf.
    """
    match body:
        case ClaimsEntry():
            check_claims(body)
        case CredentialEntry():
            check_credential(body)
        case CredibilityEntry():
            check_credibility(body)
        case VerdictEntry():
            check_verdict(body)
    if len(msgspec.json.encode(body)) > GRADED_BYTES_MAX:
        raise MalformedError(f"a body of this kind must be at most {GRADED_BYTES_MAX} bytes")


def check_claims(body: ClaimsEntry) -> None:
    """Return only if each claim is one that its work can make.

    Raises:
        MalformedError: it is not.
    """
    if len({claim.id for claim in body.claims}) != len(body.claims):
        raise MalformedError("the claims of a work must have different ids")
    for claim in body.claims:
        _check_claim(claim)
        if body.work_class == "fiction" and claim.intent != "fictional" and claim.subject != body.work:
            raise MalformedError("a claim of fiction must be fictional or about the work itself")


def _check_claim(claim: Claim) -> None:
    if not is_canonical_value(claim.value):
        raise MalformedError("a claim's value must be JSON in RFC 8785 form, at most 8192 bytes")
    if not _is_window(claim.valid_from, claim.valid_until):
        raise MalformedError("a claim must hold from before it ends")
    for source in claim.sources:
        if (source.hops == 0) != (source.source_type in _WITHOUT_HOPS):
            raise MalformedError(
                "hops must be 0 exactly where the subject speaks of itself or nothing is stated"
            )
    if len(set(claim.sources)) != len(claim.sources):
        raise MalformedError("the sources of a claim must differ")


_WITHOUT_HOPS: Final = frozenset({"self", "unstated"})


def is_canonical_value(text: str) -> bool:
    """Whether a text is a JSON value in its one RFC 8785 spelling, of at most 8192 bytes."""
    encoded = text.encode(errors="surrogatepass")
    if len(encoded) > VALUE_BYTES_MAX:
        return False
    if _PLAIN.search(text) is not None:  # nearly all values; the long way gives the same answer, far slower
        return True
    try:
        return canonical_bytes_with_floats(strict_loads_with_floats(encoded)) == encoded
    except MalformedError:
        return False


_PLAIN: Final = re.compile(r'^(?:"[^"\\\x00-\x1f\ud800-\udfff]*"|0|-?[1-9][0-9]{0,14}|true|false|null)\Z')


def check_credential(body: CredentialEntry) -> None:
    """Return only if a credential ends after it begins.

    Raises:
        MalformedError: it does not.
    """
    if not _is_window(body.valid_from, body.valid_until):
        raise MalformedError("a credential must be valid from before it ends")


def check_credibility(body: CredibilityEntry) -> None:
    """Return only if a part can be one of its run.

    Raises:
        MalformedError: it cannot.
    """
    if body.part > body.parts:
        raise MalformedError("a part of a run must be one of its parts")
    places = [(row.entity, row.domain) for row in body.rows]
    if places != sorted(set(places)):
        raise MalformedError("rows of credibility must be sorted by entity and domain, and unique")
    if any(row.corroborated > row.claims or row.contradicted > row.claims for row in body.rows):
        raise MalformedError("no more claims can be corroborated or contradicted than there are")
    if body.anomalies_found < len(body.anomalies):
        raise MalformedError("a run must count the anomalies that it lists")
    if body.part > 1 and body.anomalies_found:
        raise MalformedError("the first part of a run must list its anomalies")
    if body.previous == body.run:
        raise MalformedError("a run must be compared with another")


def check_verdict(body: VerdictEntry) -> None:
    """Return only if a verdict's lists are in order.

    Raises:
        MalformedError: they are not.
    """
    for named in (body.chosen, body.supersedes):
        if list(named) != sorted(set(named)):
            raise MalformedError("the ids that a verdict names must be sorted and unique")
    if body.id in body.supersedes:
        raise MalformedError("a verdict must not replace itself")


def _is_window(start: int | None, end: int | None) -> bool:
    return start is None or end is None or start < end
