"""``timeline conformance``: the cases of the suite, or anybody's own, under three release rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.render import show
from timeline.cli.tables import Cell, Table, Tone, show_tables

if TYPE_CHECKING:
    from timeline.reasoning.case import Case
    from timeline.reasoning.conformance import CaseResult, ConformanceReport
    from timeline.reasoning.metrics import Metrics, Ratio

SCHEMA: Final = "timeline-conformance/v1"

CASES_MAX: Final = 10_000
"""Files of one folder; a suite that large takes some seconds."""

_NOT_APPLICABLE: Final = "N/A"
_TONES: Final[dict[str, Tone]] = {"passed": "good", "qualified": "look", "blocked": "quiet"}
_REFUTED: Final[dict[bool | None, Tone]] = {True: "bad", False: "good", None: "quiet"}
_SAID: Final = {True: "refuted", False: "not refuted", None: "not measured here"}


@click.command("conformance", epilog=EPILOG)
@click.option(
    "--cases",
    "path",
    type=click.Path(path_type=Path),
    default=None,
    metavar="PATH",
    help="A case file, or a folder of them, in place of the suite.",
)
@as_json_option
def conformance_command(path: Path | None, *, as_json: bool) -> ExitCode:
    """Run the conformance cases under three release rules: flat, source-tag and typed.

    The typed rule is the resolver and the mediator of this program. Prints how much each rule lets through and holds
    back, and what came of every case. Ends with 1 where a case does not come out as it expects. Needs no timeline and
    reads none; docs/spec/conformance.md describes the case files, so that you can run and add your own.

    \b
    Examples:
      timeline conformance
      timeline conformance --json
      timeline conformance --cases my-cases/
    """
    from timeline.reasoning.conformance import load_suite, run_cases

    report = run_cases(load_suite() if path is None else read_cases(path))
    if as_json:
        show(report_answer(report), as_json=True, lines=[])
    else:
        show_tables(report_tables(report))
    return ExitCode.DONE if report.conforms else ExitCode.FAILED


def read_cases(path: Path) -> "tuple[Case, ...]":
    """The case in a file, or those in the ``.json`` files of a folder, by name.

    Raises:
        CaseInvalidError: a file cannot be read or is no case, or a folder has none or too many.
    """
    from timeline.portable import read_portable
    from timeline.reasoning.case import CASE_BYTES_MAX, parse_case
    from timeline.reasoning.errors import CaseInvalidError

    files = [path]
    if path.is_dir():
        files = sorted(path.glob("*.json"))
        if not 1 <= len(files) <= CASES_MAX:
            message = f"{path}: a folder of cases must have 1 to {CASES_MAX} .json files"
            raise CaseInvalidError(message)
    return tuple(
        parse_case(read_portable(file, CASE_BYTES_MAX, CaseInvalidError), str(file)) for file in files
    )


def report_answer(report: "ConformanceReport") -> Json:
    """The report as the command's JSON."""
    return {
        "schema": SCHEMA,
        "conforms": report.conforms,
        "rules": [{"rule": str(rule), **_figures(metrics)} for rule, metrics in report.figures.items()],
        "surfaces": {str(surface): count for surface, count in report.surfaces.items()},
        "cases": [_case_answer(result) for result in report.cases],
        "falsification": [
            {"criterion": one.name, "bound": one.bound, "refuted": one.refuted} for one in report.criteria
        ],
        "authority": AUTHORITY,
    }


def _figures(metrics: "Metrics") -> Json:
    return {
        "uor": _ratio(metrics.unsupported_release),
        "rc": _ratio(metrics.contamination),
        "coverage": _ratio(metrics.coverage),
        "precision": _ratio(metrics.precision),
        "recall": _ratio(metrics.recall),
        "blocked": metrics.blocked,
        "qualified": metrics.qualified,
        "passed": metrics.passed,
    }


def _ratio(ratio: "Ratio | None") -> str:
    return _NOT_APPLICABLE if ratio is None else str(ratio)


def _case_answer(result: "CaseResult") -> Json:
    case = result.case
    return {
        "id": case.id,
        "track": case.track,
        "kind": case.kind,
        "condition": case.condition,
        "check": case.check,
        "roots": list(case.roots),
        "decision": {"status": result.status, "flags": list(result.flags)},
        "refused": result.refused,
        "dispositions": {str(rule): str(disposition) for rule, disposition in result.dispositions.items()},
        "surface": None if result.surface is None else str(result.surface),
        "expected": {
            "status": case.expected.status,
            "flags": sorted(case.expected.flags),
            "disposition": str(case.expected.disposition),
        },
        "differences": list(result.differences),
    }


def report_tables(report: "ConformanceReport") -> list[Table]:
    """The report for a person: the figures of each rule, every case, what each surface holds back, and failure."""
    surfaces = [(Cell(str(surface)), Cell(str(count))) for surface, count in report.surfaces.items()]
    return [
        _rules_table(report),
        _cases_table(report),
        Table("first held back at", ("surface", "candidates"), surfaces),
        _criteria_table(report),
    ]


def _rules_table(report: "ConformanceReport") -> Table:
    columns = ("rule", "UOR", "RC", "coverage", "precision", "recall", "blocked", "qualified", "passed")
    rows = []
    for rule, metrics in report.figures.items():
        ratios = (
            metrics.unsupported_release,
            metrics.contamination,
            metrics.coverage,
            metrics.precision,
            metrics.recall,
        )
        counts = (metrics.blocked, metrics.qualified, metrics.passed)
        rows.append(tuple(map(Cell, (str(rule), *map(_percent, ratios), *map(str, counts)))))
    return Table("release rules", columns, rows)


def _percent(ratio: "Ratio | None") -> str:
    if ratio is None:
        return _NOT_APPLICABLE
    whole, tenth = divmod(ratio.tenths_of_percent, 10)
    return f"{ratio} ({whole}.{tenth}%)"


def _cases_table(report: "ConformanceReport") -> Table:
    from timeline.reasoning.conformance import Rule

    rows = []
    for result in report.cases:
        case, disposition = result.case, result.dispositions[Rule.TYPED]
        decision = " + ".join((result.status, *result.flags))
        ending = f"expected other {', '.join(result.differences)}" if result.differences else case.check
        rows.append(
            (
                Cell(case.id),
                Cell(case.kind),
                Cell(", ".join(case.roots) or "-"),
                Cell(decision),
                Cell(ending, "bad" if result.differences else "plain"),
                Cell(str(disposition), _TONES[disposition]),
            )
        )
    columns = ("case", "type", "roots", "decision", "check", "disposition")
    return Table("cases under typed mediation", columns, rows)


def _criteria_table(report: "ConformanceReport") -> Table:
    rows = [
        (Cell(one.name), Cell(_SAID[one.refuted], _REFUTED[one.refuted]), Cell(one.bound))
        for one in report.criteria
    ]
    return Table("conditions of failure", ("criterion", "", "bound"), rows)
