"""Whether the owner is there, by what the processes above a command show. Pure; ``timeline.presence`` looks.

A chain of processes is **unbroken** when all of this holds:

1. each process is the parent of the one before, up to one whose parent cannot be seen (the first process of the
   system, or where a container was entered);
2. the command has a controlling terminal and is in its foreground;
3. the leader of the command's session, for whom the terminal was opened, is the command itself or one of its
   ancestors, and is not the first process, which every orphan becomes a child of;
4. above that leader, before any program that starts or adopts processes without a person (``STARTERS``), stands a
   login of the system (``LOGINS``, run by root), a terminal or desktop (``TERMINALS``, run by the owner or root), or
   a multiplexer (``MULTIPLEXERS``) to which somebody is attached by a chain that is itself unbroken; or the chain
   ends there because a container was entered, which is not believed in a user namespace: anybody can make one, and
   in it processes of its own that hide all that is above them.

So ``setsid`` loses the terminal (2), a double fork loses the leader (3), and ``systemd-run``, ``cron`` and the like
have a starter above (4). What this cannot tell is in ``docs/spec/owner.md``: names are given by who starts a program,
and what is typed into a terminal for its owner looks typed by its owner.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from sidecars.leaf import Policy
from timeline.guard.transport import host_of
from timeline.owner_errors import (
    OwnerChainError,
    OwnerDetachedError,
    OwnerHostError,
    OwnerPresenceError,
    OwnerTerminalError,
    OwnerVariableError,
)
from timeline.processes import Process

STARTERS: Final = frozenset(
    "systemd init launchd upstart runit runsvdir s6-svscan s6-supervise supervisord openrc-run cron crond CRON CROND "
    "atd anacron fcron dbus-daemon dbus-broker containerd-shim containerd dockerd conmon tini dumb-init".split()
)
"""Programs that start or adopt processes without a person at a terminal."""

LOGINS: Final = frozenset(
    "login sshd sshd-session sshd-auth dropbear in.telnetd telnetd tailscaled SessionLeader "
    "gdm-session-wor sddm-helper lightdm lxdm greetd".split()
)
"""Programs of the system that let a person in. They count where root runs them: nobody else can."""

TERMINALS: Final = frozenset(
    "gnome-terminal- gnome-terminal kgx ptyxis ptyxis-agent konsole yakuake xfce4-terminal mate-terminal lxterminal "
    "qterminal deepin-terminal cosmic-term terminator tilix guake xterm uxterm lxterm urxvt urxvtd rxvt st alacritty "
    "kitty foot footclient wezterm-gui wezterm-mux-ser ghostty rio contour terminology cool-retro-term warp-terminal "
    "warp tabby hyper Terminal iTerm2 iTermServer mosh-server ttyd code codium code-insiders cursor zed zed-editor "
    "idea pycharm webstorm goland clion rustrover java emacs neovide gnome-shell plasmashell kwin_wayland kwin_x11 "
    "sway i3 Hyprland river niri labwc wayfire mutter xfce4-panel xfce4-session xfdesktop cinnamon mate-panel lxpanel "
    "openbox awesome bspwm dwm Xorg Xwayland xinit".split()
)
"""Programs with windows in which a person types, and the desktops that start them; names as the system cuts them."""

MULTIPLEXERS: Final = (
    frozenset({"tmux", "tmux: server", "tmux: client"}),
    frozenset({"screen", "SCREEN"}),
    frozenset({"zellij"}),
    frozenset({"dtach"}),
    frozenset({"abduco"}),
)
"""Names of the server and the clients of each multiplexer; its server is an orphan by design."""


OTHER_AGENTS: Final = frozenset(
    "aider amp auggie copilot crush cursor-agent droid gemini goose opencode qwen".split()
)
"""Agents that are no hosts of ours, by the names of their programs: their models have a shell as well."""


class Ancestry(msgspec.Struct, frozen=True):
    """What is known of who runs a command.

    ``chain`` is the command's process and its ancestors (``processes.chain_of``). ``variables`` are the names of the
    host's variables that the command or an ancestor carries. ``attached`` are the chains of the multiplexer's own
    processes, where the chain leads to a multiplexer. ``in_user_namespace``: the command's user ids are not the
    system's own.
    """

    chain: tuple[Process, ...]
    variables: tuple[str, ...] = ()
    attached: tuple[tuple[Process, ...], ...] = ()
    in_user_namespace: bool = False


def decide_presence(ancestry: Ancestry, rules: Policy | None) -> OwnerPresenceError | None:
    """``None`` if the owner may be believed to be there, else why not.

    ``rules`` are those that the log records, ``None`` while there is no log: then nothing stands yet that could be
    consented to, and only hosts are refused. ``owner_presence`` of ``any`` waives terminal and chain, and never what
    concerns hosts. A log of a simulated host holds nothing of anybody, and says so in every answer: all is waived.
    """
    if rules is not None and rules.simulated_host:
        return None
    refusal = _find_host(ancestry)
    if refusal is not None or rules is None or rules.owner_presence == "any":
        return refusal
    return _find_break(ancestry)


def multiplexer_of(chain: tuple[Process, ...]) -> frozenset[str]:
    """The names of the multiplexer that gives the command its terminal; empty where none does."""
    giver = next(_above_leader(chain), None)
    return frozenset() if giver is None else _names_of_multiplexer(giver)


def _find_host(ancestry: Ancestry) -> OwnerPresenceError | None:
    for process in ancestry.chain:
        if host := host_of(process) or _other_agent(process):
            message = f"process {process.pid} among the ancestors of this command is the host {host}"
            return OwnerHostError(message)
    if ancestry.variables:
        message = (
            f"variable {ancestry.variables[0]}: set for this command or for an ancestor of it, by a host"
        )
        return OwnerVariableError(message)
    return None


def _other_agent(process: Process) -> str | None:
    names = (process.name, (process.program or "").rpartition("/")[2])
    return next((name for name in names if name in OTHER_AGENTS), None)


def _find_break(ancestry: Ancestry) -> OwnerPresenceError | None:
    refusal = _find_lost_terminal(ancestry.chain) or _find_lost_leader(ancestry.chain)
    if refusal is not None:
        return refusal
    is_hidden = ancestry.in_user_namespace
    if multiplexer := multiplexer_of(ancestry.chain):
        if any(_is_attached(chain, multiplexer, is_hidden=is_hidden) for chain in ancestry.attached):
            return None
        message = f"nobody is attached to the multiplexer ({min(multiplexer)}) from a terminal of their own"
        return OwnerDetachedError(message)
    return _find_lost_giver(ancestry.chain, is_hidden=is_hidden)


def _find_lost_terminal(chain: tuple[Process, ...]) -> OwnerPresenceError | None:
    if not chain or chain[-1].parent != 0:
        message = "the processes above this command cannot all be seen"
        return OwnerChainError(message)
    own = chain[0]
    if own.terminal == 0:
        message = "this command has no terminal"
        return OwnerTerminalError(message)
    if own.group != own.foreground:
        message = "this command does not run in the foreground of its terminal"
        return OwnerTerminalError(message)
    return None


def _find_lost_leader(chain: tuple[Process, ...]) -> OwnerPresenceError | None:
    leader = next((process for process in chain if process.pid == chain[0].session), None)
    if leader is None:
        message = "the leader of this command's session is not among its ancestors: it was orphaned"
        return OwnerChainError(message)
    if leader.pid == 1:
        message = (
            "the leader of this command's session is the first process, which every orphan is a child of"
        )
        return OwnerChainError(message)
    return None


def _find_lost_giver(chain: tuple[Process, ...], *, is_hidden: bool) -> OwnerPresenceError | None:
    giver = next(_above_leader(chain), None)
    if giver is None:  # the chain ends with a process that is not the first one: a container was entered
        message = "this command runs in a user namespace, which hides the processes that started its session"
        return OwnerChainError(message) if is_hidden else None
    if giver.pid == 1 or giver.name in STARTERS:
        message = (
            f"process {giver.pid} ({giver.name}) started this command's session, and no login or terminal did"
        )
        return OwnerChainError(message)
    return None


def _above_leader(chain: tuple[Process, ...]) -> Iterator[Process]:
    """The processes above the session's leader that say something: starters, logins, terminals, multiplexers.

    A name says nothing where another user runs the program than its place wants.
    """
    numbers = [number for number, process in enumerate(chain) if process.pid == chain[0].session]
    for process in chain[numbers[0] + 1 :] if numbers else ():
        starts = process.pid == 1 or process.name in STARTERS
        login = process.name in LOGINS and process.uid == 0
        typed_in = process.name in TERMINALS or bool(_names_of_multiplexer(process))
        if starts or login or (typed_in and process.uid in {0, chain[0].uid}):
            yield process


def _names_of_multiplexer(process: Process) -> frozenset[str]:
    return next((names for names in MULTIPLEXERS if process.name in names), frozenset())


def _is_attached(chain: tuple[Process, ...], multiplexer: frozenset[str], *, is_hidden: bool) -> bool:
    """Whether this is somebody who looks at the multiplexer in a terminal, and no host's and no other multiplexer's."""
    return (
        bool(chain)
        and chain[0].name in multiplexer
        and not any(host_of(process) or _other_agent(process) for process in chain)
        and not multiplexer_of(chain)
        and (_find_lost_terminal(chain) or _find_lost_leader(chain)) is None
        and _find_lost_giver(chain, is_hidden=is_hidden) is None
    )
