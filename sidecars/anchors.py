"""What a log says about external anchors: which must confirm it, and that the local one was lost.

Both are bodies of leaves that the owner key signs (``docs/spec/anchors.md``). How an anchor is asked, and what its
answers mean, is no matter of the format and stands elsewhere.
"""

from typing import Annotated, Final, Literal

import msgspec

from sidecars.errors import MalformedError
from sidecars.wire import Vkey

ANCHORS_MAX: Final = 16
"""As many signatures as every C2SP note reader must take."""

FRESHNESS_SECONDS_MIN: Final = 60
FRESHNESS_SECONDS_MAX: Final = 30 * 24 * 3600
DEADLINE_MS_MIN: Final = 100
DEADLINE_MS_MAX: Final = 30_000
UNWITNESSED_MAX: Final = 1_000_000

AnchorName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,31}\Z")]
"""The owner's name for an external anchor; also a file name."""

AnchorAddress = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e]{1,512}\Z")]
"""Where an external anchor is asked: a URL, a DSN without a password, or a path."""


class AnchorEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One external anchor: what it is, where it is asked, and the key that is pinned for a witness (a vkey)."""

    name: AnchorName
    type: Literal["file", "postgres", "witness"]
    address: AnchorAddress
    key: Vkey | None


class AnchorPolicy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="anchor-policy", tag_field="kind"
):
    """Which external anchors must confirm the log from here on; it replaces the one before, and may name none.

    ``quorum`` of them must have confirmed within ``freshness_seconds``; each is given ``deadline_ms`` to answer, and at
    most ``unwitnessed_max`` leaves may follow what a quorum has confirmed.
    """

    anchors: Annotated[tuple[AnchorEntry, ...], msgspec.Meta(max_length=ANCHORS_MAX)]
    quorum: Annotated[int, msgspec.Meta(ge=0, le=ANCHORS_MAX)]
    freshness_seconds: Annotated[int, msgspec.Meta(ge=FRESHNESS_SECONDS_MIN, le=FRESHNESS_SECONDS_MAX)]
    deadline_ms: Annotated[int, msgspec.Meta(ge=DEADLINE_MS_MIN, le=DEADLINE_MS_MAX)]
    unwitnessed_max: Annotated[int, msgspec.Meta(ge=1, le=UNWITNESSED_MAX)]


class AnchorRecovery(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="anchor-recovery", tag_field="kind"
):
    """The local anchor or the pin was lost, and the owner let the state go on as the newest one.

    ``basis`` is what showed that it is: the external anchors, a checkpoint that a person carried, or nothing.
    """

    lost: Literal["anchor", "pin"]
    basis: Literal["external", "carried", "unverified"]


def check_anchors(body: AnchorPolicy) -> None:
    """Return only if the names, the addresses, the keys and the quorum of a policy fit each other.

    Raises:
        MalformedError: they do not.
    """
    from sidecars.cosignature import WitnessVerifier  # noqa: PLC0415  (1 ms; most logs have no such leaf)

    names = [entry.name for entry in body.anchors]
    if names != sorted(set(names)):
        raise MalformedError("external anchors must be sorted by name, each name once")
    if not min(1, len(names)) <= body.quorum <= len(names):
        raise MalformedError("a quorum must be at least one anchor, if there are any, and at most all")
    if len({entry.address for entry in body.anchors}) < len(names):
        raise MalformedError("an address must not be that of two external anchors")
    keys = []
    for entry in body.anchors:
        if (entry.key is not None) != (entry.type == "witness"):
            raise MalformedError("a witness must have a key, and nothing else has one")
        if entry.key is not None:
            keys.append(WitnessVerifier.parse(entry.key).public_key)
    # The bytes, not the vkey: under a second name a key would count twice in a quorum.
    if len(set(keys)) < len(keys):
        raise MalformedError("a key must not be that of two witnesses")
