"""Strict JSON as text: where each value stands, and how one is put in or taken out and the rest stays. Pure.

Comments, trailing commas, duplicate keys and numbers such as ``NaN`` are refused: what two parsers read differently
is not ours to edit. Numbers keep their spelling, so that comparing two documents misses nothing.
"""

import json
import re
from typing import Any, Final

import msgspec

from timeline.install.errors import HostFileSyntaxError

Json = Any
"""A parsed value; a number is the pair ``("number", spelling)``."""

Path = tuple[str | int, ...]
"""Keys and positions from the root to a value."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DEFAULT_UNIT: Final = "  "


def _number(spelling: str) -> tuple[str, str]:
    return ("number", spelling)


def _refuse_constant(name: str) -> Json:
    message = f"not JSON: {name} is no number"
    raise ValueError(message)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a key stands twice in one object"
        raise ValueError(message)
    return found


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_number, parse_int=_number, parse_constant=_refuse_constant
)


class Child(msgspec.Struct, frozen=True):
    """One member or item: ``opens`` is where its key, or the item itself, begins; ``start`` to ``end`` is the value."""

    key: str | int
    opens: int
    start: int
    end: int


class Container(msgspec.Struct, frozen=True):
    """An object or array: ``start`` is its bracket, ``end`` the place after the closing one."""

    start: int
    end: int
    children: tuple[Child, ...]


class Style(msgspec.Struct, frozen=True):
    """How a document is written: newline, indentation, and the signs between values on one line."""

    newline: str
    unit: str
    comma: str
    colon: str
    spread: bool
    """Whether values stand on lines of their own."""


def parse(text: str) -> Json:
    """The value of a document.

    Raises:
        HostFileSyntaxError: not strict JSON, with line and column.
    """
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
    except json.JSONDecodeError as error:
        message = f"line {error.lineno} column {error.colno}: not strict JSON"
        raise HostFileSyntaxError(message) from error
    except (ValueError, RecursionError) as error:
        known = isinstance(error, ValueError) and "key stands twice" in str(error)
        message = "a key stands twice in one object" if known else "not strict JSON"
        raise HostFileSyntaxError(message) from error
    rest = _skip(text, end)
    if rest != len(text):
        line = text.count("\n", 0, rest) + 1
        message = f"line {line}: something follows the document"
        raise HostFileSyntaxError(message)
    return value


def style_of(text: str) -> Style:
    """How a document is written; one without a hint gets two spaces and lines of its own."""
    root = _container(text, _skip(text, 0))
    first_line = text.find("\n")
    newline = "\r\n" if first_line > 0 and text[first_line - 1] == "\r" else "\n"
    if not root.children:
        return Style(newline, _DEFAULT_UNIT, ", ", ": ", spread=True)
    first = root.children[0]
    before = text[root.start + 1 : first.opens]
    after_colon = text[first.opens : first.start].endswith(":")
    comma = "," if after_colon else ", "
    unit = before.rpartition("\n")[2] or _DEFAULT_UNIT
    return Style(newline, unit, comma, ":" if after_colon else ": ", spread="\n" in before)


def put(text: str, path: Path, value: Json) -> str:
    """The text with ``value`` at ``path``: replaced where one stands, else added last, with what is missing above.

    Raises:
        HostFileSyntaxError: something on the way is no object or array of the needed kind.
    """
    style = style_of(text)
    place = _skip(text, 0)
    for depth, key in enumerate(path):
        container = _container(text, place)
        child = next((child for child in container.children if child.key == key), None)
        if child is None:
            if isinstance(key, str) is not (text[place] == "{"):
                message = (
                    f"{format_path(path[:depth])}: must be an {'object' if isinstance(key, str) else 'array'}"
                )
                raise HostFileSyntaxError(message)
            return _insert(text, container, key, _wrap(path[depth + 1 :], value), style)
        place = child.start
    end = _end(text, place)
    return text[:place] + _render(value, style, _indentation(text, place), spread=style.spread) + text[end:]


def cut(text: str, path: Path) -> str:
    """The text without the value at ``path``.

    Raises:
        HostFileSyntaxError: no value stands there.
    """
    container = _container(text, locate(text, path[:-1])[0])
    index = next((i for i, child in enumerate(container.children) if child.key == path[-1]), None)
    if index is None:
        message = f"{format_path(path)}: nothing stands there"
        raise HostFileSyntaxError(message)
    child = container.children[index]
    if index > 0:
        return text[: container.children[index - 1].end] + text[child.end :]
    if len(container.children) > 1:
        return text[: child.opens] + text[container.children[1].opens :]
    return text[: container.start + 1] + text[container.end - 1 :]


def locate(text: str, path: Path) -> tuple[int, int]:
    """Where the value at ``path`` begins and ends.

    Raises:
        HostFileSyntaxError: no value stands there.
    """
    place = _skip(text, 0)
    for depth, key in enumerate(path):
        child = next((c for c in _container(text, place).children if c.key == key), None)
        if child is None:
            message = f"{format_path(path[: depth + 1])}: nothing stands there"
            raise HostFileSyntaxError(message)
        place = child.start
    return place, _end(text, place)


def format_path(path: Path) -> str:
    """A path for a person."""
    return ".".join(str(key) for key in path) or "the document"


def _wrap(path: Path, value: Json) -> Json:
    for key in reversed(path):
        value = {key: value} if isinstance(key, str) else [value]
    return value


def _insert(text: str, container: Container, key: str | int, value: Json, style: Style) -> str:
    named = f"{_quote(key)}{style.colon}" if isinstance(key, str) else ""
    if container.children:
        last = container.children[-1]
        gap = text[container.start + 1 : container.children[0].opens]
        spread = "\n" in gap
        indentation = gap.rpartition("\n")[2] if spread else ""
        between = f",{style.newline}{indentation}" if spread else style.comma
        added = f"{between}{named}{_render(value, style, indentation, spread=spread)}"
        return text[: last.end] + added + text[last.end :]
    opening, closing = text[container.start], text[container.end - 1]
    if not style.spread:
        inner = f"{named}{_render(value, style, '', spread=False)}"
    else:
        outside = _indentation(text, container.start)
        inside = outside + style.unit
        rendered = _render(value, style, inside, spread=True)
        inner = f"{style.newline}{inside}{named}{rendered}{style.newline}{outside}"
    return text[: container.start] + opening + inner + closing + text[container.end :]


def _render(value: Json, style: Style, indentation: str, *, spread: bool) -> str:
    if not spread:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    text = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
    return text.replace("\n", style.newline + indentation)


def _quote(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _indentation(text: str, place: int) -> str:
    """The space at the beginning of the line on which a value stands."""
    begins = text.rfind("\n", 0, place) + 1
    found = re.compile(r"[ \t]*").match(text, begins)
    return found.group() if found else ""


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _end(text: str, place: int) -> int:
    return _DECODER.raw_decode(text, place)[1]


def _container(text: str, place: int) -> Container:
    """The children of the object or array at ``place``; the document was parsed before.

    Raises:
        HostFileSyntaxError: neither stands there.
    """
    if text[place : place + 1] not in ("{", "["):
        message = "must hold an object or array, and holds a plain value"
        raise HostFileSyntaxError(message)
    named = text[place] == "{"
    children: list[Child] = []
    here = _skip(text, place + 1)
    while text[here] not in "}]":
        opens = here
        key: str | int = len(children)
        if named:
            key, colon = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, colon) + 1)
        end = _end(text, here)
        children.append(Child(key, opens, here, end))
        here = _skip(text, end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return Container(place, here + 1, tuple(children))
