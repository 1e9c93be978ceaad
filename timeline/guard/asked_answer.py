"""What the tools about answers are asked, as data: a question, and an answer to be checked. Pure.

As in ``asked``, only form and bounds are checked here; what may be told is decided where it is.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from sidecars.assertion import VALUE_BYTES_MAX
from sidecars.identity import JSON
from sidecars.reasoned import UNITS_MAX
from timeline.clock import format_utc
from timeline.guard.errors import RequestError
from timeline.guard.fields import (
    read_json,
    read_optional_text,
    read_predicate,
    read_stable_id,
    read_text,
    read_time,
    refuse_unknown,
)
from timeline.limits import ANSWER_CHARACTERS_MAX

QUESTION_FIELDS: Final = frozenset({"subjectId", "predicate", "purpose", "at", "asOf"})
ANSWER_FIELDS: Final = frozenset({"units", "text", "purpose"})
UNIT_FIELDS: Final = frozenset({"id", "subjectId", "predicate", "value", "status", "at", "asOf"})

_PURPOSE_CHARACTERS: Final = 32
_TOKEN_CHARACTERS: Final = 64
_UNIT_CHARACTERS: Final = 64
_STATUS_CHARACTERS: Final = 1024


class QuestionAsked(msgspec.Struct, frozen=True):
    """A predicate of a subject, now or at a moment (UTC milliseconds); ``as_of`` is the token of an earlier answer."""

    subject: str
    predicate: str
    purpose: str | None = None
    at: int | None = None
    as_of: str | None = None

    def fields(self) -> dict[str, JSON]:
        """The fields by their names in the interface."""
        return {
            "subjectId": self.subject,
            "predicate": self.predicate,
            "purpose": self.purpose,
            "at": self.at,
            "asOf": self.as_of,
        }


class UnitAsked(msgspec.Struct, frozen=True):
    """One part of an answer: a ``value`` that is asserted, or a ``status`` that is told; ``at`` in milliseconds."""

    id: str
    subject: str
    predicate: str
    value: JSON
    status: str | None
    at: int | None
    as_of: str | None

    def fields(self) -> dict[str, JSON]:
        """The fields by their names in the interface; what was not given is left out."""
        found: dict[str, JSON] = {
            "id": self.id,
            "subjectId": self.subject,
            "predicate": self.predicate,
            "value": self.value,
            "status": self.status,
            "at": None if self.at is None else format_utc(self.at),
            "asOf": self.as_of,
        }
        return {name: value for name, value in found.items() if value is not None}


class AnswerAsked(msgspec.Struct, frozen=True):
    """An answer to be checked: its units, or a text in which claims are looked for; one of the two."""

    units: tuple[UnitAsked, ...]
    text: str | None
    purpose: str | None

    def fields(self) -> dict[str, JSON]:
        """The fields by their names in the interface."""
        return {
            "units": [unit.fields() for unit in self.units] or None,
            "text": self.text,
            "purpose": self.purpose,
        }


def parse_question(given: Mapping[str, object]) -> QuestionAsked:
    """A question from arguments without their scope.

    Raises:
        RequestError: a field is missing, of another type or outside its bounds.
    """
    return QuestionAsked(
        subject=read_stable_id(given, "subjectId"),
        predicate=read_predicate(given, "predicate"),
        purpose=read_optional_text(given, "purpose", _PURPOSE_CHARACTERS),
        at=read_time(given, "at"),
        as_of=read_optional_text(given, "asOf", _TOKEN_CHARACTERS),
    )


def parse_answer(given: Mapping[str, object]) -> AnswerAsked:
    """An answer to be checked, from arguments without their scope.

    Raises:
        RequestError: a field is of another type or outside its bounds, or there are units and a text, or neither.
    """
    text, units = given.get("text"), given.get("units")
    if (text is None) == (units is None):
        message = "field units: either units or a text is needed"
        raise RequestError(message)
    return AnswerAsked(
        units=() if units is None else _parse_units(units),
        text=None if text is None else _read_prose(text),
        purpose=read_optional_text(given, "purpose", _PURPOSE_CHARACTERS),
    )


def _read_prose(text: object) -> str:
    if isinstance(text, str) and 0 < len(text) <= ANSWER_CHARACTERS_MAX:
        with suppress(UnicodeEncodeError):
            text.encode()
            return text
    message = f"field text: must be a text of 1 to {ANSWER_CHARACTERS_MAX} characters"
    raise RequestError(message)


def _parse_units(value: object) -> tuple[UnitAsked, ...]:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    items = list(value) if is_list else []  # type: ignore[call-overload]  # asked just before
    if not 1 <= len(items) <= UNITS_MAX or not all(isinstance(item, Mapping) for item in items):
        message = f"field units: must be 1 to {UNITS_MAX} objects"
        raise RequestError(message)
    return tuple(map(_parse_unit, items))


def _parse_unit(item: Mapping[str, object]) -> UnitAsked:
    refuse_unknown("units", map(str, item), UNIT_FIELDS)
    value = None if item.get("value") is None else read_json(item, "value", VALUE_BYTES_MAX, depth=4)
    status = read_optional_text(item, "status", _STATUS_CHARACTERS)
    if (value is None) == (status is None):
        message = "field units: each needs either a value or a status"
        raise RequestError(message)
    return UnitAsked(
        id=read_text(item, "id", _UNIT_CHARACTERS),
        subject=read_stable_id(item, "subjectId"),
        predicate=read_predicate(item, "predicate"),
        value=value,
        status=status,
        at=read_time(item, "at"),
        as_of=read_optional_text(item, "asOf", _TOKEN_CHARACTERS),
    )
