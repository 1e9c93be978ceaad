"""Findings about forgetting: each provoked, and gone once its mending command was run."""

import shlex
from pathlib import Path

import pytest

from sidecars.assertion import AssertionEntry
from tests.doctor.stage import Stage
from tests.simulators.worlds import refusal_of
from tests.world.ledger.ledgers import entry
from timeline import forget_use
from timeline.doctor.findings import Level
from timeline.errors import StateUnwritableError
from timeline.forget_use import Named
from timeline.schema import SETTING_PAGES_DUE
from timeline.store import Store


def said(stage: Stage) -> AssertionEntry:
    """The owner's word."""
    once = entry("once", evidence_kind="explicit-user-feedback")
    with stage.world.session.writing() as state:
        state.commit([once])
    return once


def plan(stage: Stage) -> str:
    """A plan of forgetting it."""
    named = Named(assertions=(said(stage).id,))
    return forget_use.plan_forgetting(stage.world.session, named, "redact").digest


def mend(stage: Stage, command: str, *more: str) -> None:
    """Run a mending command of the program."""
    program, *arguments = shlex.split(command)
    assert program == "timeline"
    code, out, err = stage.run(*arguments, *more)
    assert code == 0, (out, err)


@pytest.mark.requirement("X10", "M21")
@pytest.mark.parametrize("step", ["receipts", "file", "reported"])
def test_an_interrupted_forgetting_is_found_and_finished(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """With the plan that was begun; one that was only made asks for nothing."""
    digest = plan(stage)
    assert stage.codes() == set()
    names = {"receipts": "drop_receipts", "file": "_look_after", "reported": "_record"}

    def fail(*_: object) -> None:
        message = "the disk is full"
        raise StateUnwritableError(message)

    with monkeypatch.context() as patch:
        patch.setattr(f"timeline.forgetting.applying.{names[step]}", fail)
        outcome = refusal_of(lambda: forget_use.apply_plan(stage.world.session, digest, confirmed=True))
        assert outcome == "state-unwritable"
    found = stage.finding("forget-unfinished")
    assert (found.level, found.remedy) == (Level.WARNING, f"timeline forget apply --plan {digest}")
    mend(stage, found.remedy, "--confirmed")
    assert stage.codes() == set()


@pytest.mark.requirement("X10", "X11")
def test_pages_that_are_due_are_found_and_rewritten(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody read an older moment for as long as the forgetting took."""
    digest = plan(stage)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "rewrite", lambda _store: False)
        assert not forget_use.apply_plan(stage.world.session, digest, confirmed=True).is_complete
    assert stage.codes() == {"pages-due", "forget-unfinished"}
    mend(stage, stage.finding("pages-due").remedy, "--confirmed")
    assert stage.codes() == set()


def test_pages_that_are_due_of_no_plan_are_rewritten_by_the_next_writing_command(stage: Stage) -> None:
    """Whatever it is: the hint names one that everybody has."""
    with stage.world.session.writing() as state, state.store.transaction():
        state.store.write("INSERT INTO setting (key, value) VALUES (?, ?)", [(SETTING_PAGES_DUE, b"")])
    found = stage.finding("pages-due")
    assert found.remedy == "timeline index"
    stage.run(*found.remedy.split()[1:])  # refused, since nothing is enrolled here; the state was made ready
    assert stage.codes() == set()


@pytest.mark.requirement("X10", "M18")
def test_a_lost_key_is_found_and_given_up(stage: Stage) -> None:
    """The hint names both ways: a newer backup, or going on without the list."""
    forget_use.apply_plan(stage.world.session, plan(stage), confirmed=True)
    assert stage.codes() == set()
    key: Path = stage.world.locations.suppression_key
    key.unlink()
    found = stage.finding("suppression-key-lost")
    assert found.level is Level.ERROR
    assert "timeline forget accept-lost-key" in found.remedy
    mend(stage, "timeline forget accept-lost-key", "--confirmed")
    assert stage.codes() == set()


@pytest.mark.requirement("X10")
def test_a_plan_that_is_not_what_was_written_is_found(stage: Stage) -> None:
    """It keeps nobody from looking at the rest."""
    plan(stage)
    (path,) = stage.world.locations.forgetting.glob("*.plan")
    path.write_bytes(path.read_bytes().replace(b"redact", b"keep"))
    assert stage.codes() == {"forget-plan-invalid"}
