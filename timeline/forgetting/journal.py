"""Plans and journals of forgetting, as files in the state; neither holds anything of what is forgotten.

A plan is written once, under its digest. Its journal is lines that are only ever added, each durable before the next
step: what was done of which target, and what failed and why. So whoever finds it knows where to go on (M21).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

from sidecars.digest import Digest
from sidecars.errors import SidecarError
from timeline.errors import StateUnwritableError
from timeline.files import (
    check_private,
    is_there,
    make_directory,
    open_regular,
    read_private,
    sync_directory,
    write_atomic,
)
from timeline.forgetting.errors import PlanInvalidError
from timeline.paths import Locations

PLAN_BYTES_MAX: Final = 64 * 1024 * 1024
_PLAN: Final = ".plan"
_JOURNAL: Final = ".journal"

Step = Literal[
    "begun", "suppressed", "receipts", "erased", "file", "rows", "diary", "copies", "reported", "finished"
]
Outcome = Literal["done", "failed"]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line: when (UTC milliseconds), which step, of which target, and what came of it.

    ``target`` names a leaf by its index or a sidecar by its digest; ``why`` is a reason code.
    """

    at: int
    step: Step
    target: str = ""
    outcome: Outcome = "done"
    why: str = ""


_DECODER: Final = msgspec.json.Decoder(Line)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def plan_path(locations: Locations, digest: str) -> Path:
    """Where the plan of this digest lies.

    Raises:
        PlanInvalidError: it is no digest.
    """
    return locations.forgetting / f"{_hex(digest)}{_PLAN}"


def journal_path(locations: Locations, digest: str) -> Path:
    """Where its journal lies.

    Raises:
        PlanInvalidError: it is no digest.
    """
    return locations.forgetting / f"{_hex(digest)}{_JOURNAL}"


def keep_plan(locations: Locations, digest: str, content: bytes) -> None:
    """Keep a plan's bytes under its digest.

    Raises:
        StateUnwritableError, UnsafeFileError: it cannot be written.
    """
    make_directory(locations.forgetting)
    path = plan_path(locations, digest)
    if not is_there(path):
        write_atomic(path, content)


def read_plan_bytes(locations: Locations, digest: str) -> bytes | None:
    """The bytes of a kept plan, ``None`` where there is none.

    Raises:
        PlanInvalidError: they are not those of this digest.
        UnsafeFileError: the file is not private.
    """
    path = plan_path(locations, digest)
    if not is_there(path):
        return None
    content = read_private(path, size_max=PLAN_BYTES_MAX)
    if str(Digest.of(content)) != digest:
        message = f"{path}: its bytes must be those of its name"
        raise PlanInvalidError(message)
    return content


def kept_plans(locations: Locations) -> tuple[str, ...]:
    """The digests of all plans that are kept, sorted."""
    if not is_there(locations.forgetting):
        return ()
    names = (path.name.removesuffix(_PLAN) for path in locations.forgetting.glob(f"*{_PLAN}"))
    return tuple(sorted(str(Digest(bytes.fromhex(name))) for name in names if _is_hex(name)))


def write_line(locations: Locations, digest: str, line: Line) -> None:
    """Add one line to a journal, durable when this returns; a line that was cut off before is ended first.

    Raises:
        StateUnwritableError, UnsafeFileError: it cannot be written.
    """
    make_directory(locations.forgetting)
    path = journal_path(locations, digest)
    is_new = not is_there(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
        try:
            found = os.fstat(descriptor)
            check_private(path, found)
            size = found.st_size
            cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, (b"\n" if cut else b"") + _ENCODER.encode(line) + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(path.parent)
    except OSError as error:
        message = f"{path}: cannot be written"
        raise StateUnwritableError(message) from error


def read_lines(locations: Locations, digest: str) -> Iterator[Line]:
    """The lines of a journal in order; one that was cut off is passed over.

    Raises:
        PlanInvalidError: it is no digest.
        UnsafeFileError: the file cannot be read.
    """
    path = journal_path(locations, digest)
    if not is_there(path):
        return
    with open_regular(path) as file:
        for text in file:
            try:
                yield _DECODER.decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue


def _hex(digest: str) -> str:
    try:
        return Digest.parse(digest).hex()
    except SidecarError as error:
        message = "plan: not a digest"
        raise PlanInvalidError(
            message, hint="`timeline forget status` lists the plans that are kept"
        ) from error


def _is_hex(name: str) -> bool:
    return len(name) == 64 and set(name) <= set("0123456789abcdef")  # SHA-256 in hex
