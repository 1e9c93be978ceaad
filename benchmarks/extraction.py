"""What finding the claims of a message costs: its time must grow with the text alone, whatever is in it.

The texts are made of pieces that begin a claim and do not end it, so that a pattern which tries again and again at each
of them would show. Four times the text is compared with the text.
"""

import itertools
import statistics
import time

from benchmarks.measure import Figure
from timeline.reasoning.extraction import extract
from timeline.reasoning.prose import TEXT_CHARACTERS_MAX

_PIECES = (
    *("all ", "the ", "2 of ", "`", '"', "„", "("),
    *("I have the ", "1 passed, ", "a,", "~~", "with x ", "not ", "1/"),
)
_GATE = 8.0
_ROUNDS = 3


def figures(*, quick: bool) -> list[Figure]:
    """The worst of all pairs of pieces: four times the text against the text; and the longest text that is read."""
    pairs = list(itertools.permutations(_PIECES, 2))[:: 5 if quick else 1]
    growth, longest = 0.0, 0.0
    for first, second in pairs:
        piece = first + second
        small, large = (_seconds(piece, TEXT_CHARACTERS_MAX // share) for share in (8, 2))
        growth = max(growth, large / small)
        longest = max(longest, _seconds(piece, TEXT_CHARACTERS_MAX))
    return [
        Figure(
            "claims of a message, four times the text / the text, worst",
            growth,
            "x",
            _GATE,
            f"{len(pairs)} texts",
        ),
        Figure("claims of the longest message that is read, worst", longest, "s", None),
    ]


def _seconds(piece: str, size: int) -> float:
    text = piece * (size // len(piece))
    taken = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        extract(text)
        taken.append(time.process_time() - began)
    return statistics.median(taken)
