"""What is shipped: the wheel's names, the sdist's contents, and that the wheel runs by itself (ADR 0002)."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import timeline
from tests.sidecars.proofs import KEYS, make_case

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.packaging

SHIPPED = {
    "timeline",
    "adapters",
    "sidecars",
    "tests",
    "fixtures",
    "plugins",
    "docs",
    "benchmarks",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "pyproject.toml",
    "PKG-INFO",
    ".gitignore",
}
"""All that may stand at the top of the sdist; hatchling adds the last three itself."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build wheel and sdist once, from a copy, so that nothing is left in the checkout."""
    work = tmp_path_factory.mktemp("packaging")
    source = work / "source"
    skip = shutil.ignore_patterns(".venv", ".git", ".corpus", "*_cache", ".hypothesis", "dist", "build")
    shutil.copytree(ROOT, source, ignore=skip)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(work / "dist")]
    result = subprocess.run(
        command, cwd=source, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stderr
    return work / "dist"


def installed(built: Path, target: Path) -> Path:
    """Unpack the wheel as an installer would, without its dependencies."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def run(target: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that has the unpacked wheel and the dependencies, and not the checkout."""
    site = sysconfig.get_paths()["purelib"]
    # The editable install's .pth is not read this way: a path on sys.path is searched, a site folder is processed.
    path = f"import sys; sys.path[:0] = [{str(target)!r}]; sys.path.append({site!r})\n"
    environment = {"HOME": str(target), "PATH": os.environ.get("PATH", ""), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", path + code],
        cwd=target,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_wheel_adds_one_name_to_site_packages(built: Path) -> None:
    """At the top of the wheel are `timeline` and its dist-info, so no other distribution is overwritten."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"timeline", f"transcript_timeline-{timeline.__version__}.dist-info"}
    assert "timeline/_bundled/adapters/record.py" in names
    assert "timeline/_bundled/sidecars/envelope.py" in names
    assert "timeline/anchors/postgres.sql" in names
    cases = [name for name in names if name.startswith("timeline/reasoning/cases/")]
    assert len(cases) == len(list((ROOT / "timeline" / "reasoning" / "cases").glob("*.json"))) == 24
    assert not [name for name in names if "__pycache__" in name or name.startswith("timeline/_bundled/tests")]


def test_wheel_holds_every_module_of_the_three_packages(built: Path) -> None:
    """No module is forgotten, and none is shipped that the checkout does not have."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if name.endswith(".py")}
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "timeline").rglob("*.py")}
    for package in ("adapters", "sidecars"):
        ours |= {
            f"timeline/_bundled/{p.relative_to(ROOT).as_posix()}" for p in (ROOT / package).rglob("*.py")
        }
    assert shipped == ours


def test_sdist_holds_what_it_lists_and_nothing_else(built: Path) -> None:
    """Caches, environments and measuring corpora stay at home."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {name.partition("/")[0] for name in names} - {""} - SHIPPED == set()
    assert {"timeline", "adapters", "sidecars", "tests", "docs", "LICENSE", "Makefile"} <= {
        name.partition("/")[0] for name in names
    }
    assert not [name for name in names if "__pycache__" in name or ".corpus" in name or name.endswith(".pyc")]


def test_installed_wheel_brings_its_own_packages(built: Path, tmp_path: Path) -> None:
    """After `import timeline`, `adapters` and `sidecars` are the bundled ones."""
    target = installed(built, tmp_path / "site")
    result = run(
        target, "import timeline, adapters, sidecars; print(adapters.__file__); print(sidecars.__file__)"
    )
    assert result.returncode == 0, result.stderr
    places = [Path(line) for line in result.stdout.split("\n") if line]
    assert [place.is_relative_to(target / "timeline" / "_bundled") for place in places] == [True, True]


def test_bundled_package_wins_over_another_of_its_name(built: Path, tmp_path: Path) -> None:
    """With a foreign `adapters` installed beside it, ours is found and theirs is left alone."""
    target = installed(built, tmp_path / "site")
    foreign = target / "adapters" / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("raise ImportError('the foreign one')\n", encoding="utf-8")
    result = run(target, "import timeline, adapters.record; print(adapters.record.LineRef.__name__)")
    assert (result.returncode, result.stdout) == (0, "LineRef\n"), result.stderr
    assert foreign.read_text(encoding="utf-8") == "raise ImportError('the foreign one')\n"


def test_installed_command_tells_its_version(built: Path, tmp_path: Path) -> None:
    """The console script of a wheel starts without the checkout and without development tools."""
    if not (ROOT / "timeline" / "cli" / "__init__.py").is_file():
        pytest.skip("timeline.cli is not written yet")
    target = installed(built, tmp_path / "site")
    code = "import sys; sys.argv = ['timeline', '--version']\nfrom timeline.cli import main\nmain()"
    result = run(target, code)
    assert result.returncode == 0, result.stderr
    assert timeline.__version__ in result.stdout


@pytest.mark.requirement("X6")
def test_bundled_sidecars_verify_a_proof_without_the_program(built: Path, tmp_path: Path) -> None:
    """Of the wheel, the folder `timeline/_bundled` is enough for who only verifies proofs (ADR 0015)."""
    target = installed(built, tmp_path / "site")
    proof = tmp_path / "event.proof"
    proof.write_bytes(make_case().content)
    keys = [option for key in KEYS for option in ("--key", str(key))]
    code = (
        "import runpy\n"
        "sys.modules['msgspec'] = None\n"
        f"sys.path[0] = {str(target / 'timeline' / '_bundled')!r}\n"
        f"sys.argv[1:] = {['verify-proof', str(proof), *keys]!r}\n"
        "runpy.run_module('sidecars', run_name='__main__', alter_sys=True)\n"
    )
    result = run(target, code)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("verdict: verified")


def test_installed_program_loads_no_development_tool(built: Path, tmp_path: Path) -> None:
    """Importing every shipped module loads nothing from the `dev` extra."""
    target = installed(built, tmp_path / "site")
    code = (
        "import importlib, pkgutil, sys, timeline, adapters, sidecars\n"
        "for package in (timeline, adapters, sidecars):\n"
        "    for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.'):\n"
        "        if '_bundled' not in module.name and not module.name.endswith('__main__'):\n"
        "            importlib.import_module(module.name)\n"
        "tools = {'pytest', 'hypothesis', 'mypy', 'ruff', 'freezegun', 'hatchling', 'importlinter', 'xdist'}\n"
        "print(sorted(tools & set(sys.modules)))\n"
    )
    result = run(target, code)
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


def test_version_is_stated_once() -> None:
    """The package and pyproject.toml name the same version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == timeline.__version__
