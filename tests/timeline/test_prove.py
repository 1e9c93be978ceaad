"""``timeline prove`` and ``timeline verify-proof``: from a state to a file that needs no state."""

import base64
import json
import shlex
import sqlite3
from pathlib import Path

import pytest

from sidecars.cosignature import WitnessSigner, add_signatures
from sidecars.errors import SidecarError, UnknownKeyError
from sidecars.note import NoteSignature, parse_note
from sidecars.offline import verify_proof_file
from sidecars.proven import verify_bundle
from tests.programs import Run, runner, use
from tests.simulators.worlds import FOLDERS, event_ids, new_world, refusal_of
from tests.timeline.cases import SECRET, Case, enroll_session, indexed_session
from timeline import service
from timeline.errors import EventNotFoundError, QueryError
from timeline.prove import Proof, prove_event


def prove(case: Case, event_id: str | None = None, **options: str) -> Proof:
    """Prove one event of a case, its first unless told otherwise."""
    wanted = event_ids(case.world)[0] if event_id is None else event_id
    return prove_event(case.session, case.world.root, wanted, **options)  # type: ignore[arg-type]  # the tests name forms


@pytest.mark.requirement("X6")
def test_every_event_of_a_state_is_proven_by_a_file(tmp_path: Path) -> None:
    """Over several segments: each event's file verifies with the keys that are named, and shows that event."""
    case = indexed_session(tmp_path / "world", runs=4, filler_bytes=40_000)
    found = event_ids(case.world)
    assert len(found) == 4
    assert len(case.view.sources[0].kept) > 1
    for event_id in found:
        proof = prove(case, event_id)
        proven = verify_bundle(proof.content, proof.keys)
        assert proven.event["id"] == event_id
        assert proven == proof.proven
        assert proven.simulated_host
        attested = prove(case, event_id, form="in-toto")
        assert verify_proof_file(attested.content, attested.keys) == (proven, "in-toto")


@pytest.mark.requirement("X6")
def test_a_proof_of_one_timeline_is_none_of_another(indexed: Case, tmp_path: Path) -> None:
    """Another timeline's keys, even for the same transcript, verify nothing."""
    other = enroll_session(new_world(tmp_path / "other"))
    other.index()
    proof, foreign = prove(indexed), prove(other)
    for content in (proof.content, prove(indexed, form="in-toto").content):
        with pytest.raises(UnknownKeyError):
            verify_proof_file(content, foreign.keys)


def test_a_proof_shows_no_path_no_text_and_no_key(indexed: Case) -> None:
    """Neither form holds the transcript's path, the project, a word of the session or a private key."""
    keys = [
        path.read_text(encoding="utf-8").split("\n")[1] for path in indexed.world.locations.keys.iterdir()
    ]
    for form in ("bundle", "in-toto"):
        content = prove(indexed, form=form).content.decode()
        texts = [content]
        if form == "in-toto":
            texts.append(base64.b64decode(json.loads(content)["payload"]).decode())
        for text in texts:
            for secret in (
                *keys,
                str(indexed.path),
                indexed.world.root,
                "make the tests pass",
                "old.log",
                SECRET,
            ):
                assert secret not in text


def test_making_a_proof_changes_nothing(indexed: Case) -> None:
    """State and trust are as they were, and the transcript is not needed."""
    folder = indexed.world.folder
    before = {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "state.db-" not in path.name
    }
    indexed.path.unlink()
    assert prove(indexed).proven.event["runner"] == "pytest"
    gone = before.pop(indexed.path, None)
    assert gone is not None
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.requirement("X6")
def test_cosignatures_travel_with_the_head(indexed: Case) -> None:
    """A witness's line on head or anchor is in the proof, and whoever verifies must bring the witness's key."""
    witnesses = [
        WitnessSigner("witness.example/w1", b"1" * 32),
        WitnessSigner("witness.example/w2", b"2" * 32),
    ]
    where = indexed.world.locations
    for path, witness in zip((where.head, where.anchor), witnesses, strict=True):
        note = path.read_bytes()
        stranger = NoteSignature(WitnessSigner("x", b"x" * 32).verifier.ref, b"x" * 64)
        cosigned = add_signatures(note, [stranger, witness.cosign(parse_note(note).text, 1_790_000_000)])
        path.write_bytes(cosigned)
    for form in ("bundle", "in-toto"):
        proof = prove(indexed, form=form)
        assert set(proof.cosigners) == {witness.verifier.ref for witness in witnesses}
        shown, _ = verify_proof_file(proof.content, proof.keys, [witness.verifier for witness in witnesses])
        assert {one.key for one in shown.cosigned} == set(proof.cosigners)
        with pytest.raises(SidecarError):
            verify_proof_file(proof.content, proof.keys)


def test_what_is_not_consented_to_is_not_proven(indexed: Case) -> None:
    """No such event, no id, another project, a revoked or an ended consent: refused as for a card."""
    wanted = event_ids(indexed.world)[0]
    with pytest.raises(EventNotFoundError):
        prove(indexed, "timeline-event:" + "0" * 32)
    for text in ("", "timeline-event:", wanted.upper(), wanted + "0", "event:" + wanted.partition(":")[2]):
        with pytest.raises(QueryError):
            prove(indexed, text)
    elsewhere = indexed.world.home / "elsewhere"
    elsewhere.mkdir()
    outside = refusal_of(lambda: prove_event(indexed.session, str(elsewhere), wanted))
    assert outside == "private-enrollment-unavailable"
    at = indexed.world.clock.at_ms
    indexed.world.clock.at_ms = at + 400 * 86_400_000
    assert refusal_of(lambda: prove(indexed, wanted)) == "private-enrollment-expired"
    indexed.world.clock.at_ms = at
    service.revoke(indexed.session, indexed.ref)
    assert refusal_of(lambda: prove(indexed, wanted)) == "private-enrollment-unavailable"


def test_a_state_that_is_not_believed_proves_nothing(indexed: Case) -> None:
    """A changed sidecar, a dropped row of the index, an older head: the reason is that of the state."""
    wanted = event_ids(indexed.world)[0]
    (file,) = indexed.world.locations.sidecars.iterdir()
    content = file.read_bytes()
    file.write_bytes(content.replace(b'"passed":11', b'"passed":12'))
    assert refusal_of(lambda: prove(indexed, wanted)) == "digest-mismatch"
    file.write_bytes(content)
    with sqlite3.connect(indexed.world.locations.database) as connection:
        connection.execute("DELETE FROM event")
    connection.close()
    assert refusal_of(lambda: prove(indexed, wanted)) == "index-unverified"


# -- the commands ----------------------------------------------------------------------------------------------


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a way to run `timeline`: exit code, standard output, standard error."""
    return runner(monkeypatch)


@pytest.mark.requirement("X6")
def test_prove_then_verify_without_a_state(
    indexed: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """The command that `prove` prints is the one that verifies, also where there is no timeline at all."""
    use(indexed.world, monkeypatch)
    wanted = event_ids(indexed.world)[0]
    for form in ("bundle", "in-toto"):
        file = tmp_path / f"event.{form}"
        options = ("--root", indexed.world.root, "--format", form, "--out", str(file))
        code, out, err = run("prove", wanted, *options)
        assert (code, err) == (0, "")
        assert "simulated host" in out
        assert "not proved:" in out
        (line,) = (line for line in out.split("\n") if line.startswith("verify: timeline "))
        command = shlex.split(line.removeprefix("verify: timeline "))
        with monkeypatch.context() as elsewhere:
            for name in FOLDERS:
                elsewhere.setenv(f"TIMELINE_{name.upper()}_DIR", str(tmp_path / "nowhere" / name))
            code, out, err = run(*command)
            assert (code, err) == (0, "")
            assert out.startswith(f"verdict: verified  form: {form}\n")
            assert "host was simulated" in out
            found = json.loads(run(*command, "--json")[1])
        assert (found["event"]["id"], found["simulatedHost"], found["result"]) == (wanted, True, "FAILED")
        assert not (tmp_path / "nowhere").exists()


def test_prove_speaks_json_or_prints_the_proof(
    indexed: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Without --out the file itself is on standard output, or in the document."""
    use(indexed.world, monkeypatch)
    wanted = event_ids(indexed.world)[0]
    root = ("--root", indexed.world.root)
    code, out, err = run("prove", wanted, *root)
    assert (code, err) == (0, "")
    found = json.loads(run("prove", wanted, *root, "--json")[1])
    assert found["proof"] == out
    assert found["bytes"] == len(out.encode())
    file = tmp_path / "event.proof"
    written = json.loads(run("prove", wanted, *root, "--json", "--out", str(file))[1])
    assert (written["proof"], written["file"], file.read_text(encoding="utf-8")) == (None, str(file), out)
    assert written["sha256"] == found["sha256"]
    assert verify_proof_file(out.encode(), prove(indexed).keys)[0].event == found["event"]


def test_errors_have_reason_and_hint(
    indexed: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A file that exists is not written over; bad keys are misuse; a changed proof is refused with 1."""
    use(indexed.world, monkeypatch)
    wanted = event_ids(indexed.world)[0]
    root = ("--root", indexed.world.root)
    file = tmp_path / "event.proof"
    file.write_bytes(b"mine")
    for out in (str(file), str(tmp_path / "none" / "x"), str(tmp_path)):
        code, _, err = run("prove", wanted, *root, "--out", out, "--json")
        assert (code, json.loads(err)["reason"], bool(json.loads(err)["hint"])) == (
            1,
            "proof-file-unusable",
            True,
        )
    assert file.read_bytes() == b"mine"
    proof = prove(indexed)
    keys = [option for key in proof.keys for option in ("--key", str(key))]
    for arguments, code, reason in (
        (("verify-proof", str(tmp_path / "none"), *keys), 1, "proof-file-unusable"),
        (("verify-proof", str(file), *keys), 1, "malformed"),
        (("verify-proof", str(file), "--key", "x"), 2, "usage"),
        (("verify-proof", str(file)), 2, "usage"),
        (("prove", "x", *root), 2, "query-invalid"),
        (("prove", "timeline-event:" + "0" * 32, *root), 1, "event-not-found"),
        (("prove", wanted, *root, "--format", "pdf"), 2, "usage"),
    ):
        found, out, err = run(*arguments, "--json")
        said = json.loads(err)
        assert (found, out, said["reason"]) == (code, "", reason)
        assert said["hint"] or reason == "malformed"
    file.write_bytes(proof.content.replace(b'"passed":11', b'"passed":12'))
    assert run("verify-proof", str(file), *keys)[0] == 1


def test_a_write_that_fails_leaves_no_file(
    indexed: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """On a full disk there is an error and no half of a proof."""
    use(indexed.world, monkeypatch)
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    file = tmp_path / "event.proof"
    real = Path.open

    def full(self: Path, mode: str = "r", *rest: object, **named: object) -> object:
        if self != file:
            return real(self, mode, *rest, **named)  # type: ignore[call-overload]  # passed through
        real(self, "xb").close()
        return real(Path("/dev/full"), "wb")

    monkeypatch.setattr(Path, "open", full)
    wanted = event_ids(indexed.world)[0]
    code, _, err = run("prove", wanted, "--root", indexed.world.root, "--out", str(file), "--json")
    assert (code, json.loads(err)["reason"]) == (1, "proof-file-unusable")
    assert not file.exists()


def test_prove_needs_a_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    """Exit code 10, as every command says it; and verify-proof does not."""
    for name in FOLDERS:
        monkeypatch.setenv(f"TIMELINE_{name.upper()}_DIR", str(tmp_path / name))
    assert run("prove", "timeline-event:" + "0" * 32, "--root", str(tmp_path))[0] == 10
