"""What stands where a password, token or key would: whether it is one, or only says where one is or of which kind."""

import re
from typing import Final

import msgspec

from timeline.world.randomness import is_written


class Value(msgspec.Struct, frozen=True):
    """The text behind an assignment, and whether it stood in quotes."""

    text: str
    is_quoted: bool


_CALL: Final = re.compile(r"[A-Za-z_$][\w$.]*[(\[{|].*", re.ASCII)
_NAME: Final = r"(?:_?[A-Z]?[a-z]++(?:_?[A-Z]?[a-z]++)*+\d?|[A-Z][A-Z_]+)"
_DOTTED: Final = re.compile(rf"{_NAME}(?:\.{_NAME})+", re.ASCII)
_PLACEHOLDER: Final = re.compile(
    r"[{<\[(|`].*|\$[{(A-Za-z_].*|%[\w({].*|@[A-Za-z_.]+[({].*|.*[>}\])|]|[*xX.•_?#-]+|(?i:your|my|dummy|fake)[-_].*"
    r"|![A-Za-z]+"
)
_NAMES_ONE: Final = re.compile(r"pass(?:word|wort|phrase)|kennwort|secret|geheim|token", re.IGNORECASE)
_MAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_PATH: Final = re.compile(r"(?:~|\.{1,2})?/.*|[A-Za-z]:\\.*|https?:.*")
_PLAIN: Final = frozenset(
    "password passwd passwort passphrase kennwort pass pwd secret token key apikey string str text bytes char int "
    "bool boolean true false none null nil undefined required optional missing empty unset hidden redacted masked "
    "invalid wrong incorrect expired unknown any object function var let const input falsch leer keine keines "
    "unbekannt erforderlich fehlt siehe changed reset default example changeme 1password keepass2".split()
)
_ALGORITHM: Final = re.compile(
    r"(?i:md5|sha-?\d|argon2|pbkdf2|s?bcrypt|scrypt|base(?:32|58|64)(?!:)|utf-?\d|oauth\d|ed25519|x25519|aes-?\d"
    r"|[hre]s\d{3})"
)
_SLUG: Final = re.compile(
    r"(?:(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,3}|\d{1,4})(?:[-_/.](?:(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,3}|\d{1,4}))+",
    re.ASCII,
)
_SIGN: Final = re.compile(r"[!*+?~^%$#@&]")
_DIGIT: Final = re.compile(r"\d")
_LETTER: Final = re.compile(r"[A-Za-z]")
_UPPER: Final = re.compile(r"[A-Z]")
_LOWER: Final = re.compile(r"[a-z]")
_PHRASE: Final = re.compile(r"[a-z]{3,12}(?: [a-z]{3,12}){3,11}")
_PROSE: Final = frozenset("the your and for must enter please not bitte ihr das muss".split())

_PASSWORD_SHORTEST: Final = 6
_BESIDE_SHORTEST: Final = 8
"""Of a password behind a sign or verb, and of one that merely stands beside the word."""


def says_nothing(value: Value) -> bool:
    """Whether a value names where a secret is, or of which kind, and holds none."""
    text = value.text
    return (
        text.strip("!?*&.,:;").lower() in _PLAIN
        or _PLACEHOLDER.fullmatch(text) is not None
        or _PATH.match(text) is not None
        or _ALGORITHM.match(text) is not None
        or _MAIL.fullmatch(text) is not None
        or (text.isalpha() and _NAMES_ONE.search(text) is not None)
        or (not value.is_quoted and (_CALL.fullmatch(text) or _DOTTED.fullmatch(text)) is not None)
    )


def is_mixture(text: str) -> bool:
    """Whether it has small and capital letters and digits."""
    return all(kind.search(text) for kind in (_UPPER, _LOWER, _DIGIT))


def is_strong(text: str) -> bool:
    """Whether it is a mixture or has a sign among letters and digits, and is neither short nor words and numbers."""
    if len(text) < _BESIDE_SHORTEST or _SLUG.fullmatch(text) or is_written(text):
        return False
    return is_mixture(text) or all(kind.search(text[:-1]) for kind in (_SIGN, _DIGIT, _LETTER))


def is_password(value: Value, word: str, how: str, after: str) -> bool:
    """Whether a value is a password behind its ``word``; ``how`` it is assigned, and what comes ``after`` it."""
    text = value.text
    if "," in how:
        return is_strong(text)
    is_sign = bool(how.strip()) and not how.strip().isalpha()
    if value.is_quoted and " " in text:
        return (
            word == "passphrase" and bool(_PHRASE.fullmatch(text)) and not _PROSE.intersection(text.split())
        )
    if _LETTER.search(text) and (_DIGIT.search(text) or (is_sign and _SIGN.search(text[:-1]))):
        shortest = _PASSWORD_SHORTEST if how.strip() else _BESIDE_SHORTEST
        return len(text) >= shortest and (is_sign or not _SLUG.fullmatch(text))
    if not is_sign or len(text) < _PASSWORD_SHORTEST:
        return False
    if text.isdecimal():
        return True
    # Letters alone: a word in quotes, or right behind the sign as in a shell or an address, not as an argument.
    return text.isalpha() and (value.is_quoted or (how == "=" and after[:1] in {"", " ", "\n", "&", ";"}))
