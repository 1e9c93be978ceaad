"""``timeline-witness``: its answers and refusals, and the program served for real on a port of this machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from sidecars.cosignature import WitnessSigner
from tests.programs import Run, runner
from tests.simulators.witnesses import LOG, ORIGIN, OTHER, Branch, HandClock, make_folder, serving, working
from timeline.cli.exit import ExitCode
from timeline.witness.endpoint import UnixEndpoint
from timeline.witness.identity import Folder
from timeline.witness.protocol import latest_path
from timeline.witness.unit import format_unit

CHILD = "from timeline.entry import main_witness; main_witness()"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Give the folder that the commands use."""
    return Folder(tmp_path / "witness")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, folder: Folder) -> Run:
    """Give a function that runs the program as its entry point does: exit code, output, errors."""
    monkeypatch.setenv("TIMELINE_WITNESS_DIR", str(folder.path))
    return partial(runner(monkeypatch), program="main_witness")


def answer_of(result: tuple[int, str, str]) -> object:
    """Give the JSON of a command that ended well."""
    assert result[0] == 0, result
    assert result[2] == ""
    return json.loads(result[1])


def test_a_witness_is_made_told_and_shown(run: Run, folder: Folder) -> None:
    """init, add-log, status, retire-key: as data, and as lines."""
    made = answer_of(run("init", "--name", "witness.example/w", "--json"))
    assert isinstance(made, dict)
    assert made["dir"] == str(folder.path)
    assert made["vkey"].startswith("witness.example/w+")
    added = answer_of(run("add-log", str(LOG.verifier), "--json"))
    expected = {
        "origin": ORIGIN,
        "keys": [str(LOG.verifier)],
        "retiredKeys": [],
        "size": None,
        "root": None,
        "cosignedAt": None,
        "path": latest_path(ORIGIN),
        "reason": None,
    }
    assert added == expected
    with working(folder) as witness:
        witness.add_checkpoint(Branch.of(3).body(0))
        witness.add_checkpoint(Branch.of(3).fork(1, "other", 2).body(3))
    status = answer_of(run("status", "--json"))
    signed = {"size": 3, "root": Branch.of(3).root().hex(), "cosignedAt": "2026-09-21T14:13:20.000Z"}
    assert status == {"vkey": made["vkey"], "logs": [expected | signed | {"contradictions": 1}]}
    code, text, _ = run("status")
    assert code == 0
    assert "size 3, signed 2026-09-21T14:13:20.000Z" in text
    assert "CONTRADICTS ITSELF: 1" in text
    (evidence,) = answer_of(run("evidence", "--json"))  # type: ignore[misc]  # a list of one
    assert evidence["origin"] == ORIGIN
    assert evidence["cosigned"].split("\n")[1] == evidence["refused"].split("\n")[1] == "3"
    assert run("evidence")[1].count("log.example/one") == 5
    retired = answer_of(run("retire-key", str(LOG.verifier), "--json"))
    assert isinstance(retired, dict)
    assert (retired["keys"], retired["retiredKeys"]) == ([], [str(LOG.verifier)])


def test_a_log_with_an_origin_of_its_own(run: Run) -> None:
    """As the Go checksum database, whose key has another name."""
    run("init")
    added = answer_of(run("add-log", str(LOG.verifier), "--origin", "go.sum database tree", "--json"))
    assert isinstance(added, dict)
    assert added["origin"] == "go.sum database tree"
    assert "no log has contradicted itself here" in run("evidence")[1]
    assert "nothing signed yet" in run("status")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("status",), ExitCode.NO_STATE, "witness-missing"),
        (("serve",), ExitCode.NO_STATE, "witness-missing"),
        (("add-log", str(LOG.verifier)), ExitCode.NO_STATE, "witness-missing"),
        (("init", "--name", "a b"), ExitCode.USAGE, "usage"),
        (("init", "--dir", "relative"), ExitCode.FAILED, "config-invalid"),
        (("add-log",), ExitCode.USAGE, "usage"),
        (("nonsense",), ExitCode.USAGE, "usage"),
        (("serve", "--listen", "0.0.0.0:1", "--socket", "/s"), ExitCode.USAGE, "usage"),
        (("serve", "--socket-mode", "0777"), ExitCode.USAGE, "usage"),
        (("unit", "--socket", "relative"), ExitCode.USAGE, "witness-address-invalid"),
    ],
)
def test_a_refusal_has_reason_hint_and_code(
    run: Run, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    """For a person in two lines, for a program as data, and nothing on standard output."""
    ended, out, err = run(*arguments)
    assert (ended, out) == (code, "")
    assert re.fullmatch(rf"timeline-witness: error: .* \[{reason}\]\ntimeline-witness: hint: .*\n", err), err
    if arguments[0] != "unit":  # which prints a file
        ended, out, err = run(*arguments, "--json")
        assert (ended, out, json.loads(err)["reason"]) == (code, "", reason)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("init",), "witness-exists"),
        (("add-log", "x"), "log-key-invalid"),
        (("add-log", str(LOG.verifier), "--origin", ""), "log-key-invalid"),
        (("retire-key", str(OTHER.verifier)), "log-key-invalid"),
        (("serve", "--listen", "0.0.0.0:80"), "witness-address-invalid"),
        (("serve", "--socket", "relative"), "witness-address-invalid"),
        (("serve", "--socket", "/"), "witness-address-taken"),
    ],
)
def test_a_refusal_changes_nothing(run: Run, folder: Folder, arguments: tuple[str, ...], reason: str) -> None:
    """With a witness there."""
    run("init")
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    code, _, err = run(*arguments, "--json")
    assert code != 0
    assert reason in err
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


def test_a_clock_that_ran_ahead_is_accepted_by_the_owner(
    run: Run, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was signed in the future is signed again now; then the log can go on."""
    run("init")
    run("add-log", str(LOG.verifier))
    log = Branch.of(9)
    with working(folder) as witness:
        assert witness.add_checkpoint(log.body(0, 3)).status == 200
    monkeypatch.setattr("timeline.clock.SystemClock.now_ms", lambda _: 1_700_000_000_000)
    present = HandClock(1_700_000_000_000)
    with working(folder, present) as witness:
        assert witness.add_checkpoint(log.body(3)).reason == "clock-went-back"
    assert answer_of(run("accept-clock", "--json")) == {"signedAgain": [ORIGIN]}
    assert answer_of(run("accept-clock", "--json")) == {"signedAgain": []}
    assert "nothing was signed" in run("accept-clock")[1]
    with working(folder, present) as witness:
        assert witness.add_checkpoint(log.body(0)).body == b"3\n"
        assert witness.add_checkpoint(log.body(3)).status == 200


def test_a_damaged_row_is_shown_as_such(run: Run, folder: Folder) -> None:
    """``status`` still lists the rest."""
    run("init")
    run("add-log", str(LOG.verifier))
    with working(folder) as witness:
        witness.add_checkpoint(Branch.of(3).body(0))
        with witness._store.transaction():
            witness._store._rows.write("UPDATE log SET note = ?", [(Branch.of(3).note(),)])
    code, text, _ = run("status")
    assert code == 0
    assert "does not verify [malformed]" in text


def test_the_latest_checkpoint_is_asked_for_and_verified(run: Run, tmp_path: Path) -> None:
    """Under the pinned key only; what nobody has cosigned, and nobody there, are said."""
    with serving(make_folder(tmp_path / "served")) as served:
        arguments = ["latest", str(served.endpoint), "--key", str(served.key), "--origin", ORIGIN]
        code, _, err = run(*arguments, "--json")
        assert (code, json.loads(err)["reason"]) == (1, "witness-unavailable")
        served.server.witness.add_checkpoint(Branch.of(3).body(0))
        found = answer_of(run(*arguments, "--json"))
        assert isinstance(found, dict)
        assert (found["size"], found["root"]) == (3, Branch.of(3).root().hex())
        assert found["note"].startswith(Branch.of(3).note().decode())
        assert run(*arguments)[1].startswith("size 3, signed 2026-09-21T14:13:20.000Z\nlog.example/one\n3\n")
        other = str(WitnessSigner(served.key.name, bytes(32)).verifier)
        code, _, err = run(*arguments[:3], other, "--origin", ORIGIN, "--json")
        assert (code, json.loads(err)["reason"]) == (1, "unknown-key")
    code, _, err = run(*arguments, "--json")
    assert (code, json.loads(err)["reason"]) == (1, "witness-unavailable")


# -- as a program ----------------------------------------------------------------------------------------------

ASK = """
import sys
from tests.simulators.witnesses import LOG, Branch
from sidecars.cosignature import WitnessVerifier
from timeline.clock import SystemClock, SystemStopwatch
from timeline.witness.client import Asked, Ports, submit
from timeline.witness.endpoint import parse_endpoint
asked = Asked(parse_endpoint(sys.argv[1]), WitnessVerifier.parse(sys.argv[2]))
for size in (3, 7, 7, 5):
    log = Branch.of(size)
    outcome = submit(asked, log.note(), log.prove, verifiers=[LOG.verifier], known=0, deadline_seconds=60,
                     ports=Ports(SystemClock(), SystemStopwatch()))
    print(type(outcome).__name__)
"""


@pytest.mark.parametrize(("how", "as_json"), [("port", False), ("socket", True)])
def test_the_program_serves_and_stops(run: Run, root: Path, how: str, *, as_json: bool) -> None:
    """A child serves, another child asks over loopback or the socket, and SIGTERM ends it in good order."""
    made = answer_of(run("init", "--json"))
    assert isinstance(made, dict)
    run("add-log", str(LOG.verifier))
    arguments = ["--listen", "127.0.0.1:0"] if how == "port" else ["--socket", f"/tmp/tw-{os.getpid()}.s"]
    server = subprocess.Popen(
        [sys.executable, "-c", CHILD, "serve", *arguments, *(["--json"] if as_json else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=root,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert server.stdout is not None
        first = server.stdout.readline()
        place = json.loads(first)["endpoint"] if as_json else first.removeprefix("serving on ").strip()
        asked = subprocess.run(
            [sys.executable, "-c", ASK, place, made["vkey"]],
            capture_output=True,
            encoding="utf-8",
            cwd=root,
            check=True,
        )
    finally:
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=60)
    assert asked.stdout.split() == ["Cosigned", "Cosigned", "Cosigned", "Ahead"]
    assert (server.returncode, err) == (0, "")
    lines = out.strip().split("\n")
    said = [(200, "cosigned"), (409, "other-size"), (200, "cosigned"), (409, "other-size"), (200, "cosigned")]
    said += [(409, "other-size"), (200, "latest")]
    if as_json:
        assert json.loads(lines.pop()) == {"status": "stopped"}
        parsed = [json.loads(line) for line in lines]
        assert [(entry["code"], entry["reason"], entry["origin"]) for entry in parsed] == [
            (code, reason, ORIGIN) for code, reason in said
        ]
    else:
        assert lines.pop() == "stopped"
        assert [line.split("  ")[1:] for line in lines] == [
            [str(code), reason, ORIGIN] for code, reason in said
        ]
    status = answer_of(run("status", "--json"))
    assert isinstance(status, dict)
    assert status["logs"][0]["size"] == 7


# -- the unit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_user", [False, True])
def test_a_unit_serves_the_folder_on_the_socket(run: Run, *, own_user: bool) -> None:
    """Under a user of its own with a sandbox, or under the caller's."""
    code, text, _ = run("unit", *(["--user"] if own_user else []), "--dir", "/srv/w", "--socket", "/srv/s")
    assert code == 0
    assert "serve --dir /srv/w --socket /srv/s --socket-mode " in text
    assert ("User=timeline-witness" in text) is not own_user
    assert ("ProtectSystem=strict" in text) is not own_user
    assert "init --dir /srv/w" in text
    keys = [line.partition("=")[0] for line in text.split("\n") if "=" in line and not line.startswith("#")]
    assert len(keys) == len(set(keys))


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """As far as ``systemd-analyze verify`` reads it, with awkward paths in it."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    folder = tmp_path / 'a b%n$HOME"'
    folder.mkdir()
    (tmp_path / "b c%n").mkdir()
    program = tmp_path / "b c%n" / "timeline-witness"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    for own_user in (False, True):
        unit = tmp_path / "timeline-witness.service"
        text = format_unit(
            str(program), folder=str(folder), socket=UnixEndpoint(str(folder)), own_user=own_user
        )
        unit.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [analyze, "verify", str(unit)], capture_output=True, encoding="utf-8", check=False
        )
        assert done.stderr == ""
