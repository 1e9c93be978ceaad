"""The example of docs/spec/grading.md is real: read, verified, computed again, and made again byte for byte."""

import re
from pathlib import Path

import msgspec
import pytest

from sidecars.graded import Claim, ClaimsEntry, ClaimSource, CredibilityEntry
from sidecars.leaf import open_leaf
from sidecars.trust import Consistent
from tests.sidecars.samples import AT, LOG, OWNER
from tests.sidecars.simulator import LogSimulator, examine
from timeline.grading.claims import read_claims
from timeline.grading.credibility import read_run
from timeline.grading.distance import DECAYS
from timeline.grading.grade import grade_question
from timeline.grading.recompute import format_run, recompute

DAY = 86_400_000


def says(number: int, source: ClaimSource, said_at: int) -> Claim:
    """Give what one source says of when Ada was born."""
    return Claim(
        id=f"claim:{number}",
        subject="person:ada",
        key="born",
        domain="biography",
        value='"1815-12-10"',
        intent="asserted",
        mutability="immutable",
        said_at=said_at,
        sources=(source,),
    )


EXAMPLE = ClaimsEntry(
    "work:lives",
    "reference",
    "person:editor",
    (
        says(
            1,
            ClaimSource(
                entity="person:editor",
                source_type="cited",
                hops=2,
                verification=800_000,
                root="work:parish-register",
            ),
            AT - 90 * DAY,
        ),
        says(2, ClaimSource(entity="person:ada", source_type="self", root="work:letters"), AT),
    ),
)


def run() -> tuple[CredibilityEntry, ...]:
    """Give the run over the example, which has one part."""
    return format_run(recompute(read_claims([EXAMPLE]), (), AT), "run:1", 3, None)


def blocks(root: Path, kind: str) -> list[str]:
    """Give the fenced examples of one kind."""
    text = (root / "docs" / "spec" / "grading.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.requirement("G13")
def test_the_leaves_are_what_the_library_writes(root: Path) -> None:
    """Each opens with the published keys alone, and the run is computed again from the claims of the log."""
    log = LogSimulator()
    log.commit([EXAMPLE])
    log.commit(list(run()))
    written = [f"{salt.hex()}\n{envelope.decode()}" for salt, envelope in log.view.leaves[2:]]
    assert blocks(root, "leaf") == written
    assert isinstance(examine(log.view), Consistent)
    claims, computed = (
        open_leaf(example.split("\n", 1)[1].encode(), OWNER.verifier, LOG.verifier).body
        for example in blocks(root, "leaf")
    )
    assert isinstance(claims, ClaimsEntry)
    assert isinstance(computed, CredibilityEntry)
    assert recompute(read_claims([claims]), (), computed.as_of).rows == computed.rows


@pytest.mark.requirement("G6")
def test_the_grade_is_the_one_that_is_shown(root: Path) -> None:
    """As the library gives it."""
    grade = grade_question(read_claims([EXAMPLE]), read_run(run()))
    assert blocks(root, "grade") == [msgspec.json.format(msgspec.json.encode(grade)).decode()]


@pytest.mark.requirement("G8")
def test_the_table_of_distances_is_the_one_in_the_code(root: Path) -> None:
    """Both say the same of every type."""
    text = (root / "docs" / "spec" / "grading.md").read_text(encoding="utf-8")
    table = text[text.index("| source type | base |") : text.index("S of a source is")]
    found = {
        name: (round(float(base) * 1_000_000), round(float(rate) * 1_000_000))
        for names, base, rate in re.findall(r"^\| (`.*`) \| (\S+) \| (\S+) \|$", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", names)
    }
    assert found == {name: tuple(decay) for name, decay in DECAYS.items()}
