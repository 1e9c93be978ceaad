"""How much of a loop over fault points the suite runs.

Each point of a loop is met in every run, in one of the ways in which it can fail, taken in turn; with
``TEST_DEPTH=every`` each point is met in each way, as before a release.
"""

import os
from collections.abc import Sequence

EVERY = os.environ.get("TEST_DEPTH") == "every"


def is_due(point: int, way: object, ways: Sequence[object]) -> bool:
    """Whether a point is met in this way in this run."""
    return EVERY or point % len(ways) == ways.index(way)
