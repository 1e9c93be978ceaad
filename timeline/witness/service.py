"""The witness itself: what it is told to know, and the one step in which it checks, signs and remembers.

A submission is decided, signed and stored inside one transaction that no other thread or process can share, and the
answer is made after the transaction has become durable. Where storing fails, nothing that was signed leaves.
"""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from sidecars.cosignature import WitnessSigner, WitnessVerifier, add_signatures, open_cosignatures
from sidecars.errors import MalformedError, SidecarError
from sidecars.keys import Verifier, find_verifier
from sidecars.note import Note, format_note, parse_note
from timeline.clock import Clock
from timeline.errors import StateBusyError, StateCorruptError, StateError
from timeline.witness.decide import (
    UNKNOWN_LOG,
    Conflict,
    Cosign,
    KnownLog,
    Latest,
    Refuse,
    decide_submission,
    decide_time,
)
from timeline.witness.errors import LogKeyError
from timeline.witness.protocol import (
    ORIGIN_BYTES_MAX,
    SIZE_TYPE,
    TEXT_TYPE,
    Status,
    Submission,
    format_size,
    origin_digest,
    parse_head,
    parse_submission,
)
from timeline.witness.store import Evidence, LogRow, WitnessStore

LOG_KEYS_MAX = 8
"""Keys of one log that are in force together; a rotation needs two."""


class Answer(msgspec.Struct, frozen=True):
    """What goes back to the client; ``reason`` and ``origin`` (of known logs only) are for the witness's own diary."""

    status: Status
    body: bytes
    content_type: str = TEXT_TYPE
    reason: str = ""
    origin: str | None = None


class Witness:
    """A witness at work. Threads may share it."""

    def __init__(self, signer: WitnessSigner, store: WitnessStore, clock: Clock) -> None:
        """Take what ``open_witness`` opened."""
        self.verifier: WitnessVerifier = signer.verifier
        self._signer = signer
        self._store = store
        self._clock = clock
        self._vouched: dict[str, tuple[bytes, Latest]] = {}
        """Of each log the note that this process has signed or verified last, and what it states."""

    def add_checkpoint(self, body: bytes) -> Answer:
        """Answer one submission; a cosignature in the answer is on disk."""
        try:
            submission = parse_submission(body)
        except MalformedError as error:
            return _said(Status.MALFORMED, error.reason, error.rule)
        try:
            return self._decide(submission)
        except StateError as error:
            return _failed(error)

    def latest(self, digest: bytes) -> Answer:
        """The latest cosigned checkpoint of the log whose origin has this digest."""
        try:
            row = self._store.find_log(digest)
            if row is None or row.note is None:
                return _said(Status.UNKNOWN, "nothing-cosigned", "no checkpoint of such a log was cosigned")
            self._believe(row)
        except StateError as error:
            return _failed(error)
        return Answer(Status.COSIGNED, row.note, reason="latest", origin=row.origin)

    def _decide(self, submission: Submission) -> Answer:
        with self._store.transaction():
            row = self._store.find_log(origin_digest(submission.head.origin))
            if row is None:
                return _refusal(UNKNOWN_LOG, None)
            log = self._believe(row)
            verdict = decide_submission(submission, log)
            if isinstance(verdict, Cosign):
                return self._cosign(submission, verdict, row, log)
        if row.note is not None and verdict.equivocates:
            self._keep_evidence(row, row.note, submission.note)
        return _refusal(verdict, row.origin)

    def _cosign(self, submission: Submission, verdict: Cosign, row: LogRow, log: KnownLog) -> Answer:
        """Sign and store, inside the transaction in which it was decided."""
        at = decide_time(self._now(), log)
        if at is None:
            detail = "the witness's clock stands before its last cosignature of this log"
            return _said(Status.UNAVAILABLE, "clock-went-back", detail, row.origin)
        line = self._signer.cosign(submission.text, at)
        note = format_note(Note(submission.text, (*verdict.signatures, line)))
        self._store.advance(row, submission.head.size, note)
        self._vouched[row.origin] = (note, Latest(submission.head.size, submission.head.root, at))
        return Answer(Status.COSIGNED, f"{line.line()}\n".encode(), reason="cosigned", origin=row.origin)

    def _keep_evidence(self, row: LogRow, ours: bytes, theirs: bytes) -> None:
        # The refusal stands whether or not there is room for the proof.
        with suppress(StateError), self._store.transaction():
            self._store.add_evidence(Evidence(row.origin, ours, theirs, self._now()))

    def _believe(self, row: LogRow) -> KnownLog:
        """What a row says, if our own cosignature on its note vouches for it.

        Raises:
            StateCorruptError: it does not, or a stored key is none.
        """
        try:
            verifiers = tuple(Verifier.parse(vkey) for vkey in row.vkeys)
            latest = None if row.note is None else self._open_own(row.origin, row.note)
        except SidecarError as error:
            message = f"{self._store.path}: what is stored of {row.origin!r} does not verify"
            raise StateCorruptError(message, hint=_REPAIR) from error
        if row.size != (0 if latest is None else latest.size):
            message = f"{self._store.path}: tree size and checkpoint of {row.origin!r} differ"
            raise StateCorruptError(message, hint=_REPAIR)
        return KnownLog(row.origin, verifiers, latest)

    def _open_own(self, origin: str, note: bytes) -> Latest:
        """What a stored note states; bytes that were signed or verified here just before are not verified again."""
        known = self._vouched.get(origin)
        if known is None or known[0] != note:
            known = self._vouched[origin] = (note, _open_own(note, self.verifier))
        return known[1]

    def _now(self) -> int:
        return self._clock.now_ms() // 1000


_REPAIR = "the witness's memory is damaged: make a new witness, and give its key to the logs"


def know_log(store: WitnessStore, vkey: str, origin: str | None) -> LogRow:
    """Tell a witness of a log, or of another key of one. The origin is the key's name unless it is given.

    A log cannot be forgotten: whoever told of it again could have its past signed over.

    Raises:
        LogKeyError: no vkey of a log, no origin, too many keys, or two keys that look the same in a signature.
        StateError: the memory cannot be written.
    """
    try:
        verifier = Verifier.parse(vkey)
    except SidecarError as error:
        raise LogKeyError(f"{error.rule}") from error
    name = _checked_origin(verifier.name if origin is None else origin)
    with store.transaction():
        row = store.find_log(origin_digest(name))
        _check_fits(verifier, () if row is None else row.vkeys)
        store.add_log(name)
        store.put_key(name, str(verifier), retired=False)
    return _known(store, name)


def retire_key(store: WitnessStore, vkey: str, origin: str | None) -> LogRow:
    """Believe no further checkpoint by this key of a log; what was cosigned stays.

    Raises:
        LogKeyError: no such key is in force.
        StateError: the memory cannot be written.
    """
    name = _checked_origin(vkey.partition("+")[0] if origin is None else origin)
    with store.transaction():
        row = store.find_log(origin_digest(name))
        if row is None or vkey not in row.vkeys:
            message = "this key is not in force for this log"
            raise LogKeyError(message)
        store.put_key(name, vkey, retired=True)
    return _known(store, name)


def accept_clock(store: WitnessStore, signer: WitnessSigner, now: int) -> tuple[str, ...]:
    """Cosign anew, at ``now`` POSIX seconds, what was cosigned later than that; returns the origins.

    For the owner whose clock had run ahead: a witness refuses to sign before its last time by itself.

    Raises:
        SidecarError: what is stored does not verify.
        StateError: the memory cannot be written.
    """
    with store.transaction():
        ahead = [
            row for row in store.logs() if (found := read_latest(row, signer.verifier)) and found.at > now
        ]
        for row in ahead:
            note = row.note or b""
            store.advance(row, row.size, add_signatures(note, [signer.cosign(parse_note(note).text, now)]))
    return tuple(row.origin for row in ahead)


def read_latest(row: LogRow, verifier: WitnessVerifier) -> Latest | None:
    """What was cosigned last of a log, for showing it.

    Raises:
        SidecarError: what is stored does not verify.
    """
    return None if row.note is None else _open_own(row.note, verifier)


def _open_own(note: bytes, verifier: WitnessVerifier) -> Latest:
    found = open_cosignatures(note, [verifier])
    if not found:
        raise MalformedError("a stored checkpoint must bear our own cosignature")
    head = parse_head(parse_note(note).text)
    return Latest(head.size, head.root, found[0].at)


def _checked_origin(name: str) -> str:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = 0
    if not 0 < size <= ORIGIN_BYTES_MAX or any(character < " " for character in name):
        message = f"--origin: must be one line of 1 to {ORIGIN_BYTES_MAX} bytes"
        raise LogKeyError(message)
    return name


def _check_fits(verifier: Verifier, vkeys: Sequence[str]) -> None:
    others = [Verifier.parse(vkey) for vkey in vkeys if vkey != str(verifier)]
    if len(others) >= LOG_KEYS_MAX:
        message = f"a log must have at most {LOG_KEYS_MAX} keys in force"
        raise LogKeyError(message, hint="retire one with `timeline-witness retire-key`")
    if find_verifier(verifier.ref, others) is not None:
        message = f"another key of this log has the name and id {verifier.ref}"
        raise LogKeyError(message)


def _known(store: WitnessStore, origin: str) -> LogRow:
    row = store.find_log(origin_digest(origin))
    if row is None:
        message = f"{store.path}: what was written is not there"
        raise StateCorruptError(message)
    return row


def _refusal(verdict: Conflict | Refuse, origin: str | None) -> Answer:
    if isinstance(verdict, Conflict):
        return Answer(Status.CONFLICT, format_size(verdict.size), SIZE_TYPE, "other-size", origin)
    return _said(verdict.status, verdict.reason, verdict.detail, origin)


def _failed(error: StateError) -> Answer:
    """Nothing of the error's message goes out: it names our own paths."""
    if isinstance(error, StateCorruptError):
        return _said(Status.BROKEN, error.reason, "the witness's memory is damaged")
    if isinstance(error, StateBusyError):
        return _said(Status.UNAVAILABLE, error.reason, "the witness is busy")
    return _said(Status.UNAVAILABLE, error.reason, "the witness cannot use its memory")


def _said(status: Status, reason: str, detail: str, origin: str | None = None) -> Answer:
    return Answer(status, f"{detail}\n".encode(), TEXT_TYPE, reason, origin)
