"""Prints how the files of ``../shared`` are read, by provider: `python -m tests.show_samples [PROVIDER]`.

First what ``timeline inspect`` reports of every file is compared with what is known about it. Then every file that
can be enrolled goes through the whole program: hook, enrollment, index; its stored events must be the runs that were
reported. Ends with 1 when anything disagrees.
"""

import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from adapters.registry import ADAPTERS
from tests.sample_stage import Stage
from tests.sample_truth import Sample, disagreements, must_refuse, report_of, samples
from timeline import service

COLUMNS = (
    "files",
    "refused",
    "agree",
    "disagree",
    "tool results",
    "runs",
    "runs agree",
    "enrolled",
    "events differ",
)


def main() -> int:
    """Print what disagrees and one table; return the exit code."""
    wanted = set(sys.argv[1:]) or {"codex", "claude", "king", "kimi"}
    table: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        stage = Stage(folder)
        for number, sample in enumerate(samples()):
            if sample.provider in wanted:
                row = table[sample.provider, sample.collection]
                row["files"] += 1
                if sample.host in ADAPTERS:
                    judge(sample, number, stage, row, folder)
                else:
                    row["no adapter"] += 1
        report = service.verify_timeline(stage.session, deep=True)
    show(table)
    print(f"verify --deep: {report.verdict}")
    bad = sum(row["disagree"] + row["events differ"] + row["no adapter"] for row in table.values())
    return 1 if bad or not report.ok else 0


def judge(sample: Sample, number: int, stage: Stage, row: Counter[str], scratch: Path) -> None:
    """Count how one file went, and print what disagrees."""
    found = report_of(sample, scratch)
    wrong = disagreements(sample, found)
    row["refused"] += must_refuse(sample) and not wrong
    row["agree" if not wrong else "disagree"] += 1
    row["tool results"] += sum(found.tool_results.values())
    if sample.expected is not None:
        key = "runner_results" if sample.collection == "samples" else "runners"
        runs = 0 if must_refuse(sample) else len(sample.expected[key])
        row["runs"] += runs
        row["runs agree"] += runs - len({run_of(said) for said in wrong if is_wrong_run(said)})
    else:
        row["runs"] += len(found.runner_results)
        row["runs agree"] += len(found.runner_results)
    for said in wrong:
        print(f"{sample.name}: {said[:300]}")
    if found.verdict != "refused" and found.pending_bytes < found.bytes:
        missing = stage.differing(sample, number, found)
        row["enrolled"] += 1
        row["events differ"] += bool(missing)
        if missing:
            print(f"{sample.name}: through the program: {missing[:300]}")


def is_wrong_run(said: str) -> bool:
    """Whether a disagreement is about a run that is known, and not about one too many."""
    return said.startswith("run ") and not said.endswith(("not expected", "not in the truth"))


def run_of(said: str) -> str:
    """The run that a disagreement is about; several may be about one."""
    return said.partition("): ")[0] if said.startswith("run at ") else said


def show(table: dict[tuple[str, str], Counter[str]]) -> None:
    """Print the table."""
    columns = (*COLUMNS, *(["no adapter"] if any(row["no adapter"] for row in table.values()) else []))
    print(f"{'':16}" + "".join(f"{name:>14}" for name in columns))
    for (provider, collection), row in table.items():
        print(f"{provider + ' ' + collection:16}" + "".join(f"{row[name]:>14}" for name in columns))


if __name__ == "__main__":
    sys.exit(main())
