"""``timeline service``: files in a home of its own, and a manager that notes what it is asked."""

import json
import stat
from pathlib import Path

import pytest

from tests.programs import Run, runner
from timeline import unit_file
from timeline.service_unit import Supervisor, format_unit

FAKE = """\
#!/bin/sh
printf '%s\\n' "$*" >> "{log}"
case "$*" in
  *"{failing}"*) exit 1 ;;
  *is-enabled*) echo enabled ;;
  *is-active*) echo active ;;
esac
"""

ENABLE = [
    "systemctl --user daemon-reload",
    "systemctl --user enable --now timeline.service",
]


class FakeSupervisor:
    """A program that is called systemctl and notes its arguments."""

    def __init__(self, folder: Path) -> None:
        """Let it answer."""
        self.log = folder / "log"
        self.program = folder / "bin" / "systemctl"
        self.program.parent.mkdir()
        self.fail_at("nothing at all")

    def fail_at(self, words: str) -> None:
        """Let it fail for commands with these words."""
        self.program.write_text(FAKE.format(log=self.log, failing=words), encoding="utf-8")
        self.program.chmod(0o755)

    def asked(self) -> list[str]:
        """What it was asked to do, without the questions whether it answers."""
        lines = self.log.read_text(encoding="utf-8").split("\n") if self.log.exists() else []
        return [line for line in lines if line and "show" not in line]


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSupervisor:
    """Give a manager that answers."""
    found = FakeSupervisor(tmp_path)
    monkeypatch.setenv("PATH", f"{found.program.parent}:/usr/bin:/bin")
    monkeypatch.setattr("sys.platform", "linux")
    return found


@pytest.fixture
def unit(home: Path, systemctl: FakeSupervisor) -> Path:
    """Give the place of the unit, in a folder that is not there yet."""
    return home / "config_home" / "systemd" / "user" / "timeline.service"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs a program as its entry point does."""
    return runner(monkeypatch)


def test_install_writes_the_unit_and_enables_it(unit: Path, systemctl: FakeSupervisor, run: Run) -> None:
    """The second time nothing is written, and status says so."""
    code, out, err = run("service", "install", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert (answer["status"], answer["changed"], answer["ran"], answer["left"]) == (
        "installed",
        True,
        ENABLE,
        [],
    )
    assert systemctl.asked() == ["--user daemon-reload", "--user enable --now timeline.service"]
    assert b"TIMELINE_STATE_DIR=" in unit.read_bytes()
    assert stat.S_IMODE(unit.stat().st_mode) == 0o600
    written = unit.stat().st_mtime_ns, unit.read_bytes()
    code, out, _ = run("service", "install")
    assert (code, out.split("\n")[0]) == (0, f"unchanged {unit}")
    assert (unit.stat().st_mtime_ns, unit.read_bytes()) == written
    code, out, _ = run("service", "status", "--json")
    status = json.loads(out)
    assert (code, status["standing"], status["enabled"], status["active"]) == (
        0,
        "current",
        "enabled",
        "active",
    )


def test_uninstall_removes_what_install_wrote(unit: Path, systemctl: FakeSupervisor, run: Run) -> None:
    """The manager forgets it first; a second time there is nothing to do, and nobody is asked."""
    run("service", "install")
    systemctl.log.unlink()
    code, out, _ = run("service", "uninstall")
    assert (code, out.split("\n")[0]) == (0, f"removed {unit}")
    assert systemctl.asked() == ["--user disable --now timeline.service", "--user daemon-reload"]
    assert not unit.exists()
    code, out, _ = run("service", "uninstall")
    assert (code, out) == (0, f"{unit}: not installed\n")
    assert len(systemctl.asked()) == 2


def test_an_older_unit_of_ours_is_replaced(unit: Path, run: Run) -> None:
    """What we wrote and nobody changed is ours to write again."""
    unit.parent.mkdir(parents=True)
    unit.write_bytes(format_unit(unit_file.Daemon("/usr/bin/python3", {})))
    assert json.loads(run("service", "status", "--json")[1])["standing"] == "other-version"
    assert run("service", "install")[0] == 0
    assert b"/usr/bin/python3 -I" not in unit.read_bytes()


@pytest.mark.parametrize("kind", ["foreign", "changed", "link"])
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_file_that_is_not_ours_is_never_touched(
    kind: str, command: str, unit: Path, systemctl: FakeSupervisor, run: Run, tmp_path: Path
) -> None:
    """Neither replaced nor removed, and the manager is not asked to do anything."""
    run("service", "install")
    ours = unit.read_bytes()
    if kind == "link":
        target = tmp_path / "elsewhere"
        target.write_bytes(ours)
        unit.unlink()
        unit.symlink_to(target)
    else:
        unit.write_bytes(b"[Service]\n" if kind == "foreign" else ours.replace(b"1G", b"2G"))
    before = (unit.is_symlink(), unit.read_bytes())
    systemctl.log.unlink()
    code, _, err = run("service", command)
    assert code == 1
    assert "[service-file-foreign]" in err
    assert (unit.is_symlink(), unit.read_bytes()) == before
    assert systemctl.asked() == []


@pytest.mark.parametrize(
    ("failing", "left"), [("show", ENABLE), ("enable", ENABLE[1:])], ids=["silent", "refused"]
)
def test_what_the_manager_does_not_do_is_left_to_the_owner(
    failing: str, left: list[str], unit: Path, systemctl: FakeSupervisor, run: Run
) -> None:
    """In a container nothing answers: the file is there, and the commands are printed."""
    systemctl.fail_at(failing)
    code, out, _ = run("service", "install")
    assert code == 3
    assert out.rstrip("\n").split("\n")[-len(left) :] == left
    assert unit.exists()
    assert "does not answer" in run("service", "status")[1] or failing != "show"


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_dry_run_changes_nothing(command: str, unit: Path, systemctl: FakeSupervisor, run: Run) -> None:
    """It shows the file and the commands."""
    if command == "uninstall":
        run("service", "install")
    before = unit.read_bytes() if unit.exists() else None
    asked = systemctl.asked()
    code, out, _ = run("service", command, "--dry-run")
    assert code == 0
    assert str(unit) in out
    assert "systemctl --user" in out
    assert (unit.read_bytes() if unit.exists() else None) == before
    assert systemctl.asked() == asked


def test_the_same_on_macos(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property list, and launchd's own commands; the manager is played."""
    asked: list[tuple[str, ...]] = []

    def runs(command: object) -> tuple[bool, str]:
        asked.append(tuple(command))  # type: ignore[arg-type]  # a sequence of words
        return True, ""

    service = unit_file.find_service({"HOME": str(home)}, platform="darwin")
    assert service.manager is Supervisor.LAUNCHD
    assert service.path.parent == home / "Library" / "LaunchAgents"
    assert unit_file.install(service, runs).left == ()
    assert asked[-1][:2] == ("launchctl", "bootstrap")
    assert unit_file.look_at(service, runs).standing == "current"
    assert unit_file.uninstall(service, runs).changed
    assert [words[1] for words in asked if words[1] != "print"] == ["bootstrap", "bootout"]
    assert not service.path.exists()


def test_without_any_manager_it_is_said(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And that nothing is needed."""
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr("sys.platform", "linux")
    code, _, err = run("service", "install")
    assert code == 1
    assert "[service-manager-missing]" in err
    assert "started on demand" in err
