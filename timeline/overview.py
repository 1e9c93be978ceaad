"""How things stand at a glance, for the owner: daemon, hosts, this project's sources, receipts, anchors.

Nothing is read from a transcript: of its file only size and times are looked at, which show that it changed and never
that it did not. ``timeline sources`` looks closer, ``timeline doctor`` at everything.
"""

from pathlib import Path

import msgspec

from timeline.account import count_events, judged
from timeline.activity import SessionReport, SilentSession
from timeline.assurance import find_standing
from timeline.daemon_status import Ask, DaemonFound, find_daemon
from timeline.errors import StateMissingError
from timeline.guard.enrollment import Consent, decide_consent
from timeline.guard.receipt import pending_receipts
from timeline.hosts import HOSTS, home_folder
from timeline.project import canonical_root
from timeline.service import REFUSALS, Session
from timeline.state import State
from timeline.view import EnrolledSource


class SourceSeen(msgspec.Struct, frozen=True):
    """One enrollment of the project. ``standing`` is enrolled, grown, changed, gone, stale, ended or clock.

    ``until_ms`` is the end of its consent; ``understanding`` is ``None`` before it is indexed.
    """

    ref: str
    host: str
    session: str
    mode: str
    standing: str
    events: int
    understanding: str | None
    until_ms: int


class HostSeen(msgspec.Struct, frozen=True):
    """One host that is here, and the newest hook of each event that the daemon has seen of it, as UTC text."""

    name: str
    hooks: dict[str, str]

    @property
    def last(self) -> str | None:
        """Its last hook."""
        return max(self.hooks.values(), default=None)


class AnchorSeen(msgspec.Struct, frozen=True):
    """What is remembered of one external anchor: nobody is asked. ``at_ms`` is its last confirmation."""

    name: str
    size: int | None
    at_ms: int | None


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everything at once. ``state`` is ready, no-state or refused, with ``reason`` and ``hint``; ``size`` in leaves."""

    now_ms: int
    project: str
    state: str
    reason: str | None = None
    hint: str = ""
    size: int = 0
    simulated_host: bool = False
    sources: tuple[SourceSeen, ...] = ()
    receipts: int = 0
    anchors: tuple[AnchorSeen, ...] = ()
    daemon: DaemonFound
    hosts: tuple[HostSeen, ...] = ()
    silent: tuple[SilentSession, ...] = ()


def find_overview(session: Session, root: str, ask: Ask) -> Overview:
    """Look at everything; what cannot be used is said in the answer.

    Raises:
        UsageError: there is no such folder.
    """
    project = canonical_root(root)
    daemon = find_daemon(session.locations.runtime, ask)
    activity = None if daemon.status is None else daemon.status.activity
    found = Overview(
        now_ms=session.ports.clock.now_ms(),
        project=project,
        state="ready",
        daemon=daemon,
        hosts=_hosts(session, () if activity is None else activity.sessions),
        silent=() if activity is None else activity.silent,
    )
    try:
        with session.reading_local() as state:
            return _with_state(found, state)
    except StateMissingError as error:
        return msgspec.structs.replace(found, state="no-state", reason=error.reason, hint=error.hint)
    except REFUSALS as error:
        return msgspec.structs.replace(found, state="refused", reason=error.reason, hint=error.hint or "")


def _with_state(found: Overview, state: State) -> Overview:
    now_ms, view = found.now_ms, state.view
    mine = [source for source in view.active if source.enrollment.binding.project == found.project]
    receipts = pending_receipts(state.store, state.keystore, now_ms)
    standing = find_standing(state, ask=False)
    memories = [(report.entry.name, report.memory) for report in standing.reports]
    refused = standing.refused
    return msgspec.structs.replace(
        found,
        state="ready" if refused is None else "refused",
        reason=None if refused is None else refused.reason,
        hint="" if refused is None else refused.hint,
        size=state.belief.size,
        simulated_host=view.simulated_host,
        sources=tuple(_source(state, source, now_ms) for source in reversed(mine)),
        receipts=sum(receipt.binding.project == found.project for receipt in receipts),
        anchors=tuple(
            AnchorSeen(
                name, None if memory is None else memory.size, None if memory is None else memory.at * 1000
            )
            for name, memory in memories
        ),
    )


def _source(state: State, source: EnrolledSource, now_ms: int) -> SourceSeen:
    enrollment = source.enrollment
    judgement = judged(state, source) if source.kept else None
    ends = (enrollment.expires_at, enrollment.recall_until)
    # A followed file is followed first, and then its last generation is recalled.
    was_followed = enrollment.mode == "follow" and now_ms >= enrollment.expires_at
    until_ms = enrollment.recall_until if was_followed else min(ends)
    return SourceSeen(
        ref=enrollment.source.ref,
        host=enrollment.binding.host,
        session=enrollment.binding.session,
        mode=enrollment.mode,
        standing=_standing(source, now_ms),
        events=count_events(state, source),
        understanding=None if judgement is None else judgement.understanding,
        until_ms=until_ms,
    )


def _standing(source: EnrolledSource, now_ms: int) -> str:
    """What size and times of the file show; its bytes are not looked at."""
    if source.broken is not None:
        return "stale"
    consent = decide_consent(source, now_ms)
    if consent is not Consent.HOLDS:
        return "ended" if consent is Consent.ENDED else "clock"
    newest, wire = source.newest, source.enrollment.source
    try:
        now = Path(wire.path).lstat()
    except OSError:
        return "gone"
    if now.st_size > newest.size and source.enrollment.mode == "follow":
        return "grown"
    same = (now.st_size, now.st_mtime_ns, now.st_ino) == (newest.size, newest.mtime_ns, int(wire.inode))
    return "enrolled" if same else "changed"


def _hosts(session: Session, seen: tuple[SessionReport, ...]) -> tuple[HostSeen, ...]:
    """Hosts with a home folder here, or of which a hook came."""
    found = []
    home = Path(session.environment.get("HOME") or Path.home())
    for host in HOSTS.values():
        hooks: dict[str, str] = {}
        for report in seen:
            if report.host == host.name:
                for event, at in report.hooks.items():
                    hooks[event] = max(at, hooks.get(event, ""))
        if hooks or home_folder(host, session.environment, home).is_dir():
            found.append(HostSeen(host.name, hooks))
    return tuple(found)
