"""Write docs/cli.md from the commands themselves; `make fix` runs it and tests/test_docs.py compares.

The page is the programs' own `--help`, so it cannot say something else than they do.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

PAGE = Path(__file__).with_name("cli.md")

WIDTH = 100
"""Columns of the help text; fixed, so that the page does not depend on a terminal."""

PREFACE = """\
# Commands

<!-- Written by docs/generate_cli.py from `--help`; run `make fix` instead of changing it here. -->

Each command answers `--help` with the text below.
Exit codes and reason codes are in [errors.md](errors.md).
"""


def find_root() -> click.Group:
    """Give the one command group that `timeline.cli` defines.

    Raises:
        LookupError: there is none, or more than one.
    """
    values = vars(importlib.import_module("timeline.cli")).values()
    groups = {id(value): value for value in values if isinstance(value, click.Group)}
    if len(groups) != 1:
        raise LookupError(
            f"timeline.cli must have exactly one click.Group at module level, not {len(groups)}"
        )
    return next(iter(groups.values()))


def find_programs() -> dict[str, click.Group]:
    """Give every program with commands of its own by its name, `timeline` first."""
    witness = importlib.import_module("timeline.cli.witness")
    return {"timeline": find_root(), "timeline-witness": witness.witness_group}


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Give a command and all below it, each with a context that knows its full name; hidden ones are left out."""
    yield command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from walk(child, open_context(child, name, context))


def open_context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """Give the context in which a command's help has the fixed width."""
    width = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    # Click remembers a command's help option from the first context it was in, so this must be the program's own.
    names = importlib.import_module("timeline.cli").HELP_NAMES
    return click.Context(
        command, info_name=name, parent=parent, help_option_names=names, color=False, **width
    )


def render() -> str:
    """Give the whole page."""
    parts = [PREFACE]
    for name, root in find_programs().items():
        for command, context in walk(root, open_context(root, name)):
            parts.append(f"## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE.name}", file=sys.stderr)
