"""The MCP Inspector's command line as a host: `make inspector` fetches it, or MCP_INSPECTOR names its folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.desks import Desk, StandIn
from timeline.mcp_server.serving import McpServer

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("MCP_INSPECTOR", ROOT / ".inspector_cache"))
SECONDS = 60


def inspect(daemon: StandIn, *method: str) -> dict[str, Any]:
    """Give what the Inspector prints of one request over a relay."""
    program = FOLDER / "node_modules" / ".bin" / "mcp-inspector"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip("no MCP Inspector: `make inspector` fetches it, and needs node and npm")
    relay = [
        sys.executable,
        "-I",
        "-S",
        "-E",
        "-B",
        str(ROOT / "timeline" / "relay.py"),
        "codex",
        str(daemon.runtime),
    ]
    done = subprocess.run(
        [str(program), "--cli", *relay, *method], capture_output=True, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_inspector_lists_and_calls_the_tools(runtime: Path, server: McpServer, desk: Desk) -> None:
    """It checks schemas and answers with the protocol's other implementation."""
    daemon = StandIn(runtime, server, lambda: desk)
    try:
        listed = inspect(daemon, "--method", "tools/list")
        assert "timeline_status" in [tool["name"] for tool in listed["tools"]]
        call = (
            "--method",
            "tools/call",
            "--tool-name",
            "session_timeline_search",
            "--tool-arg",
            "query=pytest failed",
        )
        desk.over.clear()
        answer = inspect(daemon, *call)
        assert answer["structuredContent"]["arguments"] == {"query": "pytest failed"}
    finally:
        daemon.close()
