"""Recording an enrollment: a spent receipt and the file as it is now become a leaf.

Whoever calls this holds the writer lock and has spent the receipt; whether the owner has consented, in words or by a
standing consent, was decided before.
"""

from collections.abc import Sequence

from sidecars.digest import Digest
from sidecars.encoding import to_base64url
from sidecars.leaf import Enrollment
from timeline.config import Config
from timeline.errors import ReceiptChangedError, ReceiptUnavailableError
from timeline.forgetting.intake import check_source
from timeline.guard.enrollment import make_enrollment
from timeline.guard.receipt import Receipt
from timeline.limits import PREFIX_BYTES_MAX
from timeline.source import Rule, Snapshot, check_grown, check_same, open_source, take_snapshot
from timeline.state import State
from timeline.store import Store
from timeline.view import same_transcript


def record_enrollment(
    state: State,
    receipt: Receipt,
    config: Config,
    *,
    now_ms: int,
    follow: bool,
    recall_seconds: int | None = None,
    consent: int | None = None,
) -> Enrollment:
    """Commit the enrollment of a spent receipt; an older one of the same transcript is replaced, with its rows.

    ``recall_seconds`` and the time to follow come from the configuration unless given; ``consent`` is the leaf of the
    standing consent that the enrollment rests on.

    Raises:
        ReceiptChangedError: the file is not the one of the prompt, or has not grown from it.
        ForgottenError, ExcludedError: the owner has had it forgotten, or has excluded it.
        SourceError, StateError, SidecarError: the transcript or the state cannot be used.
    """
    check_unspent(state, receipt)
    rule = check_grown if follow else check_same
    now = take_snapshot(receipt.source.path, rule=rule)
    check_source(state, receipt.binding, now.path, lambda: _beginning(now, rule))
    if receipt.source.prefix_length is not None and receipt.source.prefix_digest is not None:
        check_prefix(receipt, rule)
    enrollment = make_enrollment(
        receipt,
        now,
        now_ms=now_ms,
        recall_seconds=recall_seconds or config.recall_seconds,
        follow_seconds=config.follow_seconds if follow else None,
        consent=consent,
    )
    replaced = [s.index for s in state.view.active if same_transcript(s.enrollment, enrollment)]
    state.commit([enrollment], project=lambda store, _leaves: drop_sources(store, replaced))
    return enrollment


def _beginning(snapshot: Snapshot, rule: Rule) -> bytes:
    """The first bytes of the file, as many as an enrollment may read (T11)."""
    with open_source(snapshot, rule) as opened:
        return opened.read(0, min(snapshot.size, PREFIX_BYTES_MAX))


def check_unspent(state: State, receipt: Receipt) -> None:
    """The log must not hold the receipt already.

    Raises:
        ReceiptUnavailableError: it does.
    """
    if str(Digest(receipt.digest)) in state.view.receipts:
        message = "the receipt was spent before, and its row was written back"
        raise ReceiptUnavailableError(message)


def check_prefix(receipt: Receipt, rule: Rule) -> None:
    """The first bytes must still be those of the prompt: growth is allowed, another beginning is not.

    Raises:
        ReceiptChangedError: they are not.
        SourceError: the file cannot be looked at.
    """
    length = receipt.source.prefix_length or 0
    now = take_snapshot(receipt.source.path, length, rule)
    if now.prefix_length != length or to_base64url(now.prefix_digest) != receipt.source.prefix_digest:
        message = f"{receipt.source.path}: its first {length} bytes are not those at the prompt"
        raise ReceiptChangedError(message)


def drop_sources(store: Store, sources: Sequence[int]) -> None:
    """Remove every row of these sources, inside a transaction.

    Raises:
        StateError: they cannot be removed.
    """
    for source in sources:
        store.drop_source(source)
