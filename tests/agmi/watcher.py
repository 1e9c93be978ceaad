"""A real ``timeline-witness`` in a process of its own, on a Unix socket, and timelines that require it.

The folder of the witness stands for another user or machine: nothing that an adapter puts back lies in it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.agmi.stage import Stage
from timeline import anchoring
from timeline.keystore import read_pins

_PROGRAM: Final = (sys.executable, "-c", "from timeline.entry import main_witness; main_witness()")
FRESHNESS_SECONDS: Final = 600
"""How old the witness's newest signature may be where it does not answer."""

WAIT_SECONDS: Final = 30
"""How long the process may take to end."""


class Watcher:
    """One witness process; it serves until it is closed or stopped."""

    def __init__(self) -> None:
        """Make key and memory, and serve."""
        self._kept = ExitStack()
        # A path of a socket has at most 107 bytes.
        folder = self._kept.enter_context(tempfile.TemporaryDirectory(prefix="tw-", dir="/tmp"))
        self._folder, self.address = Path(folder) / "w", f"unix:{folder}/s"
        self.key = str(self._say("init", "--name", "witness.example/agmi")["vkey"])
        self.start()

    def know(self, stage: Stage) -> None:
        """Tell the witness of a timeline's log, and let the timeline require the witness."""
        pins = read_pins(stage.world.locations)
        self._say("add-log", str(pins.log))
        bounds = anchoring.Bounds(freshness_seconds=FRESHNESS_SECONDS)
        anchoring.add_anchor(stage.world.session, "witness", self.address, key=self.key, bounds=bounds)

    def stop(self) -> None:
        """End the process as a service manager does; what it remembers stays."""
        self._process.terminate()
        self._process.communicate(timeout=WAIT_SECONDS)

    def start(self) -> None:
        """Serve again."""
        self._process = self._serve()

    def copy(self) -> Path:
        """Copy key and memory while it does not serve, and serve again."""
        self.stop()
        copy = Path(tempfile.mkdtemp(dir=self._folder.parent)) / "w"
        shutil.copytree(self._folder, copy)
        self.start()
        return copy

    def restore(self, copy: Path) -> None:
        """Put key and memory back, as nobody can who may only write the timeline's folders; and serve again."""
        self.stop()
        shutil.rmtree(self._folder)
        shutil.copytree(copy, self._folder)
        self.start()

    def close(self) -> None:
        """End the process and remove its folder."""
        if self._process.poll() is None:
            self.stop()
        self._kept.close()

    def _serve(self) -> "subprocess.Popen[bytes]":
        path = self.address.removeprefix("unix:")
        process = subprocess.Popen(
            self._command("serve", "--socket", path), stdout=subprocess.PIPE, env=_environment()
        )
        # It says where it serves once it does.
        if process.stdout is None or not process.stdout.readline():
            message = "timeline-witness did not begin to serve"
            raise RuntimeError(message)
        return process

    def _say(self, *arguments: str) -> dict[str, object]:
        found = subprocess.run(
            self._command(*arguments), stdout=subprocess.PIPE, env=_environment(), check=True
        )
        answer: dict[str, object] = json.loads(found.stdout)
        return answer

    def _command(self, command: str, *arguments: str) -> Sequence[str]:
        return (*_PROGRAM, command, "--dir", str(self._folder), "--json", *arguments)


def _environment() -> dict[str, str]:
    """Ours, with the folder from which this program was imported."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
