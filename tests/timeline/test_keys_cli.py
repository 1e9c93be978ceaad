"""``timeline key``: what the commands print, as text and as data, and how they end."""

import json
from functools import partial

import pytest

from sidecars.keys import Verifier
from tests.programs import Run, runner, use
from tests.simulators.worlds import verdict_of
from tests.timeline.cases import Case
from timeline.keystore import load_keystore


@pytest.fixture
def run(indexed: Case, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a way to run `timeline key` in a world: exit code, standard output, standard error."""
    use(indexed.world, monkeypatch)
    return partial(runner(monkeypatch), "key")


@pytest.mark.requirement("X7")
def test_a_rotation_says_what_to_tell_whom(indexed: Case, run: Run) -> None:
    """Both keys, the epoch, and the commands for whoever runs a witness: first the new key, then the old one's end."""
    old = load_keystore(indexed.world.locations).pins.log
    code, out, err = run("rotate")
    new = load_keystore(indexed.world.locations).pins.log
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("epoch 1 (rotation) since leaf ")
    assert lines[1:3] == [f"in force  {new}", f"was       {old}"]
    assert lines[-2:] == [f"  timeline-witness add-log '{new}'", f"  timeline-witness retire-key '{old}'"]


@pytest.mark.requirement("X7")
def test_a_revocation_ends_the_stolen_key_first(indexed: Case, run: Run) -> None:
    """As data: the reason, both keys, and the commands in the order in which they are safe."""
    old = load_keystore(indexed.world.locations).pins.log
    code, out, _ = run("revoke", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["reason"], found["epoch"]) == (0, "changed", "compromised", 1)
    assert (found["retired"], Verifier.parse(found["vkey"]).name) == (str(old), old.name)
    assert found["keyId"] == Verifier.parse(found["vkey"]).key_id.hex()
    assert found["witnesses"] == []
    assert [command.split()[1] for command in found["witnessCommands"]] == ["retire-key", "add-log"]
    assert (found["schema"], found["authority"]) == ("timeline-key-change/v1", "context-only")


@pytest.mark.requirement("X7")
def test_the_list_says_what_became_of_each_key(indexed: Case, run: Run) -> None:
    """Retired, compromised with its leaves, lost, in force; the same as data."""
    assert run("revoke")[0] == 0
    assert run("rotate")[0] == 0
    (indexed.world.locations.keys / "log.key").unlink()
    code, out, _ = run("list")
    assert code == 0
    assert "private key missing: `timeline key rotate --lost`" in out
    assert run("rotate", "--lost")[0] == 0
    code, out, err = run("list")
    assert (code, err) == (0, "")
    heads = [line for line in out.splitlines() if line.startswith("epoch ")]
    assert [line.split("  ")[-1] for line in heads] == ["compromised", "retired", "lost", "in force"]
    assert "signed leaves 3: somebody else may have written them" in out
    found = json.loads(run("list", "--json")[1])
    assert found["owner"] == str(load_keystore(indexed.world.locations).pins.owner)
    assert [key["reason"] for key in found["log"]] == ["first", "compromised", "rotation", "lost"]
    assert [key["ended"] for key in found["log"]] == ["compromised", "rotation", "lost", None]
    assert [key["inForce"] for key in found["log"]] == [False, False, False, True]
    assert [key["privateKey"] for key in found["log"]] == [False, False, False, True]
    assert [key["signed"] for key in found["log"]] == [[[3, 3]], [], [], []]
    assert found["log"][3]["vkey"] == str(load_keystore(indexed.world.locations).pins.log)
    assert verdict_of(indexed.world) == ("ok", frozenset())


def test_refusals_have_reason_hint_and_code(indexed: Case, run: Run) -> None:
    """A key that is not lost is misuse; a damaged one is code 12, a missing one code 1, both with the way out."""
    code, out, err = run("rotate", "--lost", "--json")
    assert (code, out, json.loads(err)["reason"]) == (2, "", "log-key-present")
    assert "timeline key revoke" in json.loads(err)["hint"]
    path = indexed.world.locations.keys / "log.key"
    path.write_bytes(b"damaged")
    code, _, err = run("rotate", "--json")
    assert (code, json.loads(err)["reason"]) == (12, "key-mismatch")
    assert "rotate --lost" in json.loads(err)["hint"]
    path.unlink()
    code, _, err = run("rotate", "--json")
    assert (code, json.loads(err)["reason"]) == (1, "state-incomplete")
    assert "rotate --lost" in json.loads(err)["hint"]
