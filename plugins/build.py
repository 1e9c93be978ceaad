"""Writes the plugin packages of all hosts into a folder: ``make plugins``, or ``python plugins/build.py FOLDER``.

A package knows no machine: it calls ``timeline`` by its name, which has to be on the host's path. The same sources give
the same bytes. The shapes, and which of them a host has read: docs/spec/install.md.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from timeline import __version__
from timeline.dialects import KIMI_PLUGIN_PREFIX
from timeline.install.places import SERVER, hook_groups, hook_list

NAME = "timeline"
DESCRIPTION = "What happened in earlier sessions, as signed and re-checked evidence"

Files = dict[str, Any]
"""Path below the folder to the JSON document there."""


def packages() -> Files:
    """Every file of every package."""
    about = {"name": NAME, "version": __version__, "description": DESCRIPTION, "license": "Apache-2.0"}
    entry = {"name": NAME, "description": DESCRIPTION}
    files: Files = {
        ".claude-plugin/marketplace.json": {
            "name": NAME,
            "owner": {"name": "Timeline"},
            "plugins": [{**entry, "source": "./claude"}],
        },
        ".agents/plugins/marketplace.json": {
            "name": NAME,
            "plugins": [{"name": NAME, "source": {"source": "local", "path": "./codex"}}],
        },
        "claude/.claude-plugin/plugin.json": about,
        "codex/.codex-plugin/plugin.json": {
            **about,
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/hooks.json",
        },
        "kimi/kimi.plugin.json": {**about, "mcpServers": _server("kimi"), "hooks": _list("kimi")},
        "king/blun.plugin.json": {
            **about,
            "mcpServers": _server("king", transport="stdio"),
            "hooks": _list("king"),
        },
    }
    for host in ("claude", "codex"):
        files[f"{host}/.mcp.json"] = {"mcpServers": _server(host)}
        groups = hook_groups(host, f"timeline run-hook {host}")
        files[f"{host}/hooks/hooks.json"] = {"hooks": {event: [group] for event, group in groups.items()}}
    return files


def build(folder: Path) -> None:
    """Write the packages; what an earlier run left in the folder goes."""
    files = packages()
    if folder.exists():
        shutil.rmtree(folder)
    for name, document in sorted(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _server(host: str, **more: str) -> Files:
    return {SERVER: {**more, "command": "timeline", "args": ["mcp", host]}}


def _list(host: str) -> list[Any]:
    hooks = [dict(hook) for hook in hook_list(host, f"timeline run-hook {host}")]
    for hook in hooks:
        if hook["event"] == "PreToolUse":
            hook["matcher"] = f"{hook['matcher']}|{KIMI_PLUGIN_PREFIX}.*"
    return hooks


if __name__ == "__main__":
    build(Path(sys.argv[1]))
