"""The conformance suite: cases run under three release rules, with the figures of the paper's tables 4 and 5. Pure.

*flat* releases every candidate; *source-tag* releases whatever has any evidence with it; *typed* is the resolver and
the mediator of this package, and no copy of them. As the auditor of both, this module alone sees decisions and
dispositions side by side; the cases are made up, so there is nobody whose secrets it could tell.
"""

import pkgutil
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from timeline.reasoning.case import Case, parse_case
from timeline.reasoning.errors import CaseInvalidError
from timeline.reasoning.fixture import access_of, admit_records, emission_of, policy_of, query_of, unit_of
from timeline.reasoning.graph import Access, Graph
from timeline.reasoning.mediation import mediate
from timeline.reasoning.metrics import Disposition, Metrics, Outcome, measure
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.resolution import resolve
from timeline.reasoning.trace import SALT_BYTES

_NO_SALT: Final = bytes(SALT_BYTES)
"""Nothing about a case is secret, and its trace is not kept."""

CASE_IDS: Final = (
    "poison_01",
    "poison_02",
    "poison_03",
    "poison_04",
    "dup_01",
    "dup_02",
    "dup_03",
    "supported_01",
    "scope_01",
    "scope_02",
    "scope_03",
    "supported_02",
    "time_01",
    "time_02",
    "time_03",
    "supported_03",
    "conflict_01",
    "conflict_02",
    "invalidation_01",
    "invalidation_02",
    "correction_01",
    "correction_02",
    "correction_03",
    "head_race_01",
)
"""The cases of the suite in the order of the paper's table 5."""


class Rule(StrEnum):
    """By what a candidate is released."""

    FLAT = "flat"
    SOURCE_TAG = "source-tag"
    TYPED = "typed"


class Surface(StrEnum):
    """Where something is held back: on its way into the graph, to this reader, or out (P43, table 3 of the paper)."""

    ADMISSION = "admission"
    PROJECTION = "projection"
    MEDIATION = "mediation"


class CaseResult(msgspec.Struct, frozen=True):
    """One case as it was decided.

    ``flags`` are sorted; ``refused`` are the records that were not admitted, with the reason; ``surface`` is the first
    that would not let the candidate pass as it is, if any; ``differences`` name what is not as the case expects it.
    """

    case: Case
    refused: dict[str, str]
    status: str
    flags: tuple[str, ...]
    dispositions: dict[Rule, Disposition]
    surface: Surface | None
    differences: tuple[str, ...]


class Criterion(msgspec.Struct, frozen=True):
    """A condition under which the approach would have failed (P51); ``refuted`` is ``None`` if not measured here."""

    name: str
    refuted: bool | None
    bound: str


class ConformanceReport(msgspec.Struct, frozen=True):
    """Every case, the figures of each rule, and what they say about the approach."""

    cases: tuple[CaseResult, ...]
    figures: dict[Rule, Metrics]
    criteria: tuple[Criterion, ...]

    @property
    def surfaces(self) -> dict[Surface, int]:
        """How many candidates each surface was the first to hold back: what each one is worth by itself."""
        return {surface: sum(one.surface is surface for one in self.cases) for surface in Surface}

    @property
    def conforms(self) -> bool:
        """Whether every case came out as it expects."""
        return not any(result.differences for result in self.cases)


def case_content(case_id: str) -> bytes:
    """The bytes of one packaged case."""
    content = pkgutil.get_data("timeline.reasoning", f"cases/{case_id}.json")
    if content is None:
        message = f"the package holds no timeline/reasoning/cases/{case_id}.json"
        raise RuntimeError(message)
    return content


def load_suite() -> tuple[Case, ...]:
    """The cases of the suite, in its order."""
    return tuple(parse_case(case_content(case_id), f"{case_id}.json") for case_id in CASE_IDS)


def run_cases(cases: Sequence[Case]) -> ConformanceReport:
    """Decide every case by every rule.

    Raises:
        CaseInvalidError: two cases have one id.
    """
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise CaseInvalidError(f"case {case.id}: id: must be given to one case")
        seen.add(case.id)
    results = tuple(run_case(case) for case in cases)
    figures = {
        rule: measure([Outcome(one.case.kind == "unsafe", one.dispositions[rule]) for one in results])
        for rule in Rule
    }
    return ConformanceReport(results, figures, _criteria(figures))


def run_case(case: Case) -> CaseResult:
    """Decide one case by every rule, and compare with what it expects."""
    admitted, policy, access = admit_records(case), policy_of(case), access_of(case)
    graph = admitted.graph
    decision = resolve(graph, query_of(case), access, policy)
    unit = unit_of(case)
    mediation = mediate([unit], emission_of(case), graph=graph, access=access, policy=policy, salt=_NO_SALT)
    typed = Disposition(mediation.bindings[0].disposition)
    flags = tuple(str(flag) for flag in sorted(decision.flags))
    expected = case.expected
    compared = (
        ("status", str(decision.status), expected.status),
        ("flags", flags, tuple(sorted(expected.flags))),
        ("disposition", typed, expected.disposition),
    )
    return CaseResult(
        case=case,
        refused=admitted.refused,
        status=str(decision.status),
        flags=flags,
        dispositions={
            Rule.FLAT: Disposition.PASSED,
            Rule.SOURCE_TAG: Disposition.PASSED if case.evidence else Disposition.BLOCKED,
            Rule.TYPED: typed,
        },
        surface=None if typed is Disposition.PASSED else _surface(graph, access, unit.proposition),
        differences=tuple(name for name, found, wanted in compared if found != wanted),
    )


def _surface(graph: Graph, access: Access, said: Proposition) -> Surface:
    """The first surface that holds a statement back: nothing admitted says it, or nothing that this reader may see."""
    scopes = [vertex.scope for vertex in graph.vertices.values() if vertex.proposition == said]
    if not scopes:
        return Surface.ADMISSION
    return Surface.MEDIATION if any(scope.allows(access) for scope in scopes) else Surface.PROJECTION


def _criteria(figures: dict[Rule, Metrics]) -> tuple[Criterion, ...]:
    """The bounds were set before the suite was first run; where there is nothing to compare, nothing is refuted."""
    typed = figures[Rule.TYPED]
    coverages = {rule: one.coverage for rule, one in figures.items() if one.coverage is not None}
    lost = simpler = None
    if coverages:
        lost = coverages[Rule.TYPED].part < coverages[Rule.TYPED].whole
    if coverages and typed.unsupported_release is not None:
        simpler = any(
            figures[rule].contamination.part <= typed.contamination.part
            and coverages[rule].part >= coverages[Rule.TYPED].part
            for rule in (Rule.FLAT, Rule.SOURCE_TAG)
        )
    return (
        Criterion("extraction-misses", None, "measured on sentences, not on cases"),
        Criterion("coverage-loss", lost, "every control is released"),
        Criterion("simpler-rule-as-good", simpler, "each simpler rule lets more through, or covers less"),
    )
