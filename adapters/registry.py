"""Which adapter reads which host's transcripts. Explicit: nothing is guessed from a file's content."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from adapters.base import Adapter
from adapters.claude import ClaudeAdapter
from adapters.codex import CodexAdapter
from adapters.errors import UnknownProtocolError
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


def adapter_of(host: str, protocols: Mapping[str, str]) -> Adapter:
    """Return the adapter of ``host`` that also reads the protocols of ``protocols`` as the reviewed ones they map to.

    Raises: ``UnknownProtocolError`` where one maps to no reviewed protocol, or the host's files declare none.
    """
    if not isinstance(ADAPTERS[host], KingAdapter):
        raise UnknownProtocolError("the files of this host declare no protocol", host=host)
    return KingAdapter(host, protocols)
