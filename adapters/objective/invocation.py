"""Which reviewed runners a command starts, if that can be said for certain; everything else is ``None``.

Two bindings: ``direct`` (the command starts the runner itself) and ``script`` (it starts a script of the project, such
as ``npm test`` or ``make check``, and only the summary in the output says which runner that was). Printers, unknown
programs, unknown wrappers and unknown options bind nothing. The *name* of a program is taken at its word: a project
that calls something else ``pytest`` can deceive this, as it could replace the real one.
"""

from collections.abc import Sequence as Words
from enum import StrEnum
from functools import lru_cache

import msgspec

from adapters.objective.claims import Claim, claims_of
from adapters.objective.launchers import (
    checks_something,
    is_quiet,
    project_scripts,
    started_by,
    tests_something,
)
from adapters.objective.recogniser import Kind, Recogniser
from adapters.objective.runners import BY_RUNNER, RECOGNISERS
from adapters.objective.shell import Sequence, Simple, base_name
from adapters.objective.shell_reader import read_text, read_words

_TIME_LIMITS = frozenset({"timeout", "gtimeout"})


class Binding(StrEnum):
    """How the command starts the run."""

    DIRECT = "direct"
    SCRIPT = "script"


class Run(msgspec.Struct, frozen=True):
    """One run that a command line starts.

    ``runner`` is ``None`` for a script, of which ``tests`` says whether it promises tests, and ``checks`` a verdict of
    another tool. ``words`` are the run's own words, without assignments and redirections. ``must``, ``own``,
    ``chained``, ``filtered`` and ``hidden`` are those of ``Claim``; ``limited`` says that a time limit of the command
    line may have ended it.
    """

    runner: str | None
    binding: Binding
    words: tuple[str, ...]
    tests: bool
    checks: bool
    must: bool
    own: bool
    chained: bool
    filtered: bool
    hidden: bool
    limited: bool

    @property
    def normalised(self) -> str:
        """The words joined by single spaces: equal for two runs of the same suite. Raw text; never stored."""
        return " ".join(self.words)

    def recognisers(self) -> tuple[Recogniser, ...]:
        """Return those that may read this run's summary."""
        if self.runner is not None:
            return (BY_RUNNER[self.runner],)
        return (*(_TESTS if self.tests else ()), *(_CHECKS if self.checks else ()))


class Invocation(msgspec.Struct, frozen=True):
    """All runs of a command, in order: at least one."""

    runs: tuple[Run, ...]


_TESTS = tuple(one for one in RECOGNISERS if one.kind is Kind.TEST_RUN)
_CHECKS = tuple(one for one in RECOGNISERS if one.kind is Kind.CHECK and not one.only_direct)


def invocation_of(command: str | Words[str]) -> Invocation | None:
    """Return what ``command`` (a shell text or an argument vector) certainly runs, or ``None``.

    Pure and bounded; any text gives a value. This is also the question whether a call's output is worth decoding.
    Answers to the latest shell texts are remembered, in memory only: agents run the same tests again and again.
    """
    return _invocation_of_text(command) if isinstance(command, str) else _invocation(read_words(command))


@lru_cache(maxsize=256)
def _invocation_of_text(command: str) -> Invocation | None:
    return _invocation(read_text(command))


def _invocation(line: Sequence | None) -> Invocation | None:
    if line is None:
        return None
    exported = _exported(line)
    known: dict[int, tuple[Recogniser | None, tuple[str, ...]]] = {}

    def is_run(simple: Simple) -> bool:
        found = _start(simple, exported)
        if found is not None:
            known[id(simple)] = found
        return found is not None

    claims = claims_of(line, is_run)
    if claims is None or not claims.runs:
        return None
    runs = tuple(_run(claim, *known[id(claim.simple)]) for claim in claims.runs)
    marks = {mark for run in runs for one in run.recognisers() for mark in one.marks}
    if any(mark in text for text in claims.printed for mark in marks):
        return None
    return Invocation(runs)


def _run(claim: Claim, recogniser: Recogniser | None, scripts: tuple[str, ...]) -> Run:
    words = claim.simple.texts
    tests = any(map(tests_something, scripts)) if recogniser is None else recogniser.kind is not Kind.CHECK
    return Run(
        runner=recogniser.runner if recogniser is not None else None,
        binding=Binding.DIRECT if recogniser is not None else Binding.SCRIPT,
        words=words,
        tests=tests,
        checks=any(map(checks_something, scripts)) if recogniser is None else not tests,
        must=claim.must,
        own=claim.own,
        chained=claim.chained,
        filtered=claim.filtered,
        hidden=claim.hidden,
        limited=any(started.name in _TIME_LIMITS for started in started_by(words)),
    )


def _start(
    simple: Simple, exported: tuple[tuple[str, str], ...]
) -> tuple[Recogniser | None, tuple[str, ...]] | None:
    """Return the runner that the command starts, or the names of the project's scripts; ``None`` for neither."""
    words = simple.texts
    env = (*exported, *((name, value.text) for name, value in simple.env))
    for started in started_by(words):
        for recogniser in RECOGNISERS:
            if recogniser.form.runs(started) and not _ruled_out(env, recogniser):
                return recogniser, ()
    scripts = project_scripts(words)
    promising = [one for one in scripts if tests_something(one) or checks_something(one)]
    rest = set(scripts).difference(promising)
    return (None, scripts) if promising and all(map(is_quiet, rest)) else None


def _exported(line: Sequence) -> tuple[tuple[str, str], ...]:
    """Return the variables that the line itself sets for what it starts."""
    found: list[tuple[str, str]] = []
    for simple in line.simples():
        if not simple.words:
            found += [(name, value.text) for name, value in simple.env]
        elif base_name(simple.texts[0]) in {"export", "env"}:
            found += [(name, value) for name, _, value in (text.partition("=") for text in simple.texts[1:])]
    return tuple(found)


def _ruled_out(env: tuple[tuple[str, str], ...], recogniser: Recogniser) -> bool:
    """Say whether a variable gives the runner an option with which it does not run."""
    variable = recogniser.form.options_variable
    return variable is not None and any(
        name == variable and recogniser.form.rules_out(value.split()) for name, value in env
    )
