"""Setting Timeline up in a host, taking it out again, and completions for shells."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import timeline
from timeline.cli.asking import has_terminal
from timeline.cli.commands import as_json_option, root_option
from timeline.cli.exit import EPILOG
from timeline.cli.render import show
from timeline.hosts import HOSTS
from timeline.paths import find_locations

if TYPE_CHECKING:
    from timeline.install.command import Program
    from timeline.install.operation import Change, Setup

_TRUST_SECONDS = 30.0

_host_argument = click.argument("host", type=click.Choice(sorted(HOSTS)))
_scope_option = click.option(
    "--project/--user",
    "for_project",
    default=False,
    help="For the project at --root, or for all of yours (the default).",
)
_dry_run_option = click.option("--dry-run", is_flag=True, help="Show the changes and make none.")
_yes_option = click.option("--yes", is_flag=True, help="Make the shown changes without asking.")


@click.command("install", epilog=EPILOG)
@_host_argument
@_scope_option
@root_option
@_dry_run_option
@_yes_option
@click.option("--trust", is_flag=True, help="Codex: have it trust the installed hooks, as /hooks does.")
@click.option("--codex", "codex", default="codex", show_default=True, metavar="PROGRAM", help="With --trust.")
@as_json_option
def install_command(
    host: str,
    root: str,
    codex: str,
    *,
    for_project: bool,
    dry_run: bool,
    yes: bool,
    trust: bool,
    as_json: bool,
) -> None:
    """Put Timeline's hooks and its MCP server into a HOST's configuration. Shows the changes and asks first.

    Only entries of ours are added; everything else keeps its bytes. A second run changes nothing. After an update that
    moved the program, run it again. `timeline uninstall` restores the earlier bytes.

    \b
    Examples:
      timeline install codex --dry-run
      timeline install codex --yes --trust
      timeline install claude --project
    """
    from timeline.install import operation
    from timeline.install.errors import InstallScopeError

    if trust and host != "codex":
        message = f"--trust: {host} runs hooks without being told to trust them"
        raise InstallScopeError(message, hint="leave --trust out")
    setup = _setup(host, root, for_project=for_project)
    changes = operation.plan_install(setup)
    if not dry_run and _is_confirmed(changes, yes=yes, as_json=as_json):
        operation.install(setup, changes)
        status = "unchanged" if _is_idle(changes) else "installed"
        trusted = _trust(setup, changes, codex) if trust else None
    else:
        status, trusted = "planned" if dry_run else "declined", None
    notes = [] if status == "declined" else _notes(host, for_project=for_project, trusted=trusted)
    _show(setup, changes, status=status, notes=notes, trusted=trusted, as_json=as_json, dry_run=dry_run)


@click.command("uninstall", epilog=EPILOG)
@_host_argument
@_scope_option
@root_option
@_dry_run_option
@_yes_option
@as_json_option
def uninstall_command(
    host: str, root: str, *, for_project: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take Timeline out of a HOST's configuration. Shows the changes and asks first.

    A file that nobody has changed since is restored byte for byte; of another only our entries are taken out.

    \b
    Examples:
      timeline uninstall codex --dry-run
      timeline uninstall codex --yes
    """
    from timeline.install import operation

    setup = _setup(host, root, for_project=for_project)
    changes = operation.plan_uninstall(setup)
    if not dry_run and _is_confirmed(changes, yes=yes, as_json=as_json):
        operation.uninstall(setup, changes)
        status = "unchanged" if _is_idle(changes) else "uninstalled"
    else:
        status = "planned" if dry_run else "declined"
    _show(setup, changes, status=status, notes=[], trusted=None, as_json=as_json, dry_run=dry_run)


@click.command("run-hook", epilog=EPILOG)
@_host_argument
def run_hook_command(host: str) -> None:
    """Become the hook of a HOST: what plugins call, since they know no path.

    `timeline install` names the hook by its path instead, which starts faster.

    \b
    Example (a plugin's hook):
      timeline run-hook codex
    """
    from timeline.install.command import hook_words

    words = hook_words(_program(), host)
    os.execv(words[0], words)  # noqa: S606  # our own interpreter and file


@click.command("completions", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completions_command(shell: str) -> None:
    """Print the script that completes `timeline` in a SHELL.

    \b
    Examples:
      timeline completions bash > ~/.local/share/bash-completion/completions/timeline
      timeline completions zsh > ~/.zfunc/_timeline
      timeline completions fish > ~/.config/fish/completions/timeline.fish
    """
    from click.shell_completion import get_completion_class

    from timeline.cli import timeline as program

    found = get_completion_class(shell)
    if found is None:  # a choice above that click does not know
        raise click.UsageError(shell)
    click.echo(found(program, {}, "timeline", "_TIMELINE_COMPLETE").source())


def _setup(host: str, root: str, *, for_project: bool) -> "Setup":
    from timeline.install.operation import Setup
    from timeline.install.places import InstallScope, host_files
    from timeline.install.record import Records
    from timeline.project import canonical_root

    scope = InstallScope.PROJECT if for_project else InstallScope.USER
    files = host_files(
        host,
        scope,
        _program(),
        home=Path.home(),
        project=Path(canonical_root(root)) if for_project else Path.home(),
        environment=os.environ,
    )
    return Setup(host, scope, files, Records(find_locations(os.environ).installed))


def _program() -> "Program":
    """This program as hosts are to call it."""
    from timeline.install.command import find_program

    package = Path(timeline.__file__).resolve().parent
    return find_program(_interpreter(), str(package), str(find_locations(os.environ).runtime), os.environ)


def _interpreter() -> str:
    """The interpreter that runs us: a virtual environment's own, else the program behind all links."""
    found = Path(sys.executable).absolute()
    return str(found if sys.prefix != sys.base_prefix else found.resolve())


def _is_idle(changes: "Sequence[Change]") -> bool:
    from timeline.install.operation import Act

    return all(change.act is Act.NOTHING for change in changes)


def _is_confirmed(changes: "Sequence[Change]", *, yes: bool, as_json: bool) -> bool:
    """Whether the owner wants the changes; they are shown first.

    Raises:
        InstallUnconfirmedError: nobody can be asked.
    """
    from timeline.install.errors import InstallUnconfirmedError

    if yes or _is_idle(changes):
        return True
    if as_json or not has_terminal():
        message = "nobody can be asked whether to make these changes"
        raise InstallUnconfirmedError(message)
    _show_differences(changes)
    return click.confirm("Make these changes?", default=False)


def _trust(setup: "Setup", changes: "Sequence[Change]", codex: str) -> int:
    from timeline.clock import SystemStopwatch
    from timeline.install import operation
    from timeline.install.trust import trust_hooks

    hooks = next(change for change in changes if change.file.path.name == "hooks.json")
    commands = hooks.file.form.commands((hooks.after or b"").decode())
    keys = trust_hooks(
        (codex,),
        file=hooks.found.target,
        commands=commands,
        cwd=hooks.file.path.parent.parent if setup.scope == "project" else Path.home(),
        environment=os.environ,
        deadline_seconds=_TRUST_SECONDS,
        stopwatch=SystemStopwatch(),
    )
    operation.adopt_trust(setup, changes)
    return len(keys)


def _notes(host: str, *, for_project: bool, trusted: int | None) -> list[str]:
    notes = []
    if host == "codex" and trusted is None:
        notes.append(
            "Codex skips hooks without a word until you trust them: type /hooks in Codex, or run "
            "`timeline install codex --trust`"
        )
    if for_project and host == "codex":
        notes.append("Codex reads a project's files only where you trust the project")
    if for_project and host == "claude":
        notes.append("Claude Code asks once whether to use a project's MCP server")
    if host == "claude" and not for_project:
        notes.append("close Claude Code first: it writes this file too")
    if host == "king":
        notes.append("King is set up as Kimi Code is; this was not tried with King itself")
    return [*notes, f"sessions of {host} that are open go on without it: start them again"]


def _show(
    setup: "Setup",
    changes: "Sequence[Change]",
    *,
    status: str,
    notes: list[str],
    trusted: int | None,
    as_json: bool,
    dry_run: bool,
) -> None:
    from timeline.install.difference import difference

    if dry_run and not as_json:
        _show_differences(changes)
    files: list[dict[str, Any]] = [
        {
            "path": str(change.file.path),
            "change": str(change.act),
            "diff": difference(str(change.file.path), change.found.content, change.after),
        }
        for change in changes
    ]
    answer = {
        "status": status,
        "host": setup.host,
        "scope": str(setup.scope),
        "files": files,
        "trustedHooks": trusted,
        "notes": notes,
    }
    lines = [f"{file['change']:8} {file['path']}" for file in files]
    lines += [] if trusted is None else [f"{trusted} hooks newly trusted by Codex, through its app-server"]
    show(answer, as_json=as_json, lines=[*lines, f"status: {status}", *(f"note: {note}" for note in notes)])


def _show_differences(changes: "Sequence[Change]") -> None:
    """The diff of every change, in colours where there is a terminal."""
    from timeline.install.difference import difference

    lines = [
        line
        for change in changes
        for line in difference(str(change.file.path), change.found.content, change.after)
    ]
    if not sys.stdout.isatty():
        for line in lines:
            click.echo(line)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        style = "bold" if line.startswith(("+++", "---")) else colours.get(line[:1], "")
        console.print(Text(line, style=style), soft_wrap=True)
