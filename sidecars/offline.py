"""Any proof file to a verdict in data and in words: the one door for ``python -m sidecars`` and ``timeline``. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecars.attestation import ATTESTATION_BYTES_MAX, result_of, verify_attestation
from sidecars.cosignature import WitnessVerifier
from sidecars.keys import Verifier
from sidecars.proven import Proven, not_proved, verify_bundle

SCHEMA: Final = "timeline-verify-proof/v1"

FILE_BYTES_MAX: Final = ATTESTATION_BYTES_MAX
"""No proof is larger; whoever reads a file reads one byte more and no further."""


def verify_proof_file(
    content: bytes, keys: Sequence[Verifier], witnesses: Sequence[WitnessVerifier] = ()
) -> tuple[Proven, str]:
    """Verify a proof or an attestation; returns what it shows and its form, ``bundle`` or ``in-toto``.

    Raises:
        SidecarError: refused; see ``verify_bundle`` and ``verify_attestation``.
    """
    if content.startswith(b"{"):
        return verify_attestation(content, keys, witnesses), "in-toto"
    return verify_bundle(content, keys, witnesses), "bundle"


def proof_answer(proven: Proven, form: str) -> dict[str, Any]:
    """What was proved and what was not, as JSON data."""
    checkpoint = proven.checkpoint
    return {
        "schema": SCHEMA,
        "verdict": "verified",
        "form": form,
        "event": dict(proven.event),
        "eventSha256": proven.event_sha256,
        "result": result_of(proven.event, simulated_host=proven.simulated_host),
        "simulatedHost": proven.simulated_host,
        "source": proven.source,
        "segment": proven.segment,
        "enrollment": proven.enrollment_id,
        "sidecarDigest": proven.sidecar_digest,
        "place": proven.place,
        "count": proven.count,
        "leaf": proven.leaf_index,
        "recordedAtMs": proven.at,
        "epoch": proven.epoch,
        "logKeyCompromised": proven.compromised,
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": str(checkpoint.root),
        "ownerKey": str(proven.owner_key),
        "logKeys": [str(ref) for ref in proven.log_keys],
        "cosigned": [{"witness": str(one.key), "at": one.at} for one in proven.cosigned],
        "notProved": list(not_proved(proven)),
        "authority": "context-only",
    }


def proof_lines(answer: Mapping[str, Any]) -> list[str]:
    """The same for a person."""
    event = answer["event"]
    numbers = ", ".join(
        f"{event[name]} {name}" for name in ("passed", "failed", "errors", "skipped") if name in event
    )
    exit_code = f"exit {event['exit_code']}" if "exit_code" in event else "no exit code"
    facts = (
        [event["runner"], event["outcome"].upper(), numbers, exit_code, ", ".join(event.get("flags", ()))]
        if "runner" in event
        else [event["kind"], "by the user"]
    )
    lines = [
        f"verdict: verified  form: {answer['form']}",
        "  ".join(fact for fact in facts if fact),
        f"    {event['id']}",
        "proved:",
        f"  - the event is number {answer['place'] + 1} of {answer['count']} of a sidecar of {answer['source']}",
        f"  - leaf {answer['leaf']} of the log {answer['origin']} commits to that sidecar, in epoch {answer['epoch']}",
        f"  - the log had {answer['size']} leaves and the root {answer['root']}",
        f"  - that is signed by {', '.join(answer['logKeys'])}, named by the owner key {answer['ownerKey']}",
    ]
    lines += [
        f"  - {one['witness']} cosigned that tree at POSIX time {one['at']}" for one in answer["cosigned"]
    ]
    return [*lines, "not proved:", *(f"  - {item}" for item in answer["notProved"])]
