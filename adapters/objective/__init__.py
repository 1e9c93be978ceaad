"""Objective results: which tool calls ran a reviewed runner, and what that proves.

Tables and decisions only; no input or output, no keys, no transcript formats. See ``docs/spec/objective.md``.
"""

from adapters.objective.decide import Objective, decide_objective
from adapters.objective.invocation import Binding, Invocation, Run, invocation_of
from adapters.objective.recogniser import Flag, Kind, Outcome
from adapters.objective.vocabulary import CANONICAL_TERMS, SYNONYMS

__all__ = [
    "CANONICAL_TERMS",
    "SYNONYMS",
    "Binding",
    "Flag",
    "Invocation",
    "Kind",
    "Objective",
    "Outcome",
    "Run",
    "decide_objective",
    "invocation_of",
]
