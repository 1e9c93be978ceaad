"""The first line that a client says to the daemon, and its answer where the versions differ (docs/spec/rpc.md). Pure.

``timeline/1 <program version> <kind>[ <word>…]``: one line of printable ASCII. The number is the protocol's; a daemon
that speaks another one closes without an answer. What follows the line depends on the kind.
"""

import re
from enum import StrEnum
from typing import Final

import msgspec

from timeline.errors import TimelineError

PROTOCOL: Final = "timeline/1"
LINE_BYTES_MAX: Final = 256
"""Bytes of the first line with its newline."""

_WORD: Final = re.compile(r"[!-~]{1,64}")
_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


class Kind(StrEnum):
    """What a client wants."""

    HOOK = "hook"
    """A host's hook ran: its standard input follows, to the end; the answer is what the hook has to print."""

    MCP = "mcp"
    """A host speaks to its MCP server: lines of JSON-RPC follow, both ways."""

    ASK = "ask"
    """One JSON object follows, to the end; the answer is one."""


class Difference(StrEnum):
    """What a daemon of another version says of itself, in the client's eyes."""

    OLDER = "older"
    """It is about to stop: the client starts its own."""

    NEWER = "newer"
    """It stays: the client has to be replaced."""


class WireError(TimelineError):
    """What came over the daemon's socket is not of the protocol."""

    reason = "wire-malformed"
    default_hint = "the daemon's socket is for Timeline's own clients; see docs/spec/rpc.md"


class Greeting(msgspec.Struct, frozen=True):
    """The first line: the client's version, what it wants, and the words that belong to it."""

    version: str
    kind: Kind
    words: tuple[str, ...] = ()


def parse_greeting(line: bytes) -> Greeting:
    """Read a client's first line, without its newline.

    Raises:
        WireError: not of the protocol.
    """
    words = line.decode("ascii", "replace").split(" ")
    if words[0] != PROTOCOL or len(words) < 3 or not all(_WORD.fullmatch(word) for word in words):
        message = f"a client must begin with `{PROTOCOL} <version> <kind>`"
        raise WireError(message)
    if not _VERSION.fullmatch(words[1]):
        message = "a client's version must be three numbers"
        raise WireError(message)
    try:
        kind = Kind(words[2])
    except ValueError:
        message = f"a client must want one of {', '.join(Kind)}"
        raise WireError(message) from None
    return Greeting(words[1], kind, tuple(words[3:]))


def format_greeting(greeting: Greeting) -> bytes:
    """The line that ``parse_greeting`` reads, with its newline."""
    return " ".join([PROTOCOL, greeting.version, greeting.kind, *greeting.words]).encode("ascii") + b"\n"


def compare_versions(ours: str, theirs: str) -> Difference | None:
    """What we are to a client of version ``theirs``; ``None``: of the same version.

    Raises:
        WireError: one of them is no version.
    """
    mine, other = _numbers(ours), _numbers(theirs)
    if mine == other:
        return None
    return Difference.OLDER if mine < other else Difference.NEWER


def format_difference(ours: str, difference: Difference) -> bytes:
    """The line that a client of another version gets instead of an answer."""
    return f"{PROTOCOL} {ours} {difference}\n".encode("ascii")


def _numbers(version: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(version)
    if found is None:
        message = "a version must be three numbers"
        raise WireError(message)
    return tuple(int(number) for number in found.groups())
