"""Files that travel: read where a person names them, and written where there is none yet.

They are not the timeline's own (``timeline.files``): a stick knows no owners and no modes, and whoever reads such a
file believes nothing in it that is not signed.
"""

import os
from contextlib import suppress
from pathlib import Path

from timeline.errors import TimelineError


def read_portable(path: Path, size_max: int, refusal: type[TimelineError]) -> bytes:
    """The file's first ``size_max + 1`` bytes, so that whoever parses them can refuse one that is longer.

    Raises:
        TimelineError: a ``refusal``: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(size_max + 1)
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        message = f"{path}: cannot be read ({_reason(error)})"
        raise refusal(message) from error


def write_portable(path: Path, content: bytes, refusal: type[TimelineError]) -> None:
    """Write a file that does not exist yet, durably, since its disk may be pulled next; on failure none is left.

    Raises:
        TimelineError: a ``refusal``: it is there already, or cannot be written.
    """
    try:
        file = path.open("xb")
    except (OSError, ValueError) as error:
        message = f"{path}: cannot be made ({_reason(error)})"
        raise refusal(message) from error
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        message = f"{path}: cannot be written ({_reason(error)})"
        raise refusal(message) from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or "not a path"
