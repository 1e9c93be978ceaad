"""Claude Code: the contract, and what is special to it."""

from adapters.claude import ClaudeAdapter
from tests.adapters.claude_cases import cases
from tests.adapters.contract import AdapterContract

READABLE = {name: case.data for name, case in cases().items() if case.readable}


class TestClaude(AdapterContract):
    """The contract on every case that can be read."""

    adapter = ClaudeAdapter()
    transcripts = READABLE
