"""``timeline anchor`` as a user or a script meets it: lines, JSON, exit codes, under a real witness."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecars.cosignature import WitnessSigner
from tests.programs import Run, runner, use
from tests.simulators.anchored import log_key_of, make_witness
from tests.simulators.witnesses import HandClock, serving, socket_path
from tests.simulators.worlds import World, new_world
from timeline.witness.identity import open_witness


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path / "world")


@pytest.fixture
def run(world: World, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a way to run `timeline` in the world: exit code, standard output, standard error."""
    use(world, monkeypatch)
    return runner(monkeypatch)


@pytest.fixture
def socket() -> Iterator[str]:
    """Give the place of a witness."""
    with socket_path() as path:
        yield path


@pytest.mark.requirement("X5")
def test_one_command_requires_a_witness_and_one_shows_it(
    world: World, run: Run, socket: str, tmp_path: Path
) -> None:
    """Add, status in words and as JSON, refused while it is away too long, removed again."""
    folder = make_witness(world, tmp_path / "witness")
    opened = open_witness(folder)
    opened.store.close()
    key = str(opened.signer.verifier)
    with serving(folder, clock=HandClock(world.clock.at_ms), at=socket):
        code, out, err = run("anchor", "add", "witness", f"unix:{socket}", "--key", key)
        assert (code, err) == (0, "")
        assert out.startswith("required from now on: witness-1\nquorum 1 of 1")
        assert b"\npolicy leaf 2 " in world.locations.anchor_pin.read_bytes()
        code, out, _ = run("anchor", "status")
        assert code == 0
        assert "confirmed; confirmed 3 leaves at 2026-08-20T11:00:00.000Z" in out
        assert "this state: 3 leaves, confirmed" in out
        code, out, _ = run("anchor", "status", "--json")
        found = json.loads(out)
        assert (code, found["status"], found["behind"], found["quorum"]) == (0, "confirmed", 0, 1)
        assert found["anchors"][0]["standing"] == "confirmed"
    code, out, _ = run("anchor", "status", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["anchors"][0]["standing"]) == (3, "remembered", "unavailable")
    world.clock.at_ms += 86_401_000
    code, out, _ = run("anchor", "status")
    assert code == 1
    assert "refused: stale-unverified" in out
    assert "hint: make the anchors reachable" in out
    code, _, err = run("sources")
    assert (code, "[stale-unverified]" in err) == (1, True)
    code, out, _ = run("anchor", "remove", "witness-1")
    assert code == 0
    assert out.endswith("no external anchor is required: a complete restoration cannot be seen\n")


def test_a_commit_that_nobody_has_confirmed_yet_ends_in_three(
    world: World, run: Run, socket: str, tmp_path: Path
) -> None:
    """Usable, and said so: a script sees it in the exit code."""
    folder = make_witness(world, tmp_path / "witness")
    opened = open_witness(folder)
    opened.store.close()
    with serving(folder, clock=HandClock(world.clock.at_ms), at=socket):
        run("anchor", "add", "witness", f"unix:{socket}", "--key", str(opened.signer.verifier), "--name", "w")
    assert run("formats", "accept", "codex", "event_msg/new_thing")[0] == 0
    code, out, _ = run("anchor", "status", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["behind"]) == (3, "unwitnessed", 1)
    report = json.loads(run("verify", "--json")[1])
    assert report["verdict"] == "ok"
    assert any(item.startswith("complete restoration: no quorum answered") for item in report["notChecked"])


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["add", "file", "relative/anchor"], 2, "anchor-address-invalid"),
        (["add", "file", "{state}/anchor"], 2, "anchor-address-invalid"),
        (["add", "file", "{trust}/copy"], 2, "anchor-address-invalid"),
        (["add", "file", "{other}/anchor", "--name", "Not A Name"], 2, "anchor-name-invalid"),
        (["add", "file", "{other}/anchor", "--quorum", "2"], 2, "anchor-policy-invalid"),
        (["add", "file", "{other}/anchor", "--freshness-seconds", "59"], 2, "anchor-policy-invalid"),
        (["add", "file", "{other}/anchor", "--deadline-ms", "30001"], 2, "anchor-policy-invalid"),
        (["add", "file", "{other}/anchor", "--key", "{witness}"], 2, "anchor-address-invalid"),
        (["add", "file", "{other}/missing/anchor"], 1, "state-incomplete"),
        (["add", "witness", "ftp://x", "--key", "{witness}"], 2, "witness-address-invalid"),
        (["add", "witness", "unix:/nowhere/socket"], 2, "anchor-address-invalid"),
        (["add", "witness", "unix:/nowhere/socket", "--key", "{key}"], 2, "anchor-address-invalid"),
        (["add", "postgres", "postgresql://user:secret@localhost/db"], 2, "anchor-address-invalid"),
        (["add", "postgres", "not-a-dsn"], 2, "anchor-address-invalid"),
        (["remove", "nothing"], 2, "anchor-name-invalid"),
        (["set"], 2, "anchor-policy-invalid"),
        (["set", "--quorum", "1"], 2, "anchor-policy-invalid"),
        (["recover"], 2, "anchor-recovery-unneeded"),
    ],
)
def test_what_cannot_be_is_refused_with_its_reason(
    world: World, run: Run, tmp_path: Path, arguments: list[str], code: int, reason: str
) -> None:
    """Nothing is written; a password never comes back in a message. ``{key}`` is the log's own key, not a witness's."""
    (tmp_path / "other").mkdir(mode=0o700)
    places = {
        "state": world.locations.state,
        "trust": world.locations.trust,
        "other": tmp_path / "other",
        "key": log_key_of(world),
        "witness": str(WitnessSigner("w.example/w", b"w" * 32).verifier),
    }
    before = world.locations.head.read_bytes()
    found, out, err = run("anchor", *(argument.format(**places) for argument in arguments), "--json")
    assert (found, json.loads(err)["reason"]) == (code, reason), err
    assert "secret" not in out + err
    assert world.locations.head.read_bytes() == before


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    "spelling", ["{other}/../world/state/anchor", "{link}/state/anchor", "{link}/trust/x"]
)
def test_a_file_that_leads_back_into_our_own_folders_is_refused(
    world: World, run: Run, tmp_path: Path, spelling: str
) -> None:
    """By ``..``, or by a link further up: it would be put back together with them."""
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(world.folder)
    address = spelling.format(other=tmp_path / "other", link=tmp_path / "link")
    code, _, err = run("anchor", "add", "file", address)
    assert (code, "[anchor-address-invalid]" in err, "must lie outside" in err) == (2, True, True), err
    assert not Path(address).exists()


@pytest.mark.requirement("X5")
def test_one_anchor_is_not_required_twice(world: World, run: Run, socket: str, tmp_path: Path) -> None:
    """One witness at its socket, at another spelling of it, or elsewhere under its key; one file by two paths."""
    folder = make_witness(world, tmp_path / "witness")
    opened = open_witness(folder)
    opened.store.close()
    key = str(opened.signer.verifier)
    other_key = str(WitnessSigner("w.example/w", b"w" * 32).verifier)
    place = tmp_path / "other" / "anchor"
    place.parent.mkdir(mode=0o700)
    with serving(folder, clock=HandClock(world.clock.at_ms), at=socket):
        assert run("anchor", "add", "witness", f"unix:{socket}", "--key", key)[0] == 0
        assert run("anchor", "add", "file", str(place))[0] == 0
        before = world.locations.head.read_bytes()
        for arguments in (
            ("witness", f"unix:{socket}", "--key", key),
            ("witness", socket, "--key", other_key),
            ("witness", "https://192.0.2.1", "--key", key),
            ("file", str(place)),
            ("file", f"{place.parent}/../other/anchor"),
        ):
            code, _, err = run("anchor", "add", *arguments, "--quorum", "2")
            assert (code, "[anchor-address-invalid]" in err, "hint: name a" in err) == (2, True, True), err
    assert world.locations.head.read_bytes() == before


def test_a_file_on_another_disk_will_do(world: World, run: Run, tmp_path: Path) -> None:
    """Required, advanced with each commit, and refusing what it knows to be older."""
    place = tmp_path / "other" / "anchor"
    place.parent.mkdir(mode=0o700)
    assert run("anchor", "add", "file", str(place))[0] == 0
    older = place.read_bytes()
    assert run("formats", "accept", "codex", "event_msg/new_thing")[0] == 0
    assert place.read_bytes() == world.locations.head.read_bytes() != older
    place.write_bytes(older)
    code, _, err = run("sources")
    assert (code, "[external-anchor-distrusted]" in err) == (1, True)
