"""A server for each test, and a runtime folder whose path is short enough for a socket."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.desks import Desk, Host, connect, serving
from timeline.mcp_server.serving import McpServer


@pytest.fixture
def server() -> Iterator[McpServer]:
    """Give a server that must end without a fault."""
    with serving() as server:
        yield server


@pytest.fixture
def desk() -> Desk:
    """Give tools that echo."""
    return Desk()


@pytest.fixture
def host(server: McpServer, desk: Desk) -> Iterator[Host]:
    """Give a host with an initialized session."""
    host = connect(server, desk)
    host.greet()
    yield host
    host.close()


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Give a private folder with a short path."""
    folder = Path(tempfile.mkdtemp(prefix="tl-mcp-"))
    yield folder
    shutil.rmtree(folder)
