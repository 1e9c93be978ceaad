"""Names that read like a permission, a credential or a payment: predicates and keys that are refused (W62).

A name is read as its words: split at everything that is no letter or digit and where its case changes, after
lookalikes have become the letters they play (``letters``). A whole word of the list is refused whatever stands beside
it; so are the pairs, words written together out of known words, and words taken apart. What is caught and what is
not is measured in ``docs/filters.md``. Pure.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from sidecars.identity import JSON
from timeline.world.letters import as_latin

_ENGLISH: Final = frozenset(
    "permission permissions perms permitted rights privilege privileges entitlement entitlements "
    "authorization authorizations authorisation authorisations authorize authorise authorizes authorises "
    "authorized authorised unauthorized unauthorised authorizer authoriser authz "
    "credential credentials credentialed creds password passwords passwd passphrase passphrases "
    "secret secrets token tokens apikey apikeys delegation delegations delegated delegate delegates "
    "delegatee delegator "
    "payment payments prepayment repayment spending spend spends spendable".split()
)

_GERMAN: Final = frozenset(
    "berechtigung berechtigungen befugnis befugnisse erlaubnis erlaubnisse vollmacht vollmachten "
    "ermaechtigung ermaechtigungen autorisierung autorisierungen zugriffsrecht zugriffsrechte rechte "
    "zugangsdaten passwort passwoerter kennwort kennwoerter geheimnis geheimnisse "
    "delegierung delegierungen zahlung zahlungen".split()
)

_ENGLISH_PARTS: Final = re.compile(
    r"permission|credential|password|passphrase|privilege|entitlement|payment|authori[sz](?:ation|ed)"
)
_GERMAN_PARTS: Final = re.compile(
    r"berechtigung|vollmacht|ermaechtigung|autorisierung|zugangsdaten|zugriffsrecht|passwort|passwoerter|kennwort"
    r"|kennwoerter|geheimnis|delegierung|zahlung"
)
"""Inside a longer word these say the same; the other words are part of harmless ones (*secretary*, *suspending*)."""

_KEY_OWNERS: Final = frozenset(
    "api private access secret signing ssh encryption decryption master shared auth account session".split()
)
_KEYS: Final = frozenset("key keys schluessel".split())
_GERMAN_KEY_OWNERS: Final = frozenset("zugangs zugriffs privater private privaten geheimer geheime".split())
_ACCESSIBLE: Final = frozenset("tool tools production prod".split())

_COMPANIONS: Final = frozenset(
    "user users admin root owner client server service app my new old id ids access api auth oauth jwt bearer refresh "
    "session login csrf xsrf bot db data file tool tools mcp prod production read write role group system cloud aws "
    "web hook shared public private signing master encryption is has can by to of get set max min all limit limits "
    "name value type level list count key keys "
    "benutzer nutzer konto lese schreib zugriffs zugangs datenbank bank freigabe schluessel".split()
)
"""Words that are written together with one of the list: *accesstoken*, *schreibrechte*."""

_ROUND_RIGHT: Final = frozenset(
    "margin padding hand handed side align aligned alignment arrow left top bottom upper lower center middle click "
    "join corner column columns border edge angle angled shift panel sidebar indent pointing fold scroll swipe "
    "child subtree operand half size sized sizing most".split()
)
"""Beside one of these, *right* is a direction."""

_SMALL_WORDS: Final = frozenset("to of for the on in a an".split())
_SPLIT_FOR_GOOD: Final = frozenset({("per", "mission"), ("per", "missions")})
"""Two words that together are a third, and are more often two."""

_CHUNK: Final = re.compile(r"[^\W_]+")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\WA-Za-z0-9_]+")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_PLAYED: Final = re.compile(r"[0134578$@€!|]")
_AS_LETTERS: Final = tuple(str.maketrans("0134578$@€!|", f"o{one}eastbsaeil") for one in "il")
"""Digits and signs that are written for letters; a one is an i or an l."""


_SHOWN: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}", re.ASCII)
_LONGEST_WORD: Final = 64
"""Characters of a run of letters that is taken apart into words; a longer one is read in pieces of this length."""


def find_authority(predicate: str, value: JSON) -> str | None:
    """Where the first name stands that reads like authority: ``predicate``, or the path of a key of the value.

    A key that is not a plain word is shown by its place among the sorted keys, since it may hold any text.
    """
    if is_authority(predicate):
        return "predicate"
    waiting: list[tuple[str, JSON]] = [("value", value)]
    while waiting:
        path, part = waiting.pop()
        below: list[tuple[str, JSON]] = []
        if isinstance(part, dict):
            for number, key in enumerate(sorted(part)):
                place = f"{path}.{key}" if _SHOWN.fullmatch(key) else f"{path}.#{number}"
                if is_authority(key):
                    return place
                below.append((place, part[key]))
        elif isinstance(part, list):
            below = [(f"{path}[{number}]", item) for number, item in enumerate(part)]
        waiting.extend(reversed(below))
    return None


@lru_cache(maxsize=512)
def is_authority(name: str) -> bool:
    """Whether a name reads like a permission, a credential, a delegation or a payment."""
    return _reads_so(as_latin(name, umlauts=False), _ENGLISH, _ENGLISH_PARTS) or _reads_so(
        as_latin(name, umlauts=True), _ENGLISH | _GERMAN, _GERMAN_PARTS
    )


def _reads_so(name: str, listed: frozenset[str], parts: re.Pattern[str]) -> bool:
    words = [word.casefold() for chunk in _CHUNK.findall(name) for word in _WORD.findall(chunk)]
    if any(word in listed or parts.search(word) for word in words):
        return True
    if _says_right(words) or _pairs_up(words, listed):
        return True
    return any(_is_made_of(run, listed) for run in dict.fromkeys(_spellings(name.casefold())))


def _spellings(name: str) -> Iterator[str]:
    """The runs of letters, and those with digits and signs read as the letters that they resemble."""
    yield from _LETTERS.findall(name)
    if _PLAYED.search(name):
        for table in _AS_LETTERS:
            yield from _LETTERS.findall(name.translate(table))


def _says_right(words: Sequence[str]) -> bool:
    """Whether *right* stands there, and nothing that makes a direction of it."""
    return "right" in words and not _ROUND_RIGHT.intersection(words)


def _pairs_up(words: Sequence[str], listed: frozenset[str]) -> bool:
    """Whether two words side by side are a pair of the list, or one word taken apart."""
    letters = [word for word in words if not word.isdecimal()]
    content = [word for word in letters if word not in _SMALL_WORDS]
    if any(_is_pair(first, second) for first, second in pairwise(content)):
        return True
    apart = pairwise(letters)
    if any(first + second in listed and (first, second) not in _SPLIT_FOR_GOOD for first, second in apart):
        return True
    spelled = "".join(word if len(word) == 1 else " " for word in letters)
    return any(_is_made_of(run, listed | {"right"}) for run in spelled.split() if len(run) > 1)


def _is_pair(first: str, second: str) -> bool:
    if second in _KEYS:
        return first in _KEY_OWNERS or first in _GERMAN_KEY_OWNERS
    pair = {first, second}
    return "access" in pair and bool(pair & _ACCESSIBLE)


def _is_made_of(chunk: str, listed: frozenset[str]) -> bool:
    """Whether a run of letters is words of the list and their companions, and nothing else.

    ``reached`` are the places up to which it is so, each with its last word and whether that already reads so: the
    work is bounded by the length times the longest word.
    """
    if len(chunk) > _LONGEST_WORD:
        return any(
            _is_made_of(chunk[start : start + _LONGEST_WORD], listed)
            for start in range(0, len(chunk), _LONGEST_WORD)
        )
    reached: list[set[tuple[str, bool]]] = [{("", False)}, *(set() for _ in chunk)]
    for start in range(len(chunk)):
        for last, found in reached[start]:
            for end in range(start + 2, min(len(chunk), start + 20) + 1):
                word = chunk[start:end]
                if word in listed or word in _COMPANIONS:
                    reached[end].add((word, found or word in listed or _is_pair(last, word)))
    return any(found for _, found in reached[-1])
