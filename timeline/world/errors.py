"""What stops an assertion from being recorded, believed or shown, and what stops a task from going on.

Reason codes are interface, as those of ``timeline.errors``; where the reference has one, it is the same. No message
quotes a value, a user's words or a transcript.
"""

from timeline.errors import StateError, UsageError


class WorldError(UsageError):
    """An assertion, or a question about assertions, is not one that is taken."""

    reason = "world-invalid"


class AssertionInvalidError(WorldError):
    """A field of an assertion is missing, or not of its form (W2)."""

    reason = "world-assertion-invalid"
    default_hint = "`docs/spec/world.md` lists the fields and their bounds"


class AuthorityShapedError(WorldError):
    """A predicate or a key of the value reads like a permission, a credential or a payment (W62)."""

    reason = "world-authority-shaped"
    default_hint = "the world model is context only; leave the field out or name it otherwise"


class SecretShapedError(WorldError):
    """A value, a reason or a text looks like a secret (W29)."""

    reason = "world-secret-shaped"
    default_hint = "leave the secret out; refer to where it is kept instead"


class EvidenceKindError(WorldError):
    """Whoever records may not claim this kind of evidence: a model suggests, a capture measures, the owner confirms."""

    reason = "world-evidence-kind-not-permitted"
    default_hint = (
        "let the owner run `timeline world record`, or capture a result with session_timeline_capture"
    )


class SuggestionsFullError(WorldError):
    """So many suggestions about one subject wait already that one more would help nobody."""

    reason = "world-suggestions-full"
    default_hint = "let the owner confirm or pass over what waits: `timeline world proposals`"


class EvidenceDigestError(WorldError):
    """The digest that was given is not that of the evidence."""

    reason = "world-evidence-digest-mismatch"


class AssertionConflictError(WorldError):
    """The id is another assertion's; nothing was written (W7)."""

    reason = "world-assertion-id-reused"
    default_hint = "an id names one assertion for ever: give another id"


class SupersessionError(WorldError):
    """An assertion may not replace one that it names (W3, W8, W54)."""

    reason = "world-supersession-invalid"
    default_hint = "name older established assertions of the same subject, predicate, project and thread"


class DerivationError(WorldError):
    """An assertion may not follow from what it names, or not as what it claims to be (P13, P15, P46)."""

    reason = "world-derivation-invalid"
    default_hint = "name assertions that you may see; what models suggest supports nothing but a hypothesis"


class CompareAndSetError(WorldError):
    """The active assertions are not the ones that were to be replaced: another writer came first."""

    reason = "world-compare-and-set-failed"
    default_hint = "look again with `timeline world show`, and decide anew"


class AssertionUnknownError(WorldError):
    """Whoever asks sees no assertion of this id; that there is one elsewhere is not said (X12)."""

    reason = "world-assertion-unknown"
    default_hint = (
        "`timeline world facts`, `conflicts`, `proposals` and `stale` list ids; --root names the project"
    )


class EvidenceUnchangedError(WorldError):
    """What is said about evidence, or consented to, is in force already; nothing was recorded."""

    reason = "world-evidence-unchanged"
    default_hint = "`timeline world policy show` says what is in force"


class EvidenceStatementError(WorldError):
    """What the owner says about evidence is not of its form; nothing was recorded."""

    reason = "world-evidence-invalid"
    default_hint = "`docs/spec/reasoned-leaves.md` lists the fields and their bounds"


class TraceUnknownError(WorldError):
    """No answer was mediated under this id."""

    reason = "world-trace-unknown"
    default_hint = "`world_mediate` and `timeline world mediate` say the id of each trace"


class NoConflictError(WorldError):
    """Nothing is disputed about this subject and predicate, so that nothing is to be resolved."""

    reason = "world-conflict-missing"
    default_hint = (
        "`timeline world conflicts` lists what is disputed; `timeline world correct` replaces one value"
    )


class NotToBeConfirmedError(WorldError):
    """What was to be confirmed is no suggestion in force."""

    reason = "world-not-to-be-confirmed"
    default_hint = "`timeline world proposals` lists what can be confirmed"


class TaskStartedError(WorldError):
    """A task that is under way cannot be begun again."""

    reason = "world-task-started"
    default_hint = "`timeline task show` says where it stands; `timeline task correct` changes it"


class TaskNotStartedError(WorldError):
    """Nothing established says where the task stands, for its project and route."""

    reason = "world-task-not-started"
    default_hint = "begin it with `timeline task start`, or confirm a suggestion with `timeline task confirm`"


class TaskDisputedError(WorldError):
    """Established continuations of the task differ: which one holds has to be settled first (W38)."""

    reason = "world-task-disputed"
    default_hint = "choose one with `timeline task confirm`"


class TaskCompletedError(WorldError):
    """The task is completed, or would be by a word: only a measurement completes one (W35)."""

    reason = "world-task-completed"
    default_hint = "`timeline task start` begins a completed task anew"


class TaskMovedError(WorldError):
    """What is said about this predicate moves a task, and is said by the commands of the task."""

    reason = "world-task-moved"
    default_hint = "use `timeline task`"


class WorldScopeError(WorldError):
    """A question mixes a group with private assertions, or names a scope that is not of its form (W59)."""

    reason = "world-scope-invalid"


class RecallFieldError(WorldError):
    """A host's field holds no recall packet in its short form (T50)."""

    reason = "world-recall-field-invalid"


class WorldStateError(StateError):
    """A stored assertion breaks the rules of the world model: nothing of it is answered (W65)."""

    reason = "world-state-invalid"
    default_hint = (
        "`timeline verify --deep` says more; the assertion was not recorded by this program as it stands"
    )
