"""What a witness's outcome means as an anchor's answer."""

import pytest

from sidecars.cosignature import WitnessSigner
from tests.simulators.witnesses import Branch
from timeline.anchors.port import Question, Standing
from timeline.anchors.witnessed import _answer
from timeline.witness.exchange import Refused, make_request

TREE = Branch.of(5)
WITNESS = WitnessSigner("witness.example/w", b"w" * 32).verifier


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("known", "reason", "expected"),
    [
        (0, "unknown-log", Standing.REFUSED),
        (3, "unknown-log", Standing.REGRESSED),
        (3, "key-not-trusted", Standing.REFUSED),
    ],
)
def test_a_witness_that_does_not_know_the_log_any_more_has_forgotten_it(
    known: int, reason: str, expected: Standing
) -> None:
    """It has signed for the log before, so this is no matter of setting it up; a key that it does not know may be."""
    request = make_request(TREE.note(), WITNESS, known)
    question = Question(TREE.note(), request.checkpoint, (), known, TREE.prove, 1.0)
    assert _answer(Refused(reason, 404), question).standing is expected  # type: ignore[arg-type]  # a table of words
