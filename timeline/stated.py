"""What the owner states as a leaf of its own, held to the form that a reader of the log will hold it to. Pure."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from sidecars.errors import SidecarError
from timeline.errors import TimelineError

Body = TypeVar("Body", bound=msgspec.Struct)


def check_stated(body: Body, check: Callable[[Body], None], refusal: type[TimelineError]) -> Body:
    """The same body, once every bound of its fields and ``check``, the rule of its kind, hold of it.

    Raises:
        TimelineError: one does not; of the class ``refusal``, and the message names field and rule.
    """
    try:
        checked = msgspec.convert(msgspec.to_builtins(body), type(body))
        check(checked)
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at ")[2].strip("`$.") if " - at " in str(error) else "of it"
        message = f"field {place}: not of its form"
        raise refusal(message) from None
    except SidecarError as error:
        raise refusal(error.rule) from error
    return checked
