"""The example of docs/spec/world.md is real: read, verified, and made again byte for byte."""

import re
from pathlib import Path

import msgspec

from sidecars.leaf import Leaf, leaf_hash, open_leaf
from sidecars.trust import Consistent
from tests.sidecars.samples import LOG, OWNER
from tests.sidecars.simulator import LogSimulator, examine
from tests.world.ledger.examples import EXAMPLES
from timeline.assertion_row import AssertionTally, row_of
from timeline.assertions import _COLUMNS
from timeline.fold import fold_leaves


def blocks(root: Path, kind: str) -> list[str]:
    """Give the fenced examples of one kind."""
    text = (root / "docs" / "spec" / "world.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)


def published(root: Path) -> list[tuple[bytes, bytes]]:
    """Give salt and envelope of each leaf."""
    pairs = [example.split("\n", 1) for example in blocks(root, "leaf")]
    return [(bytes.fromhex(salt), envelope.encode()) for salt, envelope in pairs]


def test_the_leaves_are_what_the_library_writes(root: Path) -> None:
    """Each opens with the published keys alone, the owner's word with the owner key."""
    log = LogSimulator()
    for example in EXAMPLES:
        log.commit([example])
    assert list(log.view.leaves[2:]) == published(root)
    assert isinstance(examine(log.view), Consistent)
    opened = [open_leaf(envelope, OWNER.verifier, LOG.verifier) for _, envelope in published(root)]
    assert tuple(leaf.body for leaf in opened) == EXAMPLES


def test_rows_and_tally_are_those_of_the_leaves(root: Path) -> None:
    """And the tally is that of the fold."""
    leaves: list[Leaf] = []
    hashes, rows, tally = [], [], AssertionTally()
    for (salt, envelope), body in zip(published(root), EXAMPLES, strict=True):
        leaves.append(open_leaf(envelope, OWNER.verifier, LOG.verifier))
        hashes.append(leaf_hash(salt, envelope))
        row = row_of(leaves[-1], body, hashes[-1])
        tally = tally.with_row(row)
        rows.append(msgspec.json.encode(row).decode())
    assert blocks(root, "rows") == ["\n".join(rows)]
    assert blocks(root, "tally") == [f"{tally.count} {tally.digest.hex()}"]
    assert fold_leaves(leaves, hashes).assertions == tally


def test_the_columns_are_those_of_the_page(root: Path) -> None:
    """In the order in which a row is added up."""
    text = (root / "docs" / "spec" / "world.md").read_text(encoding="utf-8")
    table = text[text.index("| column |") : text.index("No row is believed")]
    rows = [line.split("|")[1] for line in table.splitlines()[2:] if line]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert named == [column.strip().removeprefix("a.").strip('"') for column in _COLUMNS.split(",")]
