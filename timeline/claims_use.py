"""Taking in what works claim: a file of its owner's, recorded once, in as few leaves as its bounds allow (G25).

What the owner has had forgotten does not come back in a file, be it the work, a claim or a value.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final

import msgspec

from sidecars.graded import Claim, ClaimsEntry
from sidecars.leaf import BATCH_SIZE_MAX
from timeline.assertion_account import account_assertions
from timeline.claims_file import WorkFile
from timeline.forgetting.errors import ForgottenError
from timeline.forgetting.intake import suppression_of
from timeline.forgetting.suppression import Forgotten, Suppression
from timeline.grading.claims import Claimed, read_claims
from timeline.grading.errors import ClaimIdError, WorkChangedError
from timeline.grading_reading import claims_entries
from timeline.service import Session
from timeline.state import State
from timeline.world_view import Standpoint

Progress = Callable[[int, int], None]
_FORGOTTEN: Final = ForgottenError.reason


class ClaimsPlan(msgspec.Struct, frozen=True):
    """What a file would add: claims that are new, how many are there already, and which were forgotten, by id."""

    new: tuple[Claim, ...]
    duplicates: int
    left_out: tuple[tuple[str, str], ...]


def plan_claims(session: Session, where: Standpoint, file: WorkFile) -> ClaimsPlan:
    """What importing a file would record. Writes nothing.

    Raises:
        ForgottenError: the work was forgotten.
        WorkChangedError: the work is known under another class or author.
        ClaimIdError: a claim's id is another claim's.
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        return _plan(state, where, file)


def import_claims(
    session: Session, where: Standpoint, file: WorkFile, progress: Progress = lambda _done, _all: None
) -> ClaimsPlan:
    """Record what is new in a file; the owner key signs each leaf. ``progress`` is told claims done and claims in all.

    What was recorded before an error or an interruption stays, and the same file again goes on where it stopped.

    Raises:
        ClaimIdError, ForgottenError, WorkChangedError: see ``plan_claims``; nothing was written.
        ClockError, StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    with session.writing() as state:
        account_assertions(state)
        plan = _plan(state, where, file)
        pages, done = file.pages(plan.new), 0
        while batch := list(islice(pages, BATCH_SIZE_MAX)):
            state.commit(batch)
            done += sum(len(page.claims) for page in batch)
            progress(done, len(plan.new))
    return plan


def _plan(state: State, where: Standpoint, file: WorkFile) -> ClaimsPlan:
    suppression = suppression_of(state)
    work = file.work
    if suppression.holds(Forgotten.WORK, work.id):
        message = "this work was forgotten"
        raise ForgottenError(message)
    entries = claims_entries(state)
    check_work(file, entries)
    known = {one.claim.id: one for one in read_claims(entries)}
    scopes = _scopes(state, where) if suppression.digests else frozenset()
    new, left_out, duplicates = [], [], 0
    for number, claim in enumerate(file.claims, start=2):
        found = known.get(claim.id)
        if found is not None:
            if found != Claimed(claim, work.id, work.work_class, work.author):
                message = f"line {number}, field id: is another claim's already"
                raise ClaimIdError(message, hint="a claim's id names one claim for ever: give another id")
            duplicates += 1
        elif is_claim_forgotten(suppression, claim, scopes):
            left_out.append((claim.id, _FORGOTTEN))
        else:
            new.append(claim)
    return ClaimsPlan(tuple(new), duplicates, tuple(left_out))


def check_work(file: WorkFile, entries: Iterable[ClaimsEntry]) -> None:
    """Return only if a work is what it was before. Pure.

    Raises:
        WorkChangedError: it is known under another class or author.
    """
    work = file.work
    if any(
        one.work == work.id and (one.work_class, one.author) != (work.work_class, work.author)
        for one in entries
    ):
        message = "line 1, field class or author: the work is known under another one"
        raise WorkChangedError(message)


def is_claim_forgotten(suppression: Suppression, claim: Claim, scopes: Iterable[Sequence[str]]) -> bool:
    """Whether a claim, or what it says as an assertion of one of these tenants and projects, was forgotten. Pure."""
    if not suppression.digests:
        return False
    said = (claim.subject, claim.key, claim.value)
    return (
        suppression.holds(Forgotten.CLAIM, claim.id)
        or suppression.holds(Forgotten.WORK, claim.id)
        or any(suppression.holds(Forgotten.IMPORTED_VALUE, *scope, *said) for scope in scopes)
    )


def _scopes(state: State, where: Standpoint) -> frozenset[tuple[str, str]]:
    """Tenants and projects in which a value can have been forgotten, as far as they are known here.

    A claim is of no project: what was forgotten in one is not to come back for all of them.
    """
    reader = where.reader
    bindings = [source.enrollment.binding for source in state.view.sources]
    tenants = {reader.tenant, *(binding.tenant for binding in bindings)}
    projects = {"", reader.project or "", *(binding.project for binding in bindings)}
    return frozenset((tenant, project) for tenant in tenants for project in projects)
