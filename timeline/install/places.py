"""Which files of a host hold its hooks and its MCP servers, and what is ours in each. Pure.

Verified with Codex 0.142.5 and 0.171.0 and Kimi Code 0.20.0 and 2.1.0; Claude Code from its documentation alone; King
as a relative of Kimi Code, unverified (docs/spec/install.md).
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from timeline.dialects import HOOK_EVENTS, Subscription
from timeline.hosts import HOSTS, home_folder
from timeline.install.command import Program, hook_command, server_words
from timeline.install.errors import InstallScopeError
from timeline.install.json_form import JsonHooks, JsonServer
from timeline.install.toml_form import TomlHooks, TomlServer

SERVER: Final = "timeline"
"""The name of our MCP server in every host."""

HOOK_SECONDS: Final = 3
"""After this a host goes on without the hook; our own deadline is far below."""

STARTUP_SECONDS: Final = 10
"""How long a host waits for the server to answer for the first time."""


class InstallScope(StrEnum):
    """For whom a host is set up."""

    USER = "user"
    PROJECT = "project"


class Form(Protocol):
    """How our part is written in one file (``json_form``, ``toml_form``)."""

    def add(self, text: str) -> str:
        """The text with our part; the same text where it stands there already."""
        ...

    def remove(self, text: str, *, kept: tuple[Any, ...]) -> str:
        """The text without our part, and without what gets empty by that, but for the ``kept`` containers."""
        ...

    def empties(self, text: str) -> tuple[Any, ...]:
        """The containers that are there and empty."""
        ...

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the text."""
        ...

    def commands(self, text: str) -> tuple[str, ...]:
        """The commands of ours in the text."""
        ...


class HostFile(msgspec.Struct, frozen=True):
    """One file of a host, and our part of it. ``holds_prompts``: no copy of it may be kept."""

    path: Path
    form: Form
    holds_prompts: bool = False


def host_files(
    host: str,
    scope: InstallScope,
    program: Program,
    *,
    home: Path,
    project: Path,
    environment: Mapping[str, str],
) -> tuple[HostFile, ...]:
    """The files to edit, hooks last: a host that has the server and no hooks only refuses recall.

    Raises:
        InstallScopeError: the host takes no hooks for a project.
    """
    folder = home_folder(HOSTS[host], environment, home)
    hooks = JsonHooks(host, hook_groups(host, hook_command(program, host)))
    command, arguments = server_words(program, host)
    entry: dict[str, Any] = {"command": command, "args": arguments}
    variables = {"env": dict(program.folders)} if program.folders else {}
    if host == "codex":
        place = folder if scope is InstallScope.USER else project / ".codex"
        server = TomlServer(host, SERVER, {**entry, "startup_timeout_sec": STARTUP_SECONDS, **variables})
        return HostFile(place / "config.toml", server), HostFile(place / "hooks.json", hooks)
    json_server = JsonServer(host, SERVER, {**entry, **variables})
    if host == "claude":
        stdio = JsonServer(host, SERVER, {"type": "stdio", **entry, **variables})
        if scope is InstallScope.PROJECT:
            return (
                HostFile(project / ".mcp.json", stdio),
                HostFile(project / ".claude" / "settings.json", hooks),
            )
        moved = environment.get(HOSTS[host].home_variable)
        state = (folder if moved else home) / ".claude.json"
        return HostFile(state, stdio, holds_prompts=True), HostFile(folder / "settings.json", hooks)
    if scope is InstallScope.PROJECT:
        message = f"{host}: takes hooks from the user's configuration only"
        raise InstallScopeError(message)
    return (
        HostFile(folder / "mcp.json", json_server),
        HostFile(folder / "config.toml", TomlHooks(host, hook_list(host, hook_command(program, host)))),
    )


def hook_groups(host: str, command: str) -> dict[str, Any]:
    """Hook groups by event, as Codex and Claude Code take them."""
    entry = {"type": "command", "command": command, "timeout": HOOK_SECONDS}
    return {heard.event: {**_matching(heard), "hooks": [entry]} for heard in HOOK_EVENTS[host]}


def hook_list(host: str, command: str) -> list[Mapping[str, Any]]:
    """Hooks as Kimi Code takes them."""
    return [
        {"event": heard.event, **_matching(heard), "command": command, "timeout": HOOK_SECONDS}
        for heard in HOOK_EVENTS[host]
    ]


def _matching(heard: Subscription) -> dict[str, str]:
    return {} if heard.matcher is None else {"matcher": heard.matcher}
