"""``timeline world export|import``: the world model out to other programs, and a reference file in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from timeline.answers import AUTHORITY, Json
from timeline.cli.asking import may_ask
from timeline.cli.commands import as_json_option, root_option, yes_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.errors import UsageError

if TYPE_CHECKING:
    from timeline.world.legacy import LegacyRecord
    from timeline.world_exchange import Imported

_FORMATS: Final = ("world-model.json", "prov-json")
_SHOWN_MAX: Final = 20


@click.command("export", epilog=EPILOG)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default=_FORMATS[0],
    show_default=True,
    help="The reference's file, or W3C PROV.",
)
@root_option
def export_command(file: Path | None, form: Any, root: str) -> None:  # noqa: ANN401  (one of the choices)
    """Write everything that you may see of the project's world model to FILE, or print it.

    Replaced and expired assertions are in it. It holds values, your own words among them: keep it as you would keep
    those. What is exported is signed by nobody; `timeline prove` is for proofs.

    \b
    Examples:
      timeline world export world-model.json
      timeline world export --format prov-json > world.prov.json
    """
    import json

    from timeline.portable import write_portable
    from timeline.world_exchange import export_world
    from timeline.world_view import standpoint

    session = owner_session()
    document = export_world(session, standpoint(session, root), form)
    content = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if file is None:
        click.echo(content, nl=False)
        return
    write_portable(file, content.encode(), UsageError)
    click.echo(f"wrote {file}")


@click.command("import", epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--project-id",
    "named",
    multiple=True,
    metavar="ID",
    help="The file's name of this project; records of other projects are left out. Can be given again.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be recorded, and record nothing.")
@yes_option
@root_option
@as_json_option
def import_command(file: Path, named: tuple[str, ...], root: str, **options: bool) -> ExitCode:
    """Record the assertions of a reference world-model.json as your own word for what it says.

    They stay legacy records: they are marked as imported, belong to no conversation, and are given no kind of
    knowledge. What the file calls measured was measured by whoever wrote the file; no transcript stands behind it. The
    same file again records nothing new.

    \b
    Examples:
      timeline world import world-model.json --dry-run
      timeline world import world-model.json --project-id my-project
    """
    from timeline.portable import read_portable
    from timeline.world.legacy import FILE_BYTES_MAX
    from timeline.world_exchange import import_world, read_file
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root)
    content = read_portable(file, FILE_BYTES_MAX, UsageError)
    records = read_file(session, where, content, frozenset(named))
    as_json = options["as_json"]
    if options["dry_run"]:
        _show_plan(records, as_json=as_json)
        return ExitCode.DONE
    if may_ask(yes=options["yes"], as_json=as_json):
        _show_plan(records, as_json=False)
        click.confirm("Record them?", default=False, abort=True)
    imported = import_world(session, records)
    _show_imported(imported, as_json=as_json)
    return ExitCode.PARTLY if imported.left_out else ExitCode.DONE


def _show_plan(records: "tuple[LegacyRecord, ...]", *, as_json: bool) -> None:
    left_out = [(record.id, record.reason or "") for record in records if record.entry is None]
    taken = [record.id for record in records if record.entry is not None]
    answer: Json = {"schema": "timeline-world-import/v1", "wouldRecord": taken, "leftOut": _listed(left_out)}
    answer["authority"] = AUTHORITY
    lines = [f"{len(taken)} records can be imported", *_lines(left_out)]
    show(answer, as_json=as_json, lines=lines)


def _show_imported(imported: "Imported", *, as_json: bool) -> None:
    answer = {
        "schema": "timeline-world-import/v1",
        "recorded": list(imported.recorded),
        "duplicates": list(imported.duplicates),
        "leftOut": _listed(list(imported.left_out)),
        "authority": AUTHORITY,
    }
    lines = [
        f"{len(imported.recorded)} recorded, {len(imported.duplicates)} were there already",
        *_lines(list(imported.left_out)),
    ]
    show(answer, as_json=as_json, lines=lines)


def _listed(left_out: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"id": name, "reason": reason} for name, reason in left_out]


def _lines(left_out: list[tuple[str, str]]) -> list[str]:
    from timeline.cli.tables import printable

    shown = [f"left out: {printable(name)}  {reason}" for name, reason in left_out[:_SHOWN_MAX]]
    more = len(left_out) - len(shown)
    return [*shown, f"and {more} more; --json names them all"] if more else shown


COMMANDS: Final = (export_command, import_command)
"""The commands of the group that cross its border."""
