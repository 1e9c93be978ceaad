"""Why leaves of the log are not erased. Reason codes are interface, as those of ``timeline.errors``."""

from timeline.errors import UsageError


class ErasureRefusedError(UsageError):
    """What is to be erased cannot go alone, or not at all; nothing was written."""

    reason = "erasure-refused"
    default_hint = "make the plan anew with `timeline forget plan`: it names all that has to go together"
