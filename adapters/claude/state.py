"""What a reader knows between two lines. The handlers of ``records`` change it; nothing else does."""

import msgspec

from adapters.base import Tallies
from adapters.claude.ledger import Ledger
from adapters.claude.origin import Origin
from adapters.objective.reviewed import ReviewedCommands


class State(msgspec.Struct):
    """The counts, the calls, whose history it is, and whether anything stood where prompts stand."""

    tallies: Tallies
    ledger: Ledger
    origin: Origin
    asked: bool = False
    reviewed: ReviewedCommands = msgspec.field(default_factory=ReviewedCommands)
