"""What stops an external anchor from being required, asked or believed; and what is lost or carried of an anchor.

Reason codes are interface, as those of ``timeline.errors``. What an anchor itself answers is no error: it is a value
(``port``), and ``rules`` decides which of these it becomes.
"""

from timeline.errors import StateError, StateIncompleteError, TimelineError, UsageError


class AnchorLostError(StateIncompleteError):
    """The local anchor is gone while the state stands: nothing here remembers the newest accepted size."""

    reason = "anchor-lost"
    default_hint = (
        "restore it from a backup of the same moment, or run `timeline anchor recover`, which asks "
        "the external anchors"
    )


class ExternalAheadError(StateError):
    """An external anchor has confirmed a larger tree of this log: this state is an older one that was put back."""

    reason = "external-anchor-ahead"
    default_hint = (
        "put the newest state back; where it is lost for good, `timeline restore --as-fork` begins "
        "a log of its own"
    )


class ExternalForkedError(StateError):
    """An external anchor has confirmed another history of this log than the one that stands here."""

    reason = "external-anchor-forked"
    default_hint = (
        "keep this state and the answer of the anchor as evidence: two histories were signed with your key"
    )


class AnchorDistrustedError(StateError):
    """Too many external anchors have forgotten what they had confirmed, or answer what they may not."""

    reason = "external-anchor-distrusted"
    default_hint = "`timeline anchor status` says which; replace it with `timeline anchor remove` and `add`"


class StaleError(StateError):
    """No quorum of the external anchors has confirmed the log recently, so it may be an older one."""

    reason = "stale-unverified"
    default_hint = "make the anchors reachable; `timeline anchor status` shows what each of them says"


class UnwitnessedError(StateError):
    """More leaves than the owner allows follow what the external anchors have confirmed."""

    reason = "unwitnessed"
    default_hint = "make the anchors reachable; `timeline anchor status` shows what each of them says"


class AnchorPinMissingError(StateIncompleteError):
    """The pin of the external anchors is gone from the configuration folder."""

    reason = "anchor-pin-missing"
    default_hint = "restore the file, or run `timeline anchor recover`, which asks the external anchors"


class AnchorPinError(StateError):
    """The pin of the external anchors is not one, or of another log."""

    reason = "anchor-pin-invalid"
    default_hint = "restore the file, or move it away and run `timeline anchor recover`"


class StateBehindPinError(StateError):
    """The configuration folder pins an anchor policy that this log does not hold: an older state was put back."""

    reason = "state-behind-anchor-pin"
    default_hint = "put the newest state and trust back; the pin is never moved backwards"


class AnchorNameError(UsageError):
    """No external anchor has this name, or another one has it already."""

    reason = "anchor-name-invalid"
    default_hint = "`timeline anchor status` lists the names; a name is 1 to 32 of a-z, 0-9 and -"


class AnchorAddressError(UsageError):
    """Not an address of an external anchor of this kind, or one that holds a password."""

    reason = "anchor-address-invalid"
    default_hint = (
        "`timeline anchor add --help` shows the forms; passwords belong into the system's own password file"
    )


class AnchorPolicyError(UsageError):
    """The policy of external anchors would be out of its bounds."""

    reason = "anchor-policy-invalid"
    default_hint = "`timeline anchor set --help` gives the bounds"


class AnchorRefusedError(StateError):
    """An external anchor did not confirm the log, so it cannot be required."""

    reason = "anchor-not-confirmed"
    default_hint = (
        "set the anchor up for this log first; for a witness: `timeline-witness add-log` with the log's key"
    )


class AnchorUnneededError(UsageError):
    """Nothing is lost, so there is nothing to recover."""

    reason = "anchor-recovery-unneeded"
    default_hint = "`timeline verify` says what is wrong, if anything is"


class AnchorUnprovenError(StateError):
    """Nothing shows that the state at hand is the newest one."""

    reason = "anchor-recovery-unproven"
    default_hint = (
        "give a carried anchor with --against FILE; or declare it with --unverified, which is recorded and which only "
        "the owner may do"
    )


class PostgresUnavailableError(TimelineError):
    """The extra for PostgreSQL is not installed."""

    reason = "postgres-unavailable"
    default_hint = "install the extra: pip install 'transcript-timeline[postgres]'"


class AnchorFileError(TimelineError):
    """A carried anchor cannot be read from its files, or not be written to them."""

    reason = "anchor-file-unusable"
    default_hint = (
        "to verify, name the text or its .minisig file; to export, a file that does not exist in a "
        "folder that does"
    )
