"""Looks at everything that ``checks`` decides about. Changes nothing, and raises for nothing that is a finding."""

import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from timeline.config import load_config
from timeline.daemon_status import Ask, find_daemon
from timeline.doctor.facts import (
    AnchorFact,
    Facts,
    HostFact,
    PathFact,
    ProbeFact,
    RefusedCheck,
    SourceFact,
    StateFacts,
    Trouble,
)
from timeline.doctor.host_facts import find_hosts
from timeline.doctor.probe import probe_server
from timeline.erasing import pages_due
from timeline.errors import ConfigError, StateBusyError, StateError, TimelineError, UnsafeFileError
from timeline.files import is_there, open_regular
from timeline.forgetting.errors import ForgetError
from timeline.forgetting.intake import suppression_of
from timeline.forgetting.standing import find_plans
from timeline.lock import hold_writer_lock
from timeline.paths import Locations
from timeline.service import REFUSALS, Session, verify_timeline
from timeline.state import State
from timeline.status import SourceStatus, find_status
from timeline.verify import Report

LOCK_SECONDS: Final = 1.0
"""How long the writer lock is waited for: a commit holds it for some milliseconds."""

_LOCKS: Final = Path("/proc/locks")
_LOCKS_BYTES_MAX: Final = 1024 * 1024
_ANCHOR: Final = "anchor "
"""How ``timeline.verify`` names its check of one external anchor."""

Probe = Callable[[tuple[str, ...], Mapping[str, str]], ProbeFact]


def gather(session: Session, root: str, ask: Ask, probe: Probe | None = None) -> Facts:
    """Everything about this user's timeline, and about the hosts that are here; ``root`` is the project's folder.

    ``probe`` speaks to an MCP server; it is used where a daemon answers, since the relay would start one otherwise.
    """
    locations = session.locations
    daemon = find_daemon(locations.runtime, ask)
    is_timeline = is_there(locations.state) or is_there(locations.trust)
    held, holder = _look_at_lock(locations)
    speaks = (probe or _probe(session)) if daemon.status is not None else None
    hosts: tuple[HostFact, ...] = find_hosts(session, root, speaks, python=sys.executable)
    return Facts(
        now_ms=session.ports.clock.now_ms(),
        paths=tuple(_paths(locations)),
        trust_is_apart=locations.trust_is_apart(),
        state=_state(session, verify_timeline(session, deep=False)) if is_timeline else None,
        config_problem=_config_problem(locations) if is_timeline else None,
        lock_held=held,
        lock_holder=holder,
        daemon=daemon,
        hosts=hosts,
        sources=_sources(session) if is_timeline else (),
    )


def _probe(session: Session) -> Probe:
    def probe(words: tuple[str, ...], variables: Mapping[str, str]) -> ProbeFact:
        return probe_server(words, {**session.environment, **variables}, session.ports.stopwatch)

    return probe


# -- folders and files -----------------------------------------------------------------------------------------


def _paths(locations: Locations) -> Iterator[PathFact]:
    folders = {
        "state": locations.state,
        "sidecars": locations.sidecars,
        "trust": locations.trust,
        "keys": locations.keys,
        "config": locations.config,
        "runtime": locations.runtime,
    }
    files = {
        "database": locations.database,
        "head": locations.head,
        "anchor": locations.anchor,
        "pins": locations.pins,
        "anchor pin": locations.anchor_pin,
        "configuration": locations.settings,
        "diagnostics": locations.diary,
    }
    yield from (look_at_path(role, path, stat.S_IFDIR) for role, path in folders.items())
    yield from (look_at_path(role, path, stat.S_IFREG) for role, path in files.items())
    yield look_at_path("socket", locations.socket, stat.S_IFSOCK)
    if locations.keys.is_dir() and os.access(locations.keys, os.R_OK):
        yield from (look_at_path("key", path, stat.S_IFREG) for path in sorted(locations.keys.iterdir()))


def look_at_path(role: str, path: Path, kind: int) -> PathFact:
    """How a path stands that has to be private; ``kind`` is the file type of ``stat``."""
    mode = "700" if kind == stat.S_IFDIR else "600"
    try:
        found = path.lstat()
    except OSError:
        return PathFact(role, str(path), mode, Trouble.ABSENT)
    return PathFact(role, str(path), mode, _trouble(found, kind))


def _trouble(found: os.stat_result, kind: int) -> Trouble | None:
    if stat.S_IFMT(found.st_mode) != kind:
        return Trouble.KIND
    if found.st_uid != os.geteuid():
        return Trouble.OWNER
    if stat.S_IMODE(found.st_mode) & 0o077:
        return Trouble.OPEN
    return Trouble.LINKS if kind == stat.S_IFREG and found.st_nlink != 1 else None


def _config_problem(locations: Locations) -> tuple[str, str] | None:
    try:
        load_config(locations.settings)
    except ConfigError as error:
        return str(error), error.hint
    return None


def _look_at_lock(locations: Locations) -> tuple[bool, int | None]:
    """Whether another process keeps the lock, and which. Without a lock file nobody ever wrote."""
    try:
        if is_there(locations.lock):
            with hold_writer_lock(locations.lock, wait_seconds=LOCK_SECONDS):
                pass
    except StateBusyError:
        return True, _holder(locations.lock)
    except TimelineError:
        return False, None
    return False, None


def _holder(path: Path) -> int | None:
    """The process that holds a lock, where the system lists them: ``1: FLOCK ADVISORY WRITE <pid> 08:01:<inode> …``."""
    try:
        wanted = path.lstat()
        with open_regular(_LOCKS) as file:
            content = file.read(_LOCKS_BYTES_MAX)
    except (OSError, UnsafeFileError):
        return None
    device = f"{os.major(wanted.st_dev):02x}:{os.minor(wanted.st_dev):02x}:{wanted.st_ino}".encode()
    for line in content.split(b"\n"):
        words = line.split()
        if len(words) > 5 and words[5] == device and words[4].isdigit():
            return int(words[4])
    return None


# -- the timeline ----------------------------------------------------------------------------------------------


def _state(session: Session, report: Report) -> StateFacts:
    anchors = tuple(
        AnchorFact(check.name.removeprefix(_ANCHOR), check.ok, check.detail)
        for check in report.checks
        if check.name.startswith(_ANCHOR) and check.name != "anchor recovery"
    )
    refused = tuple(
        RefusedCheck(check.name, check.reason or "state-error", check.detail, check.hint)
        for check in report.checks
        if not check.ok and not check.name.startswith(_ANCHOR)
    )
    found = StateFacts(report.verdict, report.level, report.size, refused, anchors, report.simulated_host)
    try:
        with session.reading_local() as state:
            return _forgetting(state, found)
    except REFUSALS:  # a finding of its own
        return found


def _forgetting(state: State, found: StateFacts) -> StateFacts:
    """What is left to do of what was to be forgotten, and whether it is known what must stay out."""
    refused: RefusedCheck | None = None
    unfinished: tuple[str, ...] = ()
    try:
        suppression_of(state)
        unfinished = tuple(one.plan for one in find_plans(state) if one.is_interrupted)
    except (ForgetError, StateError) as error:
        refused = RefusedCheck("forgetting", error.reason, error.message, error.hint)
    return msgspec.structs.replace(
        found, unfinished=unfinished, pages_due=pages_due(state), forgetting=refused
    )


def _sources(session: Session) -> tuple[SourceFact, ...]:
    """The enrollments that count; none where the state is refused, which is a finding of its own."""
    try:
        with session.reading_local() as state:
            return tuple(_source(find_status(state, source)) for source in state.view.active)
    except REFUSALS:
        return ()


def _source(status: SourceStatus) -> SourceFact:
    enrollment, judgement = status.source.enrollment, status.judgement
    return SourceFact(
        ref=enrollment.source.ref,
        enrollment=enrollment.enrollment_id,
        host=enrollment.binding.host,
        session=enrollment.binding.session,
        project=enrollment.binding.project,
        state=status.state,
        reason=status.reason,
        understood=None if judgement is None else judgement.is_understood,
        unreviewed=() if judgement is None else judgement.unreviewed,
    )
