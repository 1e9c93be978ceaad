"""How often the heaviest value is the true one, on two public data sets: ``python -m tests.grading.truth``.

The data are read where they lie, beside the checkout, and nothing of them is kept. For majority, version 1 and 2
it shows the share of questions whose heaviest value is the true one, and beside them what majority, a smoothed ratio
and TruthFinder were measured to reach elsewhere. The books are read twice: plainly, as for those figures, and
carefully, which is nearer to what the shops meant; there is no figure from elsewhere for that.
"""

import csv
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sidecars.graded import Claim, ClaimSource
from timeline.grading.claims import Claimed, Question, group_by_question
from timeline.grading.fixpoint import score_again
from timeline.grading.grade import Rows, grade_question
from timeline.grading.recompute import Run, recompute

DATA = Path(__file__).parents[3] / "shared" / "vectors" / "truth-spectrum" / "data"
AS_OF = 0
"""The data sets have no times: everything is as old as everything else."""


class DataSet(NamedTuple):
    """Claims, and the true values of some of their questions; ``reference`` was measured elsewhere."""

    name: str
    claims: tuple[Claimed, ...]
    truth: Mapping[str, str]
    reference: Mapping[str, float]


def make_claimed(number: int, subject: str, value: str, source: str) -> Claimed:
    """One claim by one source, which is a root of its own."""
    return Claimed(
        Claim(
            id=f"claim:{number}",
            subject=subject,
            key="value",
            domain="_global",
            value=value,
            intent="asserted",
            mutability="immutable",
            said_at=AS_OF,
            sources=(ClaimSource(entity=source, source_type="self", root=source),),
        ),
        "work:data",
        "data",
        "source:data",
    )


def named(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Stable ids for names of any form."""
    return {name: f"{kind}:{number}" for number, name in enumerate(sorted(set(names)))}


# -- population ------------------------------------------------------------------------------------------------


def read_population(folder: Path) -> DataSet:
    """How many people lived in a place in a year, as edits of an encyclopedia gave it."""
    with (folder / "population_claims.csv").open(encoding="utf-8", errors="replace") as file:
        rows = list(csv.reader(file))[1:]
    with (folder / "population_truth.csv").open(encoding="utf-8", errors="replace") as file:
        truth = {(row[0], row[1]): row[2] for row in list(csv.reader(file))[1:]}
    subjects = named("place", (f"{row[0]} {row[1]}" for row in rows))
    sources = named("source", (row[3] for row in rows))
    claims = tuple(
        make_claimed(number, subjects[f"{row[0]} {row[1]}"], row[2], sources[row[3]])
        for number, row in enumerate(rows)
    )
    true = {
        subjects[f"{place} {year}"]: value
        for (place, year), value in truth.items()
        if f"{place} {year}" in subjects
    }
    return DataSet(
        "population", claims, true, {"majority": 0.781, "simple-ratio": 0.814, "truthfinder": 0.837}
    )


# -- books -----------------------------------------------------------------------------------------------------

_NOISE = re.compile(
    r"\([^)]*\)|\b(ph\.?d|m\.?d|dr|prof|jr|sr|ii|iii|iv|edt?|editors?|authors?|with|by|et al|joint)\b\.?",
)
_SEPARATOR = re.compile(r"[;/&|]|\band\b")
_NOT_LETTERS = re.compile(r"[^a-z ]")


def read_plainly(text: str) -> frozenset[str]:
    """The last names, if each part between separators is one name: before its comma, or its last word."""
    found: set[str] = set()
    for segment in _SEPARATOR.split(text.lower()):
        words = segment.split(",")[:1] if "," in segment else segment.split()[-1:]
        found.update(_NOT_LETTERS.sub("", word).replace(" ", "") for word in words)
    return frozenset(name for name in found if name)


def read_carefully(text: str) -> frozenset[str]:
    """The last names, whichever of the shops' ways of writing a list of authors was used."""
    found: set[str] = set()
    for segment in _SEPARATOR.split(_NOISE.sub(" ", text.lower())):
        words = [_NOT_LETTERS.sub("", part.replace("-", "")).split() for part in segment.split(",")]
        parts = [part for part in words if part]
        found.update(_last_names(parts))
    return frozenset(name for name in found if len(name) > 1)


def _last_names(parts: Sequence[list[str]]) -> list[str]:
    """The last names in one part between semicolons, by where its commas stand."""
    if len(parts) < 2:
        return [part[-1] for part in parts]
    if all(len(part) > 1 for part in parts):  # First Last, First Last
        return [part[-1] for part in parts]
    if len(parts) % 2 == 0 and all(len(part) == 1 for part in parts[::2]):  # Last, First, Last, First
        return [part[0] for part in parts[::2]]
    return [part[-1] for part in parts[:-1]]  # Last, First Last, First


Reading: TypeAlias = Callable[[str], frozenset[str]]


def read_books(folder: Path, read: Reading) -> tuple[DataSet, DataSet]:
    """Who wrote a book, as book shops gave it; against two lists of truths."""
    lines = (folder / "book.txt").read_text(encoding="utf-8", errors="replace").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line.count("\t") == 3]
    given: dict[tuple[str, str], frozenset[str]] = {}
    for source, book, _, authors in rows:
        names = read(authors)
        if names and "available" not in names:
            given[source, book] = names
    subjects = named("book", (book for _, book in given))
    sources = named("source", (source for source, _ in given))
    claims = tuple(
        make_claimed(number, subjects[book], spell(names), sources[source])
        for number, ((source, book), names) in enumerate(given.items())
    )
    golden = _truths(folder / "book_golden.txt", subjects, read)
    silver = _truths(folder / "book_silver.txt", subjects, read)
    return (
        DataSet(
            "books golden", claims, golden, {"majority": 0.51, "simple-ratio": 0.52, "truthfinder": 0.53}
        ),
        DataSet(
            "books silver", claims, silver, {"majority": 0.695, "simple-ratio": 0.675, "truthfinder": 0.669}
        ),
    )


def spell(names: frozenset[str]) -> str:
    """One spelling of a set of names, as a JSON text."""
    return '"' + " ".join(sorted(names)) + '"'


def _truths(path: Path, subjects: Mapping[str, str], read: Reading) -> dict[str, str]:
    pairs = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if "\t" in line]
    return {subjects[book]: spell(read(authors)) for book, authors in pairs if book in subjects}


# -- methods ---------------------------------------------------------------------------------------------------


def precision(data: DataSet, answers: Mapping[str, str]) -> float:
    """The share of questions with a known truth that are answered with it."""
    return sum(answers[subject] == value for subject, value in data.truth.items()) / len(data.truth)


def questions_of(data: DataSet) -> dict[Question, list[Claimed]]:
    """The questions whose truth is known."""
    asked = (one for one in data.claims if one.claim.subject in data.truth)
    return group_by_question(asked)


def by_grades(data: DataSet, rows: Rows) -> dict[str, str]:
    """The heaviest value of each question."""
    return {
        subject: grade_question(claims, rows).values[0].value
        for (subject, _), claims in questions_of(data).items()
    }


def rows_of(run: Run) -> Rows:
    """The rows of a run as a grade looks them up."""
    return {(row.entity, row.domain): row for row in run.rows}


def measure(data: DataSet) -> dict[str, float]:
    """The precision of each method on one data set."""
    run = recompute(data.claims, (), AS_OF)
    return {
        "majority": precision(data, by_grades(data, {})),
        "v1": precision(data, by_grades(data, rows_of(run))),
        "v2": precision(data, by_grades(data, rows_of(score_again(run, data.claims)))),
    }


def main() -> int:
    """Show a table; 1 where version 1 falls more than a point below the simple ratio."""
    if not DATA.is_dir():
        print(f"{DATA} is absent: nothing to measure", file=sys.stderr)
        return 2
    print(
        f"{'':24} {'asked':>6} {'majority':>9} {'v1':>6} {'v2':>6}   reference: majority, ratio, TruthFinder"
    )
    behind = 0
    for data in (read_population(DATA / "population"), *read_books(DATA / "book", read_plainly)):
        found = measure(data)
        behind += found["v1"] < data.reference["simple-ratio"] - 0.01
        print(
            row_of(data.name, data, found) + ", ".join(f"{number:.3f}" for number in data.reference.values())
        )
    for data in read_books(DATA / "book", read_carefully):
        print(row_of(f"{data.name}, carefully", data, measure(data)) + "none")
    return int(behind > 0)


def row_of(name: str, data: DataSet, found: Mapping[str, float]) -> str:
    """One line of the table, up to the reference."""
    return f"{name:24} {len(data.truth):6} {found['majority']:9.3f} {found['v1']:6.3f} {found['v2']:6.3f}   "


if __name__ == "__main__":
    sys.exit(main())
