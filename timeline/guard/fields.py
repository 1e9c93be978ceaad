"""The fields of a guarded tool's arguments: each read once, as what it has to be, within its bounds. Pure.

A field that is ``null`` counts as absent. No message quotes what was given.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from sidecars.assertion import Predicate, StableId
from sidecars.errors import SidecarError
from sidecars.identity import JSON, canonical_bytes_with_floats
from timeline.clock import parse_utc
from timeline.guard.errors import RequestError

_TIME_CHARACTERS: Final = len("YYYY-MM-DDTHH:MM:SS.mmmZ")


def read_time(given: Mapping[str, object], name: str) -> int | None:
    """An exact UTC time in milliseconds; ``None`` where the field is absent.

    Raises:
        RequestError: it is another.
    """
    if given.get(name) is None:
        return None
    text = read_text(given, name, _TIME_CHARACTERS)
    try:
        return parse_utc(text)
    except (ValueError, OverflowError) as error:
        message = f"field {name}: must be an exact UTC time YYYY-MM-DDTHH:MM:SS[.mmm]Z"
        raise RequestError(message) from error


def read_text(given: Mapping[str, object], name: str, characters_max: int) -> str:
    """A printable text on one line, of more than spaces.

    Raises:
        RequestError: it is absent, empty, longer, or of another type.
    """
    value = given.get(name)
    if (
        not isinstance(value, str)
        or not value.strip()
        or len(value) > characters_max
        or not value.isprintable()
    ):
        message = f"field {name}: must be a printable text of 1 to {characters_max} characters"
        raise RequestError(message)
    return value


def read_stable_id(given: Mapping[str, object], name: str) -> str:
    """A namespace and a name, such as ``task:release``: nothing in which a sentence could stand.

    Raises:
        RequestError: it is absent, or of another form.
    """
    return _read_as(given, name, StableId, "a namespace and a name, such as task:release")


def read_predicate(given: Mapping[str, object], name: str) -> str:
    """A predicate, such as ``deploy.branch``.

    Raises:
        RequestError: it is absent, or of another form.
    """
    return _read_as(given, name, Predicate, "small letters, digits, . and -, a letter first")


def _read_as(given: Mapping[str, object], name: str, form: Any, rule: str) -> str:  # noqa: ANN401  # a type with a pattern
    try:
        return str(msgspec.convert(given.get(name), form))
    except msgspec.ValidationError:
        message = f"field {name}: must be {rule}"
        raise RequestError(message) from None


def read_optional_text(given: Mapping[str, object], name: str, characters_max: int) -> str | None:
    """As ``read_text``; ``None`` where the field is absent.

    Raises:
        RequestError: it is longer, or of another type.
    """
    return None if given.get(name) is None else read_text(given, name, characters_max)


def read_word(
    given: Mapping[str, object], name: str, words: Sequence[str], default: str | None
) -> str | None:
    """One of the words of a closed list, ``default`` where the field is absent.

    Raises:
        RequestError: it is another.
    """
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in words:
        message = f"field {name}: must be one of {', '.join(words)}"
        raise RequestError(message)
    return value


def read_integer(given: Mapping[str, object], name: str, default: int, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, ``default`` where the field is absent.

    Raises:
        RequestError: it is another.
    """
    value = given.get(name, default)
    if type(value) is not int or not low <= value <= high:
        message = f"field {name}: must be {low} to {high}"
        raise RequestError(message)
    return value


def read_flag(given: Mapping[str, object], name: str) -> bool:
    """True or false; false where the field is absent.

    Raises:
        RequestError: it is neither.
    """
    value = given.get(name, False)
    if type(value) is not bool:
        message = f"field {name}: must be true or false"
        raise RequestError(message)
    return value


def read_json(given: Mapping[str, object], name: str, bytes_max: int, *, depth: int = 2) -> JSON:
    """Any JSON value but ``null``, of at most ``bytes_max`` bytes in its RFC 8785 form.

    ``depth`` is how deep in a request it stands.

    Raises:
        RequestError: it is absent, has no such form, or a longer one.
    """
    value: JSON = given.get(name)  # type: ignore[assignment]  # what is no JSON is refused next
    try:
        size = len(canonical_bytes_with_floats(value))
        nested = value
        for _ in range(depth):  # as deep as the digest of a request holds it
            nested = [nested]
        canonical_bytes_with_floats(nested)
    except SidecarError as error:
        message = f"field {name}: {error.rule}"
        raise RequestError(message) from error
    if value is None or size > bytes_max:
        message = f"field {name}: must be a JSON value other than null of at most {bytes_max} bytes"
        raise RequestError(message)
    return value


def refuse_unknown(where: str, given: Iterable[str], known: frozenset[str]) -> None:
    """Return only if every name is known; the schema of ``where`` is closed.

    Raises:
        RequestError: one is not.
    """
    unknown = sorted(set(given) - known)
    if unknown:
        message = f"{where}: field {unknown[0][:40]!r}: unknown"
        raise RequestError(message)
