"""Which adapter reads which host's transcripts. Explicit: nothing is guessed from a file's content."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adapters.base import Adapter
from adapters.claude import ClaudeAdapter
from adapters.codex import CodexAdapter
from adapters.king import KingAdapter

ADAPTERS: Final[Mapping[str, Adapter]] = MappingProxyType(
    {
        "codex": CodexAdapter(),
        "claude": ClaudeAdapter(),
        "king": KingAdapter("king"),
        "kimi": KingAdapter("kimi"),
    }
)
"""Host name to adapter."""
