"""The commands that a host runs for us, and how one is told from somebody else's. Pure.

A command names the interpreter and the file, so that nothing has to be on the host's path. ``-I -S -E -B``: no
user's packages, no ``site``, no ``PYTHON*`` variables, no files written beside the sources. Folders that the owner has
moved by ``TIMELINE_…_DIR`` or ``XDG_…_HOME`` are named too: a host starts MCP servers with few of its user's variables.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import msgspec

from timeline.install.errors import HostNameTakenError

_FLAGS: Final = ("-I", "-S", "-E", "-B")
_HOOK: Final = "hooks.py"
_RELAY: Final = "relay.py"
_PACKAGE: Final = "timeline"
_FOLDER: Final = re.compile(
    r"TIMELINE_(?:STATE|TRUST|CONFIG|RUNTIME)_DIR|XDG_(?:STATE|DATA|CONFIG|CACHE)_HOME"
)


class Program(msgspec.Struct, frozen=True):
    """Where this program stands: its interpreter, the folder of its package, and the owner's folders.

    ``folders`` are the variables that are set and say where the timeline lies, by name.
    """

    python: str
    package: str
    runtime: str
    folders: tuple[tuple[str, str], ...] = ()


def find_program(python: str, package: str, runtime: str, environment: Mapping[str, str]) -> Program:
    """The program as hosts are to call it."""
    folders = tuple(sorted((key, environment[key]) for key in environment if _FOLDER.fullmatch(key)))
    return Program(python, package, runtime, folders)


def hook_command(program: Program, host: str) -> str:
    """The line that a host gives to its shell for every event."""
    assignments = [f"{name}={shlex.quote(folder)}" for name, folder in program.folders]
    return " ".join([*assignments, shlex.join(_words(program, _HOOK, host))])


def server_words(program: Program, host: str) -> tuple[str, list[str]]:
    """The program and the arguments of the MCP server."""
    first, *rest = _words(program, _RELAY, host)
    return first, rest


def hook_words(program: Program, host: str) -> list[str]:
    """Interpreter and arguments of the hook, without a shell."""
    return _words(program, _HOOK, host)


def is_hook(command: object, host: str) -> bool:
    """Whether a host's hook is ours, of this installation or of another."""
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    while words and _FOLDER.fullmatch(words[0].partition("=")[0]):
        del words[0]
    return _is_ours(words, _HOOK, host)


def is_server(command: object, arguments: object, host: str) -> bool:
    """Whether a host's MCP server is ours, of this installation or of another."""
    if not isinstance(command, str) or not isinstance(arguments, list):
        return False
    return all(isinstance(word, str) for word in arguments) and _is_ours([command, *arguments], _RELAY, host)


def find_server(servers: Mapping[str, Any], name: str, host: str) -> Any:  # noqa: ANN401  # a JSON or TOML value
    """The server of our name among a host's, ``None`` where there is none.

    Raises:
        HostNameTakenError: it is another program's.
    """
    found = servers.get(name)
    if found is None:
        return None
    if not isinstance(found, dict) or not is_server(found.get("command"), found.get("args"), host):
        message = f"server {name}: another server has this name"
        raise HostNameTakenError(message)
    return found


def _words(program: Program, file: str, host: str) -> list[str]:
    return [program.python, *_FLAGS, str(PurePath(program.package) / file), host, program.runtime]


def _is_ours(words: Sequence[str], file: str, host: str) -> bool:
    if len(words) != len(_FLAGS) + 4 or tuple(words[1 : len(_FLAGS) + 1]) != _FLAGS:
        return False
    path = PurePath(words[len(_FLAGS) + 1])
    return path.name == file and path.parent.name == _PACKAGE and words[len(_FLAGS) + 2] == host
