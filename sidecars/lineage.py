"""Where a log comes from, if not from its own beginning: put back from a backup, or forked from another log.

Both are bodies of leaves (``docs/spec/log.md``). A fork is a log of its own, with its own origin and keys, whose third
leaf says which log it goes on from. The owner key of that log signs this too, over the new origin and the new owner
key, so that nobody without it can claim the descent, and so that the claim cannot be moved to a third log.

What it does not say: that the forked log ended there, or that the two share a leaf.
"""

from typing import Annotated, Final, Literal

import msgspec

from sidecars.encoding import from_base64, to_base64
from sidecars.envelope import pae
from sidecars.errors import BrokenLinkError
from sidecars.keys import Signing, Verifier
from sidecars.wire import Count, DigestText, Origin, TimeMs, Vkey, format_struct

STATEMENT_TYPE: Final = "application/vnd.timeline.fork-statement.v1+json"
"""What the old owner key signs is of this type and passes for nothing else that it signs."""

FORK_INDEX: Final = 2
"""Where a fork is declared: right behind the rules and the first key epoch, so that nothing stands before it."""

Signature = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9+/]{86}==\Z")]
"""64 bytes in base64."""


class Restoration(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="restoration", tag_field="kind"
):
    """The state before this leaf was put back from a backup, and nobody outside confirmed it as the newest one.

    ``basis`` is what the owner let it go on with: a checkpoint of exactly this size that a person carried, or nothing.
    ``backed_up_at`` is when the backup was made (UTC milliseconds, by its own word).
    """

    basis: Literal["carried", "unverified"]
    backed_up_at: TimeMs


class Fork(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="fork", tag_field="kind"):
    """This log goes on from the tree of ``size`` leaves with ``root`` of the log ``origin``, under another origin.

    ``old_owner_key`` is the vkey of that log's owner, ``owner_key`` that of this one's; ``signature`` is the old
    owner's over the statement.
    """

    origin: Origin
    size: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    root: DigestText
    old_owner_key: Vkey
    owner_key: Vkey
    signature: Signature


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the old owner key signs: "the log ``fork``, with this owner key, goes on from this tree of mine"."""

    fork: Origin
    origin: Origin
    owner_key: Vkey
    root: DigestText
    size: Count
    schema: Literal["timeline-fork/v1"]


_DECODER: Final = msgspec.json.Decoder(_Statement)


def declare_fork(
    *, fork: str, owner: Verifier, origin: str, size: int, root: str, old_owner: Signing
) -> Fork:
    """The body that declares the log ``fork`` to go on from a tree of the log ``origin``.

    Raises:
        MalformedError: a field is against its rule.
    """
    message = _message(fork, str(owner), origin, size, root)
    signature = to_base64(old_owner.sign(message))
    return Fork(origin, size, root, str(old_owner.verifier), str(owner), signature)


def check_fork(body: Fork, fork: str) -> None:
    """Return only if the owner of the old log has signed that the log ``fork`` goes on from it.

    Raises:
        MalformedError: a key or the signature is not of its form.
        BrokenLinkError: a log cannot be the fork of itself.
        BadSignatureError: the old owner key has not signed this.
    """
    if body.origin == fork:
        raise BrokenLinkError("a fork must have another origin than the log that it goes on from")
    Verifier.parse(body.owner_key)
    message = _message(fork, body.owner_key, body.origin, body.size, body.root)
    Verifier.parse(body.old_owner_key).verify(message, from_base64(body.signature, "signature"))


def _message(fork: str, owner_key: str, origin: str, size: int, root: str) -> bytes:
    statement = _Statement(fork, origin, owner_key, root, size, "timeline-fork/v1")
    return pae(STATEMENT_TYPE, format_struct(statement, _DECODER, "fork statement"))
