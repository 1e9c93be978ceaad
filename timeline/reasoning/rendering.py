"""The words for a view: fixed templates, so that what looks alike reads alike, byte for byte (P40, P48). Pure.

Everything is made of a view, the question that its reader asked, and the moment that a unit names. This module knows
neither the resolver nor a decision witness; an import contract holds that.
"""

from datetime import UTC, datetime
from typing import Final

from timeline.reasoning.declassified import Content, Source, Standing, View
from timeline.reasoning.proposition import Modality, Query

_STATUS: Final = {
    Standing.SUPPORTED: "There is recorded evidence about {about}.",
    Standing.CONFLICTED: "The records about {about} disagree.",
    Standing.STALE: "What is recorded about {about} does not hold {when}.",
    Standing.UNAVAILABLE: "What was recorded about {about} is not available.",
    Standing.UNRECORDED: "There is no recorded evidence about {about}.",
}
"""One template for each view (table 2 of the paper). None says that something is false, and none names a winner."""

_VERBS: Final[dict[Modality, str]] = {
    "asserted": "is",
    "possible": "may be",
    "obligatory": "has to be",
    "permitted": "is permitted to be",
    "hypothetical": "is, as a hypothesis,",
}


def render_set(view: View, query: Query, as_of: int | None = None) -> tuple[str, ...]:
    """Every sentence that may answer this question for a reader of this view, the usual one first.

    ``as_of`` (UTC milliseconds) is the moment that the answer says it is about.
    """
    about = f"{query.predicate} of {query.subject}"
    # Not the time of the asking: that may come from a leaf which the reader may not see.
    when = "now" if as_of is None else "then"
    return (_dated(_STATUS[view.standing].format(about=about, when=when), as_of),)


def render_content(content: Content, as_of: int | None = None) -> str:
    """The sentence that asserts a content, with what it is attributed to."""
    said = content.proposition
    sources = "; ".join(map(_source, content.sources))
    sentence = (
        f"{said.predicate} of {said.subject} {_VERBS[said.modality]} {said.value} (recorded: {sources})."
    )
    return _dated(sentence, as_of)


def _source(source: Source) -> str:
    return f"{source.role} {source.id}, {_time(source.observed_at)}"


def _dated(sentence: str, as_of: int | None) -> str:
    return sentence if as_of is None else f"As of {_time(as_of)}: {sentence}"


def _time(at_ms: int) -> str:
    seconds, rest_ms = divmod(at_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ms:03d}Z"
