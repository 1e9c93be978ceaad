"""HTTP by hand over a Unix socket, so that a test can also say what no client would."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from timeline.witness.endpoint import UnixEndpoint

Said = tuple[int, dict[str, str], bytes]


@contextmanager
def connected(endpoint: UnixEndpoint) -> Iterator[socket.socket]:
    """Connect for the block."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(endpoint.path)
        yield connection


def read_reply(connection: socket.socket) -> Said | None:
    """Read one answer; ``None`` where the connection ends without one."""
    content = b""
    while b"\r\n\r\n" not in content:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            assert content == b""
            return None
        content += piece
    head, _, body = content.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers["content-length"]):
        body += connection.recv(65536)
    assert len(body) == int(headers["content-length"])
    return int(first.split()[1]), headers, body


def say(endpoint: UnixEndpoint, content: bytes) -> Said | None:
    """Send bytes on a connection of their own and read one answer."""
    with connected(endpoint) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it has read all
            connection.sendall(content)
        return read_reply(connection)


def request(method: str, path: str, body: bytes = b"", *lines: str) -> bytes:
    """Give the bytes of a request."""
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", *lines]
    if body or method == "POST":
        head.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def post(endpoint: UnixEndpoint, body: bytes) -> Said:
    """Submit."""
    said = say(endpoint, request("POST", "/add-checkpoint", body))
    assert said is not None
    return said
