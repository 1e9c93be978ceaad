"""How a sentence of a conversation is meant, told from its wording: asserted unless a cue says otherwise (G1, G2).

A HEURISTIC. It knows closed lists of English and German cues (``intent_cues``) and nothing of what a sentence is about;
what has no cue counts as asserted, which is what conversation is by default (G5). How often it is wrong is measured by
``python -m tests.reasoning.extraction``; the figures and every known error are in docs/extraction.md.

Who keeps an intent that was told here keeps ``CLASSIFIER`` with it. Pure; time grows with the sentence alone, of
which no more than ``SENTENCE_CHARACTERS_MAX`` characters are read.
"""

from typing import Final

import msgspec

from sidecars.graded import Intent
from timeline.reasoning.intent_cues import CUES

CLASSIFIER: Final = "wording/v1"
"""Name and version of these rules."""

SENTENCE_CHARACTERS_MAX: Final = 4096
"""What is read of a sentence, from its beginning."""


class Meant(msgspec.Struct, frozen=True):
    """What the wording says: the ``intent``, and the ``cue`` that decided, by its name in ``intent_cues``.

    ``cue`` is ``None`` where there was none and the default stands. It is a name of ours and no word of the text.
    """

    intent: Intent
    cue: str | None = None


def find_intent(sentence: str) -> Meant:
    """The intent of one sentence (G1).

    A sentence with several cues is disclaimed before it is fictional, fictional before it is hypothetical, and
    hypothetical before it is speculative: what a text says of its own truth outweighs how sure it is.
    """
    text = " ".join(
        sentence[:SENTENCE_CHARACTERS_MAX].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()
    )
    for intent, cues in CUES:
        for cue in cues:
            if cue.pattern.search(text):
                return Meant(intent, cue.name)
    return Meant("asserted")
