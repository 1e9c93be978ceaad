"""Why something is not admitted to the graph, not promoted, or not a witness of what it is said to be a witness of.

A message names ids, roles and rules, and never what a proposition says.
"""

from timeline.errors import AccessError, StateError, UsageError


class ReasoningError(UsageError):
    """Something is not what evidence reasoning takes."""

    reason = "reasoning-invalid"


class OriginError(ReasoningError):
    """A root's origin lacks a field of its class, or a field that the recording path has checked (P16, P17, P45)."""

    reason = "origin-not-checked"
    default_hint = "`docs/spec/reasoning.md` lists the fields of each class of origin"


class ShapeError(ReasoningError):
    """A vertex is neither a root with an origin nor derived from something by a named rule (P9)."""

    reason = "vertex-shape-invalid"


class VertexReusedError(ReasoningError):
    """An id names one version for ever: a vertex or a marker, never another one (P2, P13)."""

    reason = "vertex-id-reused"


class VertexUnknownError(ReasoningError):
    """An id names no vertex and no unavailable marker of the graph (P2)."""

    reason = "vertex-unknown"


class DependencyCycleError(ReasoningError):
    """Vertices depend on each other in a circle: none of them has a finite trace (P8, P18)."""

    reason = "dependency-cycle"


class PromotionRuleError(ReasoningError):
    """No rule leads from what a vertex depends on to its role (P46)."""

    reason = "promotion-rule-missing"
    default_hint = "`docs/spec/reasoning.md` lists which role may follow from which"


class NonPromotionError(ReasoningError):
    """What is unverified can be no dependency of an observation or of a report (P15)."""

    reason = "promotion-of-unverified"


class PromotionBindingError(ReasoningError):
    """A derivation does not bind what its rule wants it to bind (P9, P46)."""

    reason = "promotion-binding-missing"
    default_hint = "`docs/spec/reasoning.md` lists what each rule binds"


class ScopeWidenedError(ReasoningError):
    """A derived vertex would be for more people, purposes or tasks than what it depends on (P33)."""

    reason = "promotion-scope-widened"


class HeadOrderError(StateError):
    """A change of the graph names a head that is not after the one it starts from (P1)."""

    reason = "reasoning-head-not-newer"


class WitnessRefusedError(StateError):
    """A decision witness is not that of its decision: bound to another, or with too little or too much (P26)."""

    reason = "decision-witness-refused"


class WitnessClosedError(AccessError):
    """Whoever asks may not see everything that the decision witness is about, and so may not open it (N2)."""

    reason = "decision-witness-closed"


class MediationInvalidError(ReasoningError):
    """What is to be mediated is no ordered list of units about one head (P38)."""

    reason = "mediation-invalid"
    default_hint = "`docs/spec/mediation.md` says what a unit is"


class CaseInvalidError(ReasoningError):
    """A conformance case is not of its form; the message names file, field and rule."""

    reason = "conformance-case-invalid"
    default_hint = "`docs/spec/conformance.md` lists the fields and their bounds"
