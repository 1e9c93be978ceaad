"""Install and uninstall: look at every file first, decide, show, and only then change one after the other.

Nothing is changed where one of the files refuses. Each file has its own record, so that whatever was done when a
process is killed is gone on with by the next one.
"""

from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from timeline.files import hold_directory, is_there, make_directory, remove_temporaries
from timeline.install.errors import HostFileSyntaxError, HostNameTakenError
from timeline.install.placed import (
    Placed,
    check_writable,
    look,
    missing_folders,
    remove_folders,
    replace,
    take_away,
)
from timeline.install.places import HostFile, InstallScope
from timeline.install.record import Record, Records, is_before, make_record, undo, with_step
from timeline.install.toml_text import parse

_BOM: Final = b"\xef\xbb\xbf"


class Act(StrEnum):
    """What is to be done to a file."""

    CREATE = "create"
    CHANGE = "change"
    RESTORE = "restore"
    """Back to the earlier bytes, exactly."""
    REMOVE = "remove"
    NOTHING = "nothing"


class Change(msgspec.Struct, frozen=True):
    """One file, what stands there, and what is to stand there; ``record`` is kept with it, ``None`` is forgotten.

    ``earlier`` are the bytes that an uninstall restores, where they may be copied for the owner.
    """

    file: HostFile
    found: Placed
    after: bytes | None
    act: Act
    record: Record | None = None
    earlier: bytes | None = None


class Setup(msgspec.Struct, frozen=True):
    """One host in one scope, with its files and the folder of records."""

    host: str
    scope: InstallScope
    files: Sequence[HostFile]
    records: Records


def plan_install(setup: Setup) -> tuple[Change, ...]:
    """What an installation changes; nothing is written.

    Raises:
        InstallError: one of the files cannot be changed, with the lines to add by hand where that helps.
        StateError: a record cannot be read.
    """
    changes = tuple(_plan_install(setup, file) for file in setup.files)
    _check_writable(changes)
    return changes


def plan_uninstall(setup: Setup) -> tuple[Change, ...]:
    """What taking Timeline out of a host changes; nothing is written.

    Raises:
        InstallError, StateError: see ``plan_install``.
    """
    changes = tuple(_plan_uninstall(setup, file) for file in setup.files)
    _check_writable(changes)
    return changes


def install(setup: Setup, changes: Sequence[Change]) -> None:
    """Make the planned changes; each record is written before its file.

    Raises:
        StateBusyError: another process is installing.
        HostFileChangedError: a file is not what was planned for; those before it are done.
        InstallError, StateError: a file or record cannot be written.
    """
    if all(change.act is Act.NOTHING for change in changes):
        return
    make_directory(setup.records.folder)
    with hold_directory(setup.records.folder):
        for change in changes:
            if change.act is not Act.NOTHING and change.record is not None and change.after is not None:
                setup.records.keep(setup.host, setup.scope, change.record, change.earlier)
                replace(change.found, change.after)


def uninstall(setup: Setup, changes: Sequence[Change]) -> None:
    """Make the planned changes; the records are forgotten when all files are as they were.

    Raises:
        StateBusyError, HostFileChangedError, InstallError, StateError: see ``install``.
    """
    idle = all(change.act is Act.NOTHING and change.record is None for change in changes)
    if idle and not is_there(setup.records.folder):
        return
    make_directory(setup.records.folder)
    with hold_directory(setup.records.folder):
        remove_temporaries(setup.records.folder)
        for change in changes:
            if change.after is None:
                take_away(change.found)
            elif change.act is not Act.NOTHING:
                replace(change.found, change.after)
        # The files of a host share folders: those go when all files have gone, and are known until then.
        records = [change.record for change in changes if change.record is not None and change.after is None]
        remove_folders({Path(folder) for record in records for folder in record.folders})
        for change in changes:
            setup.records.drop(setup.host, setup.scope, change.file.path)
    with suppress(OSError):  # not empty while anything is installed
        setup.records.folder.rmdir()


def adopt_trust(setup: Setup, changes: Sequence[Change]) -> None:
    """Count what the host has just written about the trust in our hooks as ours, where nothing else has changed.

    Then an uninstall takes it out too, byte for byte.

    Raises:
        InstallError, StateError: a file or record cannot be read or written.
    """
    for change in changes:
        now = look(change.file.path)
        record = setup.records.find(setup.host, setup.scope, change.file.path)
        written = change.after
        if record is None or written is None or now.content in (None, written):
            continue
        base = undo(record, written)
        if base is not None and _differ_by_trust(written, now.content):
            with hold_directory(setup.records.folder):
                setup.records.keep(setup.host, setup.scope, with_step(record, base, now.content), None)


def _differ_by_trust(before: bytes, after: bytes) -> bool:
    try:
        one, other = parse(_text(before)), parse(_text(after))
    except HostFileSyntaxError:
        return False
    for document in (one, other):
        hooks = document.get("hooks")
        if isinstance(hooks, dict):
            hooks.pop("state", None)
            if not hooks:
                del document["hooks"]
    return one == other


def _plan_install(setup: Setup, file: HostFile) -> Change:
    found = look(file.path)
    record = setup.records.find(setup.host, setup.scope, file.path)
    content = found.content or b""
    after = _add(file, content)
    if found.content is not None and after == content:
        return Change(file, found, content, Act.NOTHING, record)
    base = None if record is None or found.content is None else undo(record, content)
    if record is not None and base is not None:  # nobody has changed what we wrote
        after = _add(file, base)
        record = with_step(record, base, after)
    elif record is None or not file.form.commands(_text(content)):
        base = content
        before = found.content
        folders = missing_folders(found)
        if record is not None and record.before is None and before is None:
            folders = (*(made for made in map(Path, record.folders) if made not in folders), *folders)
        record = make_record(
            file.path, before, after, folders=folders, kept=file.form.empties(_text(content))
        )
    copy = None if file.holds_prompts or record.before is None else base
    return Change(file, found, after, Act.CREATE if found.content is None else Act.CHANGE, record, copy)


def _plan_uninstall(setup: Setup, file: HostFile) -> Change:
    found = look(file.path)
    record = setup.records.find(setup.host, setup.scope, file.path)
    if found.content is None or (record is not None and is_before(record, found.content)):
        return Change(file, found, found.content, Act.NOTHING, record)
    base = None if record is None else undo(record, found.content)
    if record is not None and base is not None:
        if record.before is None:
            return Change(file, found, None, Act.REMOVE, record)
        return Change(file, found, base, Act.RESTORE, record)
    text = _text(found.content)
    try:
        rest = file.form.remove(text, kept=() if record is None else record.kept)
    except HostFileSyntaxError as error:
        message = f"{file.path}: {error.message}"
        raise HostFileSyntaxError(
            message, hint="correct the file, or take our entries out by hand"
        ) from error
    if record is not None and record.before is None and file.form.is_bare(rest):
        return Change(file, found, None, Act.REMOVE, record)
    act = Act.NOTHING if rest == text else Act.CHANGE
    return Change(file, found, _bytes(found.content, rest), act, record)


def _check_writable(changes: Sequence[Change]) -> None:
    for change in changes:
        if change.act is not Act.NOTHING:
            check_writable(change.found)


def _add(file: HostFile, content: bytes) -> bytes:
    """The content with our part.

    Raises:
        HostFileSyntaxError, HostNameTakenError: with the file, and with what to add by hand.
    """
    try:
        return _bytes(content, file.form.add(_text(content)))
    except HostFileSyntaxError as error:
        message = f"{file.path}: {error.message}"
        hint = f"correct the file, or add this by hand:\n{file.form.add('').strip()}"
        raise HostFileSyntaxError(message, hint=hint) from error
    except HostNameTakenError as error:
        message = f"{file.path}: {error.message}"
        raise HostNameTakenError(message) from error


def _text(content: bytes) -> str:
    """The text after a byte order mark.

    Raises:
        HostFileSyntaxError: not UTF-8.
    """
    try:
        return content.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        message = f"byte {error.start}: not UTF-8"
        raise HostFileSyntaxError(message) from error


def _bytes(like: bytes, text: str) -> bytes:
    """The text with the byte order mark that the content had."""
    return (_BOM if like.startswith(_BOM) else b"") + text.encode()
