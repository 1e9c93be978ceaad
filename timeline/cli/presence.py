"""Which commands are the owner's: those run only where nothing speaks against the owner's presence.

Every command of the tree is in exactly one of two lists, itself or by its group; one that is in neither cannot run.
"""

import copy
import os
from collections.abc import Callable
from typing import Any, Final

import click
import msgspec

from sidecars.keys import Signing
from sidecars.leaf import Policy
from timeline import service
from timeline.paths import find_locations
from timeline.sealing import SealedKey

OWNER_COMMANDS: Final = frozenset(
    {
        "anchor add",
        "anchor export",
        "anchor recover",
        "anchor remove",
        "anchor set",
        "backup",
        "capture",
        "consent",
        "enroll",
        "exclude",
        "forget",
        "formats accept",
        "formats revoke",
        "index",
        "init",
        "install",
        "key",
        "owner",
        "receipt",
        "restore",
        "revoke",
        "schema",
        "search",
        "show",
        "task",
        "uninstall",
        "world",
    }
)
"""Commands, and groups with all that is in them, that want the owner's presence."""

OPEN_COMMANDS: Final = frozenset(
    {
        "anchor postgres-schema",
        "anchor status",
        "completions",
        "conformance",
        "daemon",
        "demo",
        "doctor",
        "formats list",
        "formats show",
        "hook",
        "inspect",
        "mcp",
        "prove",
        "run-hook",
        "service",
        "sources",
        "status",
        "verify",
        "verify-proof",
    }
)
"""Commands that hosts and agents may run: they consent to nothing, and widen nothing that may be read."""


CONSENTING_COMMANDS: Final = frozenset(
    {
        "anchor add",
        "anchor recover",
        "anchor remove",
        "anchor set",
        "consent",
        "enroll",
        "exclude add",
        "exclude remove",
        "forget accept-lost-key",
        "forget apply",
        "formats accept",
        "formats revoke",
        "key revoke",
        "key rotate",
        "revoke",
        "task confirm",
        "task contract",
        "task correct",
        "task start",
        "world confirm",
        "world consent",
        "world correct",
        "world credential add",
        "world import",
        "world import-claims",
        "world inscribe",
        "world policy set",
        "world record",
        "world resolve",
        "world revoke",
        "world verdict",
    }
)
"""Owner's commands that need the owner key: where it is locked they ask for the passphrase before anything else.

A receipt is spent by the attempt, and nobody should wait for the writer lock while somebody types.
"""


def owner_session() -> service.Session:
    """The session of an owner's command: where the owner key is locked, it asks for it.

    Raises:
        ConfigError: a folder variable is not usable.
    """
    session = service.session_from(os.environ)
    ports = msgspec.structs.replace(session.ports, unlock=_unlock)
    return msgspec.structs.replace(session, ports=ports)


def _unlock(sealed: SealedKey) -> Signing:
    from timeline.unlocking import unlock_with

    return unlock_with(os.environ)(sealed)


def is_owner_command(path: str) -> bool:
    """Whether the command of these names, such as ``anchor add``, is the owner's. Pure.

    Raises:
        RuntimeError: it is in neither list.
    """
    names = path.split()
    for length in range(len(names), 0, -1):
        part = " ".join(names[:length])
        if part in OWNER_COMMANDS:
            return True
        if part in OPEN_COMMANDS:
            return False
    message = f"command {path}: must be an owner's command or an open one (timeline/cli/presence.py)"
    raise RuntimeError(message)


def guard(path: str, command: click.Command) -> click.Command:
    """The command, and all below it if it is a group, so that an owner's command asks for the owner first.

    Raises:
        RuntimeError: see ``is_owner_command``.
    """
    guarded = copy.copy(command)
    if isinstance(guarded, click.Group):
        guarded.commands = {name: guard(f"{path} {name}", below) for name, below in guarded.commands.items()}
    elif is_owner_command(path) and guarded.callback is not None:
        guarded.callback = _asking(path, guarded.callback)
    return guarded


def _asking(path: str, run: Callable[..., Any]) -> Callable[..., Any]:
    def ask_and_run(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  (what click hands to a command)
        check_owner(path, options)
        if path in CONSENTING_COMMANDS and not options.get("listed"):
            from timeline.unlocking import open_early

            open_early(find_locations(os.environ), os.environ)
        return run(*arguments, **options)

    return ask_and_run


def check_owner(path: str, options: dict[str, Any]) -> None:
    """Return only if the owner may be believed to be there.

    The recorded rules are read only where the strictest ones refuse. ``init`` goes by the rule that it is to record.

    Raises:
        OwnerPresenceError: why not, and what the owner does instead.
        ConfigError, StateError, SidecarError: the rules are needed and cannot be read.
    """
    from timeline.guard.presence import decide_presence
    from timeline.presence import find_ancestry, find_rules

    ancestry = find_ancestry(os.environ)
    refusal = decide_presence(ancestry, Policy(owner_presence="terminal", simulated_host=False))
    if refusal is None:
        return
    if path == "init":
        rules: Policy | None = Policy(owner_presence=options["owner_presence"], simulated_host=False)
    else:
        rules = find_rules(find_locations(os.environ))
    refusal = decide_presence(ancestry, rules)
    if refusal is not None:
        raise refusal
