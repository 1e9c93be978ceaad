"""T9 in every mixture: which pieces of an older copy pass for the newest state when they are put back.

The suite puts back what its adapter says and scores one row; here every mixture of database, sidecars, head and anchor
is tried, without a witness and with one, and what a witness does and does not change. What must come of each is written
from the rules of ``docs/integrity.md``, not from the code.
"""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from tests.agmi.stage import FIRST, STATE, Copy, Reading, Stage, stage_folder
from tests.agmi.watcher import FRESHNESS_SECONDS, Watcher
from timeline import service

MIXED: Final = ("database", "sidecars", "head", "anchor")
CONSISTENT: Final = frozenset({"database", "head", "anchor"})
"""What has to be put back together to be consistent; more sidecar files than leaves name change nothing."""

EVERYTHING: Final = (*STATE, "trust", "config")

RUNS: Final = 3
UNSEEN: Final = "complete restoration"
"""How `timeline verify` begins to say that it did not look for one."""

ANCHORS_UNSEEN: Final = "the anchors themselves"
"""How it begins to say that a witness may have been put back as well."""


class Expected(StrEnum):
    """What must come of it."""

    REFUSED = "refused"
    SERVED = "served as of the older moment"


class Outcome(msgspec.Struct, frozen=True):
    """What was put back, what the read path said of it and what ``verify`` did.

    ``unseen`` is how ``verify`` must begin to say that it could not see this one.
    """

    name: str
    expected: Expected
    reading: Reading
    verdict: str
    not_checked: tuple[str, ...]
    unseen: str = UNSEEN

    @property
    def is_as_stated(self) -> bool:
        """Refused by both; or served as of the older moment, and said to be unchecked."""
        if self.expected is Expected.REFUSED:
            return self.reading.is_rejected and self.verdict == "refused"
        said = any(item.startswith(self.unseen) for item in self.not_checked)
        return said and self.verdict == "ok" and self.reading.cards == RUNS


def try_alone() -> Iterator[Outcome]:
    """Put back each mixture in turn, one test run after the copy was made; nobody else remembers anything."""
    with _stage() as stage:
        stage.seed(FIRST, RUNS)
        older = stage.copy()
        stage.append(FIRST)
        newest = stage.copy()
        for pieces in _mixtures():
            expected = Expected.SERVED if CONSISTENT.issubset(pieces) else Expected.REFUSED
            yield _put_back(stage, older, pieces, expected)
            stage.restore(newest, EVERYTHING)


def try_watched() -> Iterator[Outcome]:
    """The same where a witness is required, and a copy from before it was."""
    with _stage() as stage, closing(Watcher()) as watcher:
        stage.seed(FIRST, RUNS)
        unwatched = stage.copy()
        watcher.know(stage)
        older = stage.copy()
        stage.append(FIRST)
        newest = stage.copy()
        for pieces in (*_mixtures(), (*STATE, "trust"), EVERYTHING):
            yield _put_back(stage, older, pieces, Expected.REFUSED)
            stage.restore(newest, EVERYTHING)
        before = "from before the witness was required: "
        yield _put_back(stage, unwatched, (*STATE, "trust"), Expected.REFUSED, before)
        yield _put_back(stage, unwatched, EVERYTHING, Expected.SERVED, before)


def try_troubled() -> Iterator[Outcome]:
    """A witness forgets, is put back together with the rest, falls silent, and is shown a second history."""
    with _stage() as stage, closing(Watcher()) as watcher:
        stage.seed(FIRST, RUNS)
        watcher.know(stage)
        older, forgotten = stage.copy(), watcher.copy()
        stage.append(FIRST)
        newest, remembering = stage.copy(), watcher.copy()
        watcher.restore(forgotten)
        yield _found(stage, "the witness alone", Expected.REFUSED)
        found = _put_back(stage, older, EVERYTHING, Expected.SERVED, "the witness too: ")
        yield msgspec.structs.replace(found, unseen=ANCHORS_UNSEEN)
        watcher.restore(remembering)
        stage.restore(newest, EVERYTHING)
        watcher.stop()
        yield _put_back(stage, older, EVERYTHING, Expected.SERVED, "the witness is silent: ")
        stage.later_ms = (FRESHNESS_SECONDS + 1) * 1000
        yield _found(stage, f"still so {FRESHNESS_SECONDS} s later", Expected.REFUSED)
        stage.later_ms = 0
        stage.index_again(FIRST)
        watcher.start()
        yield _found(stage, "a second history, written meanwhile", Expected.REFUSED)


@contextmanager
def _stage() -> Iterator[Stage]:
    with stage_folder() as folder:
        yield Stage(Path(folder).resolve() / "timeline")


def _mixtures() -> Iterator[tuple[str, ...]]:
    for count in range(1, len(MIXED) + 1):
        yield from itertools.combinations(MIXED, count)


def _put_back(stage: Stage, copy: Copy, pieces: Sequence[str], expected: Expected, when: str = "") -> Outcome:
    stage.restore(copy, pieces)
    return _found(stage, when + " + ".join(pieces), expected)


def _found(stage: Stage, name: str, expected: Expected) -> Outcome:
    reading = stage.read(FIRST)
    report = service.verify_timeline(stage.sessions[FIRST].world.session, deep=False)
    return Outcome(name, expected, reading, report.verdict, tuple(report.not_checked))
