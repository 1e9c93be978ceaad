"""Where the installed programs start: imports the command line without collecting garbage meanwhile.

Start-up is imports and nothing else; every object that they make stays. Looking through them for cycles again and
again would cost a short command a tenth of its time.
"""

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from timeline.daemon.server import Desk


def main() -> None:
    """``timeline``."""
    if sys.argv[1:] == ["daemon", "run"]:
        _run_daemon()
    if sys.argv[1:2] == ["mcp"] and len(sys.argv) == len(("timeline", "mcp", "HOST")):
        _be_relay(sys.argv[2])
    _run("main", _be_daemon)


def main_receipt() -> None:
    """``timeline-receipt`` (T9)."""
    _run("main_receipt")


def main_enroll() -> None:
    """``timeline-enroll`` (T10)."""
    _run("main_enroll")


def main_verify() -> None:
    """``timeline-verify`` (D8)."""
    _run("main_verify")


def main_witness() -> None:
    """``timeline-witness``."""
    _run("main_witness")


def _run(name: str, *arguments: object) -> None:
    gc.disable()
    from timeline import cli

    gc.freeze()
    gc.enable()
    getattr(cli, name)(*arguments)


def _be_relay(name: str) -> None:
    """Become the relay, which is another and smaller program; comes back where that is no host."""
    import os

    from timeline.hosts import HOSTS
    from timeline.paths import find_locations
    from timeline.relay import become

    if name in HOSTS:
        become(name, str(find_locations(os.environ).runtime))


def _run_daemon() -> None:
    """Be the daemon without the command line, which would be half of its start; ends the process."""
    from timeline.errors import TimelineError

    try:
        _be_daemon()
    except TimelineError as error:
        from timeline.cli.exit import exit_code_of
        from timeline.cli.render import show_error

        show_error("timeline", error, as_json=False)
        sys.exit(int(exit_code_of(error)))
    sys.exit(0)


def _be_daemon() -> None:
    """Put the daemon together: command line, daemon and MCP server do not know each other."""
    import os

    from timeline.daemon.program import run
    from timeline.paths import find_locations

    def open_behind(stop: "Callable[[], None]") -> "tuple[Desk, Callable[[], None]]":
        from timeline import __version__
        from timeline.daemon.desk import open_desk
        from timeline.mcp_server.serving import McpServer
        from timeline.service import session_from

        return open_desk(
            session_from(os.environ), lambda fault, end: McpServer(__version__, fault, end), stop
        )

    run(find_locations(os.environ), open_behind)
