"""Packages of another Debian release than this machine's, unpacked into a folder and never installed.

``apt-get`` fetches and checks them with a state of its own, from the mirror that this machine uses: neither its sources
nor its packages change. What needs a newer C library than this machine has cannot be had in this way.
"""

import os
import subprocess
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURATION = """Dir::Etc::sourcelist "{place}/sources";
Dir::Etc::sourceparts "{place}/none";
Dir::Etc::preferencesparts "{place}/none";
Dir::State "{place}";
Dir::State::status "{place}/status";
Dir::Cache "{place}/cache";
APT::Sandbox::User "root";
"""


class Release:
    """The packages of one Debian release; ``place`` is an empty folder for what apt remembers."""

    def __init__(self, release: str, place: Path) -> None:
        for folder in ("none", "lists/partial", "cache/archives/partial", "debs"):
            (place / folder).mkdir(parents=True)
        mirror = _output("apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN)", "Created-By: Packages")
        site = next(line.split()[0] for line in mirror.splitlines() if line.endswith(" Debian"))
        (place / "sources").write_text(f"deb [signed-by={KEYRING}] {site} {release} main\n", encoding="utf-8")
        (place / "status").touch()
        (place / "apt.conf").write_text(CONFIGURATION.format(place=place), encoding="utf-8")
        self._place = place
        self._env = {**os.environ, "APT_CONFIG": str(place / "apt.conf"), "LC_ALL": "C"}
        self._run("apt-get", "-qq", "update")

    def needed_by(self, package: str, *prefixes: str) -> list[str]:
        """Return ``package`` and all that it needs, as far as the names begin with one of ``prefixes``."""
        without = [
            f"--no-{kind}"
            for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
        ]
        lines = self._run("apt-cache", "depends", "--recurse", *without, package).splitlines()
        return sorted({line for line in lines if line.startswith(prefixes)})

    def unpack(self, packages: list[str], target: Path) -> None:
        """Fetch ``packages`` and lay their files under ``target``."""
        debs = self._place / "debs"
        self._run("apt-get", "-qq", "download", *packages, cwd=debs)
        for deb in sorted(debs.glob("*.deb")):
            self._run("dpkg", "-x", str(deb), str(target))
            deb.unlink()

    def _run(self, *command: str, cwd: Path | None = None) -> str:
        return _output(*command, env=self._env, cwd=cwd)


def _output(*command: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    return subprocess.run(
        command, env=env, cwd=cwd, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout
