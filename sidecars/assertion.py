"""An assertion of the world model as it stands in the log: one closed, signed statement about one subject.

It says on what evidence something is held, from when, for whom, and which earlier ones it replaces. It is never
changed: a newer one may name it in ``supersedes``. ``value`` is the RFC 8785 text of a JSON value; what that value
may hold, and what follows from all assertions together, is decided in ``timeline.world``. Pure.

The owner key signs what the owner says and imports, the log key what the daemon has captured or a model has
suggested; no word of a model can stand under another evidence than that of a suggestion. The format is in
``docs/spec/world.md``.
"""

from typing import Annotated, Final, Literal

import msgspec

from sidecars.errors import MalformedError
from sidecars.wire import Count, DigestText, ProjectRoot, TimeMs

VALUE_BYTES_MAX: Final = 8 * 1024
"""Of one value in its RFC 8785 form (reference interface)."""

SUPERSEDES_MAX: Final = 50
PURPOSES_MAX: Final = 8
ALTERNATIVES_MAX: Final = 8
DEPENDENCIES_MAX: Final = 16
"""Of one alternative of a derivation."""

REASON_CHARACTERS_MAX: Final = 500

StableId = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,31}:[A-Za-z0-9._/-]{1,191}\Z")]
"""A namespace and a name, such as ``task:release`` or ``assertion:timeline-0f…``."""

Predicate = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9.-]{0,127}\Z")]
WorldScopeId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9:_.@/-]{0,127}\Z")]
Evaluator = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}\Z")]
"""What ran the rule of a derivation, such as ``model:codex``."""

PortalRef = Annotated[str, msgspec.Meta(pattern=r"^portal-ref:[0-9a-f]{32}\Z")]
ThreadRef = Annotated[str, msgspec.Meta(pattern=r"^thread-ref:[0-9a-f]{32}\Z")]
SessionRef = Annotated[str, msgspec.Meta(pattern=r"^session-ref:[0-9a-f]{32}\Z")]

EvidenceKind = Literal[
    "objective-measurement", "explicit-user-feedback", "model-suggestion", "uninterpreted-user-message"
]
KnowledgeKind = Literal["fact", "user-preference", "decision", "task-state", "error-lesson"]
Privacy = Literal["private", "shared", "group"]
Purpose = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]{0,31}\Z")]
"""A closed short word for what something may be used for, such as ``planning``."""

DerivedRole = Literal[
    "deterministic-derivation",
    "memory-interpretation",
    "recorded-belief",
    "probabilistic-interpretation",
    "hypothesis",
]
"""What something that was derived from other assertions is (P12)."""

Recorder = Literal["owner", "capture", "model", "import"]
"""Who brought it into the log: the owner's command, a capture from a re-checked source, a model's tool call, or the
owner's import of another system's records."""

ESTABLISHED: Final = frozenset({"objective-measurement", "explicit-user-feedback"})
"""Evidence on which something is held to be so; the other kinds are proposals for ever (W3, W4)."""

_MAY_DERIVE: Final[dict[str, frozenset[str]]] = {
    "owner": frozenset({"recorded-belief"}),
    "capture": frozenset({"deterministic-derivation"}),
    "model": frozenset({"memory-interpretation", "probabilistic-interpretation", "hypothesis"}),
    "import": frozenset(),
}
"""By what is recorded, as what it may be derived: an interpretation is nobody's observation (P14, P46)."""

_MAY_RECORD: Final[dict[str, frozenset[str]]] = {
    "owner": frozenset({"explicit-user-feedback"}),
    "capture": frozenset({"objective-measurement", "explicit-user-feedback", "uninterpreted-user-message"}),
    "model": frozenset({"model-suggestion"}),
    "import": frozenset({"objective-measurement", "explicit-user-feedback", "model-suggestion"}),
}


class DerivationEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From what an assertion was derived, and how (P9, P13).

    ``rule`` names the rule, ``policy`` the version of the evidence policy then (0 before there was one), ``evaluator``
    what ran it. The members of one of ``alternatives`` suffice together; ids are sorted, and so are the alternatives.
    """

    role: DerivedRole
    rule: Predicate
    policy: Count
    evaluator: Evaluator
    alternatives: Annotated[
        tuple[Annotated[tuple[StableId, ...], msgspec.Meta(min_length=1, max_length=DEPENDENCIES_MAX)], ...],
        msgspec.Meta(min_length=1, max_length=ALTERNATIVES_MAX),
    ]

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Every id that some alternative names, sorted."""
        return tuple(sorted({name for family in self.alternatives for name in family}))


class AssertionEntry(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag="assertion",
    tag_field="kind",
):
    """One assertion (W2). Times are UTC milliseconds; ``expires_at`` is the first moment at which it is stale.

    ``evidence_digest`` is the SHA-256 of the evidence: a transcript's line, the owner's statement, a model's words.
    ``portal`` and ``thread`` are attached by the runtime to knowledge about the current task (W47, W48). ``knowledge``
    makes it an item of the typed view; ``session`` and ``message`` say where that came from.

    It holds from ``starts_at`` on, without one from when it was observed. ``purposes`` are what it may be used for,
    any if empty; ``about`` is the person that it speaks of, who has a say in who is told (P33, P49). ``derivation`` is
    there where it rests on other assertions.
    """

    id: StableId
    recorder: Recorder
    subject: StableId
    predicate: Predicate
    value: Annotated[str, msgspec.Meta(min_length=1, max_length=VALUE_BYTES_MAX)]
    evidence_kind: EvidenceKind
    evidence_id: StableId
    evidence_digest: DigestText
    observed_at: TimeMs
    tenant: WorldScopeId
    user: WorldScopeId
    privacy: Privacy
    project: ProjectRoot | None = None
    group: WorldScopeId | None = None
    portal: PortalRef | None = None
    thread: ThreadRef | None = None
    expires_at: TimeMs | None = None
    knowledge: KnowledgeKind | None = None
    session: SessionRef | None = None
    message: StableId | None = None
    supersedes: Annotated[tuple[StableId, ...], msgspec.Meta(max_length=SUPERSEDES_MAX)] = ()
    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=REASON_CHARACTERS_MAX)] | None = None
    starts_at: TimeMs | None = None
    purposes: Annotated[tuple[Purpose, ...], msgspec.Meta(max_length=PURPOSES_MAX)] = ()
    about: StableId | None = None
    derivation: DerivationEntry | None = None

    @property
    def is_established(self) -> bool:
        """Whether its evidence establishes it; a suggestion or a quoted message never does."""
        return self.evidence_kind in ESTABLISHED

    @property
    def is_owners(self) -> bool:
        """Whether the owner key has to sign it."""
        return self.recorder in {"owner", "import"}


def check_assertion(body: AssertionEntry) -> None:
    """Return only if a body is one that can be said, whatever its value means.

    Raises:
        MalformedError: two fields do not fit each other.
    """
    if body.evidence_kind not in _MAY_RECORD[body.recorder]:
        raise MalformedError("an assertion's evidence must be of a kind that its recorder may state")
    if len(body.value.encode()) > VALUE_BYTES_MAX:
        raise MalformedError(f"an assertion's value must be at most {VALUE_BYTES_MAX} bytes")
    if (body.portal is None) != (body.thread is None):
        raise MalformedError("portal and thread must come together or not at all")
    if (body.group is not None) != (body.privacy == "group"):
        raise MalformedError("an assertion must name a group exactly if its privacy is that of a group")
    if (body.session is None) != (body.message is None):
        raise MalformedError("session and message must come together or not at all")
    if body.knowledge is None and body.session is not None:
        raise MalformedError("only knowledge of a kind may name where it came from")
    if body.recorder == "import" and body.knowledge is not None:
        raise MalformedError("what is imported must not be given a kind of knowledge")
    if body.expires_at is not None and body.expires_at <= body.observed_at:
        raise MalformedError("an assertion must expire after it was observed")
    if body.supersedes and not body.is_established:
        raise MalformedError("only an established assertion may supersede")
    if list(body.supersedes) != sorted(set(body.supersedes)) or body.id in body.supersedes:
        raise MalformedError("superseded ids must be sorted, unique and another's")
    _check_use(body)
    if body.derivation is not None:
        _check_derivation(body, body.derivation)


def _check_use(body: AssertionEntry) -> None:
    if list(body.purposes) != sorted(set(body.purposes)):
        raise MalformedError("purposes must be sorted and unique")
    if body.starts_at is not None and body.expires_at is not None and body.expires_at <= body.starts_at:
        raise MalformedError("an assertion must expire after it has started")


def _check_derivation(body: AssertionEntry, derivation: DerivationEntry) -> None:
    if derivation.role not in _MAY_DERIVE[body.recorder]:
        raise MalformedError("a derivation must be of a role that its recorder may state")
    families = list(derivation.alternatives)
    if any(list(family) != sorted(set(family)) for family in families) or families != sorted(set(families)):
        raise MalformedError("alternatives and their ids must be sorted and unique")
    if body.id in derivation.dependencies:
        raise MalformedError("an assertion must not be derived from itself")
    if body.evidence_kind == "uninterpreted-user-message":
        raise MalformedError("a quoted message must not be derived from anything")
