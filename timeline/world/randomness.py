"""Whether a run of characters looks drawn and not written: keys do, words, paths and identifiers in code do not."""

import re
from typing import Final

_CHARACTERS: Final = re.compile(r"[A-Za-z0-9+/=_.~!*?^%$-]+", re.ASCII)
_DIGIT: Final = re.compile(r"[0-9]")
_UPPER: Final = re.compile(r"[A-Z]")
_LOWER: Final = re.compile(r"[a-z]")
_PARTS: Final = re.compile(r"[-_./=+~:]+")
_WORD: Final = re.compile(r"[A-Z]?[a-z]*[0-9]{0,2}|[A-Z]{1,12}[0-9]{0,2}|[0-9]{1,8}|[vV][0-9]{1,4}", re.ASCII)
_CAMEL: Final = re.compile(r"[A-Z]?[a-z]{2,}[0-9]{0,2}(?:[A-Z][a-z]+[0-9]{0,2}){1,8}", re.ASCII)
_SYLLABLE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", re.ASCII)
_EXTENSION: Final = re.compile(r"\.[a-z]{1,5}[0-9]?$", re.ASCII)

_WRITTEN_SYLLABLE: Final = 3.0
"""Letters between two changes of case, on average, from which on a run of letters is taken for words."""


def is_random(text: str, shortest: int = 16) -> bool:
    """Whether it does: long enough, of several kinds of characters, and not only words and numbers side by side."""
    if len(text) < shortest or not _CHARACTERS.fullmatch(text):
        return False
    digits, upper, lower = (len(kind.findall(text)) for kind in (_DIGIT, _UPPER, _LOWER))
    has_digits = digits >= 2 and upper + lower >= 2
    if not has_digits and min(upper, lower) < 3:
        return False
    if _EXTENSION.search(text) and "/" in text:
        return False
    drawn = [part for part in _PARTS.split(text) if not is_written(part)]
    return sum(map(len, drawn)) * 2 >= len(text)


def is_written(part: str) -> bool:
    """Whether a run of letters and digits is a word, a number, or words joined as code joins them."""
    if _WORD.fullmatch(part) or _CAMEL.fullmatch(part):
        return True
    syllables = _SYLLABLE.findall(part)
    return part.isalpha() and len(part) >= _WRITTEN_SYLLABLE * len(syllables)
