"""``timeline-witness``: a program of its own, since a witness is meant for another user or machine."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from sidecars.cosignature import WitnessVerifier
from sidecars.errors import SidecarError
from timeline import __version__
from timeline.answers import Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.render import show
from timeline.clock import Clock, SystemClock, SystemEntropy, SystemStopwatch, format_utc
from timeline.errors import UsageError
from timeline.witness.endpoint import parse_endpoint, parse_listen, parse_socket_path
from timeline.witness.errors import WitnessUnavailableError
from timeline.witness.exchange import Reply, read_cosigned
from timeline.witness.identity import Folder, find_folder, init_witness, open_witness
from timeline.witness.protocol import Status, latest_path
from timeline.witness.service import Answer, Witness, accept_clock, know_log, read_latest, retire_key
from timeline.witness.store import LogRow
from timeline.witness.unit import SYSTEM_FOLDER, SYSTEM_SOCKET, format_unit

if TYPE_CHECKING:
    from timeline.witness.server import WitnessServer

_PROGRAM = "timeline-witness"

_dir_option = click.option(
    "--dir",
    "folder",
    metavar="FOLDER",
    help="Where the witness lives: key and memory; also TIMELINE_WITNESS_DIR.",
)
_origin_option = click.option(
    "--origin", metavar="TEXT", help="The log's origin line, where it is not the name of its key."
)


@click.group("timeline-witness", epilog=EPILOG)
@click.version_option(__version__, prog_name=_PROGRAM)
def witness_group() -> None:
    """Watch transparency logs: sign the largest tree of each, and nothing that contradicts it.

    A log that was put back to an older state, or shows two histories, gets no signature. Serves C2SP tlog-witness; run
    it as another user or on another machine than the logs.

    \b
    Examples:
      timeline-witness init --name witness.example.org/w1
      timeline-witness add-log 'example.org/log+0a1b2c3d+AZsf...'
      timeline-witness serve --listen 127.0.0.1:7380
      timeline-witness status
    """


@witness_group.command("init", epilog=EPILOG)
@_dir_option
@click.option(
    "--name", metavar="NAME", help="The witness's key name, such as witness.example.org/w1; else random."
)
@as_json_option
def init_command(folder: str | None, name: str | None, *, as_json: bool) -> None:
    """Make the witness's key and its empty memory. Run once; prints the vkey that logs pin.

    \b
    Example:
      timeline-witness init --name witness.example.org/w1
    """
    place = find_folder(os.environ, folder)
    verifier = init_witness(place, name, SystemEntropy())
    answer = {"status": "initialised", "dir": str(place.path), "vkey": str(verifier)}
    show(answer, as_json=as_json, lines=[f"witness {place.path}", f"vkey    {verifier}"])


@witness_group.command("add-log", epilog=EPILOG)
@click.argument("vkey")
@_origin_option
@_dir_option
@as_json_option
def add_log_command(vkey: str, origin: str | None, folder: str | None, *, as_json: bool) -> None:
    """Know a log by the VKEY that signs its checkpoints, or know another key of it. A running witness sees it at once.

    A log is never forgotten: one that could be added again could have another history signed.

    \b
    Examples:
      timeline-witness add-log 'example.org/log+0a1b2c3d+AZsf...'
      timeline-witness add-log 'sum.golang.org+033de0ae+Ac4z...' --origin 'go.sum database tree'
    """
    opened = open_witness(find_folder(os.environ, folder))
    try:
        row = know_log(opened.store, vkey, origin)
        _show_log(row, opened.signer.verifier, as_json=as_json)
    finally:
        opened.store.close()


@witness_group.command("retire-key", epilog=EPILOG)
@click.argument("vkey")
@_origin_option
@_dir_option
@as_json_option
def retire_key_command(vkey: str, origin: str | None, folder: str | None, *, as_json: bool) -> None:
    """Believe no further checkpoint by VKEY: after the log has changed its key, or lost it.

    \b
    Example:
      timeline-witness retire-key 'example.org/log+0a1b2c3d+AZsf...'
    """
    opened = open_witness(find_folder(os.environ, folder))
    try:
        row = retire_key(opened.store, vkey, origin)
        _show_log(row, opened.signer.verifier, as_json=as_json)
    finally:
        opened.store.close()


@witness_group.command("status", epilog=EPILOG)
@_dir_option
@as_json_option
def status_command(folder: str | None, *, as_json: bool) -> None:
    """Show the witness's vkey, the logs that it knows, and the largest tree that it has signed of each.

    \b
    Example:
      timeline-witness status --json
    """
    opened = open_witness(find_folder(os.environ, folder))
    try:
        verifier = opened.signer.verifier
        counts: dict[str, int] = {}
        for evidence in opened.store.evidence():
            counts[evidence.origin] = counts.get(evidence.origin, 0) + 1
        logs = [
            _log_answer(row, verifier) | {"contradictions": counts.get(row.origin, 0)}
            for row in opened.store.logs()
        ]
    finally:
        opened.store.close()
    lines = [f"vkey {verifier}", *(line for log in logs for line in _log_lines(log))]
    show({"vkey": str(verifier), "logs": logs}, as_json=as_json, lines=lines)


@witness_group.command("latest", epilog=EPILOG)
@click.argument("address")
@click.option("--key", "vkey", required=True, metavar="VKEY", help="The key that is pinned for that witness.")
@click.option("--origin", required=True, metavar="TEXT", help="The log's origin line.")
@click.option("--deadline", default=10.0, show_default=True, metavar="SECONDS", help="How long to wait.")
@as_json_option
def latest_command(address: str, vkey: str, origin: str, deadline: float, *, as_json: bool) -> None:
    """Ask the witness at ADDRESS for the largest checkpoint of a log that it has cosigned, and verify its line.

    \b
    Examples:
      timeline-witness latest unix:/run/timeline-witness/socket --key 'w+0a1b2c3d+BMhZ...' --origin example.org/log
      timeline-witness latest https://witness.example.org --key 'w+0a1b2c3d+BMhZ...' --origin example.org/log
    """
    # Imported here: only this command asks.
    from timeline.witness.client import Asked, fetch_latest

    asked = Asked(parse_endpoint(address), WitnessVerifier.parse(vkey))
    reply = fetch_latest(asked, origin, deadline_seconds=deadline, stopwatch=SystemStopwatch())
    if not isinstance(reply, Reply):
        message = f"{asked.endpoint}: no answer ({reply.reason})"
        raise WitnessUnavailableError(message)
    if reply.status != Status.COSIGNED:
        message = f"{asked.endpoint}: nothing is cosigned of this log (code {reply.status})"
        raise WitnessUnavailableError(message)
    found, head = read_cosigned(reply.body, origin, asked.witness)
    answer = {
        "origin": origin,
        "size": head.size,
        "root": head.root.hex(),
        "cosignedAt": format_utc(found.at * 1000),
        "note": reply.body.decode(),
    }
    lines = [f"size {head.size}, signed {answer['cosignedAt']}", reply.body.decode().rstrip("\n")]
    show(answer, as_json=as_json, lines=lines)


@witness_group.command("evidence", epilog=EPILOG)
@_dir_option
@as_json_option
def evidence_command(folder: str | None, *, as_json: bool) -> None:
    """Print what logs have signed that contradicts itself: two checkpoints of one size with two roots.

    Both are signed by the log's own key, so that everybody can check them.

    \b
    Example:
      timeline-witness evidence --json
    """
    opened = open_witness(find_folder(os.environ, folder))
    try:
        found = opened.store.evidence()
    finally:
        opened.store.close()
    answer: list[Json] = [
        {
            "origin": evidence.origin,
            "at": format_utc(evidence.at * 1000),
            "cosigned": evidence.ours.decode("utf-8", "replace"),
            "refused": evidence.theirs.decode("utf-8", "replace"),
        }
        for evidence in found
    ]
    lines = [
        line
        for entry in answer
        for line in (f"{entry['at']}  {entry['origin']}", entry["cosigned"], entry["refused"])
    ]
    show(answer, as_json=as_json, lines=lines or ["no log has contradicted itself here"])


@witness_group.command("accept-clock", epilog=EPILOG)
@_dir_option
@as_json_option
def accept_clock_command(folder: str | None, *, as_json: bool) -> None:
    """Sign again, with the present time, what was signed while the clock ran ahead. Set the clock right first.

    Until then a witness signs nothing for such a log, since its time would go backwards.

    \b
    Example:
      timeline-witness accept-clock
    """
    opened = open_witness(find_folder(os.environ, folder))
    try:
        origins = accept_clock(opened.store, opened.signer, SystemClock().now_ms() // 1000)
    finally:
        opened.store.close()
    lines = [f"signed again: {origin}" for origin in origins]
    show({"signedAgain": list(origins)}, as_json=as_json, lines=lines or ["nothing was signed in the future"])


@witness_group.command("serve", epilog=EPILOG)
@_dir_option
@click.option("--listen", metavar="ADDRESS:PORT", help="Serve on a port of this machine: 127.0.0.1 or [::1].")
@click.option(
    "--socket", "socket_path", metavar="PATH", help="Serve on a Unix socket; else on `socket` in the folder."
)
@click.option(
    "--socket-mode",
    default="0600",
    show_default=True,
    metavar="OCTAL",
    help="Who may ask at the socket: 0600, 0660 or 0666.",
)
@as_json_option
def serve_command(
    folder: str | None, listen: str | None, socket_path: str | None, socket_mode: str, *, as_json: bool
) -> None:
    """Serve until interrupted or terminated; prints where, then a line (with --json an object) for each answer.

    \b
    Examples:
      timeline-witness serve
      timeline-witness serve --listen 127.0.0.1:7380
      timeline-witness serve --socket /run/timeline-witness/socket --socket-mode 0666
    """
    # Imported here: only this command needs HTTP.
    from timeline.witness.server import PortServer, SocketServer

    if listen is not None and socket_path is not None:
        message = "--listen and --socket: only one of them"
        raise UsageError(message, hint="name the port or the socket")
    if socket_mode not in ("0600", "0660", "0666"):
        message = "--socket-mode: must be 0600, 0660 or 0666"
        raise UsageError(message, hint="0600: you; 0660: your group too; 0666: everybody on this machine")
    place = find_folder(os.environ, folder)
    opened = open_witness(place)
    try:
        clock = SystemClock()
        witness = Witness(opened.signer, opened.store, clock)
        listener = _Diary(clock, as_json=as_json)
        server: WitnessServer
        if listen is not None:
            server = PortServer(parse_listen(listen), witness, SystemStopwatch(), listener)
        else:
            endpoint = parse_socket_path(socket_path or str(place.path / "socket"))
            server = SocketServer(endpoint, int(socket_mode, 8), witness, SystemStopwatch(), listener)
        _serve(server, as_json=as_json)
    finally:
        opened.store.close()


@witness_group.command("unit", epilog=EPILOG)
@_dir_option
@click.option("--socket", "socket_path", metavar="PATH", help="The Unix socket to serve on.")
@click.option(
    "--user", "own_user", is_flag=True, help="For your own user's systemd instead of the machine's."
)
def unit_command(folder: str | None, socket_path: str | None, *, own_user: bool) -> None:
    """Print a systemd unit that serves the witness, with the steps to install it.

    \b
    Examples:
      timeline-witness unit > /etc/systemd/system/timeline-witness.service
      timeline-witness unit --user
    """
    if own_user:
        runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        chosen = socket_path or f"{runtime}/timeline-witness/socket"
        place = find_folder(os.environ, folder)
    else:
        chosen = socket_path or SYSTEM_SOCKET.path
        place = Folder(Path(SYSTEM_FOLDER)) if folder is None else find_folder(os.environ, folder)
    program = shutil.which(_PROGRAM) or str(Path(sys.argv[0]).absolute())
    endpoint = parse_socket_path(chosen)
    click.echo(format_unit(program, folder=str(place.path), socket=endpoint, own_user=own_user), nl=False)


class _Diary:
    """One line for each answer: time, code, reason, and the origin of a known log. Nothing a stranger wrote."""

    def __init__(self, clock: Clock, *, as_json: bool) -> None:
        self._clock = clock
        self._as_json = as_json

    def __call__(self, answer: Answer) -> None:
        at, code = format_utc(self._clock.now_ms()), int(answer.status)
        entry = {"at": at, "code": code, "reason": answer.reason, "origin": answer.origin}
        with suppress(OSError):  # whoever read this went away; answers go on
            _say(entry, f"{at}  {code}  {answer.reason}  {answer.origin or '-'}", as_json=self._as_json)


def _say(entry: Json, line: str, *, as_json: bool) -> None:
    """A line of the diary at once, so that it is there for whoever waits for it."""
    # Not `click.echo`, which looks at the terminal each time: a log waits for its answer meanwhile.
    sys.stdout.write((msgspec.json.encode(entry).decode() if as_json else line) + "\n")
    sys.stdout.flush()


def _serve(server: "WitnessServer", *, as_json: bool) -> None:
    """Serve until a signal."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: server.stop())
    signal.set_wakeup_fd(server.waker(), warn_on_full_buffer=False)
    place = str(server.endpoint)
    _say({"status": "serving", "endpoint": place}, f"serving on {place}", as_json=as_json)
    server.run()
    signal.set_wakeup_fd(-1)
    _say({"status": "stopped"}, "stopped", as_json=as_json)


def _show_log(row: LogRow, verifier: WitnessVerifier, *, as_json: bool) -> None:
    answer = _log_answer(row, verifier)
    show(answer, as_json=as_json, lines=_log_lines(answer))


def _log_answer(row: LogRow, verifier: WitnessVerifier) -> Json:
    try:
        latest = read_latest(row, verifier)
        reason = None
    except SidecarError as error:
        latest, reason = None, error.reason
    return {
        "origin": row.origin,
        "keys": list(row.vkeys),
        "retiredKeys": list(row.retired),
        "size": None if latest is None else latest.size,
        "root": None if latest is None else latest.root.hex(),
        "cosignedAt": None if latest is None else format_utc(latest.at * 1000),
        "path": latest_path(row.origin),
        "reason": reason,
    }


def _log_lines(log: Json) -> list[str]:
    """A known log for a person."""
    state = "nothing signed yet" if log["size"] is None else f"size {log['size']}, signed {log['cosignedAt']}"
    if log["reason"]:
        state = f"what is stored does not verify [{log['reason']}]"
    lines = [f"log {log['origin']}  {state}"]
    lines += [f"    key     {vkey}" for vkey in log["keys"]]
    lines += [f"    retired {vkey}" for vkey in log["retiredKeys"]]
    if log.get("contradictions"):
        lines.append(f"    CONTRADICTS ITSELF: {log['contradictions']} proofs, `timeline-witness evidence`")
    return [*lines, f"    GET {log['path']}"]
