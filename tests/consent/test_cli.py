"""``consent``, ``enroll`` and ``init`` as people use them: what is shown, what is asked, what scripts get."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.consent.prompting import KINDS, Desk, report, session_of
from tests.programs import Run, runner, use
from tests.simulators.worlds import World, empty_world, leaves_of
from timeline import service
from timeline.cli.asking import has_terminal
from timeline.cli.enrollments import age_text, duration_text, short_session, size_text
from timeline.config import load_config
from timeline.consenting import spend_on_consent


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does: exit code, output, errors."""
    return runner(monkeypatch)


@pytest.fixture
def used(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Let the programs work in the world."""
    use(world, monkeypatch)
    return world


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the programs believe that somebody can be asked."""
    for place in ("timeline.cli.enrollments.has_terminal", "timeline.cli.commands.has_terminal"):
        monkeypatch.setattr(place, lambda: True)


def waiting(world: World, kind: str = "codex legacy", *, written: bool = True, after_ms: int = 0) -> Desk:
    """Give a session that waits to be enrolled."""
    desk = Desk(world, KINDS[kind])
    if written:
        desk.talk.prompt("make the tests pass")
        desk.talk.work()
        desk.write()
    desk.at(after_ms)
    report(desk)
    return desk


# -- consent ---------------------------------------------------------------------------------------------------


def test_consent_is_given_listed_and_taken_back(used: World, run: Run) -> None:
    """In words for a person, with the command that undoes it."""
    at = ("--provider", "codex", "--project", used.root)
    assert run("consent", "--list") == (
        0,
        "no standing consent: each session is enrolled by hand, with `timeline enroll`\n",
        "",
    )
    code, out, err = run("consent", *at, "--follow")
    assert (code, err) == (0, "")
    assert f"codex in {used.root}: sessions are enrolled, followed as they grow (leaf 2, " in out
    assert f"timeline consent --provider codex --project {used.root} --remove" in out
    code, out, _ = run("consent", "--list", "--project", used.root)
    assert out.startswith(f"codex in {used.root}: ")
    code, out, err = run("consent", *at, "--remove")
    assert (code, out, err) == (0, f"codex in {used.root}: no standing consent any more\n", "")
    assert len(leaves_of(used)) == 4


def test_consent_speaks_json(used: World, run: Run) -> None:
    """One document, with nothing but what the log says."""
    at = ("--provider", "kimi", "--project", used.root, "--json")
    given = json.loads(run("consent", *at)[1])
    assert {name: given[name] for name in ("schema", "status", "host", "project", "mode", "leaf")} == {
        "schema": "timeline-consent/v1",
        "status": "standing",
        "host": "kimi",
        "project": used.root,
        "mode": "snapshot",
        "leaf": 2,
    }
    assert json.loads(run("consent", "--list", "--json")[1]) == [given]
    taken = json.loads(run("consent", *at, "--remove")[1])
    assert (taken["status"], taken["stillEnrolled"]) == ("none", 0)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "usage"),
        (("--follow",), "usage"),
        (("--provider", "vim"), "usage"),
        (("--provider", "codex", "--remove", "--follow"), "usage"),
        (("--provider", "codex", "--remove"), "consent-unchanged"),
        (("--provider", "codex", "--project", "/no/such/folder"), "usage"),
    ],
)
def test_a_consent_that_says_too_little_or_too_much_is_misuse(
    used: World, run: Run, arguments: tuple[str, ...], reason: str
) -> None:
    """Exit code 2, and nothing is recorded."""
    place = () if "--project" in arguments else ("--project", used.root)
    code, out, err = run("consent", *arguments, *place, "--json")
    assert (code, out, json.loads(err)["reason"]) == (2, "", reason)
    assert len(leaves_of(used)) == 2


# -- enroll: by choice -----------------------------------------------------------------------------------------


@pytest.mark.requirement("D6", "T6")
@pytest.mark.usefixtures("terminal")
def test_one_session_that_waits_is_shown_and_enrolled_on_yes(used: World, run: Run) -> None:
    """What is read, for how long, what is kept, how it ends; no receipt is printed."""
    desk = waiting(used)
    used.clock.at_ms += 125_000
    code, out, err = run("enroll", "--root", used.root, "--follow", given=b"y\n")
    assert (code, err) == (0, "")
    assert f"1 session waits to be enrolled in {used.root}:" in out
    assert "  1  codex  " in out
    assert "prompted 2 min ago" in out
    assert f"codex session {desk.talk.session}" in out
    assert "as it grows, for 12 hours" in out
    assert "for 30 days, until " in out
    assert "no text of the conversation" in out
    assert "timeline revoke" in out
    assert "Enroll this session? [y/N]" in out
    assert "asthr_" not in out
    (source,) = service.list_sources(used.session, used.root)
    assert source.source.enrollment.mode == "follow"
    assert source.source.enrollment.consent is None


@pytest.mark.requirement("D6", "T10")
@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("answer", [b"\n", b"n\n", b""])
def test_without_a_yes_nothing_is_enrolled_or_spent(used: World, run: Run, answer: bytes) -> None:
    """No is the default, and the end of the input is no yes either."""
    waiting(used)
    code, out, _ = run("enroll", "--root", used.root, given=answer)
    assert code == (130 if not answer else 0)
    assert "as it is now, " in out
    assert service.list_sources(used.session, used.root) == ()
    assert len(service.list_receipts(used.session, used.root)) == 1


@pytest.mark.requirement("D6")
@pytest.mark.usefixtures("terminal")
def test_of_several_the_newest_comes_first_and_one_is_chosen_by_its_number(used: World, run: Run) -> None:
    """Each session once, by its newest prompt, however often it was prompted."""
    old = waiting(used, "claude 2.1.49")
    old.at(30_000)
    report(old)
    new = waiting(used, "codex legacy", after_ms=60_000)
    code, out, err = run("enroll", "--root", used.root, given=b"7\n2\ny\n")
    assert (code, err) == (0, "")
    lines = out.split("\n")
    assert [line.split()[:2] for line in lines if line.startswith(("  1 ", "  2 "))] == [
        ["1", "codex"],
        ["2", "claude"],
    ]
    assert "2 sessions wait" in out
    assert "Which one?" in out
    (source,) = service.list_sources(used.session, used.root)
    assert source.source.enrollment.binding.session == old.talk.session
    assert [r.binding.session for r in service.list_receipts(used.session, used.root)].count(
        new.talk.session
    ) == 1


@pytest.mark.usefixtures("terminal")
def test_a_session_without_a_file_is_not_spent(used: World, run: Run) -> None:
    """The host has not written it yet; the receipt waits on."""
    waiting(used, "kimi", written=False)
    code, out, err = run("enroll", "--root", used.root)
    assert (code, err) == (0, "")
    assert "not written yet" in out
    assert "Then run this again." in out
    assert len(service.list_receipts(used.session, used.root)) == 1


@pytest.mark.usefixtures("terminal")
def test_what_the_owner_has_to_know_stands_beside_a_session(used: World, run: Run) -> None:
    """That it is enrolled already, and that no host was seen behind the prompt."""
    desk = waiting(used)
    run("enroll", "--root", used.root, given=b"y\n")
    desk.at(1_000)
    report(desk, attested=False)
    _, out, _ = run("enroll", "--root", used.root, given=b"n\n")
    assert "enrolled already" in out
    assert "reported by a command, or an agent has started it" in out


@pytest.mark.usefixtures("terminal")
def test_where_nothing_waits_it_says_what_to_do(used: World, run: Run) -> None:
    """Sessions of other projects are not shown."""
    waiting(used)
    other = used.home / "other"
    other.mkdir()
    code, out, _ = run("enroll", "--root", str(other))
    assert code == 0
    assert out == (
        f"No session of {other} waits to be enrolled.\n"
        "Prompt once in the session; it then waits here for 15 minutes.\n"
    )


@pytest.mark.requirement("T10", "D6")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no terminal to ask on"),
        (("--json",), "--json asks nothing"),
        (("--confirm-local-timeline",), "--confirm-local-timeline asks nothing"),
    ],
)
def test_where_nobody_can_be_asked_the_exact_command_is_named(
    used: World, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    """Misuse, with the way for a script; nothing is spent, and the receipt is not printed."""
    waiting(used)
    code, out, err = run("enroll", "--root", used.root, "--follow", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert f"timeline enroll --root {used.root} --receipt asthr_... --confirm-local-timeline --follow" in err
    assert len(service.list_receipts(used.session, used.root)) == 1


@pytest.mark.requirement("T10")
@pytest.mark.usefixtures("terminal")
def test_timeline_enroll_asks_nothing(used: World, run: Run) -> None:
    """The program of the reference takes all three flags, also on a terminal."""
    waiting(used)
    code, out, err = run("--root", used.root, program="main_enroll", given=b"y\n")
    assert (code, out) == (1, "")
    assert "--receipt" in err
    assert service.list_sources(used.session, used.root) == ()


def test_an_enrollment_on_a_consent_says_so(used: World, run: Run) -> None:
    """`timeline sources` names the leaf of the consent."""
    desk = Desk(used, KINDS["codex legacy"])
    run("consent", "--provider", "codex", "--project", used.root)
    desk.at(1_000)
    receipt = report(desk)
    desk.talk.prompt("make the tests pass")
    desk.write()
    spend_on_consent(session_of(used), receipt)
    (source,) = json.loads(run("sources", "--json")[1])
    assert source["standingConsent"] == 2


# -- init ------------------------------------------------------------------------------------------------------


@pytest.fixture
def unfounded(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Give a place where nothing was initialised."""
    made = empty_world(world.folder.parent / "new")
    use(made, monkeypatch)
    return made


def scope_of(world: World) -> tuple[str, str, str]:
    """Give the scope that is configured."""
    scope = load_config(world.locations.settings).scope
    return scope.tenant, scope.user, scope.task


def test_init_takes_the_scope_from_its_flags(unfounded: World, run: Run) -> None:
    """What is not given keeps its default; nothing is asked."""
    code, _, err = run("init", "--tenant", "acme", "--task", "release-1")
    assert (code, err) == (0, "")
    tenant, user, task = scope_of(unfounded)
    assert (tenant, task) == ("acme", "release-1")
    assert user


@pytest.mark.usefixtures("terminal")
def test_init_asks_on_a_terminal(unfounded: World, run: Run) -> None:
    """Enter keeps what stands in brackets; what is no name is asked again."""
    code, out, err = run("init", given=b"\nann\nno spaces\nrelease\n")
    assert (code, err) == (0, "")
    assert "tenant [local]: " in out
    assert scope_of(unfounded) == ("local", "ann", "release")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("arguments", [("--json",), ("--user", "ann")])
def test_init_asks_nothing_where_something_was_told(
    unfounded: World, run: Run, arguments: tuple[str, ...]
) -> None:
    """A script is not held up."""
    code, out, _ = run("init", *arguments)
    assert code == 0
    assert "tenant [local]" not in out
    assert scope_of(unfounded)[0] == "local"


@pytest.mark.usefixtures("terminal")
def test_init_keeps_a_configuration_that_is_there(unfounded: World, run: Run) -> None:
    """It asks nothing then, and refuses to be told something else."""
    run("init", "--tenant", "acme")
    (unfounded.locations.state / "head").unlink()
    code, _, err = run("init", "--tenant", "other", "--json")
    assert (code, json.loads(err)["reason"]) == (2, "usage")
    code, out, _ = run("init")
    assert "tenant [" not in out
    assert scope_of(unfounded)[0] == "acme"


@pytest.mark.parametrize("value", ["two words", 'a"b', "", "-x", "a\nb"])
def test_init_refuses_what_is_no_name(unfounded: World, run: Run, value: str) -> None:
    """Nothing is made, and nothing gets into the configuration that is not a name."""
    code, _, err = run("init", f"--task={value}", "--json")
    assert (code, json.loads(err)["reason"]) == (2, "usage")
    assert not unfounded.locations.settings.exists()
    assert not unfounded.locations.state.exists()


# -- words -----------------------------------------------------------------------------------------------------


def test_a_terminal_is_one_at_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe at either end is nobody to ask."""
    master, slave = os.openpty()
    with (
        os.fdopen(master, "rb"),
        os.fdopen(slave, "r+b", buffering=0) as both,
        Path(os.devnull).open("rb") as other,
    ):
        for first, second, there in ((both, both, True), (other, both, False), (both, other, False)):
            monkeypatch.setattr(sys, "stdin", first)
            monkeypatch.setattr(sys, "stdout", second)
            assert has_terminal() == there


def test_numbers_are_worded_for_people() -> None:
    """Short, with a unit."""
    assert [age_text(seconds) for seconds in (0, 59, 60, 899)] == ["0 s", "59 s", "1 min", "14 min"]
    assert [duration_text(s) for s in (43_200, 2_592_000, 86_400, 5_400, 60, 61)] == [
        "12 hours",
        "30 days",
        "1 day",
        "90 minutes",
        "1 minute",
        "61 seconds",
    ]
    assert [size_text(size) for size in (0, 1023, 1024, 1536 * 1024)] == [
        "0 bytes",
        "1023 bytes",
        "1.0 KiB",
        "1.5 MiB",
    ]
    assert (short_session("abc"), short_session("0123456789abc")) == ("abc", "…56789abc")
