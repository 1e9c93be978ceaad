"""The examples in docs/spec/backup.md are real: made again byte for byte, and verified."""

import re
from pathlib import Path

from sidecars.digest import Digest
from sidecars.encoding import from_base64
from sidecars.envelope import pae
from sidecars.identity import strict_loads
from sidecars.keys import Verifier
from sidecars.lineage import STATEMENT_TYPE
from tests.sidecars.samples import AT, LOG, ORIGIN
from tests.sidecars.simulator import LogSimulator, entry
from timeline.manifest import Manifest, Member, open_manifest, order_members, seal_manifest


def block(root: Path, kind: str) -> str:
    """Give the one fenced example of a kind."""
    text = (root / "docs" / "spec" / "backup.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_manifest_is_what_the_library_writes(root: Path) -> None:
    """Of the log of docs/spec/log.md."""
    log = LogSimulator()
    log.commit([entry("a")])
    contents = {
        "trust/pins": b"pins\n",
        "state/state.db": b"database\n",
        "state/head": log.view.head,
        "trust/anchor": log.view.anchor,
        "config/anchors": b"pin\n",
    }
    members = [Member(name, len(content), str(Digest.of(content))) for name, content in contents.items()]
    manifest = Manifest(
        origin=ORIGIN,
        size=3,
        root=str(Digest(log.frontier.root())),
        at=AT,
        members=order_members(members),
    )
    example = block(root, "manifest").encode()
    assert seal_manifest(manifest, LOG) == example
    assert open_manifest(example, (LOG.verifier,)) == manifest


def test_the_fork_statement_is_signed_by_the_old_owner(root: Path) -> None:
    """Over the bytes as they stand there."""
    statement = block(root, "fork-statement").encode()
    verifier = Verifier.parse(block(root, "vkey-old-owner"))
    verifier.verify(pae(STATEMENT_TYPE, statement), from_base64(block(root, "fork-signature"), "signature"))
    found = strict_loads(statement)
    assert isinstance(found, dict)
    assert found["fork"] == ORIGIN
