"""TOML as text: which statement stands where, and what an array or inline table holds. Pure.

Only places are found here; what a statement means is left to ``tomllib``, which has parsed the same text before, and
which parses it again after every change (``toml_form``). So a mistake of this reader ends in a refusal.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from timeline.install.errors import HostFileSyntaxError

Toml = Any
"""A parsed value; a float is the pair ``("float", spelling)``, since ``nan`` would not even equal itself."""

Path = tuple[str, ...]
"""Keys from the root to a value."""

_KEY: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""")
_SPACE: Final = re.compile(r"[ \t]*")
_STRINGS: Final = (
    re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR: Final = re.compile(r"[^\s,\]}#][^,\]}#\r\n]*")
_BETWEEN: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")


class Statement(msgspec.Struct, frozen=True):
    """A table header, or a key with its value: ``start`` to ``end`` are its lines, the last newline included.

    ``path`` is complete. Of a header ``value_start`` is ``None``; ``element`` counts those of one array of tables.
    """

    path: Path
    start: int
    end: int
    value_start: int | None = None
    value_end: int | None = None
    element: int | None = None


class Child(msgspec.Struct, frozen=True):
    """An item of an array, or a pair of an inline table: ``opens`` is where its key or itself begins."""

    path: Path
    opens: int
    start: int
    end: int


def parse(text: str) -> dict[str, Toml]:
    """The value of a document.

    Raises:
        HostFileSyntaxError: not TOML, with what ``tomllib`` says of the place.
    """
    try:
        return tomllib.loads(text, parse_float=lambda spelling: ("float", spelling))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"\(at .*\)$", str(error))
        message = f"not TOML {place.group() if place else ''}".rstrip()
        raise HostFileSyntaxError(message) from error
    except (ValueError, RecursionError) as error:
        message = "not TOML"
        raise HostFileSyntaxError(message) from error


def statements(text: str) -> Iterator[Statement]:
    """Every header and pair of a document that was parsed before, in order.

    Raises:
        HostFileSyntaxError: a place where this reader is lost.
    """
    table: Path = ()
    elements: dict[Path, int] = {}
    here = _skip(text, 0)
    while here < len(text):
        start = text.rfind("\n", 0, here) + 1
        if text[here] == "[":
            double = text.startswith("[[", here)
            table, here = _keys(text, here + (2 if double else 1))
            element = None
            if double:
                element = elements[table] = elements.get(table, -1) + 1
            end = _line_end(text, here + (2 if double else 1))
            yield Statement(table, start, end, element=element)
        else:
            key, here = _keys(text, here)
            value_start = _SPACE.match(text, here + 1).end()  # type: ignore[union-attr]  # matches nothing at least
            value_end = _value_end(text, value_start)
            end = _line_end(text, value_end)
            yield Statement((*table, *key), start, end, value_start, value_end)
        here = _skip(text, end)


def children(text: str, start: int) -> tuple[Child, ...]:
    """What the array or inline table at ``start`` holds; nothing where a plain value stands.

    Raises:
        HostFileSyntaxError: a place where this reader is lost.
    """
    closing = {"[": "]", "{": "}"}.get(text[start : start + 1])
    if closing is None:
        return ()
    found: list[Child] = []
    here = _skip(text, start + 1)
    while here < len(text) and text[here] != closing:
        opens, path = here, _item(len(found))
        if closing == "}":
            path, here = _keys(text, here)
            here = _skip(text, here + 1)
        end = _value_end(text, here)
        found.append(Child(path, opens, here, end))
        here = _skip(text, end)
        if text[here : here + 1] == ",":
            here = _skip(text, here + 1)
    return tuple(found)


def insert_child(text: str, start: int, added: str) -> str:
    """The text with ``added`` as the last child of the array or inline table at ``start``."""
    held = children(text, start)
    if held:
        return f"{text[: held[-1].end]}, {added}{text[held[-1].end :]}"
    space = " " if text[start] == "{" else ""
    return f"{text[: start + 1]}{space}{added}{space}{text[_value_end(text, start) - 1 :]}"


def cut_child(text: str, start: int, index: int) -> str:
    """The text without one child of the array or inline table at ``start``."""
    held = children(text, start)
    if index > 0:
        return text[: held[index - 1].end] + text[held[index].end :]
    if len(held) > 1:
        return text[: held[0].opens] + text[held[1].opens :]
    rest = text[held[0].end : _value_end(text, start) - 1]
    return (
        text[: held[0].opens].rstrip(" ") + rest.lstrip(",").rstrip(" ") + text[_value_end(text, start) - 1 :]
    )


def format_value(value: Toml) -> str:
    """A string, count, list or table on one line."""
    if isinstance(value, str):
        # JSON's string is TOML's, but for the one control character that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(format_value(item) for item in value)}]"
    return f"{{ {', '.join(f'{key} = {format_value(item)}' for key, item in value.items())} }}"


def _item(index: int) -> Path:
    return (str(index),)


def _keys(text: str, here: int) -> tuple[Path, int]:
    """A dotted key, and the place after it and its space."""
    path: list[str] = []
    while True:
        found = _KEY.match(text, _SPACE.match(text, here).end())  # type: ignore[union-attr]  # as above
        if found is None:
            raise _lost(text, here)
        word = found.group()
        path.append(next(iter(tomllib.loads(f"{word} = 0"))))
        here = _SPACE.match(text, found.end()).end()  # type: ignore[union-attr]  # as above
        if text[here : here + 1] != ".":
            return tuple(path), here
        here += 1


def _value_end(text: str, start: int) -> int:
    """The place after the value at ``start``."""
    for pattern in _STRINGS:
        if found := pattern.match(text, start):
            return found.end()
    if text[start : start + 1] in ("[", "{"):
        closing = "]" if text[start] == "[" else "}"
        here = max((child.end for child in children(text, start)), default=start + 1)
        here = _skip(text, here)
        if text[here : here + 1] == ",":
            here = _skip(text, here + 1)
        if text[here : here + 1] != closing:
            raise _lost(text, start)
        return here + 1
    scalar = _SCALAR.match(text, start)
    if scalar is None:
        raise _lost(text, start)
    return start + len(scalar.group().rstrip())


def _line_end(text: str, here: int) -> int:
    """The place after the newline that ends a statement; only space and a comment may stand before it."""
    newline = text.find("\n", here)
    end = len(text) if newline < 0 else newline + 1
    rest = text[here:end].strip()
    if rest and not rest.startswith("#"):
        raise _lost(text, here)
    return end


def _skip(text: str, here: int) -> int:
    found = _BETWEEN.match(text, here)
    return found.end() if found else here


def _lost(text: str, here: int) -> HostFileSyntaxError:
    message = f"line {text.count(chr(10), 0, here) + 1}: written in a way that is not edited here"
    return HostFileSyntaxError(message)
