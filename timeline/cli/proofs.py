"""``timeline prove`` and ``timeline verify-proof``: evidence that travels, for people who do not trust this machine."""

import hashlib
import os
from pathlib import Path

import click

from sidecars.cosignature import WitnessVerifier
from sidecars.errors import SidecarError
from sidecars.keys import Verifier
from sidecars.offline import FILE_BYTES_MAX, proof_answer, proof_lines, verify_proof_file
from timeline import service
from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option, root_option
from timeline.cli.exit import EPILOG
from timeline.cli.render import show
from timeline.clock import format_utc
from timeline.errors import ProofFileError, UsageError
from timeline.portable import read_portable, write_portable
from timeline.prove import Form, Proof, prove_event
from timeline.timestamp import verify_timestamp

_SUFFIX = {"bundle": "proof", "in-toto": "intoto.json"}


@click.command("prove", epilog=EPILOG)
@click.argument("event")
@click.option("--out", metavar="FILE", default=None, help="Write it there; the file must not exist.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_SUFFIX)),
    default="bundle",
    show_default=True,
    help="'in-toto' is a test-result attestation in a DSSE envelope, which carries the bundle.",
)
@root_option
@as_json_option
def prove_command(event: str, out: str | None, form: Form, root: str, *, as_json: bool) -> None:
    """Make a proof of one EVENT that others verify offline, with public keys alone.

    It shows the event's own line, the sidecar's and the first leaf of the log, and the signed head. It holds no text of
    the transcript and no path. Without --out the proof itself is printed. Give the keys to whoever verifies by another
    way than the file.

    \b
    Examples:
      timeline prove timeline-event:0123... --out event.proof
      timeline prove timeline-event:0123... --format in-toto --out event.intoto.json
    """
    proof = prove_event(service.session_from(os.environ), root, event, form=form)
    if out is not None:
        write_portable(Path(out), proof.content, ProofFileError)
    answer = _proof_json(proof, out)
    if out is None and not as_json:
        click.echo(proof.content, nl=False)
        return
    show(answer, as_json=as_json, lines=_made_lines(answer))


@click.command("verify-proof", epilog=EPILOG)
@click.argument("file", type=click.Path())
@click.option(
    "--key",
    "key_texts",
    multiple=True,
    required=True,
    metavar="VKEY",
    help="The owner key of the log, and each log key that signed. Take them from the owner, not from the file.",
)
@click.option(
    "--witness",
    "witness_texts",
    multiple=True,
    metavar="VKEY",
    help="A witness that must have cosigned; give every one whose signature is in the file.",
)
@click.option("--timestamp", metavar="FILE", help="An RFC 3161 response over the file's bytes; needs --tsa.")
@click.option(
    "--tsa", metavar="FILE", help="Certificates of its authority, root included; yours, not the response's."
)
@as_json_option
def verify_proof_command(
    file: str,
    key_texts: tuple[str, ...],
    witness_texts: tuple[str, ...],
    timestamp: str | None,
    tsa: str | None,
    *,
    as_json: bool,
) -> None:
    """Say what the proof in FILE shows, and what it does not. Needs no state and no network.

    Every signature in it must be by a key that is given here. Who does not have this program verifies with
    `python -m sidecars verify-proof`, for which PyNaCl and rfc8785 suffice.

    \b
    Examples:
      timeline verify-proof event.proof --key 'agent-timeline/.../owner+...+...' --key 'agent-timeline/...+...+...'
      timeline verify-proof event.proof --key ... --key ... --timestamp event.tsr --tsa chain.pem
    """
    if (timestamp is None) != (tsa is None):
        message = "--timestamp and --tsa belong together"
        raise UsageError(message, hint="a timestamp is worth what its authority's certificates are")
    try:
        keys = [Verifier.parse(text) for text in key_texts]
        witnesses = [WitnessVerifier.parse(text) for text in witness_texts]
    except SidecarError as error:
        message = f"--key or --witness: {error}"
        raise UsageError(message, hint=error.hint or "`timeline prove --out` prints the keys") from error
    content = _read(Path(file))
    proven, form = verify_proof_file(content, keys, witnesses)
    answer, lines = proof_answer(proven, form), []
    if timestamp is not None and tsa is not None:
        stamp = verify_timestamp(_read(Path(timestamp)), content, _read(Path(tsa)))
        at = format_utc(stamp.at_ms)
        answer["timestamp"] = {"at": at, "authority": stamp.authority}
        lines = [f"timestamp: this file existed at {at}, says {stamp.authority}; it may be older"]
    show(answer, as_json=as_json, lines=[*proof_lines(answer), *lines])


def _read(path: Path) -> bytes:
    return read_portable(path, FILE_BYTES_MAX, ProofFileError)


def _proof_json(proof: Proof, out: str | None) -> Json:
    """A proof that was made, and what whoever verifies it needs."""
    shown = proof_answer(proof.proven, proof.form)
    kept = ("event", "result", "simulatedHost", "leaf", "origin", "size", "root", "notProved")
    return {
        "schema": "timeline-prove/v1",
        "status": "proved",
        "form": proof.form,
        "file": out,
        "proof": None if out is not None else proof.content.decode(),
        "bytes": len(proof.content),
        "sha256": hashlib.sha256(proof.content).hexdigest(),
        "keys": [str(key) for key in proof.keys],
        "cosigners": [str(ref) for ref in proof.cosigners],
        **{name: shown[name] for name in kept},
        "authority": AUTHORITY,
    }


def _made_lines(answer: Json) -> list[str]:
    keys = "".join(f" --key '{key}'" for key in answer["keys"])
    lines = [
        f"wrote {answer['file']}  {answer['form']}, {answer['bytes']} bytes",
        f"verify: timeline verify-proof {answer['file']}{keys}",
    ]
    lines += [f"cosigned by {name}: give that witness's key with --witness" for name in answer["cosigners"]]
    if answer["simulatedHost"]:
        lines.append("simulated host: this state was made by `timeline demo`")
    return [*lines, "not proved:", *(f"  - {item}" for item in answer["notProved"])]
