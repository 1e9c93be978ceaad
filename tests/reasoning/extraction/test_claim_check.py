"""Claims against captured runs, as a table: supported, contradicted, or unknown and why."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.event import Event, EventLine, Flag, Outcome, event_id
from timeline.reasoning.claim_check import RUN_AGE_SECONDS_MAX, Compared, Seen, Standing, check_claims
from timeline.reasoning.claim_telling import CLAIMS_TOLD_MAX, tell_claims
from timeline.reasoning.extraction import Unit, UnitKind, extract

NOW_MS = 1_790_000_000_000
S, C, U = Standing.SUPPORTED, Standing.CONTRADICTED, Standing.UNKNOWN


def run(runner: str = "pytest", outcome: str = "pass", *, ago: int | None = 120, **fields: Any) -> Event:
    """One objective result, so many seconds ago."""
    lines = (EventLine("call", 0, 10, "A" * 43),)
    kind = "check" if runner in {"mypy", "ruff", "tsc", "eslint", "cargo-build", "go-build"} else "test-run"
    return Event(
        id=event_id("s", lines),
        kind=fields.pop("kind", kind),
        lines=lines,
        tool="shell",
        runner=runner,
        binding="direct",
        outcome=Outcome(outcome),
        fingerprint="A" * 22,
        at=None if ago is None else NOW_MS - ago * 1000,
        **fields,
    )


GOOD = run(passed=214, failed=0, total=214)
BAD = run(outcome="fail", passed=212, failed=2, total=214)
SOME = run(passed=12, failed=0, total=12)

TABLE: list[tuple[str, list[Event], Standing]] = [
    ("All 214 tests pass.", [GOOD], S),
    ("All 214 tests pass.", [BAD], C),
    ("All tests pass.", [GOOD], S),
    ("All tests pass.", [BAD], C),
    ("The tests pass.", [run(outcome="error")], C),
    ("214 passed.", [BAD], C),
    ("213 passed.", [GOOD], C),
    ("214/214 tests pass.", [GOOD], S),
    ("214/214 tests pass.", [run(passed=214, skipped=3, total=217)], S),
    ("12 of 14 tests pass.", [run(outcome="fail", passed=12, failed=2, total=14)], S),
    ("12 of 14 tests pass.", [BAD], C),
    ("Most tests pass.", [BAD], U),
    ("214 passed, 3 skipped.", [run(passed=214, skipped=4)], C),
    ("212 passed, 2 failed.", [BAD], S),
    ("212 passed, 2 failed.", [GOOD], C),
    ("3 tests failed.", [BAD], C),
    ("Some tests are still failing.", [BAD], S),
    # the newest run decides
    ("All tests pass.", [BAD, GOOD], C),
    ("All tests pass.", [GOOD, BAD], S),
    ("2 tests failed.", [GOOD, BAD], C),
    # a smaller run that passed leaves the count of an older one standing, a run that failed does not
    ("All 214 tests pass.", [SOME, GOOD], S),
    ("All 214 tests pass.", [SOME, BAD, GOOD], C),
    ("All 214 tests pass.", [SOME], C),
    ("All 214 tests pass.", [SOME, run(passed=214, flags=("partial",))], U),
    ("All 214 tests pass.", [SOME, run(passed=214, flags=("partial",)), GOOD], U),
    ("All 214 tests pass.", [SOME, run(passed=214, ago=RUN_AGE_SECONDS_MAX + 1)], U),
    ("212 of 214 tests pass.", [SOME, BAD], S),
    # what is unclear decides nothing
    *[
        ("All tests pass.", [run(outcome=outcome, flags=flags)], U)
        for outcome, flags in [
            ("pass", ("masked",)),
            ("pass", ("partial",)),
            ("pass", ("truncated",)),
            ("fail", ("conflict",)),
            ("unknown", ()),
            ("timeout", ()),
            ("cancelled", ()),
            ("blocked", ()),
            ("skipped", ()),
        ]
    ],
    ("All tests pass.", [run(outcome="unknown"), GOOD], U),
    ("All tests pass.", [], U),
    ("All tests pass.", [run(ago=None)], U),
    ("All tests pass.", [run(ago=RUN_AGE_SECONDS_MAX)], S),
    ("All tests pass.", [run(ago=RUN_AGE_SECONDS_MAX + 1)], U),
    ("All tests pass.", [run(ago=-60)], S),
    # the program that is named
    ("pytest passes.", [run("jest", outcome="fail"), GOOD], S),
    ("All Jest tests pass.", [GOOD], U),
    ("`cargo test` passes.", [run("nextest")], S),
    ("`npm test` is green.", [run("vitest", outcome="fail")], C),
    ("`make test` passes.", [GOOD], S),
    ("All tests pass.", [run("measured-suite", kind="measurement", label="suite-4", passed=5, total=5)], S),
    ("mypy is clean.", [run("mypy")], S),
    ("mypy is clean.", [run("mypy", outcome="fail")], C),
    ("mypy is clean.", [run("ruff"), GOOD], U),
    ("Lint passes.", [run("ruff")], S),
    ("Lint passes.", [run("ruff"), run("eslint", outcome="fail")], C),
    ("All checks pass.", [run("mypy"), run("ruff", flags=("masked",))], U),
    ("All checks pass.", [run("mypy"), run("mypy", outcome="fail")], S),
    ("All checks pass.", [GOOD, run("cargo-build")], U),
    ("cargo clippy reports no warnings.", [run("cargo-build")], U),
    ("The formatter reports no changes.", [run("ruff")], U),
    ("The build succeeds.", [run("cargo-build")], S),
    ("`cargo build` finishes without warnings.", [run("go-build")], U),
    ("`npm run build` succeeds.", [run("cargo-build")], U),
    ("The build succeeds.", [run("go-build", outcome="fail")], C),
    ("All tests pass.", [run("mypy", outcome="fail")], U),
    # what nothing measures
    ("3 of 5 endpoints are migrated.", [GOOD], U),
    ("Done.", [GOOD], U),
]


def check(text: str, events: list[Event], **fields: Any) -> Compared:
    """The only claim of a text against runs, newest first."""
    (found,) = check_claims(extract(text), Seen(tuple(events), NOW_MS, **fields))
    return found


@pytest.mark.requirement("P36")
@pytest.mark.parametrize(("text", "events", "standing"), TABLE)
def test_a_claim_stands_as_the_runs_say(text: str, events: list[Event], standing: Standing) -> None:
    """And whatever is unknown says why."""
    found = check(text, events)
    assert found.standing is standing
    assert (found.doubt is not None) is (standing is Standing.UNKNOWN)


def test_the_run_that_decided_is_told() -> None:
    """The older one that had the number, else the newest."""
    assert check("All 214 tests pass.", [SOME, GOOD]).run is GOOD
    assert check("All 214 tests pass.", [SOME, BAD, GOOD]).run is SOME
    assert check("All 214 tests pass.", [BAD, GOOD]).run is BAD


@pytest.mark.parametrize("text", sorted({text for text, _, _ in TABLE}))
def test_what_was_not_read_to_its_end_decides_nothing(text: str) -> None:
    """A run that nobody has seen yet might say something else."""
    assert check(text, [GOOD, BAD], is_current=False).standing is Standing.UNKNOWN


@pytest.mark.requirement("W35")
def test_work_is_completed_where_its_task_is() -> None:
    """However the tests went: nothing but the task's state says that work is done."""
    assert check("Done.", [], is_completed=True).standing is Standing.SUPPORTED
    assert check("Done.", [BAD], is_completed=True).standing is Standing.SUPPORTED
    assert check("Done.", [GOOD]).standing is Standing.UNKNOWN


RUNS = st.builds(
    run,
    runner=st.sampled_from(["pytest", "jest", "mypy", "cargo-build"]),
    outcome=st.sampled_from(list(Outcome)),
    ago=st.none() | st.integers(-100, 200_000),
    passed=st.none() | st.integers(0, 3),
    failed=st.none() | st.integers(0, 3),
    total=st.none() | st.integers(0, 3),
    flags=st.sampled_from([(), ("masked",), ("partial",), ("truncated",)]),
)
COUNTS = st.none() | st.integers(0, 3)
UNITS = st.builds(
    Unit,
    kind=st.sampled_from(list(UnitKind)),
    start=st.just(0),
    end=st.just(1),
    passed=COUNTS,
    failed=COUNTS,
    part=st.none(),
    total=COUNTS,
    scope=st.sampled_from([None, "pytest", "jest", "mypy", "lint", "cargo", "make"]),
    extent=st.sampled_from([None, "all", "partial"]),
)


@given(unit=UNITS, events=st.lists(RUNS, max_size=4), add=RUNS)
def test_an_unclear_run_never_decides(unit: Unit, events: list[Event], add: Event) -> None:
    """Whoever decides is a clear, recent run of those that were seen; and without any there is no standing."""
    seen = Seen((*events, add), NOW_MS)
    (found,) = check_claims([unit], seen)
    if found.standing is not Standing.UNKNOWN and unit.kind is not UnitKind.COMPLETED:
        assert found.run in seen.events
        assert found.run is not None
        assert not found.run.flags
        assert found.run.outcome in {Outcome.PASS, Outcome.FAIL, Outcome.ERROR}
        if unit.kind is not UnitKind.TESTS_FAILED and found.standing is S and unit.extent != "partial":
            assert found.run.outcome is Outcome.PASS
    (alone,) = check_claims([unit], Seen((), NOW_MS))
    assert alone.standing is Standing.UNKNOWN


# -- what the user reads ---------------------------------------------------------------------------------------


@pytest.mark.requirement("P36")
def test_the_user_is_told_counts_and_age_and_no_word_of_the_message() -> None:
    """The worst first."""
    text = "Done. I fixed `secret_name`. All 214 tests pass and mypy is clean."
    told = tell_claims(check_claims(extract(text), Seen((BAD, run("mypy", ago=7200)), NOW_MS)), NOW_MS)
    assert told.split("\n")[1:] == [
        "- contradicted: tests passed [all, 214 passed] (pytest: fail, 212 passed, 2 failed, 2 min ago)",
        "- unknown: the work is completed (no captured evidence)",
        "- supported: a check passed [mypy] (mypy: pass, 2 h ago)",
    ]
    assert "secret" not in told


def test_more_claims_than_are_told_are_counted() -> None:
    """And nothing is said of a message without a claim."""
    units = [
        Unit(kind=UnitKind.TESTS_PASSED, start=n, end=n + 1, passed=n) for n in range(CLAIMS_TOLD_MAX + 3)
    ]
    told = tell_claims(check_claims(units, Seen((), NOW_MS)), NOW_MS).split("\n")
    assert len(told) == 1 + CLAIMS_TOLD_MAX + 1
    assert told[-1] == "- 3 more"
    assert tell_claims((), NOW_MS) == ""


@given(unit=UNITS, events=st.lists(RUNS, max_size=3))
def test_what_is_told_is_one_line_of_known_words(unit: Unit, events: list[Event]) -> None:
    """Whatever was claimed and seen."""
    told = tell_claims(check_claims([unit], Seen(tuple(events), NOW_MS)), NOW_MS)
    assert told.isprintable() or told.count("\n") == 1
    assert "None" not in told


def test_a_flag_of_any_kind_makes_a_run_unclear() -> None:
    """Each of them."""
    for flag in get_args(Flag):
        assert check("All tests pass.", [msgspec.structs.replace(GOOD, flags=(flag,))]).doubt == "unclear"
