"""The mediator: which units of an answer are released, and what is kept about each (P36 to P42). Pure.

A caller brings structured units; taking them from free text is not done here. Each is resolved, made a view, and held
against the release rules, which know nothing but that view: a decision goes into salted digests and no further. A unit
that is held back gets a diagnostic, and what is written instead is a new call with new units.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Literal, TypeAlias

import msgspec

from sidecars.identity import JSON
from sidecars.reasoned import UNITS_MAX, TracedUnit
from timeline.reasoning.decision import Decision
from timeline.reasoning.declassified import Standing, View
from timeline.reasoning.errors import MediationInvalidError
from timeline.reasoning.graph import Access, Graph, Head
from timeline.reasoning.metrics import Disposition
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.rendering import render_content, render_set
from timeline.reasoning.resolution import resolve
from timeline.reasoning.trace import Seal
from timeline.reasoning.view import view_of

_UNIT_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""As the trace has it."""


class ContentUnit(msgspec.Struct, frozen=True, tag="content", tag_field="type"):
    """One thing that an answer asserts, and the question that decides about it.

    ``as_of`` (UTC milliseconds) is the moment that the answer says it is about; without it, it speaks of the moment at
    which it is emitted.
    """

    id: str
    query: Query
    proposition: Proposition
    as_of: int | None = None


class StatusUnit(msgspec.Struct, frozen=True, tag="status", tag_field="type"):
    """One thing that an answer says about what is recorded, word for word; ``as_of`` as for content."""

    id: str
    query: Query
    text: str
    as_of: int | None = None


Unit: TypeAlias = ContentUnit | StatusUnit
"""A part of an answer, content or status and never both, even where one sentence holds two (P38)."""


class Emission(msgspec.Struct, frozen=True):
    """Between which heads an answer arose: that of its prompt, that of its emission, and when (UTC milliseconds)."""

    prompt: Head
    emission: Head
    at: int


class HeadUse(StrEnum):
    """Whether the prompt's head may be spoken of at emission (P37)."""

    SAME = "same"
    SNAPSHOT = "snapshot"
    MOVED = "moved"


class Released(msgspec.Struct, frozen=True):
    """What is emitted for a unit."""

    unit: str
    disposition: Disposition
    text: str


class Diagnostic(msgspec.Struct, frozen=True):
    """Why a unit was held back.

    ``head``: what was resolved is no longer the newest, so ask again; ``time``: it does not say of which moment it
    speaks; ``view``: the view does not allow it. Only then is the view given, for what may be said instead.
    """

    unit: str
    rule: Literal["head", "time", "view"]
    view: View | None = None


class Mediation(msgspec.Struct, frozen=True):
    """What came of one answer, each in the order of the units; the bindings are for the trace alone."""

    released: tuple[Released, ...]
    bindings: tuple[TracedUnit, ...]
    diagnostics: tuple[Diagnostic, ...]


def decide_head_use(emission: Emission, policy: Policy, as_of: int | None) -> HeadUse:
    """HeadUseOK: the heads are equal, or the later one follows, the policy permits it, and the unit says so."""
    if emission.prompt == emission.emission:
        return HeadUse.SAME
    follows = emission.prompt.size < emission.emission.size
    return HeadUse.SNAPSHOT if follows and policy.snapshot and as_of is not None else HeadUse.MOVED


def is_timely(unit: Unit, emitted_at: int) -> bool:
    """QualOK: the question is about the moment of which the unit speaks, and that moment has come.

    What held in 2024 says nothing about today, unless the answer says that it speaks of 2024.
    """
    return unit.query.at == (emitted_at if unit.as_of is None else unit.as_of) <= emitted_at


def decide_release(unit: Unit, view: View, head: HeadUse, emitted_at: int) -> Released | Diagnostic:
    """ContentReleaseOK and StatusResponseOK: everything there is to know about a decision is its view."""
    if head is HeadUse.MOVED:
        return Diagnostic(unit.id, "head")
    if not is_timely(unit, emitted_at):
        return Diagnostic(unit.id, "time")
    text = _status_text(unit, view) if isinstance(unit, StatusUnit) else _content_text(unit, view)
    if text is None:
        return Diagnostic(unit.id, "view", view)
    told_less = isinstance(unit, ContentUnit) and view.standing is Standing.CONFLICTED
    qualified = told_less or head is HeadUse.SNAPSHOT
    return Released(unit.id, Disposition.QUALIFIED if qualified else Disposition.PASSED, text)


def _status_text(unit: StatusUnit, view: View) -> str | None:
    return unit.text if unit.text in render_set(view, unit.query, unit.as_of) else None


def _content_text(unit: ContentUnit, view: View) -> str | None:
    """The sentence for an exact member of the view's contents; of one that is contradicted only that it is."""
    content = next((one for one in view.contents if one.proposition == unit.proposition), None)
    if content is None:
        return None
    if view.standing is Standing.CONFLICTED:
        return render_set(view, unit.query, unit.as_of)[0]
    return render_content(content, unit.as_of)


def mediate(
    units: Sequence[Unit],
    emission: Emission,
    *,
    graph: Graph,
    access: Access,
    policy: Policy,
    salt: bytes,
) -> Mediation:
    """Resolve every unit at the prompt's head, and release those that pass; ``salt`` is 32 bytes for this answer alone.

    Raises:
        MediationInvalidError: too many units, two with one id, or a graph that is not of the prompt's head.
    """
    _check(units, emission, graph)
    seal = Seal(salt)
    decided = []
    bindings = []
    for unit in units:
        decision = resolve(graph, unit.query, access, policy, salt=salt)
        head = decide_head_use(emission, policy, unit.as_of)
        result = decide_release(unit, view_of(decision, policy), head, emission.at)
        decided.append(result)
        bindings.append(_bind(unit, decision, result, head, seal))
    return Mediation(
        released=tuple(one for one in decided if isinstance(one, Released)),
        bindings=tuple(bindings),
        diagnostics=tuple(one for one in decided if isinstance(one, Diagnostic)),
    )


def _check(units: Sequence[Unit], emission: Emission, graph: Graph) -> None:
    if not 1 <= len(units) <= UNITS_MAX:
        raise MediationInvalidError(f"units: must be 1 to {UNITS_MAX}")
    seen: set[str] = set()
    for number, unit in enumerate(units):
        if not _UNIT_ID.fullmatch(unit.id):
            raise MediationInvalidError(
                f"unit {number}: id: must be 1 to 64 of A-Z, a-z, 0-9 and ._- (a letter or digit first)"
            )
        if unit.id in seen:
            raise MediationInvalidError(f"unit {number}: id: must be another than that of any unit before it")
        seen.add(unit.id)
    if graph.head != emission.prompt:
        raise MediationInvalidError("prompt: must be the head that is resolved at")


def _bind(
    unit: Unit, decision: Decision, result: Released | Diagnostic, head: HeadUse, seal: Seal
) -> TracedUnit:
    """What is kept of one unit: only here does a decision leave this module, as salted digests."""
    support: JSON = [[vertex.id, vertex.version] for vertex in decision.premises]
    resolved: JSON = {
        "status": str(decision.status),
        "flags": [str(flag) for flag in sorted(decision.flags)],
        "support": support,
    }
    contents: dict[str, JSON] = {
        "digest": msgspec.to_builtins(unit),
        "query": msgspec.to_builtins(unit.query),
        "decision": resolved,
        "support": support,
        "witness": msgspec.to_builtins(decision.witness, order="deterministic"),
    }
    return TracedUnit(
        unit=unit.id,
        type="content" if isinstance(unit, ContentUnit) else "status",
        disposition=(result.disposition if isinstance(result, Released) else Disposition.BLOCKED).value,
        head=head.value,
        **{field: seal.digest(field, unit.id, content) for field, content in contents.items()},
    )
