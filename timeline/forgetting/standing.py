"""Where each kept plan stands: read from the log first, and from its journal only what the log does not say."""

from typing import Literal

import msgspec

from sidecars.erasure import ForgetReport
from timeline.forgetting.applying import erasures_of, leaves_left, reports_of
from timeline.forgetting.errors import PlanUnknownError
from timeline.forgetting.journal import kept_plans, read_lines, read_plan_bytes
from timeline.forgetting.plan import Plan, parse_plan
from timeline.paths import Locations
from timeline.state import State

PlanStanding = Literal["planned", "begun", "erased", "unfinished", "done"]


class PlanStatus(msgspec.Struct, frozen=True):
    """Where one plan stands; ``failed`` counts what its last report says has failed."""

    plan: str
    standing: PlanStanding
    targets: int
    erased: int
    failed: int
    report: int | None
    last_step: str

    @property
    def is_interrupted(self) -> bool:
        """Whether it was begun, and something of it is left to do."""
        return self.standing in {"begun", "erased", "unfinished"}


def load_plan(locations: Locations, digest: str) -> Plan:
    """The plan of this digest, as it is kept.

    Raises:
        PlanUnknownError, PlanInvalidError: there is none, or it is not what was written.
    """
    content = read_plan_bytes(locations, digest)
    if content is None:
        message = "no plan of this digest is kept"
        raise PlanUnknownError(message)
    return parse_plan(content)


def find_plans(state: State) -> tuple[PlanStatus, ...]:
    """Where each kept plan stands.

    Raises:
        PlanInvalidError: a plan is not what was written.
        StateError, SidecarError: the state is not to be believed.
    """
    return tuple(_status(state, digest) for digest in kept_plans(state.locations))


def _status(state: State, digest: str) -> PlanStatus:
    plan = load_plan(state.locations, digest)
    lines = tuple(read_lines(state.locations, digest))
    reports = reports_of(state, digest)
    last = reports[-1].body if reports else None
    failed = last.failed_count if isinstance(last, ForgetReport) else 0
    left = sum(1 for _ in leaves_left(state, plan))
    standing: PlanStanding = "planned"
    if reports:
        standing = "unfinished" if failed else "done"
    elif erasures_of(state, digest):
        standing = "erased"
    elif lines:
        standing = "begun"
    return PlanStatus(
        digest,
        standing,
        len(plan.targets),
        len(plan.targets) - left,
        failed,
        reports[-1].leaf if reports else None,
        lines[-1].step if lines else "",
    )
