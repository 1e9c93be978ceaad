"""Standing consent: the owner's decision for one host in one project, and the receipts that are spent on it.

Off until the owner says otherwise. The decision is a leaf under the owner key; what is enrolled on it is signed by the
log key and names that leaf, so that whoever reads the log sees on whose word it rests (ADR 0019). A session that the
owner has revoked stays revoked: the standing consent is the weaker word.
"""

import msgspec

from adapters.registry import ADAPTERS
from sidecars.consent import StandingConsent, find_consent, is_consent_change
from sidecars.leaf import ConsentPolicy, Enrollment
from timeline.config import load_config
from timeline.enrolling import record_enrollment
from timeline.errors import ReceiptUnavailableError, SourceError
from timeline.forgetting.intake import is_source_refused
from timeline.guard.enrollment import is_following
from timeline.guard.errors import ConsentHostError, ConsentUnchangedError
from timeline.guard.prompted import shows_new_prompt
from timeline.guard.receipt import Receipt, spend_receipt
from timeline.hosts import HOSTS
from timeline.project import canonical_root, project_of
from timeline.provider import adapter_for
from timeline.service import Session, list_receipts
from timeline.source import check_grown, take_snapshot
from timeline.view import EnrolledSource, LogView, Standing, transcript_of


class ConsentSet(msgspec.Struct, frozen=True):
    """What became of the owner's decision: the consent that is now in force, if any.

    ``enrolled`` counts sessions that rest on an earlier one; they go on until they end or are revoked.
    """

    host: str
    project: str
    consent: StandingConsent | None
    enrolled: int


class PendingSession(msgspec.Struct, frozen=True):
    """A session of a project that its owner may enroll now, by the newest receipt that waits for it.

    ``size`` is that of its transcript in bytes; ``None`` where the host has not written it yet, or where it cannot be
    read. ``enrolled`` says that an enrollment of it is active already.
    """

    receipt: Receipt
    age_seconds: int
    size: int | None
    enrolled: bool


def list_pending(session: Session, root: str) -> tuple[PendingSession, ...]:
    """The sessions of a project that wait to be enrolled, the newest prompt first.

    Raises:
        UsageError: there is no such folder.
        StateError, SidecarError: the state is not to be believed.
    """
    newest = {(r.binding.session, r.source.path): r for r in list_receipts(session, root)}
    now_ms = session.ports.clock.now_ms()
    with session.reading_local() as state:
        active = {transcript_of(source.enrollment) for source in state.view.active}
    return tuple(
        PendingSession(
            receipt,
            age_seconds=(now_ms - receipt.issued_at) // 1000,
            size=_size_of(receipt.source.path),
            enrolled=(receipt.binding.host, receipt.binding.session, receipt.source.path) in active,
        )
        for receipt in sorted(newest.values(), key=lambda receipt: receipt.issued_at, reverse=True)
    )


def _size_of(path: str) -> int | None:
    try:
        return take_snapshot(path, 0, check_grown).size
    except SourceError:
        return None


def set_consent(session: Session, root: str, host: str, *, follow: bool, allowed: bool) -> ConsentSet:
    """The owner consents to every later session of ``host`` in a project, or takes that back.

    With ``follow`` the files of those sessions may be followed as they grow. Nothing that is enrolled changes.

    Raises:
        ConsentHostError: not a reviewed host.
        ConsentUnchangedError: the decision is in force already.
        UsageError: there is no such folder.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    if host not in HOSTS or host not in ADAPTERS:
        message = f"host {host[:40]!r}: not a reviewed host"
        raise ConsentHostError(message)
    policy = ConsentPolicy(
        host=host, project=canonical_root(root), follow=follow and allowed, allowed=allowed
    )
    with session.writing() as state:
        if not is_consent_change(state.view.consents, policy):
            said = "consented to already" if allowed else "not consented to"
            message = f"{policy.project}, {host}: {said}"
            raise ConsentUnchangedError(message)
        state.commit([policy])
        return ConsentSet(
            host,
            policy.project,
            find_consent(state.view.consents, host, policy.project),
            sum(_rests_on_consent(source, policy) for source in state.view.active),
        )


def list_consents(session: Session, root: str | None) -> tuple[StandingConsent, ...]:
    """The standing consents in force, of one project or of all, oldest first.

    Raises:
        UsageError: there is no such folder.
        StateError, SidecarError: the state is not to be believed.
    """
    project = None if root is None else canonical_root(root)
    with session.reading() as state:
        return tuple(one for one in state.view.consents if project in {None, one.policy.project})


def may_spend(session: Session, receipt: Receipt) -> bool:
    """Whether a standing consent covers a receipt as things are: whether it is worth looking for its prompt.

    Raises:
        StateError, SidecarError: the state cannot be used.
    """
    now_ms = session.ports.clock.now_ms()
    if receipt.expires_at <= now_ms:
        return False
    with session.reading_local() as state:
        if is_source_refused(state, receipt.binding, receipt.source.path):
            return False
        return decide_spending(state.view, receipt, now_ms) is not None


def spend_on_consent(session: Session, receipt: Receipt) -> Enrollment | None:
    """Enroll the session of a receipt if the owner's standing consent covers it and its transcript shows the prompt.

    For the daemon: it asks at the next event of the session or change of the file, since hosts write the prompt after
    their hook has returned, and asks again as long as the receipt lasts. Waits for nothing. ``None`` where no consent
    is in force, the session is followed already, was revoked, forgotten or excluded, the prompt is not to be seen
    (yet), or the receipt is gone: nothing is spent then.

    Raises:
        ReceiptChangedError: another file stands at the path.
        SourceError, AdapterError: the transcript cannot be read.
        StateError, SidecarError: the state cannot be used.
    """
    with session.reading_local() as state:
        if decide_spending(state.view, receipt, session.ports.clock.now_ms()) is None:
            return None
        if is_source_refused(state, receipt.binding, receipt.source.path):
            return None
        adapter = adapter_for(state.view.formats, receipt.binding.host)
    # Outside of the lock: up to 16 MiB are read.
    if not shows_new_prompt(receipt, adapter, project_of):
        return None
    config = load_config(session.locations.settings)
    with session.writing() as state:
        now_ms = session.ports.clock.now_ms()
        consent = decide_spending(state.view, receipt, now_ms)
        if consent is None or is_source_refused(state, receipt.binding, receipt.source.path):
            return None
        try:
            spent = spend_receipt(state.store, state.keystore, receipt.id, now_ms)
        except ReceiptUnavailableError:
            return None
        return record_enrollment(
            state, spent, config, now_ms=now_ms, follow=consent.policy.follow, consent=consent.leaf
        )


def decide_spending(view: LogView, receipt: Receipt, now_ms: int) -> StandingConsent | None:
    """The consent that may spend a receipt now, if any. Pure.

    The prompt must be attested and later than the consent; a session that is followed is left as it is, and one that
    was revoked is the owner's to bring back.
    """
    consent = find_consent(view.consents, receipt.binding.host, receipt.binding.project)
    if consent is None or not receipt.attested or receipt.issued_at < consent.at:
        return None
    newest = _newest(view, receipt)
    if newest is not None and (newest.standing is Standing.REVOKED or _is_followed(newest, receipt, now_ms)):
        return None
    return consent


def _newest(view: LogView, receipt: Receipt) -> EnrolledSource | None:
    """The newest enrollment of the receipt's transcript."""
    wanted = (receipt.binding.host, receipt.binding.session, receipt.source.path)
    return next(
        (known for known in reversed(view.sources) if transcript_of(known.enrollment) == wanted), None
    )


def _is_followed(source: EnrolledSource, receipt: Receipt, now_ms: int) -> bool:
    """Whether the session's file is read on as it grows, in the same scope: then a newer enrollment would only lose."""
    return (
        source.standing is Standing.ACTIVE
        and source.broken is None
        and source.enrollment.binding == receipt.binding
        and is_following(source.enrollment, now_ms)
    )


def _rests_on_consent(source: EnrolledSource, policy: ConsentPolicy) -> bool:
    """Whether a source was enrolled on a standing consent for this host and project."""
    bound = source.enrollment.binding
    return source.enrollment.consent is not None and (bound.host, bound.project) == (
        policy.host,
        policy.project,
    )
