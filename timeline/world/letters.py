"""What a text says to the eye: without the characters nobody sees, and with lookalikes as the letters they play.

Filters read texts in this form, so that a zero-width space, a Cyrillic letter or a stroke through a word does not
change what they find. The tables hold the letters that resemble a Latin one in common fonts; the full list of
Unicode's confusables is far longer, and what is missing is said in ``docs/filters.md``. Pure.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_UNSEEN: Final = frozenset({"Cf", "Mn", "Me", "Cs", "Co"})
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")
"""Letters and symbols that are shown as nothing: the Hangul and Khmer fillers, and the empty Braille pattern."""

_UMLAUTS: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ẞ": "SS"}
)

_LOOKALIKES: Final = dict(
    zip(
        # Cyrillic, then its capitals that differ from the small letter, then Greek, Armenian, Cherokee and Lisu.
        "авеікмнорстухѕјԁԛԝһпьгиз"
        "ВНРСУХ"  # noqa: RUF001  # lookalikes are the subject
        "αβγεζηικλμνορστυχωϲϳ"
        "ΒΗΡΧΥΝΜΤΖΙΚΟΑΕΣ"
        "օոսհցաքյ"
        "ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃᎩ"  # noqa: RUF001  # lookalikes are the subject
        "ꓔꓳꓗꓰꓠꓢꓑꓮꓡꓓꓖꓣꓲꓬꓚꓐꓴꓪ",  # noqa: RUF001  # lookalikes are the subject
        "abeikmhopctyxsjdqwhnbruz"
        "BHPCYX"
        "abyeznikamvopotuxwcj"
        "BHPXYNMTZIKOAES"
        "onuhgwpj"
        "ABCDEGHiJKLMPRSTVWZY"
        "TOKENSPALDGRIYCBUW",
        strict=True,
    )
)

_NAMED_AFTER: Final = re.compile(r"LETTER (?:SMALL CAPITAL |DOTLESS |SCRIPT |OPEN )?([A-Z])(?: WITH .+)?")


def without_unseen(text: str) -> str:
    """The text in its compatibility form (NFKC), without what is not seen."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if not _is_unseen(c))


def as_latin(text: str, *, umlauts: bool) -> str:
    """The text in Latin letters without marks, its case kept.

    ``umlauts`` writes them as German does (``ä`` as ``ae``), without it they lose their dots as any mark: *Zählung*, a
    count, must not become *Zahlung*, a payment, and ``tökën`` must not become ``toeken``.
    """
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    if umlauts:
        composed = composed.translate(_UMLAUTS)
    return "".join(_as_latin(c) for c in unicodedata.normalize("NFKD", composed) if not _is_unseen(c))


def _is_unseen(character: str) -> bool:
    return character in _FILLERS or unicodedata.category(character) in _UNSEEN


@lru_cache(maxsize=4096)
def _as_latin(character: str) -> str:
    if character.isascii():
        return character
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    small = character.lower()
    if small in _LOOKALIKES:
        return _LOOKALIKES[small].upper()
    named = _NAMED_AFTER.search(unicodedata.name(character, ""))
    if named is None or named.end() != len(unicodedata.name(character, "")):
        return character
    return named[1] if character.isupper() else named[1].lower()
