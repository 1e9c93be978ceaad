"""Texts that hold a secret: keys with a known form, what is assigned to a password, credentials in an address (W29).

A finding names the family and never the text. Every pattern begins with a fixed word and repeats nothing without a
bound, so that the time grows with the length of the text and not faster. A text is read without the characters that
nobody sees (``letters``). What names a secret without holding it passes: a variable, a placeholder, a file, a digest
with no such word before it. What is caught and what is not is measured in ``docs/filters.md``. Pure.
"""

import re
from collections.abc import Iterator
from typing import Final

from sidecars.identity import JSON
from timeline.world.assigned import find_assigned
from timeline.world.key_forms import FORMS
from timeline.world.letters import without_unseen

_ADDRESS: Final = re.compile(r"://([^\s/:@]{0,128}):([^\s/@]{1,256})@")
_NOT_A_PASSWORD: Final = re.compile(
    r"[${<%*\[].*|.*[>}\]]|(?i:x+|pass(?:word|wd)?|pw|pwd|secret|token|passwort|\.{3})|[A-Z_]{2,}", re.ASCII
)

_PHRASE: Final = re.compile(
    r"(?i:(?:seed|recovery|backup|wiederherstellungs)[ -]?(?:phrase|words)|mnemonic|wiederherstellungsphrase)[\"']?"
    r"(?:\s{0,2}(?::|=|\s(?:is|ist|lautet)\s)|\s{0,2}\n)\s{0,2}[\"']?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)
_PHRASE_WORDS: Final = ("phrase", "mnemonic", "seed words")
_PROSE: Final = frozenset("the and for was are has its not der die das und ist".split())


_USER_AND_PASSWORD: Final = re.compile(
    r"(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{4,128})"
    r"|auth ?= ?\([\"'][^\"'\n]{1,64}[\"'], ?[\"']([^\"'\n]{4,128})"
)


_BY_WORD: Final = tuple((word, form) for form in FORMS for word in form.words)

_BETWEEN: Final = "\n\0\n"
"""Between texts that are read at once, since each reading costs: nothing is assigned over it, and no key holds it."""


def find_secret(text: str) -> str | None:
    """The family of a secret that a text holds, or ``None``."""
    seen = without_unseen(text)
    small = seen.lower()
    for word, form in _BY_WORD:
        if word in small and any(form.is_one(match[0]) for match in form.pattern.finditer(seen)):
            return form.family
    if "://" in seen and any(not _NOT_A_PASSWORD.fullmatch(match[2]) for match in _ADDRESS.finditer(seen)):
        return "address-with-password"
    if ("-u" in seen or "auth" in seen) and any(
        not _NOT_A_PASSWORD.fullmatch(match[1] or match[2]) for match in _USER_AND_PASSWORD.finditer(seen)
    ):
        return "user-and-password"
    if any(word in small for word in _PHRASE_WORDS) and any(
        not _PROSE.intersection(match[1].split()) for match in _PHRASE.finditer(seen)
    ):
        return "seed-phrase"
    return find_assigned(seen, small)


def find_secret_in(value: JSON, *texts: str) -> str | None:
    """The family of a secret in the keys and strings of a value, in a key with its string, or in the texts."""
    return find_secret(_BETWEEN.join((*_texts(value), *texts)))


def _texts(value: JSON) -> Iterator[str]:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            for key, item in part.items():
                # What is a plain word alone is a password behind the key `password`.
                yield f'{key}: "{item}"' if isinstance(item, str) else key
                waiting.append(item)
