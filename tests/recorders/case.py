"""One recorded run: a case, how it is run, and how it is kept."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "adapters" / "objective" / "recorded"
TIMEOUT_SECONDS = 300
KEPT = (
    "HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "LANG", "npm_config_registry", "NPM_CONFIG_REGISTRY", "JAVA_HOME",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One run: ``command`` is what an agent would have typed; ``runs`` is what is run for it here if it differs.

    ``older`` is the expectation for the older of two versions, where that one says something else.
    """

    name: str
    files: dict[str, str]
    command: str
    expect: dict[str, Any] | None
    runs: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    older: dict[str, Any] | None = None


def meaning(outcome: str, *flags: str, **numbers: int | None) -> dict[str, Any]:
    """Return an expectation; numbers that are not given are not printed by the runner."""
    names = ("passed", "failed", "errors", "skipped", "total", "packages_ok", "packages_failed")
    return {"outcome": outcome, "flags": list(flags), **{name: numbers.get(name) for name in names}}


def check(
    outcome: str, *flags: str, errors: int | None = None, warnings: int | None = None
) -> dict[str, Any]:
    """Return an expectation for a build, type checker or linter."""
    return {**meaning(outcome, *flags, errors=errors), "warnings": warnings}


def environment(extra: dict[str, str], programs: Path) -> dict[str, str]:
    """Return the environment of a run: no host's variables, no colours, no pytest options of the caller."""
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    return {**env, "CARGO_NET_OFFLINE": "true", "PYTHONDONTWRITEBYTECODE": "1", "GOFLAGS": "-mod=mod",
            # The expectations name the tests in file order.
            "PYTEST_ADDOPTS": "-p no:randomly", **extra}  # fmt: skip


def run(case: Case, folder: Path, node_modules: Path | None, programs: Path) -> tuple[str, int]:
    """Run one case in ``folder``; return output and exit code."""
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if node_modules is not None:
        (folder / "node_modules").symlink_to(node_modules)
        programs = node_modules / ".bin"
    base = Path(sys.base_prefix, "bin", "python3")
    line = (
        (case.runs or case.command)
        .replace("{base_python}", str(base))
        .replace("uv run ", "")
        .replace("uvx ", "")
    )
    done = subprocess.run(  # noqa: S602 - the commands are the literals of the case modules
        line, shell=True, cwd=folder, env=environment(case.env, programs), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace"), done.returncode


def neutral(text: str, folder: Path, node_modules: Path | None, programs: Path) -> str:
    """Replace what names this machine, its owner and its clock."""
    places = {str(folder): "/w/project", str(programs.parent): "/w/python", sys.prefix: "/w/python",
              sys.base_prefix: "/w/base"}  # fmt: skip
    if node_modules is not None:
        places[str(node_modules)] = "/w/project/node_modules"
    places[str(Path.home())] = "/w/user"
    for place, name in places.items():
        text = text.replace(place, name)
    return re.sub(r"/tmp/[\w./-]*", "/w/tmp", text)


def record(
    runner: str,
    version: str,
    cases: list[Case],
    node_modules: Path | None = None,
    programs: Path = Path(sys.executable).parent,
    *,
    older: bool = False,
) -> None:
    """Run all cases of one runner and write them."""
    target = TARGET / f"{runner}-{version}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    entries = []
    for case in cases:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            output, code = run(case, folder, node_modules, programs)
            text = neutral(output, folder, node_modules, programs)
            (target / f"{case.name}.txt").write_text(text, encoding="utf-8", newline="")
        expect = case.older if older and case.older is not None else case.expect
        entries.append({"name": case.name, "command": case.command, "exit_code": code, "expect": expect})
    (target / "cases.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def version_of(*command: str) -> str:
    """Return the first dotted version that a program prints."""
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    found = re.search(r"[0-9]+(?:\.[0-9]+)+", done.stdout)
    if found is None:
        raise SystemExit(f"no version from {command[0]}")
    return found.group()
