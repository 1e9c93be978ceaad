"""``timeline backup`` and ``timeline restore``: a copy of the whole timeline in one file, and back."""

from pathlib import Path

import click

from timeline import backup, forking, restore
from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG, ExitCode
from timeline.cli.presence import owner_session
from timeline.cli.render import progress, show
from timeline.clock import format_utc
from timeline.errors import UsageError
from timeline.manifest import Manifest
from timeline.staging import Given

_BASIS = {
    "external": "the external anchors confirm that it is the newest state",
    "local-anchor": "it is the state that the local anchor remembers",
    "carried": "it is the state that was carried; nothing shows that nothing came after",
    "unverified": "declared by the owner; nothing shows that it is the newest state",
}


@click.command("backup", epilog=EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--without-keys", is_flag=True, help="Leave the private keys out; keep them elsewhere.")
@as_json_option
def backup_command(file: Path, *, without_keys: bool, as_json: bool) -> None:
    """Copy the whole timeline into a new FILE, while others may go on writing.

    The copy is of one moment; it was opened and checked before this says that it is done. FILE holds the private keys,
    and whoever has them can consent in your name: keep it as you keep a key, or use --without-keys. Transcripts are not
    copied, and pending receipts are not either.

    \b
    Examples:
      timeline backup /mnt/stick/timeline-2026-08-20.tar
      timeline backup timeline.tar --without-keys
    """
    with progress("copying") as advance:
        found = backup.back_up(owner_session(), file.absolute(), with_keys=not without_keys, progress=advance)
    answer = {
        "status": "backed-up",
        "file": str(found.file),
        "fileBytes": found.file_bytes,
        **_manifest_json(found.manifest),
    }
    lines = [
        f"backed up {found.manifest.size} leaves and {found.sidecars} sidecars: {found.file_bytes} bytes",
        f"origin {found.manifest.origin}  root {found.manifest.root}",
        (
            "private keys are in it: whoever has the file can consent in your name"
            if found.manifest.has_keys
            else "private keys are not in it: without owner.key, log.key and fingerprint.key it is of no use"
        ),
    ]
    show(answer, as_json=as_json, lines=lines)


@click.command("restore", epilog=EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A carried anchor, or its .minisig, that the log must contain. Can be given again.",
)
@click.option("--key", metavar="VKEY", default=None, help="The owner key that the backup must be of.")
@click.option(
    "--keys",
    metavar="FOLDER",
    default=None,
    type=click.Path(path_type=Path),
    help="The private keys, for a backup that was made without them.",
)
@click.option(
    "--unverified",
    is_flag=True,
    help="You, the owner, declare that nothing was committed after this backup. Becomes a leaf.",
)
@click.option(
    "--forgotten",
    metavar="FOLDER",
    default=None,
    type=click.Path(path_type=Path),
    help="A trust folder whose list of what was forgotten is newer than the backup.",
)
@click.option("--as-fork", is_flag=True, help="Begin a log of its own, with a new origin and new keys.")
@click.option(
    "--trust-only", is_flag=True, help="The state stands, the trust folder is lost: put pins and keys back."
)
@as_json_option
def restore_command(
    file: Path,
    against: tuple[Path, ...],
    key: str | None,
    keys: Path | None,
    forgotten: Path | None,
    *,
    as_json: bool,
    **modes: bool,
) -> int:
    """Put a backup in place, where no timeline stands, if it is the newest state of its log.

    The external anchors that the log requires are asked. Where one knows a newer state, the backup is refused; with
    --as-fork it goes on as a log of its own, which says in its third leaf what it goes on from. Where nothing can say
    whether it is the newest, give the carried anchor of its size, or declare it.

    What was forgotten after the backup was made is erased from it, as far as its list is at hand: that of a trust
    folder which was moved away is given with --forgotten.

    The keys that a backup is verified with come out of the backup: --key makes sure that it is yours.

    \b
    Examples:
      timeline restore timeline-2026-08-20.tar
      timeline restore timeline-2026-08-20.tar --against anchor-2026-08-20
      timeline restore timeline-2026-08-20.tar --as-fork
    """
    unverified, as_fork, trust_only = modes["unverified"], modes["as_fork"], modes["trust_only"]
    _check_modes(as_fork=as_fork, trust_only=trust_only, given=bool(against) or unverified)
    given = Given(key, against, keys, unverified, None if forgotten is None else forgotten.absolute())
    session = owner_session()
    with progress("restoring") as advance:
        if as_fork:
            forked = forking.fork_backup(session, file, given, progress=advance)
        elif trust_only:
            return _show_trust(restore.restore_trust(session, file, given, progress=advance), as_json=as_json)
        else:
            restored = restore.restore(session, file, given, progress=advance)
    if as_fork and forked is not None:
        return _show_fork(forked, as_json=as_json)
    if not as_fork and restored is not None:
        return _show_restored(restored, as_json=as_json)
    answer = {"status": "completed", "authority": AUTHORITY}
    lines = [
        "an interrupted restore was completed; FILE was not read",
        "look at it with `timeline verify`",
    ]
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.DONE


def _check_modes(*, as_fork: bool, trust_only: bool, given: bool) -> None:
    if as_fork and trust_only:
        message = "--as-fork and --trust-only exclude each other"
        raise UsageError(message, hint="a fork has keys of its own")
    if given and (as_fork or trust_only):
        message = "--against and --unverified are about the newest state; a fork or a trust folder is none"
        raise UsageError(message, hint="leave them out")


def _show_restored(found: restore.Restored, *, as_json: bool) -> int:
    answer = {
        "status": "restored",
        "basis": found.basis,
        "leaf": found.leaf,
        "forgotten": None if found.forgotten is None else found.forgotten.plan,
        **_manifest_json(found.manifest),
    }
    lines = [
        f"restored {_described(found.manifest)}: {_BASIS[found.basis]}",
        *([] if found.leaf is None else [f"leaf {found.leaf} says so, to everybody who verifies this log"]),
        *([] if found.forgotten is None else ["what was forgotten after it was made was erased from it"]),
        "next: `timeline verify --deep`",
    ]
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.DONE


def _show_fork(found: forking.Forked, *, as_json: bool) -> int:
    declared = found.declared
    answer = {
        "status": "forked",
        "newOrigin": found.origin,
        "enrollments": found.enrollments,
        "formats": found.formats,
        "anchorsLeftBehind": found.anchors,
        "lost": [{"source": lost.source, "events": lost.events, "why": lost.why} for lost in found.lost],
        **_manifest_json(found.manifest),
    }
    lines = [
        f"declared fork of {declared.origin} at size {declared.size}, from {_described(found.manifest)}",
        f"its own origin: {found.origin}",
        f"taken over: {found.enrollments} enrollments, {found.formats} decisions about formats, the owner's rules",
        "not taken over: sidecars; `timeline index` reads the transcripts again",
        *(f"lost: {lost.events} events of {lost.source}: {lost.why}" for lost in found.lost),
    ]
    if found.anchors:
        lines.append(f"not taken over: {found.anchors} external anchors; add them with `timeline anchor add`")
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.DONE


def _show_trust(manifest: Manifest, *, as_json: bool) -> int:
    answer = {"status": "trust-restored", **_manifest_json(manifest)}
    lines = [
        f"pins and keys are back, from {_described(manifest)}; the local anchor is lost",
        "next: `timeline anchor recover` finds out whether the state is the newest",
    ]
    show(answer, as_json=as_json, lines=lines)
    return ExitCode.DONE


def _described(manifest: Manifest) -> str:
    return f"the backup of {manifest.size} leaves that was made at {format_utc(manifest.at)}"


def _manifest_json(manifest: Manifest) -> Json:
    return {
        "schema": "timeline-backup-answer/v1",
        "origin": manifest.origin,
        "size": manifest.size,
        "root": manifest.root,
        "at": format_utc(manifest.at),
        "keys": manifest.has_keys,
        "files": len(manifest.members),
        "authority": AUTHORITY,
    }
