"""Run the real runners on tiny projects and keep what they printed, for ``test_recorded.py``.

    python -m tests.recorders [runner ...]

Never imported by a test. Each run is a case: files, command, expected meaning (written by hand from the files, never
taken from the code under test). Written to ``tests/adapters/objective/recorded/<runner>-<version>/``: the output as
printed (standard error and output in one stream, folder names replaced) and ``cases.json`` with command, exit code and
expectation. Python and npm packages are installed in pinned versions into a temporary folder; cargo, go, ctest, rspec,
PHPUnit, bats, prove, maven and gradle are those on the ``PATH`` (Debian: ``golang-go cmake ruby-rspec phpunit bats
maven libsurefire-java junit4 gradle``).
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.recorders import cases_javascript as js
from tests.recorders import cases_python as py
from tests.recorders import cases_rust_go as compiled
from tests.recorders import cases_system as system
from tests.recorders.case import Case, record, version_of

NPM = {
    "jest": (js.JEST_CASES, ("30.5.2", "29.7.0")),
    "vitest": (js.VITEST_CASES, ("3.2.4", "2.1.9")),
    "mocha": (js.MOCHA_CASES, ("11.8.0", "10.8.2")),
    "bun": (js.BUN_CASES, ("1.3.14", "1.1.45")),
    "tape": (js.TAPE_CASES, ("5.10.2",)),
    "eslint": (js.ESLINT_CASES, ("9.39.5", "8.57.1")),
    "typescript": (js.TSC_CASES, ("5.9.3", "4.9.5")),
}
"""npm packages, each in versions between which its output or its configuration changed."""
FOLDERS = {"typescript": "tsc", "tape": "tap"}
"""The runner's id where it is not the package's name."""

PYPI = {
    "pytest": (py.PYTEST, ("9.2.0", "7.4.4"), ("pytest-xdist==3.6.1",)),
    "mypy": (py.MYPY, ("2.4.1", "1.11.2"), ()),
    "ruff": (py.RUFF, ("0.17.6", "0.4.10"), ()),
}
SYSTEM: dict[str, tuple[list[Case], tuple[str, ...]]] = {
    "cargo": (compiled.CARGO, ("cargo", "--version")),
    "cargo-build": (compiled.CARGO_BUILD, ("cargo", "--version")),
    "go": (compiled.GO, ("go", "version")),
    "go-build": (compiled.GO_BUILD, ("go", "version")),
    "node": (js.NODE_CASES, ("node", "--version")),
    "ctest": (system.CTEST, ("ctest", "--version")),
    "rspec": (system.RSPEC, ("rspec", "--version")),
    "phpunit": (system.PHPUNIT, ("phpunit", "--version")),
    "tap": (system.TAP, ("bats", "--version")),
    "surefire": (system.SUREFIRE, ("mvn", "--version")),
    "gradle": (system.GRADLE, ("gradle", "--version")),
}


def record_npm(package: str) -> None:
    """Record one npm package in each of its versions."""
    cases, versions = NPM[package]
    runner = FOLDERS.get(package, package)
    for version in versions:
        with tempfile.TemporaryDirectory() as place:
            install = ["npm", "install", "--no-audit", "--no-fund", f"{package}@{version}"]
            subprocess.run(install, cwd=place, check=True, stdout=subprocess.DEVNULL)
            modules = Path(place).resolve() / "node_modules"
            record(runner, version, cases, modules, older=version != versions[0])


def record_pypi(package: str) -> None:
    """Record one Python package in each of its versions."""
    cases, versions, more = PYPI[package]
    for version in versions:
        with tempfile.TemporaryDirectory() as place:
            venv.create(place, with_pip=True)
            programs = Path(place).resolve() / "bin"
            install = [str(programs / "pip"), "install", "-q", f"{package}=={version}", *more]
            subprocess.run(install, check=True)
            old = [case for case in cases if "subtests" not in case.name or version.startswith("9")]
            record(package, version, old, programs=programs, older=version != versions[0])


def record_system(name: str) -> None:
    """Record one program of this machine."""
    cases, version = SYSTEM[name]
    record(name, version_of(*version), cases)


def main(wanted: list[str]) -> None:
    """Record the named runners, or all."""
    for name in wanted or [*NPM, *PYPI, *SYSTEM, "unittest"]:
        if name in NPM:
            record_npm(name)
        elif name in PYPI:
            record_pypi(name)
        elif name in SYSTEM:
            record_system(name)
        else:
            record("unittest", ".".join(map(str, sys.version_info[:2])), py.UNITTEST)


if __name__ == "__main__":
    main(sys.argv[1:])
