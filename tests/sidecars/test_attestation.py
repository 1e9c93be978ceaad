"""``attestation``: the in-toto form, readable by others' tools and verified by ours to the last byte."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.attestation import (
    ATTESTATION_BYTES_MAX,
    PAYLOAD_TYPE,
    PREDICATE_TYPE,
    attest,
    make_statement,
    result_of,
    verify_attestation,
)
from sidecars.bundle import parse_bundle
from sidecars.closed import OUTCOMES, canonical_json
from sidecars.envelope import pae
from sidecars.errors import (
    BadSignatureError,
    BrokenLinkError,
    MalformedError,
    SidecarError,
    UnknownKeyError,
)
from sidecars.keys import Signer
from sidecars.proven import Proven
from tests.sidecars.proofs import KEYS, WITNESSES, make_case, witness_keys
from tests.sidecars.samples import LOG, OWNER, STRANGER, make_event

BUNDLE = make_case(events=2, place=0, after=0).content
CONTENT = attest(BUNDLE, LOG)
PADDED = next(
    found
    for place in range(8)
    if (found := json.loads(attest(make_case(events=8, place=place, after=0).content, LOG)))["payload"][-1]
    == "="
)
"""An attestation whose payload leaves bits over in base64, which is a question of its length."""


def verify(content: bytes) -> Proven:
    """Verify with the right keys."""
    return verify_attestation(content, KEYS)


def sealed(payload: bytes, signer: Signer = LOG, **changes: object) -> bytes:
    """Give a DSSE envelope of our spelling around any payload."""
    signature = signer.sign(pae(PAYLOAD_TYPE, payload))
    signed = {"keyid": str(signer.ref), "sig": base64.b64encode(signature).decode()}
    envelope: dict[str, object] = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [signed],
    }
    return canonical_json(envelope | changes) + b"\n"


def loosely(encoded: str) -> str:
    """Give another base64 spelling of the same bytes: bits set that the padding leaves over."""
    assert encoded.endswith("=")
    body = encoded.rstrip("=")
    other = body[:-1] + chr(ord(body[-1]) + 1) + encoded[len(body) :]
    assert base64.b64decode(other) == base64.b64decode(encoded)
    return other


def statement(**changes: Any) -> bytes:
    """Give the statement with fields of its predicate changed; ``None`` takes one away."""
    value = json.loads(make_statement(BUNDLE))
    value["predicate"] = {k: v for k, v in (value["predicate"] | changes).items() if v is not None}
    return canonical_json(value)


# -- as others read it -----------------------------------------------------------------------------------------


@pytest.mark.requirement("X6")
def test_the_envelope_is_plain_dsse_with_an_in_toto_statement() -> None:
    """Read with nothing of ours but Ed25519: names and encodings are those of the two specifications."""
    envelope = json.loads(CONTENT)
    assert set(envelope) == {"payload", "payloadType", "signatures"}
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.standard_b64decode(envelope["payload"])
    (signature,) = envelope["signatures"]
    signed = b"DSSEv1 28 application/vnd.in-toto+json %d %s" % (len(payload), payload)
    LOG.verifier.verify(signed, base64.standard_b64decode(signature["sig"]))
    said = json.loads(payload)
    assert (said["_type"], said["predicateType"]) == ("https://in-toto.io/Statement/v1", PREDICATE_TYPE)
    event_line = parse_bundle(BUNDLE).event
    (subject,) = said["subject"]
    assert subject == {
        "name": json.loads(event_line)["id"],
        "digest": {"sha256": hashlib.sha256(event_line).hexdigest()},
    }
    predicate = said["predicate"]
    assert predicate["result"] == "PASSED"
    assert [set(one) & {"uri", "digest", "content"} for one in predicate["configuration"]] == [{"uri"}]
    assert predicate["timeline_event"] == json.loads(event_line)
    assert base64.standard_b64decode(predicate["timeline_proof"]) == BUNDLE


@pytest.mark.requirement("X6")
def test_it_is_verified_with_the_proof_that_it_carries() -> None:
    """Statement, signature and the proof within, cosignatures included, are checked with public keys alone."""
    assert verify(CONTENT).event["id"] == make_case(events=2).sidecar.events[0].id
    cosigned = attest(make_case().but(witnesses=WITNESSES).content, LOG)
    assert len(verify_attestation(cosigned, KEYS, witness_keys()).cosigned) == 2
    with pytest.raises(UnknownKeyError):
        verify_attestation(cosigned, KEYS)


@pytest.mark.requirement("X6")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_only_a_shown_pass_is_one(outcome: str) -> None:
    """Each outcome but a pass is FAILED, the unknown one too; a pass with something in doubt is no PASSED."""
    event = {"outcome": outcome}
    assert result_of(event, simulated_host=False) == ("PASSED" if outcome == "pass" else "FAILED")
    assert result_of(event, simulated_host=True) == "FAILED"
    for flag in ("conflict", "inconsistent", "masked", "partial", "truncated"):
        expected = "WARNED" if outcome == "pass" and flag in {"partial", "truncated"} else "FAILED"
        assert result_of(event | {"flags": [flag]}, simulated_host=False) == expected
    for name in ("failed", "errors"):
        assert result_of(event | {name: 1}, simulated_host=False) == "FAILED"
    if outcome == "pass":
        assert result_of(event | {"failed": 0, "errors": 0, "warnings": 0}, simulated_host=False) == "PASSED"
        assert result_of(event | {"warnings": 2}, simulated_host=False) == "WARNED"


def test_a_simulated_host_is_said_and_never_passes() -> None:
    """Whoever reads the statement alone sees it."""
    said = json.loads(make_statement(make_case(simulated=True).content))
    assert (said["predicate"]["result"], said["predicate"]["timeline_simulated_host"]) == ("FAILED", True)


# -- changed files ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("X6")
def test_every_flipped_byte_is_refused() -> None:
    """Every byte of the file: envelope, payload, key and signature; only declared errors come out."""
    verify(CONTENT)
    accepted = []
    for place in range(len(CONTENT)):
        for mask in (0x01, 0x20, 0x80):
            changed = bytearray(CONTENT)
            changed[place] ^= mask
            try:
                verify(bytes(changed))
            except SidecarError:
                continue
            accepted.append((place, mask))
    assert accepted == []


@pytest.mark.requirement("X6")
def test_every_cut_and_addition_is_refused() -> None:
    """A file that ends early or goes on is no attestation; the bound comes first."""
    for length in range(len(CONTENT)):
        with pytest.raises(MalformedError):
            verify(CONTENT[:length])
    for changed in (CONTENT + b"\n", b" " + CONTENT, CONTENT + CONTENT, CONTENT.rstrip(b"\n")):
        with pytest.raises(MalformedError):
            verify(changed)
    with pytest.raises(MalformedError, match="at most"):
        verify(CONTENT + b" " * ATTESTATION_BYTES_MAX)


@pytest.mark.parametrize(
    "changed",
    [
        CONTENT.replace(b'","payloadType', b'", "payloadType'),
        json.dumps(json.loads(CONTENT)).encode() + b"\n",
        json.dumps(json.loads(CONTENT), separators=(",", ":"), sort_keys=False).encode(),
        canonical_json(json.loads(CONTENT) | {"extra": 1}) + b"\n",
        canonical_json(json.loads(CONTENT) | {"signatures": json.loads(CONTENT)["signatures"] * 2}) + b"\n",
        canonical_json(json.loads(CONTENT) | {"signatures": []}) + b"\n",
        canonical_json(PADDED | {"payload": loosely(PADDED["payload"])}) + b"\n",
        canonical_json(
            PADDED
            | {"signatures": [PADDED["signatures"][0] | {"sig": loosely(PADDED["signatures"][0]["sig"])}]}
        )
        + b"\n",
        CONTENT.replace(b"\n", b"\r\n"),
    ],
)
def test_it_has_one_spelling(changed: bytes) -> None:
    """Other spaces, orders, members, signatures or base64 are refused, though DSSE would allow some of them."""
    assert changed != CONTENT
    with pytest.raises(MalformedError):
        verify(changed)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(b'{"payload":"'.__add__) | st.data())
def test_any_bytes_are_refused_with_a_declared_error(raw: Any) -> None:
    """Random bytes, and the file with a piece replaced."""
    if not isinstance(raw, bytes):
        start = raw.draw(st.integers(0, len(CONTENT)))
        end = raw.draw(st.integers(start, min(len(CONTENT), start + 40)))
        raw = CONTENT[:start] + raw.draw(st.binary(max_size=12)) + CONTENT[end:]
    try:
        verify(raw)
    except SidecarError:
        return
    assert raw == CONTENT


# -- signed, and still not believed ----------------------------------------------------------------------------


@pytest.mark.requirement("X6")
@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"result": "FAILED"}, BrokenLinkError),
        ({"result": "WARNED"}, BrokenLinkError),
        ({"passedTests": ["all"]}, BrokenLinkError),
        ({"timeline_event": None}, BrokenLinkError),
        ({"timeline_simulated_host": None}, BrokenLinkError),
        ({"configuration": []}, BrokenLinkError),
        ({"timeline_proof": None}, MalformedError),
        ({"timeline_proof": 1}, MalformedError),
        ({"timeline_proof": "AAAA"}, MalformedError),
        (
            {"timeline_proof": base64.b64encode(make_case(events=2, place=1, after=0).content).decode()},
            BrokenLinkError,
        ),
    ],
)
def test_a_statement_that_says_something_else_is_refused_though_the_log_key_signed_it(
    change: dict[str, Any], refusal: type[SidecarError]
) -> None:
    """What stands in it must follow from its proof, field for field; a proof of event A is no statement about B."""
    with pytest.raises(refusal):
        verify(sealed(statement(**change)))
    assert sealed(statement()) == CONTENT


@pytest.mark.parametrize("payload", [b"", b"[]", b"{}", b"null", b'{"predicate":[]}', b"\xff", b"[" * 100])
def test_a_payload_that_is_no_statement_is_malformed(payload: bytes) -> None:
    """The payload is parsed only after its signature, and never as anything but JSON of ours."""
    with pytest.raises(MalformedError):
        verify(sealed(payload))


def test_another_key_does_not_attest() -> None:
    """A stranger's signature, the owner's, and one under our key's name are refused."""
    with pytest.raises(UnknownKeyError) as refused:
        verify(attest(BUNDLE, STRANGER))
    assert "--key" in refused.value.hint
    with pytest.raises(UnknownKeyError, match="newest epoch"):
        verify(attest(BUNDLE, OWNER))
    forged = json.loads(attest(BUNDLE, STRANGER))
    forged["signatures"][0]["keyid"] = str(LOG.ref)
    with pytest.raises(BadSignatureError):
        verify(canonical_json(forged) + b"\n")


def test_another_payload_type_is_refused() -> None:
    """The type is part of what is signed, and there is one."""
    envelope = json.loads(CONTENT)
    payload = base64.standard_b64decode(envelope["payload"])
    signature = LOG.sign(pae("application/json", payload))
    signed = [{"keyid": str(LOG.ref), "sig": base64.b64encode(signature).decode()}]
    for payload_type, refusal in (("application/json", MalformedError), (PAYLOAD_TYPE, BadSignatureError)):
        content = canonical_json(envelope | {"payloadType": payload_type, "signatures": signed}) + b"\n"
        with pytest.raises(refusal):
            verify(content)


def test_the_outcome_of_a_real_event_is_carried() -> None:
    """From the typed event to the statement's word."""
    from tests.sidecars.proofs import Case, enter
    from tests.sidecars.simulator import LogSimulator

    for changes, result in (
        ({"outcome": "fail", "exit_code": 1, "failed": 1}, "FAILED"),
        ({"outcome": "unknown"}, "FAILED"),
        ({"flags": ("partial",)}, "WARNED"),
    ):
        log = LogSimulator()
        leaf, sidecar = enter(log, [make_event(0, **changes)])
        content = attest(Case(log, leaf, sidecar).content, LOG)
        assert verify(content)
        payload = base64.standard_b64decode(json.loads(content)["payload"])
        assert json.loads(payload)["predicate"]["result"] == result
