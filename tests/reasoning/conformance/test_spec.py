"""docs/spec/conformance.md: its example is a case of the suite, and its tables name every field and every figure."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from timeline.reasoning import case as schema
from timeline.reasoning.case import flip_case, parse_case
from timeline.reasoning.conformance import Rule, case_content, load_suite, run_case, run_cases
from timeline.reasoning.metrics import Disposition

PAGE = (Path(__file__).parents[3] / "docs" / "spec" / "conformance.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text below one heading, up to the next of its level."""
    level = title.partition(" ")[0]
    found = re.search(
        rf"^{re.escape(title)}\n(.*?)(?=^#{{2,{len(level)}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
    assert found is not None, title
    return found[1]


def test_the_example_is_the_packaged_case_and_comes_out_as_told() -> None:
    """Byte for byte; withheld from this reader, and passed to the clinic."""
    found = re.search(r"```case\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    content = found[1].encode()
    assert content == case_content("scope_01")
    result = run_case(parse_case(content, "scope_01.json"))
    assert (result.status, result.flags) == ("unknown", ("withheld",))
    assert result.dispositions[Rule.TYPED] is Disposition.BLOCKED
    flipped = flip_case(content, "scope_01.json")
    assert flipped.reader.principal == "group:clinic"
    assert run_case(flipped).dispositions[Rule.TYPED] is Disposition.PASSED


@pytest.mark.parametrize(
    ("title", "kinds", "prefix"),
    [
        ("## File", [schema.Case], ""),
        ("### Policy", [schema.CasePolicy], ""),
        ("### Evidence and claims", [schema.Evidence, schema.Claim, schema.Statement, schema.Audience], ""),
        ("### Question, reader, candidate, heads", [schema.Question], "query."),
        ("### Question, reader, candidate, heads", [schema.Reader], "reader."),
        ("### Question, reader, candidate, heads", [schema.Candidate], "candidate."),
        ("### Question, reader, candidate, heads", [schema.Heads], "heads."),
        ("### Expected and flip", [schema.Expected], "expected."),
        ("### Expected and flip", [schema.Flip], "flip."),
    ],
)
def test_every_field_is_in_the_page(title: str, kinds: list[type[msgspec.Struct]], prefix: str) -> None:
    """In the table of its object."""
    text = section(title)
    missing = [
        f"{prefix}{name}"
        for kind in kinds
        for name in kind.__struct_fields__
        if f"`{prefix}{name}`" not in text
    ]
    assert missing == []


@pytest.mark.requirement("P44")
def test_the_tables_of_the_page_are_what_the_suite_gives() -> None:
    """Figures, surfaces and every case."""
    report = run_cases(load_suite())
    for rule, metrics in report.figures.items():
        ratios = [
            metrics.unsupported_release,
            metrics.contamination,
            metrics.coverage,
            metrics.precision,
            metrics.recall,
        ]
        row = " | ".join("N/A" if ratio is None else str(ratio) for ratio in ratios)
        assert f"| {rule} | {row} |" in section("## Figures")
    admission, projection, mediation = report.surfaces.values()
    assert f"Of the suite these are {admission}, {projection} and {mediation}" in section("### Surfaces")
    rows = re.findall(
        r"^\| `(\w+)` \| (\w+) \| .* \| ([\w +]+) \| (\w+) \|$", section("## The suite"), re.MULTILINE
    )
    assert rows == [
        (
            one.case.id,
            one.case.track,
            " + ".join((one.status, *one.flags)),
            str(one.dispositions[Rule.TYPED]),
        )
        for one in report.cases
    ]


@pytest.mark.requirement("P51")
def test_the_conditions_of_failure_are_declared_with_their_bounds() -> None:
    """Each criterion of a report stands in the page."""
    declared = section("### Conditions of failure")
    for one in run_cases(load_suite()).criteria:
        assert f"| `{one.name}` |" in declared
        if one.refuted is not None:
            assert one.bound in declared


def test_packaged_cases_are_written_as_people_read_them() -> None:
    """Fields in the order of the page, so that two cases can be compared line by line."""
    order = list(schema.Case.__struct_fields__)
    for case in load_suite():
        names = list(json.loads(case_content(case.id)))
        assert names == sorted(names, key=order.index)
