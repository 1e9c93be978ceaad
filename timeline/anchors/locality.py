"""Where an anchor is: whether two addresses are one place, and whether a host is another machine.

What cannot be told from here is this machine's. Whoever names this machine in another way (``127.1``, ``localhost.``,
its own name) has not put an anchor elsewhere.
"""

import errno
import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Final

from sidecars.leaf import AnchorEntry
from timeline.errors import TimelineError
from timeline.witness.endpoint import UnixEndpoint, parse_endpoint

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LOOK_UP_SECONDS: Final = 2.0
"""How long a name may take; the anchor was asked by it a moment ago, so that the answer is mostly at hand."""

_NOT_OURS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""bind(2): no interface of this machine has the address, or it has none of that family at all."""


def place_of(entry: AnchorEntry) -> tuple[str, ...]:
    """What two spellings of one address have in common; the address itself, where it is none of its kind."""
    try:
        return (entry.type, *_place_of(entry))
    except TimelineError:
        return (entry.type, entry.address)


def _place_of(entry: AnchorEntry) -> tuple[str, ...]:
    match entry.type:
        case "witness":
            endpoint = parse_endpoint(entry.address)
            if isinstance(endpoint, UnixEndpoint):
                return (os.path.realpath(endpoint.path),)
            return (plain_host(endpoint.host), str(endpoint.port), endpoint.prefix)
        case "postgres":
            from timeline.anchors.dsn import parse_dsn

            dsn = parse_dsn(entry.address)
            # One row is one anchor, whoever asks for it and over which options.
            host = plain_host(dsn.host) if dsn.socket_path is None else os.path.realpath(dsn.host)
            return (host, str(dsn.port), dsn.database)
        case _:
            return (os.path.realpath(entry.address),)


def plain_host(host: str) -> str:
    """The one spelling of a host's name or number."""
    return str(read_address(host) or host.lower().rstrip("."))


def is_elsewhere(host: str) -> bool:
    """Whether a host, by name or number, is another machine."""
    return decide_elsewhere(find_addresses(host), is_own)


def decide_elsewhere(addresses: Sequence[Address], is_own: Callable[[Address], bool]) -> bool:
    """The same from its addresses: it has some, and none of them can lead back here."""
    return bool(addresses) and not any(
        found.is_loopback or found.is_unspecified or found.is_link_local or is_own(found)
        for found in addresses
    )


def find_addresses(host: str) -> tuple[Address, ...]:
    """The addresses of a name or number; none where it cannot be looked up within ``LOOK_UP_SECONDS``."""
    number = read_address(host)
    if number is not None:
        return (number,)
    found: list[str] = []
    done = Event()

    def look_up() -> None:
        with suppress(OSError, UnicodeError):
            found.extend(str(row[4][0]) for row in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))
        done.set()

    # The system's own call knows no deadline, so it is left behind when ours has come.
    Thread(target=look_up, name="timeline-locality", daemon=True).start()
    if not done.wait(LOOK_UP_SECONDS):
        return ()
    numbers = [read_address(text) for text in found]
    # One that cannot be read may be any: then nothing is told.
    return tuple(one for one in numbers if one is not None) if None not in numbers else ()


def read_address(text: str) -> Address | None:
    """An address in its usual form, an IPv4 address that is written as an IPv6 one as what it is."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def is_own(address: Address) -> bool:
    """Whether this machine has the address: it can be bound here. Any other failure tells nothing, and counts."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((str(address), 0))
    except OSError as error:
        return error.errno not in _NOT_OURS
    return True
