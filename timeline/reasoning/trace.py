"""What is kept of a mediated answer: a binding for each unit, and one trace for all of them (P42). Pure.

A trace is for the log and its auditors, and never for the reader. What it binds is often short enough to be guessed,
so each digest but the policy's is salted; the salt is kept apart, and with it goes the way back.
"""

from collections.abc import Sequence
from typing import Final

from sidecars.digest import Digest
from sidecars.identity import JSON, canonical_bytes
from sidecars.reasoned import MediationTraceEntry, TracedHead, TracedUnit
from timeline.reasoning.graph import Head

SALT_BYTES: Final = 32
"""As long as the digest: guessing the salt is no shorter way than guessing the digest."""


class Seal:
    """Makes salted digests for one trace: SHA-256 of the salt and the RFC 8785 form of [field, id, content].

    Field and id stand in it, so that equal contents in two places do not show that they are equal.
    """

    __slots__ = ("_salt",)

    def __init__(self, salt: bytes) -> None:
        """Take the salt of one trace.

        Raises:
            RuntimeError: it is not ``SALT_BYTES`` long.
        """
        if len(salt) != SALT_BYTES:
            message = f"a trace's salt must be {SALT_BYTES} bytes"
            raise RuntimeError(message)
        self._salt = salt

    def digest(self, field: str, name: str, content: JSON) -> str:
        """The digest of what stands in one field of the unit with that id."""
        return str(Digest.of(self._salt + canonical_bytes([field, name, content])))


def make_trace(
    trace_id: str,
    bindings: tuple[TracedUnit, ...],
    heads: tuple[Head, Head],
    emitted_at: int,
    policy: str,
    output: str,
) -> MediationTraceEntry:
    """The body of the leaf about one answer.

    ``heads`` are those of prompt and emission; ``policy`` and ``output`` are digests.
    """
    prompt, emission = heads
    return MediationTraceEntry(
        id=trace_id,
        units=bindings,
        prompted=TracedHead(prompt.size, prompt.root),
        emitted=TracedHead(emission.size, emission.root),
        emitted_at=emitted_at,
        policy=policy,
        output=output,
    )


def digest_output(texts: Sequence[str], seal: Seal) -> str:
    """What binds a trace to the texts that were released, in their order."""
    return seal.digest("output", "", list(texts))
