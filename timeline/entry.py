"""Where the installed programs start: imports the command line without collecting garbage meanwhile.

Start-up is imports and nothing else; every object that they make stays. Looking through them for cycles again and
again would cost a short command a tenth of its time.
"""

import gc


def main() -> None:
    """``timeline``."""
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


def _be_daemon() -> None:
    """Put the daemon together: command line, daemon and MCP server do not know each other (DESIGN 4)."""
    import os

    from timeline import __version__
    from timeline.daemon.program import run
    from timeline.mcp_server.serving import McpServer
    from timeline.service import session_from

    run(session_from(os.environ), lambda on_fault: McpServer(__version__, on_fault))
