"""Run the real test runners on tiny projects and keep what they printed, for ``test_recorded.py``.

    python tests/adapters/objective/record_runs.py [runner ...]

Never imported by a test. Each run is a case: files, command, expected meaning (written here by hand from the
files, never taken from the code under test). Written to ``recorded/<runner>-<version>/``: the output as printed
(standard error and output in one stream, folder names replaced) and ``cases.json`` with command, exit code and
expectation. pytest and unittest run under the interpreter that runs this script; cargo and go must be on the
``PATH``; jest and vitest are installed in pinned versions into a temporary folder.
"""

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

HERE = Path(__file__).parent
JEST, VITEST = "30.5.2", "3.2.4"
TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class Case:
    """One run: ``command`` is what an agent would have typed; ``runs`` is what is run for it here if it differs."""

    name: str
    files: dict[str, str]
    command: str
    expect: dict[str, Any] | None
    runs: str | None = None
    env: dict[str, str] = field(default_factory=dict)


def meaning(outcome: str, *flags: str, **numbers: int | None) -> dict[str, Any]:
    """Return an expectation; numbers that are not given are not printed by the runner."""
    names = ("passed", "failed", "errors", "skipped", "total", "packages_ok", "packages_failed")
    return {"outcome": outcome, "flags": list(flags), **{name: numbers.get(name) for name in names}}


def py(outcome: str, *flags: str, **numbers: int) -> dict[str, Any]:
    """Return an expectation for pytest, which leaves out what is zero."""
    zero = dict.fromkeys(("passed", "failed", "errors", "skipped", "total"), 0)
    return meaning(outcome, *flags, **{**zero, **numbers})


TWO = "def test_a():\n    assert True\n\ndef test_b():\n    assert True\n"
ONE_OF_TWO = "def test_a():\n    assert True\n\ndef test_b():\n    assert 1 == 2\n"
MIXED = """import pytest, warnings
def test_pass(): warnings.warn("w")
def test_fail(): assert 0
@pytest.mark.skip
def test_skip(): pass
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.fixture
def bad(): raise ValueError
def test_error(bad): pass
"""
OLD_LOG = 'def test_a():\n    print("\\n=========== 12 passed in 0.52s ===========")\n    assert {}\n'
PYTEST = [
    Case("two", {"test_x.py": TWO}, "pytest", py("pass", passed=2, total=2)),
    Case("quiet", {"test_x.py": TWO}, "pytest -q", py("pass", passed=2, total=2)),
    Case("colour", {"test_x.py": TWO}, "python -m pytest --color=yes", py("pass", passed=2, total=2)),
    Case("one-of-two", {"test_x.py": ONE_OF_TWO}, "pytest -q", py("fail", passed=1, failed=1, total=2)),
    Case(
        "mixed",
        {"test_x.py": MIXED},
        "uv run pytest -v",
        py("fail", passed=1, failed=1, errors=1, skipped=1, total=6),
    ),
    Case("all-skipped", {"test_x.py": "import pytest\npytestmark = pytest.mark.skip\n" + TWO}, "pytest",
         py("skipped", skipped=2, total=2)),
    Case("only-expected-failure",
         {"test_x.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\n"}, "pytest",
         py("skipped", total=1)),
    Case("nothing-collected", {"x.py": ""}, "pytest", py("skipped")),
    Case("all-deselected", {"test_x.py": TWO}, "pytest -k nothing", py("skipped")),
    Case("some-deselected", {"test_x.py": TWO}, "pytest -k test_a", py("pass", passed=1, total=1)),
    Case("does-not-import", {"test_x.py": "import nothing_of_this_name\n"}, "pytest", py("error", errors=1, total=1)),
    Case("fixture-error", {"test_x.py": "import pytest\n@pytest.fixture\ndef f(): raise ValueError\n"
                           "def test_a(f): pass\n"}, "pytest -q", py("error", errors=1, total=1)),
    Case("interrupted", {"test_x.py": "def test_a(): pass\ndef test_b(): raise KeyboardInterrupt\n"}, "pytest",
         py("cancelled", passed=1, total=1)),
    Case("max-fail", {"test_x.py": ONE_OF_TWO + "def test_c(): pass\n"}, "pytest -x",
         py("fail", passed=1, failed=1, total=2)),
    Case("parallel", {"test_x.py": TWO}, "pytest -n 2", py("pass", passed=2, total=2)),
    Case("subtests", {"test_x.py": "def test_a(subtests):\n    for i in range(3):\n        with subtests.test(i=i):\n"
                      "            assert i\n"}, "pytest", py("fail", failed=2, total=2)),
    Case("subtests-pass", {"test_x.py": "def test_a(subtests):\n    with subtests.test(i=1):\n        pass\n"},
         "pytest", py("pass", passed=1, total=1)),
    Case("very-quiet", {"test_x.py": TWO}, "pytest -qq", meaning("unknown", "partial")),
    Case("unknown-option", {"test_x.py": TWO}, "pytest --no-such-option", meaning("error")),
    Case("not-installed", {"test_x.py": TWO}, "python -m pytest", meaning("error"),
         runs="{base_python} -I -S -m pytest"),
    Case("version", {}, "pytest --version", None),
    Case("collect-only", {"test_x.py": TWO}, "pytest --collect-only -q", None),
    Case("prints-an-old-summary-and-passes", {"test_x.py": OLD_LOG.format(1)}, "pytest -s",
         py("unknown", "inconsistent", passed=1, total=1)),
    Case("prints-an-old-summary-and-fails", {"test_x.py": OLD_LOG.format(0)}, "pytest",
         py("unknown", "inconsistent", failed=1, total=1)),
]  # fmt: skip

UNIT = "import unittest\nclass T(unittest.TestCase):\n"
UNITTEST = [
    Case("two", {"test_x.py": UNIT + "    def test_a(self): pass\n    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("verbose", {"test_x.py": UNIT + "    def test_a(self): pass\n"}, "python -m unittest -v test_x",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1)),
    Case("fail-and-error", {"test_x.py": UNIT + "    def test_a(self): self.fail()\n    def test_b(self): 1/0\n"
                            "    def test_c(self): pass\n"}, "python3 -m unittest",
         meaning("fail", failed=1, errors=1, skipped=0, total=3)),
    Case("skip", {"test_x.py": UNIT + "    @unittest.skip('')\n    def test_a(self): pass\n"
                  "    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", failed=0, errors=0, skipped=1, total=2)),
    Case("all-skipped", {"test_x.py": UNIT + "    @unittest.skip('')\n    def test_a(self): pass\n"},
         "python -m unittest", meaning("skipped", failed=0, errors=0, skipped=1, total=1)),
    Case("expected-failure", {"test_x.py": UNIT + "    @unittest.expectedFailure\n    def test_a(self): self.fail()\n"
                              "    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", failed=0, errors=0, skipped=0, total=2)),
    Case("unexpected-success", {"test_x.py": UNIT + "    @unittest.expectedFailure\n    def test_a(self): pass\n"},
         "python -m unittest", meaning("fail", failed=1, errors=0, skipped=0, total=1)),
    Case("subtests", {"test_x.py": UNIT + "    def test_a(self):\n        for i in range(3):\n"
                      "            with self.subTest(i=i):\n                self.assertTrue(i < 1)\n"},
         "python -m unittest", meaning("fail", failed=2, errors=0, skipped=0, total=1)),
    Case("class-setup-error", {"test_x.py": UNIT + "    @classmethod\n    def setUpClass(cls): 1/0\n"
                               "    def test_a(self): pass\n"}, "python -m unittest",
         meaning("error", failed=0, errors=1, skipped=0, total=0)),
    Case("does-not-import", {"test_x.py": "import nothing_of_this_name\n"}, "python -m unittest",
         meaning("error", failed=0, errors=1, skipped=0, total=1)),
    Case("usage", {}, "python -m unittest --no-such-option", meaning("error")),
    Case("help", {}, "python -m unittest -h", None),
]  # fmt: skip
if sys.version_info < (3, 12):
    UNITTEST.append(Case("nothing", {"x.py": ""}, "python -m unittest",
                         meaning("skipped", passed=0, failed=0, errors=0, skipped=0, total=0)))  # fmt: skip

CRATE = {"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'}
LIB = "#[test]\nfn a() {}\n#[test]\nfn b() {}\n#[test]\n#[ignore]\nfn c() {}\n"
DOC = "/// ```\n/// assert_eq!(1, 1);\n/// ```\npub fn d() {}\n"
BAD = "#[test]\nfn bad() { assert_eq!(1, 2) }\n"
CARGO = [
    Case("targets", {**CRATE, "src/lib.rs": DOC + LIB, "tests/it.rs": "#[test]\nfn e() {}\n"}, "cargo test",
         meaning("pass", passed=4, failed=0, skipped=1, total=5)),
    Case("quiet", {**CRATE, "src/lib.rs": LIB}, "cargo test -q",
         meaning("pass", passed=2, failed=0, skipped=1, total=3)),
    Case("fail", {**CRATE, "src/lib.rs": LIB + BAD}, "cargo +stable test",
         meaning("fail", passed=2, failed=1, skipped=1, total=4), runs="cargo test"),
    Case("no-fail-fast", {**CRATE, "src/lib.rs": BAD, "tests/it.rs": LIB + BAD}, "cargo test --no-fail-fast",
         meaning("fail", passed=2, failed=2, skipped=1, total=5)),
    Case("does-not-build", {**CRATE, "src/lib.rs": "fn x( {"}, "cargo test", meaning("error")),
    Case("aborts", {**CRATE, "src/lib.rs": "#[test]\nfn a() {}\n",
                    "tests/it.rs": "#[test]\nfn e() { std::process::abort() }\n"}, "cargo test",
         meaning("unknown", "inconsistent", "partial", passed=1, failed=0, skipped=0, total=1)),
    Case("nothing", {**CRATE, "src/lib.rs": ""}, "cargo test --lib",
         meaning("skipped", passed=0, failed=0, skipped=0, total=0)),
    Case("no-run", {**CRATE, "src/lib.rs": LIB}, "cargo test --no-run", None),
    Case("list", {**CRATE, "src/lib.rs": LIB}, "cargo test -- --list", None),
]  # fmt: skip

MOD = {"go.mod": "module example.test/m\n\ngo 1.19\n"}
GO_OK = 'package p\nimport "testing"\nfunc TestA(t *testing.T) {}\nfunc TestS(t *testing.T) { t.Skip() }\n'
GO_SUB = ('package p\nimport "testing"\nfunc TestSub(t *testing.T) {\n t.Run("x", func(t *testing.T) {})\n'
          ' t.Run("y", func(t *testing.T) { t.Fail() })\n}\n')  # fmt: skip
GO_BAD = 'package p\nimport "testing"\nfunc TestBad(t *testing.T) { t.Fatal("no") }\n'
GO_EXIT = 'package p\nimport ("os"; "testing")\nfunc TestE(t *testing.T) { os.Exit(3) }\n'
GO = [
    Case("packages", {**MOD, "a/a_test.go": GO_OK, "b/b_test.go": GO_OK, "c/c.go": "package p\n"}, "go test ./...",
         meaning("pass", failed=0, packages_ok=2, packages_failed=0)),
    Case("verbose", {**MOD, "a/a_test.go": GO_OK}, "go test -v ./...",
         meaning("pass", passed=1, failed=0, skipped=1, total=2, packages_ok=1, packages_failed=0)),
    Case("subtests", {**MOD, "a/a_test.go": GO_SUB, "b/b_test.go": GO_OK}, "go test -v ./...",
         meaning("fail", passed=1, failed=1, skipped=1, total=3, packages_ok=1, packages_failed=1)),
    Case("fail", {**MOD, "a/a_test.go": GO_BAD, "b/b_test.go": GO_OK}, "go test ./...",
         meaning("fail", failed=1, packages_ok=1, packages_failed=1)),
    Case("one-package", {**MOD, "a_test.go": GO_OK}, "go test",
         meaning("pass", failed=0, packages_ok=1, packages_failed=0)),
    Case("coverage", {**MOD, "a_test.go": GO_OK}, "go test -cover",
         meaning("pass", failed=0, packages_ok=1, packages_failed=0)),
    Case("does-not-build", {**MOD, "a/a_test.go": "package p\nfunc x( {\n"}, "go test ./...",
         meaning("error", failed=0, packages_ok=0, packages_failed=1)),
    Case("exits", {**MOD, "a/a_test.go": GO_EXIT}, "go test ./...", meaning("fail", packages_ok=0, packages_failed=1)),
    Case("no-tests-match", {**MOD, "a/a_test.go": GO_OK}, "go test -run Nothing ./...",
         meaning("skipped", passed=0, failed=0, skipped=0, total=0, packages_ok=1, packages_failed=0)),
    Case("no-test-files", {**MOD, "c/c.go": "package p\n"}, "go test ./...", meaning("unknown", "partial")),
    Case("list", {**MOD, "a/a_test.go": GO_OK}, "go test -list . ./...", None),
]  # fmt: skip

JS_OK = "test('a', () => {});\ntest('b', () => {});\ntest.skip('c', () => {});\ntest.todo('d');\n"
JS_BAD = "test('a', () => {});\ntest('b', () => { expect(1).toBe(2); });\n"
JS_IMPORT = "import { expect, test } from 'vitest';\n"


def package(script: str) -> dict[str, str]:
    """Return a package whose test script is ``script``."""
    return {
        "package.json": json.dumps(
            {"name": "p", "private": True, "version": "1.0.0", "scripts": {"test": script}}
        )
    }


JEST_CASES = [
    Case("two", {**package("jest"), "a.test.js": JS_OK}, "npx jest",
         meaning("pass", passed=2, failed=0, skipped=1, total=4)),
    Case("script", {**package("jest"), "a.test.js": JS_OK}, "npm test",
         meaning("pass", passed=2, failed=0, skipped=1, total=4)),
    Case("script-fails", {**package("jest"), "a.test.js": JS_BAD}, "npm run test",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("colour", {**package("jest"), "a.test.js": JS_BAD}, "node_modules/.bin/jest --colors",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("does-not-load", {**package("jest"), "a.test.js": "throw new Error('x');\n", "b.test.js": JS_OK},
         "yarn jest", meaning("error", passed=2, failed=0, skipped=1, total=4), runs="npx jest"),
    Case("bail", {**package("jest"), "a.test.js": JS_BAD, "b.test.js": JS_BAD}, "npx jest --bail -i",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("nothing", {**package("jest"), "x.js": ""}, "npx jest", meaning("error")),
    Case("list", {**package("jest"), "a.test.js": JS_OK}, "npx jest --listTests", None),
]  # fmt: skip
VITEST_CASES = [
    Case("two", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npx vitest run",
         meaning("pass", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("script", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npm test",
         meaning("pass", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("script-fails", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_BAD}, "npm run -s test -- --bail=0",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2)),
    Case("colour", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_BAD}, "pnpm exec vitest run",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2), runs="npx vitest run",
         env={"FORCE_COLOR": "1"}),
    Case("expected-fail", {**package("vitest run"),
                           "a.test.js": JS_IMPORT + "test.fails('x', () => { expect(1).toBe(2); });\n"},
         "npx vitest run", meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1)),
    Case("does-not-load", {**package("vitest run"), "a.test.js": "throw new Error('x');\n",
                           "b.test.js": JS_IMPORT + JS_OK}, "npx vitest run",
         meaning("error", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("unhandled-error", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK
                             + "test('u', async () => { setTimeout(() => { throw new Error('x'); }, 0);"
                             " await new Promise((r) => setTimeout(r, 50)); });\n"}, "bunx vitest run",
         meaning("error", passed=3, failed=0, errors=1, skipped=1, total=5), runs="npx vitest run"),
    Case("nothing", {**package("vitest run"), "x.js": ""}, "npx vitest run", meaning("error")),
    Case("list", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npx vitest list", None),
]  # fmt: skip


def environment(extra: dict[str, str]) -> dict[str, str]:
    """Return the environment of a run: no host's variables, no colours, no pytest options of the caller."""
    kept = ("HOME", "PATH", "CARGO_HOME", "RUSTUP_HOME", "LANG", "npm_config_registry", "NPM_CONFIG_REGISTRY")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    return {**env, "CARGO_NET_OFFLINE": "true", "PYTHONDONTWRITEBYTECODE": "1", "GOFLAGS": "-mod=mod",
            # The expectations name the tests in file order.
            "PYTEST_ADDOPTS": "-p no:randomly", **extra}  # fmt: skip


def run(case: Case, folder: Path, node_modules: Path | None) -> tuple[str, int]:
    """Run one case in ``folder``; return output and exit code."""
    for name, text in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if node_modules is not None:
        (folder / "node_modules").symlink_to(node_modules)
    base = Path(sys.base_prefix, "bin", "python3")
    line = (case.runs or case.command).format(base_python=base).replace("uv run ", "")
    done = subprocess.run(  # noqa: S602 - the commands are the literals above
        line, shell=True, cwd=folder, env=environment(case.env), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    return done.stdout.decode("utf-8", "replace"), done.returncode


def neutral(text: str, folder: Path, node_modules: Path | None) -> str:
    """Replace what names this machine."""
    places = {str(folder): "/w/project", sys.prefix: "/w/python", sys.base_prefix: "/w/base"}
    if node_modules is not None:
        places[str(node_modules)] = "/w/project/node_modules"
    places[str(Path.home())] = "/w/home"
    for place, name in places.items():
        text = text.replace(place, name)
    return re.sub(r"/tmp/[\w./-]*", "/w/tmp", text)


def record(runner: str, version: str, cases: list[Case], node_modules: Path | None = None) -> None:
    """Run all cases of one runner and write them."""
    target = HERE / "recorded" / f"{runner}-{version}"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    entries = []
    for case in cases:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place).resolve()
            output, code = run(case, folder, node_modules)
            (target / f"{case.name}.txt").write_text(
                neutral(output, folder, node_modules), encoding="utf-8", newline=""
            )
        entries.append({"name": case.name, "command": case.command, "exit_code": code, "expect": case.expect})
    (target / "cases.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def version_of(*command: str) -> str:
    """Return the first dotted version that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment({}))
    found = re.search(r"[0-9]+(?:\.[0-9]+)+", done.stdout)
    if found is None:
        raise SystemExit(f"no version from {command[0]}")
    return found.group()


def main(wanted: list[str]) -> None:
    """Record the named runners, or all."""
    wanted = wanted or ["pytest", "unittest", "cargo", "go", "jest", "vitest"]
    if "pytest" in wanted:
        record("pytest", version_of(sys.executable, "-m", "pytest", "--version"), PYTEST)
    if "unittest" in wanted:
        record("unittest", ".".join(map(str, sys.version_info[:2])), UNITTEST)
    if "cargo" in wanted:
        record("cargo", version_of("cargo", "--version"), CARGO)
    if "go" in wanted:
        record("go", version_of("go", "version"), GO)
    if {"jest", "vitest"} & set(wanted):
        with tempfile.TemporaryDirectory() as place:
            install = ["npm", "install", "--no-audit", "--no-fund", f"jest@{JEST}", f"vitest@{VITEST}"]
            subprocess.run(install, cwd=place, check=True, stdout=subprocess.DEVNULL)
            modules = Path(place).resolve() / "node_modules"
            if "jest" in wanted:
                record("jest", JEST, JEST_CASES, modules)
            if "vitest" in wanted:
                record("vitest", VITEST, VITEST_CASES, modules)


if __name__ == "__main__":
    main(sys.argv[1:])
