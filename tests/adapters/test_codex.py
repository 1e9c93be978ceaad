"""Codex: the contract, and what is special to it."""

from adapters.codex import CodexAdapter
from tests.adapters.codex_cases import cases
from tests.adapters.contract import AdapterContract

READABLE = {name: case.data for name, case in cases().items() if case.readable}


class TestCodex(AdapterContract):
    """The contract on every case that can be read."""

    adapter = CodexAdapter()
    transcripts = READABLE
