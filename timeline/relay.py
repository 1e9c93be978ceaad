"""The MCP server that a host starts, by path: ``python -I -S -E -B relay.py HOST RUNTIME`` (docs/spec/mcp.md).

Carries lines between the host's pipes and the daemon, which speaks the protocol. It knows three things of a line: its
id, its method, and whether it is whole. That is enough to outlive a daemon: hosts do not start an MCP server again, so
the relay finds the next daemon, repeats the host's ``initialize`` to it and keeps the answer to itself. A tool call
that was under way is answered with an error, since it may have been done; other requests are asked once more.

Imports a few modules that are written in C and nothing else, and leaves looking for a daemon to a process that ends
again: a relay lives as long as its host, once for each session.
"""

import _socket
import posix
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would be imported for this alone
    from typing import NoReturn

LINE_BYTES_MAX = 1024 * 1024
"""As ``timeline.limits.MCP_LINE_BYTES_MAX``."""

ASKED_MAX = 256
"""Requests whose answers are waited for; beyond them the oldest is forgotten, and its answer still passed on."""

END_MS = 3000
"""How long answers may still take when the host has closed its end: more than the daemon waits itself."""

_PIECE_BYTES = 64 * 1024
_PIPE_BYTES = 4096  # PIPE_BUF: what a pipe that is ready takes without waiting
_REFUSAL = b"timeline/1 "  # a daemon of another version begins so
_QUOTE, _BACKSLASH, _COLON, _COMMA = b'"\\:,'
_FOLDER = __file__[: __file__.rindex("/")]


class Relay:
    """One host's connection, across as many daemons as it takes."""

    def __init__(self, host: str, runtime: str) -> None:
        """Nothing is opened here."""
        self.host, self.runtime = host, runtime
        self.link: _socket.socket | None = None
        self.is_other_version = False
        self.from_host, self.from_daemon = b"", b""  # begun lines
        self.to_host, self.to_daemon = bytearray(), bytearray()
        self.skipping = self.ended = False
        self.asked: dict[bytes, bytes] = {}  # id to the request, if it may be asked again
        self.opening = self.opened = b""  # the host's `initialize` and `notifications/initialized`
        self.own = b""  # the id of an `initialize` that was repeated

    def run(self) -> None:
        """Carry lines until the host ends."""
        self.connect()
        while not self.ended or self.asked or self.to_host or (self.to_daemon and self.link is not None):
            ready = dict(self.wait())
            if not ready and self.ended:
                return
            if ready.get(1, 0) & (select.POLLERR | select.POLLHUP):
                return  # nobody reads any more
            if self.to_host and ready.get(1):
                del self.to_host[: posix.write(1, self.to_host[:_PIPE_BYTES])]
            if self.link is not None and ready.get(self.link.fileno()):
                self.serve_link(ready[self.link.fileno()])
            if ready.get(0):
                self.read_host()

    def wait(self) -> list[tuple[int, int]]:
        """The descriptors that are ready. Who writes faster than the other side reads has to wait."""
        poll = select.poll()
        if not self.ended and len(self.to_daemon) < _PIECE_BYTES:
            poll.register(0, select.POLLIN)
        poll.register(1, select.POLLOUT if self.to_host else 0)
        if self.link is not None:
            events = select.POLLOUT if self.to_daemon else 0
            events |= select.POLLIN if len(self.to_host) < _PIECE_BYTES else 0
            poll.register(self.link.fileno(), events)
        return poll.poll(END_MS if self.ended else None)

    # -- the host ----------------------------------------------------------------------------------------------

    def read_host(self) -> None:
        """Take what the host wrote."""
        piece = posix.read(0, _PIECE_BYTES)
        if not piece:
            self.ended = True
            return
        *lines, self.from_host = (self.from_host + piece).split(b"\n")
        for line in lines:
            if self.skipping:
                self.skipping = False
                self.refuse(b"null", -32600, b"a message must be at most 1 MiB")
            elif line.strip():
                self.take(line + b"\n")
        if len(self.from_host) > LINE_BYTES_MAX:
            self.skipping = True
        if self.skipping:
            self.from_host = b""

    def take(self, line: bytes) -> None:
        """Pass a line of the host on, to the daemon that is there or to the next."""
        found = members(line)
        id_, method = found.get(b'"id"'), found.get(b'"method"')
        if id_ is not None and method is not None:
            while len(self.asked) >= ASKED_MAX:
                del self.asked[next(iter(self.asked))]
            self.asked[id_] = b"" if method == b'"tools/call"' else line
        elif method == b'"notifications/cancelled"':  # a cancelled request gets no answer
            self.asked.pop(members(found.get(b'"params"', b"")).get(b'"requestId"', b""), None)
        if self.link is None and not self.connect():
            if id_ is not None and method is not None:
                del self.asked[id_]
                self.refuse(id_, -32000, b"the Timeline daemon cannot be reached")
            return
        self.to_daemon += line
        if method == b'"initialize"':
            self.opening = line
        elif method == b'"notifications/initialized"':
            self.opened = line

    def refuse(self, id_: bytes, code: int, message: bytes) -> None:
        """Answer a request in the daemon's place."""
        self.to_host += b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":"%b"}}\n' % (
            id_,
            code,
            message,
        )

    # -- the daemon --------------------------------------------------------------------------------------------

    def serve_link(self, events: int) -> None:
        """Write to the daemon and read from it; its end is no end of ours."""
        link = self.link
        if link is None:
            return
        if events & select.POLLOUT and self.to_daemon:
            try:
                del self.to_daemon[: link.send(self.to_daemon)]
            except BlockingIOError:
                pass
            except OSError:
                self.to_daemon.clear()  # it has closed; what it said before can still be read
        if not events & ~select.POLLOUT:
            return
        try:
            piece = link.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        *lines, self.from_daemon = (self.from_daemon + piece).split(b"\n")
        for line in lines:
            self.give(line)
        if not piece or self.is_other_version:
            self.lose(link)

    def give(self, line: bytes) -> None:
        """Pass a line of the daemon on."""
        if line.startswith(_REFUSAL):
            self.is_other_version = True
            return
        found = members(line)
        if b'"method"' not in found:
            id_ = found.get(b'"id"', b"")
            if id_ == self.own:
                self.own = b""
                return
            self.asked.pop(id_, None)
        self.to_host += line + b"\n"

    def lose(self, link: "_socket.socket") -> None:
        """Settle what was asked of a daemon that is gone, and find another if something is to be asked again."""
        link.close()
        self.link = None
        again = {id_: line for id_, line in self.asked.items() if line}
        for id_ in [id_ for id_ in self.asked if id_ not in again]:
            del self.asked[id_]
            self.refuse(id_, -32000, b"the Timeline daemon ended before it answered; ask again")
        if not again:
            return
        if self.connect():
            for id_, line in again.items():
                self.to_daemon += line
                self.asked[id_] = b""  # whatever ends two daemons is not asked of a third
        else:
            self.asked.clear()
            for id_ in again:
                self.refuse(id_, -32000, b"the Timeline daemon cannot be reached")

    def connect(self) -> bool:
        """Connect to a daemon, started if need be, and tell it what its predecessor knew; whether there is one."""
        self.to_daemon.clear()
        self.from_daemon = self.own = b""
        link = None if self.is_other_version else self.open_socket()
        if link is None:
            self.is_other_version = False
            link = self.open_socket() if find_daemon(self.runtime) else None
        if link is None:
            return False
        self.link = link
        self.to_daemon += b"timeline/1 %b mcp %b\n" % (read_version(), self.host.encode("ascii"))
        begun = members(self.opening).get(b'"id"', b"")
        if self.opening and begun not in self.asked:
            self.own = begun
            self.to_daemon += self.opening + self.opened
        return True

    def open_socket(self) -> "_socket.socket | None":
        """A connection to whoever listens in a folder that is ours alone."""
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            found = posix.lstat(self.runtime)
            if found.st_uid == posix.geteuid() and found.st_mode & 0o170077 == 0o040000:
                link.connect(self.runtime + "/daemon.sock")
                link.setblocking(False)
                return link
        except OSError:
            pass  # nobody listens, or the way is barred: the search says which
        link.close()
        return None


def members(text: bytes) -> dict[bytes, bytes]:
    """The members of a JSON object, names and values as they are written; nothing is checked."""
    found: dict[bytes, bytes] = {}
    name, start, at, depth = b"", 0, 0, 0
    while at < len(text):
        byte = text[at]
        if byte == _QUOTE:
            at = end_of_string(text, at)
            continue
        if byte in b"{[":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif byte in b"}]":
            depth -= 1
            if depth == 0:
                found[name] = text[start:at].strip()
                break
        elif depth == 1 and byte == _COLON:
            name, start = text[start:at].strip(), at + 1
        elif depth == 1 and byte == _COMMA:
            found[name], start = text[start:at].strip(), at + 1
        at += 1
    return found


def end_of_string(text: bytes, at: int) -> int:
    """Where a JSON string ends that begins at ``at``: behind its last quote."""
    while True:
        at = text.find(b'"', at + 1)
        if at < 0:
            return len(text)
        before = at - 1
        while text[before] == _BACKSLASH:
            before -= 1
        if (at - before) % 2:  # an even number of backslashes escapes nothing
            return at + 1


def read_version() -> bytes:
    """The version of the program that is installed now: it may have become newer while this process ran."""
    source = posix.open(_FOLDER + "/__init__.py", posix.O_RDONLY | posix.O_CLOEXEC)
    text = posix.read(source, _PIPE_BYTES)
    posix.close(source)
    return text.partition(b'__version__ = "')[2].partition(b'"')[0]


def find_daemon(runtime: str) -> bool:
    """Let a child process find or start a daemon of our version; whether there is one. It says on stderr why not."""
    child = posix.fork()
    if child == 0:
        code = 1
        try:
            search(runtime)
            code = 0
        finally:
            posix._exit(code)  # noqa: SLF001 - public as `os._exit`, whose module would have to be imported
    return posix.waitpid(child, 0)[1] == 0


def search(runtime: str) -> None:
    """Find or start a daemon, in a process that may import what it likes."""
    sys.path.insert(0, _FOLDER[: _FOLDER.rindex("/")])
    from functools import partial
    from pathlib import Path

    from timeline.errors import TimelineError
    from timeline.launch import ask, start
    from timeline.reach import VERSION_ASKED

    folder = Path(runtime)
    try:
        ask(folder, VERSION_ASKED, start=partial(start, folder))
    except TimelineError as error:
        sys.stderr.write(f"timeline: error: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"hint: {error.hint}\n")
        sys.stderr.flush()
        raise


def become(host: str, runtime: str) -> "NoReturn":
    """Turn the calling process into the relay."""
    command = [sys.executable, "-I", "-S", "-E", "-B", __file__, host, runtime]
    posix.execv(sys.executable, command)


if __name__ == "__main__":
    try:
        Relay(sys.argv[1], sys.argv[2]).run()
    except BrokenPipeError:
        pass  # the host is gone
    except KeyboardInterrupt:
        sys.exit(130)
    except (IndexError, ValueError):
        sys.stderr.write("usage: python -I -S -E -B relay.py HOST RUNTIME\n")
        sys.exit(2)
