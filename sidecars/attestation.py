"""The proof of one event in the words of others: an in-toto Statement with a test result, in a DSSE envelope.

Statement v1 (https://in-toto.io/Statement/v1), predicate https://in-toto.io/attestation/test-result/v0.1, envelope
DSSE v1.0.2 in JSON, signed by the log key: any tool that reads in-toto reads it. The statement is a function of the
proof that it carries (``timeline_proof``): who verifies with this module verifies that proof and derives the statement
again, so that nothing stands in it that the log does not say. ``docs/spec/proof.md`` has the fields.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final

from sidecars.bundle import BUNDLE_BYTES_MAX, parse_bundle
from sidecars.closed import STATEMENT_KINDS, Object, canonical_json, read_event, read_leaf
from sidecars.cosignature import WitnessVerifier
from sidecars.encoding import from_base64, to_base64
from sidecars.envelope import pae, parse_envelope
from sidecars.errors import BrokenLinkError, MalformedError, NonCanonicalError, UnknownKeyError
from sidecars.identity import strict_loads
from sidecars.keys import SIGNATURE_BYTES, KeyRef, Signer, Verifier
from sidecars.proven import Proven, verify_bundle

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"

ATTESTATION_BYTES_MAX: Final = 2 * BUNDLE_BYTES_MAX
"""The proof is in it under base64 twice, 16/9 of its size, with the event once more."""

_ENVELOPE: Final = re.compile(
    rb'\{"payload":"([A-Za-z0-9+/=]+)","payloadType":"application/vnd\.in-toto\+json",'
    rb'"signatures":\[\{"keyid":"([^"\\\x00-\x1f]{1,160})","sig":"([A-Za-z0-9+/=]{88})"\}\]\}\n'
)
"""The one RFC 8785 spelling of the envelope with one signature, and a newline at its end."""

_UNCERTAIN: Final = frozenset({"conflict", "inconsistent", "masked"})
"""Flags that say that the outcome itself is in doubt."""


def result_of(event: Object, *, simulated_host: bool) -> str:
    """``PASSED``, ``WARNED`` or ``FAILED``, as the predicate means them; only a shown success is one.

    ``PASSED`` is a pass without any flag, failure or warning. ``WARNED`` is a pass with warnings, or one of which a
    part was not seen. Everything else, an unknown outcome and a simulated host too, is ``FAILED``: the run was not
    shown to succeed.
    """
    flags = set(event.get("flags", ()))
    if (
        simulated_host
        or event["outcome"] != "pass"
        or flags & _UNCERTAIN
        or event.get("failed")
        or event.get("errors")
    ):
        return "FAILED"
    return "WARNED" if flags or event.get("warnings") else "PASSED"


def make_statement(bundle: bytes) -> bytes:
    """The statement that a proof leads to, in RFC 8785 form. The proof is read and not verified.

    Raises:
        MalformedError, UnsupportedVersionError, PayloadTypeError: not a proof that begins with the log's policy.
    """
    proof = parse_bundle(bundle)
    event = read_event(proof.event)
    if event["kind"] in STATEMENT_KINDS:
        raise MalformedError("an attestation must be of an objective result: what a person typed is none")
    policy = read_leaf(parse_envelope(proof.leaves[0].envelope).payload, "policy")
    simulated_host = policy["body"]["simulated_host"]
    subject = {"name": event["id"], "digest": {"sha256": hashlib.sha256(proof.event).hexdigest()}}
    configuration: dict[str, Any] = {
        "name": "command",
        "uri": f"timeline-fingerprint:{event['fingerprint']}",
        "annotations": {name: event[name] for name in ("runner", "label") if name in event},
    }
    predicate = {
        "result": result_of(event, simulated_host=simulated_host),
        "configuration": [configuration],
        "timeline_event": event,
        "timeline_proof": to_base64(bundle),
        "timeline_simulated_host": simulated_host,
    }
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [subject],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }
    return canonical_json(statement)


def attest(bundle: bytes, signer: Signer) -> bytes:
    """The attestation of a proof, signed by the log key that signed its checkpoint.

    Raises:
        MalformedError, UnsupportedVersionError, PayloadTypeError: as ``make_statement``.
    """
    statement = make_statement(bundle)
    return _format(statement, signer.ref, signer.sign(pae(PAYLOAD_TYPE, statement)))


def verify_attestation(
    content: bytes, keys: Sequence[Verifier], witnesses: Sequence[WitnessVerifier] = ()
) -> Proven:
    """Verify an attestation of ours: its signature, the proof that it carries, and that it says what that proof shows.

    Raises:
        MalformedError: not such an attestation, too large, or another spelling.
        UnknownKeyError, BadSignatureError: not signed by the supplied log key that signed the checkpoint.
        BrokenLinkError: it states something else than its proof.
        SidecarError: as ``verify_bundle``, of the proof.
    """
    statement, ref, signature = _parse(content)
    verifier = next((key for key in keys if key.ref == ref), None)
    if verifier is None:
        raise UnknownKeyError(
            f"the attestation's signature with key id {ref.key_id.hex()} is by no supplied key",
            hint="give owner key and log key with --key; take them from the owner, never from the file",
        )
    verifier.verify(pae(PAYLOAD_TYPE, statement), signature)
    bundle = _carried_proof(statement)
    proven = verify_bundle(bundle, keys, witnesses)
    if proven.checkpoint_key != ref:
        raise UnknownKeyError(
            "an attestation must be signed by the log key of the newest epoch that its proof shows"
        )
    if make_statement(bundle) != statement:
        raise BrokenLinkError("an attestation must state what its proof shows, and nothing else")
    return proven


def _format(statement: bytes, ref: KeyRef, signature: bytes) -> bytes:
    signed = {"keyid": str(ref), "sig": to_base64(signature)}
    envelope = {"payload": to_base64(statement), "payloadType": PAYLOAD_TYPE, "signatures": [signed]}
    return canonical_json(envelope) + b"\n"


def _parse(content: bytes) -> tuple[bytes, KeyRef, bytes]:
    """Statement, key and signature; the envelope is compared with its one spelling and nothing is verified."""
    if len(content) > ATTESTATION_BYTES_MAX:
        raise MalformedError(f"an attestation must be at most {ATTESTATION_BYTES_MAX} bytes")
    found = _ENVELOPE.fullmatch(content)
    if found is None:
        raise MalformedError(
            "an attestation must be a DSSE envelope with an in-toto payload and one signature, in RFC 8785 form"
        )
    try:
        payload, keyid, encoded = (group.decode() for group in found.groups())
    except UnicodeDecodeError as error:
        raise MalformedError("an attestation must be UTF-8") from error
    statement, signature = from_base64(payload, "payload"), from_base64(encoded, "sig")
    ref = KeyRef.parse(keyid)
    if len(signature) != SIGNATURE_BYTES:
        raise MalformedError("a signature must be 64 bytes")
    if _format(statement, ref, signature) != content:
        raise NonCanonicalError("an attestation has one spelling")
    return statement, ref, signature


def _carried_proof(statement: bytes) -> bytes:
    """The proof in a statement that was verified; what else the statement says is compared later."""
    value = strict_loads(statement)
    predicate = value.get("predicate") if isinstance(value, dict) else None
    proof = predicate.get("timeline_proof") if isinstance(predicate, dict) else None
    if not isinstance(proof, str):
        raise MalformedError("an attestation's predicate must carry the proof that it was made from")
    return from_base64(proof, "timeline_proof")
