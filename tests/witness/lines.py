"""A tree of nine leaves, a witness, and the cosignature lines that it and others may answer with."""

from sidecars.cosignature import WitnessSigner
from sidecars.note import NoteSignature
from tests.simulators.witnesses import Branch, HandClock

CLOCK = HandClock()
WITNESS = WitnessSigner("witness.example/w", bytes(range(32)))
IMPOSTOR = WitnessSigner("witness.example/w", bytes(32))
TREE = Branch.of(9)
TEXT = TREE.note().partition(b"\n\n")[0].decode() + "\n"


def line(signer: WitnessSigner = WITNESS, text: str = TEXT, at: int = CLOCK.seconds) -> bytes:
    """Give a cosignature line."""
    return f"{signer.cosign(text, at).line()}\n".encode()


def forged(key: NoteSignature) -> bytes:
    """Give a line that names the witness and is not by it."""
    return f"{NoteSignature(WITNESS.verifier.ref, key.signature).line()}\n".encode()
