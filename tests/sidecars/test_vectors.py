"""The public test vectors: Wycheproof, CCTV, JCS, JSONTestSuite, Merkle proofs, sigstore checkpoints."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sidecars.checkpoint import open_checkpoint
from sidecars.errors import BadProofError, BadSignatureError, MalformedError, SidecarError
from sidecars.identity import canonical_bytes_with_floats, strict_loads, strict_loads_with_floats
from sidecars.keys import Verifier
from sidecars.merkle import HASH_BYTES, leaf_hash, verify_consistency, verify_inclusion
from sidecars.note import open_note

CCTV_ACCEPTED = 43
CCTV_ACCEPTED_SHA256 = "36521713b91ca5d28544f38cd646b5494f5911399bfe4635a8bf2f2a88f13bcf"
"""SHA-256 over the comma-separated numbers of the accepted CCTV cases: the golden profile of the one verifier."""

DUPLICATE_KEYS = {"y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"}


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Path:
    """Give the folder of vectors."""
    return shared / "vectors"


def verifies(key: bytes, message: bytes, signature: bytes) -> bool:
    """Tell whether our one verifier accepts."""
    try:
        Verifier("vector", key).verify(message, signature)
    except BadSignatureError:
        return False
    return True


def test_every_wycheproof_signature_gets_its_verdict(vectors: Path) -> None:
    """All 151 Ed25519 cases are accepted or refused as the suite says."""
    suite = json.loads((vectors / "wycheproof/testvectors_v1/ed25519_test.json").read_bytes())
    checked = 0
    for group in suite["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            accepted = verifies(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            assert accepted == (case["result"] == "valid"), case["tcId"]
            checked += 1
    assert checked == 151


def test_edge_point_signatures_keep_the_recorded_profile(vectors: Path) -> None:
    """Which of the 914 CCTV edge cases are accepted changes only with a decision: two verifiers are two answers."""
    cases = json.loads((vectors / "cctv/ed25519/ed25519vectors.json").read_bytes())
    assert len(cases) == 914
    accepted = [
        str(case["number"])
        for case in cases
        if verifies(bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
    ]
    assert len(accepted) == CCTV_ACCEPTED
    assert hashlib.sha256(",".join(accepted).encode()).hexdigest() == CCTV_ACCEPTED_SHA256


def test_canonical_json_equals_the_published_output(vectors: Path) -> None:
    """All six RFC 8785 files give the published bytes."""
    folder = vectors / "jcs/testdata"
    names = sorted(path.name for path in (folder / "input").iterdir())
    assert len(names) == 6
    for name in names:
        value = strict_loads_with_floats((folder / "input" / name).read_bytes())
        hexadecimal = (folder / "outhex" / name.replace(".json", ".txt")).read_text(encoding="utf-8")
        assert canonical_bytes_with_floats(value) == bytes.fromhex(hexadecimal), name


def test_no_document_that_must_be_rejected_is_read(vectors: Path) -> None:
    """All 188 must-reject files of JSONTestSuite are refused, and with our error only."""
    files = sorted((vectors / "jsontestsuite/test_parsing").glob("n_*.json"))
    assert len(files) == 188
    for path in files:
        for loads in (strict_loads, strict_loads_with_floats):
            with pytest.raises(MalformedError):
                loads(path.read_bytes())


def test_documents_that_must_be_accepted_are_read_but_for_duplicate_keys(vectors: Path) -> None:
    """All 95 must-accept files are read, except the two with duplicate keys, which we refuse on purpose."""
    files = sorted((vectors / "jsontestsuite/test_parsing").glob("y_*.json"))
    assert len(files) == 95
    refused = set()
    for path in files:
        try:
            strict_loads_with_floats(path.read_bytes())
        except MalformedError:
            refused.add(path.name)
    assert refused == DUPLICATE_KEYS


def test_documents_that_implementations_differ_on_never_crash(vectors: Path) -> None:
    """Every other file of the suite is read or refused with our error."""
    files = [*(vectors / "jsontestsuite").glob("test_parsing/i_*.json")]
    files += (vectors / "jsontestsuite").glob("test_transform/*.json")
    assert len(files) > 50
    for path in files:
        try:
            canonical_bytes_with_floats(strict_loads_with_floats(path.read_bytes()))
        except MalformedError:
            continue


def proof_cases(folder: Path) -> list[dict[str, Any]]:
    """Read a folder of Merkle cases, the hashes decoded."""
    cases = []
    for path in sorted(folder.rglob("*.json")):
        case = json.loads(path.read_bytes())
        for field in ("root", "root1", "root2", "leafHash"):
            if field in case:
                case[field] = base64.b64decode(case[field] or "")
        case["proof"] = [base64.b64decode(value) for value in case["proof"] or []]
        cases.append(case)
    assert len(cases) == 98
    return cases


def test_every_published_inclusion_proof_gets_its_verdict(vectors: Path) -> None:
    """All 98 inclusion cases are accepted or refused as published."""
    for case in proof_cases(vectors / "merkle/testdata/inclusion"):
        arguments = (case["leafHash"], case["leafIdx"], case["treeSize"], case["proof"], case["root"])
        if case["wantErr"]:
            with pytest.raises(BadProofError):
                verify_inclusion(*arguments)
        else:
            verify_inclusion(*arguments)


def test_every_published_consistency_proof_gets_its_verdict(vectors: Path) -> None:
    """All 98 consistency cases get the published verdict; the one that calls 12 bytes a root is refused."""
    too_short = 0
    for case in proof_cases(vectors / "merkle/testdata/consistency"):
        arguments = (case["size1"], case["size2"], case["root1"], case["root2"], case["proof"])
        is_short = not case["wantErr"] and len(case["root1"]) != HASH_BYTES
        too_short += is_short
        if case["wantErr"] or is_short:
            with pytest.raises(BadProofError):
                verify_consistency(*arguments)
        else:
            verify_consistency(*arguments)
    assert too_short == 1


def verify_bundle(folder: Path) -> None:
    """Verify the checkpoint of a bundle and the entry's inclusion under it, with the key of its trusted root."""
    bundle = json.loads((folder / "bundle.sigstore.json").read_bytes())
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    trusted = json.loads((folder / "trusted_root.json").read_bytes())
    (log,) = (log for log in trusted["tlogs"] if log["logId"]["keyId"] == entry["logId"]["keyId"])
    origin = log["baseUrl"].removeprefix("https://")
    verifier = Verifier(origin, base64.b64decode(log["publicKey"]["rawBytes"])[-32:])
    proof = entry["inclusionProof"]
    signed = open_checkpoint(proof["checkpoint"]["envelope"].encode(), origin, [verifier])
    verify_inclusion(
        leaf_hash(base64.b64decode(entry["canonicalizedBody"])),
        int(proof["logIndex"]),
        signed.checkpoint.size,
        [base64.b64decode(value) for value in proof["hashes"]],
        signed.checkpoint.root.raw,
    )


def test_every_rekor_checkpoint_gets_its_verdict(vectors: Path) -> None:
    """All ten checkpoints with Ed25519 keys, real cosignatures among them, verify or fail as published."""
    folders = sorted((vectors / "sigstore-checkpoints/test/assets/bundle-verify").glob("rekor2-*"))
    assert len(folders) == 10
    for folder in folders:
        if folder.name.endswith("_fail"):
            with pytest.raises(SidecarError):
                verify_bundle(folder)
        else:
            verify_bundle(folder)


SPECIFICATION_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
SPECIFICATION_NOTE = (
    "This is an example message.\n"
    "\n"
    "\u2014 example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
"""The worked example of C2SP signed-note."""


def test_the_example_of_the_note_specification_verifies() -> None:
    """Key and note of the specification's own example are read, verified and written back byte for byte."""
    verifier = Verifier.parse(SPECIFICATION_KEY)
    assert str(verifier) == SPECIFICATION_KEY
    assert open_note(SPECIFICATION_NOTE.encode(), [verifier]).text == "This is an example message.\n"
    with pytest.raises(BadSignatureError):
        open_note(SPECIFICATION_NOTE.replace("example m", "examples m").encode(), [verifier])
