"""The text of unit and property list: what systemd and launchd make of it, and whose file it is."""

import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from timeline.service_unit import (
    AGENT_LABEL,
    Daemon,
    Supervisor,
    UnitStanding,
    decide_standing,
    format_agent,
    format_file,
    format_unit,
    kept_variables,
)

AWKWARD = '/w/50% of "all" $HOME\\x\ty/state'
DAEMON = Daemon("/opt/python/bin/python3", {"TIMELINE_STATE_DIR": AWKWARD, "XDG_DATA_HOME": "/w/data"})


def test_the_agent_says_what_to_run_and_with_which_variables() -> None:
    """Parsed as launchd parses it, comment and all."""
    found = plistlib.loads(format_agent(DAEMON))
    assert found["Label"] == AGENT_LABEL
    assert found["ProgramArguments"] == [
        "/opt/python/bin/python3",
        "-I",
        "-m",
        "timeline",
        "daemon",
        "run",
    ]
    assert found["EnvironmentVariables"] == {"TIMELINE_STATE_DIR": AWKWARD, "XDG_DATA_HOME": "/w/data"}
    assert found["KeepAlive"] == {"SuccessfulExit": False}
    assert found["Umask"] == 0o077


def test_the_unit_escapes_what_systemd_would_replace() -> None:
    """A percent sign, quotes, a backslash and a tab reach the daemon as they are; a dollar is no variable there."""
    unit = format_unit(DAEMON).decode()
    escaped = '/w/50%% of \\"all\\" $HOME\\\\x\\x09y/state'
    assert f'Environment="TIMELINE_STATE_DIR={escaped}"\n' in unit
    assert "ExecStart=/opt/python/bin/python3 -I -m timeline daemon run\n" in unit
    spaced = format_unit(Daemon("/w/my python%", {})).decode()
    assert 'ExecStart="/w/my python%%" -I -m timeline daemon run\n' in spaced


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("folder", [sys.executable, "spaced"], ids=["plain", "awkward"])
def test_systemd_accepts_the_unit(folder: str, tmp_path: Path) -> None:
    """Every line is known, and the program is found by the name that was escaped."""
    interpreter = Path(folder)
    if folder == "spaced":
        interpreter = tmp_path / 'a "b" 50% c' / "python"
        interpreter.parent.mkdir()
        interpreter.symlink_to(sys.executable)
    unit = tmp_path / "timeline.service"
    unit.write_bytes(format_unit(Daemon(str(interpreter), {"TIMELINE_STATE_DIR": AWKWARD})))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    ours = [line for line in (done.stdout + done.stderr).split("\n") if "timeline.service" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("manager", Supervisor)
def test_whose_file_it_is(manager: Supervisor) -> None:
    """Ours as it would be now, ours of another version, ours and changed, somebody else's, none."""
    wanted = format_file(manager, DAEMON)
    other = format_file(manager, Daemon("/usr/bin/python3", {}))
    assert decide_standing(None, wanted) is UnitStanding.ABSENT
    assert decide_standing(wanted, wanted) is UnitStanding.CURRENT
    assert decide_standing(other, wanted) is UnitStanding.OTHER
    assert decide_standing(other.replace(b"daemon", b"demon"), wanted) is UnitStanding.CHANGED
    assert decide_standing(other + b"\n", wanted) is UnitStanding.CHANGED
    assert decide_standing(b"\n" + other, wanted) is UnitStanding.CHANGED
    assert decide_standing(b"[Service]\nExecStart=/bin/true\n", wanted) is UnitStanding.FOREIGN
    assert decide_standing(b"", wanted) is UnitStanding.FOREIGN


def test_only_what_moves_the_folders_is_kept() -> None:
    """No other variable of the owner's shell gets into a file; an empty one says nothing."""
    environment = {"TIMELINE_TRUST_DIR": "/w/t", "PATH": "/bin", "API_TOKEN": "x", "XDG_DATA_HOME": ""}
    environment["XDG_RUNTIME_DIR"] = "/run/user/1"
    assert kept_variables(environment) == {"TIMELINE_TRUST_DIR": "/w/t"}


def test_a_program_that_systemd_does_not_take_is_run_by_a_shell() -> None:
    """Quotes in the interpreter's path: the shell gets the path as one word, and the same arguments."""
    unit = format_unit(Daemon('/w/a "b"/python', {})).decode()
    (line,) = [line for line in unit.split("\n") if line.startswith("ExecStart=")]
    script = '"exec \\"$$0\\" \\"$$@\\""'
    assert line == f'ExecStart=/bin/sh -c {script} "/w/a \\"b\\"/python" -I -m timeline daemon run'
