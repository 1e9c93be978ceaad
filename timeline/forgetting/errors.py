"""What stops something from being forgotten, and what stops what was forgotten from coming back.

Reason codes are interface, as those of ``timeline.errors``. No message names a value, a path or a session that was
forgotten or excluded.
"""

from timeline.errors import AccessError, StateError, TimelineError, UsageError


class ForgetError(UsageError):
    """What was asked for cannot be forgotten so."""

    reason = "forget-invalid"


class NothingToForgetError(ForgetError):
    """Nothing in this timeline is what was named."""

    reason = "forget-nothing"
    default_hint = "`timeline sources` lists sources, `timeline world history SUBJECT` lists assertions"


class PlanUnknownError(ForgetError):
    """No plan of this digest is kept here, and none was carried out."""

    reason = "forget-plan-unknown"
    default_hint = "make it with `timeline forget plan`; `timeline forget status` lists those that are kept"


class PlanInvalidError(ForgetError):
    """A kept plan or its journal is not what was written."""

    reason = "forget-plan-invalid"
    default_hint = "make the plan anew with `timeline forget plan`"


class PlanMovedError(ForgetError):
    """What the plan is about is not what it was when the plan was made; nothing was changed."""

    reason = "forget-state-moved"
    default_hint = "make the plan anew with `timeline forget plan`, look at it, and apply that one"


class ForgetConfirmationError(ForgetError):
    """The owner has not said that the plan is to be carried out."""

    reason = "forget-not-confirmed"
    default_hint = "on a terminal the command asks; a script says --confirmed"


class ForgetUnfinishedError(TimelineError):
    """Something of a plan could not be forgotten; the report says what and why."""

    reason = "forget-unfinished"
    default_hint = (
        "remove what is in the way and run the same `timeline forget apply` again: it does what is left"
    )


class ValueGivenError(UsageError):
    """A value to search for is too short, too long, or not given."""

    reason = "forget-value-unfit"
    default_hint = "give a value of 8 to 65536 bytes by --value-file, or on standard input"


class ForgottenError(AccessError):
    """What is to be taken in was forgotten: it does not come back (M18)."""

    reason = "forgotten"
    default_hint = "the owner had it forgotten; `timeline forget status` lists what was carried out"


class ExcludedError(AccessError):
    """The owner has excluded this source, path or project: nothing of it is taken in (M11)."""

    reason = "excluded"
    default_hint = "`timeline exclude list` shows what is excluded; `timeline exclude remove` ends it"


class ExclusionUnchangedError(UsageError):
    """It is excluded already, or is not."""

    reason = "exclusion-unchanged"
    default_hint = "`timeline exclude list` shows what is in force"


class SuppressionKeyLostError(StateError):
    """The key of the list of what was forgotten is gone: nobody can tell what must not come back."""

    reason = "suppression-key-lost"
    default_hint = (
        "restore suppression.key from a backup that was made after the forgetting; where there is none, "
        "`timeline forget accept-lost-key` takes sources in again without that list"
    )


class SuppressionInvalidError(StateError):
    """The list of what was forgotten, or its key, is not what was written."""

    reason = "suppression-invalid"
    default_hint = "restore suppression and suppression.key of the trust folder from the newest backup"
