"""Where the installed programs start: imports the command line without collecting garbage meanwhile.

Start-up is imports and nothing else; every object that they make stays. Looking through them for cycles again and
again would cost a short command a tenth of its time.
"""

import gc


def main() -> None:
    """``timeline``."""
    _run("main")


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


def _run(name: str) -> None:
    gc.disable()
    from timeline import cli

    gc.freeze()
    gc.enable()
    getattr(cli, name)()
