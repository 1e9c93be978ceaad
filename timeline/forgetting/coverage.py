"""Which stores a forgetting covers, and which it does not: no claim goes further than these two lists (M16, M17)."""

from typing import Final

import msgspec


class Store(msgspec.Struct, frozen=True):
    """One place where something may be kept: its name in reports, what it is, and what its owner can do about it."""

    name: str
    what: str
    advice: str = ""


COVERED: Final = (
    Store("database", "state.db: leaves, rows, free pages; its write-ahead log and shared memory"),
    Store("sidecars", "the signed files of every segment, and temporary files beside them"),
    Store("head", "the signed checkpoint in the state, and the anchor in the trust folder"),
    Store("trust", "pins, keys, what external anchors have confirmed, the list of what was forgotten"),
    Store("anchor-pin", "which policy of external anchors is in force"),
    Store("runtime", "locks, and the daemon's diary up to then"),
    Store("forgetting", "plans and journals of forgetting"),
)
"""Every file that this program writes about a session, but for those below."""

NOT_COVERED: Final = (
    Store("transcripts", "the transcripts themselves, which the host wrote", "delete them in the host"),
    Store("backups", "backups and copies of the state", "make a new backup and delete the older ones"),
    Store(
        "given-away",
        "proofs, attestations, exported world models and carried anchors",
        "delete the files, and tell whoever has them",
    ),
    Store("external-anchors", "what witnesses and anchor databases keep: sizes and roots, no content"),
    Store("other-machines", "timelines of other machines and users, and forks of this one", "forget there"),
    Store("host-memory", "what the host itself remembers, and its own logs", "delete it in the host"),
    Store("model-context", "what a model was told in a session, and what its provider keeps of it"),
    Store(
        "settings",
        "config.toml and the record of installations, which the owner writes",
        "edit the files",
    ),
    Store("free-files", "editor files, shell histories, notes and whatever else was written by hand"),
    Store(
        "storage",
        "older blocks that a disk, a file system or its snapshots still hold",
        "encrypt the disk, and expire its snapshots",
    ),
)
"""What a forgetting does not reach; every plan and every report names it."""


def covered_names() -> tuple[str, ...]:
    """The names of all covered stores, as reports hold them."""
    return tuple(store.name for store in COVERED)


def not_covered_names() -> tuple[str, ...]:
    """The names of all stores that are not covered, as reports hold them."""
    return tuple(store.name for store in NOT_COVERED)
