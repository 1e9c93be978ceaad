"""Having Codex trust our hooks, against a scripted app-server in a process of its own."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.install.documents import setup_of
from tests.install.test_round_trip import put_in, snapshot, take_out, write
from timeline.clock import SystemStopwatch
from timeline.install.errors import HookTrustError
from timeline.install.operation import Act, Setup, adopt_trust, plan_install
from timeline.install.trust import trust_hooks

FAKE = Path(__file__).with_name("fake_codex.py")


def ask(setup: Setup, seconds: float = 20.0, **plan: object) -> tuple[str, ...]:
    """Have a fake host that follows ``plan`` trust what is installed."""
    hooks = setup.files[1]
    return trust_hooks(
        (sys.executable, str(FAKE)),
        file=hooks.path,
        commands=hooks.form.commands(hooks.path.read_text(encoding="utf-8")),
        cwd=hooks.path.parent,
        environment={
            **os.environ,
            "CODEX_HOME": str(hooks.path.parent),
            "FAKE_CODEX_PLAN": json.dumps(plan),
        },
        deadline_seconds=seconds,
        stopwatch=SystemStopwatch(),
    )


@pytest.fixture
def setup(place: Path) -> Setup:
    """Codex with our hooks and one of somebody else."""
    made = setup_of(place, "codex")
    other = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "other"}]}]}}
    write(made, 1, json.dumps(other).encode())
    return made


def test_only_our_hooks_are_trusted(setup: Setup) -> None:
    """Every hook of ours is, and the one of somebody else is not; a second time there is nothing to do."""
    put_in(setup)
    keys = ask(setup, noise_at="hooks/list")
    assert len(keys) == 6
    assert all("PreToolUse:0:0" not in key for key in keys)
    config = setup.files[0].path.read_text(encoding="utf-8")
    assert config.count("trusted_hash") == 6
    assert ask(setup, status="trusted") == ()
    assert setup.files[0].path.read_text(encoding="utf-8") == config


def test_trust_goes_with_the_uninstall(place: Path, setup: Setup) -> None:
    """What the host wrote about our hooks is counted as ours, and the earlier bytes come back."""
    write(setup, 0, b"a = 1")
    before = snapshot(place)
    changes = plan_install(setup)
    put_in(setup)
    ask(setup)
    adopt_trust(setup, changes)
    assert [change.act for change in plan_install(setup)] == [Act.NOTHING] * 2
    take_out(setup)
    after = snapshot(place)
    del after["private"]
    assert after == before


def test_another_change_of_the_host_is_not_ours(place: Path, setup: Setup) -> None:
    """A host that wrote something else too has its words kept."""
    path = write(setup, 0, b"a = 1\n")
    changes = plan_install(setup)
    put_in(setup)
    path.write_text(f"seen = true\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    adopt_trust(setup, changes)
    take_out(setup)
    assert path.read_text(encoding="utf-8") == "seen = true\na = 1\n"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"refuse": "config/batchWrite"}, "refuses config/batchWrite"),
        ({"refuse": "initialize"}, "refuses initialize"),
        ({"end_at": "hooks/list"}, "no answer to hooks/list"),
        ({"none": True}, "lists none of our hooks"),
        ({"status": "modified"}, "does not trust"),
    ],
)
def test_a_host_that_does_not_do_it_is_named(setup: Setup, plan: dict[str, object], words: str) -> None:
    """Each way to fail has its own words, and the hint says what the user does instead."""
    put_in(setup)
    with pytest.raises(HookTrustError, match=words) as caught:
        ask(setup, **plan)
    assert "/hooks" in caught.value.hint


def test_a_host_that_hangs_is_given_up(setup: Setup) -> None:
    """One deadline covers everything, and the child does not stay."""
    put_in(setup)
    with pytest.raises(HookTrustError, match="in time"):
        ask(setup, seconds=0.5, hang_at="initialize")


def test_a_host_that_is_not_there_is_named(setup: Setup) -> None:
    """Without the program there is a reason and no traceback."""
    put_in(setup)
    with pytest.raises(HookTrustError, match="cannot be started"):
        trust_hooks(
            ("/nonexistent/codex",),
            file=setup.files[1].path,
            commands=("x",),
            cwd=Path("/"),
            environment={},
            deadline_seconds=1,
            stopwatch=SystemStopwatch(),
        )
