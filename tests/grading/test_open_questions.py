"""The questions that the proposal left open are answered in writing."""

from pathlib import Path

import pytest

QUESTIONS = ("Domains", "Distance", "Storing", "Mutability", "Older facts")


@pytest.mark.requirement("G30")
def test_each_open_question_has_options_and_an_answer(root: Path) -> None:
    """Taxonomy, decay table, materialising, mutability and backfill: considered, and then decided."""
    text = (root / "docs/adr/0028-how-grades-are-made.md").read_text(encoding="utf-8")
    options, decision = text.partition("## Options")[2].split("## Decision")
    assert [name for name in QUESTIONS if f"*{name}" not in options] == []
    answered = ("*Domains*", "*Distance*", "*Nothing* of a grade is stored", "*Mutability*", "*Older facts*")
    assert [name for name in answered if name not in decision] == []
