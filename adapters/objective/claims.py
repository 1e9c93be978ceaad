"""The runs in a command line, and what the line's own exit code says about each of them.

The rules are those of POSIX shell (XCU 2.8, 2.9.3): a list's code is that of its last command, a pipeline's that of
its last part (of any part under ``pipefail``), and ``set -e`` ends a list at a failing command that stands alone.
Only options that are set at the top of the line are believed.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from adapters.objective.companions import (
    cuts,
    is_filter,
    is_harmless_inside,
    is_silent,
    printed_text,
    read_again,
)
from adapters.objective.shell import AndOr, Group, If, Pipeline, Sequence, Simple, base_name
from adapters.objective.shell_words import NotUnderstoodError

_FAILING = re.compile(r"false|exit (?:[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])")
_SET_FLAGS: Final = frozenset("eux")
_KEEPS_FILES: Final = frozenset({"echo", "exit", "false", "printf", "sleep", "true", "wait"})
"""Commands that change no file, so that a file written before is still what the run wrote."""


class Claim(msgspec.Struct, frozen=True):
    """One run, and how the end of the whole line depends on it.

    ``must``: the line ends with 0 only if the run did. ``own``: once the run has ended, the line's code is its code.
    ``chained``: something before it could have ended the line. ``filtered``: lines of its output may be missing.
    ``hidden``: its output went to ``file`` or to nowhere.
    """

    simple: Simple
    must: bool = True
    own: bool = True
    chained: bool = False
    filtered: bool = False
    hidden: bool = False
    file: str | None = None


class Claims(msgspec.Struct, frozen=True):
    """Everything that a line runs, in order, and the literal texts that it prints beside."""

    runs: tuple[Claim, ...]
    printed: tuple[str, ...]


def claims_of(line: Sequence, is_run: Callable[[Simple], bool]) -> Claims | None:
    """Return the runs of ``line``, or ``None`` where something in it could print another program's summary.

    ``is_run`` says whether a simple command certainly starts a run.
    """
    collector = _Collector(is_run)
    try:
        runs = collector.sequence(line, top=True)
    except NotUnderstoodError:
        return None
    again = collector.again
    shown = (
        msgspec.structs.replace(run, hidden=False, filtered=run.filtered or again[run.file])
        if run.file in again
        else run
        for run in runs
    )
    return Claims(tuple(shown), tuple(collector.printed))


class _Collector:
    """The walk over a line: what was set, printed and written on the way. One for each line."""

    def __init__(self, is_run: Callable[[Simple], bool]) -> None:
        self._is_run = is_run
        self._pipefail = False
        self._errexit = False
        self._left = False
        """Whether the shell may have ended with 0 before this place: what comes later need not have run."""
        self._numbers: set[str] = set()
        self._files: set[str] = set()
        self.printed: list[str] = []
        self.again: dict[str | None, bool] = {}

    def sequence(self, sequence: Sequence, *, top: bool = False) -> list[Claim]:
        found: list[Claim] = []
        for index, step in enumerate(sequence.steps):
            last = index == len(sequence.steps) - 1
            if top and self._sets(step.command):
                continue
            runs = self._and_or(step.command)
            # Read after the command: its own ``set`` is no part of it.
            stops = _aborts(step.command) or (self._errexit and top and not step.command.rest)
            if step.background:
                self._files.clear()
                runs = [_replace(run, must=False, own=False) for run in runs]
            elif not last:
                runs = [_replace(run, must=run.must and stops, own=False) for run in runs]
            found += [_replace(run, chained=True) for run in runs] if index else runs
        return found

    def _sets(self, command: AndOr) -> bool:
        """Take ``set -e``, ``set -euo pipefail`` and the like; anything else that ``set`` does is not understood."""
        parts = command.first.parts
        if (
            command.rest
            or len(parts) != 1
            or not isinstance(parts[0], Simple)
            or parts[0].texts[:1] != ("set",)
        ):
            return False
        words = list(parts[0].texts[1:])
        if not words or parts[0].redirections:
            raise NotUnderstoodError
        while words:
            word = words.pop(0)
            on, letters = word.startswith("-"), word[1:]
            if word[:1] not in {"-", "+"} or not letters or not (_SET_FLAGS | {"o"}).issuperset(letters):
                raise NotUnderstoodError
            if "e" in letters:
                self._errexit = on
            if letters.endswith("o"):
                self._option(words.pop(0) if words else "", on)
        return True

    def _option(self, name: str, on: bool) -> None:
        match name:
            case "pipefail":
                self._pipefail = on
            case "errexit":
                self._errexit = on
            case "nounset":
                pass
            case _:
                raise NotUnderstoodError

    def _and_or(self, command: AndOr) -> list[Claim]:
        found = self._pipeline(command.first)
        for succeeded, pipeline in command.rest:
            following = self._pipeline(pipeline)
            if succeeded:
                found = [_replace(run, own=False) for run in found]
                found += [_replace(run, chained=True) for run in following]
            else:
                kept = _never_zero(pipeline)
                found = [_replace(run, must=run.must and kept, own=False) for run in found]
                found += [_replace(run, must=False, chained=True) for run in following]
        return found

    def _pipeline(self, pipeline: Pipeline) -> list[Claim]:
        first, *rest = pipeline.parts
        if rest and isinstance(first, Simple) and self._printer_into(first, rest):
            return []
        found = self._part(first)
        shortened = False
        for part in rest:
            if not isinstance(part, Simple) or not is_filter(part):
                raise NotUnderstoodError
            shortened = shortened or cuts(part)
        if rest:
            found = [
                _replace(run, must=run.must and self._pipefail, own=False, filtered=run.filtered or shortened)
                for run in found
            ]
        return [_replace(run, must=False, own=False) for run in found] if pipeline.negated else found

    def _printer_into(self, first: Simple, rest: list[Simple | Group | If]) -> bool:
        """Say whether this is a re-reading of a run's own file through filters."""
        parts = [part for part in rest if isinstance(part, Simple) and is_filter(part)]
        if len(parts) != len(rest) or not self._reads_again(first):
            return False
        if any(cuts(part) for part in parts):
            for file in read_again(first):
                self.again[file] = True
        return True

    def _part(self, part: Simple | Group | If) -> list[Claim]:
        match part:
            case Simple():
                return self._simple(part)
            case Group():
                left = self._left
                found = self.sequence(part.body)
                self._left = left or (self._left and not part.subshell)
                return found
            case If():
                found = []
                for condition in part.conditions:
                    found += [_replace(run, must=False, own=False) for run in self.sequence(condition)]
                for body in part.bodies:
                    found += [_replace(run, must=False, chained=True) for run in self.sequence(body)]
                return found

    def _simple(self, simple: Simple) -> list[Claim]:
        for word in (*simple.words, *(value for _, value in simple.env)):
            for inner in word.inner:
                if not all(is_harmless_inside(one) for one in inner.simples()):
                    raise NotUnderstoodError
        self._note_variables(simple)
        if simple.words and self._is_run(simple):
            run = self._run(simple)
            self._left = self._left or simple.texts[0] == "exec"
            return [run]
        if simple.texts[:1] == ("exit",) and not _FAILING.fullmatch(" ".join(simple.texts)):
            self._left = True
        if _changes_trace(simple):
            raise NotUnderstoodError
        if simple.words and base_name(simple.texts[0]) not in _KEEPS_FILES and not read_again(simple):
            self._files.clear()
        if is_silent(simple) or self._reads_again(simple):
            return []
        text = printed_text(simple, frozenset(self._numbers))
        if text is None:
            raise NotUnderstoodError
        self.printed.append(text)
        return []

    def _note_variables(self, simple: Simple) -> None:
        """Remember which variables hold an exit code; any other value makes them unknown again."""
        for name, value in simple.env:
            if not simple.words and value.text in {"$?", "${PIPESTATUS[0]}"}:
                self._numbers.add(name)
            else:
                self._numbers.discard(name)
        if simple.texts[:1] in {("export",), ("unset",)}:
            self._numbers.clear()

    def _run(self, simple: Simple) -> Claim:
        if any(word.inner or "\n" in word.text for word in simple.words):
            raise NotUnderstoodError
        place = simple.outputs()[0]
        self._files.clear()
        file = simple.fresh_file()
        if file is not None:
            self._files.add(file)
        return Claim(simple, must=not self._left, hidden=place != "", file=file)

    def _reads_again(self, simple: Simple) -> bool:
        files = read_again(simple) if simple.words else ()
        if not files or not self._files.issuperset(files):
            return False
        if len(files) > 1 or files[0] in self.again:
            raise NotUnderstoodError  # the same lines twice would be counted twice
        self.again[files[0]] = cuts(simple)
        return True


def _replace(
    run: Claim,
    *,
    must: bool | None = None,
    own: bool | None = None,
    chained: bool | None = None,
    filtered: bool | None = None,
) -> Claim:
    return Claim(
        run.simple,
        run.must if must is None else must,
        run.own if own is None else own,
        run.chained if chained is None else chained,
        run.filtered if filtered is None else filtered,
        run.hidden,
        run.file,
    )


def _changes_trace(simple: Simple) -> bool:
    """Say whether ``PS4`` is set, without which ``set -x`` prints a command as it stands."""
    return any(name == "PS4" for name, _ in simple.env) or any(
        text.startswith("PS4") for text in simple.texts
    )


def _never_zero(pipeline: Pipeline) -> bool:
    """Say whether this certainly ends with a failing code: ``exit 1``, ``false``, or a group that ends so."""
    if len(pipeline.parts) != 1 or pipeline.negated:
        return False
    part = pipeline.parts[0]
    if isinstance(part, Group):
        last = part.body.steps[-1].command
        return not last.rest and not part.body.steps[-1].background and _never_zero(last.first)
    if not isinstance(part, Simple):
        return False
    return _FAILING.fullmatch(" ".join(part.texts)) is not None


def _aborts(command: AndOr) -> bool:
    """Say whether a failure of what comes first ends the line here: ``… || exit 1``."""
    if len(command.rest) != 1 or command.rest[0][0]:
        return False
    pipeline = command.rest[0][1]
    part = pipeline.parts[0]
    ends_here = not part.subshell if isinstance(part, Group) else isinstance(part, Simple)
    return _never_zero(pipeline) and ends_here and _last_word(part) == "exit"


def _last_word(part: Simple | Group | If) -> str:
    while isinstance(part, Group):
        part = part.body.steps[-1].command.first.parts[0]
    return part.texts[0] if isinstance(part, Simple) and part.words else ""
