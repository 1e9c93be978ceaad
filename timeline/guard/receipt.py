"""One-use host receipts: proof that a host's prompt event named this session and this transcript (T6, T7, T8).

A receipt lives 15 minutes, is bound to everything that an enrollment will be bound to, and is spent by the attempt,
even a failing one. It is signed with the log key and kept in the state (ADR 0009, 0020).
The id is a secret between this program and the owner; it never goes into a hook's answer: the model never sees it.
"""

import hashlib
from typing import Final

import msgspec

from sidecars.encoding import to_base64url
from sidecars.envelope import open_envelope, seal
from sidecars.errors import SidecarError
from sidecars.identity import canonical_bytes
from sidecars.leaf import EnrollmentBinding
from timeline.binding import Binding
from timeline.clock import Entropy
from timeline.dialects import parse_hook
from timeline.errors import (
    ClockError,
    GroupScopeError,
    HookInputError,
    ReceiptCapacityError,
    ReceiptUnavailableError,
)
from timeline.hosts import Host
from timeline.keystore import Keystore
from timeline.limits import RECEIPT_SECONDS, RECEIPTS_PENDING_MAX
from timeline.source import Snapshot
from timeline.store import Store

PAYLOAD_TYPE: Final = "application/vnd.timeline.receipt.v1+json"
ID_PREFIX: Final = "asthr_"
_ID_BYTES: Final = 32
_ID_CHARACTERS: Final = len(ID_PREFIX) + 43
_EVENT: Final = "UserPromptSubmit"


class SourceAtPrompt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The transcript when the host reported it; all but the path are null if it did not exist yet."""

    path: str
    device: int | None = None
    inode: int | None = None
    size: int | None = None
    mtime_ns: str | None = None
    ctime_ns: str | None = None
    prefix_length: int | None = None
    prefix_digest: str | None = None

    def covers(self, now: Snapshot) -> bool:
        """Whether the file that is there now is the one reported, equal or grown since."""
        if self.device is None or self.inode is None or self.size is None or self.prefix_length is None:
            return now.path == self.path
        return (
            (self.path, self.device, self.inode) == (now.path, now.device, now.inode)
            and now.size >= self.size
            and (
                self.size != now.size
                or (self.mtime_ns, self.ctime_ns) == (str(now.mtime_ns), str(now.ctime_ns))
            )
        )


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One pending receipt; times are UTC milliseconds, ``event_digest`` identifies the host's event.

    ``attested`` says that the event came from below a process of its host that no model has started
    (``guard.hook_peer``); without it, only the owner's own word can spend the receipt.
    """

    id: str
    binding: EnrollmentBinding
    source: SourceAtPrompt
    event_digest: str
    issued_at: int
    expires_at: int
    attested: bool = False

    @property
    def digest(self) -> bytes:
        """What names it where the id itself must not stand."""
        return receipt_digest(self.id)


class PromptEvent(msgspec.Struct, frozen=True):
    """What is taken from a host's UserPromptSubmit input; the prompt itself is not among it."""

    session: str
    transcript_path: str | None
    cwd: str
    event_digest: str


_DECODER: Final = msgspec.json.Decoder(Receipt)


def receipt_digest(receipt_id: str) -> bytes:
    """SHA-256 of a receipt's id."""
    return hashlib.sha256(b"timeline receipt\0" + receipt_id.encode()).digest()


def parse_prompt_event(content: bytes, host: Host) -> PromptEvent:
    """Read a host's hook input, in the shape that this host gives it.

    Raises:
        HookInputError: not that event, or a field is missing or of another type.
        GroupScopeError: the input claims a group (T8).
    """
    event = parse_hook(host.name, content)
    if event.event != _EVENT:
        message = f"the hook's input must be a {_EVENT} event"
        raise HookInputError(message)
    if event.names_group:
        message = "the hook's input names a group"
        raise GroupScopeError(message)
    if host.transcript_field is not None and event.transcript is None:
        message = f"field {host.transcript_field} of the hook's input must be a text"
        raise HookInputError(message)
    identity = canonical_bytes([event.session, event.transcript or "", event.turn or ""])
    digest = to_base64url(hashlib.sha256(identity).digest())
    return PromptEvent(event.session, event.transcript, event.cwd, digest)


def source_at_prompt(path: str, snapshot: Snapshot | None) -> SourceAtPrompt:
    """What a receipt says of its source."""
    if snapshot is None:
        return SourceAtPrompt(path)
    return SourceAtPrompt(
        path=path,
        device=snapshot.device,
        inode=snapshot.inode,
        size=snapshot.size,
        mtime_ns=str(snapshot.mtime_ns),
        ctime_ns=str(snapshot.ctime_ns),
        prefix_length=snapshot.prefix_length,
        prefix_digest=to_base64url(snapshot.prefix_digest),
    )


def wire_binding(binding: Binding) -> EnrollmentBinding:
    """A binding as receipts and leaves spell it."""
    route = binding.route
    return EnrollmentBinding(
        host=binding.host,
        session=binding.session,
        user=binding.user,
        tenant=binding.tenant,
        project=binding.project,
        task=binding.task,
        goal=binding.goal,
        portal=None if route is None else route.portal,
        thread=None if route is None else route.thread,
    )


def issue_receipt(
    store: Store,
    keystore: Keystore,
    *,
    binding: Binding,
    source: SourceAtPrompt,
    event_digest: str,
    now_ms: int,
    entropy: Entropy,
    attested: bool = False,
) -> Receipt:
    """Issue a receipt, or return the pending one of the same event, binding and source.

    ``attested``: the event came from below a process of its host.

    Raises:
        ReceiptCapacityError: 32 are pending.
        StateError: the state cannot be written.
    """
    wire = wire_binding(binding)
    pending = pending_receipts(store, keystore, now_ms)
    for receipt in pending:
        known = (receipt.binding, receipt.source, receipt.event_digest, receipt.attested)
        if known == (wire, source, event_digest, attested):
            return receipt
    if len(pending) >= RECEIPTS_PENDING_MAX:
        message = f"{len(pending)} receipts are pending"
        raise ReceiptCapacityError(message)
    receipt = Receipt(
        id=ID_PREFIX + to_base64url(entropy.bytes(_ID_BYTES)),
        binding=wire,
        source=source,
        event_digest=event_digest,
        issued_at=now_ms,
        expires_at=now_ms + RECEIPT_SECONDS * 1000,
        attested=attested,
    )
    envelope = seal(PAYLOAD_TYPE, msgspec.json.encode(receipt), [keystore.log])
    kept = {known.digest for known in pending}
    with store.transaction():
        gone = [row for row in store.query("SELECT digest FROM receipt") if row[0] not in kept]
        store.write("DELETE FROM receipt WHERE digest = ?", gone)
        store.write("INSERT INTO receipt (digest, envelope) VALUES (?, ?)", [(receipt.digest, envelope)])
    return receipt


def pending_receipts(store: Store, keystore: Keystore, now_ms: int) -> tuple[Receipt, ...]:
    """Receipts that can still be spent, oldest first. One that does not verify is not pending.

    Raises:
        StateError: the state cannot be read.
    """
    pending = [r for r in _stored_receipts(store, keystore) if r.issued_at <= now_ms < r.expires_at]
    return tuple(sorted(pending, key=lambda receipt: (receipt.issued_at, receipt.id)))


def spend_receipt(store: Store, keystore: Keystore, receipt_id: str, now_ms: int) -> Receipt:
    """Take a receipt for good: whatever happens next, it is spent (T6).

    Raises:
        ReceiptUnavailableError: none that can be spent has this id.
        ClockError: the clock stands before it was issued; the receipt is then not spent.
        StateError: the state cannot be written; the receipt is then not spent.
    """
    known = [r for r in _stored_receipts(store, keystore) if r.id == receipt_id and now_ms < r.expires_at]
    if len(receipt_id) != _ID_CHARACTERS or not known:
        message = "no pending receipt has this id"
        raise ReceiptUnavailableError(message)
    if now_ms < known[0].issued_at:
        message = f"the clock stands {known[0].issued_at - now_ms} ms before the receipt was issued"
        raise ClockError(message)
    with store.transaction():
        store.write("DELETE FROM receipt WHERE digest = ?", [(known[0].digest,)])
    return known[0]


def _stored_receipts(store: Store, keystore: Keystore) -> list[Receipt]:
    """Every receipt that verifies, whether or not its time is now."""
    rows = store.query("SELECT envelope FROM receipt")
    found = [_open(bytes(row[0]), keystore) for row in rows]  # type: ignore[call-overload]  # STRICT column
    return [receipt for receipt in found if receipt is not None]


def _open(envelope: bytes, keystore: Keystore) -> Receipt | None:
    try:
        payload = open_envelope(envelope, PAYLOAD_TYPE, [keystore.pins.log]).payload
        return _DECODER.decode(payload)
    except (SidecarError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
