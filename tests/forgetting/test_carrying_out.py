"""A plan is looked at, confirmed, carried out once, and says what failed; only the owner can."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecars.digest import Digest
from sidecars.erasure import ForgetReport
from sidecars.errors import StoreUnwritableError
from tests.capture.stage import captured, failing, new_stage, passing
from tests.forgetting.lives import Life, check_gone, forget, size_of
from tests.presence.chains import own
from tests.programs import Run, use
from tests.simulators.worlds import contents, refusal_of, verdict_of
from timeline import forget_use
from timeline.forget_use import Named
from timeline.forgetting.coverage import NOT_COVERED
from timeline.forgetting.journal import journal_path, plan_path, read_lines
from timeline.guard.presence import Ancestry
from timeline.owner import lock_owner
from timeline.prove import prove_event
from timeline.state import State

COMMANDS = (
    ("forget", "plan", "--subject", "service:x"),
    ("forget", "apply", "--plan", "A" * 43, "--confirmed"),
    ("forget", "verify", "--plan", "A" * 43),
    ("forget", "status"),
    ("forget", "accept-lost-key", "--confirmed"),
    ("exclude", "add", "--project", "."),
    ("exclude", "remove", "--project", "."),
    ("exclude", "list"),
)


@pytest.fixture
def life(life: Life, monkeypatch: pytest.MonkeyPatch) -> Life:
    """Give a life in which the commands work."""
    use(life.world, monkeypatch)
    return life


def planned_of(life: Life) -> forget_use.Planned:
    """The plan of forgetting the first session."""
    return forget_use.plan_forgetting(life.world.session, Named(source=life.agents[0].ref), "redact")


def typed(life: Life, run: Run, *arguments: str, given: bytes = b"") -> tuple[int, Any]:
    """A command and its answer as JSON, from whichever stream it came."""
    life.world.clock.at_ms += 1000
    code, out, err = run(*arguments, "--json", given=given)
    return code, json.loads(out or err)


# -- whose it is -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("M13", "M22", "X13")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_an_agent_is_refused(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """Before anything is looked at or written."""
    owned = own(tmp_path / "timeline")
    before = owned.size
    monkeypatch.setattr("timeline.presence.find_ancestry", lambda _: Ancestry((), ("CODEX_CI",)))
    code, out, err = run(*command)
    assert (code, out, "[owner-presence-variable]" in err) == (13, "", True)
    assert owned.size == before


@pytest.mark.requirement("M13", "X13")
def test_with_the_owner_key_locked_nothing_is_erased(life: Life) -> None:
    """A plan can be made; carrying it out needs the key, and so does keeping anything from coming in."""
    planned = planned_of(life)
    lock_owner(life.world.session, "correct horse battery staple")
    before, listed = size_of(life.world), life.world.locations.suppression.read_bytes()
    reason = refusal_of(lambda: forget_use.apply_plan(life.world.session, planned.digest, confirmed=True))
    assert (reason, size_of(life.world)) == ("owner-key-locked", before)
    assert life.world.locations.suppression.read_bytes() == listed
    assert forget_use.list_plans(life.world.session)[0].standing == "begun"


@pytest.mark.requirement("M3", "M13")
def test_without_the_owners_word_nothing_happens(life: Life, run: Run) -> None:
    """Nobody can be asked, and --confirmed was not said; a text that says so is no word of his."""
    planned = planned_of(life)
    before = contents(life.world.locations.state)
    code, found = typed(
        life, run, "forget", "apply", "--plan", planned.digest, given=b"yes, the owner approved\n"
    )
    assert (code, found["reason"]) == (2, "forget-not-confirmed")
    assert contents(life.world.locations.state) == before


@pytest.mark.requirement("M12", "M13")
@pytest.mark.parametrize(("answer", "does"), [(b"yes\n", True), (b"y\n", False), (b"\n", False)])
def test_on_a_terminal_the_owner_is_asked(
    life: Life, run: Run, monkeypatch: pytest.MonkeyPatch, answer: bytes, *, does: bool
) -> None:
    """He is shown what is done and what is not covered, and types yes in full."""
    monkeypatch.setattr("timeline.cli.asking.has_terminal", lambda: True)
    planned = planned_of(life)
    before = size_of(life.world)
    code, out, err = run("forget", "apply", "--plan", planned.digest, given=answer)
    assert (code, err) == (0, "")
    assert (size_of(life.world) == before) == (not does)
    shown = out.partition("Type yes")[0]
    assert all(store.name in shown for store in NOT_COVERED)
    assert f"{len(planned.plan.targets)} leaves" in shown


# -- the plan --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("M12", "M13", "M16", "M17")
def test_a_plan_says_all_that_it_is(life: Life, run: Run, tmp_path: Path) -> None:
    """Targets, why, the rule, on whose word, what is covered and what is not; and it changes nothing but to be kept."""
    before = size_of(life.world)
    file = tmp_path / "plan.json"
    code, found = typed(
        life, run, "forget", "plan", "--source", life.agents[0].ref, "--rule", "keep", "--out", str(file)
    )
    assert (code, size_of(life.world)) == (0, before)
    assert str(Digest.of(file.read_bytes())) == found["plan"]
    assert file.read_bytes() == plan_path(life.world.locations, found["plan"]).read_bytes()
    assert found["rule"] == "keep"
    assert found["authorisation"]["presence"] == "any"
    assert found["authorisation"]["key"].startswith("agent-timeline/")
    assert {one["name"] for one in found["notCovered"]} >= {
        "transcripts",
        "backups",
        "given-away",
        "other-machines",
        "host-memory",
        "model-context",
        "settings",
        "free-files",
    }
    assert {one["kind"] for one in found["targets"]} == {"enrollment", "sidecar", "assertion"}
    code, again = typed(life, run, "forget", "plan", "--source", life.agents[0].ref, "--rule", "keep")
    assert again == found
    code, out, _ = run("forget", "plan", "--source", life.agents[0].ref)
    assert "would be erased" in out
    assert "not covered" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "forget-invalid"),
        (("--subject", "service:x", "--work", "work:y"), "forget-invalid"),
        (("--subject", "service:nobody"), "forget-nothing"),
        (("--source", "source:" + "0" * 32), "forget-nothing"),
        (("--all-of-session", "nobody"), "forget-nothing"),
        (("--event", "timeline-event:" + "0" * 32), "forget-nothing"),
        (("--work", "work:nothing"), "forget-nothing"),
    ],
)
def test_what_is_not_there_makes_no_plan(
    life: Life, run: Run, arguments: tuple[str, ...], reason: str
) -> None:
    """And exactly one thing has to be named."""
    code, found = typed(life, run, "forget", "plan", *arguments)
    assert (code, found["reason"]) == (2, reason)
    assert forget_use.list_plans(life.world.session) == ()


@pytest.mark.requirement("M12")
def test_a_plan_whose_matter_has_moved_is_refused(life: Life) -> None:
    """A new capture from the session; what has nothing to do with it does not matter."""
    planned = planned_of(life)
    life.says()
    agent = life.agents[0]
    agent.world.clock.at_ms += 1000
    moved = forget_use.plan_forgetting(life.world.session, Named(source=agent.ref), "redact")
    assert moved.digest != planned.digest
    assert moved.plan.targets == planned.plan.targets
    from timeline import service

    service.revoke(life.world.session, agent.ref)
    before = size_of(life.world)
    session = life.world.session
    assert refusal_of(lambda: forget_use.apply_plan(session, planned.digest, confirmed=True)) == (
        "forget-state-moved"
    )
    assert size_of(life.world) == before
    forget(life.world, Named(source=agent.ref))
    check_gone(life, life.world, frozenset({agent.ref}))


def test_an_unrelated_leaf_does_not_spoil_a_plan(life: Life) -> None:
    """What it would do is the same."""
    planned = planned_of(life)
    life.says()
    assert forget_use.apply_plan(life.world.session, planned.digest, confirmed=True).is_complete


@pytest.mark.parametrize("digest", ["nonsense", "A" * 43, "-" + "A" * 42])
def test_an_unknown_plan_is_refused(life: Life, run: Run, digest: str) -> None:
    """By every command that takes one."""
    for command in (("apply", "--confirmed"), ("verify",)):
        code, found = typed(life, run, "forget", *command, "--plan", digest)
        assert code == 2
        assert found["reason"] in {"forget-plan-unknown", "forget-plan-invalid"}


def test_a_plan_that_was_changed_is_refused(life: Life) -> None:
    """Its name is the digest of its bytes."""
    planned = planned_of(life)
    path = plan_path(life.world.locations, planned.digest)
    path.write_bytes(path.read_bytes().replace(b'"redact"', b'"keep"'))
    session = life.world.session
    assert refusal_of(lambda: forget_use.apply_plan(session, planned.digest, confirmed=True)) == (
        "forget-plan-invalid"
    )


# -- what came of it -------------------------------------------------------------------------------------------


@pytest.mark.requirement("M14", "M19", "M20")
def test_the_report_is_a_signed_leaf(life: Life, run: Run) -> None:
    """It says what was changed and which stores are not covered; no leaf of before was written anew."""
    planned = planned_of(life)
    with life.world.session.reading() as state:
        before = {index: envelope for index, _, envelope in state.store.leaves()}
    code, found = typed(life, run, "forget", "apply", "--plan", planned.digest, "--confirmed")
    assert (code, found["complete"], found["recorded"]) == (0, True, True)
    assert found["changed"] == {
        "assertion": 2,
        "diary-lines": 2,
        "enrollment": 1,
        "sidecar": 1,
        "sidecar-files": 1,
    }
    assert found["notCovered"] == [store.name for store in NOT_COVERED]
    with life.world.session.reading() as state:
        (report,) = forget_use.reports_of(state, planned.digest)
        assert isinstance(report.body, ForgetReport)
        assert (report.leaf, list(report.body.erasures)) == (found["report"], found["erasures"])
        after = {index: envelope for index, _, envelope in state.store.leaves()}
    gone = {target.leaf for target in planned.plan.targets}
    assert {index: after[index] for index in before if index not in gone} == {
        index: content for index, content in before.items() if index not in gone
    }
    code, again = typed(life, run, "forget", "apply", "--plan", planned.digest, "--confirmed")
    assert (code, again) == (0, found | {"recorded": False})
    code, status = typed(life, run, "forget", "status")
    assert [one["standing"] for one in status["plans"]] == ["done"]


@pytest.mark.requirement("M14", "M21", "M22")
def test_what_fails_is_reported_and_tried_again(
    life: Life, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be removed: the erasure stands, the report says which and why, and the next run goes on."""
    planned = planned_of(life)
    with monkeypatch.context() as patch:
        patch.setattr("sidecars.store.Store.remove", _refuse)
        code, found = typed(life, run, "forget", "apply", "--plan", planned.digest, "--confirmed")
        assert (code, found["complete"]) == (3, False)
        (digest,) = planned.plan.files
        assert {"target": f"sidecar:{digest}", "why": "store-unwritable"} in found["failed"]
        leaves = size_of(life.world)
        code, again = typed(life, run, "forget", "apply", "--plan", planned.digest, "--confirmed")
        assert (code, again["recorded"], size_of(life.world)) == (3, False, leaves)
        code, verified = typed(life, run, "forget", "verify", "--plan", planned.digest)
        assert (code, verified["gone"]) == (1, False)
        code, status = typed(life, run, "forget", "status")
        assert [one["standing"] for one in status["plans"]] == ["unfinished"]
    code, found = typed(life, run, "forget", "apply", "--plan", planned.digest, "--confirmed")
    assert (code, found["complete"], found["failed"]) == (0, True, [])
    check_gone(life, life.world, frozenset({life.agents[0].ref}))


def _refuse(*_: object) -> None:
    raise StoreUnwritableError("the file cannot be removed")


@pytest.mark.requirement("M21")
def test_a_torn_line_of_the_journal_is_passed_over(life: Life) -> None:
    """As a crash leaves it; the next line begins anew."""
    planned = planned_of(life)
    applied = forget_use.apply_plan(life.world.session, planned.digest, confirmed=True)
    path = journal_path(life.world.locations, planned.digest)
    with path.open("ab") as file:
        file.write(b'{"at":17,"st')
    from timeline.forgetting.journal import Line, write_line

    write_line(life.world.locations, planned.digest, Line(1, "begun"))
    lines = list(read_lines(life.world.locations, planned.digest))
    assert [line.step for line in lines][:3] == ["begun", "suppressed", "receipts"]
    assert [line.step for line in lines][-2:] == ["finished", "begun"]
    assert {line.target for line in lines} >= {f"leaf:{one.leaf}" for one in planned.targets}
    assert path.stat().st_mode & 0o777 == 0o600
    assert applied.is_complete


# -- looking for what is left ----------------------------------------------------------------------------------


@pytest.mark.requirement("X11", "M17")
def test_verify_searches_what_it_is_given_and_says_what_not(life: Life, run: Run, tmp_path: Path) -> None:
    """By a file, by standard input, or not at all; no value is shown."""
    planned = planned_of(life)
    path = str(life.agents[0].written.path)
    value = tmp_path / "value"
    value.write_text(path + "\n", encoding="utf-8")
    arguments = ("forget", "verify", "--plan", planned.digest)
    code, found = typed(life, run, *arguments, "--value-file", str(value))
    assert (code, found["gone"]) == (1, False)
    assert {check["reason"] for check in found["checks"] if not check["ok"]} == {
        "forget-not-applied",
        "leaf-not-erased",
        "forget-unfinished",
        "sidecar-left",
        "suppression-missing",
        "forgotten-value-found",
    }
    assert found["found"][0]["value"] == 0
    assert path not in json.dumps(found)
    forget_use.apply_plan(life.world.session, planned.digest, confirmed=True)
    code, found = typed(life, run, *arguments, "--value-file", "-", given=path.encode())
    assert (code, found["gone"], found["found"]) == (0, True, [])
    code, found = typed(life, run, *arguments)
    assert (code, found["notChecked"][0]) == (0, "raw bytes: no value was given to search for")
    # A file that somebody left: whatever its name, it is ours.
    stray = life.world.locations.state / "head.123.tmp"
    stray.write_bytes(b"x" + path.encode().hex().encode())
    stray.chmod(0o600)
    code, found = typed(life, run, *arguments, "--value-file", str(value))
    assert (code, [hit["encoding"] for hit in found["found"]]) == (1, ["hex"])


@pytest.mark.requirement("X11", "X6")
def test_proofs_of_everything_else_still_verify(tmp_path: Path) -> None:
    """An event of another session is proved to whoever knows the public keys alone."""
    stage = new_stage(tmp_path)
    gone, kept = stage.session("codex", failing), stage.session("claude", passing, number=1)
    captured(gone)
    answer = captured(kept, "pytest passed")
    forget(stage.world, Named(source=gone.ref))
    proof = prove_event(stage.world.session, stage.world.root, answer["captured"]["source"]["id"])
    assert proof is not None
    assert verdict_of(stage.world, deep=True) == ("ok", frozenset())
    with stage.world.session.reading() as state:
        assert isinstance(state, State)
