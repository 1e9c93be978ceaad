"""Where a witness is: a port on this machine, a Unix socket, or a URL prefix.

Plain HTTP is for this machine only: the answers are signed, but who asks what and when is not for the network.
"""

import ipaddress
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from timeline.witness.errors import WitnessAddressError

SOCKET_PATH_BYTES_MAX: Final = 103
"""The shortest of the systems' bounds for a Unix socket's path (macOS), without its terminator."""

_URL_CHARACTERS_MAX: Final = 2048
_PORTS: Final = {"http": 80, "https": 443}


class UnixEndpoint(msgspec.Struct, frozen=True, tag="unix"):
    """A Unix socket."""

    path: str

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """``unix:/path``."""
        return f"unix:{self.path}"


class NetworkEndpoint(msgspec.Struct, frozen=True, tag="network"):
    """Host, port and the prefix below which the witness's paths lie, without a slash at its end."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    prefix: str = ""

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """The URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.prefix}"


Endpoint = UnixEndpoint | NetworkEndpoint


def parse_endpoint(text: str) -> Endpoint:
    """Where to ask a witness: ``https://host/prefix``, ``http://127.0.0.1:port`` or ``unix:/path``.

    Raises:
        WitnessAddressError: another form, a password or query in it, or plain HTTP to another machine.
    """
    if text.startswith(("unix:", "/")):
        return _unix(text.removeprefix("unix:"))
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        message = "not a URL"
        raise WitnessAddressError(message) from error
    host, scheme = parts.hostname or "", parts.scheme
    if scheme not in ("http", "https") or not host or len(text) > _URL_CHARACTERS_MAX:
        message = "not the address of a witness"
        raise WitnessAddressError(message)
    if parts.username is not None or parts.query or parts.fragment or not _is_plain(text):
        message = "a witness's URL must be host, port and path only"
        raise WitnessAddressError(message)
    if scheme == "http" and not is_loopback(host):
        message = "plain http must stay on this machine"
        raise WitnessAddressError(message, hint="use https, or a Unix socket")
    prefix = parts.path.rstrip("/")
    return NetworkEndpoint("https" if scheme == "https" else "http", host, port or _PORTS[scheme], prefix)


def parse_listen(text: str) -> NetworkEndpoint:
    """Where to serve: ``127.0.0.1:PORT`` or ``[::1]:PORT``; port 0 takes a free one.

    Raises:
        WitnessAddressError: another form, or an address that other machines reach.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65535:
        message = "--listen: must be ADDRESS:PORT"
        raise WitnessAddressError(message)
    if host == "localhost" or not is_loopback(host):
        message = "--listen: must be 127.0.0.1 or [::1]"
        raise WitnessAddressError(
            message, hint="for other machines, put a server with TLS in front and let it pass requests on"
        )
    return NetworkEndpoint("http", host, int(port))


def parse_socket_path(path: str) -> UnixEndpoint:
    """Where to serve: the absolute path of a Unix socket.

    Raises:
        WitnessAddressError: another form, or longer than a socket's path may be.
    """
    return _unix(path)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its very name or number."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _unix(path: str) -> UnixEndpoint:
    if not Path(path).is_absolute() or any(character < " " for character in path):
        message = "a Unix socket's path must be absolute"
        raise WitnessAddressError(message)
    if len(path.encode("utf-8", "surrogateescape")) > SOCKET_PATH_BYTES_MAX:
        message = f"a Unix socket's path must be at most {SOCKET_PATH_BYTES_MAX} bytes"
        raise WitnessAddressError(message)
    return UnixEndpoint(path)


def _is_plain(text: str) -> bool:
    """No space, no control character, nothing that could end the request line."""
    return text.isascii() and all("!" <= character <= "~" for character in text)
