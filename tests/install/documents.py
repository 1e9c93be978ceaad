"""Configurations as people and hosts write them: JSON and TOML in many hands, all made here."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from timeline.install.command import Program
from timeline.install.operation import Setup
from timeline.install.places import InstallScope, host_files
from timeline.install.record import Records

Write = Callable[[Path], None]

PROGRAM = Program("/opt/py thon/bin/python3", "/opt/timeline's/timeline", "/run/user/1/timeline")
MOVED = Program("/opt/new/bin/python3", "/opt/new/timeline", "/run/user/1/timeline")


def setup_of(
    folder: Path,
    host: str,
    *,
    scope: InstallScope = InstallScope.USER,
    program: Program = PROGRAM,
    environment: Mapping[str, str] | None = None,
) -> Setup:
    """One host below ``folder``, with records beside it."""
    files = host_files(
        host,
        scope,
        program,
        home=folder / "home",
        project=folder / "project",
        environment=environment or {},
    )
    return Setup(host, scope, files, Records(folder / "private" / "installed"))


OTHER_HOOK = {"hooks": [{"type": "command", "command": "notify-send done", "timeout": 5}]}

JSON_TEXTS: dict[str, bytes] = {
    "empty": b"",
    "space": b" \n\t\n",
    "bare": b"{}",
    "bare line": b"{\n}\n",
    "two spaces": json.dumps({"model": "x", "hooks": {"Stop": [OTHER_HOOK]}}, indent=2).encode() + b"\n",
    "four spaces, no newline": json.dumps({"b": 1, "a": {"z": [1, 2.50e3, None]}}, indent=4).encode(),
    "tabs": json.dumps({"a": [], "hooks": {}, "mcpServers": {}}, indent="\t").encode() + b"\n",
    "one line": b'{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[]}]},"n":1}',
    "one spaced line": b'{ "a": "b", "c": [ ] }\n\n',
    "crlf": json.dumps({"x": {"y": "z"}, "hooks": {"Stop": []}}, indent=2).replace("\n", "\r\n").encode(),
    "byte order mark": b'\xef\xbb\xbf{\n  "a": 1\n}\n',
    "same event": json.dumps({"hooks": {"PostToolUse": [OTHER_HOOK, OTHER_HOOK]}}, indent=2).encode(),
    "other servers": json.dumps(
        {"mcpServers": {"db": {"command": "db", "args": []}, "web": {"type": "http", "url": "u"}}}, indent=2
    ).encode(),
    "unicode": '{"naïve": "\\u00e9\\ud83d\\ude00 日本語", "e": "\\u005c\\"{}[]"}\n'.encode(),
    "numbers": b'{"big": 123456789012345678901234567890, "e": 1E+2, "z": -0.0, "p": 1.10}',
    "unordered": b'{"z":1,\n"mcpServers" : {\n      "b":{"command":"c"} },   "a":2\n }',
    "huge": json.dumps({"projects": {f"p{i}": {"n": "x" * 50} for i in range(5000)}}, indent=2).encode(),
}

TOML_TEXTS: dict[str, bytes] = {
    "empty": b"",
    "comment only": b"# nothing yet\n",
    "plain": b'model = "x"\n\n[projects."/a b"]\ntrust_level = "trusted"\n',
    "no newline": b'a = 1\n[b]\nc = """\n[not.a.table]\n"""',
    "crlf": b'# top\r\na = 1\r\n\r\n[b]\r\nc = "d"\r\n',
    "byte order mark": b"\xef\xbb\xbfa = 1\n",
    "tabs": b"\t[t]\n\t\ta\t=\t1 # why\n",
    "other server": b'[mcp_servers.db]\ncommand = "db" # keep\nargs = [\n  "a", # one\n  "b",\n]\n\n\n',
    "dotted": b'features = { apps = false }\nmcp_servers.demo = { command = "c", args = ["]", "#"] }\n',
    "inline servers": b'mcp_servers = { demo = { command = "c" } } # all of them\na = 1\n',
    "inline empty": b"mcp_servers = {}\n",
    "header servers": b"[mcp_servers]\n\n[mcp_servers.a]\ncommand = 'x'\n",
    "strings": b'a = \'\'\'\n[[hooks]]\n\'\'\'\nb = "\\"[x]\\\\" # ]\nc = """a"""""\n\'k.e\' = 1\n',
    "numbers": b"a = nan\nb = 1_000.5e3\nc = 1979-05-27 07:32:00Z\nd = [1.0, -inf]\n",
    "arrays": b"[[a]]\nx = [[1, 2], [3]]\n[[a]]\n[a.b]\ny = { z = [ ] }\n",
    "unicode": '"日本" = "é 😀"\n# ü\n'.encode(),
    "huge": b"".join(b'[projects."/p%d"]\ntrust_level = "trusted"\n' % i for i in range(2000)),
}

KIMI_TEXTS: dict[str, bytes] = {
    "other hooks": b'[[hooks]]\nevent = "Stop"\ncommand = "beep"\n\n# after\n[loop]\nn = 1\n',
    "inline hooks": b'hooks = [{ event = "Stop", command = "beep" }]\na = 1\n',
    "inline lines": b'hooks = [\n  { event = "Stop", command = "beep" }, # one\n]\n[x]\n',
    "inline none": b"hooks = []\n",
}


def texts_of(host: str, name: str) -> dict[str, bytes]:
    """The ways to write one file of a host."""
    if name.endswith(".json"):
        return JSON_TEXTS
    return TOML_TEXTS | KIMI_TEXTS if host in ("kimi", "king") else TOML_TEXTS
