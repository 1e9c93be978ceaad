"""Real use of the two libraries as a stranger would write it; it must type-check, and mypy reads it.

Lines with a suppressed error are misuse that must *not* type-check: mypy fails when such an error disappears.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import assert_never, assert_type

from adapters.base import Adapter, Header, Understanding, Verdict
from adapters.lines import Line, LineSplitter, Overlong
from adapters.objective import Objective, decide_objective
from adapters.record import Defect, HumanStatement, Ignored, Record, ToolResult, Unknown
from sidecars.checkpoint import Checkpoint, SignedCheckpoint, open_checkpoint, sign_checkpoint
from sidecars.digest import Digest
from sidecars.envelope import Verified, open_envelope, seal
from sidecars.errors import SidecarError, UnverifiedError
from sidecars.event import Event, Outcome
from sidecars.keys import Signer, Verifier
from sidecars.merkle import verify_consistency, verify_inclusion
from sidecars.proof import parse_proof, verify_proof
from sidecars.store import Store
from sidecars.trust import TrustedLog


def read_everything(adapter: Adapter, content: bytes) -> Iterator[Objective]:
    """Read a whole transcript and give what its runs proved."""
    header = adapter.read_header(content)
    assert_type(header, Header)
    reader = adapter.reader(header)
    for line in LineSplitter().feed(content):
        assert_type(line, Line | Overlong)
        for record in reader.feed(line):
            objective = judge(record)
            if objective is not None:
                yield objective
    for record in reader.finish():
        objective = judge(record)
        if objective is not None:
            yield objective
    understanding = reader.self_check()
    assert_type(understanding, Understanding)
    if understanding.verdict is Verdict.NOT:
        raise ValueError(understanding.reasons)


def judge(record: Record) -> Objective | None:
    """Match every kind of record; a new kind makes this fail to type-check."""
    match record:
        case ToolResult():
            return decide_objective(record)
        case HumanStatement() | Defect() | Unknown() | Ignored():
            return None
        case _:
            assert_never(record)


def sign_and_open(seed: bytes, payload: bytes) -> bytes:
    """Seal a payload and open it again with the public key alone."""
    signer = Signer("example", seed)
    verifier = Verifier.parse("example+00000000+AQ==")
    content = seal("application/example", payload, [signer])
    verified = open_envelope(content, "application/example", [verifier])
    assert_type(verified, Verified)
    return verified.payload


def check_offline(
    leaf_hash: bytes, proof: bytes, origin: str, keys: Sequence[Verifier]
) -> SignedCheckpoint | None:
    """Check one leaf with nothing but public keys."""
    try:
        return verify_proof(parse_proof(proof), leaf_hash, origin, keys)
    except UnverifiedError as error:
        assert_type(error.reason, str)
        return None
    except SidecarError:
        return None


def admit(log: TrustedLog, anchor: bytes, head: bytes, leaves: Sequence[tuple[bytes, bytes]]) -> int:
    """Believe a log in the order of admission."""
    assert_type(log.admit_anchor(anchor), SignedCheckpoint)
    log.admit_head(head)
    for salt, envelope in leaves:
        log.admit_leaf(salt, envelope)
    log.finish()
    return log.size


def checkpoint_round_trip(signer: Signer, verifier: Verifier, root: Digest) -> Checkpoint:
    """Sign a checkpoint and read it back."""
    note = sign_checkpoint(Checkpoint("example.org/log", 7, root), [signer])
    return open_checkpoint(note, "example.org/log", [verifier]).checkpoint


def counts(event: Event) -> tuple[Outcome | None, int | None]:
    """Absent numbers stay visible in the types."""
    assert_type(event.passed, int | None)
    return event.outcome, event.passed


def keep(folder: Path, content: bytes) -> bytes:
    """Store content under its digest."""
    store = Store(folder)
    digest = store.put(content)
    assert_type(digest, Digest)
    return store.get(digest)


def misuse(event: Event, digest: Digest, result: ToolResult, root: bytes) -> None:
    """What the types must refuse."""
    event.outcome = Outcome.PASS  # type: ignore[misc]  # a stored fact is not changed
    digest.raw = b""  # type: ignore[misc]  # nor is a digest
    result.exit_code = 0  # type: ignore[misc]  # nor is what a host said
    decide_objective(event)  # type: ignore[arg-type]  # an event is no record (ADR 0003)
    total: int = event.total  # type: ignore[assignment]  # an absent number is no number
    verify_inclusion(digest, 0, total, [], root)  # type: ignore[arg-type]  # a digest is not its bytes
    verify_consistency("old", "new")  # type: ignore[call-arg,arg-type]  # sizes, roots and proof are needed
