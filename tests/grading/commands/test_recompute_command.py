"""``timeline world recompute``: the same inputs give the same run, each is kept, and each can be checked."""

import msgspec
import pytest

from sidecars.graded import CredibilityEntry
from sidecars.leaf import Kind
from tests.forgetting.lives import forget
from tests.grading.commands.works import Librarian, head, line
from tests.simulators.worlds import refusal_of
from tests.world.commands.speaking import Owner
from timeline import grading_use
from timeline.forget_use import Named
from timeline.grading.recompute import format_run
from timeline.registered import read_register

DAY = 86_400_000


@pytest.fixture
def library(library: Librarian) -> Librarian:
    """Give an owner who has taken in two works that agree and one that differs."""
    library.takes_in(head("lives"), line("lives"))
    library.takes_in(head("letters"), line("letters"))
    library.takes_in(head("gossip"), line("gossip", 1816))
    return library


def runs(library: Librarian) -> list[CredibilityEntry]:
    """The parts that the log holds, in its order."""
    with library.owner.stage.world.session.reading() as state:
        found = (one.body for one in read_register(state, Kind.CREDIBILITY))
        return [body for body in found if isinstance(body, CredibilityEntry)]


def test_a_dry_run_records_nothing(owner: Owner, library: Librarian) -> None:
    """It gives what would be recorded."""
    before = owner.stage.leaves()
    dry = library.recomputes("--dry-run")
    assert (dry["recorded"], owner.stage.leaves()) == (False, before)
    ran = library.recomputes()
    assert (ran["recorded"], owner.stage.leaves()) == (True, before + 1)
    assert ran["rows"] == dry["rows"]
    assert ran["changesFound"] == len(ran["rows"]) == len(ran["changes"])


@pytest.mark.requirement("G7", "G13")
def test_nothing_new_is_not_recorded_again(owner: Owner, library: Librarian) -> None:
    """The same claims at the same age give the same rows; a day later ages are others, and the older run stays."""
    ran = library.recomputes()
    before = owner.stage.leaves()
    again = library.recomputes()
    assert (again["recorded"], again["run"], again["changes"]) == (False, ran["run"], [])
    assert owner.stage.leaves() == before
    owner.stage.world.clock.at_ms += DAY
    later = library.recomputes()
    assert (later["recorded"], later["previous"]) == (True, ran["run"])
    assert later["rows"] != ran["rows"]
    assert [one.run for one in runs(library)] == [ran["run"], later["run"]]
    found = owner.says("world", "recompute", "--history", "person:editor-lives")
    (scores,) = [one["scores"] for one in found["domains"] if one["domain"] == "biography"]
    assert [one["score"] for one in scores] == [
        row["score"]
        for rows in (ran["rows"], later["rows"])
        for row in rows
        if (row["entity"], row["domain"]) == ("person:editor-lives", "biography")
    ]


@pytest.mark.requirement("G13")
def test_how_long_a_claim_has_stood_is_recorded(library: Librarian) -> None:
    """With each run, and without a part in the score."""
    rows = {row["entity"]: row for row in library.recomputes()["rows"] if row["domain"] == "biography"}
    assert {row["stoodDays"] for row in rows.values()} == {0}
    library.takes_in(head("diary"), line("diary", 12, subject="person:bo"))
    library.takes_in(head("notes"), line("notes", 12, subject="person:bo"))
    rows = {row["entity"]: row for row in library.recomputes()["rows"] if row["domain"] == "biography"}
    assert rows["person:editor-diary"]["stoodDays"] == 80


@pytest.mark.requirement("G13")
def test_a_run_is_computed_again(owner: Owner, library: Librarian) -> None:
    """From the leaves that it read, however many came since; both versions, and one that says what they do not give."""
    first = library.recomputes()
    second = library.recomputes("--version", "2")
    assert (second["computationVersion"], second["previous"]) == (2, None)
    library.takes_in(head("more"), line("more"))
    library.recomputes()
    for run in (first, second):
        audited = owner.says("world", "recompute", "--audit", run["run"])
        assert (audited["same"], audited["inputsThere"]) == (True, True)
    false = msgspec.structs.replace(runs(library)[0], run="run:false", rows=())
    with owner.stage.world.session.writing() as state:
        state.commit([false])
    code, out, _ = owner.types("world", "recompute", "--audit", "run:false")
    assert (code, out) == (1, "run:false: the same claims give other rows\n")
    assert owner.refused("world", "recompute", "--audit", "run:none") == "grading-unknown"


@pytest.mark.requirement("G14")
def test_version_2_is_used_by_no_grade(library: Librarian) -> None:
    """It is recorded beside the first, and compared with its own."""
    first = library.recomputes()
    library.recomputes("--version", "2")
    graded = library.grade("claim:lives")
    assert (graded["run"], graded["runOutdated"]) == (first["run"], False)


@pytest.mark.requirement("G13")
def test_a_run_of_many_parts_is_whole_or_none(
    owner: Owner, library: Librarian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was interrupted between two commits is used by nobody; the next one is."""
    monkeypatch.setattr("timeline.grading.recompute.ROWS_MAX", 2)
    monkeypatch.setattr(grading_use, "BATCH_SIZE_MAX", 1)
    dry = library.recomputes("--dry-run")
    with owner.stage.world.session.writing() as state:
        run = grading_use._compute(state, 1, is_dry=True).run
        state.commit(format_run(run, "run:half", state.belief.size, None)[:1])
    assert library.grade("claim:lives")["run"] is None
    whole = library.recomputes()
    assert len([one for one in runs(library) if one.run == whole["run"]]) == (len(dry["rows"]) + 1) // 2
    assert library.grade("claim:lives")["run"] == whole["run"]
    assert (
        refusal_of(lambda: grading_use.audit_run(owner.stage.world.session, "run:half"))
        == "grading-run-incomplete"
    )


def test_anomalies_are_told(owner: Owner, library: Librarian) -> None:
    """And change no score."""
    library.takes_in(
        head("flood", root="root:flood"), *(line(f"f{number}", 1, subject="person:bo") for number in range(8))
    )
    found = library.recomputes()["anomalies"]
    assert [(one["kind"], one["about"], one["count"]) for one in found] == [
        ("one-root-flood", "root:flood", 8)
    ]
    _, out, _ = owner.types("world", "recompute", "--dry-run")
    assert "one-root-flood" in out
    assert "no score changes because of them" in out


def test_it_is_told_for_a_person(owner: Owner, library: Librarian) -> None:
    """What changes, the history, and one thing at a time."""
    _, out, _ = owner.types("world", "recompute")
    assert "version 1, claims: 3, credentials: 0, rows: 6" in out
    assert "person:editor-gossip" in out
    _, out, _ = owner.types("world", "recompute")
    assert "no score changes" in out
    _, out, _ = owner.types("world", "recompute", "--history", "person:editor-gossip")
    assert "biography" in out
    _, out, _ = owner.types("world", "recompute", "--history", "person:nobody")
    assert "none was ever computed" in out
    assert owner.refused("world", "recompute", "--history", "person:x", "--dry-run") == "usage"


def due(library: Librarian) -> bool:
    """Whether a computation that nobody asked for was made."""
    return grading_use.compute_if_due(library.owner.stage.world.session) is not None


@pytest.mark.requirement("G13")
def test_it_is_due_once_a_day_where_claims_have_changed(
    owner: Owner, library: Librarian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not without news, not within the day, and not for more claims than a hook can wait for."""
    clock = owner.stage.world.clock
    assert due(library)
    assert len(runs(library)) == 1
    assert not due(library)
    clock.at_ms += 2 * DAY
    assert not due(library)
    library.takes_in(head("more"), line("more"))
    assert due(library)
    library.takes_in(head("again"), line("again"))
    assert not due(library)
    clock.at_ms += DAY
    monkeypatch.setattr(grading_use, "DUE_LEAVES_MAX", 4)
    assert not due(library)
    monkeypatch.undo()
    assert grading_use.DUE_LEAVES_MAX == 32


@pytest.mark.requirement("G13")
def test_a_credential_makes_it_due(owner: Owner) -> None:
    """And a timeline without claims and credentials never is."""
    session = owner.stage.world.session
    assert grading_use.compute_if_due(session) is None
    owner.says("world", "credential", "add", "person:x", "chess", "--quality", "1", "--basis", "y")
    found = grading_use.compute_if_due(session)
    assert found is not None
    assert found.is_recorded


@pytest.mark.requirement("G13", "G25")
def test_a_run_says_that_it_has_read_all(owner: Owner, library: Librarian) -> None:
    """Newer claims that change nothing are computed and recorded once, and then nothing is due."""
    library.recomputes()
    library.takes_in(head("novel", **{"class": "fiction"}), line("novel", 1900))
    assert library.grade("claim:lives")["runOutdated"] is True
    again = library.recomputes()
    assert (again["recorded"], again["changes"]) == (True, [])
    assert library.grade("claim:lives")["runOutdated"] is False
    assert library.recomputes()["recorded"] is False


@pytest.mark.requirement("G13")
def test_what_was_forgotten_counts_no_more(owner: Owner, library: Librarian) -> None:
    """A run that has read it is outdated, whatever became of its leaf, and the next one is without it."""
    library.recomputes()
    forget(owner.stage.world, Named(work="work:letters"), "keep")
    graded = library.grade("claim:lives")
    assert graded["run"] is None or graded["runOutdated"]
    rows = {row["entity"]: row for row in library.recomputes()["rows"] if row["domain"] == "biography"}
    assert "person:editor-letters" not in rows
    assert rows["person:editor-lives"]["corroborated"] == 0
    assert library.grade("claim:lives")["runOutdated"] is False
    assert owner.run("verify", "--deep")[0] == 0
