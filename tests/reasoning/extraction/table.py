"""The two tables of labelled sentences, and the half that each sentence belongs to."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

FOLDER: Final = Path(__file__).parent

TUNING, HELD_OUT = "tuning", "held-out"
"""The half whose errors were looked at while the rules were made, and the half whose errors were not."""

_SEPARATOR: Final = " :: "


class Labelled(msgspec.Struct, frozen=True):
    """One sentence with its label, as the table spells it."""

    label: str
    text: str

    @property
    def half(self) -> str:
        """Which half it belongs to, by its text alone."""
        return HELD_OUT if hashlib.sha256(self.text.encode()).digest()[0] % 2 else TUNING


def read_table(name: str) -> tuple[Labelled, ...]:
    """All sentences of ``claims`` or ``intents``, in the order of the file."""
    return tuple(_read(FOLDER / f"{name}.txt"))


def half_of(table: tuple[Labelled, ...], half: str) -> tuple[Labelled, ...]:
    """The sentences of one half."""
    return tuple(one for one in table if one.half == half)


def _read(path: Path) -> Iterator[Labelled]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line or line.startswith("#"):
            continue
        label, found, text = line.partition(_SEPARATOR)
        assert found, line
        yield Labelled(label, _unescaped(text))


def _unescaped(text: str) -> str:
    first, *rest = text.split("\\n")
    return "\n".join([first, *rest])
