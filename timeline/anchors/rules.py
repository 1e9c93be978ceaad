"""What the answers of all external anchors mean together: may this state be used? Pure.

| found | verdict |
|---|---|
| any anchor remembers a larger tree, or another history | refused, whatever the others say |
| a quorum confirms exactly this tree now | ``confirmed`` |
| a quorum has confirmed exactly this tree within the freshness bound | ``remembered``: usable |
| a quorum has confirmed a beginning of it within that bound, few enough leaves ago | ``unwitnessed``: usable |
| the same, and too many leaves ago | refused |
| a quorum is missing only because anchors have regressed or misbehaved | refused |
| no quorum has confirmed anything recently | refused as stale |

An anchor that regressed or misbehaved is not counted: what it confirmed earlier proves nothing about today.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from sidecars.leaf import AnchorEntry, AnchorPolicy
from timeline.anchors.errors import (
    AnchorDistrustedError,
    ExternalAheadError,
    ExternalForkedError,
    StaleError,
    UnwitnessedError,
)
from timeline.anchors.port import Answer, Standing
from timeline.clock import format_utc
from timeline.errors import StateError
from timeline.limits import ANCHOR_SKEW_SECONDS


class Verdict(StrEnum):
    """How much the external anchors say for a state that they let be used."""

    CONFIRMED = "confirmed"
    REMEMBERED = "remembered"
    UNWITNESSED = "unwitnessed"


class Memory(msgspec.Struct, frozen=True):
    """What an anchor has confirmed of our log: the size, and when, in POSIX seconds."""

    size: int
    at: int


class AnchorReport(msgspec.Struct, frozen=True):
    """One anchor: its answer of now, if it was asked, and the newest confirmation that is remembered here."""

    entry: AnchorEntry
    answer: Answer | None
    memory: Memory | None

    @property
    def confirms(self) -> bool:
        """Whether it has just confirmed this very state."""
        return self.answer is not None and self.answer.standing is Standing.CONFIRMED

    @property
    def is_distrusted(self) -> bool:
        """Whether its answer says that nothing of it may be believed."""
        return self.answer is not None and self.answer.standing in {Standing.REGRESSED, Standing.MISBEHAVED}


class Confirmation(msgspec.Struct, frozen=True):
    """What all required anchors together say for a state that may be used.

    ``behind`` counts the leaves that follow what a quorum has confirmed; ``behind_max`` is the owner's bound on them.
    """

    verdict: Verdict
    behind: int
    behind_max: int
    reports: tuple[AnchorReport, ...]

    @property
    def is_silent(self) -> bool:
        """Whether an anchor that is needed gave no answer: asking again at once would only wait again."""
        return self.verdict is not Verdict.CONFIRMED

    def has_room(self, count: int) -> bool:
        """Whether so many more leaves keep the state usable, even if no anchor answers."""
        return self.behind + count <= self.behind_max

    def followed_by(self, count: int) -> "Confirmation":
        """The same after a commit that nobody was asked about, or nobody answered."""
        return Confirmation(Verdict.UNWITNESSED, self.behind + count, self.behind_max, self.reports)


def decide(
    policy: AnchorPolicy, reports: Sequence[AnchorReport], *, size: int, now_ms: int, counts_from: int = 0
) -> Confirmation | StateError:
    """Whether a state of ``size`` leaves may be used; the error says why not.

    Confirmations of fewer than ``counts_from`` leaves are not counted: they were put back together with the state.
    """
    for report in reports:
        alarm = _alarm(report, size)
        if alarm is not None:
            return alarm
    now = now_ms // 1000
    trusted = [
        report
        for report in reports
        if report.memory is not None
        and report.memory.size >= counts_from
        and not report.is_distrusted
        and _is_fresh(policy, report.memory, now)
    ]
    fresh = [report.memory.size for report in trusted if report.memory is not None]
    if sum(confirmed == size for confirmed in fresh) >= policy.quorum:
        answered = sum(report.confirms for report in trusted) >= policy.quorum
        verdict = Verdict.CONFIRMED if answered else Verdict.REMEMBERED
        return Confirmation(verdict, 0, policy.unwitnessed_max, tuple(reports))
    if len(fresh) >= policy.quorum:
        behind = size - sorted(fresh, reverse=True)[policy.quorum - 1]
        if behind <= policy.unwitnessed_max:
            return Confirmation(Verdict.UNWITNESSED, behind, policy.unwitnessed_max, tuple(reports))
        message = (
            f"{behind} leaves follow what the external anchors have confirmed, {policy.unwitnessed_max} may"
        )
        return UnwitnessedError(message)
    return _stale(policy, reports)


def _alarm(report: AnchorReport, size: int) -> StateError | None:
    name, answer = report.entry.name, report.answer
    if answer is not None and answer.standing is Standing.AHEAD:
        message = f"the anchor {name} has confirmed {answer.size} leaves of this log, this state has {size}"
        return ExternalAheadError(message)
    if answer is not None and answer.standing is Standing.FORKED:
        message = f"the anchor {name} has confirmed another history of this log, at {answer.size} leaves"
        return ExternalForkedError(message)
    if report.memory is not None and report.memory.size > size:
        message = (
            f"the anchor {name} had confirmed {report.memory.size} leaves of this log, this state has {size}"
        )
        return ExternalAheadError(message)
    return None


def _is_fresh(policy: AnchorPolicy, memory: Memory, now: int) -> bool:
    return now - policy.freshness_seconds <= memory.at <= now + ANCHOR_SKEW_SECONDS


def _stale(policy: AnchorPolicy, reports: Sequence[AnchorReport]) -> StateError:
    distrusted = [report for report in reports if report.is_distrusted]
    if distrusted and len(reports) - len(distrusted) < policy.quorum:
        names = ", ".join(f"{r.entry.name} ({r.answer.standing})" for r in distrusted if r.answer is not None)
        message = f"not to be trusted any more: {names}; the others are no quorum of {policy.quorum}"
        return AnchorDistrustedError(message)
    said = ", ".join(_said(report) for report in reports)
    message = (
        f"no quorum of {policy.quorum} has confirmed this log within {policy.freshness_seconds} s: {said}"
    )
    return StaleError(message)


def _said(report: AnchorReport) -> str:
    last = "never" if report.memory is None else format_utc(report.memory.at * 1000)
    answer = report.answer
    now = (
        "not asked"
        if answer is None
        else str(answer.standing) + (f", {answer.reason}" if answer.reason else "")
    )
    return f"{report.entry.name} ({now}; last {last})"
