"""What is proved to an anchor: from a database that may have been put back since the checkpoint was verified."""

from pathlib import Path

import pytest

from sidecars.checkpoint import Checkpoint
from sidecars.digest import Digest
from sidecars.leaf import leaf_hash
from sidecars.merkle import consistency_proof
from tests.anchors.contract import Stage, grown
from tests.anchors.database import said
from tests.anchors.stages import FileStage, PostgresStage, WitnessStage
from tests.simulators.witnesses import LOG
from timeline.anchors.port import Question, Standing
from timeline.anchors.proving import Subject
from timeline.errors import LogRefusedError
from timeline.store import create_store

pytestmark = pytest.mark.requirement("X5")


def subject(folder: Path, held: int, *, salt: bytes = b"s" * 32) -> Subject:
    """Give a checkpoint of five leaves over a database that holds so many."""
    store = create_store(folder / "state.db")
    with store.transaction():
        for index in range(held):
            store.append_leaf(index, salt, b"envelope")
    store.close()
    log = grown(5)
    return Subject(folder / "state.db", Checkpoint(log.origin, 5, Digest(log.root())), log.note())


@pytest.mark.parametrize("held", [0, 2, 4])
def test_a_database_with_fewer_leaves_proves_nothing(tmp_path: Path, held: int) -> None:
    """Another file was put in its place under an open state: that is said, with both numbers."""
    found = subject(tmp_path, held)
    with pytest.raises(LogRefusedError, match=f"{held} of the first 5 leaves"):
        found.prove(3)
    smaller = Checkpoint(found.checkpoint.origin, held + 1, found.checkpoint.root)
    if held < 4:
        with pytest.raises(LogRefusedError):
            found.continues(smaller)


def test_a_leaf_that_is_none_proves_nothing(tmp_path: Path) -> None:
    """A salt of another length, which the verified log did not have."""
    with pytest.raises(LogRefusedError):
        subject(tmp_path, 5, salt=b"short").prove(3)


def test_a_whole_database_proves(tmp_path: Path) -> None:
    """Leaves behind the checkpoint are not looked at."""
    leaves = [leaf_hash(b"s" * 32, b"envelope")] * 5
    assert subject(tmp_path, 7).prove(3) == consistency_proof(leaves, 3)


@pytest.mark.parametrize("kind", ["file", "postgres", "witness"])
def test_no_anchor_is_stopped_by_it(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It is an answer like others, or a ``StateError`` that the asking turns into one; never something raw."""
    match kind:
        case "file":
            stage: Stage = FileStage(tmp_path)
        case "witness":
            stage = WitnessStage(tmp_path)
        case _:
            stage = PostgresStage(request.getfixturevalue("cluster"))
    found = subject(tmp_path, 2)
    with stage.opened() as anchor:
        for asked, prove in ((grown(3), grown(3).prove), (grown(5), found.prove)):
            checkpoint = Checkpoint(asked.origin, asked.size, Digest(asked.root()))
            question = Question(asked.note(), checkpoint, (LOG.verifier,), 0, prove, 60.0)
            try:
                answer = anchor.advance(question)
            except LogRefusedError:
                assert kind == "witness"
                return
    assert said(answer) == (Standing.UNAVAILABLE, "log-refused")
