"""The tables of both filters as examples, and their two halves.

A hash of the example decides the half: one was looked at while the filters were tuned, the other only at the end.
"""

import hashlib
from collections.abc import Iterator
from typing import Final

import msgspec

from tests.world.filters import names_second, secrets_second, secrets_third, secrets_tried
from tests.world.filters.filling import fill
from tests.world.filters.names_accepted import ACCEPTED
from tests.world.filters.names_offending import OFFENDING
from tests.world.filters.secrets_negative import NEGATIVE
from tests.world.filters.secrets_positive import POSITIVE

TUNING: Final = "tuning"
HELD_OUT: Final = "held-out"


class Example(msgspec.Struct, frozen=True):
    """One example: its family, the text or name that is given to the filter, and whether it must be found."""

    family: str
    template: str
    text: str
    must_be_found: bool

    @property
    def half(self) -> str:
        """Which half it belongs to: in the first table by a hash; the later tables as a whole."""
        if self.family in secrets_tried.POSITIVE or self.family in secrets_second.POSITIVE:
            return TUNING
        if self.family in secrets_third.POSITIVE or self.family in names_second.OFFENDING:
            return HELD_OUT
        digest = hashlib.sha256(f"{self.family}\0{self.template}".encode()).digest()
        return TUNING if digest[0] % 2 == 0 else HELD_OUT


def secret_examples() -> tuple[Example, ...]:
    """Every text of the table of secrets."""
    return tuple(
        example
        for found, spared in (
            (POSITIVE, NEGATIVE),
            (secrets_tried.POSITIVE, secrets_tried.NEGATIVE),
            (secrets_second.POSITIVE, secrets_second.NEGATIVE),
            (secrets_third.POSITIVE, secrets_third.NEGATIVE),
        )
        for example in (*_rows(found, must_be_found=True), *_rows(spared, must_be_found=False))
    )


def name_examples() -> tuple[Example, ...]:
    """Every name of the table of authority-shaped names."""
    return tuple(
        example
        for offending, accepted in ((OFFENDING, ACCEPTED), (names_second.OFFENDING, names_second.ACCEPTED))
        for example in (*_rows(offending, must_be_found=True), *_rows(accepted, must_be_found=False))
    )


def _rows(table: dict[str, tuple[str, ...]], *, must_be_found: bool) -> Iterator[Example]:
    for family, templates in table.items():
        for template in templates:
            yield Example(family, template, fill(template), must_be_found)
