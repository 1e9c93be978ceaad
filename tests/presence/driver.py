"""Runs a command below a chain of processes of some shape. Standard library only; started by `chains.py`.

``driver.py SHAPE DESCRIPTOR TYPED COMMAND…``: whatever the command says goes to the descriptor, and the descriptor's
other end sees its end when everything that was started has ended. ``TYPED`` is typed each time a passphrase is asked.
"""

import os
import pty
import subprocess
import sys
from collections.abc import Callable


def in_terminal(start: Callable[[], None], out: int, typed: str) -> None:
    """Open a terminal, as a terminal program does, and let the leader of its session run ``start``."""
    pid, master = pty.fork()
    if pid == 0:
        os.close(out)
        start()
        os._exit(0)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last process in the terminal has ended
            break
        if not piece:
            break
        os.write(out, piece)
        seen += piece
        if seen.endswith((b"key: ", b"again: ")):
            seen = b""
            os.write(master, typed.encode() + b"\n")
    os.waitpid(pid, 0)


def become(command: list[str]) -> None:
    """Run the command in this process."""
    os.execv(command[0], command)  # noqa: S606  (no shell is meant)


def orphaned(start: Callable[[], None]) -> None:
    """Run ``start`` in a grandchild whose parent has ended, and wait until it ends."""
    ended, ends = os.pipe()
    gone, goes = os.pipe()
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.close(ended)
            os.close(goes)
            os.read(gone, 1)  # until the child is gone and we have another parent
            os.close(gone)
            os.set_inheritable(ends, True)
            start()
        os._exit(0)
    os.waitpid(child, 0)
    os.close(ends)
    os.close(gone)
    os.close(goes)
    os.read(ended, 1)


def below_shell(command: list[str]) -> None:
    """Run the command as a shell in the terminal would: in the foreground, as a child."""
    sys.exit(subprocess.run(command, check=False).returncode)


def detached(command: list[str], out: int) -> None:
    """Run the command without a terminal, in a session of its own."""
    subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
    )


def background(command: list[str]) -> None:
    """Run the command in a process group that is not in the terminal's foreground."""
    subprocess.run(command, check=False, process_group=0)


def main() -> None:
    """Run the command in the named shape."""
    shape, number, typed, *command = sys.argv[1:]
    out = int(number)
    shapes: dict[str, Callable[[], None]] = {
        "terminal": lambda: in_terminal(lambda: below_shell(command), out, typed),
        "alone": lambda: in_terminal(lambda: become(command), out, typed),
        "setsid": lambda: in_terminal(lambda: detached(command, 1), out, typed),
        "background": lambda: in_terminal(lambda: background(command), out, typed),
        "orphan": lambda: in_terminal(lambda: orphaned(lambda: become(command)), out, typed),
        "orphan with a terminal": lambda: orphaned(lambda: in_terminal(lambda: become(command), out, typed)),
        "no terminal": lambda: detached(command, out),
    }
    shapes[shape]()


if __name__ == "__main__":
    main()
