"""The port between the protocol and whoever answers the tools, and the form in which an answer leaves.

An answer is one JSON object, given twice: as structured content, and as the same JSON in a text, since some hosts show
their model the one and some the other (MCP 2025-06-18, tools, "Structured Content"). Both together stay below
`ANSWER_BYTES_MAX`; what does not fit is left out item by item, and counted. Pure.

Cards are counted beside `events`. Any other list is shortened only where the object that holds it says so itself: by
an object `omitted` that has a number under the list's name, or by a number `omitted` for all of its lists of objects.
"""

import copy
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any, Final, Protocol

import msgspec

from timeline.answers import AUTHORITY, ToolAnswer
from timeline.limits import CARDS_MAX, MCP_ANSWER_BYTES_MAX, MCP_FIELD_BYTES_MAX

_KEPT: Final = frozenset({"schema", "status", "blocked", "reason", "authority", "events"})
"""What an answer never loses; of `events` only single cards."""

_DIGITS_MAX: Final = 6


class Tools(Protocol):
    """Who answers the calls of one connection, in a thread of its own."""

    def begin(
        self, name: str, arguments: Mapping[str, object], meta: Mapping[str, object]
    ) -> Future[ToolAnswer]:
        """Begin to answer one call; returns at once, and what comes later may be cancelled or an error.

        ``name`` is one of ``catalogue.NAMES``. ``arguments`` are as the host sent them, unchecked; ``meta`` is the
        whole ``_meta`` of the request, empty where there is none.

        Raises:
            TimelineError: nobody can answer now.
        """
        ...


class Arrival(msgspec.Struct, frozen=True):
    """A connection as the daemon hands it over; the fields are those of ``McpServer.serve``."""

    connection: socket.socket
    begun: bytes
    tools: Tools


class Sent(msgspec.Struct, frozen=True):
    """An answer as it leaves: the object, and the same object as JSON text."""

    structured: dict[str, Any]
    text: str
    is_error: bool

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole tool result on the wire, text and structured together."""
        content = [{"type": "text", "text": self.text}]
        whole = {"content": content, "structuredContent": self.structured, "isError": self.is_error}
        return len(msgspec.json.encode(whole))


def prepare(found: Mapping[str, Any], *, is_error: bool) -> Sent:
    """Bring an answer into the form in which it leaves.

    Raises:
        RuntimeError: our own answer has no status, or is too large without any card.
    """
    structured = {**found, "reason": found.get("reason"), "authority": AUTHORITY}
    if not isinstance(structured.get("status"), str):
        message = "an answer needs a status"
        raise RuntimeError(message)  # noqa: TRY004  # misuse by our own code, as CONTRIBUTING.md has it
    found_events = structured.get("events")
    cards = (
        list(found_events) if isinstance(found_events, (list, tuple)) else []
    )  # an index answer has a count there
    shown = cards[:CARDS_MAX]
    sent = _with_cards(structured, shown, len(cards), is_error=is_error)
    if sent.size_bytes > MCP_ANSWER_BYTES_MAX:
        structured = _without_large_fields(structured)
        sent = _with_cards(structured, shown, len(cards), is_error=is_error)
    if sent.size_bytes > MCP_ANSWER_BYTES_MAX:
        structured = _shortened(structured, sent.size_bytes - MCP_ANSWER_BYTES_MAX)
        sent = _with_cards(structured, shown, len(cards), is_error=is_error)
    while sent.size_bytes > MCP_ANSWER_BYTES_MAX and shown:
        shown = shown[:-1]
        sent = _with_cards(structured, shown, len(cards), is_error=is_error)
    if sent.size_bytes > MCP_ANSWER_BYTES_MAX:
        message = f"an answer without cards has {sent.size_bytes} bytes"
        raise RuntimeError(message)
    return sent


def unavailable(reason: str, hint: str = "") -> Sent:
    """The answer where there is none."""
    structured = {"status": "unavailable", "reason": reason, "hint": hint}
    return prepare(structured, is_error=True)


def _with_cards(structured: dict[str, Any], shown: list[Any], count: int, *, is_error: bool) -> Sent:
    has_cards = isinstance(structured.get("events"), (list, tuple))
    answer = {**structured, "events": shown} if has_cards else structured
    if len(shown) < count:
        answer = {**answer, "omitted": count - len(shown), "more": True}
    return Sent(answer, msgspec.json.encode(answer).decode("utf-8"), is_error)


def _without_large_fields(structured: dict[str, Any]) -> dict[str, Any]:
    """The same without what no answer has that is right, such as a list of thousands; their names stay."""
    large = [
        name
        for name, value in structured.items()
        if name not in _KEPT
        and len(msgspec.json.encode(value)) > MCP_FIELD_BYTES_MAX
        and not any(_counted_lists(structured, only=name))
    ]
    kept = {name: value for name, value in structured.items() if name not in large}
    return {**kept, "fieldsOmitted": large} if large else kept


class _Counted(msgspec.Struct):
    """A list that may be shortened, what its items take on the wire, and where is counted what was left out."""

    items: list[Any]
    costs: list[int]
    omitted: dict[str, Any]
    name: str

    def drop_last(self) -> int:
        """Leave out the last item; returns the bytes that this saves."""
        self.items.pop()
        self.omitted[self.name] += 1
        return self.costs.pop()


def _shortened(structured: dict[str, Any], excess: int) -> dict[str, Any]:
    """The same, smaller by ``excess`` bytes if its counted lists have so many, always the last of the largest first."""
    shortened = copy.deepcopy(structured)
    lists = list(_counted_lists(shortened))
    # A count may get a digit more in both forms.
    excess += 2 * _DIGITS_MAX * len(lists)
    while excess > 0 and (rest := [found for found in lists if found.items]):
        excess -= max(rest, key=lambda found: sum(found.costs)).drop_last()
    return shortened


def _counted_lists(holder: dict[str, Any], *, only: str | None = None) -> Iterator[_Counted]:
    """The lists in an object, and in the objects in it, that are counted beside themselves; ``only`` names a field."""
    omitted = holder.get("omitted")
    by_name = omitted if isinstance(omitted, dict) else {}
    for name, value in holder.items():
        if only is not None and name != only:
            continue
        if isinstance(value, dict) and name != "omitted":
            yield from _counted_lists(value)
        elif not isinstance(value, list) or name == "events":
            continue
        elif type(by_name.get(name)) is int:
            yield _Counted(value, list(map(_cost, value)), by_name, name)
        elif type(omitted) is int and value and isinstance(value[0], dict):
            yield _Counted(value, list(map(_cost, value)), holder, "omitted")


def _cost(item: object) -> int:
    """Bytes of one item of a list in both forms, with its commas."""
    encoded = msgspec.json.encode(item)
    return len(encoded) + len(msgspec.json.encode(encoded.decode("utf-8")))
