"""Commands of the owner, run for real below chains of processes of every shape."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.simulators.worlds import FOLDERS
from timeline import service, state
from timeline.paths import Locations

DRIVER: Final = Path(__file__).with_name("driver.py")
SECONDS_MAX: Final = 30
ROOT: Final = Path(__file__).resolve().parents[2]
TIMELINE: Final = (sys.executable, "-m", "timeline")
CONSENT: Final = ("formats", "accept", "codex", "event_msg/new_thing")
"""A command that records a decision of the owner, and needs no transcript."""

PASSPHRASE: Final = "correct horse battery"


class Owned(msgspec.Struct, frozen=True):
    """A timeline of the test, and where programs with other names are made."""

    folder: Path
    session: service.Session

    @property
    def size(self) -> int:
        """How many leaves the log has."""
        with state.open_local(self.session.locations, self.session.ports) as opened:
            return opened.belief.size

    def environment(self, **more: str) -> dict[str, str]:
        """What a command needs to find this timeline, and nothing of who runs the tests."""
        folders = {f"TIMELINE_{name.upper()}_DIR": str(self.folder / name) for name in FOLDERS}
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, **folders, "PYTHONPATH": str(ROOT), **more}

    def named(self, name: str) -> str:
        """A Python that the system shows under this name."""
        place = self.folder / "programs" / name
        place.parent.mkdir(exist_ok=True)
        if not place.exists():
            place.symlink_to(os.path.realpath(sys.executable))
        return str(place)

    def run(
        self,
        shape: str,
        command: Sequence[str] = (*TIMELINE, *CONSENT),
        *,
        program: str = "xterm",
        typed: str = "",
        environment: dict[str, str] | None = None,
    ) -> str:
        """What the command says below a program of this name, in this shape."""
        reading, writing = os.pipe()
        arguments = [self.named(program), "-S", "-E", str(DRIVER), shape, str(writing), typed, *command]
        with os.fdopen(reading, "rb") as said:
            started = subprocess.Popen(
                arguments,
                pass_fds=(writing,),
                env=self.environment() if environment is None else environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            os.close(writing)
            found = said.read()
            started.wait(timeout=SECONDS_MAX)
        return found.decode().replace("\r\n", "\n")


def own(folder: Path, *, owner_presence: service.OwnerPresence = "terminal") -> Owned:
    """A timeline whose log wants the owner's presence."""
    folder.mkdir(mode=0o700, exist_ok=True)
    locations = Locations(**{name: folder / name for name in FOLDERS})
    session = service.Session(locations, environment={})
    service.init_state(session, owner_presence=owner_presence)
    return Owned(folder, session)


def reason_of(said: str) -> str | None:
    """The reason in what a program says; ``None`` where it refuses nothing."""
    found = re.search(r"error: .*\[([a-z-]+)\]", said)
    return None if found is None else found[1]
