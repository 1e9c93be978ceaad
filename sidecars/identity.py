"""RFC 8785 identities: what makes two values the same, under a stricter input rule.

Signatures cover exact bytes (``envelope``); canonical JSON only derives identities. The input rule is narrower
than RFC 8785's: objects at most 32 deep, integers within 2**53 - 1, no floats unless the caller's schema declares
them (``*_with_floats``), duplicate keys refused, no NaN or Infinity, no lone surrogates. Strings are taken as
given: there is no Unicode normalisation, since two spellings of a name are two names until someone decides.
"""

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from sidecars.digest import Digest
from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError

if TYPE_CHECKING:
    import msgspec

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | tuple[JSON, ...] | str | int | float | bool | None"
"""A JSON value; tuples count as arrays."""

DEPTH_MAX: Final = 32
"""Nested containers; deeper values would only exercise someone's recursion limit."""

DOCUMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest document that is read for its identity; as large as the reference's largest file."""

_INTEGER_DIGITS_MAX = len(str(INTEGER_MAX)) + 1


def strict_loads(document: bytes) -> JSON:
    """The value of a JSON document without floats.

    Raises:
        MalformedError: not UTF-8, not JSON, or against the input rule.
    """
    return _loads(document, floats=False)


def strict_loads_with_floats(document: bytes) -> JSON:
    """As ``strict_loads``, for schemas that declare fractions; they must be finite.

    Raises:
        MalformedError: not UTF-8, not JSON, or against the input rule.
    """
    return _loads(document, floats=True)


def canonical_bytes(value: JSON) -> bytes:
    """The RFC 8785 bytes of a value without floats.

    Raises:
        MalformedError: the value is against the input rule.
    """
    return _canonical(value, floats=False)


def canonical_bytes_with_floats(value: JSON) -> bytes:
    """As ``canonical_bytes``, for schemas that declare fractions.

    Raises:
        MalformedError: the value is against the input rule.
    """
    return _canonical(value, floats=True)


def value_digest(value: JSON) -> Digest:
    """The identity of a value without floats: SHA-256 over its RFC 8785 bytes.

    Raises:
        MalformedError: the value is against the input rule.
    """
    return Digest.of(canonical_bytes(value))


def _loads(document: bytes, *, floats: bool) -> JSON:
    if len(document) > DOCUMENT_BYTES_MAX:
        raise MalformedError(f"a JSON document must be at most {DOCUMENT_BYTES_MAX} bytes")
    import json  # noqa: PLC0415  (few commands read foreign JSON, and loading it costs every one)

    try:
        # Decoded here, since json.loads would guess UTF-16 and UTF-32 from bytes.
        value: JSON = json.loads(
            document.decode(),
            object_pairs_hook=_unique_pairs,
            parse_constant=_refuse_constant,
            parse_int=_bounded_integer,
        )
    except UnicodeDecodeError as error:
        raise MalformedError("a JSON document must be UTF-8") from error
    except RecursionError as error:
        raise MalformedError(f"JSON must be at most {DEPTH_MAX} deep") from error
    except ValueError as error:  # JSONDecodeError included
        raise MalformedError("the document must be JSON (RFC 8259)") from error
    _check(value, floats=floats)
    return value


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise MalformedError("a JSON object must not have duplicate keys")
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise MalformedError("JSON has no NaN or Infinity")


def _bounded_integer(text: str) -> int:
    if len(text) > _INTEGER_DIGITS_MAX:  # before int(), whose cost grows with the square of the length
        raise MalformedError("an integer must be within 2^53 - 1")
    return int(text)


def _canonical(value: JSON, *, floats: bool) -> bytes:
    if _check(value, floats=floats):
        return _sorted_encoder().encode(value)
    import rfc8785  # noqa: PLC0415  (12 ms; few values need it)

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        raise MalformedError("the value has no RFC 8785 form") from error


@cache
def _sorted_encoder() -> "msgspec.json.Encoder":
    """Equal to RFC 8785 for ASCII keys, integers and strings (the tests compare them), and far faster."""
    import msgspec  # noqa: PLC0415  (a third party reads proofs without it, ADR 0015)

    return msgspec.json.Encoder(order="sorted")


def _check(value: JSON, *, floats: bool) -> bool:
    """Walk without recursion; true if every key is ASCII and there is no float, so that the fast encoder fits."""
    simple = True
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        kind = type(item)
        if kind is str:
            _check_text(item)
        elif kind is dict or kind is list or kind is tuple:
            if depth == DEPTH_MAX:
                raise MalformedError(f"JSON must be at most {DEPTH_MAX} deep")
            if kind is dict:
                simple = _check_keys(item) and simple
                pending.extend((child, depth + 1) for child in item.values())
            else:
                pending.extend((child, depth + 1) for child in item)
        elif kind is int:
            if not -INTEGER_MAX <= item <= INTEGER_MAX:
                raise MalformedError("an integer must be within 2^53 - 1")
        elif kind is float:
            if not floats or not math.isfinite(item):
                raise MalformedError(
                    "a number must be an integer" if not floats else "a number must be finite"
                )
            simple = False
        elif item is not None and kind is not bool:
            raise MalformedError("a value must be an object, array, string, number, boolean or null")
    return simple


def _check_keys(members: dict[Any, Any]) -> bool:
    for key in members:
        if type(key) is not str:
            raise MalformedError("an object's keys must be strings")
        _check_text(key)
    return all(key.isascii() for key in members)


def _check_text(text: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MalformedError("a string must hold no lone surrogates") from error
