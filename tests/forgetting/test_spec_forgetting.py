"""The specification says what the code does: names, reasons, kinds and stores."""

import re
from pathlib import Path
from typing import get_args

import pytest

from timeline.forgetting.coverage import covered_names, not_covered_names
from timeline.forgetting.plan import SCHEMA, Plan, Why
from timeline.forgetting.suppression import Forgotten, commitment_of, digest_of


@pytest.fixture(scope="module")
def spec(root: Path) -> str:
    """Give the text of the specification."""
    return (root / "docs/spec/forgetting.md").read_text(encoding="utf-8")


def rows(spec: str, header: str) -> list[str]:
    """The first cells of the table below a header, without their marks."""
    table = spec.partition(header)[2].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.split("\n")[2:] if line.startswith("|")]
    return [name for cell in cells for name in re.findall(r"`([a-z_-]+)`", cell)]


def test_the_tables_are_those_of_the_code(spec: str) -> None:
    """Each word is in both, and no other."""
    assert set(rows(spec, "| `why` of a target | it is |")) == set(get_args(Why))
    kinds = {kind.value for kind in Forgotten} - {Forgotten.SUBJECT.value}
    assert set(rows(spec, "| kind | parts |")) == kinds
    assert set(rows(spec, "| field | meaning |")) == set(Plan.__struct_fields__)
    assert SCHEMA in spec


@pytest.mark.requirement("M16", "M17", "M24")
def test_stores_and_status_are_stated(spec: str) -> None:
    """Which are covered, which are not, and that all of it is a proposed contract."""
    covered, not_covered = (
        re.findall(r"`([a-z-]+)`", line)
        for line in spec.partition("## Coverage")[2].split("\n")
        if line.startswith(("Covered are", "Not covered"))
    )
    assert tuple(covered) == covered_names()
    assert tuple(not_covered) == not_covered_names()
    assert "proposed contract" in spec


def test_a_digest_is_what_the_specification_says() -> None:
    """By the standard library alone."""
    import hashlib
    import hmac
    from base64 import urlsafe_b64encode

    key = bytes(range(32))
    message = b'["session","codex","one"]'
    expected = urlsafe_b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode().rstrip("=")
    assert digest_of(key, Forgotten.SESSION, "codex", "one") == expected
    named = hashlib.sha256(b"timeline suppression key\0" + key).digest()
    assert commitment_of(key) == urlsafe_b64encode(named).decode().rstrip("=")
