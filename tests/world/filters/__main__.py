"""``python -m tests.world.filters``: the figures of both filters, and every error on either half."""

import click

from tests.world.filters.measure import NAMES, SECRETS, measure, render
from tests.world.filters.table import HELD_OUT, TUNING

click.echo(render())
for name in (SECRETS, NAMES):
    for half in (HELD_OUT, TUNING):
        figures = measure(name, half)
        for word, examples in (("missed", figures.missed), ("wronged", figures.wronged)):
            for example in examples:
                click.echo(f"{word} ({name}, {half}, {example.family}): {example.template!a}")
