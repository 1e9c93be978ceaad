"""The use cases, one function each. Entry points call these and decide nothing; later the daemon calls the same.

Every function takes a ``Session``: the folders, the ports and the environment. Owner commands are those that DESIGN 5
lists; asking for the owner's presence comes with the daemon, and is said to be missing in the threat model.
"""

import os
import pwd
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from adapters.errors import AdapterError
from sidecars.digest import Digest
from sidecars.encoding import to_base64url
from sidecars.errors import SidecarError
from sidecars.leaf import Enrollment, KeyEpoch, Policy, Revocation
from timeline.binding import HOSTS
from timeline.clock import SystemClock, SystemEntropy
from timeline.config import Config, default_config, load_config, write_default_config
from timeline.errors import (
    EnrollmentUnavailableError,
    HookInputError,
    LimitError,
    QueryError,
    ReceiptChangedError,
    ReceiptUnavailableError,
    ScopeError,
    SourceError,
    StateExistsError,
    TimelineError,
    TranscriptMissingError,
    UsageError,
)
from timeline.files import hold_directory, is_there, make_directory
from timeline.guard.enrollment import (
    check_confirmed,
    check_not_expired,
    is_expired,
    make_enrollment,
    snapshot_of,
)
from timeline.guard.receipt import (
    Receipt,
    binding_of,
    issue_receipt,
    parse_prompt_event,
    pending_receipts,
    source_at_prompt,
    spend_receipt,
)
from timeline.index import IndexResult, Progress, index_source
from timeline.keystore import create_keystore
from timeline.limits import INDEX_BYTES_DEFAULT, RECALL_SECONDS_MAX, RECALL_SECONDS_MIN
from timeline.lock import hold_writer_lock
from timeline.paths import Locations, find_locations
from timeline.projection import id_number, write_vocabulary
from timeline.search import Answer, Window, find_event, search
from timeline.source import check_below, check_path, open_source, take_snapshot
from timeline.state import Ports, State, open_for_writing, open_state
from timeline.store import Store, create_store
from timeline.terms import Query
from timeline.tlog import write_empty_log
from timeline.verify import Report, verify
from timeline.view import EnrolledSource, LogView, same_transcript

OwnerPresence = Literal["terminal", "any"]


class Session(msgspec.Struct, frozen=True):
    """One caller: where the timeline is, and what comes from outside."""

    locations: Locations
    ports: Ports = msgspec.field(default_factory=lambda: Ports(SystemClock(), SystemEntropy()))
    environment: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))


class SourceStatus(msgspec.Struct, frozen=True):
    """An enrolled source as it stands now. ``state`` is current, stale, gone, expired, replaced or revoked."""

    source: EnrolledSource
    state: str
    reason: str | None
    indexed: int
    events: int
    understanding: str | None


def session_from(environment: Mapping[str, str]) -> Session:
    """The session of a command.

    Raises:
        ConfigError: a folder variable is not usable.
    """
    return Session(find_locations(environment), environment=dict(environment))


def canonical_root(root: str) -> str:
    """The project that a folder belongs to, as bindings spell it: the nearest one upwards that holds ``.git``.

    Raises:
        UsageError: there is no such folder.
    """
    if not os.path.isdir(root):
        message = f"{root[:200]}: no such folder"
        raise UsageError(message, hint="give the project's folder with --root")
    return project_of(root)


def project_of(folder: str) -> str:
    """The nearest folder upwards that holds ``.git``, else the folder itself; need not exist."""
    path = Path(os.path.realpath(folder))
    for candidate in (path, *path.parents):
        if os.path.exists(candidate / ".git"):
            return str(candidate)
    return str(path)


# -- setting up ------------------------------------------------------------------------------------------------


def init_state(
    session: Session, *, owner_presence: OwnerPresence = "terminal", simulated_host: bool = False
) -> LogView:
    """Make keys, state, head and anchor, and record the owner's rules in the first leaf.

    Head and anchor of the empty tree are written before anything else refers to them, so that a missing one is
    never a fresh start.

    Raises:
        StateExistsError: there is one already; nothing is changed.
        StateError: it cannot be written.
    """
    where = session.locations
    write_default_config(where.settings, default_config(_user_name()))
    with hold_writer_lock(where.lock):
        _refuse_taken(where)
        make_directory(where.state)
        with hold_directory(where.state):
            return _make_state(session, owner_presence, simulated_host=simulated_host)


def _make_state(session: Session, owner_presence: OwnerPresence, *, simulated_host: bool) -> LogView:
    """The part of ``init_state`` that nobody else may do at the same time."""
    where = session.locations
    _refuse_taken(where)  # again: until the folder was held, another could make one
    make_directory(where.sidecars)
    keystore = create_keystore(where, session.ports.entropy)
    write_empty_log(where, keystore)
    create_store(where.database).close()
    with open_state(where, session.ports) as state:
        state.commit(
            [
                Policy(owner_presence=owner_presence, simulated_host=simulated_host),
                KeyEpoch(epoch=0, log_key=str(keystore.pins.log), owner_key=str(keystore.pins.owner)),
            ],
            project=lambda store, _leaves: write_vocabulary(store),
        )
        return state.view


def _refuse_taken(where: Locations) -> None:
    for taken in (where.pins, where.anchor, where.head, where.database):
        if is_there(taken):
            message = f"{taken}: exists already"
            raise StateExistsError(message)


# -- consent ---------------------------------------------------------------------------------------------------


def receive_prompt(session: Session, host: str, content: bytes) -> Receipt:
    """A host reports a prompt: issue the receipt that lets the owner enroll this session.

    Raises:
        AccessError, SourceError: the event, scope or transcript does not qualify.
        StateError, SidecarError: the state cannot be used.
    """
    if host not in HOSTS:
        message = f"host {host[:40]!r}: not a reviewed host"
        raise HookInputError(message, hint=f"hosts: {', '.join(HOSTS)}")
    event = parse_prompt_event(content)
    path = _canonical_transcript(event.transcript_path)
    check_below(path, _codex_sessions(session), event.session)
    try:
        snapshot = take_snapshot(path)
    except TranscriptMissingError:
        snapshot = None  # hosts create the file with the first item
    binding = _config(session).bind(host=host, session=event.session, project=_project_at(event.cwd))
    with open_for_writing(session.locations, session.ports) as state:
        return issue_receipt(
            state.store,
            state.keystore,
            binding=binding,
            source=source_at_prompt(path, snapshot),
            event_digest=event.event_digest,
            now_ms=session.ports.clock.now_ms(),
            entropy=session.ports.entropy,
        )


def list_receipts(session: Session, root: str) -> tuple[Receipt, ...]:
    """The pending receipts of a project, oldest first.

    Raises:
        StateError, SidecarError: the state cannot be used.
    """
    project = canonical_root(root)
    with open_state(session.locations, session.ports) as state:
        pending = pending_receipts(state.store, state.keystore, session.ports.clock.now_ms())
    return tuple(receipt for receipt in pending if receipt.binding.project == project)


def enroll(
    session: Session, root: str, receipt_id: str, *, confirmed: bool, recall_seconds: int | None = None
) -> Enrollment:
    """The owner consents: spend a receipt and record the enrollment (T6, T10).

    Raises:
        AccessError: not confirmed, no such receipt, another project, or the file is another one; but for the
            first two, the receipt is spent.
        SourceError, StateError, SidecarError: the transcript or the state cannot be used.
    """
    check_confirmed(confirmed=confirmed)
    if recall_seconds is not None and not RECALL_SECONDS_MIN <= recall_seconds <= RECALL_SECONDS_MAX:
        message = f"recall seconds: must be {RECALL_SECONDS_MIN} to {RECALL_SECONDS_MAX}"
        raise LimitError(message)
    project = canonical_root(root)
    config = _config(session)
    with open_for_writing(session.locations, session.ports) as state:
        now_ms = session.ports.clock.now_ms()
        receipt = spend_receipt(state.store, state.keystore, receipt_id, now_ms)
        if str(Digest(receipt.digest)) in state.view.receipts:
            message = "the receipt was spent before, and its row was written back"
            raise ReceiptUnavailableError(message)
        if receipt.binding.project != project:
            message = "the receipt is of another project"
            raise EnrollmentUnavailableError(
                message, hint="give that project with --root; the receipt is spent"
            )
        now = take_snapshot(receipt.source.path)
        if receipt.source.prefix_length is not None and receipt.source.prefix_digest is not None:
            _check_prefix(receipt)
        enrollment = make_enrollment(
            receipt, now, now_ms=now_ms, recall_seconds=recall_seconds or config.recall_seconds
        )
        replaced = [s.index for s in state.view.active if same_transcript(s.enrollment, enrollment)]
        state.commit([enrollment], project=lambda store, _leaves: _drop_sources(store, replaced))
        return enrollment


def revoke(session: Session, enrollment_id: str) -> EnrolledSource:
    """The owner takes a consent back; the source's sidecars and rows are removed.

    Raises:
        EnrollmentUnavailableError: no active enrollment has this id.
        StateError, SidecarError: the state cannot be used.
    """
    with open_for_writing(session.locations, session.ports) as state:
        source = _named(state.view, enrollment_id)
        state.commit(
            [Revocation(enrollment_id=source.enrollment.enrollment_id)],
            project=lambda store, _leaves: _drop_sources(store, [source.index]),
        )
        return source


def list_sources(session: Session, root: str | None) -> tuple[SourceStatus, ...]:
    """Every enrollment of a project (or all), newest first, with what became of its transcript.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    project = None if root is None else canonical_root(root)
    with open_state(session.locations, session.ports) as state:
        found = [
            _source_status(state, source, session.ports.clock.now_ms())
            for source in state.view.sources
            if project is None or source.enrollment.binding.project == project
        ]
    return tuple(reversed(found))


# -- index and search ------------------------------------------------------------------------------------------


def index(
    session: Session,
    root: str,
    *,
    source_ref: str | None = None,
    max_bytes: int = INDEX_BYTES_DEFAULT,
    operations: int | None = None,
    progress: Progress | None = None,
) -> tuple[IndexResult | tuple[EnrolledSource, Exception], ...]:
    """Index the enrolled sources of a project; one that cannot be read does not stop the next.

    Returns, for each source, the result or the source with the error that refused it.

    Raises:
        EnrollmentUnavailableError: nothing is enrolled.
        StateError, SidecarError: the state cannot be used.
    """
    results: list[IndexResult | tuple[EnrolledSource, Exception]] = []
    with open_for_writing(session.locations, session.ports) as state:
        for source in _asked(state, session, root, source_ref):
            try:
                results.append(
                    index_source(state, source, max_bytes=max_bytes, operations=operations, progress=progress)
                )
            except _REFUSES_ONE_SOURCE as error:
                results.append((source, error))
    return tuple(results)


def find(
    session: Session,
    root: str,
    *,
    window: Window | None = None,
    query: Query | None = None,
    source_ref: str | None = None,
) -> tuple[Answer, LogView]:
    """Search the enrolled sources of a project (T20 to T24).

    Raises:
        QueryError: neither a time nor terms.
        AccessError: nothing is enrolled, or it has ended.
        StateError, SidecarError: the state is not to be believed.
    """
    if window is None and query is None:
        message = "a search needs a time or two terms"
        raise QueryError(message)
    with _open_repaired(session) as state:
        sources = _asked(state, session, root, source_ref)
        return search(state, sources, window=window, query=query), state.view


def show(session: Session, root: str, event_id: str) -> tuple[Answer, LogView]:
    """One event by its id, verified again.

    Raises:
        QueryError: not an event id.
        AccessError: nothing is enrolled, or it has ended.
        StateError, SidecarError: the state is not to be believed.
    """
    prefix, _, digits = event_id.partition(":")
    if prefix != "timeline-event" or len(digits) != 32 or not set(digits) <= set("0123456789abcdef"):
        message = "not an event id"
        raise QueryError(message, hint="an id is timeline-event: and 32 hex digits, from `timeline search`")
    with _open_repaired(session) as state:
        sources = _asked(state, session, root, None)
        return find_event(state, sources, event_id, id_number(event_id)), state.view


def verify_timeline(session: Session, *, deep: bool, progress: Progress | None = None) -> Report:
    """Check everything that can be checked here, and say what was not. Changes nothing."""
    return verify(session.locations, session.ports, deep=deep, progress=progress)


# -- inside ----------------------------------------------------------------------------------------------------


@contextmanager
def _open_repaired(session: Session) -> Iterator[State]:
    """A state for reading; where a repair is due, under the lock with the repair taken."""
    with open_state(session.locations, session.ports) as state:
        if state.consistent:
            yield state
            return
    with open_for_writing(session.locations, session.ports) as state:
        yield state


def _asked(state: State, session: Session, root: str, source_ref: str | None) -> Sequence[EnrolledSource]:
    """The sources that a request of this project may use: active, in exactly the owner's scope, not ended."""
    project = canonical_root(root)
    config = _config(session)
    inside = [
        source
        for source in state.view.active
        if source.enrollment.binding.project == project
        and _in_scope(config, source)
        and source_ref in {None, source.enrollment.source.ref, source.enrollment.enrollment_id}
    ]
    if not inside:
        message = f"{project}: nothing is enrolled that covers this"
        raise EnrollmentUnavailableError(message)
    now_ms = session.ports.clock.now_ms()
    usable = [source for source in inside if not is_expired(source, now_ms)]
    if not usable:
        check_not_expired(inside[-1], now_ms)
    return usable


def _in_scope(config: Config, source: EnrolledSource) -> bool:
    binding = binding_of(source.enrollment.binding)
    now = config.bind(
        host=binding.host, session=binding.session, project=binding.project, route=binding.route
    )
    return binding.scope() == now.scope()


def _source_status(state: State, source: EnrolledSource, now_ms: int) -> SourceStatus:
    standing, reason = str(source.standing), None
    indexed, events, understanding = 0, 0, None
    if source.kept:
        header = state.sidecar(source.entries[-1]).header
        indexed, understanding = header.end, header.understanding
        events = sum(entry.count for entry in source.kept)
    if standing == "active":
        standing = "expired" if is_expired(source, now_ms) else "current"
    if standing == "current":
        try:
            with open_source(snapshot_of(source.enrollment)):
                pass
        except TranscriptMissingError as error:
            standing, reason = "gone", error.reason
        except SourceError as error:
            standing, reason = "stale", error.reason
    return SourceStatus(source, standing, reason, indexed, events, understanding)


def _check_prefix(receipt: Receipt) -> None:
    """The first bytes must still be those of the prompt: growth is allowed, another beginning is not.

    Raises:
        ReceiptChangedError: they are not.
    """
    length = receipt.source.prefix_length or 0
    now = take_snapshot(receipt.source.path, length)
    if now.prefix_length != length or to_base64url(now.prefix_digest) != receipt.source.prefix_digest:
        message = f"{receipt.source.path}: its first {length} bytes are not those at the prompt"
        raise ReceiptChangedError(message)


def _drop_sources(store: Store, sources: Sequence[int]) -> None:
    for source in sources:
        store.drop_source(source)


def _named(view: LogView, name: str) -> EnrolledSource:
    """The active source with this enrollment id or source reference."""
    for source in view.active:
        if name in {source.enrollment.enrollment_id, source.enrollment.source.ref}:
            return source
    message = "no active enrollment has this id"
    raise EnrollmentUnavailableError(message)


def _project_at(cwd: str) -> str:
    """The project of the folder that a host works in; the event says it, so it may be anything.

    Raises:
        ScopeError: not a path that a folder can have.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        message = "scope field project: the host's working folder must be an absolute path"
        raise ScopeError(message)
    return project_of(cwd)


def _codex_sessions(session: Session) -> Path:
    """The host's own sessions folder: its home from the environment, never from the event."""
    home = session.environment.get("CODEX_HOME") or os.path.join(
        session.environment.get("HOME", ""), ".codex"
    )
    return Path(os.path.realpath(home)) / "sessions"


def _canonical_transcript(path: str) -> str:
    """The path with links in its folders resolved; the file itself may not be one."""
    check_path(path)
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _config(session: Session) -> Config:
    return load_config(session.locations.settings)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid-{os.geteuid()}"


_REFUSES_ONE_SOURCE = (SourceError, AdapterError)

REFUSALS = (TimelineError, SidecarError, AdapterError)
"""Everything that a use case refuses with; each has ``reason`` and ``hint``."""
