"""Where a foreign text may stand in what a session is told, and where it stands."""

from collections.abc import Iterator, Sequence
from typing import Final

from sidecars.identity import JSON
from tests.injections.strings import Injection

PIECE: Final = 40
"""Characters of a text's middle that recognise it, whatever was folded or cut at its ends."""

LABELLED: Final = ("sourceText", "nextStep.summary", "proposedNextStepSummary", "clarificationQuestion")
"""Fields of a user's own words, and of what a model makes of them, each named for what it is."""


def piece_of(injection: Injection) -> str:
    """What recognises the text: the middle of its one line."""
    line = injection.line
    start = max(0, (len(line) - PIECE) // 2)
    return line[start : start + PIECE]


def is_recognisable(injection: Injection) -> bool:
    """Whether a text is long enough not to stand somewhere by chance."""
    return len(injection.line) >= PIECE // 2


def places_of(answer: JSON, pieces: Sequence[str]) -> set[str]:
    """The paths, without the places in lists, of every string or key in an answer that holds one of the pieces."""
    return {
        path
        for path, text in _strings(answer, "")
        if any(piece in " ".join(text.split()) for piece in pieces)
    }


def _strings(part: JSON, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(part, str):
        yield path, part
    elif isinstance(part, list):
        for item in part:
            yield from _strings(item, path)
    elif isinstance(part, dict):
        for key, item in part.items():
            yield f"{path}.#key", key
            yield from _strings(item, f"{path}.{key}".removeprefix("."))
