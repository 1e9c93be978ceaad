"""King and Kimi Code: the contract, under both names."""

from typing import ClassVar

from adapters.king import KingAdapter
from tests.adapters.contract import AdapterContract
from tests.adapters.king_cases import cases

READABLE = {name: case.data for name, case in cases().items() if case.readable}


class TestKing(AdapterContract):
    """The contract on every case that can be read."""

    adapter = KingAdapter("king")
    transcripts = READABLE


class TestKimi(AdapterContract):
    """The same format under its other name, on the cases of the newest version."""

    adapter = KingAdapter("kimi")
    transcripts: ClassVar = {name: data for name, data in READABLE.items() if name.startswith("2.1.0/")}
