"""A value of one schema, read into a closed structure, with errors that name the field and its rule.

Every field of such a schema must be there, and no other; text that people and models read is one printable line, so
that nothing in it can look like another line of a briefing. Pure.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from sidecars.identity import JSON
from timeline.clock import format_utc, parse_utc
from timeline.statements import shows_something
from timeline.world.errors import AssertionInvalidError

T = TypeVar("T", bound=msgspec.Struct)

_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field ")


def read_closed(value: JSON, kind: type[T], rules: Mapping[str, str]) -> T:
    """The structure that ``value`` is. ``rules`` says for the name of a field what it must be.

    Raises:
        AssertionInvalidError: a field is missing, unknown or not of its form.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        place = path.removesuffix("`")
    if missing := _MISSING.match(problem):
        raise broken(f"{place}.{missing[1]}", "is missing")
    if _UNKNOWN.match(problem):
        raise broken(place, "must hold no other field than those of its schema")
    raise broken(place, rules.get(place.rpartition(".")[2], "must be an object of its schema"))


def broken(place: str, rule: str) -> AssertionInvalidError:
    """The error that a part of the value is against a rule; ``place`` begins with a dot, or is empty for all of it."""
    return AssertionInvalidError(f"field value{place}: {rule}")


def check_line(place: str, text: str) -> None:
    """Return only if a text is one printable line without space at its ends.

    Raises:
        AssertionInvalidError: it is not.
    """
    if not text.isprintable() or text != text.strip() or not shows_something(text):
        raise broken(place, "must be one printable line that shows something, without space at its ends")


def read_moment(place: str, value: JSON) -> int:
    """The UTC milliseconds of an exact time with milliseconds.

    Raises:
        AssertionInvalidError: it is not one.
    """
    try:
        at_ms = parse_utc(value) if isinstance(value, str) else None
    except ValueError:
        at_ms = None
    if at_ms is None or format_utc(at_ms) != value:
        raise broken(place, "must be an exact UTC time with milliseconds")
    return at_ms
