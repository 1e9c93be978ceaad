"""Codex in a terminal: each window is a client of one background process, which outlives them all.

The windows stay open until the case ends, so that both sessions live in that process at once.
"""

import fcntl
import os
import pty
import struct
import termios
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.hosts.app_server import FAILED, SharedCodex
from tests.hosts.machine import Machine
from tests.hosts.turn import Turn, until

_SIZE: Final = struct.pack("4H", 40, 120, 0, 0)
_ANSWERS: Final = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62c",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
"""What a terminal says when it is asked for its cursor, its kind and its colours."""

_ENDED: Final = b'"type":"task_complete"'


class Window:
    """One terminal window with Codex in it, as a turn: it ends with the thread's own record of its end."""

    def __init__(self, command: list[str], machine: Machine, codex: SharedCodex, resume: str | None) -> None:
        self.args = command
        self._machine, self._codex, self._resume = machine, codex, resume
        self._before = {path: path.stat().st_size for path in codex.transcripts(machine)}
        environment = machine.environment() | codex.variables(machine)
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(machine.project)
            os.execve(command[0], command, environment)  # noqa: S606  # no shell is wanted
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, _SIZE)
        threading.Thread(target=self._draw, daemon=True).start()

    def poll(self) -> int | None:
        """0 as soon as the rollout has grown by the end of a turn; the window stays."""
        if (path := self._rollout()) is not None:
            with path.open("rb") as rollout:
                rollout.seek(self._before.get(path, 0))
                if _ENDED in rollout.read():
                    return 0
        pid, _ = os.waitpid(self._pid, os.WNOHANG)
        return FAILED if pid else None

    def _rollout(self) -> Path | None:
        """That of the session; a later one is of an agent that it started."""
        for path in self._codex.transcripts(self._machine):
            if self._codex.session_of(path) == self._resume or (
                not self._resume and path not in self._before
            ):
                return path
        return None

    def wait(self, timeout: float) -> int:
        """How the turn ended; it is not waited for longer than for anything else."""
        return until("the end of the turn", self.poll)

    def kill(self) -> None:
        """The window ends with the case."""

    def _draw(self) -> None:
        while True:
            try:
                shown = os.read(self._terminal, 65536)
            except OSError:
                return
            for question, answer in _ANSWERS.items():
                if question in shown:
                    os.write(self._terminal, answer)


@dataclass(slots=True)
class TerminalCodex(SharedCodex):
    """``codex PROMPT`` in windows; the background process is the one that Codex itself starts."""

    shows_claims: bool = field(default=False, init=False)

    def configure(self, machine: Machine) -> None:
        """As ever, and with the background process, which is Codex's default."""
        SharedCodex.configure(self, machine)
        config = self.home(machine) / "config.toml"
        text = config.read_text(encoding="utf-8").replace(
            "daemon_auto_start = false", "daemon_auto_start = true"
        )
        config.write_text(text, encoding="utf-8")

    def start(self, machine: Machine, turn: str, prompt: str, *, resume: str | None = None) -> Turn:
        """``codex [resume ID] PROMPT``."""
        chosen = ["resume", resume] if resume else []
        return Window([str(machine.program), *chosen, prompt], machine, self, resume)
