"""Carried anchors as files: written for a person to keep elsewhere, and compared with the log that stands here now.

Whoever puts state, trust and configuration back to one earlier moment does not put back what somebody has in a pocket:
a log that is smaller than a carried anchor, or has another root at its size, is refused. It says nothing of what came
after that size, and nothing is kept of it here: it counts for the verification that is given it.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from sidecars.carried import (
    CarriedAnchor,
    OpenedAnchor,
    check_contained,
    check_text,
    open_carried,
    sign_carried,
)
from sidecars.checkpoint import Checkpoint
from sidecars.erased import stored_hash
from sidecars.errors import DigestMismatchError
from sidecars.merkle import root_of
from sidecars.minisign import SIGNATURE_FILE_BYTES_MAX, MinisignKey, is_signature_file
from timeline.anchors.errors import AnchorFileError
from timeline.portable import read_portable, write_portable
from timeline.state import State

SUFFIX: Final = ".minisig"
"""What minisign itself looks for beside a file."""


class Exported(msgspec.Struct, frozen=True):
    """An anchor that was written: the text, its signature file, and the key as ``minisign -P`` takes it."""

    anchor: CarriedAnchor
    text: Path
    signature: Path
    public_key: str


def export_anchor(state: State, text: Path) -> Exported:
    """Write the present size and root for a person to carry away: ``text`` and, beside it, its ``.minisig``.

    Raises:
        AnchorFileError: one of the two is there already, or cannot be written; then neither was made.
        KeyMismatchError: the private log key is not here.
        UnknownKeyError: it is not the one in force.
    """
    belief, signer = state.belief, state.keystore.log
    checkpoint = Checkpoint(state.keystore.pins.origin, belief.size, belief.root)
    anchor = CarriedAnchor(checkpoint, state.ports.clock.now_ms() // 1000)
    content = sign_carried(anchor, signer)
    # Verified as it will be when it comes back: a file that is refused then would be found out too late.
    check_contained(_open(state, content), committed_hashes(state), belief.log_key)
    signature = _beside(text)
    write_portable(text, anchor.text, AnchorFileError)
    try:
        write_portable(signature, content, AnchorFileError)
    except AnchorFileError:
        with suppress(OSError):
            text.unlink()
        raise
    return Exported(anchor, text, signature, str(MinisignKey.of(signer.verifier)))


def committed_hashes(state: State) -> tuple[bytes, ...]:
    """The hash of every leaf that is believed, in order.

    Raises:
        DigestMismatchError: they are no longer those that were believed when the state was opened.
        StateError: the database cannot be read.
    """
    hashes = []
    for index, salt, envelope in state.store.leaves():
        if index >= state.belief.size:  # committed since this state was opened
            break
        hashes.append(stored_hash(salt, envelope))
    if root_of(hashes) != state.belief.root.raw:
        raise DigestMismatchError("the leaves must be those that were read before")
    return tuple(hashes)


def compare_anchor(state: State, hashes: Sequence[bytes], file: Path) -> CarriedAnchor:
    """The anchor in ``file``, which is the text or its ``.minisig``, if the log with these leaf hashes contains it.

    Raises:
        AnchorFileError: the text or its signature file cannot be read.
        MalformedError, UnsupportedVersionError: not a carried anchor.
        OriginMismatchError, UnknownKeyError, BadSignatureError: not one of this log.
        RollbackError: this log is an older state than the one that was carried.
        EquivocationError: this log has another history than the one that was carried.
    """
    content = _read(file)
    text = None if is_signature_file(content) else content
    opened = _open(state, content if text is None else _read(_beside(file)))
    if text is not None:
        check_text(opened.anchor, text)
    check_contained(opened, hashes, state.belief.key_at(opened.anchor.checkpoint.size))
    return opened.anchor


def is_carried(state: State, files: Sequence[Path]) -> bool:
    """Whether one of these carried anchors is of exactly this size; the log must contain each of them.

    Raises:
        AnchorFileError, SidecarError: see ``compare_anchor``.
        StateError: the database cannot be read.
    """
    if not files:
        return False
    hashes = committed_hashes(state)
    sizes = [compare_anchor(state, hashes, file).checkpoint.size for file in files]
    return state.belief.size in sizes


def _open(state: State, content: bytes) -> OpenedAnchor:
    keys = tuple(dict.fromkeys(epoch.log_key for epoch in state.belief.epochs))
    return open_carried(content, state.keystore.pins.origin, keys)


def _beside(text: Path) -> Path:
    return Path(f"{text}{SUFFIX}")


def _read(path: Path) -> bytes:
    return read_portable(path, SIGNATURE_FILE_BYTES_MAX, AnchorFileError)
