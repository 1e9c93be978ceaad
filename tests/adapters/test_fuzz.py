"""A short run of ``tests.fuzz`` for each adapter: any bytes give records, defects or an ``AdapterError``."""

import pytest

from adapters.registry import ADAPTERS
from tests.fuzz import fuzz, seeds_of


@pytest.mark.requirement("T72")
@pytest.mark.parametrize("host", sorted(ADAPTERS))
def test_damaged_and_made_up_files_are_read_or_refused(host: str) -> None:
    """Fixtures with edits of bytes, lines and values, and lines of known words: nothing else ever comes out."""
    tried, readable = fuzz(ADAPTERS[host], seeds_of(host), examples=150, seed=None)
    assert tried >= 150
    assert readable > tried // 10
