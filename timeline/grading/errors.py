"""What stops claims from being graded. Reason codes are interface, as those of ``timeline.errors``."""

from timeline.errors import StateError


class ClaimIdError(StateError):
    """One id stands for two claims; none of the two can be believed to be the one that was meant."""

    reason = "grading-claim-id-reused"
    default_hint = "run `timeline verify`; a claim's id names one claim for ever"


class RunIncompleteError(StateError):
    """A run of the credibility computation lacks a part, or its parts do not fit each other."""

    reason = "grading-run-incomplete"
    default_hint = "compute the credibilities again; what was computed before stays in the log"
