"""A scripted `codex app-server`: answers as the real one does, or as the test's plan says it must not."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

PLAN = json.loads(os.environ["FAKE_CODEX_PLAN"])
HOME = Path(os.environ["CODEX_HOME"])


def say(message: object) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def listed(trusted: dict[str, Any]) -> list[dict[str, Any]]:
    """List every hook of the home with its trust."""
    file = HOME / "hooks.json"
    found = []
    for event, groups in json.loads(file.read_text(encoding="utf-8"))["hooks"].items():
        for i, group in enumerate(groups):
            for j, entry in enumerate(group["hooks"]):
                key = f"{file}:{event}:{i}:{j}"
                known = PLAN.get("status") or ("trusted" if key in trusted else "untrusted")
                found.append(
                    {
                        "key": key,
                        "command": entry["command"],
                        "currentHash": f"sha256:{len(entry['command'])}",
                        "sourcePath": str(file),
                        "trustStatus": known,
                    }
                )
    return found


def main() -> None:
    """Answer until the input ends."""
    trusted: dict[str, Any] = {}
    assert sys.argv[1:] == ["app-server"]
    say({"method": "started", "params": {}})
    for line in sys.stdin:
        request = json.loads(line)
        method, number = request["method"], request.get("id")
        if method == PLAN.get("end_at"):
            return
        if method == PLAN.get("hang_at"):
            signal.pause()
        if method == PLAN.get("refuse"):
            say({"id": number, "error": {"code": -32600, "message": "no"}})
            continue
        if method == PLAN.get("noise_at"):
            sys.stdout.write("not json\n[]\n")
            say({"id": number, "method": "asks/back"})
        if method == "hooks/list":
            hooks = [] if PLAN.get("none") else listed(trusted)
            say({"id": number, "result": {"data": [{"cwd": request["params"]["cwds"][0], "hooks": hooks}]}})
        elif method == "config/batchWrite":
            edit = request["params"]["edits"][0]
            assert (edit["keyPath"], edit["mergeStrategy"]) == ("hooks.state", "upsert")
            trusted.update(edit["value"])
            with (HOME / "config.toml").open("a", encoding="utf-8") as file:
                for key, value in edit["value"].items():
                    file.write(
                        f'\n[hooks.state.{json.dumps(key)}]\ntrusted_hash = "{value["trusted_hash"]}"\n'
                    )
            say({"id": number, "result": {"status": "ok"}})
        elif number is not None:
            say({"id": number, "result": {}})


main()
