"""What the facts about one host mean: whether it is set up, and whether its hooks really ran. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from timeline.activity import SILENT_SECONDS, SessionReport
from timeline.clock import format_utc, parse_utc
from timeline.daemon_status import DaemonStatus
from timeline.dialects import DIALECTS, STOP
from timeline.doctor.facts import CommandFact, HookFact, HostFact
from timeline.doctor.findings import Finding, Level
from timeline.guard.request import Tool

NEEDED_EVENTS: Final = ("UserPromptSubmit", "PreToolUse")
"""Without the first there is no receipt, without the second no permit; every other hook only helps."""

WORKED_SECONDS: Final = SILENT_SECONDS
"""How long after the daemon's start a transcript must have been written before missing hooks mean anything: a daemon
that starts in the middle of a turn may not see its next hook sooner."""


def check_host(host: HostFact, daemon: DaemonStatus | None, now_ms: int) -> Iterator[Finding]:
    """Everything that is to be said of one host; ``daemon`` is ``None`` where none answers."""
    seen = () if daemon is None else tuple(s for s in daemon.activity.sessions if s.host == host.name)
    hooked = [session for session in seen if session.last_hook is not None]
    for file, rule in host.unreadable:
        message = f"{file}: {rule}"
        yield Finding(Level.ERROR, "host-settings-unreadable", host.name, message, f"correct {file}")
    yield from _check_unknown_events(host)
    if not host.hooks and host.server is None and hooked:
        message = "not in its settings, and its hooks arrive: a plugin or a project has set it up"
        yield Finding(Level.FINE, "host-set-up-elsewhere", host.name, message)
    elif not host.hooks and host.server is None:
        message = f"found ({host.program or host.home}), and Timeline is not set up in it"
        yield Finding(Level.WARNING, "host-not-installed", host.name, message, _install(host))
        return
    else:
        yield from _check_hooks(host)
        yield from _check_server(host)
    yield from _check_ran(host, daemon, hooked, now_ms)


def _install(host: HostFact) -> str:
    return f"timeline install {host.name}"


def _check_unknown_events(host: HostFact) -> Iterator[Finding]:
    for file in dict.fromkeys(file for _, file in host.unknown_events):
        names = ", ".join(event for event, of in host.unknown_events if of == file)
        message = (
            f"{file}: hook events that {host.name} does not know: {names}; for one of them it drops all hooks"
        )
        remedy = f"remove these hooks from {file}"
        yield Finding(Level.ERROR, "hook-event-unknown", host.name, message, remedy)


def _check_hooks(host: HostFact) -> Iterator[Finding]:
    missing = [event for event in NEEDED_EVENTS if event not in {hook.event for hook in host.hooks}]
    if missing:
        message = f"no hook for {' and '.join(missing)}"
        yield Finding(Level.ERROR, "hook-missing", host.name, message, _install(host))
    yield from _check_commands(host, "hook", (hook.command for hook in host.hooks))
    untrusted = [hook for hook in host.hooks if hook.trusted is False]
    if untrusted:
        message = f"{_events(untrusted)}: untrusted or changed: hooks are skipped without a word"
        remedy = f"type /hooks in {host.name}, or run `timeline install {host.name} --trust`"
        yield Finding(Level.ERROR, "hook-untrusted", host.name, message, remedy)
    elif not missing:
        yield Finding(Level.FINE, "hooks-installed", host.name, f"hooks for {_events(host.hooks)}")
    if not missing and DIALECTS[host.name].tells_user and STOP not in {hook.event for hook in host.hooks}:
        message = f"no hook for {STOP}: nobody compares what the agent claims with the captured runs"
        yield Finding(Level.NOTE, "hook-stop-missing", host.name, message, _install(host))


def _events(hooks: Sequence[HookFact]) -> str:
    return ", ".join(dict.fromkeys(hook.event for hook in hooks))


def _check_commands(host: HostFact, what: str, commands: Iterable[CommandFact]) -> Iterator[Finding]:
    """A finding for each fault, however many hooks share it."""
    found = list(commands)
    for path in dict.fromkeys(path for command in found for path in command.missing):
        message = f"{path} is not there, and the {what} runs it"
        yield Finding(Level.ERROR, f"{what}-path-missing", host.name, message, _install(host))
    for path in dict.fromkeys(path for command in found for path in command.unsafe):
        message = f"{path}: others can write what the {what} runs"
        yield Finding(Level.ERROR, f"{what}-path-unsafe", host.name, message, f"chmod go-w {path}")
    if any(not command.here and not command.missing for command in found):
        message = f"the {what} runs another installation of this program"
        yield Finding(Level.WARNING, f"{what}-elsewhere", host.name, message, _install(host))
    if any(not command.runtime_here for command in found):
        message = f"the {what} asks the daemon of another runtime folder"
        yield Finding(Level.WARNING, f"{what}-other-runtime", host.name, message, _install(host))


def _check_server(host: HostFact) -> Iterator[Finding]:
    if host.server is None:
        yield Finding(Level.ERROR, "server-missing", host.name, "no MCP server `timeline`", _install(host))
        return
    if not host.server.ours:
        message = f"{host.server.file}: the MCP server `timeline` is another program"
        remedy = f"rename it there, then run `{_install(host)}`"
        yield Finding(Level.ERROR, "server-name-taken", host.name, message, remedy)
        return
    yield from _check_commands(host, "server", (host.server.command,))
    probe = host.probe
    if probe is None:
        return
    missing = sorted(set(Tool) - set(probe.tools))
    if probe.reason is not None:
        message = f"the MCP server does not answer as its host would ask it ({probe.reason})"
        remedy = "timeline daemon logs"
        yield Finding(Level.ERROR, "server-unreachable", host.name, message, remedy)
    elif missing:
        message = f"the MCP server has no {', '.join(missing)}"
        yield Finding(Level.ERROR, "server-tools-missing", host.name, message, _install(host))
    else:
        message = f"the MCP server answers with {len(probe.tools)} tools"
        yield Finding(Level.FINE, "server-answers", host.name, message)


def _check_ran(
    host: HostFact, daemon: DaemonStatus | None, hooked: Sequence[SessionReport], now_ms: int
) -> Iterator[Finding]:
    """Whether hooks really ran: that they are written down somewhere proves nothing (X10)."""
    if daemon is None:
        message = "whether its hooks run is not known: no daemon has seen any"
        yield Finding(Level.NOTE, "hooks-unproven", host.name, message, "timeline daemon start")
        return
    if hooked:
        yield Finding(Level.FINE, "hooks-ran", host.name, _what_ran(hooked))
        return
    worked = host.newest_ms is not None and (
        parse_utc(daemon.started_at) + WORKED_SECONDS * 1000 <= host.newest_ms <= now_ms
    )
    if worked and host.newest_ms is not None:
        message = (
            f"it wrote a transcript at {format_utc(host.newest_ms)}, and no hook of it arrived since the daemon "
            f"started at {daemon.started_at}"
        )
        yield Finding(Level.ERROR, "hooks-silent", host.name, message, _remedy_of_silence(host))
        return
    message = f"no hook arrived since the daemon started at {daemon.started_at}"
    remedy = f"prompt once in {host.name}, then run `timeline doctor` again"
    yield Finding(Level.NOTE, "hooks-unproven", host.name, message, remedy)


def _remedy_of_silence(host: HostFact) -> str:
    if any(hook.trusted is not None for hook in host.hooks):
        return (
            f"type /hooks in {host.name}, or run `timeline install {host.name} --trust`; then start it again"
        )
    return f"{_install(host)}, then end {host.name} and start it again"


def _what_ran(hooked: Sequence[SessionReport]) -> str:
    """The last time of each event over all sessions, the last receipt and the last permit."""
    last: dict[str, str] = {}
    for session in hooked:
        for event, at in session.hooks.items():
            last[event] = max(at, last.get(event, ""))
    said = "hooks ran: " + ", ".join(f"{event} at {at}" for event, at in sorted(last.items()))
    receipts = [session.receipt for session in hooked if session.receipt is not None]
    permits = [session.permit for session in hooked if session.permit is not None]
    if receipts:
        said += f"; last receipt at {max(receipts)}"
    if permits:
        newest = max(permits, key=lambda permit: permit.at)
        reason = f" ({newest.reason})" if newest.reason else ""
        said += f"; last permit {newest.standing}{reason} at {newest.at}"
    return said
