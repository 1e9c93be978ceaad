"""The example of docs/spec/world-views.md, step by step."""

from tests.world.views.made import CONFIRMED, MEASURED, SUGGESTED, T0, entry, names, reader, recorded
from timeline.world.context import world_context

MINUTE = 60_000


def test_the_example_of_the_specification() -> None:
    """What the user's session and a group are told at 10:10, at 10:11 and at 11:00 sharp."""
    log = recorded(
        entry("a", "fail", kind=MEASURED, at=T0, privacy="shared"),
        entry("b", "pass", kind=MEASURED, at=T0 + 5 * MINUTE),
        entry("c", "pass", kind=SUGGESTED, at=T0 + 6 * MINUTE),
        entry(
            "d",
            "pass",
            kind=CONFIRMED,
            at=T0 + 11 * MINUTE,
            expires_at=T0 + 60 * MINUTE,
            supersedes=["a", "b"],
        ),
    )
    own, group = reader(), reader(private=False, group="team")

    before = world_context(log[:3], own, T0 + 10 * MINUTE)
    assert [names(one.assertions) for one in before.conflicts] == [["b", "a"]]
    assert (before.facts, names(before.proposals)) == ((), ["c"])
    assert [fact.value for fact in world_context(log[:3], group, T0 + 10 * MINUTE).facts] == ["fail"]

    after = world_context(log, own, T0 + 11 * MINUTE)
    assert [(fact.value, names(fact.assertions)) for fact in after.facts] == [("pass", ["d"])]
    assert world_context(log, group, T0 + 11 * MINUTE) == world_context((), group, T0)

    ended = world_context(log, own, T0 + 60 * MINUTE)
    assert (ended.facts, ended.conflicts, names(ended.stale)) == ((), (), ["d"])
