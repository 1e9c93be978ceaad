"""What can be checked here about a timeline, what was found, and what was not checked. Changes nothing.

A report never claims more than its level: L0, signatures only; L1, a local anchor in another folder tree. An
attacker who restores state, trust and configuration together to one earlier moment is not seen at L1, and the
report says so each time.
"""

import hashlib
from collections.abc import Callable, Iterator

import msgspec

from adapters.errors import AdapterError
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.sidecar import CHUNK_BYTES, SidecarHeader
from sidecars.trust import AnchorRepairable, Consistent, HeadRepairable
from timeline.account import expected_rows
from timeline.errors import (
    IndexUnverifiedError,
    SourceError,
    StateError,
    TimelineError,
    TranscriptMissingError,
    TranscriptRewrittenError,
)
from timeline.events import read_header
from timeline.evidence import verify_event
from timeline.paths import Locations
from timeline.prefix import check_chunks, check_generations, committed_chunks, open_enrolled
from timeline.projection import read_source, stored_sources, vocabulary_is_current
from timeline.provider import adapter_for
from timeline.source import OpenSource
from timeline.state import Ports, State, open_state
from timeline.view import EnrolledSource

Progress = Callable[[int, int], None]

NOT_CHECKED = (
    (
        "complete restoration: state, trust and configuration put back together to one earlier moment are accepted; "
        "only an external witness or anchor would see it, and none is configured"
    ),
    "freshness: nothing outside this machine says that this is the latest state",
    "the same user: a process with your full rights can read the keys and sign",
)
"""What no run at level L1 can check."""

NOT_CHECKED_SHALLOW = (
    "transcripts: their bytes were not read again; `--deep` reads every line that an event names",
    "projections: rows of the search index were not compared with the sidecars; `--deep` rebuilds and compares them",
)


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at: fine, or refused with a reason."""

    name: str
    ok: bool
    detail: str
    reason: str | None = None
    hint: str = ""


class Report(msgspec.Struct):
    """Everything a verification found.

    ``verdict`` is ``ok``, ``repairable`` (exactly one signed batch is due; the next writing command takes it) or
    ``refused``. ``level`` is the assurance that may be claimed.
    """

    verdict: str = "ok"
    level: str = "L0"
    size: int = 0
    root: str = ""
    origin: str = ""
    simulated_host: bool = False
    checks: list[Check] = msgspec.field(default_factory=list)
    not_checked: list[str] = msgspec.field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing was refused."""
        return self.verdict != "refused"

    def add(self, check: Check) -> None:
        """Record a check; one refusal refuses the whole."""
        self.checks.append(check)
        if not check.ok:
            self.verdict = "refused"


def verify(
    locations: Locations, ports: Ports, *, deep: bool = False, progress: Progress | None = None
) -> Report:
    """Verify a timeline. Refusals are in the report; nothing is raised for them."""
    report = Report(not_checked=[*NOT_CHECKED, *(() if deep else NOT_CHECKED_SHALLOW)])
    try:
        with open_state(locations, ports) as state:
            _describe(report, state)
            report.add(
                Check(
                    "keys, head, anchor, log", ok=True, detail=f"{report.size} leaves, all signed and linked"
                )
            )
            _run(report, "database structure", state.store.check_structure, "pages, indexes and types agree")
            _check_sidecars(report, state)
            if deep:
                _check_deep(report, state, progress)
    except (TimelineError, SidecarError) as error:
        report.add(_refusal("keys, head, anchor, log", error))
    return report


def _describe(report: Report, state: State) -> None:
    reading = state.reading
    report.size, report.root = state.belief.size, str(state.belief.root)
    report.origin = state.keystore.pins.origin
    report.simulated_host = state.view.policy is not None and state.view.policy.simulated_host
    report.level = "L1" if state.locations.trust_is_apart() else "L0"
    match reading.finding:
        case Consistent():
            pass
        case HeadRepairable() | AnchorRepairable():
            report.verdict = "repairable"
            report.checks.append(
                Check(
                    "crash repair",
                    ok=True,
                    detail="state is exactly one complete, linked, signed batch ahead of head or anchor",
                    reason="repairable",
                    hint="any next command takes this repair under the lock",
                )
            )


def _run(report: Report, name: str, check: Callable[[], None], fine: str) -> bool:
    try:
        check()
    except (TimelineError, SidecarError, AdapterError) as error:
        report.add(_refusal(name, error))
        return False
    report.add(Check(name, ok=True, detail=fine))
    return True


def _refusal(name: str, error: TimelineError | SidecarError | AdapterError) -> Check:
    return Check(name, ok=False, detail=str(error), reason=error.reason, hint=error.hint or "")


def _check_sidecars(report: Report, state: State) -> None:
    count = 0
    for source in state.view.active:
        for entry in source.kept:
            try:
                state.sidecar(entry)
            except SidecarError as error:
                name = f"sidecar sha256-{Digest.parse(entry.digest).hex()}"
                report.add(_refusal(name, error))
            count += 1
        _check_following(report, state, source)
    listing = state.sidecars.listing()
    unneeded = len({str(digest) for digest in listing.digests} - state.view.kept_digests())
    detail = f"{count} sidecars signed, complete and as their leaves state"
    if unneeded or listing.strays:
        detail += f"; {unneeded + len(listing.strays)} files that no leaf needs are ignored"
    if report.verdict != "refused":
        report.add(Check("sidecars", ok=True, detail=detail))


def _check_following(report: Report, state: State, source: EnrolledSource) -> None:
    """The sidecars of a followed source and its generations fit together; what is not proven of it is said."""
    if source.enrollment.mode != "follow" or report.verdict == "refused":
        return
    name = f"generations of {source.enrollment.source.ref}"
    headers = [state.sidecar(entry).header for entry in source.kept]
    detail = f"{len(source.generations)} generations, each behind the one before"
    _run(report, name, lambda: check_generations(source, headers), detail)
    if source.broken is not None:
        report.not_checked.append(f"{name}: recall ended ({source.broken.reason}, on record)")
    elif not source.is_prefix_proven:
        report.not_checked.append(
            f"{name}: prefix-proof-pending, {source.proven} of {source.to_prove} bytes compared since the newest"
        )


def _check_deep(report: Report, state: State, progress: Progress | None) -> None:
    sources = state.view.active
    _run(
        report,
        "projections",
        lambda: _compare_projections(state),
        "every row rebuilt from the sidecars and compared",
    )
    for number, source in enumerate(sources):
        _check_transcript(report, state, source)
        if progress is not None:
            progress(number + 1, len(sources))


def _compare_projections(state: State) -> None:
    active = {source.index for source in state.view.active}
    if not vocabulary_is_current(state.store):
        message = f"{state.store.path}: the index was made with another vocabulary"
        raise IndexUnverifiedError(message)
    if not stored_sources(state.store) <= active:
        message = f"{state.store.path}: the index holds rows of a source that is not active"
        raise IndexUnverifiedError(message)
    for source in state.view.active:
        if read_source(state.store, source.index) != expected_rows(state, source):
            message = (
                f"{state.store.path}: rows of source {source.enrollment.source.ref} differ from its sidecars"
            )
            raise IndexUnverifiedError(message)


def _check_transcript(report: Report, state: State, source: EnrolledSource) -> None:
    """Read every line that an event names, and every chunk; a transcript that is gone is said to be unchecked."""
    name = f"transcript of {source.enrollment.source.ref}"
    try:
        with open_enrolled(state, source) as opened:
            if source.enrollment.mode == "follow":
                # The whole of what was committed, since a followed file is bound by its bytes and not by its times.
                check_chunks(opened, committed_chunks(state, source))
            events = _check_events(state, source, opened)
            if source.enrollment.mode == "snapshot":
                for entry in source.kept:
                    _check_chunks(opened, state.sidecar(entry).header)
    except TranscriptMissingError as error:
        report.not_checked.append(f"{name}: {error.reason}")
    except TranscriptRewrittenError as error:
        if source.broken is None:
            report.add(_refusal(name, error))
        else:
            report.not_checked.append(f"{name}: stale ({error.reason}, on record)")
    except SourceError as error:
        # The host may go on writing: that ends recall of this source and says nothing against the state.
        report.not_checked.append(f"{name}: stale ({error.reason})")
    except (StateError, SidecarError, AdapterError) as error:
        report.add(_refusal(name, error))
    else:
        report.add(Check(name, ok=True, detail=f"{events} events derived again from the same bytes"))


def _check_events(state: State, source: EnrolledSource, opened: OpenSource) -> int:
    if not source.kept:
        return 0
    adapter = adapter_for(state.view.formats, source.enrollment.binding.host)
    header = read_header(adapter, opened)
    count = 0
    keeps_from = state.sidecar(source.entries[-1]).header.keeps_from
    for entry in source.kept:
        for event in state.open_sidecar(entry)[1].events:
            if event.lines[0].offset < keeps_from:
                continue
            if not verify_event(state, source, adapter, header, opened, event):
                message = f"event {event.id}: this program reads its lines differently"
                raise IndexUnverifiedError(message)
            count += 1
    return count


def _check_chunks(opened: OpenSource, header: SidecarHeader) -> None:
    for place, expected in zip(_chunk_places(header), header.chunks, strict=True):
        content = opened.read(place, min(CHUNK_BYTES, header.end - place))
        if str(Digest(hashlib.sha256(content).digest())) != expected:
            message = (
                f"{opened.snapshot.path}: the {len(content)} bytes at {place} are not those that were indexed"
            )
            raise IndexUnverifiedError(message)


def _chunk_places(header: SidecarHeader) -> Iterator[int]:
    yield from range(header.start, header.end, CHUNK_BYTES)
