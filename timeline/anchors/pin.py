"""Which anchor policy is in force, pinned in the configuration folder: a third place beside state and trust.

State and trust that were put back to before `timeline anchor add` know of no anchor and would ask none. The pin names
the policy's leaf by index and hash, so such a state is refused. ``init`` writes a pin that names none: a missing pin is
never a beginning. A pin that is behind the log is what a crash between commit and pin leaves; the next writer moves it.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from sidecars.encoding import from_base64, to_base64
from sidecars.errors import SidecarError
from timeline.anchors.errors import (
    AnchorPinError,
    AnchorPinMissingError,
    StateBehindPinError,
)
from timeline.files import is_there, read_private, write_atomic
from timeline.limits import KEY_BYTES_MAX

_HEADER: Final = "timeline-anchors/v1"
_FORM = re.compile(r"timeline-anchors/v1\norigin (\S+)\npolicy (?:none|leaf (0|[1-9][0-9]{0,17}) (\S+))\n")


class PinnedPolicy(msgspec.Struct, frozen=True):
    """The leaf of an anchor policy: where it stands, and its hash in the tree."""

    index: int
    leaf_hash: bytes


def read_pin(path: Path, origin: str) -> PinnedPolicy | None:
    """The policy that is pinned; ``None`` where the pin says that there is none.

    Raises:
        AnchorPinMissingError: there is no pin.
        AnchorPinError: not a pin, or of another log.
        UnsafeFileError: it is not private.
    """
    if not is_there(path):
        message = f"{path}: file is missing"
        raise AnchorPinMissingError(message)
    content = read_private(path, size_max=KEY_BYTES_MAX)
    found = _FORM.fullmatch(content.decode("ascii", "replace"))
    try:
        pinned = None
        if found is not None and found.group(2) is not None:
            pinned = PinnedPolicy(int(found.group(2)), from_base64(found.group(3), "leaf hash"))
    except SidecarError:
        found = None
    if found is None:
        message = f"{path}: not a pin of external anchors"
        raise AnchorPinError(message)
    if found.group(1) != origin:
        message = f"{path}: of another log"
        raise AnchorPinError(message)
    return pinned


def write_pin(path: Path, origin: str, pinned: PinnedPolicy | None) -> None:
    """Pin a policy, or that there is none.

    Raises:
        StateUnwritableError: it cannot be written.
    """
    policy = "none" if pinned is None else f"leaf {pinned.index} {to_base64(pinned.leaf_hash)}"
    write_atomic(path, f"{_HEADER}\norigin {origin}\npolicy {policy}\n".encode())


def check_pin(pinned: PinnedPolicy | None, size: int, found: bytes | None) -> None:
    """Refuse a log that lacks the pinned leaf; ``found`` is the hash of its leaf there, if it has one.

    Raises:
        StateBehindPinError: the log is older than the pin, or another one.
    """
    if pinned is not None and found != pinned.leaf_hash:
        message = (
            f"the pinned anchor policy is leaf {pinned.index}, and this log of {size} leaves does not hold it"
        )
        raise StateBehindPinError(message)
