"""Another implementation of C2SP tlog-witness, aics-witness: our client asks it, and its client asks us.

It needs Python 3.12 and is no dependency of ours. Where ``AICS_WITNESS`` names its program, these tests run it; the
rest of the environment that the program lies in is its own.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.simulators.witnesses import LOG, ORIGIN

PROGRAM = os.environ.get("AICS_WITNESS", "")

pytestmark = pytest.mark.skipif(not PROGRAM, reason="AICS_WITNESS does not name the program of aics-witness")

OUR_CLIENT = """
import sys
from tests.simulators.witnesses import LOG, OTHER, Branch
from sidecars.cosignature import WitnessVerifier
from timeline.clock import SystemClock, SystemStopwatch
from timeline.witness.client import Asked, Held, Ports, submit
from timeline.witness.endpoint import parse_endpoint
asked = Asked(parse_endpoint(sys.argv[1]), WitnessVerifier.parse(sys.argv[2]), Held())
long = Branch.of(9)
fork = long.fork(4, "other", 3)
for log, known in (
    (Branch(long.leaves[:3]), 0), (Branch(long.leaves[:7]), 3), (Branch(long.leaves[:7]), 0),
    (Branch(long.leaves[:7]), 7), (Branch(long.leaves[:5]), 0), (fork, 0), (fork.fork(7, "more", 4), 0),
    (fork.fork(7, "more", 4), 7), (Branch(long.leaves, OTHER), 7), (Branch(long.leaves, LOG, "nobody/knows"), 0),
    (long, 7),
):
    outcome = submit(asked, log.note(), log.prove, verifiers=[LOG.verifier], known=known, deadline_seconds=60,
                     ports=Ports(SystemClock(), SystemStopwatch()))
    print(type(outcome).__name__, bool(getattr(outcome, "evidence", None)))
"""

THEIR_CLIENT = """
import json, sys
from aics_witness.feeder import WitnessClient
notes, proofs = (json.loads(text) for text in sys.stdin.read().split("\\n", 1))
with WitnessClient(sys.argv[1], sys.argv[2]) as client:
    for name in ("3", "7", "7", "9", "5", "fork"):
        def proof(old, new, name=name):
            return [bytes.fromhex(value) for value in proofs[f"{name} {old}"]]
        try:
            print("Cosigned" if client.submit(notes[name], proof) else "nothing")
        except Exception as error:
            print(type(error).__name__)
"""


def run(*arguments: str) -> str:
    """Run their program."""
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()


@contextmanager
def process(*command: str, ready: str, cwd: Path | None = None) -> Iterator[str]:
    """Run a server while the block runs; gives the line that says where it serves."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as server:
        try:
            assert server.stdout is not None
            line = next(line for line in server.stdout if ready in line)
            yield line.strip()
        finally:
            server.terminate()


def free_port() -> int:
    """Give a port that is free now; the children use it, this process does not connect."""
    code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])"
    return int(
        subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    )


def test_our_client_gets_their_cosignatures(tmp_path: Path, root: Path) -> None:
    """And tells an older state, a fork, a strange key and an unknown log apart by their answers."""
    config, place = str(tmp_path / "w.json"), f"127.0.0.1:{free_port()}"
    vkey = run("init", "--config", config, "--name", "other.example/w", "--listen", place)
    run("add-log", "--config", config, "--origin", ORIGIN, "--vkey", str(LOG.verifier))
    with process(PROGRAM, "serve", "--config", config, ready=place):
        asked = subprocess.run(
            [sys.executable, "-c", OUR_CLIENT, f"http://{place}", vkey],
            capture_output=True,
            encoding="utf-8",
            cwd=root,
            check=True,
        )
    assert asked.stdout.strip().split("\n") == [
        "Cosigned False",
        "Cosigned False",
        "Cosigned False",
        "Cosigned False",
        "Ahead True",
        "Forked True",
        "Forked True",
        "Forked True",
        "Refused False",
        "Refused False",
        "Cosigned False",
    ]


def test_their_client_gets_our_cosignatures(tmp_path: Path, root: Path) -> None:
    """From our program, over loopback."""
    import json

    from tests.simulators.witnesses import Branch
    from timeline.clock import SystemEntropy
    from timeline.witness.identity import Folder, init_witness, open_witness
    from timeline.witness.service import know_log

    folder = Folder(tmp_path / "w")
    vkey = str(init_witness(folder, "witness.example/w", SystemEntropy()))
    opened = open_witness(folder)
    know_log(opened.store, str(LOG.verifier), None)
    opened.store.close()
    long = Branch.of(9)
    branches = {str(size): Branch(long.leaves[:size]) for size in (3, 5, 7, 9)} | {
        "fork": long.fork(4, "other", 5)
    }
    notes = json.dumps({name: branch.note().decode() for name, branch in branches.items()})
    proofs = json.dumps(
        {
            f"{name} {old}": [value.hex() for value in branch.proof(old)]
            for name, branch in branches.items()
            for old in range(1, branch.size)
        }
    )
    python = str(Path(PROGRAM).with_name("python"))
    program = "from timeline.entry import main_witness; main_witness()"
    command = [sys.executable, "-c", program, "serve", "--dir", str(folder.path), "--listen", "127.0.0.1:0"]
    with process(*command, ready="serving on", cwd=root) as line:
        place = line.removeprefix("serving on ")
        asked = subprocess.run(
            [python, "-c", THEIR_CLIENT, place, vkey],
            input=f"{notes}\n{proofs}",
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    assert asked.stdout.split() == [
        "Cosigned",
        "Cosigned",
        "Cosigned",
        "Cosigned",
        "WitnessAhead",
        "WitnessRejected",
    ]


def test_no_socket_of_this_process_is_used() -> None:
    """The suite's guard against networks stands: children talk to each other."""
    with socket.socket() as probe, pytest.raises(RuntimeError):
        probe.connect(("127.0.0.1", 1))
