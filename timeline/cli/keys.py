"""``timeline key``: which log keys sign and signed this log, and how another one comes into force."""

import click

from sidecars.trust import Epoch
from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.clock import format_utc
from timeline.epochs import KeyChange, Keys, KeyStanding, Reason, change_log_key, list_log_keys
from timeline.revoked import format_ranges

_ENDED = {"rotation": "retired", "lost": "lost", "compromised": "compromised", None: "in force"}


@click.group("key")
def key_group() -> None:
    """The log key: it signs sidecars and heads, and is replaced by the owner key's word alone.

    The owner key itself cannot be replaced: a log is known by it, so without it the timeline ends and a new one begins.
    """


@key_group.command("rotate", epilog=EPILOG)
@click.option("--lost", is_flag=True, help="The log key is gone or damaged; the owner key alone signs.")
@as_json_option
def rotate_command(*, lost: bool, as_json: bool) -> None:
    """Put a new log key in force, and destroy the private key before it.

    Owner key, old and new log key sign. Afterwards nobody can sign for the time before, not even a thief of the new
    key; what a backup still holds of the old key is worth nothing for the time after. Receipts that are pending lapse.

    \b
    Examples:
      timeline key rotate
      timeline key rotate --lost
    """
    _change("lost" if lost else "rotation", as_json=as_json)


@key_group.command("revoke", epilog=EPILOG)
@as_json_option
def revoke_command(*, as_json: bool) -> None:
    """Declare the log key compromised, and put a new one in force; the owner key alone signs.

    What the key has signed stays in the log. `timeline verify` names those leaves each time, since somebody else may
    have written them. Receipts that are pending lapse.

    \b
    Example:
      timeline key revoke
    """
    _change("compromised", as_json=as_json)


@key_group.command("list", epilog=EPILOG)
@as_json_option
def list_command(*, as_json: bool) -> None:
    """List every log key with its epoch: since which leaf, why, and what became of it.

    \b
    Examples:
      timeline key list
      timeline key list --json
    """
    keys = list_log_keys(owner_session())
    show(_keys_json(keys), as_json=as_json, lines=_keys_lines(keys))


def _change(reason: Reason, *, as_json: bool) -> None:
    change = change_log_key(owner_session(), reason)
    tell = _witness_commands(change, reason)
    answer = {
        "schema": "timeline-key-change/v1",
        "status": "changed",
        **_epoch_json(change.epoch),
        "retired": str(change.retired),
        "witnesses": [{"name": entry.name, "address": entry.address} for entry in change.witnesses],
        "witnessCommands": tell,
        "authority": AUTHORITY,
    }
    lines = [
        f"epoch {change.epoch.number} ({reason}) since leaf {change.epoch.leaf}",
        f"in force  {change.epoch.log_key}",
        f"was       {change.retired}",
        "tell the new key to whoever verifies proofs of this log",
    ]
    if change.witnesses:
        names = ", ".join(f"{entry.name} ({entry.address})" for entry in change.witnesses)
        lines.append(f"these witnesses confirm nothing more until they know it: {names}")
    lines += ["on each witness of this log:", *(f"  {command}" for command in tell)]
    show(answer, as_json=as_json, lines=lines)


def _witness_commands(change: KeyChange, reason: Reason) -> list[str]:
    """What whoever runs a witness has to do: a stolen key is not believed one moment longer than needed."""
    add = f"timeline-witness add-log '{change.epoch.log_key}'"
    retire = f"timeline-witness retire-key '{change.retired}'"
    return [retire, add] if reason == "compromised" else [add, retire]


def _epoch_json(epoch: Epoch) -> Json:
    return {
        "epoch": epoch.number,
        "reason": epoch.reason,
        "leaf": epoch.leaf,
        "at": format_utc(epoch.at),
        "keyId": epoch.log_key.key_id.hex(),
        "vkey": str(epoch.log_key),
    }


def _keys_json(keys: Keys) -> Json:
    return {
        "schema": "timeline-keys/v1",
        "owner": str(keys.owner),
        "log": [
            {
                **_epoch_json(key.epoch),
                "inForce": key.ended is None,
                "ended": key.ended,
                "privateKey": key.usable,
                "signed": [list(leaves) for leaves in key.signed],
            }
            for key in keys.log
        ],
        "authority": AUTHORITY,
    }


def _keys_lines(keys: Keys) -> list[str]:
    return [f"owner  {keys.owner}", *(line for key in keys.log for line in _key_lines(key))]


def _key_lines(key: KeyStanding) -> list[str]:
    epoch = key.epoch
    said = _ENDED[key.ended]
    if key.ended is None and not key.usable:
        said += ", private key missing: `timeline key rotate --lost`"
    lines = [
        f"epoch {epoch.number}  since leaf {epoch.leaf}, {format_utc(epoch.at)}  {epoch.reason}  {said}",
        f"    {epoch.log_key}",
    ]
    if key.signed:
        lines.append(f"    signed leaves {format_ranges(key.signed)}: somebody else may have written them")
    return lines
