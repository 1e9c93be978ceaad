"""The whole story on a simulated host: every step is done for real, checked, and fails the run if it is not so.

The tests that the simulated agent runs are run by a real pytest; only the host that writes the transcript is
simulated. The state says so in its first leaf, and so does every answer from it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from sidecars.event import Outcome
from timeline import answers, service
from timeline.clock import SystemClock, format_utc
from timeline.demo_stage import Say, Stage, must_refuse, require
from timeline.demo_world import tell_world
from timeline.errors import DemoError
from timeline.index import IndexResult
from timeline.paths import Locations
from timeline.search import Answer, Status, Window
from timeline.simulated_host import CodexRollout, stepping_clock
from timeline.terms import parse_query

_MINUTE_MS = 60_000
_COMMAND = "python -m pytest -q"
_BROKEN = "def add(a, b):\n    return a - b\n"
_FIXED = "def add(a, b):\n    return a + b\n"
_TESTS = """from sums import add


def test_small():
    assert add(1, 2) == 3


def test_zero():
    assert add(0, 0) == 0
"""


def run_demo(keep: Path | None, say: Say) -> None:
    """Tell the story below ``keep``, or in a folder that is removed afterwards.

    Raises:
        DemoError: pytest is missing, or a step did not do what it says.
        TimelineError, SidecarError, AdapterError: a step was refused that must not be.
    """
    if find_spec("pytest") is None:
        message = "the demo runs a real pytest, which is not installed here"
        raise DemoError(message, hint="install pytest beside timeline, for example `pip install pytest`")
    with _folder(keep) as folder:
        stage = _prepare(folder, say)
        rollout, path, first_run_ms = _work(stage)
        source_ref = _consent(stage, rollout, path)
        before_index = _copy_state(stage.session.locations, folder)
        _index_and_search(stage, first_run_ms)
        _change_one_byte(stage, path)
        source_ref = _renew(stage, rollout, path)
        _restore_older_state(stage, before_index)
        tell_world(stage, source_ref)
        _finish(stage)
        say("")
        say(f"done: every step did what it says; source {source_ref}")
        if keep is not None:
            say(f"kept: {folder} (state, trust, config, runtime, home)")


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="timeline-demo-") as temporary:
            yield Path(os.path.realpath(temporary))
        return
    try:
        keep.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = any(keep.iterdir())
    except OSError as error:
        message = f"{keep}: cannot be used as a folder"
        raise DemoError(message) from error
    if taken:
        message = f"{keep}: not empty"
        raise DemoError(message, hint="give an empty or a new folder with --keep")
    yield Path(os.path.realpath(keep))


def _prepare(folder: Path, say: Say) -> Stage:
    home, project = folder / "home", folder / "home" / "project"
    project.mkdir(parents=True)
    (home / ".codex" / "sessions").mkdir(parents=True)
    locations = Locations(folder / "state", folder / "trust", folder / "config", folder / "runtime")
    environment = {"HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    stage = Stage(service.Session(locations, environment=environment), project, home, say)
    stage.step("timeline init")
    view = service.init_state(stage.session, owner_presence="any", simulated_host=True)
    require(view.policy is not None and view.policy.simulated_host, "the first leaf says simulated-host")
    stage.proved("keys, head and anchor exist; the first signed leaf says that the host is simulated")
    return stage


def _work(stage: Stage) -> tuple[CodexRollout, Path, int]:
    """The agent's session: tests fail, the code is mended, tests pass, and an old log is printed."""
    stage.step("a coding agent works (simulated Codex, real pytest)")
    clock = stepping_clock(SystemClock().now_ms() - 10 * _MINUTE_MS)
    rollout = CodexRollout(clock=clock, cwd=str(stage.project))
    path = stage.home / ".codex" / rollout.relative_path
    path.parent.mkdir(parents=True)
    rollout.start_turn()
    rollout.prompt("Make the tests pass.")
    path.write_bytes(rollout.to_bytes())
    _hook(stage, rollout, path)
    (stage.project / "sums.py").write_text(_BROKEN, encoding="utf-8")
    (stage.project / "test_sums.py").write_text(_TESTS, encoding="utf-8")
    # Its own settings, so that those of a folder around the demonstration are not taken.
    (stage.project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    output, code = _run_pytest(stage.project)
    require(code == 1 and "1 failed, 1 passed" in output, "the first run fails one of two tests")
    rollout.command(_COMMAND, output, code)
    failed_ms = clock()
    (stage.project / "sums.py").write_text(_FIXED, encoding="utf-8")
    rollout.patch("*** Begin Patch\n*** Update File: sums.py\n*** End Patch\n")
    passed, code = _run_pytest(stage.project)
    require(code == 0 and "2 passed" in passed, "the second run passes both tests")
    rollout.command(_COMMAND, passed, code)
    rollout.command("cat old.log", output, 0)
    rollout.end_turn("All tests pass.")
    path.write_bytes(rollout.to_bytes())
    stage.tell(f"{_COMMAND}: 1 failed, 1 passed, exit 1; after the fix: 2 passed, exit 0")
    stage.tell("cat old.log: prints the first run's output once more, exit 0")
    return rollout, path, failed_ms


def _hook(stage: Stage, rollout: CodexRollout, path: Path) -> None:
    stage.step("timeline hook user-prompt-submit --host codex")
    receipt = service.receive_prompt(
        stage.session, "codex", answers.encode(_prompt_event(stage, rollout, path))
    )
    stage.proved(f"one receipt, bound to this session and file, until {format_utc(receipt.expires_at)}")


def _prompt_event(stage: Stage, rollout: CodexRollout, path: Path) -> answers.Json:
    """What Codex gives its hooks at a prompt."""
    return {
        "hook_event_name": "UserPromptSubmit",
        "session_id": rollout.thread_id,
        "transcript_path": str(path),
        "cwd": str(stage.project),
        "turn_id": rollout.turn_id,
        "prompt": "Make the tests pass.",
    }


def _consent(stage: Stage, rollout: CodexRollout, path: Path) -> str:
    stage.step("timeline receipt, then timeline enroll --confirm-local-timeline")
    (receipt,) = service.list_receipts(stage.session, str(stage.project))
    enrollment = service.enroll(stage.session, str(stage.project), receipt.id, confirmed=True)
    require(enrollment.binding.session == rollout.thread_id, "the enrollment names the session")
    require(enrollment.source.size == path.stat().st_size, "the whole file is the snapshot")
    must_refuse(lambda: service.enroll(stage.session, str(stage.project), receipt.id, confirmed=True))
    stage.proved("the owner's consent is a signed leaf; the receipt is spent and refused a second time")
    return enrollment.source.ref


def _index_and_search(stage: Stage, failed_ms: int) -> None:
    root = str(stage.project)
    stage.step("timeline index")
    (result,) = service.index(stage.session, root)
    if not isinstance(result, IndexResult):
        raise result[1]
    stage.say(
        f"   {result.tallies.records} records, {result.tallies.calls} calls, {result.events} events kept"
    )
    require(result.events == 2, "two test runs gave events, the printed log gave none")
    stage.proved("three outputs hold a pytest summary; only the two that pytest printed became evidence")
    stage.step(f"timeline search --at {format_utc(failed_ms)} --window 1")
    by_time = _search(stage, window=Window(failed_ms, 1000))
    require(
        {card.event.outcome for card in by_time.cards} >= {Outcome.FAIL}, "the failing run is found by time"
    )
    stage.step("timeline search pytest passed")
    by_terms = _search(stage, terms=("pytest", "passed"))
    card = by_terms.cards[0].event
    require((card.passed, card.exit_code, card.outcome) == (2, 0, Outcome.PASS), "2 passed, exit 0")
    stage.proved("each card was derived again from the transcript's own bytes just now")


def _search(stage: Stage, *, window: Window | None = None, terms: tuple[str, ...] | None = None) -> Answer:
    query = None if terms is None else parse_query(terms)
    answer, view = service.find(stage.session, str(stage.project), window=window, query=query)
    require(answer.status is Status.FOUND, "the search finds its card")
    found = answers.search_answer(answer, view, at_ms=None if window is None else window.at_ms, query=query)
    for card in found["events"]:
        counts = ", ".join(f"{card[n]} {n}" for n in ("passed", "failed") if n in card)
        stage.say(
            f"   {card['at']}  {card['runner']}  {card['outcome'].upper()}  {counts}  exit {card['exitCode']}"
        )
    return answer


def _change_one_byte(stage: Stage, path: Path) -> None:
    stage.step("one byte of the transcript changes")
    content = path.read_bytes()
    place = content.index(b"2 passed")
    path.write_bytes(content[:place] + b"9" + content[place + 1 :])
    answer, _ = service.find(stage.session, str(stage.project), query=parse_query(("pytest", "passed")))
    require(answer.status is Status.STALE and not answer.cards, "no card from a changed file")
    stage.tell(f"no card: {answer.status}, {answer.reason}")
    path.write_bytes(content)
    answer, _ = service.find(stage.session, str(stage.project), query=parse_query(("pytest", "passed")))
    require(answer.status is Status.STALE, "putting the byte back does not bring the snapshot back")
    stage.proved("a changed file gives no card, not even with the byte put back: it needs a new consent")


def _renew(stage: Stage, rollout: CodexRollout, path: Path) -> str:
    """The session goes on: a new prompt gives a new receipt, and the owner consents anew."""
    stage.step("a new prompt, a new consent, indexed again")
    rollout.start_turn()
    rollout.prompt("Thanks.")
    rollout.end_turn("Done.")
    path.write_bytes(rollout.to_bytes())
    receipt = service.receive_prompt(
        stage.session, "codex", answers.encode(_prompt_event(stage, rollout, path))
    )
    enrollment = service.enroll(stage.session, str(stage.project), receipt.id, confirmed=True)
    service.index(stage.session, str(stage.project))
    _search(stage, terms=("pytest", "passed"))
    stage.proved("the new snapshot gives cards; the old one's sidecar is gone")
    return enrollment.source.ref


def _copy_state(locations: Locations, folder: Path) -> Path:
    older = folder / "older-state"
    shutil.copytree(locations.state, older)
    return older


def _restore_older_state(stage: Stage, older: Path) -> None:
    stage.step("the state is put back to an older copy")
    where = stage.session.locations
    newest = where.state.with_name("newest-state")
    where.state.rename(newest)
    older.rename(where.state)
    reason = must_refuse(
        lambda: service.find(stage.session, str(stage.project), query=parse_query(("pytest", "failed")))
    )
    report = service.verify_timeline(stage.session, deep=False)
    require(report.verdict == "refused", "verify refuses the older state")
    stage.tell(f"search: refused, {reason}; timeline verify: {report.verdict}")
    shutil.rmtree(where.state)
    newest.rename(where.state)
    stage.proved("the anchor remembers a larger log than the restored state shows")


def _finish(stage: Stage) -> None:
    stage.step("timeline verify --deep")
    report = service.verify_timeline(stage.session, deep=True)
    require(report.verdict == "ok", "the undone state verifies")
    stage.tell(f"verdict {report.verdict}, level {report.level}, {report.size} leaves")
    for item in report.not_checked:
        stage.tell(f"not checked: {item}")
    stage.proved("keys, head, anchor, every leaf, sidecar and projected row")


def _run_pytest(project: Path) -> tuple[str, int]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "PYTHON", "COV_", "COLUMNS"))
    }
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir=."],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return ended.stdout, ended.returncode
