"""``make agmi``: the suite's own ``agmi-check`` on every surface, then T9 in every mixture; 1 where a row is not so.

The verdicts are the suite's. ``agmi-check`` itself also passes a row that is only reported, or could not be tried;
here each must be rejected, but for the one that is stated to be accepted.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import agmi.check  # type: ignore[import-not-found]  # installed by `make agmi`
import click

from tests.agmi import adapter
from tests.agmi.restores import try_alone, try_troubled, try_watched

REJECTED, ACCEPTED = "REJECTED", "ACCEPTED"

EVERY_EDIT: Final = 9

RUNS: Final[Sequence[tuple[type[adapter.TimelineAdapter], frozenset[str]]]] = (
    (adapter.LogLeavesAdapter, frozenset()),
    (adapter.IndexRowsAdapter, frozenset()),
    (adapter.SidecarsAdapter, frozenset()),
    (adapter.EveryStoreAdapter, frozenset()),
    (adapter.TranscriptAdapter, frozenset()),
    (adapter.FollowedTranscriptAdapter, frozenset({"T5"})),
    (adapter.CompleteAdapter, frozenset({"T9"})),
    (adapter.WatchedAdapter, frozenset()),
)
"""Each adapter with the rows that are stated to be accepted."""


def main() -> int:
    """Run everything; what is not as stated is listed at the end."""
    wrong = [*_run_suite(), *_run_mixtures()]
    for line in wrong:
        click.echo(f"agmi: error: {line}", err=True)
    if not wrong:
        click.echo("agmi: every row is as stated in docs/integrity.md")
    return 1 if wrong else 0


def _run_suite() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="agmi-") as folder:
        for case, accepted in RUNS:
            result = Path(folder) / "row.json"
            name = f"{case.__module__}:{case.__qualname__}"
            agmi.check.main(["--adapter", name, "--fail-on", "none", "--json", str(result)])
            rows = json.loads(result.read_text(encoding="utf-8"))
            yield from _judge(rows["tool"], rows["edits"], accepted)
            click.echo()


def _judge(tool: str, rows: Sequence[dict[str, str]], accepted: frozenset[str]) -> Iterator[str]:
    """Show why each row was refused, and give what is not as stated."""
    if len(rows) != EVERY_EDIT:
        yield f"{tool}: {len(rows)} edits were tried, not {EVERY_EDIT}"
    for row in rows:
        expected = ACCEPTED if row["edit"][:2] in accepted else REJECTED
        click.echo(f"    {row['edit'][:2]}  {row['detail']}")
        if row["verdict"] != expected:
            yield f"{tool}: {row['edit']} is {row['verdict']}, not {expected} ({row['detail']})"


def _run_mixtures() -> Iterator[str]:
    for title, outcomes in (
        ("no witness", try_alone()),
        ("a witness is required", try_watched()),
        ("something happens to the witness", try_troubled()),
    ):
        click.echo(f"T9 one test run later, {title}: what was put back / read path / verify")
        for outcome in outcomes:
            said = f"{outcome.reading.text()} / {outcome.verdict}"
            click.echo(f"    {outcome.name} / {said}")
            if not outcome.is_as_stated:
                yield f"{title}: {outcome.name}: must be {outcome.expected}, is {said}"
        click.echo()


sys.exit(main())
