"""The use cases, one function each. Commands call these and decide nothing; the daemon calls some of them too.

Every function takes a ``Session``: the folders, the ports and the environment, and how it comes to an open timeline.
Whether the owner is there was asked before (``timeline.cli.presence``). What agents may do is in
``timeline.permitting`` and ``timeline.recall``.
"""

import os
import pwd
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from adapters.errors import AdapterError
from adapters.registry import ADAPTERS
from sidecars.errors import SidecarError
from sidecars.leaf import Enrollment, Policy, Revocation
from timeline.assertion_account import account_assertions
from timeline.binding import Binding, binding_of
from timeline.clock import SystemClock, SystemEntropy
from timeline.config import Config, Scope, default_config, load_config, write_default_config
from timeline.errors import (
    EnrollmentUnavailableError,
    HookInputError,
    LimitError,
    QueryError,
    SourceError,
    TimelineError,
    TranscriptMissingError,
)
from timeline.files import is_there
from timeline.forgetting.errors import ExcludedError, ForgottenError
from timeline.guard.enrollment import (
    Consent,
    check_confirmed,
    check_consent,
    decide_consent,
)
from timeline.hosts import HOSTS
from timeline.limits import INDEX_BYTES_DEFAULT, RECALL_SECONDS_MAX, RECALL_SECONDS_MIN
from timeline.opening import Afresh, Opener
from timeline.paths import Locations, find_locations
from timeline.ports import Ports
from timeline.project import canonical_root, project_at
from timeline.projection import parse_event_id
from timeline.search import Answer, Window, find_event, search
from timeline.source import take_snapshot
from timeline.state import State
from timeline.terms import Query
from timeline.view import EnrolledSource, LogView

if TYPE_CHECKING:
    from timeline.carried import Exported
    from timeline.guard.receipt import Receipt
    from timeline.index import IndexResult, Progress
    from timeline.processes import Process
    from timeline.status import SourceStatus
    from timeline.verify import Report

OwnerPresence = Literal["terminal", "any"]


class Session(msgspec.Struct, frozen=True):
    """One caller: where the timeline is, and what comes from outside."""

    locations: Locations
    ports: Ports = msgspec.field(default_factory=lambda: Ports(SystemClock(), SystemEntropy()))
    environment: Mapping[str, str] = msgspec.field(default_factory=lambda: dict(os.environ))
    opener: Opener = Afresh()

    def reading(self) -> AbstractContextManager[State]:
        """An opened timeline to answer from; see ``Opener``, as for the next three."""
        return self.opener.reading(self.locations, self.ports)

    def writing(self) -> AbstractContextManager[State]:
        """An opened timeline to add to."""
        return self.opener.writing(self.locations, self.ports)

    def reading_local(self) -> AbstractContextManager[State]:
        """An opened timeline to look into, without a question to an external anchor."""
        return self.opener.reading_local(self.locations, self.ports)

    def writing_local(self) -> AbstractContextManager[State]:
        """An opened timeline to add to, without a question to an external anchor."""
        return self.opener.writing_local(self.locations, self.ports)


def session_from(environment: Mapping[str, str]) -> Session:
    """The session of a command.

    Raises:
        ConfigError: a folder variable is not usable.
    """
    return Session(find_locations(environment), environment=dict(environment))


# -- setting up ------------------------------------------------------------------------------------------------


def offered_scope(session: Session) -> Scope | None:
    """The scope that a first configuration would give to sessions; ``None`` where there is a configuration."""
    return None if is_there(session.locations.settings) else default_config(_user_name()).scope


def init_state(
    session: Session,
    *,
    owner_presence: OwnerPresence = "terminal",
    simulated_host: bool = False,
    scope: Scope | None = None,
) -> LogView:
    """Make keys, state, head and anchor, and record the owner's rules in the first leaf; or complete what was begun.

    ``scope`` is that of a first configuration; one that is there is kept.

    Raises:
        StateExistsError: there is one already, or only parts of one; nothing is changed.
        StateError, SidecarError: it cannot be written, or what was left is not to be believed.
    """
    write_default_config(session.locations.settings, Config(scope or default_config(_user_name()).scope))
    rules = Policy(owner_presence=owner_presence, simulated_host=simulated_host)
    from timeline.founding import found_timeline  # nothing but `init` needs it

    return found_timeline(session.locations, session.ports, rules)


# -- consent ---------------------------------------------------------------------------------------------------


def receive_prompt(
    session: Session, host: str, content: bytes, *, peer: "Sequence[Process] | None" = None
) -> "Receipt":
    """A host reports a prompt: issue the receipt that lets the owner enroll this session.

    ``peer`` is the process that reports it with its ancestors, nearest first. Without it nobody has looked who that
    is: the receipt is not attested, and no standing consent spends it; the same where a model has started the host.

    Raises:
        AccessError, SourceError: the event, scope or transcript does not qualify, the wire does not declare the
            protocol that the host's launcher expects, or ``peer`` is not below a process of the host.
        StateError, SidecarError: the state cannot be used.
    """
    if host not in HOSTS or host not in ADAPTERS:
        message = f"host {host[:40]!r}: not a reviewed host"
        raise HookInputError(message, hint=f"hosts: {', '.join(ADAPTERS)}")
    # A search needs none of these.
    attested = False
    if peer is not None:
        from timeline.guard.hook_peer import check_hook_peer, is_started_by_agent
        from timeline.processes import environment_of

        above = check_hook_peer(peer, host)
        attested = not is_started_by_agent(peer, above, environment_of(above.process).keys())
    from timeline.guard.protocol import check_protocol
    from timeline.guard.receipt import issue_receipt, parse_prompt_event, source_at_prompt
    from timeline.guard.transcript import locate_transcript

    event = parse_prompt_event(content, HOSTS[host])
    path = locate_transcript(HOSTS[host], event, session.environment)
    try:
        snapshot = take_snapshot(path)
    except TranscriptMissingError:
        snapshot = None  # hosts create the file with the first item
    check_protocol(HOSTS[host], snapshot, session.environment)
    binding = _config(session).bind(host=host, session=event.session, project=project_at(event.cwd))
    # A receipt grants nothing yet: the external anchors are asked when it is spent, not while the host waits.
    with session.writing_local() as state:
        from timeline.forgetting.intake import check_source  # a search does not need it
        from timeline.guard.receipt import wire_binding

        check_source(state, wire_binding(binding), path)
        return issue_receipt(
            state.store,
            state.keystore,
            binding=binding,
            source=source_at_prompt(path, snapshot),
            event_digest=event.event_digest,
            now_ms=session.ports.clock.now_ms(),
            entropy=session.ports.entropy,
            attested=attested,
        )


def list_receipts(session: Session, root: str) -> "tuple[Receipt, ...]":
    """The pending receipts of a project, oldest first.

    Raises:
        StateError, SidecarError: the state cannot be used.
    """
    project = canonical_root(root)
    with session.reading_local() as state:
        from timeline.guard.receipt import pending_receipts  # a search does not need it

        pending = pending_receipts(state.store, state.keystore, session.ports.clock.now_ms())
    return tuple(receipt for receipt in pending if receipt.binding.project == project)


def enroll(
    session: Session,
    root: str,
    receipt_id: str,
    *,
    confirmed: bool,
    recall_seconds: int | None = None,
    follow: bool = False,
) -> Enrollment:
    """The owner consents: spend a receipt and record the enrollment (T6, T10).

    With ``follow`` the file may grow while the configured time lasts; without it nothing but the snapshot counts.

    Raises:
        AccessError: not confirmed, no such receipt, another project, or the file is another one; but for the
            first two, the receipt is spent.
        LimitError: not a time that recall may last; nothing is spent.
        ClockError: the clock stands before the receipt or before the newest leaf.
        SourceError, StateError, SidecarError: the transcript or the state cannot be used.
    """
    check_confirmed(confirmed=confirmed)
    if recall_seconds is not None and not RECALL_SECONDS_MIN <= recall_seconds <= RECALL_SECONDS_MAX:
        message = f"recall seconds: must be {RECALL_SECONDS_MIN} to {RECALL_SECONDS_MAX}"
        raise LimitError(message)
    project = canonical_root(root)
    config = _config(session)
    with session.writing() as state:
        now_ms = session.ports.clock.now_ms()
        from timeline.enrolling import record_enrollment  # as above
        from timeline.guard.receipt import spend_receipt

        receipt = spend_receipt(state.store, state.keystore, receipt_id, now_ms)
        if receipt.binding.project != project:
            message = "the receipt is of another project"
            raise EnrollmentUnavailableError(
                message, hint="give that project with --root; the receipt is spent"
            )
        return record_enrollment(
            state, receipt, config, now_ms=now_ms, follow=follow, recall_seconds=recall_seconds
        )


def revoke(session: Session, enrollment_id: str) -> EnrolledSource:
    """The owner takes a consent back; the source's sidecars and rows are removed.

    Raises:
        EnrollmentUnavailableError: no active enrollment has this id.
        StateError, SidecarError: the state cannot be used.
    """
    with session.writing() as state:
        source = _named(state.view, enrollment_id)
        state.commit(
            [Revocation(enrollment_id=source.enrollment.enrollment_id)],
            project=lambda store, _leaves: store.drop_source(source.index),
        )
        return source


def list_sources(session: Session, root: str | None) -> "tuple[SourceStatus, ...]":
    """Every enrollment of a project (or all), newest first, with what became of its transcript.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    from timeline.status import find_status  # a search does not need it

    project = None if root is None else canonical_root(root)
    with session.reading() as state:
        found = [
            find_status(state, source)
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
    proof_bytes: int | None = None,
    operations: int | None = None,
    progress: "Progress | None" = None,
) -> "tuple[IndexResult | tuple[EnrolledSource, Exception], ...]":
    """Index the enrolled sources of a project; one that cannot be read does not stop the next.

    The bounds are those of ``index_source``.

    Returns, for each source, the result or the source with the error that refused it.

    Raises:
        AccessError: nothing is enrolled, or it has ended.
        ClockError: the clock stands before the consent.
        StateError, SidecarError: the state cannot be used.
    """
    from timeline.index import index_source  # a search does not need it

    results: list[IndexResult | tuple[EnrolledSource, Exception]] = []
    with session.writing() as state:
        account_assertions(state)  # the owner is told that this command makes tables anew
        strict = _config(session).strict_formats
        for source in asked_sources(state, session, root, source_ref):
            try:
                results.append(
                    index_source(
                        state,
                        source,
                        max_bytes=max_bytes,
                        proof_bytes=proof_bytes,
                        operations=operations,
                        progress=progress,
                        strict_formats=strict,
                    )
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
        ClockError: the clock stands before the consent.
        StateError, SidecarError: the state is not to be believed.
    """
    if window is None and query is None:
        message = "a search needs a time or two terms"
        raise QueryError(message)
    with session.reading() as state:
        sources = asked_sources(state, session, root, source_ref)
        strict = _config(session).strict_formats
        found = search(state, sources, window=window, query=query, strict_formats=strict)
        return _with_anchors(found, state), state.view


def show(session: Session, root: str, event_id: str) -> tuple[Answer, LogView]:
    """One event by its id, verified again.

    Raises:
        QueryError: not an event id.
        AccessError: nothing is enrolled, or it has ended.
        ClockError: the clock stands before the consent.
        StateError, SidecarError: the state is not to be believed.
    """
    number = parse_event_id(event_id)
    with session.reading() as state:
        sources = asked_sources(state, session, root, None)
        strict = _config(session).strict_formats
        found = find_event(state, sources, event_id, number, strict_formats=strict)
        return _with_anchors(found, state), state.view


def verify_timeline(
    session: Session, *, deep: bool, against: Sequence[Path] = (), progress: "Progress | None" = None
) -> "Report":
    """Check everything that can be checked here, and say what was not. Changes nothing.

    ``against`` are files of carried anchors, each of which the log has to contain.
    """
    from timeline.verify import verify  # a search does not need it

    return verify(session.locations, session.ports, deep=deep, against=against, progress=progress)


def export_anchor(session: Session, file: Path) -> "Exported":
    """Write the present size and root to ``file`` and ``file.minisig``, for a person to carry away.

    Raises:
        AnchorFileError: one of the two is there already, or cannot be written.
        StateError, SidecarError: the state is not to be believed.
    """
    from timeline import carried  # a search does not need it

    with session.reading() as state:
        return carried.export_anchor(state, file)


def _with_anchors(answer: Answer, state: State) -> Answer:
    said = state.external.found
    return answer if said is None else msgspec.structs.replace(answer, anchored=str(said.verdict))


# -- inside ----------------------------------------------------------------------------------------------------


def asked_sources(
    state: State, session: Session, root: str, source_ref: str | None
) -> Sequence[EnrolledSource]:
    """The sources that a request of this project may use: active, in exactly the owner's scope, not ended.

    Raises:
        EnrollmentUnavailableError: nothing is enrolled that covers it.
        EnrollmentExpiredError, ClockError: see ``check_consent``.
    """
    project = canonical_root(root)
    config = _config(session)
    inside = [
        source
        for source in state.view.active
        if source.enrollment.binding.project == project
        and source_ref in {None, source.enrollment.source.ref, source.enrollment.enrollment_id}
        and is_in_scope(config, binding_of(source.enrollment.binding))
    ]
    if not inside:
        message = f"{project}: nothing is enrolled that covers this"
        raise EnrollmentUnavailableError(message)
    now_ms = session.ports.clock.now_ms()
    usable = [source for source in inside if decide_consent(source, now_ms) is not Consent.ENDED]
    # A clock that went back is said, not left out: the answer would lack that source without a word.
    for source in usable or inside[-1:]:
        check_consent(source, now_ms)
    return usable


def is_in_scope(config: Config, binding: Binding) -> bool:
    """Whether the owner's configuration still gives a session the scope that it was enrolled under."""
    now = config.bind(
        host=binding.host, session=binding.session, project=binding.project, route=binding.route
    )
    return binding == now


def _named(view: LogView, name: str) -> EnrolledSource:
    """The active source with this enrollment id or source reference."""
    for source in view.active:
        if name in {source.enrollment.enrollment_id, source.enrollment.source.ref}:
            return source
    message = "no active enrollment has this id"
    raise EnrollmentUnavailableError(message)


def _config(session: Session) -> Config:
    return load_config(session.locations.settings)


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid-{os.geteuid()}"


_REFUSES_ONE_SOURCE = (SourceError, AdapterError, ExcludedError, ForgottenError)

REFUSALS = (TimelineError, SidecarError, AdapterError)
"""Everything that a use case refuses with; each has ``reason`` and ``hint``."""
