"""Verification: what it looked at, what it found, and what it says it did not check."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from msgspec import structs

from adapters.objective import Objective
from adapters.record import ToolResult
from tests.simulators.worlds import SEGMENT_BYTES, World, contents, rollout_of
from tests.timeline.cases import SECRET, Case, enroll_rollout, enroll_session
from timeline import answers, events, service
from timeline.assurance import UNSEEN_ALONE
from timeline.limits import PREFIX_BYTES_MAX
from timeline.search import Status
from timeline.source import OpenSource
from timeline.verify import NOT_CHECKED, NOT_CHECKED_SHALLOW, Report


def verify(case: Case, *, deep: bool = False) -> Report:
    """Verify a case's timeline."""
    return service.verify_timeline(case.session, deep=deep)


def reasons(report: Report) -> set[str | None]:
    """Give the reasons of all refused checks."""
    return {check.reason for check in report.checks if not check.ok}


def sql(case: Case, statement: str, *values: object) -> None:
    """Change the database by hand."""
    with closing(sqlite3.connect(case.world.locations.database)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.requirement("D8")
def test_a_report_names_what_was_checked_and_what_was_not(indexed: Case) -> None:
    """The same log in both depths; a shallow run says that transcripts and rows were not compared."""
    shallow, deep = verify(indexed), verify(indexed, deep=True)
    assert (shallow.verdict, shallow.level, shallow.size) == ("ok", "L1", 4)
    assert (shallow.root, shallow.origin) == (deep.root, deep.origin)
    assert [check.name for check in shallow.checks] == [
        "keys, head, anchor, log",
        "database structure",
        "assertions",
        "register",
        "sidecars",
    ]
    assert [check.name for check in deep.checks] == [
        *(check.name for check in shallow.checks),
        "projections",
        f"transcript of {indexed.ref}",
    ]
    assert deep.checks[-1].detail == "6 events derived again from the same bytes"
    assert shallow.not_checked == [*UNSEEN_ALONE, *NOT_CHECKED, *NOT_CHECKED_SHALLOW]
    assert deep.not_checked == [*UNSEEN_ALONE, *NOT_CHECKED]


@pytest.mark.requirement("D8", "T65")
def test_no_report_claims_what_this_machine_cannot_know(indexed: Case) -> None:
    """Whatever it finds: a complete restore, freshness and the same user stay on the list."""
    indexed.world.locations.head.unlink()
    for report in (verify(indexed), verify(indexed, deep=True)):
        assert report.verdict == "refused"
        text = " ".join(report.not_checked)
        assert "complete restoration" in text
        assert "freshness" in text
        assert "the same user" in text


@pytest.mark.requirement("T14")
@pytest.mark.parametrize("deep", [False, True])
def test_verifying_changes_nothing(indexed: Case, *, deep: bool) -> None:
    """Not a byte of state, trust, configuration or transcript."""
    before = contents(indexed.world.folder)
    times = indexed.path.stat()
    verify(indexed, deep=deep)
    assert contents(indexed.world.folder) == before
    assert indexed.path.stat().st_mtime_ns == times.st_mtime_ns


def test_a_simulated_host_is_named_in_every_report(indexed: Case) -> None:
    """A demonstration is never taken for evidence."""
    assert verify(indexed).simulated_host
    assert answers.report_answer(verify(indexed))["simulatedHost"] is True


PLANTED = {
    "an event row less": "DELETE FROM event WHERE pos = (SELECT max(pos) FROM event)",
    "an event row more": (
        "INSERT INTO event SELECT source, pos + 1, id64, at, mask, label, passed, failed, total, segment, start, "
        "length FROM event LIMIT 1"
    ),
    "another time": "UPDATE event SET at = at + 1 WHERE pos = (SELECT max(pos) FROM event)",
    "another mask": "UPDATE event SET mask = mask | 1 << 9 WHERE pos = (SELECT max(pos) FROM event)",
    "another count": "UPDATE event SET passed = passed + 1",
    "another total": "UPDATE event SET total = NULL",
    "another segment": "UPDATE event SET segment = segment + 1",
    "another place in the sidecar": "UPDATE event SET start = start + 1",
    "another length": "UPDATE event SET length = length + 1",
    "another id": "UPDATE event SET id64 = id64 + 1",
    "a pair less": "DELETE FROM pair WHERE a = (SELECT max(a) FROM pair)",
    "a number beside other terms": "UPDATE number SET mask = 0",
    "a number beside other numbers": "UPDATE number SET near = zeroblob(32)",
    "another newest event of a pair": "UPDATE pair SET newest = newest + 1",
    "another count of a pair": "UPDATE pair SET n = n + 1",
    "all pairs gone": "DELETE FROM pair",
    "a number less": "DELETE FROM number WHERE value = (SELECT max(value) FROM number)",
    "a number more": "INSERT INTO number SELECT 987654, source, mask, near FROM number LIMIT 1",
    "rows of a source that is not": (
        "INSERT INTO event SELECT source + 50, pos, id64, at, mask, label, passed, failed, total, segment, start, "
        "length FROM event LIMIT 1"
    ),
    "a number of a source that is not": "INSERT INTO number SELECT 1, 77, mask, near FROM number LIMIT 1",
    "another vocabulary": "UPDATE setting SET value = x'00' WHERE key = 1",
    "no vocabulary": "DELETE FROM setting",
}


@pytest.mark.requirement("X14", "T67")
@pytest.mark.parametrize("name", PLANTED)
def test_a_deep_run_finds_each_planted_difference(indexed: Case, name: str) -> None:
    """Every column of every projection is compared with the sidecars; indexing mends what can be rebuilt."""
    sql(indexed, PLANTED[name])
    report = verify(indexed, deep=True)
    assert (report.verdict, reasons(report)) == ("refused", {"index-unverified"})
    assert [check.name for check in report.checks if not check.ok] == ["projections"]


@pytest.mark.parametrize("name", [name for name in PLANTED if "source that is not" not in name])
def test_indexing_builds_a_planted_difference_again(indexed: Case, name: str) -> None:
    """The sidecars give back what was changed in the rows."""
    sql(indexed, PLANTED[name])
    assert indexed.index().events == 3
    assert verify(indexed, deep=True).verdict == "ok"


@pytest.mark.requirement("T3", "T67")
def test_each_sidecar_is_named_that_is_not_what_its_leaf_states(enrolled: Case) -> None:
    """Missing, changed, exchanged: the check bears the file's name."""
    other = enroll_session(enrolled.world, seed=4)
    enrolled.index()
    other.index()
    folder = enrolled.world.locations.sidecars
    one, two = sorted(folder.iterdir())
    content = one.read_bytes()
    for change in (
        lambda: one.write_bytes(content[:-2] + b"!\n"),
        lambda: one.write_bytes(two.read_bytes()),
        one.unlink,
    ):
        change()
        report = verify(enrolled)
        assert report.verdict == "refused"
        assert f"sidecar {one.name}" in {check.name for check in report.checks if not check.ok}
        one.write_bytes(content)
        one.chmod(0o600)
    assert verify(enrolled).verdict == "ok"


def test_files_that_no_leaf_needs_are_counted_and_ignored(indexed: Case) -> None:
    """A stranger's file changes no verdict."""
    (indexed.world.locations.sidecars / "notes").write_bytes(b"")
    (check,) = [check for check in verify(indexed).checks if check.name == "sidecars"]
    assert check.ok
    assert "1 files that no leaf needs are ignored" in check.detail


@pytest.mark.requirement("T13", "T69")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda case: case.path.unlink(), "transcript-missing"),
        (lambda case: shutil.rmtree(case.path.parent), "transcript-missing"),
        (lambda case: os.utime(case.path, ns=(1, 1)), "stale (transcript-snapshot-renewal-required)"),
        (lambda case: case.path.write_bytes(b""), "stale (transcript-snapshot-renewal-required)"),
    ],
)
def test_a_transcript_that_is_gone_or_went_on_is_not_checked_and_not_a_fault(
    indexed: Case, change: Callable[[Case], object], said: str
) -> None:
    """The host may do as it likes with its file; the report says what could not be compared."""
    change(indexed)
    report = verify(indexed, deep=True)
    assert report.verdict == "ok"
    assert f"transcript of {indexed.ref}: {said}" in report.not_checked


@pytest.mark.requirement("T22", "T28")
def test_an_event_that_reads_differently_now_is_refused(
    indexed: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed recogniser: the deep run says so, a search drops the card and says so."""
    real = events.decide_objective

    def stricter(result: ToolResult) -> Objective | None:
        found = real(result)
        return None if found is not None and found.failed else found

    monkeypatch.setattr(events, "decide_objective", stricter)
    report = verify(indexed, deep=True)
    assert (report.verdict, reasons(report)) == ("refused", {"index-unverified"})
    answer = indexed.terms("test-run", "pytest")
    assert [card.event.failed for card in answer.cards] == [0, 0]
    assert answer.reread == 1
    nothing = indexed.terms("pytest", "failed")
    assert (nothing.status, nothing.reason) == (Status.UNAVAILABLE, "event-read-differently")


@pytest.mark.requirement("T22", "T28")
@pytest.mark.parametrize("field", ["passed", "failed", "exit_code", "duration_ms"])
def test_an_event_that_reads_in_one_field_differently_gives_no_card(
    indexed: Case, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """Each field of a card is that of the lines as they are read today."""
    real = events.decide_objective

    def other(result: ToolResult) -> Objective | None:
        found = real(result)
        value = None if found is None else getattr(found, field)
        return found if found is None or value is None else structs.replace(found, **{field: value + 1})

    monkeypatch.setattr(events, "decide_objective", other)
    answer = indexed.terms("pytest", "failed")
    assert (answer.status, answer.cards, answer.reread) == (Status.UNAVAILABLE, (), 1)
    assert reasons(verify(indexed, deep=True)) == {"index-unverified"}


@pytest.mark.requirement("T1", "T13")
def test_bytes_between_the_events_are_compared_too(indexed: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digests of all chunks: whoever can forge the file's times still cannot change its prose unseen."""
    real = OpenSource.read

    def forged(self: OpenSource, offset: int, length: int) -> bytes:
        content = real(self, offset, length)
        if length == PREFIX_BYTES_MAX:  # the re-check of the first bytes at each opening
            return content
        return content.replace(b"99 passed", b"98 passed")

    monkeypatch.setattr(OpenSource, "read", forged)
    assert indexed.terms("pytest", "failed").cards  # no card rests on the old log
    report = verify(indexed, deep=True)
    assert (report.verdict, reasons(report)) == ("refused", {"index-unverified"})


def test_progress_is_told_for_each_transcript(indexed: Case) -> None:
    """Long work says how far it is."""
    enroll_session(indexed.world, seed=3).index()
    told: list[tuple[int, int]] = []
    service.verify_timeline(indexed.session, deep=True, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.requirement("T2", "T4", "T35")
def test_a_secret_of_the_conversation_is_in_no_file_answer_error_or_report(
    world: World,
) -> None:
    """Planted in the prompt, the answer, commands, outputs, a tool's name, a role and a torn line; found nowhere.

    Names of record types are shown: bounded names of the host's format, in which no prose fits.
    """
    rollout = rollout_of(world, runs=1)
    rollout.start_turn()
    rollout.prompt(f"use {SECRET}")
    rollout.command(f"TOKEN={SECRET} pytest -q -k {SECRET}", f"{SECRET}\n== 5 passed in 0.10s ==\n", 0)
    rollout.command(f"cat {SECRET}", f"{SECRET}\n== 9 passed in 0.10s ==\n", 0)
    rollout.call("exec_command", {"cmd": SECRET, "workdir": SECRET})
    rollout.call(SECRET, {"cmd": SECRET})
    rollout.end_turn(f"{SECRET}: all 77 passed")
    rollout.write("response_item", {"type": "message", "role": SECRET, "content": [{"type": SECRET}]})
    rollout.lines.append(f'{{"timestamp":"{SECRET}'.encode())
    case = enroll_rollout(world, rollout)
    result = case.index(max_bytes=SEGMENT_BYTES)
    assert result.events == 2
    said = [repr(answers.index_answer(result)), repr(answers.report_answer(verify(case, deep=True)))]
    said.append(case.all_answers().decode())
    said += [repr(answers.source_answer(status)) for status in service.list_sources(case.session, None)]
    for change in (lambda: os.utime(case.path, ns=(1, 1)), case.path.unlink):
        change()
        said.append(case.all_answers().decode())
    assert [text for text in said if SECRET in text] == []
    kept = {path: content for path, content in contents(world.folder).items() if not path.startswith("home/")}
    assert {path for path, content in kept.items() if SECRET.encode() in content} == set()
    for path in (world.folder / "state").iterdir():  # what SQLite keeps beside its database too
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
