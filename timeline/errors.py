"""The errors of the application: what went wrong, who must act, and what to do next.

Every class carries a stable ``reason``; it is interface, stands here and nowhere else, and is listed in
``docs/errors.md``. A message names file, offset, field and rule, never transcript text. Misuse by our own code
is ``RuntimeError``, not one of these.
"""

from typing import ClassVar


class TimelineError(Exception):
    """Base of every error a user can meet.

    ``reason`` is stable and kebab-case; ``hint`` says what to do and may be empty.
    """

    reason: ClassVar[str] = "timeline-error"
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the message and the advice apart, so that ``--json`` can show both."""
        super().__init__(message)
        self.message = message
        self.hint = self.default_hint if hint is None else hint


class UsageError(TimelineError):
    """The request itself is not one of those we take."""

    reason = "usage"


class ConfigError(TimelineError):
    """The owner's configuration cannot be used."""

    reason = "config-invalid"
    default_hint = "correct the named field in config.toml"


class ClockError(TimelineError):
    """The clock stands before something already recorded; times would contradict the log."""

    reason = "clock-went-back"
    default_hint = "set the system clock right; nothing was written"


# -- the state -------------------------------------------------------------------------------------------------


class StateError(TimelineError):
    """The stored state cannot be used as it is."""

    reason = "state-error"


class StateMissingError(StateError):
    """There is no state yet."""

    reason = "state-missing"
    default_hint = "run `timeline init` once"


class StateExistsError(StateError):
    """There is a state already; it is never overwritten."""

    reason = "state-exists"
    default_hint = "use the existing state, or point TIMELINE_STATE_DIR and TIMELINE_TRUST_DIR elsewhere"


class StateRemainsError(StateExistsError):
    """Only parts of a timeline are there, and not as an interrupted `timeline init` leaves them."""

    reason = "state-remains"
    default_hint = (
        "restore the missing files from a backup of the same moment; where nothing is to be kept, move the state and "
        "trust folders away and run `timeline init`"
    )


class InitInterruptedError(StateError):
    """`timeline init` was interrupted before it had recorded anything."""

    reason = "init-interrupted"
    default_hint = "run `timeline init` again: it keeps the keys and completes what was begun"


class StateBusyError(StateError):
    """Another process holds the writer lock, or changed the log each time it was read."""

    reason = "state-busy"
    default_hint = "wait for the other timeline command to end, then run this one again"


class StateCorruptError(StateError):
    """Stored bytes are not what was written."""

    reason = "state-corrupt"
    default_hint = (
        "run `timeline verify` to see which file; restore that file from a backup of the same moment"
    )


class StateIncompleteError(StateError):
    """A file that must be there is missing; a missing file is never a fresh start."""

    reason = "state-incomplete"
    default_hint = "restore the named file from a backup of the same moment"


class StateUnwritableError(StateError):
    """The state could not be written: read-only, full disk, or an input/output error."""

    reason = "state-unwritable"
    default_hint = "make room or make the folder writable, then run the command again; nothing was lost"


class UnsafeFileError(StateError):
    """A private file is linked, foreign, too open, too big, or not a plain file."""

    reason = "unsafe-file"
    default_hint = "private files must be regular, owned by you, mode 0600, with one link"


class UnsupportedStateError(StateError):
    """The state was written by a newer program."""

    reason = "state-version-unsupported"
    default_hint = "upgrade this program"


class KeyMismatchError(StateError):
    """A private key does not belong to the pinned public key."""

    reason = "key-mismatch"
    default_hint = "restore the key file of this state from a backup; a key is never replaced silently"


class LogKeyPresentError(UsageError):
    """The log key is said to be lost, and its private key is here."""

    reason = "log-key-present"
    default_hint = (
        "`timeline key rotate` replaces a key that is here; `timeline key revoke` one that "
        "somebody else may have"
    )


class LogRefusedError(StateError):
    """The log, its head and the local anchor do not agree (detection matrix)."""

    reason = "log-refused"
    default_hint = (
        "state, head and anchor must be of one moment; restore all three together or the newest of each"
    )


class IndexUnverifiedError(StateError):
    """The search index does not account for every event that the signed sidecars hold."""

    reason = "index-unverified"
    default_hint = "run `timeline verify --deep`; `timeline index` builds the index again from the sidecars"


# -- the transcript --------------------------------------------------------------------------------------------


_FOLLOWING_ENDS = (
    "a followed file may only grow; prompt once more in that session for a new receipt, then enroll again"
)


class SourceError(TimelineError):
    """A transcript cannot be used."""

    reason = "source-error"


class TranscriptPathError(SourceError):
    """The path is relative, not UTF-8, too long, or holds control characters."""

    reason = "transcript-path-unsupported"
    default_hint = "use an absolute path without control characters"


class TranscriptMissingError(SourceError):
    """There is no file at the path."""

    reason = "transcript-missing"
    default_hint = "the host may have deleted, moved or compressed it; captured results stay"


class TranscriptNotRegularError(SourceError):
    """A folder, pipe, socket or device stands at the path."""

    reason = "transcript-not-regular"
    default_hint = "a transcript is a regular file"


class TranscriptLinkedError(SourceError):
    """The file or a folder on the way is a link, or the file has a second name."""

    reason = "transcript-linked"
    default_hint = "use the host's own file, not a symbolic or hard link to it"


class TranscriptOwnerError(SourceError):
    """The file belongs to another user."""

    reason = "transcript-foreign-owner"
    default_hint = "only files of the user who runs timeline are read"


class TranscriptUnreadableError(SourceError):
    """The operating system refused to read the file."""

    reason = "transcript-unreadable"
    default_hint = "check the permissions and the disk"


class TranscriptOutsideError(SourceError):
    """The file does not lie below the host's own sessions folder."""

    reason = "transcript-outside-host-sessions"
    default_hint = "set the host's own variable if its home is not the default"


class TranscriptUnnamedError(SourceError):
    """The host's event names no transcript, and nothing else of the host does."""

    reason = "transcript-unnamed"
    default_hint = "prompt again once the host has listed the session in its session_index.jsonl"


class TranscriptSessionError(SourceError):
    """The file is not the transcript of the session that was named."""

    reason = "transcript-session-mismatch"
    default_hint = "the file name and its header must name the session"


class TranscriptChangedError(SourceError):
    """Size, times or bytes are not those of the enrolled snapshot (T13)."""

    reason = "transcript-snapshot-renewal-required"
    default_hint = "prompt once more in that session for a new receipt, then enroll again"


class TranscriptReplacedError(SourceError):
    """Another file stands at the path, or its beginning was rewritten."""

    reason = "transcript-replaced"
    default_hint = "enroll the new file with a new receipt"


class TranscriptTruncatedError(SourceError):
    """A followed file is shorter than what was committed of it."""

    reason = "transcript-truncated"
    default_hint = _FOLLOWING_ENDS


class TranscriptRewrittenError(SourceError):
    """Bytes of a followed file are not those that were committed."""

    reason = "transcript-rewritten"
    default_hint = _FOLLOWING_ENDS


class TranscriptTouchedError(SourceError):
    """A followed file has other times and has not grown: written or copied over, or renamed and back."""

    reason = "transcript-changed-without-growth"
    default_hint = (
        "nothing is answered until the host has written more and the earlier bytes were compared again; or prompt once "
        "more in that session for a new receipt, then enroll again"
    )


class TranscriptCompressedError(TranscriptMissingError):
    """There is no file at the path, and a compressed one beside it."""

    reason = "transcript-compressed"
    default_hint = "the host has compressed the session: compressed files are not read; captured results stay"


class FormatNotUnderstoodError(SourceError):
    """The file is of a known format but its content does not add up (self-check)."""

    reason = "format-not-understood"
    default_hint = "the host may write a newer grammar than this program knows; upgrade, or report the format"


class StrictFormatError(SourceError):
    """Something in the file was not understood, and the configuration wants such files refused."""

    reason = "format-not-strict"
    default_hint = (
        "`timeline inspect` shows what; accept a record type with `timeline formats accept`, or set "
        "strict_formats = false in config.toml"
    )


# -- consent ---------------------------------------------------------------------------------------------------


class AccessError(TimelineError):
    """Consent or scope does not cover the request."""

    reason = "access-denied"


class ReceiptUnavailableError(AccessError):
    """No such receipt: never issued, expired, or spent already."""

    reason = "host-transcript-receipt-unavailable"
    default_hint = "prompt once more in the session, then take the receipt with `timeline receipt`"


class ReceiptCapacityError(AccessError):
    """Too many receipts are pending."""

    reason = "host-receipt-capacity-exhausted"
    default_hint = "enroll or wait: a pending receipt ends after 15 minutes"


class ReceiptAmbiguousError(AccessError):
    """Several receipts are pending for this project."""

    reason = "host-receipt-ambiguous"
    default_hint = "run `timeline receipt --all` and name one with --receipt"


class ReceiptChangedError(AccessError):
    """The source is no longer the one that the receipt was issued for; the receipt is spent (T6)."""

    reason = "transcript-snapshot-changed"
    default_hint = "prompt once more in the session for a new receipt"


class HookInputError(AccessError):
    """The hook's input is not that of a reviewed host event."""

    reason = "host-receipt-event-not-supported"
    default_hint = "the hook must be called by the host with its UserPromptSubmit event"


class GroupScopeError(AccessError):
    """The input claims a group; groups cannot enroll (T8)."""

    reason = "raw-group-scope"
    default_hint = "timelines are private; remove the group from the session"


class ScopeError(AccessError):
    """A scope field is missing, partial, unknown or not of the allowed form."""

    reason = "missing-or-unknown-session-scope"
    default_hint = "set tenant, user and task for the project in config.toml"


class ConfirmationError(AccessError):
    """The owner's confirmation is missing."""

    reason = "confirmation-required"
    default_hint = "add --confirm-local-timeline; only the owner may say so"


class EnrollmentUnavailableError(AccessError):
    """Nothing is enrolled that covers the request."""

    reason = "private-enrollment-unavailable"
    default_hint = "run `timeline sources` to see what is enrolled for this project"


class EnrollmentExpiredError(AccessError):
    """The enrollment has ended."""

    reason = "private-enrollment-expired"
    default_hint = "enroll the session again with a new receipt"


class QueryError(UsageError):
    """A search is neither a time nor two known terms."""

    reason = "query-invalid"
    default_hint = "search with --at 2026-01-31T10:00:00Z, or with two terms such as `pytest failed`"


class EventNotFoundError(TimelineError):
    """No event that the request may use has this id."""

    reason = "event-not-found"
    default_hint = "`timeline search` gives ids; name the event's project with --root"


class ProofFileError(TimelineError):
    """A proof cannot be read from its file, or not be written to it."""

    reason = "proof-file-unusable"
    default_hint = (
        "to verify, name a file that you may read; to write, one that does not exist in a folder that does"
    )


class BackupFileError(TimelineError):
    """The file of a backup cannot be read or written, or there is one already."""

    reason = "backup-file-unusable"
    default_hint = "write a backup to a new name, and restore from a file that `timeline backup` has written"


class BackupInvalidError(TimelineError):
    """The file is not a whole and unchanged backup."""

    reason = "backup-invalid"
    default_hint = "use another copy of this backup, or another backup; nothing was put in place"


class BackupOlderError(StateError):
    """A newer state of this log is known, or another history: the backup is not the latest and cannot become it."""

    reason = "backup-is-older"
    default_hint = (
        "restore a newer backup; where there is none, `timeline restore FILE --as-fork` begins a declared fork with a "
        "new origin"
    )


class BackupUnverifiedError(StateError):
    """Nothing shows whether the backup is the newest state of its log."""

    reason = "backup-unverified"
    default_hint = (
        "give the carried anchor of this size with --against FILE, or make an external anchor reachable; where you "
        "know that nothing was committed after this backup, declare it with --unverified, which becomes a leaf"
    )


class BackupKeysError(KeyMismatchError):
    """The backup was made without private keys, and they are not in their place either."""

    reason = "backup-keys-missing"
    default_hint = "give the folder that holds owner.key, log.key and fingerprint.key with --keys FOLDER"


class TimestampUnavailableError(TimelineError):
    """Timestamps cannot be verified by this installation."""

    reason = "timestamps-unavailable"
    default_hint = "install the extra: pip install 'transcript-timeline[timestamps]'"


class TimestampRefusedError(TimelineError):
    """A timestamp is not one over these bytes by the given authority."""

    reason = "timestamp-refused"
    default_hint = "ask the authority for a timestamp over exactly this file, and give its own certificates"


class FormatNameError(UsageError):
    """Not a host, or not the name of a record type that could be accepted."""

    reason = "format-name-invalid"
    default_hint = "`timeline inspect` and `timeline formats list` give the names"


class FormatDecisionError(UsageError):
    """The decision would change nothing: the type is accepted already, or was not."""

    reason = "format-decision-unchanged"
    default_hint = "`timeline formats list` says what is accepted"


class LimitError(UsageError):
    """A number is outside its bounds."""

    reason = "limit-exceeded"
    default_hint = "keep to the bounds that the message names"


class DemoError(TimelineError):
    """A step of the demonstration did not do what it says."""

    reason = "demo-failed"
