"""One temporary machine: a home, a project with tests of our making, and the commands of an owner.

Nothing of the person who runs this is read or changed: the environment of every process is made here from nothing.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts.rig import Rig

COMMAND_SECONDS = 60
_PROGRAMS = Path(sys.executable).parent

WAIT_FOR_OWNER = """\
# The agent's first step: the owner enrolls the session while it runs.
for _ in $(seq 1200); do
    [ -e .git/enrolled ] && exit 0
    sleep 0.05
done
exit 1
"""
PASSING, FAILING = 3, 1


@dataclass(frozen=True, slots=True)
class Machine:
    """The folders of one case."""

    folder: Path
    rig: Rig
    program: Path
    """The host."""

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """A git repository with tests that pass and one that fails."""
        return self.folder / "proj"

    @property
    def logs(self) -> Path:
        """What the hosts printed."""
        return self.folder / "log"

    @property
    def runtime(self) -> Path:
        """Timeline's runtime folder."""
        return self.folder / "run/timeline"

    def environment(self) -> dict[str, str]:
        """The variables of a user who has just logged in."""
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": f"{_PROGRAMS}:{self.program.parent}:{self.rig.node}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "TMPDIR": str(self.folder / "tmp"),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
        }

    def prepare(self) -> None:
        """Make the folders and the project."""
        for place in (self.home, self.project, self.logs, self.folder / "tmp", self.folder / "run"):
            place.mkdir(parents=True, mode=0o700)
        bodies = [f"def test_sum_{n}():\n    assert {n} + {n} == {2 * n}\n" for n in range(PASSING)]
        bodies += [f"def test_product_{n}():\n    assert {n} * 2 == 5\n" for n in range(FAILING)]
        (self.project / "test_numbers.py").write_text("\n\n".join(bodies), encoding="utf-8")
        (self.project / "wait_for_owner.sh").write_text(WAIT_FOR_OWNER, encoding="utf-8")
        self.run("git", "init", "-q")

    def run(self, *command: str, **more: str) -> str:
        """Run a program in the project as its user; the output.

        Raises:
            AssertionError: it failed.
        """
        done = self.attempt(*command, **more)
        if done.returncode:
            raise AssertionError(
                f"{' '.join(command[:4])}: exit {done.returncode}: {done.stderr or done.stdout}"
            )
        return done.stdout

    def attempt(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the project as its user, whatever comes of it."""
        return subprocess.run(
            command,
            cwd=self.project,
            env=self.environment() | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def timeline(self, *arguments: str, **more: str) -> str:
        """Run the owner's command."""
        return self.run("timeline", *arguments, **more)

    def ask(self, *arguments: str, **more: str) -> dict[str, Any]:
        """Run the owner's command with ``--json``; its answer."""
        answer: dict[str, Any] = json.loads(self.timeline(*arguments, "--json", **more))
        return answer
