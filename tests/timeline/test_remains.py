"""What standing files mean, by the order in which ``init`` writes them."""

import itertools

import pytest

from timeline.remains import Remains, Stage, decide_stage

ORDER = ("sidecars", "keys", "begun", "anchor", "head", "database")


def remains(*names: str) -> Remains:
    """Give remains of which only these stand."""
    return Remains(**{name: name in names for name in Remains.__struct_fields__})


@pytest.mark.requirement("T67")
def test_every_set_of_files_is_an_interruption_a_whole_or_a_loss() -> None:
    """What ``init`` has written up to some point may be gone on with; with pins all must stand; the rest is a loss."""
    prefixes = {frozenset(ORDER[:count]) for count in range(len(ORDER) + 1)}
    # The folder of the sidecars holds nothing yet: where it is missing it is made.
    prefixes |= {prefix - {"sidecars"} for prefix in prefixes}
    names = Remains.__struct_fields__
    found = dict.fromkeys(Stage, 0)
    for count in range(len(names) + 1):
        for standing in itertools.combinations(names, count):
            stage = decide_stage(remains(*standing))
            found[stage] += 1
            if "pins" in standing:
                whole = set(ORDER) - {"begun"} <= set(standing)
                assert stage is (Stage.PINNED if whole else Stage.LOST), standing
            else:
                assert stage is (Stage.UNPINNED if set(standing) in prefixes else Stage.LOST), standing
    assert found == {Stage.UNPINNED: 12, Stage.PINNED: 2, Stage.LOST: 114}
