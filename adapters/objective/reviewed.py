"""Whether a command is worth more than a count: the question asked of every command of every session.

Reading a shell line takes tens of microseconds, and nearly no command runs tests; so a line that holds none of the
words that a reviewed runner or a project script needs is not read. A name broken up by quotes is missed, which
loses a result and invents none.
"""

import re
from typing import Final

from adapters.objective.invocation import invocation_of
from adapters.objective.launchers import SCRIPT_PROGRAMS
from adapters.objective.runners import RECOGNISERS


def _needed_words() -> frozenset[str]:
    """Return the words of which a reviewed command holds at least one, unless its runner is known by a part."""
    words = set(SCRIPT_PROGRAMS)
    for recogniser in RECOGNISERS:
        words.update(recogniser.form.programs, recogniser.form.modules)
    return frozenset(words)


_NEEDED: Final = _needed_words()
_SHORTEST: Final = tuple(
    word for word in sorted(_NEEDED) if not any(other in word for other in _NEEDED - {word})
)
"""The needed words without those that hold another: none of these, none of those."""

_PARTS: Final = tuple(part for recogniser in RECOGNISERS for part in recogniser.form.name_parts)
_BETWEEN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")

MAX_REMEMBERED: Final = 64
"""How many commands' answers are kept while a file is read: agents run the same tests again and again."""


class ReviewedCommands:
    """Answers whether a command certainly runs a reviewed runner, or a script that promises tests."""

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[str, bool] = {}

    def __contains__(self, command: object) -> bool:
        """Say whether ``command`` is one; pure, and remembered for a while."""
        if not isinstance(command, str) or not may_run(command):
            return False
        answer = self._answers.get(command)
        if answer is None:
            answer = invocation_of(command) is not None
            if len(self._answers) >= MAX_REMEMBERED:
                self._answers.clear()
            self._answers[command] = answer
        return answer


def may_run(command: str) -> bool:
    """Say whether ``command`` holds a word that a reviewed one needs."""
    for word in _SHORTEST:
        if word in command:
            if not _NEEDED.isdisjoint(_BETWEEN_NAMES.split(command)):
                return True
            break
    folded = command.lower()
    for part in _PARTS:  # noqa: SIM110  # a generator costs more than the search
        if part in folded:
            return True
    return False
