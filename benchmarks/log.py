"""Opening a long log, which verifies it from the first leaf to the last, against its hashes and signatures alone.

Both happen in one process and in turn, a slice of leaves at a time, so that other work on the machine slows both.
What the reference is given is ready before its clock starts: it neither reads nor takes anything apart.
"""

import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from unittest import mock

from nacl.bindings import crypto_sign_open

from benchmarks.corpus import START_MS
from benchmarks.measure import Figure, own_peak_mb, python, run
from benchmarks.worlds import HERE, session_at
from sidecars.checkpoint import Checkpoint, sign_checkpoint
from sidecars.digest import Digest
from sidecars.envelope import pae, parse_envelope
from sidecars.keys import KeyRef
from sidecars.leaf import Body, EnrolledSource, Enrollment, EnrollmentBinding, SidecarEntry
from timeline.clock import SystemEntropy
from timeline.files import write_atomic
from timeline.keystore import load_keystore
from timeline.state import State, open_local, open_local_for_writing
from timeline.store import Store
from timeline.tlog import seal_batch

_LEAVES = 1_000_000
_QUICK_LEAVES = 20_000
_LEAVES_EACH = 250
"""Leaves of one source: its enrollment, then its sidecars."""

_SLICE = 2_000
_GATE = 3.0
_MEMORY_MB = 600.0
"""A third above what is measured, which is 450 bytes a leaf; it was 1,000 while every leaf was kept."""

Row = tuple[int, bytes, bytes]


def figures(*, quick: bool) -> list[Figure]:
    """Processor time of verifying against the reference, and the peak memory of verifying."""
    leaves = _QUICK_LEAVES if quick else _LEAVES
    found = json.loads(run(python("benchmarks.log", str(big_log(leaves)))).output)
    ours, theirs = (1e6 * found[name] / leaves for name in ("ours", "reference"))
    detail = f"{ours:.0f} and {theirs:.0f} microseconds a leaf of {found['size_bytes'] / leaves:.0f} bytes"
    name = f"verify a log of {leaves:,} leaves"
    return [
        Figure(
            f"{name}: CPU / (SHA-256, signatures)", found["ours"] / found["reference"], "x", _GATE, detail
        ),
        Figure(f"{name}: peak memory", found["peak_mb"], "MB", _MEMORY_MB),
    ]


def big_log(leaves: int) -> Path:
    """The folder of a timeline whose log has so many leaves; made once, without the sidecars that they name."""
    folder = HERE / f"log-{leaves}"
    done = folder / "done"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        session = session_at(folder)
        with open_local_for_writing(session.locations, session.ports) as state:
            _fill(state, leaves)
        done.touch()
    return folder


def digest_text(number: int) -> str:
    """The digest of something that is not there, one for each number."""
    return str(Digest.of(b"%d" % number))


def _fill(state: State, leaves: int) -> None:
    """Append leaves as commits of one leaf do, and sign a head only at the end."""
    belief, keystore = state.belief, state.keystore
    bodies = _bodies(leaves - belief.size)
    while belief.size < leaves:
        with state.store.transaction():
            for body in islice(bodies, _SLICE):
                batch = seal_batch(
                    keystore, belief, [body], at_ms=START_MS, newest_ms=START_MS, entropy=SystemEntropy()
                )
                for row in batch.rows:
                    state.store.append_leaf(*row)
                belief = batch.belief
    note = sign_checkpoint(Checkpoint(keystore.pins.origin, belief.size, belief.root), [keystore.log])
    write_atomic(state.locations.head, note)
    write_atomic(state.locations.anchor, note)


def _bodies(count: int) -> Iterator[Body]:
    """Sources one after the other: an enrollment, then sidecars, of which every fourth gives up the one before."""
    for number in range(count):
        source, place = divmod(number, _LEAVES_EACH)
        enrolled = enrollment_of(source)
        if place == 0:
            yield enrolled
        else:
            yield SidecarEntry(
                digest=digest_text(number),
                source=enrolled.source.ref,
                segment=place - 1,
                enrollment_id=enrolled.enrollment_id,
                count=1 + number % 40,
                root=digest_text(-number),
                evicts=(digest_text(number - 1),) if place % 4 == 0 else (),
            )


def enrollment_of(number: int) -> Enrollment:
    """The enrollment of a source that is not there, one for each number."""
    return Enrollment(
        enrollment_id=f"timeline-enrollment:{number:032x}",
        receipt_digest=digest_text(number),
        binding=EnrollmentBinding("codex", f"s{number}", "u", "t", "/w/project", "k", None, None, None),
        source=EnrolledSource(
            f"source:{number:032x}", f"/w/{number}.jsonl", "1", "2", 4096, "3", "4", 4096, digest_text(number)
        ),
        mode="snapshot",
        confirmed_at=START_MS,
        expires_at=START_MS + 1,
        recall_until=START_MS + 1,
    )


@dataclass
class _Reference:
    """Does the reference's work for rows of the log, and keeps what it took."""

    keys: dict[KeyRef, bytes]
    seconds: float = 0.0
    preparing: float = 0.0
    size_bytes: int = 0

    def take(self, rows: list[Row]) -> None:
        """Hash these rows and check their signatures, once both are laid out."""
        began = time.process_time()
        hashed, signed = [], []
        for _, salt, envelope in rows:
            parsed = parse_envelope(envelope)
            (signature,) = parsed.signatures
            message = signature.signature + pae(parsed.payload_type, parsed.payload)
            hashed.append(salt + envelope)
            signed.append((message, self.keys[signature.key]))
        ready = time.process_time()
        for content in hashed:
            hashlib.sha256(content).digest()
        for message, key in signed:
            crypto_sign_open(message, key)
        self.seconds += time.process_time() - ready
        self.preparing += ready - began
        self.size_bytes += sum(map(len, hashed))


def _verify(folder: Path) -> dict[str, float]:
    session = session_at(folder)
    pins = load_keystore(session.locations).pins
    reference = _Reference({key.ref: key.public_key for key in (pins.owner, pins.log)})
    all_leaves = Store.leaves

    def in_turn(store: Store) -> Iterator[Row]:
        rows = all_leaves(store)
        while taken := list(islice(rows, _SLICE)):
            yield from taken
            reference.take(taken)

    began = time.process_time()
    with mock.patch.object(Store, "leaves", in_turn), open_local(session.locations, session.ports) as state:
        seconds = time.process_time() - began
        if state.belief.size != int(folder.name.partition("-")[2]):
            raise RuntimeError("the log has the leaves that it was made with")
    return {
        "ours": seconds - reference.seconds - reference.preparing,
        "reference": reference.seconds,
        "size_bytes": reference.size_bytes,
        "peak_mb": own_peak_mb(),
    }


if __name__ == "__main__":
    print(json.dumps(_verify(Path(sys.argv[1]))))
