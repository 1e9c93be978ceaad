"""The 24 cases: each decided as the paper's table 5 says, and the figures of table 4 exactly (P43, P44)."""

from collections import Counter

import pytest

from timeline.reasoning.case import flip_case, parse_case
from timeline.reasoning.conformance import (
    CASE_IDS,
    ConformanceReport,
    Rule,
    Surface,
    case_content,
    load_suite,
    run_case,
    run_cases,
)
from timeline.reasoning.metrics import Disposition, Ratio

TABLE_5 = {
    "poison_01": ("unsafe", "unknown", "", "blocked"),
    "poison_02": ("unsafe", "unknown", "", "blocked"),
    "poison_03": ("unsafe", "unknown", "", "blocked"),
    "poison_04": ("unsafe", "unknown", "", "blocked"),
    "dup_01": ("unsafe", "unknown", "", "blocked"),
    "dup_02": ("unsafe", "unknown", "", "blocked"),
    "dup_03": ("unsafe", "unknown", "", "blocked"),
    "supported_01": ("control", "supported", "", "passed"),
    "scope_01": ("unsafe", "unknown", "withheld", "blocked"),
    "scope_02": ("unsafe", "unknown", "withheld", "blocked"),
    "scope_03": ("unsafe", "unavailable", "", "blocked"),
    "supported_02": ("control", "supported", "", "passed"),
    "time_01": ("unsafe", "unknown", "stale", "blocked"),
    "time_02": ("unsafe", "unknown", "stale", "blocked"),
    "time_03": ("unsafe", "unknown", "stale", "blocked"),
    "supported_03": ("control", "supported", "", "passed"),
    "conflict_01": ("unsafe", "supported", "conflicted", "qualified"),
    "conflict_02": ("unsafe", "supported", "conflicted", "qualified"),
    "invalidation_01": ("unsafe", "unknown", "", "blocked"),
    "invalidation_02": ("control", "supported", "", "passed"),
    "correction_01": ("unsafe", "supported", "", "blocked"),
    "correction_02": ("unsafe", "supported", "", "blocked"),
    "correction_03": ("control", "supported", "", "passed"),
    "head_race_01": ("unsafe", "supported", "", "blocked"),
}
"""Kind, status, flag and disposition, as printed."""

ROOTS = {
    "poison_01": [],
    "poison_02": ["untrusted_web_page"],
    "poison_03": ["sim_sandbox_log"],
    "poison_04": ["unverified_llm_hallucination"],
    "dup_01": ["root_chat_session_A"],
    "dup_02": ["root_session_single"],
    "supported_01": ["supported_root_a", "supported_root_b"],
    "scope_01": ["private_intake"],
    "scope_02": ["payroll_root_1", "payroll_root_2"],
    "scope_03": ["erased_device_vault"],
    "supported_02": ["org_root_a", "org_root_b"],
    "time_01": ["time_root_1", "time_root_2"],
    "time_02": ["promo_root_1", "promo_root_2"],
    "time_03": ["order_root_a", "order_root_b"],
    "supported_03": ["tz_root_a", "tz_root_b"],
    "conflict_01": ["city_root_1", "city_root_2", "city_root_3", "city_root_4"],
    "conflict_02": ["r1", "r2", "r3", "r4", "r5", "r6"],
    "invalidation_01": ["revoked_cert_root_1", "revoked_cert_root_2"],
    "invalidation_02": ["fido2_root_valid_a", "sms_root_invalidated", "smtp_root_valid_b"],
    "correction_01": ["lang_root_new_a", "lang_root_new_b", "lang_root_old_a", "lang_root_old_b"],
    "correction_02": ["r_th1a", "r_th1b", "r_th2a", "r_th2b", "r_th3a", "r_th3b"],
    "correction_03": ["r_th1a", "r_th1b", "r_th2a", "r_th2b", "r_th3a", "r_th3b"],
    "head_race_01": ["k8s_root_a", "k8s_root_b"],
}
"""The fixture's roots as printed; of dup_03 only the shared one is."""

REFUSED = {
    "poison_03": {"sim_sandbox_log": "origin-not-checked"},
    "poison_04": {"summary": "promotion-rule-missing"},
}
"""The only records of the suite that no graph takes; every other case is decided by what was admitted."""


@pytest.fixture(scope="module")
def report() -> ConformanceReport:
    """The suite, run once."""
    return run_cases(load_suite())


@pytest.mark.requirement("P19", "P44")
def test_the_suite_has_the_cases_of_the_table_in_its_order() -> None:
    """24 cases in six tracks of four; 19 unsafe and five controls."""
    suite = load_suite()
    assert [case.id for case in suite] == list(TABLE_5) == list(CASE_IDS)
    assert [case.kind for case in suite] == [row[0] for row in TABLE_5.values()]
    tracks = Counter(case.track for case in suite)
    assert set(tracks.values()) == {4}
    assert list(tracks) == ["poisoning", "duplication", "scope", "time", "conflict", "correction"]


@pytest.mark.requirement("P19", "P36", "P39")
@pytest.mark.parametrize("case_id", CASE_IDS)
def test_each_case_is_decided_as_the_table_says(case_id: str) -> None:
    """By the real resolver and mediator: status, flags and disposition, and what was refused admission."""
    result = run_case(parse_case(case_content(case_id), case_id))
    _, status, flag, disposition = TABLE_5[case_id]
    assert (result.status, result.flags) == (status, (flag,) if flag else ())
    assert result.dispositions[Rule.TYPED] == disposition
    assert result.differences == ()
    assert result.refused == REFUSED.get(case_id, {})


@pytest.mark.parametrize("case_id", CASE_IDS)
def test_each_case_has_the_roots_of_the_table(case_id: str) -> None:
    """So that whoever compares suites finds the same names."""
    roots = parse_case(case_content(case_id), case_id).roots
    if case_id == "dup_03":
        assert "shared_root_omega" in roots
    else:
        assert sorted(roots) == ROOTS[case_id]


@pytest.mark.requirement("P36", "P39")
@pytest.mark.parametrize("case_id", CASE_IDS)
def test_the_deciding_attribute_decides(case_id: str) -> None:
    """Flip that one attribute, and the disposition is another: the one that the case names."""
    flipped = flip_case(case_content(case_id), case_id)
    result = run_case(flipped)
    assert result.dispositions[Rule.TYPED] == flipped.expected.disposition
    assert str(flipped.expected.disposition) != TABLE_5[case_id][3]


@pytest.mark.requirement("P44")
def test_the_figures_are_those_of_the_papers_table(report: ConformanceReport) -> None:
    """All three rules, every ratio and every count."""
    figures = {
        rule: (
            metrics.unsupported_release,
            metrics.contamination,
            metrics.coverage,
            metrics.precision,
            metrics.recall,
            (metrics.blocked, metrics.qualified, metrics.passed),
        )
        for rule, metrics in report.figures.items()
    }
    assert figures == {
        Rule.FLAT: (Ratio(19, 19), Ratio(19, 24), Ratio(5, 5), None, Ratio(0, 19), (0, 0, 24)),
        Rule.SOURCE_TAG: (Ratio(18, 19), Ratio(18, 23), Ratio(5, 5), Ratio(1, 1), Ratio(1, 19), (1, 0, 23)),
        Rule.TYPED: (Ratio(0, 19), Ratio(0, 7), Ratio(5, 5), Ratio(19, 19), Ratio(19, 19), (17, 2, 5)),
    }
    assert report.conforms


@pytest.mark.requirement("P44")
def test_a_source_tag_stops_only_what_has_none(report: ConformanceReport) -> None:
    """The one case without any evidence."""
    stopped = [
        one.case.id for one in report.cases if one.dispositions[Rule.SOURCE_TAG] is Disposition.BLOCKED
    ]
    assert stopped == ["poison_01"]
    assert {one.dispositions[Rule.FLAT] for one in report.cases} == {Disposition.PASSED}


@pytest.mark.requirement("P43")
def test_what_each_surface_holds_back_is_told_apart(report: ConformanceReport) -> None:
    """Admission and projection stop five; the rest is stored and visible, and only mediation stops it."""
    first = {surface: {one.case.id for one in report.cases if one.surface is surface} for surface in Surface}
    assert first[Surface.ADMISSION] == {"poison_01", "poison_03", "poison_04"}
    assert first[Surface.PROJECTION] == {"scope_01", "scope_02"}
    assert report.surfaces == {Surface.ADMISSION: 3, Surface.PROJECTION: 2, Surface.MEDIATION: 14}
    assert {one.case.id for one in report.cases if one.surface is None} == {
        one.case.id for one in report.cases if one.case.kind == "control"
    }


@pytest.mark.requirement("P51")
def test_the_conditions_of_failure_are_computed() -> None:
    """Two of the three; the third is measured on sentences."""
    report = run_cases(load_suite())
    assert [(one.name, one.refuted, one.bound) for one in report.criteria] == [
        ("extraction-misses", None, "measured on sentences, not on cases"),
        ("coverage-loss", False, "every control is released"),
        ("simpler-rule-as-good", False, "each simpler rule lets more through, or covers less"),
    ]
