"""What a host's own configuration says of us: its hooks, its MCP server, and what the host would refuse.

The files and their shapes are those of ``timeline.install.places``; this only reads. A file that cannot be read says
so and hides nothing else. The files come as bytes; of the disk nothing is asked but where links lead.
"""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from timeline.hosts import EVENTS
from timeline.install.command import is_hook, is_server
from timeline.install.places import SERVER

_STRICT_HOSTS: Final = frozenset({"kimi", "king"})
"""For an event that is not in ``EVENTS``, 2.1.0 of Kimi Code drops every hook and 0.10.0 does not start."""


class HookSetting(msgspec.Struct, frozen=True):
    """One hook of ours; ``trusted`` is ``None`` where the host asks for no trust."""

    event: str
    file: str
    command: str
    trusted: bool | None


class ServerSetting(msgspec.Struct, frozen=True):
    """The MCP server that has our name; where it is not ``ours``, the rest is empty."""

    file: str
    ours: bool
    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = {}


class HostSettings(msgspec.Struct, frozen=True):
    """What the files of one host say; see ``facts.HostFact``."""

    hooks: tuple[HookSetting, ...] = ()
    server: ServerSetting | None = None
    unreadable: tuple[tuple[str, str], ...] = ()
    unknown_events: tuple[tuple[str, str], ...] = ()


def parse_settings(host: str, files: Mapping[str, bytes]) -> HostSettings:
    """Read the files of a host, by path; of two servers the first counts."""
    documents: dict[str, dict[str, Any]] = {}
    unreadable = []
    for path, content in files.items():
        try:
            documents[path] = _document(path, content)
        except (ValueError, TypeError, RecursionError):
            unreadable.append((path, f"not a {'TOML' if path.endswith('.toml') else 'JSON'} file"))
    trust = _trusted(documents) if host == "codex" else None
    found = [
        (path, event, entry, key)
        for path, doc in documents.items()
        for event, entry, key in _hooks(path, doc)
    ]
    hooks = tuple(
        HookSetting(event, path, entry["command"], None if trust is None else _real(key) in trust)
        for path, event, entry, key in found
        if is_hook(entry.get("command"), host)
    )
    unknown = tuple(
        (event, path) for path, event, _, _ in found if host in _STRICT_HOSTS and event not in EVENTS
    )
    servers = (_server(host, path, document) for path, document in documents.items())
    server = next((server for server in servers if server is not None), None)
    return HostSettings(hooks, server, tuple(unreadable), tuple(dict.fromkeys(unknown)))


def _document(path: str, content: bytes) -> dict[str, Any]:
    """Raises ``ValueError`` or ``TypeError`` for what is no document of its kind."""
    text = content.decode()
    found = tomllib.loads(text) if path.endswith(".toml") else json.loads(text) if text.strip() else {}
    if not isinstance(found, dict):
        raise TypeError(path)
    return found


def _hooks(path: str, document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Event, entry, and the key under which Codex would trust it, of everybody's hooks."""
    hooks = document.get("hooks")
    if isinstance(hooks, list):  # Kimi Code: a list with an event each
        for entry in hooks:
            if isinstance(entry, dict):
                yield str(entry.get("event", "")), entry, ""
    if not isinstance(hooks, dict):
        return
    for event, groups in hooks.items():
        for i, group in enumerate(groups if isinstance(groups, list) else ()):
            entries = group.get("hooks") if isinstance(group, dict) else None
            for j, entry in enumerate(entries if isinstance(entries, list) else ()):
                if isinstance(entry, dict):
                    yield event, entry, f"{path}:{_snake(event)}:{i}:{j}"


def _snake(event: str) -> str:
    """``PreToolUse`` as ``pre_tool_use``."""
    return "".join("_" * (i > 0) + c.lower() if c.isupper() else c for i, c in enumerate(event))


def _trusted(documents: Mapping[str, dict[str, Any]]) -> frozenset[str]:
    """Keys of hooks that Codex's user trusts. Whether a hash still fits, only Codex knows: it is not published."""
    keys = set()
    for document in documents.values():
        hooks = document.get("hooks")
        state = hooks.get("state") if isinstance(hooks, dict) else None
        for key, entry in (state if isinstance(state, dict) else {}).items():
            if isinstance(entry, dict) and entry.get("trusted_hash") and entry.get("enabled", True) is True:
                keys.add(_real(key))
    return frozenset(keys)


def _real(key: str) -> str:
    """A key with the path as it really is: Codex and we may have come there by different links."""
    path, *place = key.rsplit(":", 3)
    return ":".join([os.path.realpath(path), *place])


def _server(host: str, path: str, document: dict[str, Any]) -> ServerSetting | None:
    for table in ("mcp_servers", "mcpServers"):
        servers = document.get(table)
        found = servers.get(SERVER) if isinstance(servers, dict) else None
        if found is None:
            continue
        if not isinstance(found, dict) or not is_server(found.get("command"), found.get("args"), host):
            return ServerSetting(path, ours=False)
        env = found.get("env")
        variables = {k: v for k, v in env.items() if isinstance(v, str)} if isinstance(env, dict) else {}
        return ServerSetting(path, ours=True, words=(found["command"], *found["args"]), variables=variables)
    return None
