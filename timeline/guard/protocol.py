"""The protocol that King's launcher expects: at the prompt, the wire must declare exactly that one (T71).

A launcher may say in a variable of the hook's environment which protocol the session's wire is written in. That
word only narrows: it can refuse a receipt, and it can never make a protocol acceptable that was not reviewed. Whoever
starts the hook sets its environment, and that need not be the owner; what an unreviewed protocol is read as stands in
the owner's signed decision and nowhere else (``timeline.provider``).

It is checked where the file stands at the prompt. A file that is not there yet declares nothing, and the expectation
is not kept for later: the adapter then judges the file alone.
"""

import re
from collections.abc import Mapping
from typing import Final

from sidecars.errors import SidecarError
from sidecars.identity import strict_loads
from timeline.errors import HookInputError
from timeline.hosts import Host
from timeline.source import Snapshot, check_grown, open_source

_PROTOCOL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}")
"""At most 64 characters (reference interface); the adapter takes no other for a protocol either."""


def check_protocol(host: Host, snapshot: Snapshot | None, environment: Mapping[str, str]) -> None:
    """The wire must declare the protocol that the launcher names; without the host's variable, nothing is asked.

    ``snapshot`` is the file as the receipt will name it, ``None`` where there is none yet. No byte behind its prefix
    is read (T11), and enrolling compares that prefix again: what is checked here holds there too.

    Raises:
        HookInputError: the variable is not a protocol's name, or the first line of the file does not declare it.
        SourceError: the file is not that of ``snapshot`` any more.
    """
    expected = environment.get(host.protocol_variable) if host.protocol_variable is not None else None
    if expected is None:
        return
    if not _PROTOCOL.fullmatch(expected):
        message = f"{host.protocol_variable}: not the name of a protocol"
        raise HookInputError(message, hint="the launcher must set a protocol such as 1.4, or leave it unset")
    if snapshot is None:
        return
    with open_source(snapshot, check_grown) as opened:
        prefix = opened.read(0, snapshot.prefix_length)
    if declared_protocol(prefix) != expected:
        message = f"{snapshot.path}: its first line does not declare the protocol of {host.protocol_variable}"
        raise HookInputError(
            message, hint="correct or unset the variable where the host is started; prompt again"
        )


def declared_protocol(prefix: bytes) -> str | None:
    """The ``protocol_version`` of the ``metadata`` on the first line; ``None`` unless that line is whole and strict."""
    line, newline, _ = prefix.partition(b"\n")
    if not newline:
        return None  # unfinished, or longer than the prefix
    try:
        found = strict_loads(line)
    except SidecarError:
        return None
    if not isinstance(found, dict) or found.get("type") != "metadata":
        return None
    declared = found.get("protocol_version")
    return declared if isinstance(declared, str) else None
