"""What the facts about state, daemon and sources mean. Pure; every host has ``host_checks``."""

import shlex
from collections.abc import Callable, Iterator
from typing import Final

from timeline.doctor.facts import Facts, PathFact, SourceFact, Trouble
from timeline.doctor.findings import Finding, Level
from timeline.doctor.host_checks import check_host

_DAEMON_AGAIN: Final = "timeline daemon stop && timeline daemon start"


def examine(facts: Facts) -> tuple[Finding, ...]:
    """Everything that is to be said, in the order in which it is worth reading."""
    found: list[Finding] = []
    for check in _CHECKS:
        found += check(facts)
    return tuple(found)


def _check_paths(facts: Facts) -> Iterator[Finding]:
    present = [fact for fact in facts.paths if fact.trouble is not Trouble.ABSENT]
    bad = [fact for fact in present if fact.trouble is not None]
    yield from map(_path_finding, bad)
    if not facts.trust_is_apart:
        message = "trust lies inside the state, or the state inside trust: whoever restores one restores both"
        remedy = "move the folder, and set TIMELINE_TRUST_DIR"
        yield Finding(Level.WARNING, "trust-not-apart", "trust", message, remedy)
    if present and not bad and facts.trust_is_apart:
        yield Finding(Level.FINE, "paths-private", "folders", f"{len(present)} folders and files are private")


def _path_finding(fact: PathFact) -> Finding:
    path = shlex.quote(fact.path)
    match fact.trouble:
        case Trouble.OWNER:
            said, remedy = "belongs to another user", f'sudo chown "$(id -u)" {path}'
        case Trouble.OPEN:
            said, remedy = "is open to others", f"chmod {fact.mode} {path}"
        case Trouble.LINKS:
            said, remedy = "has a second name", f"cp -p {path} {path}.one && mv {path}.one {path}"
        case _:
            said, remedy = "is a link, or another kind of thing", f"ls -ld {path}"
    return Finding(Level.ERROR, "path-not-private", fact.role, f"{fact.path} {said}", remedy)


def _check_state(facts: Facts) -> Iterator[Finding]:
    state = facts.state
    if state is None:
        message = "there is no timeline yet"
        yield Finding(Level.ERROR, "state-missing", "state", message, "timeline init")
        return
    unsafe = any(fact.trouble not in {None, Trouble.ABSENT} for fact in facts.paths)
    for refused in state.refused:
        if unsafe and refused.reason == "unsafe-file":
            continue  # said with its path and its command
        yield Finding(
            Level.ERROR, refused.reason, refused.name, refused.detail, refused.hint or "timeline verify"
        )
    if state.verdict == "repairable" and state.pages_due:
        pass  # said with its command among what is to be forgotten
    elif state.verdict == "repairable":
        message = "a commit or a change of keys was interrupted; the next writing command completes it"
        yield Finding(Level.WARNING, "repairable", "state", message, "timeline index")
    elif not state.refused:
        message = f"{state.size} leaves, signed and linked; assurance level {state.level}"
        yield Finding(Level.FINE, "state-verified", "state", message)
    if facts.config_problem is not None:
        message, remedy = facts.config_problem
        yield Finding(Level.ERROR, "config-invalid", "config", message, remedy)


def _check_forgetting(facts: Facts) -> Iterator[Finding]:
    if facts.state is None:
        return
    remedies = [f"timeline forget apply --plan {plan}" for plan in facts.state.unfinished]
    for remedy in remedies:
        message = "a forgetting was begun, and something of it is left to do"
        yield Finding(Level.WARNING, "forget-unfinished", "forgetting", message, remedy)
    if facts.state.pages_due:
        message = "files or pages may still hold what was erased; the next writing command tries again"
        yield Finding(Level.WARNING, "pages-due", "forgetting", message, [*remedies, "timeline index"][0])
    refused = facts.state.forgetting
    if refused is not None:
        yield Finding(Level.ERROR, refused.reason, refused.name, refused.detail, refused.hint)


def _check_anchors(facts: Facts) -> Iterator[Finding]:
    if facts.state is None:
        return
    for anchor in facts.state.anchors:
        if anchor.confirms:
            yield Finding(Level.FINE, "anchor-confirmed", anchor.name, anchor.detail)
        else:
            yield Finding(
                Level.WARNING, "anchor-unconfirmed", anchor.name, anchor.detail, "timeline anchor status"
            )
    if not facts.state.anchors and not facts.state.refused:
        message = "no external anchor: a complete restore to an older moment would not be seen"
        yield Finding(Level.NOTE, "anchor-none", "anchors", message, "timeline anchor add --help")


def _check_lock(facts: Facts) -> Iterator[Finding]:
    if not facts.lock_held:
        return
    holder = facts.lock_holder
    who = "another process" if holder is None else f"process {holder}"
    remedy = "timeline daemon stop" if holder is None else f"ps -p {holder}"
    yield Finding(Level.WARNING, "writer-lock-held", "lock", f"{who} keeps the writer lock", remedy)


def _check_daemon(facts: Facts) -> Iterator[Finding]:
    status = facts.daemon.status
    if status is None:
        if facts.daemon.is_away:
            message = "no daemon runs; the first hook, relay or `timeline daemon start` starts one"
            yield Finding(Level.NOTE, "daemon-away", "daemon", message, "timeline daemon start")
            return
        code = facts.daemon.reason or "daemon-unreachable"
        yield Finding(Level.ERROR, code, "daemon", facts.daemon.detail, facts.daemon.hint or _DAEMON_AGAIN)
        return
    message = f"version {status.version}, process {status.pid}, since {status.started_at}"
    if status.state == "refused":
        said = f"{message}: it refuses the timeline ({status.reason})"
        yield Finding(Level.ERROR, "daemon-refuses", "daemon", said, "timeline verify")
        return
    said = f"{message}: {status.watching} sources watched, {status.mcp_sessions} MCP sessions"
    yield Finding(Level.FINE, "daemon-answers", "daemon", said)
    for silent in status.activity.silent:
        since = f"its last hook at {silent.since}" if silent.hooked else f"{silent.since}, without any hook"
        said = (
            f"session {silent.session} grew by {silent.grown} bytes since {since}: its hooks may be skipped"
        )
        remedy = "end the host and start it again; then `timeline doctor` names what it still skips"
        yield Finding(Level.WARNING, "session-silent", silent.host, said, remedy)


def _check_hosts(facts: Facts) -> Iterator[Finding]:
    for host in facts.hosts:
        yield from check_host(host, facts.daemon.status, facts.now_ms)
    if not facts.hosts:
        message = "no host was found: neither its folder nor its program"
        yield Finding(Level.NOTE, "host-none", "hosts", message, "timeline install --help")


def _check_sources(facts: Facts) -> Iterator[Finding]:
    for source in facts.sources:
        yield from _check_source(source)


_ENROLL_AGAIN: Final = "prompt once more in that session, then `timeline enroll`; or `timeline revoke {}`"


def _check_source(source: SourceFact) -> Iterator[Finding]:
    about = f"{source.host} {source.session}"
    again = _ENROLL_AGAIN.format(source.enrollment)
    reason = f" ({source.reason})" if source.reason else ""
    match source.state:
        case "gone":
            message = f"its transcript is gone{reason}; captured results stay, recall has ended"
            remedy = f"timeline revoke {source.enrollment}"
            yield Finding(Level.WARNING, "source-gone", about, message, remedy)
        case "stale":
            message = f"its transcript is not what was enrolled{reason}; recall has ended"
            yield Finding(Level.WARNING, "source-stale", about, message, again)
        case "expired":
            yield Finding(Level.NOTE, "consent-ended", about, "its consent has ended", again)
        case "unavailable":
            message = "the clock stands before what is recorded"
            yield Finding(Level.ERROR, "clock-went-back", about, message, "set the system clock right")
        case _:
            pass
    if source.understood is False:
        yield _partly(source, about)


def _partly(source: SourceFact, about: str) -> Finding:
    if source.unreviewed:
        names = ", ".join(source.unreviewed)
        message = f"record types that were never reviewed: {names}; nothing of it is captured"
        remedy = f"timeline formats accept {source.host} {source.unreviewed[0]}"
    else:
        message = "some of its lines were not understood; nothing of it is captured"
        remedy = f"timeline inspect FILE --host {source.host}"
    return Finding(Level.WARNING, "partly-understood", about, message, remedy)


_CHECKS: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    _check_paths,
    _check_state,
    _check_forgetting,
    _check_anchors,
    _check_lock,
    _check_daemon,
    _check_hosts,
    _check_sources,
)
