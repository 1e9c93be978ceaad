"""The commands. Each parses its arguments, calls one use case, and hands the answer to ``render``."""

import queue
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adapters.registry import ADAPTERS
from timeline import answers, service
from timeline.cli.asking import SCOPE_ID, choose_scope, has_terminal
from timeline.cli.exit import EPILOG as _EPILOG
from timeline.cli.exit import ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import (
    fork_lines,
    index_lines,
    progress,
    report_lines,
    search_lines,
    show,
    show_error,
    source_lines,
)
from timeline.clock import format_utc, parse_utc
from timeline.errors import QueryError, ReceiptAmbiguousError, StateMissingError
from timeline.files import is_there
from timeline.limits import HOOK_INPUT_BYTES_MAX, INDEX_BYTES_DEFAULT, INDEX_BYTES_MAX, INDEX_BYTES_MIN
from timeline.search import Window
from timeline.terms import parse_query

if TYPE_CHECKING:
    from timeline.index import IndexResult

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
yes_option = click.option("--yes", is_flag=True, help="Ask nothing.")
root_option = click.option(
    "--root",
    default=".",
    show_default=True,
    metavar="FOLDER",
    help="The project, or a folder in it.",
)


@click.command("init", epilog=_EPILOG)
@click.option(
    "--owner-presence",
    type=click.Choice(["terminal", "any"]),
    default="terminal",
    show_default=True,
    help="Recorded in the first leaf: 'any' is for headless machines.",
)
@click.option("--tenant", type=SCOPE_ID, default=None, help="Whose sessions these are.  [default: local]")
@click.option("--user", type=SCOPE_ID, default=None, help="Who works in them.  [default: your login name]")
@click.option("--task", type=SCOPE_ID, default=None, help="What they are about.  [default: default]")
@as_json_option
def init_command(
    owner_presence: service.OwnerPresence,
    tenant: str | None,
    user: str | None,
    task: str | None,
    *,
    as_json: bool,
) -> None:
    """Make keys, an empty signed log, its anchor and a configuration. Run once.

    If it is interrupted, run it again: it keeps the keys and completes what was begun. On a terminal it asks for
    tenant, user and task unless one is given; config.toml can name others for single projects.

    \b
    Examples:
      timeline init
      timeline init --tenant acme --task release
    """
    session = owner_session()
    may_ask = not as_json and has_terminal()
    scope = choose_scope(session, tenant=tenant, user=user, task=task, may_ask=may_ask)
    service.init_state(session, owner_presence=owner_presence, scope=scope)
    where = session.locations
    answer = {
        "status": "initialised",
        "state": str(where.state),
        "trust": str(where.trust),
        "config": str(where.settings),
    }
    show(
        answer,
        as_json=as_json,
        lines=[
            f"state  {where.state}",
            f"trust  {where.trust}  (keys and anchor: back it up apart from the state)",
            f"config {where.settings}",
        ],
    )


@click.group("hook")
def hook_group() -> None:
    """What hosts call. Reads the host's event from standard input; never blocks the host's work."""


@hook_group.command("user-prompt-submit", epilog=_EPILOG)
@click.option("--host", required=True, type=click.Choice(sorted(ADAPTERS)), help="The host that calls.")
@as_json_option
def user_prompt_submit(host: str, *, as_json: bool) -> None:
    """Issue a one-use receipt for the session whose prompt event stands on standard input.

    Prints nothing and ends with 0, whatever happens: a host takes a hook's output for the model, and a hook must not
    block a prompt. With --json the status is printed instead, without the receipt.

    Nobody looks who calls it: such a receipt says so where it is offered, and no standing consent spends it.

    \b
    Example (the host's hooks configuration):
      timeline hook user-prompt-submit --host codex
    """
    status: answers.Json
    try:
        receipt = service.receive_prompt(
            owner_session(), host, sys.stdin.buffer.read(HOOK_INPUT_BYTES_MAX + 1)
        )
        status = {"status": "pending", "reason": None, "expiresAt": format_utc(receipt.expires_at)}
    except StateMissingError as error:
        status = {"status": "not-applicable", "reason": error.reason, "expiresAt": None}
    except service.REFUSALS as error:
        status = {"status": "unavailable", "reason": error.reason, "expiresAt": None}
        show_error("timeline", error, as_json=as_json)
    if as_json:
        schema = {"schema": answers.RECEIPT_SCHEMA, "authority": answers.AUTHORITY}
        show({**schema, **status}, as_json=True, lines=[])


@click.command("receipt", epilog=_EPILOG)
@root_option
@click.option("--all", "every", is_flag=True, help="List every pending receipt of the project.")
@as_json_option
def receipt_command(root: str, *, every: bool, as_json: bool) -> None:
    """Show the pending receipt of a project, to be spent by `timeline enroll`.

    \b
    Example:
      timeline receipt --root .
    """
    receipts = service.list_receipts(owner_session(), root)
    if len(receipts) > 1 and not every:
        message = f"{len(receipts)} receipts are pending for this project"
        raise ReceiptAmbiguousError(message)
    answer = answers.receipts_answer(receipts, every=every)
    lines = [f"{r.id}  until {format_utc(r.expires_at)}  session {r.binding.session}" for r in receipts]
    show(
        answer,
        as_json=as_json,
        lines=lines or ["no receipt is pending: prompt once in the session, then come back"],
    )


@click.command("sources", epilog=_EPILOG)
@click.option("--root", default=None, metavar="FOLDER", help="Only this project.  [default: every project]")
@click.option(
    "--watch", is_flag=True, help="Stay, and name each source whose transcript is touched, until Ctrl-C."
)
@as_json_option
def sources_command(root: str | None, *, watch: bool, as_json: bool) -> None:
    """List enrolled sources and what became of their transcripts.

    \b
    Examples:
      timeline sources --root .
      timeline sources --watch
    """
    found = [answers.source_answer(status) for status in service.list_sources(owner_session(), root)]
    lines = fork_lines(found) + [line for source in found for line in source_lines(source)]
    show(found, as_json=as_json, lines=lines or ["nothing is enrolled"])
    if watch:
        current = [source for source in found if source["state"] in {"current", "grown"}]
        _watch({source["path"]: source for source in current}, as_json=as_json)


_TOUCHED = {
    "snapshot": "its snapshot needs a new receipt and consent",
    "follow": "`timeline index` reads what was added",
}


def _watch(sources: dict[str, answers.Json], *, as_json: bool) -> None:
    """Name touched sources until interrupted. Only marks: nothing is read or renewed."""
    # Imported here: no other command needs it.
    from timeline.watch import watch_transcripts

    touched: queue.SimpleQueue[str] = queue.SimpleQueue()
    with watch_transcripts(sources, touched.put):
        while sources:
            path = touched.get()
            source = sources.pop(path, None)
            if source is not None:
                ref = source["source"]
                said = f"{ref}: touched; {_TOUCHED[source['mode']]}"
                show({"source": ref, "state": "touched"}, as_json=as_json, lines=[said])


@click.command("revoke", epilog=_EPILOG)
@click.argument("enrollment")
@as_json_option
def revoke_command(enrollment: str, *, as_json: bool) -> None:
    """Take a consent back: recall of ENROLLMENT (its id, or its source) ends, its sidecars are removed.

    \b
    Example:
      timeline revoke timeline-enrollment:0123...
    """
    source = service.revoke(owner_session(), enrollment)
    answer = {
        "status": "revoked",
        "id": source.enrollment.enrollment_id,
        "source": source.enrollment.source.ref,
    }
    show(answer, as_json=as_json, lines=[f"revoked {answer['id']}"])


@click.command("index", epilog=_EPILOG)
@root_option
@click.option("--source", default=None, metavar="REF", help="Only this source.")
@click.option(
    "--max-bytes",
    type=int,
    default=INDEX_BYTES_DEFAULT,
    show_default=True,
    help=f"Bytes of one operation, {INDEX_BYTES_MIN} to {INDEX_BYTES_MAX}.",
)
@click.option(
    "--operations",
    type=click.IntRange(min=1),
    default=None,
    help="Stop after so many.  [default: run to the end]",
)
@as_json_option
def index_command(
    root: str, source: str | None, max_bytes: int, operations: int | None, *, as_json: bool
) -> int:
    """Read the enrolled transcripts of a project and keep their objective results, signed and redacted.

    Can be interrupted at any point; the next run goes on where the last committed operation ended.

    \b
    Example:
      timeline index
    """
    with progress("indexing") as advance:
        results = service.index(
            owner_session(),
            root,
            source_ref=source,
            max_bytes=max_bytes,
            operations=operations,
            progress=advance,
        )
    found = [_index_answer(result) for result in results]
    show(found, as_json=as_json, lines=[line for answer in found for line in index_lines(answer)])
    refused = sum(answer["status"] == "refused" for answer in found)
    if not refused:
        return ExitCode.DONE
    return ExitCode.PARTLY if refused < len(found) else ExitCode.FAILED


def _index_answer(result: "IndexResult | tuple[Any, Any]") -> answers.Json:
    if not isinstance(result, tuple):
        return answers.index_answer(result)
    source, error = result
    return answers.refused_source(source, error.reason, str(error), error.hint or "")


@click.command("search", epilog=_EPILOG)
@click.argument("terms", nargs=-1)
@click.option("--at", default=None, metavar="TIME", help="An exact UTC time, 2026-01-31T10:00:00Z.")
@click.option(
    "--window",
    "window_seconds",
    type=int,
    default=0,
    show_default=True,
    help="Seconds before and after --at, at most 900.",
)
@root_option
@click.option("--source", default=None, metavar="REF", help="Only this source.")
@as_json_option
def search_command(
    terms: tuple[str, ...],
    at: str | None,
    window_seconds: int,
    root: str,
    source: str | None,
    *,
    as_json: bool,
) -> int:
    """Find evidence by an exact time or by two TERMS: runner, outcome, kind, a count, a label.

    At most one transcript is opened and eight cards are given, each re-derived from the transcript's own bytes.
    A miss is not widened.

    \b
    Examples:
      timeline search pytest failed
      timeline search --at 2026-01-31T10:00:00Z --window 300
      timeline search pytest fehlgeschlagen
    """
    query = parse_query(terms) if terms else None
    if at is None and window_seconds:
        message = "--window needs --at"
        raise QueryError(message)
    at_ms = None if at is None else _exact_time(at)
    window = None if at_ms is None else Window(at_ms, window_seconds * 1000)
    answer, view = service.find(owner_session(), root, window=window, query=query, source_ref=source)
    found = answers.search_answer(answer, view, at_ms=at_ms, query=query)
    show(found, as_json=as_json, lines=search_lines(found))
    return ExitCode.FAILED if found["blocked"] else ExitCode.DONE


def _exact_time(text: str) -> int:
    try:
        return parse_utc(text)
    except ValueError as error:
        message = "--at: not an exact UTC time"
        raise QueryError(
            message, hint="write it as 2026-01-31T10:00:00Z or with .mmm before the Z"
        ) from error


@click.command("show", epilog=_EPILOG)
@click.argument("event")
@root_option
@as_json_option
def show_command(event: str, root: str, *, as_json: bool) -> int:
    """Show one EVENT by its id, verified again against the transcript.

    \b
    Example:
      timeline show timeline-event:0123...
    """
    answer, view = service.show(owner_session(), root, event)
    found = answers.search_answer(answer, view, at_ms=None, query=None)
    show(found, as_json=as_json, lines=search_lines(found))
    return ExitCode.FAILED if found["blocked"] else ExitCode.DONE


@click.command("verify", epilog=_EPILOG)
@click.option(
    "--deep", is_flag=True, help="Rebuild and compare every projection; read every event's lines again."
)
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="A carried anchor, or its .minisig, that this log must contain. Can be given again.",
)
@as_json_option
def verify_command(*, deep: bool, against: tuple[str, ...], as_json: bool) -> int:
    """Check keys, head, anchor, log, sidecars and database, and say what was not checked. Changes nothing.

    Nothing on this machine can tell a complete restore of an older moment from the present. A file that `timeline
    anchor export` made then, and that you kept elsewhere, can: give it with --against.

    \b
    Examples:
      timeline verify
      timeline verify --deep --json
      timeline verify --against anchor-2026-08-20
    """
    session = owner_session()
    if not is_there(session.locations.state) and not is_there(session.locations.trust):
        message = f"{session.locations.state}: no timeline here"
        raise StateMissingError(message)
    with progress("verifying") as advance:
        files = [Path(file) for file in against]
        report = service.verify_timeline(session, deep=deep, against=files, progress=advance)
    found = answers.report_answer(report)
    show(found, as_json=as_json, lines=report_lines(found))
    return ExitCode.DONE if report.ok else ExitCode.FAILED


@click.command("demo", epilog=_EPILOG)
@click.option(
    "--keep", default=None, metavar="DIR", help="Leave state, trust, config, runtime and home behind in DIR."
)
def demo_command(keep: str | None) -> None:
    """Tell the whole story on a simulated host: a search, a refused rollback, a false claim caught, a name forgotten.

    Runs a real pytest of a tiny project. Makes a state of its own, marked as simulated, and touches no other.

    \b
    Example:
      timeline demo --keep /tmp/timeline-demo
    """
    # Imported here: no other command needs it.
    from timeline.demo import run_demo

    run_demo(None if keep is None else Path(keep), click.echo)


COMMANDS = (
    init_command,
    hook_group,
    receipt_command,
    sources_command,
    revoke_command,
    index_command,
    search_command,
    show_command,
    verify_command,
    demo_command,
)
"""Every command, in the order of their use."""
