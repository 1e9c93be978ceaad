"""Which adapter reads which host's transcripts. Explicit: nothing is guessed from a file's content."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adapters.base import Adapter
from adapters.codex import CodexAdapter

ADAPTERS: Final[Mapping[str, Adapter]] = MappingProxyType({"codex": CodexAdapter()})
"""Host name to adapter."""
