"""The example in docs/spec/witness.md is real: what it submits gets the answer that it shows."""

import hashlib
import re
from pathlib import Path

from sidecars.cosignature import WitnessSigner, WitnessVerifier
from sidecars.keys import Verifier
from tests.simulators.witnesses import LOG, ORIGIN, Branch, HandClock, make_folder
from timeline.witness.identity import open_witness
from timeline.witness.protocol import latest_path
from timeline.witness.service import Witness

WITNESS = WitnessSigner("witness.example/w", hashlib.sha256(b"known answer").digest())


def block(root: Path, kind: str) -> str:
    """Give the one fenced example of a kind."""
    text = (root / "docs" / "spec" / "witness.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{kind}\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_example_is_what_the_program_does(root: Path, tmp_path: Path) -> None:
    """Keys, submission, answer and path."""
    log = Branch.of(5)
    assert Verifier.parse(block(root, "vkey-log")) == LOG.verifier
    assert WitnessVerifier.parse(block(root, "vkey-witness")) == WITNESS.verifier
    assert block(root, "submission").encode() + b"\n" == log.body(3)
    assert block(root, "path") == latest_path(ORIGIN)
    opened = open_witness(make_folder(tmp_path / "w"))
    with opened.store.transaction():
        opened.store.set_vkey(str(WITNESS.verifier))
    witness = Witness(WITNESS, opened.store, HandClock(1_790_000_000_000))
    assert witness.add_checkpoint(log.body(0, 3)).status == 200
    answer = witness.add_checkpoint(block(root, "submission").encode() + b"\n")
    assert answer.body.decode() == block(root, "answer") + "\n"
    opened.store.close()
