"""Values and times as they are typed with the owner's commands."""

from sidecars.errors import SidecarError
from sidecars.identity import JSON, strict_loads_with_floats
from timeline.clock import parse_utc
from timeline.errors import UsageError


class Given:
    """A value that was given with a command; ``None`` in its place means that none was."""

    __slots__ = ("value",)

    def __init__(self, value: JSON) -> None:
        """Hold it: null is a value too."""
        self.value = value


def given_value(as_json: str | None, text: str | None) -> Given | None:
    """The value of ``--value`` or ``--text``; ``None`` where neither was given.

    Raises:
        UsageError: both were, or it is not JSON.
    """
    if as_json is not None and text is not None:
        message = "--value and --text: one of them is the value"
        raise UsageError(message)
    if as_json is None:
        return None if text is None else Given(text)
    try:
        return Given(strict_loads_with_floats(as_json.encode()))
    except (SidecarError, UnicodeEncodeError) as error:
        message = "--value: not JSON"
        raise UsageError(
            message, hint="a text is written as --text main, or as --value '\"main\"'"
        ) from error


def needed_value(as_json: str | None, text: str | None) -> JSON:
    """The same, where a value is needed.

    Raises:
        UsageError: none was given, or see ``given_value``.
    """
    given = given_value(as_json, text)
    if given is None:
        message = "--value or --text is missing"
        raise UsageError(message)
    return given.value


def parse_moment(text: str | None, option: str = "--expires") -> int | None:
    """The UTC milliseconds of an option.

    Raises:
        UsageError: it is not an exact time.
    """
    try:
        return None if text is None else parse_utc(text)
    except ValueError as error:
        message = f"{option}: not an exact UTC time"
        raise UsageError(message, hint="write it as 2026-01-31T10:00:00Z") from error
