"""Write docs/errors.md from the error classes; `make fix` runs it and tests/test_docs.py compares.

A reason code stands on its class and nowhere else (style: errors); this page is read from there.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("errors.md")

ROOTS = {
    "timeline": ("TimelineError", "What the application refuses, and what to do."),
    "adapters": ("AdapterError", "Why a transcript is not read."),
    "sidecars": ("SidecarError", "Why signed bytes are not believed."),
}
"""Package, name of its root error class in `<package>.errors`, and a sentence for its section."""

EXIT_CODES = {
    0: "done",
    1: "not verified, refused, or failed",
    2: "the command line itself is wrong",
    3: "done in part; the answer says which part is missing",
    10: "there is no state, or no daemon",
    11: "another process holds the state",
    12: "a key is missing or is not the pinned one",
    13: "consent or scope does not cover the request",
    130: "interrupted",
}
"""Interface: scripts may depend on these."""

PREFACE = """\
# Errors

<!-- Written by docs/generate_errors.py from the error classes; run `make fix` instead of changing it here. -->

On standard error each fact has one line: `timeline: error: …`, then `timeline: hint: …` with what to do.
With `--json` the same stands in an object with a `reason`.
A message names file, line, offset, field and rule, and never text of a transcript.

## Exit codes

| code | meaning |
|---|---|
"""


def import_all(package: str) -> None:
    """Import every module of a package, so that every error class exists."""
    parent = importlib.import_module(package)
    for module in pkgutil.walk_packages(parent.__path__, f"{package}."):
        if module.name.rpartition(".")[2] != "__main__" and "_bundled" not in module.name:
            importlib.import_module(module.name)


def error_classes(package: str) -> list[type[Exception]]:
    """Give the package's root error class and all below it, parents before children."""
    import_all(package)
    root = getattr(importlib.import_module(f"{package}.errors"), ROOTS[package][0])
    return list(dict.fromkeys(_below(root)))


def _below(parent: type[Exception]) -> Iterator[type[Exception]]:
    yield parent
    # In order of definition within a module; the order in which modules were imported must not show.
    for child in sorted(parent.__subclasses__(), key=lambda error: error.__module__):
        if child.__module__.partition(".")[0] in ROOTS:
            yield from _below(child)


def describe(error: type[Exception]) -> str:
    """Give the table row of one class."""
    meaning = inspect.cleandoc(error.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    hint = getattr(error, "default_hint", "")
    return f"| `{vars(error)['reason']}` | {_cell(meaning)} | {_cell(hint)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def render() -> str:
    """Give the whole page."""
    lines = [PREFACE.rstrip("\n")]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    for package, (_, sentence) in ROOTS.items():
        lines += ["", f"## {package}", "", sentence, "", "| reason | meaning | hint |", "|---|---|---|"]
        lines += [describe(error) for error in error_classes(package)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
