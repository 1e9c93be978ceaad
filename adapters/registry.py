"""Which adapter reads which host's transcripts. Explicit: nothing is guessed from a file's content.

An adapter is loaded when its host is asked for: a command mostly reads one host's files, and starting is imports.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from adapters.base import Adapter
from adapters.errors import UnknownProtocolError

_HOSTS: Final = ("codex", "claude", "king", "kimi")
_PROTOCOL_HOSTS: Final = frozenset({"king", "kimi"})
"""Hosts whose files declare a protocol."""


class _Registry(Mapping[str, Adapter]):
    """The adapters by host, each made once."""

    def __init__(self) -> None:
        self._made: dict[str, Adapter] = {}

    def __getitem__(self, host: str) -> Adapter:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        if host not in self._made:
            self._made[host] = _make(host)
        return self._made[host]

    def __contains__(self, host: object) -> bool:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        return host in _HOSTS

    def __iter__(self) -> Iterator[str]:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        return iter(_HOSTS)

    def __len__(self) -> int:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        return len(_HOSTS)


def _make(host: str) -> Adapter:
    match host:
        case "codex":
            from adapters.codex import CodexAdapter

            return CodexAdapter()
        case "claude":
            from adapters.claude import ClaudeAdapter

            return ClaudeAdapter()
        case "king" | "kimi":
            from adapters.king import KingAdapter

            return KingAdapter(host)
        case _:
            raise KeyError(host)


ADAPTERS: Final[Mapping[str, Adapter]] = _Registry()
"""Host name to adapter."""


def adapter_of(host: str, protocols: Mapping[str, str]) -> Adapter:
    """Return the adapter of ``host`` that also reads the protocols of ``protocols`` as the reviewed ones they map to.

    Raises: ``UnknownProtocolError`` where one maps to no reviewed protocol, or the host's files declare none.
    """
    if host not in _PROTOCOL_HOSTS:
        raise UnknownProtocolError("the files of this host declare no protocol", host=host)
    from adapters.king import KingAdapter

    return KingAdapter(host, protocols)
