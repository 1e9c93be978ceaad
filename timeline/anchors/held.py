"""What a checkpoint that an anchor holds says about ours, for the kinds of anchors that show it. Pure."""

from sidecars.checkpoint import SignedCheckpoint
from sidecars.errors import BadProofError
from sidecars.merkle import verify_consistency
from timeline.anchors.port import Answer, Question, Standing


def decide_held(held: SignedCheckpoint, question: Question, known: int) -> Answer | None:
    """Why ours is not to be confirmed; ``None``: ours is the same, or continues it.

    ``known`` is the largest size that this anchor has shown or confirmed.

    Raises:
        StateError: the proof cannot be made, because our own leaves cannot be read.
    """
    size, ours = held.checkpoint.size, question.checkpoint
    if size > ours.size:
        return Answer(Standing.AHEAD, size=size, reason="larger-tree", evidence=held.note)
    if size < known:
        return Answer(Standing.REGRESSED, size=size, reason="smaller-tree")
    proof = question.prove(size) if 0 < size < ours.size else ()
    try:
        verify_consistency(size, ours.size, held.checkpoint.root.raw, ours.root.raw, proof)
    except BadProofError:
        return Answer(Standing.FORKED, size=size, reason="other-root", evidence=held.note)
    return None
