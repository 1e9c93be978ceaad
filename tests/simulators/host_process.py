"""A process that the system shows as a host's: it bears the name, holds files open, and has a client below it.

The client connects where it is told and hands the connection over, so that a test speaks on a connection whose peer,
as the operating system states it, is a process below that host. Needs no pytest.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

SECONDS = 30.0
"""A deadline: it is never waited for unless something is wrong."""

_CODE = """
import json, os, socket, sys

def serve(path):
    control = socket.socket(socket.AF_UNIX)
    control.connect(path)
    held = {}
    for line in control.makefile("r"):
        what = json.loads(line)
        if "open" in what:
            held[what["open"]] = os.open(what["open"], os.O_RDWR | os.O_CREAT, 0o600)
            control.sendall(b"{}\\n")
        elif "close" in what:
            os.close(held.pop(what["close"]))
            control.sendall(b"{}\\n")
        elif "spawn" in what:
            ours, theirs = socket.socketpair()
            child = os.fork()
            if not child:
                os.dup2(theirs.fileno(), 0)
                os.dup2(theirs.fileno(), 1)
                os.closerange(3, 256)
                if what["leaving"]:
                    os.setsid()
                os.execve(what["spawn"][0], what["spawn"], dict(os.environ))
            socket.send_fds(control, [b"%d\\n" % child], [ours.fileno()])
            ours.close()
            theirs.close()
        elif "reap" in what:
            control.sendall(b"%d\\n" % os.waitstatus_to_exitcode(os.waitpid(what["reap"], 0)[1]))
        elif "leave" in what:
            os.setsid()
            control.sendall(b"{}\\n")
        else:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(what["connect"])
            socket.send_fds(control, [b"{}\\n"], [connection.fileno()])
            connection.close()

if os.fork():
    serve(sys.argv[1])
else:
    serve(sys.argv[2])
"""


class HostProcess:
    """One running host with one client below it."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", host: socket.socket, client: socket.socket
    ) -> None:
        """Use ``host_process``."""
        self._process = process
        self._host = host
        self._client = client

    @property
    def pid(self) -> int:
        """The host's own."""
        return self._process.pid

    def hold(self, path: Path) -> None:
        """Let the host hold a file open; it is made if it is not there."""
        _tell(self._host, {"open": str(path)})

    def drop(self, path: Path) -> None:
        """Let the host close a file."""
        _tell(self._host, {"close": str(path)})

    def spawn(self, command: Sequence[str], *, leaving: bool = False) -> tuple[int, socket.socket]:
        """Run a command as a child of the host; its pid, and the other end of its standard input and output.

        With ``leaving`` it runs in a session of its own, as hosts start hooks and what their models run.
        """
        self._host.sendall(json.dumps({"spawn": list(command), "leaving": leaving}).encode() + b"\n")
        pid, descriptors, _, _ = socket.recv_fds(self._host, 16, 1)
        connection = socket.socket(fileno=descriptors[0])
        connection.settimeout(SECONDS)
        return int(pid), connection

    def reap(self, pid: int) -> int:
        """Wait for the end of a child; its exit code, negative for a signal."""
        self._host.sendall(json.dumps({"reap": pid}).encode() + b"\n")
        return int(self._host.recv(16))

    def leave_session(self) -> None:
        """Let the client go into a session of its own, as hosts start the commands of their models."""
        _tell(self._client, {"leave": ""})

    def connect(self, path: Path) -> socket.socket:
        """A connection to ``path`` that the client below the host has made."""
        self._client.sendall(json.dumps({"connect": str(path)}).encode() + b"\n")
        _, descriptors, _, _ = socket.recv_fds(self._client, 16, 1)
        connection = socket.socket(fileno=descriptors[0])
        connection.settimeout(SECONDS)
        return connection


@contextmanager
def host_process(name: str, environment: Mapping[str, str] | None = None) -> Iterator[HostProcess]:
    """Run a process whose name is ``name`` while the block runs; host and client end with it.

    ``environment`` is that of both; the interpreter needs none.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = folder / name
        program.symlink_to(os.path.realpath(sys.executable))
        listeners = []
        for place in ("host", "client"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(str(folder / place))
            listener.listen(1)
            listener.settimeout(SECONDS)
            listeners.append(listener)
        process = subprocess.Popen(
            [program, "-I", "-S", "-c", _CODE, folder / "host", folder / "client"],
            env=dict(environment or {}),
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        host, client = (stack.enter_context(listener.accept()[0]) for listener in listeners)
        host.settimeout(SECONDS)
        client.settimeout(SECONDS)
        yield HostProcess(process, host, client)


def _tell(control: socket.socket, what: Mapping[str, str]) -> None:
    control.sendall(json.dumps(what).encode() + b"\n")
    if control.recv(16) != b"{}\n":
        message = "the simulated host has gone"
        raise RuntimeError(message)
