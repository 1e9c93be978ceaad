"""Which reviewed runner a command invokes, if that can be said for certain; everything else is ``None``.

Two bindings: ``direct`` (the command starts the runner itself, so that its exit code is the runner's) and
``script`` (the command starts a script of the project, such as ``npm test`` or ``make check``, and only the
summary in the output says which runner that was). Printers, pipes, unknown wrappers and unknown options bind
nothing. The *name* of a program is taken at its word: a project that calls something else ``pytest`` can deceive
this, as it could replace the real one.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from adapters.objective.command import Command, base_name, parse_argv, parse_command
from adapters.objective.launchers import project_script, started_by, tests_something
from adapters.objective.recogniser import Recogniser
from adapters.objective.runners import RECOGNISERS

_SILENT = frozenset({"cd", "cp", "export", "mkdir", "mv", "rm", "touch", "true", "unset"})
"""Commands that print nothing when they succeed, so that no summary in the output can be theirs."""


class Binding(StrEnum):
    """Whose exit code the call's exit code is."""

    DIRECT = "direct"
    SCRIPT = "script"


class Invocation(msgspec.Struct, frozen=True):
    """A run that the command certainly started.

    ``runner`` is ``None`` for a script. ``words`` are the simple command's own words, without assignments and
    without the commands before it. ``chained`` says that there are such commands: then a failing exit code
    without a summary may be theirs.
    """

    runner: str | None
    binding: Binding
    words: tuple[str, ...]
    chained: bool

    @property
    def normalised(self) -> str:
        """The words joined by single spaces: equal for two runs of the same suite. Raw text; never stored."""
        return " ".join(self.words)


def invocation_of(command: str | Sequence[str]) -> Invocation | None:
    """Return what ``command`` (a shell text or an argument vector) certainly runs, or ``None``.

    Pure and bounded; any text gives a value. This is also the question whether a call's output is worth decoding.
    Answers to the latest shell texts are remembered, in memory only: agents run the same tests again and again.
    """
    return _invocation_of_text(command) if isinstance(command, str) else _invocation(parse_argv(command))


@lru_cache(maxsize=256)
def _invocation_of_text(command: str) -> Invocation | None:
    return _invocation(parse_command(command))


def _invocation(parsed: Command | None) -> Invocation | None:
    if parsed is None:
        return None
    if recogniser := _runner_of(parsed):
        if all(_silent(before) for before in parsed.before):
            return Invocation(recogniser.runner, Binding.DIRECT, parsed.words, bool(parsed.before))
        return None
    script = project_script(parsed.words)
    if script is None or not tests_something(script):
        return None
    if all(_silent(before) or project_script(before.words) is not None for before in parsed.before):
        return Invocation(None, Binding.SCRIPT, parsed.words, bool(parsed.before))
    return None


def _runner_of(command: Command) -> Recogniser | None:
    for started in started_by(command.words):
        for recogniser in RECOGNISERS:
            if recogniser.form.runs(started) and not _ruled_out_by_env(command, recogniser):
                return recogniser
    return None


def _ruled_out_by_env(command: Command, recogniser: Recogniser) -> bool:
    """Say whether an assignment gives the runner an option with which it does not run."""
    variable = recogniser.form.options_variable
    return any(name == variable and recogniser.form.rules_out(value.split()) for name, value in command.env)


def _silent(command: Command) -> bool:
    program = base_name(command.words[0])
    if program in {"source", "."}:
        return len(command.words) == 2 and base_name(command.words[1]) == "activate"
    return program in _SILENT
