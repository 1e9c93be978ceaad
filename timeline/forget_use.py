"""What the owner has forgotten or excluded: plan, carry out, look for what is left, and say where things stand (M11).

Three things are apart: excluding a source from being taken in, correcting what is held (``timeline.world_use``), and
forgetting. A plan changes nothing; carrying it out needs the owner's word on exactly this plan, by its digest.
"""

from collections.abc import Iterator, Sequence

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.erasure import Exclusion, ForgetReport
from sidecars.leaf import Enrollment, SidecarEntry
from timeline.answers import session_ref
from timeline.erasing import pages_due
from timeline.files import is_there
from timeline.forgetting.applying import Applied, carry_out, erasures_of, leaves_left, ready, reports_of
from timeline.forgetting.errors import (
    ForgetConfirmationError,
    ForgetError,
    ForgetUnfinishedError,
    NothingToForgetError,
    PlanMovedError,
)
from timeline.forgetting.intake import (
    given_up_keys,
    logged_digests,
)
from timeline.forgetting.items import read_items
from timeline.forgetting.journal import keep_plan
from timeline.forgetting.leftovers import are_copies_left, is_in_diary
from timeline.forgetting.plan import (
    Item,
    Plan,
    Rule,
    Sort,
    format_plan,
    is_same_matter,
    selector_of,
)
from timeline.forgetting.scan import HALVED_FROM, Hit, check_value, owned_files, search_files
from timeline.forgetting.standing import PlanStatus, find_plans, load_plan
from timeline.forgetting.suppression import (
    load_suppression,
    read_list,
)
from timeline.reducing import reduce_sidecars
from timeline.service import Session
from timeline.state import State
from timeline.targeting import plan_at


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner names, in exactly one of these ways."""

    source: str | None = None
    enrollment: str | None = None
    assertions: tuple[str, ...] = ()
    subject: str | None = None
    event: str | None = None
    work: str | None = None
    session: str | None = None


class PlannedLeaf(msgspec.Struct, frozen=True):
    """One target for its owner's eyes: what the plan holds of it, and what it is. It is shown and kept nowhere."""

    leaf: int
    kind: str
    why: str
    what: str


class Planned(msgspec.Struct, frozen=True):
    """A plan that was made and kept: its digest, and its targets and what stays as the owner may see them."""

    digest: str
    plan: Plan
    targets: tuple[PlannedLeaf, ...]
    retained: tuple[PlannedLeaf, ...]


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    reason: str = ""


class Verified(msgspec.Struct, frozen=True):
    """What looking for what is left has found, and what was not looked at."""

    plan: str
    checks: tuple[Check, ...]
    hits: tuple[Hit, ...]
    not_checked: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is left of what was looked for."""
        return all(check.ok for check in self.checks)


# -- planning --------------------------------------------------------------------------------------------------


def plan_forgetting(session: Session, named: Named, rule: Rule) -> Planned:
    """Make a plan and keep it; nothing else is changed.

    Raises:
        NothingToForgetError: nothing here is what was named.
        ForgetError: it cannot be forgotten so.
        SuppressionKeyLostError: the key of what was forgotten before is gone.
        StateError, SidecarError: the state cannot be used.
    """
    with session.writing() as state:
        suppression = ready(state)
        sort, names = _names_of(state, named)
        selector = selector_of(suppression, sort, names)
        items = {item.leaf: item for item in read_items(state)}
        plan, _ = plan_at(state, items, selector, rule, suppression)
        if not plan.targets and not plan.files:
            message = "nothing here is what was named"
            raise NothingToForgetError(message)
        content = format_plan(plan)
        digest = str(Digest.of(content))
        keep_plan(state.locations, digest, content)
    return Planned(
        digest,
        plan,
        tuple(PlannedLeaf(one.leaf, one.kind, one.why, _label(items[one.leaf])) for one in plan.targets),
        tuple(
            PlannedLeaf(one.leaf, items[one.leaf].kind, one.why, _label(items[one.leaf]))
            for one in plan.retained
        ),
    )


def _names_of(state: State, named: Named) -> tuple[Sort, tuple[tuple[str, ...], ...]]:
    given = [name for name in named.__struct_fields__ if getattr(named, name)]
    if len(given) != 1:
        message = (
            "name exactly one of a source, an enrollment, assertions, a subject, an event, a work, a session"
        )
        raise ForgetError(message)
    if named.assertions:
        return "assertions", tuple((name,) for name in named.assertions)
    if named.subject:
        return "subject", ((named.subject,),)
    if named.event:
        return "event", ((named.event,),)
    if named.work:
        return "work", ((named.work,),)
    return "session", _sessions_of(state, named)


def _sessions_of(state: State, named: Named) -> tuple[tuple[str, ...], ...]:
    """Host and session of what is named: a source is forgotten with its whole session."""
    found = {
        (source.enrollment.binding.host, source.enrollment.binding.session)
        for source in state.view.sources
        if named.source == source.enrollment.source.ref
        or named.enrollment == source.enrollment.enrollment_id
        or (
            named.session is not None
            and named.session in {source.enrollment.binding.session, session_ref(source.enrollment)}
        )
    }
    if not found:
        message = "no enrollment here is what was named"
        raise NothingToForgetError(message)
    return tuple(sorted(found))


def _label(item: Item) -> str:
    body = item.body
    match body:
        case AssertionEntry():
            return f"{body.id}  {body.subject} {body.predicate}"
        case Enrollment():
            return f"{body.binding.host} session, {body.source.ref}"
        case SidecarEntry():
            return f"{body.count} events of {body.source}"
        case Exclusion():
            return f"exclusion of a {body.about}"
        case _:
            return ""


# -- carrying out ----------------------------------------------------------------------------------------------


def apply_plan(session: Session, digest: str, *, confirmed: bool) -> Applied:
    """Carry out a plan that the owner has seen, or go on with one that was interrupted.

    Raises:
        ForgetConfirmationError: the owner has not said so.
        PlanUnknownError, PlanInvalidError: there is no such plan.
        PlanMovedError: what it is about has changed since; nothing was changed.
        StateError, SidecarError: the state cannot be used or written; the same command goes on from there.
    """
    plan = load_plan(session.locations, digest)
    if not confirmed:
        message = "the owner has not confirmed the plan"
        raise ForgetConfirmationError(message)
    with session.writing() as state:
        if plan.origin != state.keystore.pins.origin:
            message = "the plan is of another log"
            raise PlanMovedError(message)
        if erasures_of(state, digest):
            return carry_out(state, plan)
        suppression = ready(state)
        if suppression.commitment != plan.key:
            message = "the plan was made with another suppression key"
            raise PlanMovedError(message)
        items = {item.leaf: item for item in read_items(state)}
        now, anew = plan_at(state, items, plan.selector, plan.rule, suppression)
        if not is_same_matter(plan, now):
            message = "what the plan is about has changed since it was made"
            raise PlanMovedError(message)
        return carry_out(state, plan, anew, reduce_sidecars(state, plan, suppression))


# -- looking for what is left ----------------------------------------------------------------------------------


def verify_plan(session: Session, digest: str, values: Sequence[bytes] = ()) -> Verified:
    """Look whether anything is left of what a plan was to forget, and for given values in every file. Changes nothing.

    Raises:
        PlanUnknownError, PlanInvalidError, ValueGivenError: there is no such plan, or a value cannot be searched for.
        StateError, SidecarError: the state is not to be believed.
    """
    plan = load_plan(session.locations, digest)
    for value in values:
        check_value(value)
    with session.reading() as state:
        checks = [
            *_check_log(state, plan, digest),
            *_check_files(state, plan),
            _check_list(state, plan),
            *_check_leftovers(state),
        ]
    not_checked = ["the stores that the plan does not cover: " + ", ".join(plan.not_covered)]
    if not values:
        not_checked.insert(0, "raw bytes: no value was given to search for")
        return Verified(digest, tuple(checks), (), tuple(not_checked))
    if any(len(value) < HALVED_FROM for value in values):
        not_checked.append(
            f"a value of less than {HALVED_FROM} bytes where a database has cut it in two between two pages"
        )
    searched = search_files(owned_files(session.locations), values)
    checks.append(
        Check(
            "raw-bytes",
            not searched.hits,
            f"{len(values)} values in {searched.files} files, {searched.size} bytes",
            "forgotten-value-found" if searched.hits else "",
        )
    )
    if searched.unread:
        checks.append(
            Check("files", ok=False, detail=f"{len(searched.unread)} not read", reason="unsafe-file")
        )
    return Verified(digest, tuple(checks), searched.hits, tuple(not_checked))


def _check_log(state: State, plan: Plan, digest: str) -> Iterator[Check]:
    erasures = erasures_of(state, digest)
    stated = state.view.erased.issuperset(plan.leaves) and bool(erasures)
    yield Check(
        "erasure",
        stated,
        f"{len(erasures)} signed erasures name the plan's {len(plan.targets)} leaves"
        if stated
        else "the plan was not carried out",
        "" if stated else "forget-not-applied",
    )
    left = tuple(leaves_left(state, plan))
    yield Check(
        "leaves",
        not left,
        f"{len(plan.targets) - len(left)} of {len(plan.targets)} leaves are hashes alone; the log of "
        f"{state.belief.size} leaves was verified",
        "leaf-not-erased" if left else "",
    )
    due = pages_due(state)
    yield Check(
        "pages", not due, "rewritten" if not due else "not rewritten yet", "pages-retained" if due else ""
    )
    reports = [one.body for one in reports_of(state, digest) if isinstance(one.body, ForgetReport)]
    done = bool(reports) and reports[-1].failed_count == 0
    yield Check(
        "report",
        done,
        f"{len(reports)} signed reports" if reports else "no report was recorded",
        "" if done else ForgetUnfinishedError.reason,
    )


def _check_files(state: State, plan: Plan) -> Iterator[Check]:
    there = [
        one for one in plan.files if is_there(state.locations.sidecars / f"sha256-{Digest.parse(one).hex()}")
    ]
    yield Check(
        "sidecars",
        not there,
        f"{len(plan.files) - len(there)} of {len(plan.files)} files are gone",
        "sidecar-left" if there else "",
    )


def _check_list(state: State, plan: Plan) -> Check:
    """The list in the trust folder and the log must agree on what may not come back."""
    logged = logged_digests(state.view)
    held = load_suppression(state.locations, logged, lambda: given_up_keys(state))
    listed = read_list(state.locations) or frozenset()
    missing = len(frozenset(plan.suppressed) - held.digests)
    apart = len(logged.get(plan.key, frozenset()) - listed)
    if missing:
        return Check(
            "suppression", ok=False, detail=f"{missing} digests are missing", reason="suppression-missing"
        )
    detail = f"{len(plan.suppressed)} digests are in force"
    return Check("suppression", ok=True, detail=detail + (f"; {apart} by the log alone" if apart else ""))


def _check_leftovers(state: State) -> Iterator[Check]:
    held = load_suppression(state.locations, logged_digests(state.view), lambda: given_up_keys(state))
    named = is_in_diary(state.locations, held)
    yield Check(
        "diary",
        not named,
        "names a forgotten session or source" if named else "names none of the forgotten",
        "diary-names-forgotten" if named else "",
    )
    left = are_copies_left(state.locations)
    yield Check(
        "copies",
        not left,
        "an interrupted backup, restore or fork has left a copy" if left else "none left",
        "copy-left" if left else "",
    )


# -- where things stand ----------------------------------------------------------------------------------------


def list_plans(session: Session) -> tuple[PlanStatus, ...]:
    """Where each kept plan stands.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return find_plans(state)
