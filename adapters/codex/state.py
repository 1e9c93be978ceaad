"""What a reader knows between two lines. The handlers of ``records`` change it; nothing else does."""

import msgspec

from adapters.base import Header, Tallies
from adapters.codex.ledger import Ledger
from adapters.codex.origin import Origin
from adapters.objective.reviewed import ReviewedCommands


class State(msgspec.Struct):
    """The header, the counts, the calls, and whether history is own or copied."""

    header: Header
    tallies: Tallies
    ledger: Ledger
    origin: Origin
    reviewed: ReviewedCommands = msgspec.field(default_factory=ReviewedCommands)
