"""What can be checked here about a timeline, what was found, and what was not checked. Changes nothing.

A report never claims more than its level (``assurance``). Whoever restores state, trust and configuration together to
one earlier moment is not seen at L1, and the report says so each time.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import msgspec

from adapters.errors import AdapterError
from sidecars.digest import Digest
from sidecars.errors import SidecarError
from sidecars.keys import Verifier
from sidecars.lineage import Fork
from sidecars.sidecar import CHUNK_BYTES, SidecarHeader
from sidecars.trust import AnchorRepairable, Consistent, HeadRepairable
from timeline.account import expected_rows
from timeline.assertion_account import reading_assertions, reading_register
from timeline.assurance import (
    RESTORATION_UNSEEN,
    UNSEEN_ALONE,
    AnchorStatus,
    find_level,
    find_standing,
    unseen,
)
from timeline.carried import committed_hashes, compare_anchor
from timeline.clock import format_utc
from timeline.erasing import pages_due
from timeline.errors import (
    IndexUnverifiedError,
    SourceError,
    StateBusyError,
    StateError,
    TimelineError,
    TranscriptMissingError,
    TranscriptRewrittenError,
)
from timeline.events import read_header
from timeline.evidence import verify_event
from timeline.limits import LOG_READS_MAX
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.prefix import check_chunks, check_generations, committed_chunks, open_enrolled
from timeline.projection import read_source, stored_sources, vocabulary_is_current
from timeline.provider import adapter_for
from timeline.revoked import find_revoked_keys, format_ranges, join_ranges
from timeline.source import OpenSource
from timeline.state import State, open_local
from timeline.view import EnrolledSource, LogView

Progress = Callable[[int, int], None]

NOT_CHECKED = ("the same user: a process with your full rights can read the keys and sign",)
"""What no run can check."""

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
    ``refused``. ``level`` is the assurance that may be claimed for the whole log; for its first ``carried_size`` leaves
    it is L3, since a person carried them away and they are the same. ``fork`` is the declaration of a log that goes on
    from another one; of ``erased`` leaves the hash alone is left.
    """

    verdict: str = "ok"
    level: str = "L0"
    carried_size: int = 0
    size: int = 0
    root: str = ""
    origin: str = ""
    simulated_host: bool = False
    fork: Fork | None = None
    erased: int = 0
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
    locations: Locations,
    ports: Ports,
    *,
    deep: bool = False,
    against: Sequence[Path] = (),
    progress: Progress | None = None,
) -> Report:
    """Verify a timeline. Refusals are in the report; nothing is raised for them.

    ``against`` are files of carried anchors, each of which the log has to contain.
    """
    for _ in range(LOG_READS_MAX):
        report, overtaken = _verify_once(locations, ports, deep=deep, against=against, progress=progress)
        if not overtaken:
            return report
    message = f"{locations.state}: each time another process had committed before the anchors were asked"
    report.add(_refusal("external anchors", StateBusyError(message)))
    return report


def _verify_once(
    locations: Locations, ports: Ports, *, deep: bool, against: Sequence[Path], progress: Progress | None
) -> tuple[Report, bool]:
    """One report, and whether it is worth nothing: another process has committed, and an anchor knew of it."""
    shallow = () if deep else NOT_CHECKED_SHALLOW
    report = Report(not_checked=[*UNSEEN_ALONE, *NOT_CHECKED, *shallow])
    try:
        with open_local(locations, ports) as state:
            _describe(report, state)
            status = find_standing(state, ask=state.consistent)
            if status.refused is not None and state.is_overtaken():
                return report, True
            _check_external(report, state, status)
            report.add(
                Check(
                    "keys, head, anchor, log", ok=True, detail=f"{report.size} leaves, all signed and linked"
                )
            )
            _check_carried(report, state, status, against)
            _report_revoked(report, state)
            _report_descent(report, state.view)
            _report_accepted(report, state.view)
            _report_erased(report, state)
            _run(report, "database structure", state.store.check_structure, "pages, indexes and types agree")
            _check_tables(report, state)
            _check_sidecars(report, state)
            if deep:
                _check_deep(report, state, progress)
    except (TimelineError, SidecarError) as error:
        report.add(_refusal("keys, head, anchor, log", error))
        report.level = "L0"
        looked_at = {check.name for check in report.checks}
        report.not_checked += [
            f"{name}: not compared, since the state itself is refused"
            for name in map(_carried_name, against)
            if name not in looked_at
        ]
    return report, False


def _describe(report: Report, state: State) -> None:
    reading = state.reading
    report.size, report.root = state.belief.size, str(state.belief.root)
    report.origin = state.keystore.pins.origin
    report.simulated_host = state.view.simulated_host
    match reading.finding:
        case Consistent():
            pass
        case HeadRepairable() | AnchorRepairable():
            _report_due(
                report,
                "crash repair",
                "state is exactly one complete, linked, signed batch ahead of head or anchor",
                "any next command takes this repair under the lock",
            )
    if state.store.outdated:
        _report_due(
            report,
            "schema",
            "the database was made by an older version of this program",
            "any next command brings it up to date under the lock",
        )
    if not state.keystore.settled:
        _report_due(
            report,
            "key change",
            "a change of the log key was begun and is not finished",
            "any next command finishes it, or takes it back where nothing was committed",
        )


def _report_due(report: Report, name: str, detail: str, hint: str) -> None:
    """Something was interrupted, and is finished by the next command: no refusal, and none is made good by it."""
    if report.ok:
        report.verdict = "repairable"
    report.checks.append(Check(name, ok=True, detail=detail, reason="repairable", hint=hint))


def _report_descent(report: Report, view: LogView) -> None:
    """From which log this one goes on."""
    fork = view.fork
    if fork is not None:
        report.fork = fork
        signed_by = Verifier.parse(fork.old_owner_key).ref
        detail = f"declared fork of {fork.origin} at size {fork.size}, signed by the owner key {signed_by}"
        report.add(Check("descent", ok=True, detail=detail))
        report.not_checked.append(
            f"descent: whether that is the owner key of {fork.origin}; compare it with the pins of that log"
        )


def _report_accepted(report: Report, view: LogView) -> None:
    """Each time that a state was accepted as the newest after a loss, and on which ground (backup.md, anchors.md)."""
    for restored in view.restorations:
        basis, at = restored.restoration.basis, format_utc(restored.restoration.backed_up_at)
        detail = f"leaf {restored.leaf}: put back from a backup of {at}, {basis}"
        report.add(Check("restoration", ok=True, detail=detail))
        report.not_checked.append(
            f"restoration: whether leaves were committed after the backup of {at} and are missing before "
            f"leaf {restored.leaf}"
        )
    for recovered in view.recoveries:
        lost = {"anchor": "local anchor", "pin": "pin of the external anchors"}[recovered.recovery.lost]
        detail = f"leaf {recovered.leaf}: the {lost} was lost, {recovered.recovery.basis}"
        report.add(Check("anchor recovery", ok=True, detail=detail))
        if recovered.recovery.basis != "external":
            report.not_checked.append(
                f"anchor recovery: whether leaves were committed and are missing before leaf {recovered.leaf}"
            )


def _report_erased(report: Report, state: State) -> None:
    """Which leaves the owner had erased, and whether all of that was carried out."""
    view = state.view
    if not view.erasures:
        return
    report.erased = len(view.erased)
    stated, gone = (join_ranges(sorted(leaves)) for leaves in ({m.leaf for m in view.erasures}, view.erased))
    detail = f"stated by leaves {format_ranges(stated)}; leaves erased: {format_ranges(gone) or 'none'}"
    report.add(Check("erasure", ok=True, detail=detail))
    report.not_checked.append("erasure: what the erased leaves said, and whether copies of it are elsewhere")
    if pages_due(state):
        _report_due(
            report,
            "erasure",
            "leaves were erased, and bytes of theirs may still be in the state",
            "any next command that writes finishes it under the lock",
        )


def _report_revoked(report: Report, state: State) -> None:
    """Which leaves a key signed that the owner has declared compromised: they count, and may be somebody else's."""
    for key in find_revoked_keys(state):
        name = f"log key {key.epoch.log_key.key_id.hex()}"
        leaves = format_ranges(key.signed) or "none"
        detail = f"declared compromised by leaf {key.revoked_by}; leaves that it signed before: {leaves}"
        report.add(Check(name, ok=True, detail=detail, reason="log-key-compromised"))
        if key.erased:
            report.not_checked.append(
                f"{name}: whether it signed leaves {format_ranges(key.erased)}, which were erased since"
            )
        if key.signed:
            report.not_checked.append(
                f"{name}: whether this log or whoever else had the key wrote leaves {leaves}"
            )


def _check_external(report: Report, state: State, status: AnchorStatus) -> None:
    """What the external anchors say, and what may be claimed with them."""
    report.not_checked = [*unseen(status), *(item for item in report.not_checked if item not in UNSEEN_ALONE)]
    report.level = find_level(status, trust_is_apart=state.locations.trust_is_apart(), carried=False)
    if not status.policy.anchors:
        return
    for found in status.reports:
        answer, memory = found.answer, found.memory
        said = "not asked" if answer is None else str(answer.standing)
        last = "nothing" if memory is None else f"{memory.size} leaves at {format_utc(memory.at * 1000)}"
        reason = None if answer is None else answer.reason
        # Not `add`: whether an anchor that does not confirm refuses the whole is the policy's question.
        report.checks.append(
            Check(
                f"anchor {found.entry.name}",
                ok=found.confirms,
                detail=f"{said}; confirmed {last}",
                reason=reason,
            )
        )
    if status.refused is not None:
        report.add(_refusal("external anchors", status.refused))
    elif status.found is not None:
        detail = f"{status.found.verdict}: quorum {status.policy.quorum}, {status.found.behind} leaves behind"
        report.add(Check("external anchors", ok=True, detail=detail))


def _check_carried(report: Report, state: State, status: AnchorStatus, files: Sequence[Path]) -> None:
    """Compare what a person has carried here, and say how far a complete restoration was looked for with it."""
    if not files:
        return
    hashes, anchors = committed_hashes(state), []
    for file in files:
        try:
            anchor = compare_anchor(state, hashes, file)
        except (TimelineError, SidecarError) as error:
            report.add(_refusal(_carried_name(file), error))
            continue
        at, size = format_utc(anchor.at * 1000), anchor.checkpoint.size
        detail = f"carried away at {at} with {size} of {report.size} leaves; they are the first of this log"
        report.add(Check(_carried_name(file), ok=True, detail=detail))
        anchors.append((size, at))
    if len(anchors) < len(files):
        return
    report.carried_size, at = max(anchors)
    if report.carried_size == report.size and report.ok:
        report.level = find_level(status, trust_is_apart=state.locations.trust_is_apart(), carried=True)
    said = (
        f"complete restoration: checked up to size {report.carried_size}, which a person carried away at {at}; "
        "an earlier moment with that many leaves or more is accepted"
    )
    report.not_checked = [said if item == RESTORATION_UNSEEN else item for item in report.not_checked]


def _carried_name(file: Path) -> str:
    return f"carried anchor {file}"


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


def _check_tables(report: Report, state: State) -> None:
    """Assertions and register add up to what the log does; an outdated database lacks one, and needs neither.

    Where an erasure is due, its rows are there still.
    """
    if state.store.outdated or state.reading.due:
        return
    recorded, evidence = state.view.assertions.count, state.view.register.count
    fine = f"{recorded} recorded, their rows and replacements are those of the log"
    _run(report, "assertions", partial(_open_and_close, reading_assertions, state), fine)
    fine = f"{evidence} leaves about evidence and claims, their rows are those of the log"
    _run(report, "register", partial(_open_and_close, reading_register, state), fine)


def _open_and_close(reading: Callable[[State], AbstractContextManager[None]], state: State) -> None:
    with reading(state):
        pass


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
    if state.reading.due:
        report.not_checked.append("projections: the rows of what is to be erased are there still")
    else:
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
    bounds = state.sidecar(source.entries[-1]).header.bounds
    for entry in source.kept:
        for event in state.open_sidecar(entry)[1].events:
            if not bounds.keeps_event(event):
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
