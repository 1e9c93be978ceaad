"""The stage of the demonstration: where it plays, how it speaks, and what makes it fail."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from timeline import service
from timeline.errors import DemoError

Say = Callable[[str], None]


class Stage(msgspec.Struct, frozen=True):
    """Where the story plays."""

    session: service.Session
    project: Path
    home: Path
    say: Say

    def step(self, title: str) -> None:
        """Begin a chapter."""
        self.say("")
        self.say(f"== {title}")

    def tell(self, text: str) -> None:
        """Show what a step has given, one line."""
        self.say(f"   {text}")

    def proved(self, text: str) -> None:
        """Say what the chapter has shown; only after it was checked."""
        self.tell(f"proved: {text}")


def require(condition: bool, text: str) -> None:
    """Return only if what the story says is so.

    Raises:
        DemoError: it is not.
    """
    if not condition:
        message = f"not so: {text}"
        raise DemoError(message)


def must_refuse(action: Callable[[], object]) -> str:
    """The reason of the refusal that ``action`` must meet.

    Raises:
        DemoError: it was not refused.
    """
    try:
        action()
    except service.REFUSALS as error:
        return error.reason
    message = "not so: the step must be refused"
    raise DemoError(message)
