"""``python -m sidecars verify-proof``: verify a proof with this package, PyNaCl and rfc8785, and nothing else.

Needs no state, no network and no msgspec (ADR 0015). ``timeline verify-proof`` is the same for who has the program.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sidecars.cosignature import WitnessVerifier
from sidecars.errors import SidecarError
from sidecars.keys import Verifier
from sidecars.offline import FILE_BYTES_MAX, proof_answer, proof_lines, verify_proof_file

_EPILOG: Final = """\
examples:
  python -m sidecars verify-proof event.proof --key 'agent-timeline/…/owner+…+…' --key 'agent-timeline/…+…+…'
  python -m sidecars verify-proof event.intoto.json --key … --key … --witness 'witness.example/w1+…+…' --json

Take the keys from the log's owner by another way than the file. Exit codes: 0 verified; 1 refused; 2 usage.
"""

_REFUSED: Final = 1
_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        keys = [Verifier.parse(text) for text in options.key]
        witnesses = [WitnessVerifier.parse(text) for text in options.witness]
    except SidecarError as error:
        _show_error(f"--key or --witness: {error}", error.reason, error.hint, as_json=options.json)
        return _USAGE
    try:
        with Path(options.file).open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        proven, form = verify_proof_file(content, keys, witnesses)
    except OSError as error:
        message, hint = f"{options.file}: {error.strerror}", "give the path of a file that you may read"
        _show_error(message, "unreadable", hint, as_json=options.json)
        return _REFUSED
    except SidecarError as error:
        _show_error(str(error), error.reason, error.hint, as_json=options.json)
        return _REFUSED
    answer = proof_answer(proven, form)
    sys.stdout.write(_json(answer) if options.json else "".join(f"{line}\n" for line in proof_lines(answer)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sidecars", description=__doc__.split("\n", maxsplit=1)[0]
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    verify = commands.add_parser(
        "verify-proof",
        help="say what a proof of one event shows, and what it does not",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verify.add_argument("file", help="a proof, or an in-toto attestation made from one")
    verify.add_argument(
        "--key", action="append", required=True, metavar="VKEY", help="the log's owner key and each log key"
    )
    verify.add_argument(
        "--witness", action="append", default=[], metavar="VKEY", help="a witness that must have cosigned"
    )
    verify.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _show_error(message: str, reason: str, hint: str, *, as_json: bool) -> None:
    if as_json:
        sys.stderr.write(_json({"error": message, "reason": reason, "hint": hint}))
        return
    sys.stderr.write(f"sidecars: error: {message} [{reason}]\n")
    if hint:
        sys.stderr.write(f"sidecars: hint: {hint}\n")


def _json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    sys.exit(main())
