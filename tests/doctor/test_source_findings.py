"""Findings about enrolled sources: gone, changed, ended, partly understood, and what mends each."""

import pytest

from tests.doctor.stage import Daemon, Stage
from tests.simulators.hosts import CodexRollout
from tests.timeline.cases import Case, enroll_session
from timeline.doctor.findings import Level
from timeline.limits import RECALL_SECONDS_DEFAULT


@pytest.fixture
def case(codex: Stage) -> Case:
    """Give an enrolled and indexed session of a user whose Codex is set up."""
    found = enroll_session(codex.world)
    found.index()
    return found


def test_a_source_that_stands_is_no_finding(codex: Stage, case: Case) -> None:
    """Enrolled, unchanged, understood."""
    assert codex.codes() == set()


@pytest.mark.requirement("X10")
def test_a_transcript_that_is_gone_is_found(codex: Stage, case: Case) -> None:
    """Until the owner takes the consent back, which is what the finding names."""
    case.path.unlink()
    found = codex.finding("source-gone")
    assert (found.level, found.about) == (Level.WARNING, f"codex {case.rollout.thread_id}")
    code, _, err = codex.run(*found.remedy.split()[1:])
    assert (code, err) == (0, "")
    assert codex.codes() == set()


def test_a_transcript_that_changed_is_found(codex: Stage, case: Case) -> None:
    """Its snapshot is no more: a new consent, or none, is what is left; taking it back is what is tried here."""
    with case.path.open("ab") as file:
        file.write(b"{}\n")
    found = codex.finding("source-stale")
    assert (found.level, "timeline enroll" in found.remedy) == (Level.WARNING, True)
    command = found.remedy.rpartition("or `")[2].rstrip("`")
    code, _, err = codex.run(*command.split()[1:])
    assert (code, err) == (0, "")
    assert codex.codes() == set()


def test_a_consent_that_ended_is_a_note(codex: Stage, case: Case) -> None:
    """Nothing is wrong: it was given for so long."""
    codex.world.clock.at_ms += (RECALL_SECONDS_DEFAULT + 1) * 1000
    found = codex.finding("consent-ended")
    assert (found.level, "timeline enroll" in found.remedy) == (Level.NOTE, True)


def test_a_clock_that_went_back_is_found(codex: Stage, case: Case) -> None:
    """Until it stands right again."""
    codex.world.clock.at_ms -= 3_600_000
    assert codex.finding("clock-went-back").level is Level.ERROR
    codex.world.clock.at_ms += 3_600_000
    assert codex.codes() == set()


def test_a_record_type_that_was_never_reviewed_is_found_and_accepted(codex: Stage) -> None:
    """The finding names the type and the owner's command for it."""

    def write(rollout: CodexRollout) -> bytes:
        line = b'{"timestamp":"2026-08-20T10:00:00.000Z","type":"brand_new","payload":{}}\n'
        return rollout.to_bytes() + line

    case = enroll_session(codex.world, write=write)
    case.index()
    found = codex.finding("partly-understood")
    assert (found.level, "brand_new" in found.message) == (Level.WARNING, True)
    code, _, err = codex.run(*found.remedy.split()[1:])
    assert (code, err) == (0, "")
    assert codex.codes() == set()


def test_lines_that_were_not_understood_are_found(codex: Stage) -> None:
    """Where no type explains it, the file has to be looked at."""
    case = enroll_session(codex.world, write=lambda rollout: rollout.to_bytes() + b'{"torn\n')
    case.index()
    found = codex.finding("partly-understood")
    assert found.remedy == "timeline inspect FILE --host codex"


def test_a_state_that_is_refused_has_no_sources(codex: Stage, case: Case) -> None:
    """The refusal is the finding; nothing is said of what cannot be believed."""
    codex.daemon = Daemon()
    case.path.unlink()
    head = codex.world.locations.head
    head.write_bytes(head.read_bytes()[:-5])
    codes = codex.codes()
    assert "source-gone" not in codes
    assert codes
