"""The lossless short form of a recall packet, for the 1,200 bytes of King's field (T49, T50). Pure.

Two or three quoted messages become a table. What is equal in all of them stands once, in ``common``; of each other
field, what the values begin with stands once in ``prefixes``, where that is shorter; ``rows`` holds the rest in the
order of ``fields``. A value is its prefix followed by its cell, so that a model can put it together by eye, and
``decode`` does it exactly. Nothing is cut and nothing is hashed: what does not fit is refused whole, and what to leave
out instead is decided in ``timeline.world.recall_form``.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

import msgspec

from timeline.world.errors import RecallFieldError

KING_FIELD_BYTES_MAX: Final = 1200
"""What King takes as the message of a hook (reference interface)."""

CANDIDATES_FIELD: Final = "feedbackCandidates"

Packet = Mapping[str, Any]

_WHOLE: Final = frozenset({"sourceText"})
"""The user's words: shown as they are, never in two pieces."""

_PREFIX_ENDS: Final = ":-.T"
"""A prefix ends at a joint of an id or a time, and not by chance between two digits."""

_PREFIX_COST: Final = len('"":"",')
_TAG_BEGINS: Final = "<"


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    fields: tuple[str, ...]
    common: dict[str, str]
    prefixes: dict[str, str]
    rows: tuple[tuple[str, ...], ...]


def encode(packet: Packet, bytes_max: int = KING_FIELD_BYTES_MAX) -> bytes | None:
    """The short form of a packet in UTF-8 on one line; ``None`` if it is longer than ``bytes_max``.

    ``feedbackCandidates``, where it is there, is a list of objects whose values are texts.
    """
    short = dict(packet)
    candidates = short.get(CANDIDATES_FIELD)
    if isinstance(candidates, list) and _is_table(candidates):
        short[CANDIDATES_FIELD] = msgspec.to_builtins(_to_table(candidates))
    encoded = one_line(short)
    return encoded if len(encoded) <= bytes_max else None


def decode(encoded: bytes) -> dict[str, Any]:
    """The packet that a short form was made of.

    Raises:
        RecallFieldError: it is no short form.
    """
    try:
        packet = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        message = "the field must be JSON"
        raise RecallFieldError(message) from None
    if not isinstance(packet, dict):
        message = "the field must be an object"
        raise RecallFieldError(message)
    candidates = packet.get(CANDIDATES_FIELD)
    if isinstance(candidates, dict):
        packet[CANDIDATES_FIELD] = [*_from_table(candidates)]
    return packet


def one_line(value: object) -> bytes:
    """A value as JSON on one line that stays the same where a host folds white space.

    Outside of texts there is no space. In a text, what is not printable is escaped, every white space but a single
    plain space among it: no terminal obeys it and no model reads what a person cannot see. So is the sign that begins
    a tag: some hosts put such a line between tags of their own, which nothing in it may end.
    """
    text = msgspec.json.encode(value).decode()
    line = []
    for previous, character in zip(" " + text, text, strict=False):
        is_folded = character == " " == previous
        is_plain = character.isprintable() and character != _TAG_BEGINS and not is_folded
        line.append(character if is_plain else _escaped(character))
    return "".join(line).encode()


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _is_table(candidates: Sequence[object]) -> bool:
    """Whether objects have the same fields, all of them texts; one alone shares nothing."""
    rows = [row for row in candidates if isinstance(row, dict)]
    return (
        len(rows) == len(candidates) >= 2
        and all(row.keys() == rows[0].keys() for row in rows)
        and all(isinstance(value, str) for row in rows for value in row.values())
    )


def _to_table(rows: Sequence[Mapping[str, str]]) -> _Table:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    common = {name: values[0] for name, values in columns.items() if len(set(values)) == 1}
    fields = tuple(name for name in columns if name not in common)
    prefixes = {name: prefix for name in fields if (prefix := _prefix(name, columns[name]))}
    cells = tuple(tuple(row[name][len(prefixes.get(name, "")) :] for name in fields) for row in rows)
    return _Table(fields, common, prefixes, cells)


def _prefix(name: str, values: Sequence[str]) -> str:
    """What all values begin with, as far as its last joint; nothing where it would cost more than it saves."""
    alike = takewhile(lambda column: len(set(column)) == 1, zip(*values, strict=False))
    shared = "" if name in _WHOLE else "".join(column[0] for column in alike)
    prefix = shared[: max(shared.rfind(end) for end in _PREFIX_ENDS) + 1]
    saved = len(prefix.encode()) * (len(values) - 1)
    return prefix if saved > _PREFIX_COST + len(name) else ""


def _from_table(found: Mapping[str, Any]) -> Sequence[dict[str, str]]:
    try:
        table = msgspec.convert(found, _Table)
    except msgspec.ValidationError:
        message = f"field {CANDIDATES_FIELD}: must have fields, common, prefixes and rows"
        raise RecallFieldError(message) from None
    names = set(table.fields)
    is_whole = (
        len(names) == len(table.fields)
        and names.isdisjoint(table.common)
        and names >= set(table.prefixes)
        and all(len(row) == len(table.fields) for row in table.rows)
    )
    if not is_whole:
        message = f"field {CANDIDATES_FIELD}: every field must be told once, in every row"
        raise RecallFieldError(message)
    return [
        {
            **table.common,
            **{
                name: table.prefixes.get(name, "") + cell
                for name, cell in zip(table.fields, row, strict=True)
            },
        }
        for row in table.rows
    ]
