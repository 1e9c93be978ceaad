"""Another installation of the program, beside this one: a copy with a version of its own and its own interpreter.

The daemon and its clients find their package by their interpreter's site packages, so that a copy needs both: an
environment (a link to the interpreter with a ``pyvenv.cfg``) whose first entry is the copied folder.
"""

import shutil
import sys
from pathlib import Path
from typing import Final

import msgspec

import timeline
from tests.chaos.agents import Program

_PACKAGES: Final = ("timeline", "adapters", "sidecars")
_ROOT: Final = Path(timeline.__file__).parents[1]


def copy_program(folder: Path, version: str) -> Program:
    """Install a copy that says it is of this version."""
    for package in _PACKAGES:
        shutil.copytree(_ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    package = folder / "timeline"
    for name, variable in (("__init__.py", "__version__"), ("hooks.py", "VERSION")):
        file = package / name
        old = f'{variable} = "{timeline.__version__}"'
        content = file.read_text("utf-8")
        if old not in content:
            message = f"{name} does not say {old}"
            raise RuntimeError(message)
        file.write_text(content.replace(old, f'{variable} = "{version}"'), "utf-8")
    return Program(str(make_environment(folder)), package, version)


def make_environment(folder: Path) -> Path:
    """An interpreter that imports from this folder first, and what it does not find there from where we do."""
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    environment = folder / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\n", "utf-8"
    )
    python = environment / "bin" / "python"
    python.symlink_to(base)
    site = environment / "lib" / base.name / "site-packages"
    site.mkdir(parents=True)
    # Site packages that a .pth file names are searched, and their own .pth files are not read.
    (site / "copy.pth").write_text(f"{folder}\n{Path(msgspec.__file__).parents[1]}\n", "utf-8")
    return python
