"""``python -m sidecars verify-proof`` as a stranger has it: this package, PyNaCl and rfc8785, and nothing else."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sidecars.attestation import attest
from tests.sidecars.proofs import KEYS, WITNESSES, make_case, witness_keys
from tests.sidecars.samples import LOG, STRANGER

DISTRIBUTIONS = ("nacl", "rfc8785", "cffi", "pycparser", "_cffi_backend")
"""PyNaCl with what it needs itself, and rfc8785."""

CASE = make_case().but(witnesses=WITNESSES)
KEY_OPTIONS = [option for key in KEYS for option in ("--key", str(key))]
ALL_OPTIONS = [*KEY_OPTIONS, *(o for witness in witness_keys() for o in ("--witness", str(witness)))]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Give a folder with a copy of the package and links to the two distributions."""
    folder = tmp_path_factory.mktemp("stranger")
    shutil.copytree(root / "sidecars", folder / "sidecars", ignore=shutil.ignore_patterns("__pycache__"))
    for name in DISTRIBUTIONS:
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:  # pycparser is needed to build PyNaCl's binding only
            continue
        origin = Path(found.origin)
        target = origin.parent if found.submodule_search_locations else origin
        (folder / target.name).symlink_to(target)
    return folder


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program where the standard library and ``place`` are all that can be imported."""
    code = (
        f"import sys, runpy; sys.path.insert(0, {str(place)!r}); sys.argv[1:] = {list(arguments)!r}; "
        "runpy.run_module('sidecars', run_name='__main__', alter_sys=True)"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", code],
        cwd=place,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(place)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_nothing_else_can_be_imported_there(place: Path) -> None:
    """The place really lacks the other dependencies."""
    for name in ("msgspec", "click", "timeline", "adapters"):
        code = f"import sys; sys.path.insert(0, {str(place)!r}); import {name}"
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=False)
        assert b"ModuleNotFoundError" in done.stderr, name


@pytest.mark.requirement("X6")
@pytest.mark.parametrize("form", ["bundle", "in-toto"])
def test_a_proof_is_verified_with_two_dependencies(place: Path, tmp_path: Path, form: str) -> None:
    """Both forms, with cosignatures; the JSON says what was proved and what was not."""
    file = tmp_path / "event.proof"
    file.write_bytes(CASE.content if form == "bundle" else attest(CASE.content, LOG))
    done = run(place, "verify-proof", str(file), *ALL_OPTIONS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["verdict"], found["form"], found["event"]["id"]) == ("verified", form, CASE.event.id)
    assert len(found["cosigned"]) == 2
    assert found["notProved"]
    said = run(place, "verify-proof", str(file), *ALL_OPTIONS).stdout
    assert said.startswith(f"verdict: verified  form: {form}\npytest  PASS")
    assert "not proved:" in said


@pytest.mark.requirement("X6")
def test_a_changed_proof_is_refused_there_too(place: Path, tmp_path: Path) -> None:
    """A changed byte, a missing or strange key, no file: exit code 1, reason and hint, and no verdict."""
    file = tmp_path / "event.proof"
    file.write_bytes(CASE.content.replace(b'"passed":3', b'"passed":4'))
    for arguments, reason in (
        ((str(file), *ALL_OPTIONS), "bad-proof"),
        ((str(tmp_path / "none"), *ALL_OPTIONS), "unreadable"),
        ((str(tmp_path), *ALL_OPTIONS), "unreadable"),
        ((str(file), *KEY_OPTIONS), "unknown-key"),
        ((str(file), "--key", str(STRANGER.verifier)), "unknown-key"),
    ):
        done = run(place, "verify-proof", *arguments, "--json")
        assert (done.returncode, done.stdout, json.loads(done.stderr)["reason"]) == (1, "", reason)
        plain = run(place, "verify-proof", *arguments)
        assert (plain.returncode, plain.stdout) == (1, "")
        assert plain.stderr.startswith("sidecars: error: ")
        assert f"[{reason}]" in plain.stderr
        assert ("sidecars: hint: " in plain.stderr) == (reason != "bad-proof")


def test_misuse_ends_with_two(place: Path, tmp_path: Path) -> None:
    """No key, no command, a key that is none, a log key given as a witness."""
    file = tmp_path / "event.proof"
    file.write_bytes(CASE.content)
    for arguments in (
        (),
        ("verify-proof",),
        ("verify-proof", str(file)),
        ("verify-proof", str(file), "--key", "x"),
        ("verify-proof", str(file), *KEY_OPTIONS, "--witness", str(KEYS[1])),
    ):
        done = run(place, *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
    assert "examples:" in run(place, "verify-proof", "--help").stdout
