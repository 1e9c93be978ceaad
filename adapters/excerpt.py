"""The bounded part of a tool's output that is kept while its call is open, still escaped."""

from typing import Final, NamedTuple

from adapters.decode import HEAD_WINDOW, OUTPUT_WINDOW, head_text, tail_text, whole_text
from adapters.record import OutputText


class Excerpt(NamedTuple):
    """The beginning and the end of an output: decoded only if it is the one that is looked at.

    ``whole`` says that ``tail`` is all of it; ``truncated`` that the host shortened it; ``continued`` that earlier
    outputs of the same command hold its beginning.
    """

    head: bytes = b""
    tail: bytes = b""
    whole: bool = True
    truncated: bool = False
    continued: bool = False


NO_OUTPUT: Final = Excerpt()


def excerpt_of(content: bytes, *, truncated: bool) -> Excerpt:
    """Return the bounded part of escaped ``content``."""
    if len(content) <= OUTPUT_WINDOW:
        return Excerpt(b"", content, whole=True, truncated=truncated)
    return Excerpt(content[:HEAD_WINDOW], content[-OUTPUT_WINDOW:], whole=False, truncated=truncated)


def shown(part: Excerpt) -> OutputText:
    """Return the text of an excerpt."""
    if part.whole:
        text = whole_text(part.tail)
        if part.continued:
            # Its first line may be the end of one that began in the output before: the window of a longer text.
            return OutputText(head="", tail=text, whole=False, truncated=part.truncated)
        return OutputText(head=text, tail=text, whole=True, truncated=part.truncated)
    head = "" if part.continued else head_text(part.head)
    return OutputText(head, tail_text(part.tail), whole=False, truncated=part.truncated)
