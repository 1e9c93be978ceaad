"""``timeline anchor``: memories outside the state that show whether it is the newest."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sidecars.leaf import AnchorPolicy
from timeline import anchoring, recovery, service
from timeline.anchoring import Bounds
from timeline.anchors.rules import AnchorReport, Verdict
from timeline.answers import AUTHORITY, Json
from timeline.assurance import AnchorStatus
from timeline.cli.anchor_schema import schema_command
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.clock import format_utc

_BOUNDS: tuple[tuple[str, str], ...] = (
    ("--quorum", "How many anchors must have confirmed; at first 1."),
    ("--freshness-seconds", "How old a confirmation may be where no anchor answers; 60 to 2592000."),
    ("--deadline-ms", "How long one anchor may take to answer; 100 to 30000."),
    ("--unwitnessed-max", "How many leaves may follow what a quorum has confirmed; 1 to 1000000."),
)


def _bounds_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, text in reversed(_BOUNDS):
        command = click.option(name, type=int, default=None, metavar="N", help=text)(command)
    return command


@click.group("anchor")
def anchor_group() -> None:
    """External anchors: memories outside the state that know the largest log they have confirmed.

    With one, a complete restoration of this machine to an older moment is refused. Each command and each commit asks
    them; where none answers, the newest confirmation counts for as long as the owner allows.
    """


anchor_group.add_command(schema_command)


@anchor_group.command("add", epilog=EPILOG)
@click.argument("kind", type=click.Choice(["witness", "postgres", "file"]))
@click.argument("address", metavar="ADDRESS")
@click.option(
    "--key", metavar="VKEY", default=None, help="The key that a witness publishes; only for a witness."
)
@click.option("--name", metavar="NAME", default=None, help="Your name for it, such as witness-1.")
@_bounds_options
@as_json_option
def add_command(
    kind: str, address: str, key: str | None, name: str | None, *, as_json: bool, **bounds: int
) -> None:
    """Require one more anchor: it must confirm the log now, and from now on.

    ADDRESS is the URL or Unix socket of a C2SP witness, a PostgreSQL DSN without a password, or the absolute path of a
    file in a private folder on another disk.

    \b
    Examples:
      timeline anchor add witness unix:/run/timeline-witness/socket --key 'witness.example.org/w1+0a1b2c3d+BAs...'
      timeline anchor add witness https://witness.example.org/w1 --key '...' --quorum 2
      timeline anchor add postgres 'postgresql://timeline@db.example.org/anchors?sslmode=verify-full'
      timeline anchor add file /mnt/other-disk/timeline/anchor
    """
    entry, policy = anchoring.add_anchor(
        owner_session(), kind, address, key=key, name=name, bounds=Bounds(**bounds)
    )
    answer = {"status": "required", "name": entry.name, **_policy_json(policy)}
    show(answer, as_json=as_json, lines=[f"required from now on: {entry.name}", *_policy_lines(policy)])


@anchor_group.command("remove", epilog=EPILOG)
@click.argument("name")
@click.option(
    "--quorum", type=int, default=None, metavar="N", help="How many of the rest must have confirmed."
)
@as_json_option
def remove_command(name: str, quorum: int | None, *, as_json: bool) -> None:
    """Require an anchor no more. This is a leaf of the log, too: everybody can see it.

    \b
    Example:
      timeline anchor remove witness-1
    """
    policy = anchoring.remove_anchor(owner_session(), name, quorum=quorum)
    answer = {"status": "removed", "name": name, **_policy_json(policy)}
    show(answer, as_json=as_json, lines=[f"not required any more: {name}", *_policy_lines(policy)])


@anchor_group.command("set", epilog=EPILOG)
@_bounds_options
@as_json_option
def set_command(*, as_json: bool, **bounds: int) -> None:
    """Change the bounds of the policy.

    \b
    Example:
      timeline anchor set --quorum 2 --freshness-seconds 3600
    """
    policy = anchoring.set_bounds(owner_session(), Bounds(**bounds))
    answer = {"status": "changed", **_policy_json(policy)}
    show(answer, as_json=as_json, lines=_policy_lines(policy))


@anchor_group.command("status", epilog=EPILOG)
@click.option("--offline", is_flag=True, help="Ask nobody; show what is remembered.")
@as_json_option
def status_command(*, offline: bool, as_json: bool) -> int:
    """Ask every anchor, and say whether this state may be used.

    Ends with 0 where it is confirmed or no anchor is required, 3 where it is usable without a fresh confirmation, and 1
    where it is refused.

    \b
    Example:
      timeline anchor status
    """
    status = anchoring.find_anchors(owner_session(), ask=not offline)
    answer = _status_json(status)
    show(answer, as_json=as_json, lines=_status_lines(answer, status.policy))
    if status.refused is not None:
        return ExitCode.FAILED
    confirmed = status.found is None or status.found.verdict is Verdict.CONFIRMED
    return ExitCode.DONE if confirmed else ExitCode.PARTLY


@anchor_group.command("export", epilog=EPILOG)
@click.argument("file", type=click.Path())
@as_json_option
def export_command(file: str, *, as_json: bool) -> None:
    """Write size and root of the log to FILE and FILE.minisig, for you to carry away.

    Keep them where no restore of this machine reaches; the .minisig alone is enough. `timeline verify --against FILE`
    then refuses an older state, or another history, whatever was put back. It says nothing of what came after the
    export, so export again from time to time. minisign verifies them too, with the key that is printed.

    \b
    Example:
      timeline anchor export anchor-2026-08-20
    """
    exported = service.export_anchor(owner_session(), Path(file))
    checkpoint = exported.anchor.checkpoint
    answer: Json = {
        "schema": "timeline-anchor-export/v1",
        "status": "exported",
        "file": str(exported.text),
        "signature": str(exported.signature),
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": str(checkpoint.root),
        "at": format_utc(exported.anchor.at * 1000),
        "minisignKey": exported.public_key,
        "authority": AUTHORITY,
    }
    name = shlex.quote(answer["file"])
    lines = [
        f"wrote {answer['file']} and {answer['signature']}  {answer['size']} leaves at {answer['at']}",
        f"origin {answer['origin']}  root {answer['root']}",
        "carry both away; the second alone is enough",
        f"compare: timeline verify --against {name}",
        f"verify elsewhere: minisign -Vm {name} -P {answer['minisignKey']}",
    ]
    show(answer, as_json=as_json, lines=lines)


@anchor_group.command("recover", epilog=EPILOG)
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="A carried anchor that states exactly this state. Can be given again.",
)
@click.option("--unverified", is_flag=True, help="Declare the state to be the newest without any proof.")
@as_json_option
def recover_command(against: tuple[str, ...], *, unverified: bool, as_json: bool) -> None:
    """Go on where the local anchor or the pin of the external anchors is lost.

    The state at hand may be an older one that was put back. The external anchors are asked; where they do not answer,
    a carried anchor of this very state shows it, or only the owner can declare it. What the recovery rests on becomes a
    leaf of the log.

    \b
    Examples:
      timeline anchor recover
      timeline anchor recover --against anchor-2026-08-20
    """
    carried = [Path(file) for file in against]
    found = recovery.recover_anchor(owner_session(), carried=carried, unverified=unverified)
    answer = {
        "status": "recovered",
        "lost": list(found.lost),
        "basis": found.basis,
        "size": found.size,
        "authority": AUTHORITY,
    }
    said = {
        "external": "confirmed by the external anchors",
        "carried": "a carried anchor states exactly it",
        "unverified": "declared by the owner; nothing shows that it is the newest",
    }
    lines = [f"recovered: {', '.join(found.lost)} at {found.size} leaves: {said[found.basis]}"]
    show(answer, as_json=as_json, lines=lines)


def _policy_json(policy: AnchorPolicy) -> Json:
    return {
        "quorum": policy.quorum,
        "freshnessSeconds": policy.freshness_seconds,
        "deadlineMs": policy.deadline_ms,
        "unwitnessedMax": policy.unwitnessed_max,
        "anchors": [
            {"name": e.name, "type": e.type, "address": e.address, "key": e.key} for e in policy.anchors
        ],
        "authority": AUTHORITY,
    }


def _policy_lines(policy: AnchorPolicy) -> list[str]:
    if not policy.anchors:
        return ["no external anchor is required: a complete restoration cannot be seen"]
    return [
        f"quorum {policy.quorum} of {len(policy.anchors)}; a confirmation counts {policy.freshness_seconds} s",
        f"deadline {policy.deadline_ms} ms; at most {policy.unwitnessed_max} leaves unconfirmed",
    ]


def _status_json(status: AnchorStatus) -> Json:
    refused = status.refused
    return {
        "schema": "timeline-anchors/v1",
        "status": _standing(status),
        "reason": None if refused is None else refused.reason,
        "hint": None if refused is None else refused.hint,
        "detail": None if refused is None else str(refused),
        "leaf": status.leaf,
        "size": status.size,
        "behind": None if status.found is None else status.found.behind,
        **_policy_json(status.policy),
        "anchors": [_report_json(report) for report in status.reports],
    }


def _standing(status: AnchorStatus) -> str:
    if status.refused is not None:
        return "refused"
    return "none" if status.found is None else str(status.found.verdict)


def _report_json(report: AnchorReport) -> Json:
    entry, answer, memory = report.entry, report.answer, report.memory
    return {
        "name": entry.name,
        "type": entry.type,
        "address": entry.address,
        "key": entry.key,
        "standing": None if answer is None else str(answer.standing),
        "reason": None if answer is None else answer.reason,
        "remembers": None if answer is None else answer.size,
        "confirmedSize": None if memory is None else memory.size,
        "confirmedAt": None if memory is None else format_utc(memory.at * 1000),
    }


def _status_lines(answer: Json, policy: AnchorPolicy) -> list[str]:
    lines = []
    for report in answer["anchors"]:
        now = report["standing"] or "not asked"
        reason = f" ({report['reason']})" if report["reason"] else ""
        last = (
            f"{report['confirmedSize']} leaves at {report['confirmedAt']}"
            if report["confirmedAt"]
            else "nothing"
        )
        lines += [
            f"{report['name']}  {report['type']} {report['address']}",
            f"    {now}{reason}; confirmed {last}",
        ]
    lines += _policy_lines(policy)
    lines.append(f"this state: {answer['size']} leaves, {answer['status']}")
    if answer["reason"] is not None:
        lines += [f"refused: {answer['reason']}: {answer['detail']}", f"hint: {answer['hint']}"]
    return lines
