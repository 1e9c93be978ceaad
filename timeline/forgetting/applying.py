"""Carrying out a plan, step by step, so that whoever is interrupted goes on where it stands (M14, M19, M21).

The order is: the erasure, which is one commit of the owner's and then taken out of the pages; the list of what must not
come back, which is in force by that commit already; pending receipts; what may be left of files; the signed report. So
nothing is changed before the owner key has signed. Each step is noted in the journal before the next, and each can be
taken again. Whether the erasure is done, the log says and not the journal.

The caller holds the writer lock.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.erased import is_erased, stored_hash
from sidecars.erasure import REPORTED_MAX, Changed, ForgetReport, ReportItem
from sidecars.errors import SidecarError, StoreUnwritableError
from sidecars.leaf import Kind
from timeline.erasing import Reduced, erase, finish, pages_due
from timeline.errors import StateError
from timeline.files import is_there
from timeline.forgetting.errors import PlanMovedError
from timeline.forgetting.intake import given_up_keys, logged_digests
from timeline.forgetting.journal import Line, Outcome, Step, write_line
from timeline.forgetting.leftovers import are_copies_left, drop_copies, drop_diary_lines, is_in_diary
from timeline.forgetting.plan import Plan, digest_of_plan
from timeline.forgetting.suppression import (
    Forgotten,
    Suppression,
    load_suppression,
    ready_suppression,
    write_suppression,
)
from timeline.guard.receipt import pending_receipts
from timeline.registered import Registered, read_register
from timeline.state import State

_RECEIPTS: Final = "receipts"
_FILES: Final = "sidecar-files"
_DIARY: Final = "diary-lines"
_COPIES: Final = "interrupted-copies"


class Applied(msgspec.Struct, frozen=True):
    """What carrying out a plan came to: its report, the report's leaf, and whether that was written just now."""

    plan: str
    report: ForgetReport
    leaf: int
    is_new: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing has failed."""
        return self.report.failed_count == 0


def ready(state: State) -> Suppression:
    """The list as it is in force, with a key; what is missing of its file is made anew from the log (M18).

    Raises:
        SuppressionKeyLostError, SuppressionInvalidError, StateError: it cannot be had.
    """
    found = ready_suppression(
        state.locations, logged_digests(state.view), lambda: given_up_keys(state), state.ports.entropy
    )
    write_suppression(state.locations, found.digests)
    return found


def erasures_of(state: State, plan: str) -> tuple[int, ...]:
    """The leaves by which a plan was carried out in the log."""
    return tuple(made.leaf for made in state.view.erasures if made.body.plan == plan)


def reports_of(state: State, plan: str) -> tuple[Registered, ...]:
    """The reports about a plan, oldest first.

    Raises:
        StateError, SidecarError: the register cannot be read.
    """
    return read_register(state, Kind.FORGET_REPORT, plan)


def carry_out(
    state: State,
    plan: Plan,
    anew: Sequence[AssertionEntry] = (),
    reduced: Reduced = Reduced(),  # noqa: B008  # immutable
) -> Applied:
    """Do all of a plan that is not done yet, and record what came of it.

    ``anew`` and ``reduced`` are recorded in the commit of the erasure; where that is in the log already, they were.

    Raises:
        PlanMovedError: the leaves are not those of the plan; nothing was changed.
        KeyMismatchError: the owner key is not to be had; nothing was erased.
        StateError, SidecarError: the state cannot be used or written; the same call goes on from there.
    """
    name = digest_of_plan(plan)
    before = reports_of(state, name)
    if before and _is_done(state, plan, before[-1]):
        return _applied(name, before[-1], is_new=False)
    _note(state, name, "begun")
    if not erasures_of(state, name):
        _check_leaves(state, plan)
    suppression = ready(state)
    if suppression.commitment != plan.key:
        message = "the plan was made with another suppression key"
        raise PlanMovedError(message)
    pending = _count_receipts(state)
    failed = _erase(state, plan, name, anew, reduced)
    suppression = suppression.with_digests(plan.suppressed)
    write_suppression(state.locations, suppression.digests)
    _note(state, name, "suppressed")
    drop_receipts(state, suppression)
    # The erasure has dropped all of them already: one may speak of what was erased.
    removed = Counter({_RECEIPTS: pending - _count_receipts(state)})
    _note(state, name, "receipts")
    failed += _look_after(state, plan, name)
    failed += _drop_leftovers(state, name, suppression, removed)
    report = _report(state, plan, name, removed, failed)
    if before and before[-1].body == msgspec.structs.replace(report, changed=_changed_of(before[-1])):
        return _applied(name, before[-1], is_new=False)
    leaf = _record(state, report)
    _note(state, name, "reported", target=f"leaf:{leaf}")
    _note(state, name, "finished", outcome="failed" if failed else "done")
    return Applied(name, report, leaf, is_new=True)


def _record(state: State, report: ForgetReport) -> int:
    """Commit a report; the leaf that holds it."""
    before = state.belief.size
    try:
        state.commit([report])
    except (
        StoreUnwritableError
    ):  # a file that cannot be removed is in the report, which is in the log by then
        if state.belief.size == before:
            raise
    return before


def _check_leaves(state: State, plan: Plan) -> None:
    for target in plan.targets:
        row = state.store.leaf(target.leaf)
        if row is None or is_erased(row[0]) or str(Digest(stored_hash(*row))) != target.hash:
            message = f"leaf {target.leaf}: is not the one of the plan"
            raise PlanMovedError(message)


def _count_receipts(state: State) -> int:
    return sum(1 for _ in state.store.query("SELECT 1 FROM receipt"))


def drop_receipts(state: State, suppression: Suppression) -> None:
    """Delete the pending receipts of sessions that are forgotten, and all that can be spent no more.

    Raises:
        StateError: they cannot be deleted.
    """
    kept = {
        receipt.digest
        for receipt in pending_receipts(state.store, state.keystore, state.ports.clock.now_ms())
        if not suppression.holds(Forgotten.SESSION, receipt.binding.host, receipt.binding.session)
        and not suppression.holds(Forgotten.PATH, receipt.source.path)
    }
    gone = [row for row in state.store.query("SELECT digest FROM receipt") if row[0] not in kept]
    if gone:
        with state.store.transaction():
            state.store.write("DELETE FROM receipt WHERE digest = ?", gone)


def _erase(
    state: State, plan: Plan, name: str, anew: Sequence[AssertionEntry], reduced: Reduced
) -> list[ReportItem]:
    """Commit the erasure and carry it out; what could not be carried out is no error once it is in the log."""
    try:
        erase(
            state,
            plan=name,
            leaves=plan.leaves,
            suppressed=plan.suppressed,
            key=plan.key,
            also=() if erasures_of(state, name) else anew,
            reduced=reduced,
        )
        finish(state)
    except (StateError, SidecarError) as error:
        if not erasures_of(state, name):
            raise
        _note(state, name, "erased", outcome="failed", why=error.reason)
        return [ReportItem("database", error.reason)]
    return []


def _look_after(state: State, plan: Plan, name: str) -> list[ReportItem]:
    """Look at each target by itself, and note what is left of it."""
    failed: list[ReportItem] = []
    for target in plan.targets:
        row = state.store.leaf(target.leaf)
        item = f"leaf:{target.leaf}"
        if row is not None and is_erased(row[0]):
            _note(state, name, "erased", target=item)
        else:
            failed.append(_failed(state, name, "erased", item, "leaf-not-erased"))
    for digest in plan.files:
        item = f"sidecar:{digest}"
        why = _remove_file(state, digest)
        if why is None:
            _note(state, name, "file", target=item)
        else:
            failed.append(_failed(state, name, "file", item, why))
    if pages_due(state):
        failed.append(_failed(state, name, "rows", "database", "pages-retained"))
    else:
        _note(state, name, "rows", target="database")
    return failed


def _remove_file(state: State, digest: str) -> str | None:
    """Remove a sidecar file that is still there, unless something that stays needs it; why it is left, if it is."""
    if digest in state.view.kept_digests():
        return "sidecar-needed"
    parsed = Digest.parse(digest)
    if not is_there(state.locations.sidecars / f"sha256-{parsed.hex()}"):
        return None
    try:
        state.sidecars.remove(parsed)
    except SidecarError as error:
        return error.reason
    return None


def _drop_leftovers(
    state: State, name: str, suppression: Suppression, removed: Counter[str]
) -> list[ReportItem]:
    """Take out what files beside the log still hold; ``removed`` counts."""
    parts: tuple[tuple[Step, str, Callable[[], int]], ...] = (
        ("diary", _DIARY, lambda: drop_diary_lines(state.locations, suppression)),
        ("copies", _COPIES, lambda: drop_copies(state.locations)),
    )
    failed = []
    for step, what, drop in parts:
        try:
            removed[what] = drop()
        except StateError as error:
            failed.append(_failed(state, name, step, what, error.reason))
        else:
            _note(state, name, step)
    return failed


def _failed(state: State, name: str, step: Step, target: str, why: str) -> ReportItem:
    _note(state, name, step, target=target, outcome="failed", why=why)
    return ReportItem(target, why)


def _note(
    state: State, name: str, step: Step, *, target: str = "", outcome: Outcome = "done", why: str = ""
) -> None:
    now_ms = state.ports.clock.now_ms()
    write_line(state.locations, name, Line(now_ms, step, target, outcome, why))


# -- the report ------------------------------------------------------------------------------------------------


def _report(
    state: State, plan: Plan, name: str, removed: Counter[str], failed: Sequence[ReportItem]
) -> ForgetReport:
    left = {item.target for item in failed}
    kinds = Counter(target.kind for target in plan.targets if f"leaf:{target.leaf}" not in left)
    kinds[_FILES] = sum(f"sidecar:{digest}" not in left for digest in plan.files)
    kinds += removed
    retained = [ReportItem(f"leaf:{one.leaf}", one.why) for one in plan.retained]
    return ForgetReport(
        plan=name,
        erasures=erasures_of(state, name),
        changed=tuple(Changed(what, count) for what, count in sorted(kinds.items()) if count),
        retained=tuple(retained[:REPORTED_MAX]),
        retained_count=len(retained),
        failed=tuple(failed[:REPORTED_MAX]),
        failed_count=len(failed),
        coverage=plan.coverage,
        not_covered=plan.not_covered,
    )


def _is_done(state: State, plan: Plan, report: Registered) -> bool:
    """Whether a report says that nothing failed, and nothing has come back since."""
    body = report.body
    return isinstance(body, ForgetReport) and body.failed_count == 0 and not _left(state, plan)


def _left(state: State, plan: Plan) -> bool:
    held = load_suppression(state.locations, logged_digests(state.view), lambda: given_up_keys(state))
    listed = held.digests
    rows = (state.store.leaf(target.leaf) for target in plan.targets)
    files = (state.locations.sidecars / f"sha256-{Digest.parse(one).hex()}" for one in plan.files)
    return (
        not listed.issuperset(plan.suppressed)
        or any(row is None or not is_erased(row[0]) for row in rows)
        or any(map(is_there, files))
        or pages_due(state)
        or is_in_diary(state.locations, held)
        or are_copies_left(state.locations)
    )


def _changed_of(report: Registered) -> tuple[Changed, ...]:
    return report.body.changed if isinstance(report.body, ForgetReport) else ()


def _applied(name: str, report: Registered, *, is_new: bool) -> Applied:
    if not isinstance(report.body, ForgetReport):
        message = "a report of the register is one"
        raise TypeError(message)
    return Applied(name, report.body, report.leaf, is_new)


def leaves_left(state: State, plan: Plan) -> Iterable[int]:
    """Which leaves of a plan are still there."""
    for target in plan.targets:
        row = state.store.leaf(target.leaf)
        if row is None or not is_erased(row[0]) or str(Digest(row[1])) != target.hash:
            yield target.leaf
