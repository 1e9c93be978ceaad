"""The heuristics do on the tables what docs/extraction.md says of them."""

import hashlib
import re
from pathlib import Path
from typing import get_args

import pytest

from sidecars.graded import Intent
from tests.reasoning.extraction.measuring import Figures, measure, spelled_claims, spelled_intent
from tests.reasoning.extraction.table import HELD_OUT, TUNING, Labelled, half_of, read_table
from timeline.reasoning.extraction import UnitKind

CLAIMS, INTENTS = read_table("claims"), read_table("intents")

TABLES_SHA256 = {
    "claims": "dd6a031a1e79e00b5708df7c94a701fd2c1402f163bf14c35c0154b13219c9c0",
    "intents": "22ee4b50698811530593afaf20852c62639793d12733ef412df46842388ce8d7",
}
"""The tables as they were written before the rules. Whoever changes a label changes this, and says so in the docs."""


def figures(half: str) -> dict[str, Figures]:
    """Both tables' figures of one half."""
    return {
        "claims": measure(half_of(CLAIMS, half), spelled_claims),
        "intents": measure(half_of(INTENTS, half), spelled_intent),
    }


def test_the_tables_are_as_large_and_as_varied_as_they_must_be() -> None:
    """Both halves have enough of each kind, and of sentences without a claim."""
    assert len(CLAIMS) >= 260
    assert len(INTENTS) >= 200
    for table in (CLAIMS, INTENTS):
        assert len({one.text for one in table}) == len(table)
        assert all(len(half_of(table, half)) >= 100 for half in (TUNING, HELD_OUT))
    for half in (TUNING, HELD_OUT):
        claims = half_of(CLAIMS, half)
        assert sum(one.label == "-" for one in claims) >= 75
        kinds = {unit.partition(":")[0].strip() for one in claims for unit in one.label.split(";")}
        assert kinds == {*UnitKind, "-"}
        assert {one.label for one in half_of(INTENTS, half)} == set(get_args(Intent))


@pytest.mark.parametrize("name", ["claims", "intents"])
def test_the_labels_are_those_that_were_written_first(name: str) -> None:
    """A label that is changed to fit a rule would measure nothing."""
    path = Path(__file__).parent / f"{name}.txt"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == TABLES_SHA256[name]


def test_a_sentence_belongs_to_its_half_by_its_text_alone() -> None:
    """Not by its place or label."""
    one = Labelled("-", "All tests pass.")
    assert one.half == Labelled("completed", "All tests pass.").half
    digest = hashlib.sha256(b"All tests pass.").digest()
    assert (one.half == HELD_OUT) is (digest[0] % 2 == 1)


@pytest.mark.requirement("N1", "P36", "G2")
@pytest.mark.parametrize("half", [TUNING, HELD_OUT])
def test_what_is_found_is_right(half: str) -> None:
    """Precision of at least .95 in each half, of both heuristics; and the recall that the docs report."""
    found = figures(half)
    assert found["claims"].precision >= 0.95
    assert found["claims"].recall >= 0.85
    assert found["intents"].precision >= 0.90


@pytest.mark.requirement("N1")
def test_the_page_has_these_figures_and_every_error(root: Path) -> None:
    """Figures of both halves, and each sentence of the held-out half that is not read as it is labelled."""
    page = (root / "docs" / "extraction.md").read_text(encoding="utf-8")
    for half in (TUNING, HELD_OUT):
        for name, found in figures(half).items():
            row = (
                f"| {name} | {half} | {found.precision:.3f} ({found.right}/{found.found}) "
                f"| {found.recall:.3f} ({found.right}/{found.wanted}) |"
            )
            assert row in page
            for sentence, said in found.errors:
                shown = sentence.text.replace("\n", "⏎").replace("|", "\\|")
                assert f"| {half} | `{shown}` | {sentence.label} | {said} |" in page
    listed = re.findall(r"^\| (?:tuning|held-out) \| `", page, re.MULTILINE)
    assert len(listed) == sum(
        len(found.errors) for half in (TUNING, HELD_OUT) for found in figures(half).values()
    )
