"""What a text assigns to a password, a token or a key: ``password=…``, ``Passwort: …``, ``the api key is …``.

The word that names it comes first, then how it is assigned, then the value; the value decides (``assigned_value``).
A password may be any mixture of letters, digits and signs; a token or key must look drawn; behind a word that mostly
means something else (``pass``, ``auth``, ``key``) a value has to be stronger still. English and German. Pure.
"""

import re
from typing import Final

from timeline.world.assigned_value import Value, is_mixture, is_password, is_strong, says_nothing
from timeline.world.randomness import is_random

_PASSWORD: Final = (
    r"pass(?:word|wort|phrase|code|wd)|kennwort|(?<![a-z])pwd?(?![a-z])|[-_]pass(?![a-z])|requirepass|sshpass -p"
    r"|zugangscode|(?:wlan|wi-?fi|wpa2?)[ _-]?(?:key|schl(?:ü|ue)ssel)"
)
_DRAWN: Final = (
    r"(?:api|app|private[rn]?|secret|signing|master|encryption|decryption|session|account|access|shared|auth|ssh"
    r"|storage|subscription|hmac|fernet|deploy|consumer|wallet|service|webhook|jwt|zugangs|geheime[rn]?)[ _-]?"
    r"(?:key|schl(?:ü|ue)ssel)|secret|geheimnis|token|credential|private_?hex|totp"
)
_NAMES_DRAWN: Final = re.compile(_DRAWN, re.IGNORECASE)
_LOOSE: Final = r"(?<![a-z])(?:pass|auth)(?![a-z])"
_KEY: Final = r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,24}[_-]){0,3}key(?![a-z])"

_SIGN_BETWEEN: Final = r"=>|->|:=|==?|:|→|—|–|\|"  # noqa: RUF001  # people do write dashes
_VERB_BETWEEN: Final = r"is|ist|was|war|lautet|hei(?:ß|ss)t|to|auf"
_HEAD: Final = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<drawn>{_DRAWN})|(?P<loose>{_LOOSE})|(?P<key>{_KEY}))"
    # What it is for, or what was done to it, and then a sign or a verb ...
    r"(?:(?:\s(?:for|of|für|von|der|des|zu)(?:\s[^\s:=]{1,32}){1,4}?|\s(?:changed|set|reset|geändert|gesetzt))"
    rf"(?P<later>\s{{0,2}}(?:{_SIGN_BETWEEN})\s{{0,3}}|\s(?:{_VERB_BETWEEN})\s)"
    # ... or which of several it is, and a sign, a verb or nothing.
    r"|(?:[ _.-]?(?:prod|production|staging|dev|test|old|new|value|main|primary|hex|base)|[ _-]?\d{1,2})?"
    r"(?:\s?\([^)\n]{1,32}\))?[\"'\\\]*`]{0,3}"
    rf"(?P<how>\s{{0,3}}(?:{_SIGN_BETWEEN})[\s*]{{0,5}}|(?<=[\"'])\s{{0,2}},\s{{0,2}}(?=[\"'])|[\"']?\s{{1,2}}value=|>"
    rf"|\s{{1,2}}(?:{_VERB_BETWEEN})\s{{1,2}}|\s{{1,2}}))",
    re.IGNORECASE,
)
_WORDS: Final = tuple(
    "password passwort passphrase passcode passwd _pass -pass requirepass sshpass kennwort pw key schl secret "
    "geheimnis token credential private_hex privatehex totp zugangscode".split()
)
_LOOSELY: Final = re.compile(r"(?:pass|auth)(?:\W{0,8}[:=|>]|\s?[(\u2013\u2014\u2192-])")
"""One of these stands in every text that assigns something: the pattern is slow, and most texts speak of no secret."""

_PAIR: Final = re.compile(
    r"(?:(?<![a-z/])(?:login|user|username|credentials?|zugangsdaten|zugang|benutzer))[\"']?\s{0,2}(?:[:=]|are|sind|is|lauten?)?\s{0,2}"
    r"[\w.@-]{1,64}\s{0,2}[/:]\s{0,2}(?P<value>[^\s\"'`,;<>&/]{8,128})",
    re.IGNORECASE,
)
_PAIR_WORDS: Final = ("login", "user", "credential", "zugang", "benutzer")

_NAMED_AFTER: Final = re.compile(
    r"(?P<value>[^\s\"'`,;<>&]{8,64})[\"'`]? (?:as|als|is|ist) "
    r"(?:the |my |das |mein )?(?:pass(?:word|wort|phrase)|kennwort|pw)",
    re.IGNORECASE,
)
_DRAWN_LATER: Final = re.compile(rf"(?:{_DRAWN})(?: [^\s:=]{{1,24}}){{1,3}}?\s?[:=]\s{{0,2}}", re.IGNORECASE)

_SENTENCE_CHARACTERS: Final = 128
_SENTENCE_WORDS: Final = 7

_QUOTED: Final = re.compile(r"[bru]?\\?\"([^\"\n\\]{1,512})|[bru]?\\?'([^'\n\\]{1,512})|`([^`\n\\]{1,512})")
_BARE: Final = re.compile(r"[^\s\"'`,;<>&]{1,512}")

_HARMLESS_KEYS: Final = frozenset(
    "public pub cache primary foreign partition sort idempotency row dedup lookup verify object id host group map "
    "routing index translation i18n".split()
)
_NAME_OF_A_KEY: Final = re.compile(r"Keys?(?:Types?)?$|\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{43,}$", re.ASCII)
"""A type in code, and the public verifier key of a signed note (C2SP)."""

_KEY_SHORTEST: Final = 32
_AUTH_SHORTEST: Final = 24
_DRAWN_SHORTEST: Final = 12
_DRAWN_BESIDE_SHORTEST: Final = 20
"""Characters of what must look drawn: behind the bare word *key*, behind *auth*, behind a sign, behind the word."""


def find_assigned(text: str, small: str) -> str | None:
    """The family of what is assigned in a text; ``small`` is the text in small letters."""
    if any(word in small for word in _PAIR_WORDS) and any(
        _is_given(pair["value"]) for pair in _PAIR.finditer(text)
    ):
        return "user-and-password"
    if not any(word in small for word in _WORDS) and not _LOOSELY.search(small):
        return None
    if any(_is_given(named["value"]) for named in _NAMED_AFTER.finditer(text)):
        return "assigned-password"
    for head in _HEAD.finditer(text):
        family = _behind(head, text)
        if family is not None:
            return family
    for named in _DRAWN_LATER.finditer(text):
        value = _value(text, named.end())
        if is_mixture(value.text) and is_random(value.text, _DRAWN_BESIDE_SHORTEST):
            return "assigned-key"
    return None


def _behind(head: re.Match[str], text: str) -> str | None:
    """The family of what stands behind a word that names a secret."""
    if head["password"] is not None and any(map(_is_given, _words_after(text, head.end()))):
        return "assigned-password"
    value = _value(text, head.end())
    how = head["how"] or head["later"] or ""
    after = text[head.end() + len(value.text) : head.end() + len(value.text) + 2]
    if not value.text or says_nothing(value) or (how == ">" and after != "</"):
        return None
    if head["password"] is None:
        return "assigned-key" if _is_key(value.text, head, how.strip()) else None
    return "assigned-password" if is_password(value, head["password"].lower(), how, after) else None


def _words_after(text: str, start: int) -> list[str]:
    """The next words of the line: *the password of the app has been changed to …*."""
    return text[start : start + _SENTENCE_CHARACTERS].partition("\n")[0].split()[:_SENTENCE_WORDS]


def _is_given(word: str) -> bool:
    """Whether a word of a sentence about a password is one."""
    bare = Value(_without_close(word.strip("\"'`*,;(")), is_quoted=False)
    return is_strong(bare.text) and not says_nothing(bare)


def _is_key(value: str, head: re.Match[str], how: str) -> bool:
    is_sign = bool(how) and not how.isalpha()
    if _NAME_OF_A_KEY.search(value):
        return False
    name = head["key"] or ""
    if head["drawn"] is not None or _NAMES_DRAWN.search(name):
        return is_random(value, _DRAWN_SHORTEST if is_sign else _DRAWN_BESIDE_SHORTEST)
    if head["loose"] is not None:
        if head["loose"].lower() == "pass":
            return is_sign and is_strong(value)
        return is_sign and is_random(value, _AUTH_SHORTEST)
    if _HARMLESS_KEYS.intersection(re.split("[_-]", name.lower())):
        return False
    is_variable = name.isupper() and "_" in name and "=" in how
    return is_random(value, _KEY_SHORTEST) and (is_variable or is_mixture(value))


def _value(text: str, start: int) -> Value:
    quoted = _QUOTED.match(text, start)
    if quoted is not None:
        return Value(quoted[1] or quoted[2] or quoted[3], is_quoted=True)
    bare = _BARE.match(text, start)
    return Value("" if bare is None else _without_close(bare[0].removeprefix("base64:")), is_quoted=False)


def _without_close(value: str) -> str:
    """A bare value without the signs of the sentence or bracket that it ends."""
    trimmed = value.rstrip(".,:;")
    for opening, closing in ("()", "[]", "{}"):
        if trimmed.endswith(closing) and opening not in trimmed:
            trimmed = trimmed.rstrip(closing + ".,:;")
    return trimmed
