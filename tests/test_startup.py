"""What a command loads: start-up is imports, so the modules that appear are counted and not the milliseconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = frozenset(
    {
        # libraries that cost more than a whole command, or are needed by one command only
        "sqlite_utils",
        "filelock",
        "rapidfuzz",
        "rfc8785",
        "rich",
        "mcp",
        "pydantic",
        "watchdog",
        "platformdirs",
        "numpy",
        "cryptography",
        # parts of the standard library that pull in many others
        "asyncio",
        "unittest",
        "email",
        "http",
        "urllib.request",
        "multiprocessing",
        "concurrent.futures",
        "xml",
        "logging",
        "importlib.metadata",
    }
)
"""Modules that neither importing the command line nor a search may load."""

_LOADED = "import sys, json; {work}; json.dump(sorted(sys.modules), sys.__stdout__)"


def loaded_by(work: str, environment: dict[str, str] | None = None) -> frozenset[str]:
    """Run statements in a new interpreter without site packages' start-up code, and give what it loaded beyond it."""
    before = _modules("pass", environment)
    return _modules(work, environment) - before


def _modules(work: str, environment: dict[str, str] | None) -> frozenset[str]:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED.format(work=work)],
        capture_output=True,
        check=True,
        env=environment,
    )
    return frozenset(json.loads(done.stdout))


def heavy_among(modules: frozenset[str]) -> set[str]:
    """The heavy modules of a set, by their own name or that of a package above."""
    return {name for name in HEAVY if any(m == name or m.startswith(name + ".") for m in modules)}


def test_importing_the_command_line_loads_nothing_heavy() -> None:
    """``timeline --help`` and every usage error pay for click and for our own modules."""
    modules = loaded_by("import timeline.cli")
    assert {"timeline.cli", "timeline.service", "click"} <= modules
    assert not heavy_among(modules)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Give the environment of a timeline with indexed events, as ``timeline demo --keep`` leaves it."""
    folder = tmp_path_factory.mktemp("startup") / "demo"
    plain = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TIMELINE_", "COV_", "PYTEST_"))
    }
    program = "from timeline.entry import main; main()"
    subprocess.run(
        [sys.executable, "-c", program, "demo", "--keep", str(folder)],
        check=True,
        capture_output=True,
        env=plain,
    )
    folders = {
        f"TIMELINE_{name.upper()}_DIR": str(folder / name) for name in ("state", "trust", "config", "runtime")
    }
    return {**plain, **folders, "DEMO_PROJECT": str(folder / "home" / "project")}


def test_a_search_loads_nothing_heavy(demo: dict[str, str], tmp_path: Path) -> None:
    """From two words to verified cards, nothing is loaded that another command needs."""
    answer = tmp_path / "answer.json"
    modules = loaded_by(_search(["pytest", "passed"], answer), demo)
    assert json.loads(answer.read_text(encoding="utf-8"))["status"] == "found"
    assert "timeline.search" in modules
    assert not heavy_among(modules)
    assert not {name for name in modules if name.startswith(UNASKED)}


UNASKED = (
    "adapters.claude",
    "adapters.king",
    "timeline.findings",
    "timeline.formats",
    "timeline.index",
    "timeline.prove",
    "timeline.verify",
)
"""What only other hosts and other commands need."""


def test_only_a_mistyped_word_loads_the_fuzzy_matcher(demo: dict[str, str], tmp_path: Path) -> None:
    """The matcher is paid for by the search that needs it."""
    answer = tmp_path / "answer.json"
    modules = loaded_by(_search(["pytset", "passed"], answer), demo)
    assert json.loads(answer.read_text(encoding="utf-8"))["status"] == "found"
    assert heavy_among(modules) == {"rapidfuzz"}


def _search(words: list[str], answer: Path) -> str:
    """Statements that run a search in process and write its answer to a file."""
    arguments = ["timeline", "search", *words, "--json", "--root"]
    return (
        f"import os; sys.argv = {arguments!r} + [os.environ['DEMO_PROJECT']]; "
        f"sys.stdout = open({str(answer)!r}, 'w', encoding='utf-8'); "
        "from timeline import cli; code = cli._run('timeline', cli.timeline); sys.stdout.close(); "
        "assert code == 0, code"
    )
