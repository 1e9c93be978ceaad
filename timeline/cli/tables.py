"""Tables for people: drawn by rich on a terminal and folded to its width, plain and aligned elsewhere.

What stands in a cell may have been written by a model: whatever a terminal would obey, or would not show, is escaped.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Literal

import click
import msgspec

if TYPE_CHECKING:
    from rich.text import Text

Tone = Literal["plain", "good", "quiet", "look", "bad"]
"""How a cell is meant; only a terminal shows it."""

_STYLES: Final = {"plain": "", "good": "green", "quiet": "dim", "look": "yellow", "bad": "bold red"}
_GAP: Final = "  "

Stack = tuple[tuple[int, ...], ...]
"""The lines of one column on a terminal, each with the numbers of the cells that stand in it."""


class Cell(msgspec.Struct, frozen=True):
    """One text with its tone."""

    text: str
    tone: Tone = "plain"


class Table(msgspec.Struct, frozen=True):
    """A title, the columns' names, and the rows; ``empty`` is said where there is none, ``note`` below them.

    Without names of columns it is a list of what stands for what, such as one assertion's fields. ``stacked`` says
    for each column of a terminal which cells stand one below the other: an id has a line of its own, to be copied.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    empty: str = ""
    note: str = ""
    stacked: tuple[Stack, ...] = ()


def printable(text: str) -> str:
    """A text without what a terminal obeys or hides: such characters are spelled out."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode()
        for character in text
    )


def show_tables(tables: Sequence[Table]) -> None:
    """Print tables, by what standard output is."""
    if sys.stdout.isatty():
        _show_on_terminal(tables)
        return
    for line in table_lines(tables):
        click.echo(line)


def table_lines(tables: Sequence[Table]) -> list[str]:
    """Tables as plain lines, each column as wide as it has to be."""
    lines: list[str] = []
    for table in tables:
        if lines:
            lines.append("")
        if table.title:
            lines.append(printable(table.title))
        texts = [[printable(cell.text) for cell in row] for row in table.rows]
        if texts:
            header = [list(table.columns)] if table.columns else []
            widths = [max(map(len, column)) for column in zip(*header, *texts, strict=True)]
            lines += [f"{_GAP}{_GAP.join(map(str.ljust, row, widths)).rstrip()}" for row in (*header, *texts)]
        elif table.empty:
            lines.append(f"{_GAP}{table.empty}")
        if table.note:
            lines.append(f"{_GAP}{printable(table.note)}")
    return lines


def _show_on_terminal(tables: Sequence[Table]) -> None:
    # Imported here: only a terminal needs it, and it costs as much as the rest of a command.
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        if table.title:
            console.print(Text(printable(table.title), style="bold"))
        if table.rows:
            drawn = RichTable.grid(padding=(0, 2, 0, 0))
            columns = table.stacked or tuple(((place,),) for place in range(len(table.rows[0])))
            for _ in columns:
                drawn.add_column(overflow="fold")
            for row in table.rows:
                drawn.add_row(*(_stacked(row, lines) for lines in columns))
            console.print(drawn)
        elif table.empty:
            console.print(Text(f"{_GAP}{table.empty}", style="dim"))
        if table.note:
            console.print(Text(f"{_GAP}{printable(table.note)}", style="dim"))


def _stacked(row: tuple[Cell, ...], lines: Stack) -> "Text":
    from rich.text import Text

    said = ([row[place] for place in places if row[place].text] for places in lines)
    texts = [
        [Text(printable(cell.text), style=_STYLES[cell.tone]) for cell in cells] for cells in said if cells
    ]
    return Text("\n").join(Text(_GAP).join(line) for line in texts)
