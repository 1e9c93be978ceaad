"""Plugin packages: the shapes that hosts read, and the same bytes each time."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from timeline import __version__
from timeline.dialects import HOOK_EVENTS


@pytest.fixture(scope="module")
def build(root: Path) -> ModuleType:
    """Give the script that writes the packages."""
    found = importlib.util.spec_from_file_location("plugins_build", root / "plugins" / "build.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture
def packages(build: ModuleType, tmp_path: Path) -> Path:
    """Give a folder with all packages."""
    build.build(tmp_path / "plugins")
    return tmp_path / "plugins"


def read(path: Path) -> dict[str, object]:
    """Read one document."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def only_plugin(path: Path) -> dict[str, Any]:
    """Read the one entry of a marketplace."""
    (found,) = json.loads(path.read_text(encoding="utf-8"))["plugins"]
    return dict(found)


def test_the_same_sources_give_the_same_bytes(build: ModuleType, packages: Path) -> None:
    """A second run writes what the first wrote, and leaves nothing else in the folder."""
    before = {path: path.read_bytes() for path in packages.rglob("*") if path.is_file()}
    (packages / "old.json").write_text("{}", encoding="utf-8")
    build.build(packages)
    assert {path: path.read_bytes() for path in packages.rglob("*") if path.is_file()} == before
    assert b"/usr" not in b"".join(before.values())


@pytest.mark.parametrize(
    ("host", "manifest"), [("claude", ".claude-plugin/plugin.json"), ("codex", ".codex-plugin/plugin.json")]
)
def test_claude_and_codex_read_hooks_and_server_from_their_own_files(
    packages: Path, host: str, manifest: str
) -> None:
    """The manifest names the plugin; hooks are lists of groups by event, the server is called by name."""
    about = read(packages / host / manifest)
    assert (about["name"], about["version"]) == ("timeline", __version__)
    for name in ("mcpServers", "hooks") if host == "codex" else ():
        assert (packages / host / str(about[name])).is_file()
    hooks = read(packages / host / "hooks" / "hooks.json")["hooks"]
    assert isinstance(hooks, dict)
    assert set(hooks) == {heard.event for heard in HOOK_EVENTS[host]}
    for group in (group for groups in hooks.values() for group in groups):
        (entry,) = group["hooks"]
        assert entry == {"type": "command", "command": f"timeline run-hook {host}", "timeout": 3}
    server = {"command": "timeline", "args": ["mcp", host]}
    assert read(packages / host / ".mcp.json") == {"mcpServers": {"timeline": server}}


@pytest.mark.parametrize(("host", "manifest"), [("kimi", "kimi.plugin.json"), ("king", "blun.plugin.json")])
def test_kimi_and_king_read_everything_from_the_manifest(packages: Path, host: str, manifest: str) -> None:
    """Hooks are a list whose entries have no key that Kimi refuses; the guard hears the plugin's own tool names."""
    about = read(packages / host / manifest)
    hooks = about["hooks"]
    assert isinstance(hooks, list)
    assert [hook["event"] for hook in hooks] == [heard.event for heard in HOOK_EVENTS[host]]
    assert all(set(hook) <= {"event", "matcher", "command", "timeout"} for hook in hooks)
    guard = next(hook for hook in hooks if hook["event"] == "PreToolUse")
    assert "mcp__plugin-timeline_timeline__" in guard["matcher"]
    servers = about["mcpServers"]
    assert isinstance(servers, dict)
    assert servers["timeline"]["command"] == "timeline"
    assert servers["timeline"].get("transport") == ("stdio" if host == "king" else None)


def test_each_marketplace_names_a_package_that_is_there(packages: Path) -> None:
    """What a host is told to add lies where the list says."""
    claude = only_plugin(packages / ".claude-plugin" / "marketplace.json")
    codex = only_plugin(packages / ".agents" / "plugins" / "marketplace.json")
    assert (packages / claude["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert (packages / codex["source"]["path"] / ".codex-plugin" / "plugin.json").is_file()
