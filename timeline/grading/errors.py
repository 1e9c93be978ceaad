"""What stops claims from being graded. Reason codes are interface, as those of ``timeline.errors``."""

from timeline.errors import StateError, UsageError


class ClaimIdError(StateError):
    """One id stands for two claims; none of the two can be believed to be the one that was meant."""

    reason = "grading-claim-id-reused"
    default_hint = "run `timeline verify`; a claim's id names one claim for ever"


class RunIncompleteError(StateError):
    """A run of the credibility computation lacks a part, or its parts do not fit each other."""

    reason = "grading-run-incomplete"
    default_hint = "compute the credibilities again; what was computed before stays in the log"


class ClaimsFileError(UsageError):
    """A file of claims is not of its form; nothing was recorded."""

    reason = "claims-file-invalid"
    default_hint = "`docs/spec/claims-file.md` lists the fields and their bounds"


class WorkChangedError(UsageError):
    """The work is known under another class or author; one work has one of each for ever."""

    reason = "claims-work-changed"
    default_hint = "give the other edition an id of its own"


class GradingError(UsageError):
    """What the owner says about grades, or asks of them, is not of its form."""

    reason = "grading-invalid"


class ClaimUnknownError(UsageError):
    """There is no claim and no assertion of this id, no claim about this question, or no such run."""

    reason = "grading-unknown"
    default_hint = "`timeline world grades SUBJECT` lists the claims about a subject"


class GradingUnchangedError(UsageError):
    """What is to be recorded is recorded already."""

    reason = "grading-unchanged"
