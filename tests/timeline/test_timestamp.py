"""``timestamp``: the verdicts of the published RFC 3161 responses, and a real authority on this machine."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.programs import runner
from tests.sidecars.proofs import KEYS, make_case
from timeline.errors import TimestampRefusedError, TimestampUnavailableError, UsageError
from timeline.timestamp import RESPONSE_BYTES_MAX, verify_timestamp

HELLO = b"hello"
TEST_TSA = "CN=Test TSA Timestamping,O=local"


@pytest.fixture(scope="module")
def vectors(shared: Path) -> Path:
    """Give the published responses."""
    return shared / "vectors" / "rfc3161" / "test" / "fixtures"


GOOD = {
    "identrust/issue-104.tsr": (HELLO, 1_741_683_128_000),
    "sigstage/response-sha256.tsr": (HELLO, 1_746_791_935_000),
    "sigstage/response-sha384.tsr": (HELLO, 1_746_791_935_000),
    "sigstage/response-sha512.tsr": (HELLO, 1_746_791_936_000),
    "sigstage/response-no-embedded-cert.tsr": (HELLO, 1_750_234_382_000),
    # The chain has expired since; it was valid when the time was stated.
    "sigstore.mock/response-expired.tsr": (None, 1_675_209_600_000),
    "test_tsa/response.tsr": (HELLO, 1_728_402_032_000),
    # Two certificates were put into the response beside the signer's: the signer is still the one that signed.
    "test_tsa/response-injected-certs.tsr": (HELLO, 1_728_402_032_000),
}
BAD = ("sigstage/response-invalid-signature.tsr", "test_tsa/other_response.tsr")


@pytest.mark.parametrize("name", sorted(GOOD))
def test_every_good_response_states_its_time(vectors: Path, name: str) -> None:
    """Each published response that verifies does here, over its own message and no other, under its own chain only."""
    response, chain = (vectors / name).read_bytes(), (vectors / name).parent / "ts_chain.pem"
    message, at_ms = GOOD[name]
    message = (vectors / name).with_name("payload").read_bytes() if message is None else message
    found = verify_timestamp(response, message, chain.read_bytes())
    assert found.at_ms == at_ms
    if name.startswith("test_tsa"):
        assert found.authority == TEST_TSA
    for other in (b"", message + b"\n", message[:-1]):
        with pytest.raises(TimestampRefusedError):
            verify_timestamp(response, other, chain.read_bytes())
    for folder in {path.partition("/")[0] for path in GOOD} - {name.partition("/")[0]}:
        with pytest.raises(TimestampRefusedError):
            verify_timestamp(response, message, (vectors / folder / "ts_chain.pem").read_bytes())


@pytest.mark.parametrize("name", BAD)
def test_every_bad_response_is_refused(vectors: Path, name: str) -> None:
    """A bad signature, and a response of another authority."""
    with pytest.raises(TimestampRefusedError):
        verify_timestamp(
            (vectors / name).read_bytes(), HELLO, ((vectors / name).parent / "ts_chain.pem").read_bytes()
        )


def test_every_published_response_has_a_verdict_here(vectors: Path) -> None:
    """None is left out of the two lists above."""
    found = {path.relative_to(vectors).as_posix() for path in vectors.rglob("*.tsr")}
    assert found == {*GOOD, *BAD}


def test_every_flipped_byte_of_the_signed_part_is_refused(vectors: Path) -> None:
    """Nothing of a response can be changed so that it states another time, message or signer."""
    response = (vectors / "test_tsa/response.tsr").read_bytes()
    chain = (vectors / "test_tsa/ts_chain.pem").read_bytes()
    good = verify_timestamp(response, HELLO, chain)
    for place in range(len(response)):
        changed = bytearray(response)
        changed[place] ^= 0x01
        try:
            found = verify_timestamp(bytes(changed), HELLO, chain)
        except TimestampRefusedError:
            continue
        assert found == good, place  # the response's own certificates and its unsigned parts may differ


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(raw: bytes) -> None:
    """Whatever stands in the place of a response or of a chain."""
    with pytest.raises(UsageError):
        verify_timestamp(b"", HELLO, raw)
    with pytest.raises((TimestampRefusedError, UsageError)):
        verify_timestamp(raw, HELLO, b"-----BEGIN CERTIFICATE-----\n" + raw)


def test_a_chain_needs_a_root_and_bounds_hold(vectors: Path) -> None:
    """A leaf alone roots nothing; sizes are bounded."""
    chain = (vectors / "test_tsa/ts_chain.pem").read_bytes()
    response = (vectors / "test_tsa/response.tsr").read_bytes()
    leaf = chain.partition(b"-----END CERTIFICATE-----\n")
    with pytest.raises(UsageError):
        verify_timestamp(response, HELLO, leaf[0] + leaf[1])
    with pytest.raises(UsageError):
        verify_timestamp(response, HELLO, chain + b"\n" * 65536)
    with pytest.raises(TimestampRefusedError, match="at most"):
        verify_timestamp(response + b"\0" * RESPONSE_BYTES_MAX, HELLO, chain)
    assert verify_timestamp(response, HELLO, chain + chain).authority == TEST_TSA


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program runs without the library, and says how to get it."""
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    with pytest.raises(TimestampUnavailableError) as refused:
        verify_timestamp(b"", HELLO, b"")
    assert "timestamps" in refused.value.hint


# -- a real authority ------------------------------------------------------------------------------------------

_TSA_CONFIG = """\
[tsa]
default_tsa = t
[t]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
[leaf]
extendedKeyUsage = critical,timeStamping
basicConstraints = critical,CA:false
"""


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    """Give a folder with a root, a signer's certificate and its key, made by `openssl`."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path / "tsa"
    folder.mkdir()
    (folder / "tsa.cnf").write_text(_TSA_CONFIG, encoding="utf-8")
    (folder / "serial").write_text("01", encoding="utf-8")
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(folder, "req", "-x509", *key, "-keyout", "root.key", "-out", "root.pem", "-subj", "/CN=Root")
    openssl(folder, "req", "-new", *key, "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=TSA")
    signing = ("-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial")
    openssl(
        folder,
        "x509",
        "-req",
        "-in",
        "tsa.csr",
        *signing,
        "-extfile",
        "tsa.cnf",
        "-extensions",
        "leaf",
        "-out",
        "tsa.pem",
    )
    return folder


def openssl(folder: Path, *arguments: str) -> None:
    """Run `openssl` in a folder."""
    done = subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_a_proof_with_a_timestamp(authority: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From `openssl ts` to the verdict; a timestamp of another proof, or half of the options, is refused."""
    run = runner(monkeypatch)

    proof, other = authority / "event.proof", authority / "other.proof"
    proof.write_bytes(make_case().content)
    other.write_bytes(make_case(place=2).content)
    openssl(authority, "ts", "-query", "-data", "event.proof", "-sha256", "-cert", "-out", "q.tsq")
    signing = ("-signer", "tsa.pem", "-inkey", "tsa.key", "-config", "tsa.cnf")
    openssl(authority, "ts", "-reply", "-queryfile", "q.tsq", *signing, "-out", "event.tsr")
    keys = [option for key in KEYS for option in ("--key", str(key))]
    stamp = ("--timestamp", str(authority / "event.tsr"), "--tsa", str(authority / "root.pem"))
    code, out, err = run("verify-proof", str(proof), *keys, *stamp)
    assert (code, err) == (0, "")
    assert "timestamp: this file existed at " in out
    assert "says CN=TSA" in out
    found = json.loads(run("verify-proof", str(proof), *keys, *stamp, "--json")[1])
    assert found["timestamp"]["authority"] == "CN=TSA"
    code, out, err = run("verify-proof", str(other), *keys, *stamp, "--json")
    assert (code, out, json.loads(err)["reason"]) == (1, "", "timestamp-refused")
    for half in (stamp[:2], stamp[2:]):
        assert run("verify-proof", str(proof), *keys, *half)[0] == 2
