"""How plans, reports and what is left are shown, to a person and as JSON."""

from typing import TYPE_CHECKING, Any, Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.tables import Cell, Table, show_tables

if TYPE_CHECKING:
    from timeline.forget_use import Planned, Verified
    from timeline.forgetting.applying import Applied
    from timeline.forgetting.plan import Plan
    from timeline.forgetting.standing import PlanStatus

PLAN_SCHEMA: Final = "timeline-forget-plan/v1"
REPORT_SCHEMA: Final = "timeline-forget-report/v1"
VERIFY_SCHEMA: Final = "timeline-forget-verify/v1"
STATUS_SCHEMA: Final = "timeline-forget-status/v1"

_WHY: Final = {
    "named": "named",
    "of-the-source": "of that source",
    "captured": "captured from it",
    "would-come-back": "replaced by one that goes, and would come back",
    "derived": "rests on it alone",
    "mixed": "rests on it and on other things",
    "made-anew": "made anew from its other sources",
    "mixed-source": "rests on other things too",
    "lineage-unknown": "a suggestion of which no session is recorded",
}
"""Why something is a target, or stays, for a person."""


def planned_json(planned: "Planned") -> Json:
    """A plan as JSON, with what its targets are."""
    plan = planned.plan
    return {
        "schema": PLAN_SCHEMA,
        "plan": planned.digest,
        "rule": plan.rule,
        "size": plan.size,
        "targets": [
            {"leaf": one.leaf, "kind": one.kind, "why": one.why, "what": one.what} for one in planned.targets
        ],
        "files": list(plan.files),
        "retained": [
            {"leaf": one.leaf, "kind": one.kind, "why": one.why, "what": one.what} for one in planned.retained
        ],
        "suppressed": len(plan.suppressed),
        "authorisation": {"key": plan.authorised_by, "presence": plan.presence},
        "covered": list(plan.coverage),
        "notCovered": _not_covered(),
        "authority": AUTHORITY,
    }


def _not_covered() -> list[Json]:
    from timeline.forgetting.coverage import NOT_COVERED

    return [{"name": one.name, "what": one.what, "advice": one.advice} for one in NOT_COVERED]


def show_planned(planned: "Planned") -> None:
    """Print a plan for a person: what goes and why, what stays, what is not covered, and how to go on."""
    plan = planned.plan

    def rows(found: Any) -> list[tuple[Cell, ...]]:  # noqa: ANN401  (planned leaves)
        return [
            (Cell(f"leaf {one.leaf}"), Cell(one.kind), Cell(one.what), Cell(_WHY.get(one.why, one.why)))
            for one in found
        ]

    tables = [Table("would be erased", (), rows(planned.targets))]
    if planned.retained:
        tables.append(Table("stays", (), rows(planned.retained)))
    show_tables(tables)
    click.echo()
    for line in (*_plan_lines(plan), "", *_not_covered_lines()):
        click.echo(line)
    click.echo()
    click.echo(f"plan {planned.digest}")
    click.echo(f"carry it out with: timeline forget apply --plan {planned.digest}")


def _plan_lines(plan: "Plan") -> list[str]:
    reduced = len(plan.files) - sum(target.kind == "sidecar" for target in plan.targets)
    anew = f"; {reduced} of the files are made again with the events that stay" if reduced else ""
    return [
        f"{len(plan.targets)} leaves and {len(plan.files)} sidecar files, with their rows in the index{anew}",
        f"items of several sources: {plan.rule}",
        f"{len(plan.suppressed)} keyed digests keep it from being taken in again",
        f"on whose word: the owner key {plan.authorised_by}, presence: {plan.presence}",
    ]


def _not_covered_lines() -> list[str]:
    return [
        "not covered, and left as it is:",
        *(
            f"  {one['name']}: {one['what']}{'; ' if one['advice'] else ''}{one['advice']}"
            for one in _not_covered()
        ),
    ]


def question_lines(plan: "Plan") -> list[str]:
    """What the owner is shown before he is asked."""
    return [*_plan_lines(plan), *_not_covered_lines(), ""]


def applied_json(applied: "Applied") -> Json:
    """What carrying out a plan came to, as JSON."""
    report = applied.report
    return {
        "schema": REPORT_SCHEMA,
        "plan": applied.plan,
        "report": applied.leaf,
        "recorded": applied.is_new,
        "complete": applied.is_complete,
        "erasures": list(report.erasures),
        "changed": {one.what: one.count for one in report.changed},
        "retained": [{"target": one.target, "why": one.why} for one in report.retained],
        "retainedCount": report.retained_count,
        "failed": [{"target": one.target, "why": one.why} for one in report.failed],
        "failedCount": report.failed_count,
        "covered": list(report.coverage),
        "notCovered": list(report.not_covered),
        "authority": AUTHORITY,
    }


def applied_lines(applied: "Applied") -> list[str]:
    """The same for a person."""
    report = applied.report
    changed = ", ".join(f"{one.count} {one.what}" for one in report.changed) or "nothing"
    lines = [f"forgotten: {changed}"]
    if report.retained_count:
        lines.append(f"stays: {report.retained_count}, as the plan said")
    lines += [f"failed: {one.target}  {one.why}" for one in report.failed]
    if not applied.is_complete:
        lines.append(f"run it again for what is left: timeline forget apply --plan {applied.plan}")
    lines.append(f"report: leaf {applied.leaf}" + ("" if applied.is_new else ", recorded before"))
    lines.append(f"not covered: {', '.join(report.not_covered)}")
    lines.append(f"look for what is left: timeline forget verify --plan {applied.plan}")
    return lines


def verified_json(verified: "Verified") -> Json:
    """What is left of a plan, as JSON; no value is in it."""
    return {
        "schema": VERIFY_SCHEMA,
        "plan": verified.plan,
        "gone": verified.ok,
        "checks": [
            {"name": one.name, "ok": one.ok, "detail": one.detail, "reason": one.reason or None}
            for one in verified.checks
        ],
        "found": [
            {
                "value": hit.number,
                "file": hit.file,
                "offset": hit.offset,
                "encoding": hit.encoding,
                "whole": hit.whole,
            }
            for hit in verified.hits
        ],
        "notChecked": list(verified.not_checked),
        "authority": AUTHORITY,
    }


def verified_lines(verified: "Verified") -> list[str]:
    """The same for a person."""
    lines = [f"verdict: {'nothing is left' if verified.ok else 'something is left'}"]
    lines += [
        f"{'ok  ' if one.ok else 'FAIL'} {one.name}: {one.detail}"
        + (f" [{one.reason}]" if one.reason else "")
        for one in verified.checks
    ]
    lines += [
        f"     value {hit.number + 1}: {hit.file} at byte {hit.offset}, {hit.encoding}"
        + ("" if hit.whole else ", a half of it")
        for hit in verified.hits
    ]
    return [*lines, "not checked:", *(f"  - {one}" for one in verified.not_checked)]


def status_json(status: "PlanStatus") -> Json:
    """Where a plan stands, as JSON."""
    return {
        "plan": status.plan,
        "standing": status.standing,
        "targets": status.targets,
        "erased": status.erased,
        "failed": status.failed,
        "report": status.report,
        "lastStep": status.last_step or None,
    }


_NEXT: Final = {
    "planned": "carried out by `timeline forget apply`",
    "begun": "was interrupted before anything was erased; `timeline forget apply` goes on",
    "erased": "was interrupted behind the erasure; `timeline forget apply` goes on",
    "unfinished": "something failed; `timeline forget apply` tries again",
    "done": "reported",
}


def status_lines(status: "PlanStatus") -> list[str]:
    """The same for a person."""
    return [
        f"{status.plan}  {status.standing}: {_NEXT[status.standing]}",
        f"    {status.erased} of {status.targets} leaves erased"
        + (f", {status.failed} failed" if status.failed else "")
        + ("" if status.report is None else f", report in leaf {status.report}"),
    ]
