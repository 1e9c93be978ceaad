"""The exchanges of another witness's own tests, replayed over HTTP against ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecars.keys import Verifier
from tests.simulators.witnesses import make_folder, serving
from tests.witness.talk import post
from timeline.clock import SystemEntropy
from timeline.witness.identity import Folder, init_witness, open_witness
from timeline.witness.service import know_log

UNKNOWN_IS = 404
"""The vectors say 403 for an unknown log; C2SP's text says 404 since."""


@pytest.fixture(scope="module")
def scripts(shared: Path) -> list[dict[str, Any]]:
    """Give the scripts, or skip where they are absent."""
    place = shared / "vectors" / "litewitness" / "exchanges.json"
    if not place.is_file():
        pytest.skip("../shared/vectors/litewitness is absent")
    found = json.loads(place.read_text(encoding="utf-8"))["scripts"]
    assert len(found) == 2
    return found


def _known(log: dict[str, str], first_body: str) -> tuple[str, str | None]:
    """Give vkey and origin of a log, as its kind says."""
    if log["kind"] == "note":
        return log["vkey"], log["origin"]
    origin = first_body.split("\n")[2]
    return str(Verifier(origin, bytes.fromhex(log["public_key_hex"]))), None


@pytest.mark.parametrize("number", [0, 1])
def test_the_exchanges_of_litewitness_are_answered_as_specified(
    scripts: list[dict[str, Any]], number: int, tmp_path: Path
) -> None:
    """Code and body of each, in their order, on one witness."""
    script = scripts[number]
    folder = Folder(tmp_path / "witness")
    init_witness(folder, "example.com/witness", SystemEntropy())
    opened = open_witness(folder)
    know_log(opened.store, *_known(script["log"], script["exchanges_in_order"][0]["body"]))
    opened.store.close()
    with serving(folder) as served:
        for exchange in script["exchanges_in_order"]:
            status, headers, body = post(served.endpoint, exchange["body"].encode())
            unknown = "unknown log" in exchange["assert"]
            assert status == (UNKNOWN_IS if unknown else exchange["status"]), exchange
            kind, _, wanted = exchange["assert"].partition(' "')
            text = json.loads(f'"{wanted}')
            if kind == "body contains":
                assert text in body.decode(), exchange
            else:
                assert kind == "body =="
                assert body.decode() == text
                assert headers["content-type"] == "text/x.tlog.size"


def test_a_witness_of_other_logs_knows_none_of_them(scripts: list[dict[str, Any]], tmp_path: Path) -> None:
    """Each first exchange is 404 where the log was not added: the codes above come from knowing it."""
    with serving(make_folder(tmp_path / "witness")) as served:
        for script in scripts:
            status, _, _ = post(served.endpoint, script["exchanges_in_order"][0]["body"].encode())
            assert status == UNKNOWN_IS
