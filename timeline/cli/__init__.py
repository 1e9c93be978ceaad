"""The command line: parses, calls ``timeline.service``, prints, and ends with a documented exit code."""

import io
import sys
from collections.abc import Callable

import click

from adapters.errors import AdapterError
from sidecars.errors import SidecarError
from timeline import __version__
from timeline.answers import AUTHORITY
from timeline.cli import commands
from timeline.cli.exit import ExitCode, exit_code_of
from timeline.cli.presence import guard
from timeline.cli.render import show, show_error
from timeline.errors import AccessError, StateMissingError, TimelineError, UsageError

_EPILOG = (
    "Exit codes: 0 done; 1 not verified or failed; 2 usage; 3 done in part; 10 no state; 11 busy; 12 key missing or "
    "wrong; 13 denied; 130 interrupted."
)


HELP_NAMES = ["-h", "--help"]
"""The same for every program, also where a command runs under its own name."""


def _anchors() -> click.Command:
    from timeline.cli.anchors import anchor_group

    return anchor_group


def _backup() -> click.Command:
    from timeline.cli.backups import backup_command

    return backup_command


def _daemon() -> click.Command:
    from timeline.cli.daemon import daemon_group

    return daemon_group


def _conformance() -> click.Command:
    from timeline.cli.conformance import conformance_command

    return conformance_command


def _consent() -> click.Command:
    from timeline.cli.consents import consent_command

    return consent_command


def _enroll() -> click.Command:
    from timeline.cli.enrollments import enroll_command

    return enroll_command


def _doctor() -> click.Command:
    from timeline.cli.doctor import doctor_command

    return doctor_command


def _exclude() -> click.Command:
    from timeline.cli.exclude import exclude_group

    return exclude_group


def _forget() -> click.Command:
    from timeline.cli.forget import forget_group

    return forget_group


def _formats() -> click.Command:
    from timeline.cli.formats import formats_group

    return formats_group


def _run_hook() -> click.Command:
    from timeline.cli.install import run_hook_command

    return run_hook_command


def _completions() -> click.Command:
    from timeline.cli.install import completions_command

    return completions_command


def _install() -> click.Command:
    from timeline.cli.install import install_command

    return install_command


def _uninstall() -> click.Command:
    from timeline.cli.install import uninstall_command

    return uninstall_command


def _inspect() -> click.Command:
    from timeline.cli.inspection import inspect_command

    return inspect_command


def _keys() -> click.Command:
    from timeline.cli.keys import key_group

    return key_group


def _mcp() -> click.Command:
    from timeline.cli.relay import relay_command

    return relay_command


def _owner() -> click.Command:
    from timeline.cli.owner import owner_group

    return owner_group


def _prove() -> click.Command:
    from timeline.cli.proofs import prove_command

    return prove_command


def _restore() -> click.Command:
    from timeline.cli.backups import restore_command

    return restore_command


def _schema() -> click.Command:
    from timeline.cli.schema import schema_group

    return schema_group


def _service() -> click.Command:
    from timeline.cli.service import service_group

    return service_group


def _status() -> click.Command:
    from timeline.cli.status import status_command

    return status_command


def _task() -> click.Command:
    from timeline.cli.task import task_group

    return task_group


def _verify_proof() -> click.Command:
    from timeline.cli.proofs import verify_proof_command

    return verify_proof_command


def _world() -> click.Command:
    from timeline.cli.world import world_group

    return world_group


_LATER: dict[str, Callable[[], click.Command]] = {
    "anchor": _anchors,
    "backup": _backup,
    "completions": _completions,
    "conformance": _conformance,
    "consent": _consent,
    "daemon": _daemon,
    "enroll": _enroll,
    "doctor": _doctor,
    "exclude": _exclude,
    "forget": _forget,
    "formats": _formats,
    "inspect": _inspect,
    "install": _install,
    "key": _keys,
    "mcp": _mcp,
    "owner": _owner,
    "prove": _prove,
    "restore": _restore,
    "run-hook": _run_hook,
    "schema": _schema,
    "service": _service,
    "uninstall": _uninstall,
    "status": _status,
    "task": _task,
    "verify-proof": _verify_proof,
    "world": _world,
}
"""Commands that load what a search does not need, by the function that loads them."""


class _Commands(click.Group):
    """The commands of ``timeline``; some are loaded only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # type: ignore[explicit-override]  # see _Misuse
        """Every name, in order."""
        return sorted({*super().list_commands(ctx), *_LATER})

    def get_command(  # type: ignore[explicit-override]  # see _Misuse
        self, ctx: click.Context, cmd_name: str
    ) -> click.Command | None:
        """The command of that name, loaded now if it is a later one; an owner's command asks for the owner first."""
        later = _LATER.get(cmd_name)
        found = later() if later is not None else super().get_command(ctx, cmd_name)
        return None if found is None else guard(cmd_name, found)


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": HELP_NAMES})
@click.version_option(__version__, prog_name="timeline")
def timeline() -> None:
    """What happened in my coding agents' sessions, and how do we know?

    Signed, redacted evidence from the transcripts that hosts write; every answer is checked again against the bytes.

    \b
    Examples:
      timeline init
      timeline enroll --follow
      timeline index
      timeline search pytest failed
      timeline verify --deep
    """


for _command in commands.COMMANDS:
    timeline.add_command(_command)


def main(entrance: object = None) -> None:
    """Entry point of ``timeline``; ``entrance`` is what it gives the commands that it alone can serve."""
    _end(_run("timeline", timeline, entrance=entrance))


def main_receipt() -> None:
    """Entry point of ``timeline-receipt`` (T9)."""
    _end(_run_compatible("timeline-receipt", guard("receipt", commands.receipt_command)))


def main_enroll() -> None:
    """Entry point of ``timeline-enroll`` (T10)."""
    from timeline.cli.enrollments import receipt_enroll_command

    _end(_run_compatible("timeline-enroll", guard("enroll", receipt_enroll_command)))


def main_verify() -> None:
    """Entry point of ``timeline-verify`` (D8)."""
    _end(_run("timeline-verify", commands.verify_command))


def main_witness() -> None:
    """Entry point of ``timeline-witness``, which needs no timeline."""
    from timeline.cli.witness import witness_group

    _end(_run("timeline-witness", witness_group))


def _run_compatible(program: str, command: click.Command) -> int:
    """As the reference's programs end: unavailable is 0, misuse is 1."""

    def translate(error: Exception) -> ExitCode:
        if (
            isinstance(error, UsageError | click.UsageError)
            or getattr(error, "reason", "") == "confirmation-required"
        ):
            return ExitCode.FAILED
        if isinstance(error, AccessError | StateMissingError):
            return ExitCode.DONE
        return exit_code_of(error)

    return _run(program, command, translate)


def _run(
    program: str,
    command: click.Command,
    translate: Callable[[Exception], ExitCode] = exit_code_of,
    *,
    entrance: object = None,
) -> int:
    as_json = "--json" in sys.argv[1:]
    try:
        result = command.main(
            prog_name=program, standalone_mode=False, help_option_names=HELP_NAMES, obj=entrance
        )
    except click.UsageError as error:
        show_error(program, _Misuse(error), as_json=as_json)
        return ExitCode.USAGE if translate is exit_code_of else translate(error)
    except (TimelineError, SidecarError, AdapterError) as error:
        code = translate(error)
        show_error(program, error, as_json=as_json)
        if code is ExitCode.DONE:  # a program that reports "unavailable" as data
            status = {"status": "unavailable", "reason": error.reason, "authority": AUTHORITY}
            show(status, as_json=as_json, lines=[f"unavailable: {error.reason}"])
        return code
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"{program}: interrupted; what was committed stays", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; let nothing else complain about it at exit.
        sys.stdout = io.StringIO()
        return ExitCode.DONE
    return int(result) if isinstance(result, int) else ExitCode.DONE


class _Misuse:
    """A usage error of the argument parser in the shape of our own errors."""

    reason = "usage"

    def __init__(self, error: click.UsageError) -> None:
        message = " ".join(error.format_message().split())  # click lists choices on lines of their own
        self._message = message[:1].lower() + message[1:].rstrip(".")
        command = error.ctx.command_path if error.ctx is not None else "timeline"
        self.hint = f"run `{command} --help`"

    def __str__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        return self._message


def _end(code: int) -> None:
    sys.exit(int(code))
