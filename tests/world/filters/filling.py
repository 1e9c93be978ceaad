"""Synthetic examples: a template's placeholders, filled from a random source that its own text seeds.

``{hex:40}`` is forty random hexadecimal digits. No example is a literal, so that nothing in the sources looks like a
secret, and the same template gives the same example on every machine.
"""

import hashlib
import random
import re
import string
import uuid
from collections.abc import Callable
from typing import Final

ALPHABETS: Final = {
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "alnum": string.ascii_letters + string.digits,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "letters": string.ascii_lowercase,
    "base32": string.ascii_uppercase + "234567",
    "crockford": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "digits": string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "b64url": string.ascii_letters + string.digits + "-_",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "BECH32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "bech32": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "dash": "-",
    "at": "@",
}

WORDS: Final = (
    "river candle orbit maple velvet thunder pencil harbor meadow copper lantern saddle pepper window marble "
    "garden ticket oyster kitten basket hollow summer anchor bridge"
).split()

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z0-9]+):(\d+)\}")


def fill(template: str) -> str:
    """The example that a template stands for."""
    source = random.Random(hashlib.sha256(template.encode()).digest())
    return _PLACEHOLDER.sub(lambda match: _make(source, match[1], int(match[2])), template)


def _make(source: random.Random, kind: str, count: int) -> str:
    special: dict[str, Callable[[], str]] = {
        "uuid": lambda: str(uuid.UUID(int=source.getrandbits(128), version=4)),
        "words": lambda: " ".join(source.choice(WORDS) for _ in range(count)),
        "lines": lambda: "\n".join(_run(source, ALPHABETS["b64"], 64) for _ in range(count)),
        "pw": lambda: _password(source, count),
    }
    if kind in special:
        return special[kind]()
    return _run(source, ALPHABETS[kind], count)


def _run(source: random.Random, alphabet: str, count: int) -> str:
    return "".join(source.choice(alphabet) for _ in range(count))


def _password(source: random.Random, count: int) -> str:
    """As a password manager makes one: letters, digits and a sign, beginning with a letter."""
    body = [source.choice(string.digits), source.choice("!*+?~^."), source.choice(string.ascii_uppercase)]
    body += [source.choice(string.ascii_letters + string.digits) for _ in range(count - 4)]
    source.shuffle(body)
    return source.choice(string.ascii_letters) + "".join(body)
