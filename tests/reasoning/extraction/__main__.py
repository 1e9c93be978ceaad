"""``python -m tests.reasoning.extraction [--held-out]``: precision and recall of the heuristics, and their errors.

The half that was not looked at while the rules were made is measured with ``--held-out`` only.
"""

import sys
from typing import get_args

import click

from sidecars.graded import Intent
from tests.reasoning.extraction.measuring import Figures, measure, spelled_claims, spelled_intent
from tests.reasoning.extraction.table import HELD_OUT, TUNING, half_of, read_table


def show(name: str, half: str, figures: Figures) -> None:
    """Print one table's figures of one half, and each of its errors."""
    click.echo(
        f"{name}, {half} half: precision {figures.precision:.3f} ({figures.right}/{figures.found}), "
        f"recall {figures.recall:.3f} ({figures.right}/{figures.wanted})"
    )
    for sentence, said in figures.errors:
        click.echo(f"  {sentence.text!r}\n    wanted {sentence.label}\n    found  {said}")


def show_class(intent: str, figures: Figures) -> None:
    """Print the figures of one class of intents."""
    click.echo(
        f"  {intent}: precision {figures.precision:.3f} ({figures.right}/{figures.found}), "
        f"recall {figures.recall:.3f} ({figures.right}/{figures.wanted})"
    )


def main() -> None:
    """Measure the halves that are asked for."""
    for half in (TUNING, HELD_OUT) if "--held-out" in sys.argv[1:] else (TUNING,):
        show("claims", half, measure(half_of(read_table("claims"), half), spelled_claims))
        intents = half_of(read_table("intents"), half)
        show("intents", half, measure(intents, spelled_intent))
        for intent in get_args(Intent):
            show_class(intent, measure(intents, spelled_intent, only=[intent]))


if __name__ == "__main__":
    main()
