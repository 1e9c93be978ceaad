"""Logs in memory of which leaves were erased, as the program leaves them, and the same done wrong."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from sidecars.erased import ERASED_SALT
from sidecars.erasure import Erasure
from sidecars.keys import Verifier
from sidecars.leaf import leaf_hash
from sidecars.trust import Belief, Finding, TrustedLog
from tests.sidecars.samples import LOG, ORIGIN, OWNER, digest_text, make_enrollment
from tests.sidecars.simulator import LogSimulator, View, entry

PLAN = digest_text("plan")
KEY = digest_text("key")


def erasure(*leaves: int, plan: str = PLAN, suppressed: Sequence[str] = ()) -> Erasure:
    """State that leaves were erased."""
    return Erasure(plan, tuple(leaves), tuple(suppressed), KEY)


def enrolled_log() -> LogSimulator:
    """Give a log of eight leaves in four batches: 0-1 rules, 2 consent, 3-4 two sidecars, 5-7 three more."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    log.commit([entry("a"), entry("b")])
    log.commit([entry("c"), entry("d"), entry("e")])
    return log


def without(view: View, leaves: Collection[int]) -> View:
    """The same log with the bytes of these leaves gone and their hashes kept."""
    rows = tuple(
        (ERASED_SALT, leaf_hash(*row)) if index in leaves and row[0] else row
        for index, row in enumerate(view.leaves)
    )
    return replace(view, leaves=rows)


def examined(
    view: View,
    *,
    log_keys: Sequence[Verifier] = (LOG.verifier,),
    believed: Belief | None = None,
    skip: int = 0,
) -> tuple[Finding, tuple[int, ...]]:
    """Show a view to a fresh ``TrustedLog``: the finding, and the erasures that are due."""
    log = TrustedLog(origin=ORIGIN, owner=OWNER.verifier, log_keys=log_keys, believed=believed)
    log.admit_anchor(view.anchor)
    log.admit_head(view.head)
    for salt, envelope in view.leaves[skip:]:
        if salt == ERASED_SALT:
            log.admit_erased(envelope)
        else:
            log.admit_leaf(salt, envelope)
    return log.finish(), log.erasures_due
