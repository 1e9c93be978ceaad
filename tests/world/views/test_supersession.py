from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.errors import MalformedError
from tests.world.views.made import (
    CONFIRMED,
    HERE,
    NOW,
    OTHER_PROJECT,
    QUOTED,
    SUGGESTED,
    T0,
    THERE,
    entry,
    names,
    reader,
    recorded,
)
from timeline.world.errors import WorldStateError
from timeline.world.knowledge import structured_knowledge
from timeline.world.supersession import broken_rule, replaced, replacements

IMPORT_RULE = "what is imported replaces nothing but what was imported"
OLDER_RULE = "a superseded assertion must be older"
SAME_RULE = "a superseded assertion must have the same tenant, project, subject, predicate, portal and thread"


@pytest.mark.requirement("W8", "W54", "H-c")
@pytest.mark.parametrize(
    ("older", "newer", "rule"),
    [
        ({}, {}, None),
        ({}, {"at": T0 + 1, "kind": CONFIRMED}, None),
        ({"kind": SUGGESTED}, {}, None),
        ({"kind": QUOTED}, {"kind": CONFIRMED}, None),
        ({"privacy": "shared"}, {"privacy": "private"}, None),
        ({"privacy": "private"}, {"privacy": "group", "group": "team"}, None),
        ({"user": "ada"}, {"user": "bob"}, None),
        ({"route": HERE}, {"route": HERE}, None),
        ({"at": T0 + 1}, {}, OLDER_RULE),
        ({"tenant": "work"}, {}, SAME_RULE),
        ({"project": None}, {}, SAME_RULE),
        ({"project": OTHER_PROJECT}, {}, SAME_RULE),
        ({"subject": "build:other"}, {}, SAME_RULE),
        ({"predicate": "test.count"}, {}, SAME_RULE),
        ({"route": HERE}, {}, SAME_RULE),
        ({}, {"route": HERE}, SAME_RULE),
        ({"route": HERE}, {"route": THERE}, SAME_RULE),
        ({"recorder": "import"}, {}, None),
        ({"recorder": "import"}, {"recorder": "import"}, None),
        ({}, {"recorder": "import"}, IMPORT_RULE),
    ],
)
def test_an_older_assertion_of_the_same_bucket_may_be_replaced(
    older: dict[str, Any], newer: dict[str, Any], rule: str | None
) -> None:
    """Whoever asks is told the broken rule; the same assertions stored so are refused."""
    both = recorded(entry("a", **older), entry("b", supersedes=["a"], **newer))
    assert broken_rule(both[1], both[0]) == rule
    if rule is None:
        assert replaced(both) == {"assertion:a": "assertion:b"}
    else:
        with pytest.raises(WorldStateError, match="^leaf 1: field supersedes: " + rule):
            replaced(both)


@pytest.mark.requirement("W8")
def test_at_one_instant_the_order_of_the_log_decides() -> None:
    """Of two observed at the same millisecond, that which was recorded first is the older."""
    first, second = recorded(entry("a"), entry("b"))
    assert broken_rule(second, first) is None
    assert broken_rule(first, second) == OLDER_RULE
    assert broken_rule(first, first) == OLDER_RULE


@pytest.mark.requirement("W3")
@pytest.mark.parametrize("kind", [SUGGESTED, QUOTED])
def test_only_an_established_assertion_replaces(kind: str) -> None:
    """A suggestion or a quoted message cannot be made so, and one that is stored so is refused."""
    with pytest.raises(MalformedError, match="only an established assertion may supersede"):
        entry("b", kind=kind, supersedes=["a"])
    forged = msgspec.structs.replace(entry("b", kind=kind), supersedes=("assertion:a",))
    older, newer = recorded(entry("a"), forged)
    assert broken_rule(newer, older) == "only an established assertion may supersede"
    with pytest.raises(WorldStateError, match="leaf 1: field supersedes: only an established"):
        replaced((older, newer))


@pytest.mark.requirement("W7", "W65")
def test_one_id_is_one_assertion() -> None:
    """A second assertion under an id is refused, even an equal one; the same one given twice is one."""
    one, two = recorded(entry("a"), entry("a"))
    with pytest.raises(WorldStateError, match=r"^leaf 1: field id"):
        replaced((one, two))
    assert replaced((one, one)) == {}


@pytest.mark.requirement("W9")
def test_what_was_replaced_stays_replaced() -> None:
    """A chain, a fork and an unknown predecessor; the newest that replaces comes first."""
    chain = recorded(
        entry("a"),
        entry("b", at=T0 + 1, supersedes=["a"]),
        entry("c", at=T0 + 2, supersedes=["b", "unknown"]),
        entry("d", at=T0 + 3, supersedes=["a"]),
    )
    assert replaced(chain) == {"assertion:a": "assertion:d", "assertion:b": "assertion:c"}
    assert {id_: names(newer) for id_, newer in replacements(chain).items()} == {
        "assertion:a": ["d", "b"],
        "assertion:b": ["c"],
    }
    assert replaced(reversed(chain)) == replaced(chain)


@pytest.mark.requirement("W9")
def test_an_id_that_is_not_there_hides_no_other() -> None:
    """Of what an assertion replaces, one may be of another reading; the rest is replaced all the same."""
    old, new = recorded(entry("b"), entry("c", at=T0 + 1, supersedes=["a", "b"]))
    assert replaced((old, new)) == {old.id: new.id}


@pytest.mark.requirement("W5", "W9")
def test_deciding_changes_nothing() -> None:
    """Assertions are values: what was given is the same afterwards, and cannot be changed."""
    given = recorded(entry("a", {"k": [1, 2]}), entry("b", at=T0 + 1, supersedes=["a"]))
    before = msgspec.json.encode(given)
    structured_knowledge(given, reader(), NOW, include_history=True)
    assert msgspec.json.encode(given) == before
    with pytest.raises(AttributeError, match="immutable"):
        given[0].entry.value = "2"  # type: ignore[misc]  # the attempt is the test


@pytest.mark.requirement("W1")
@pytest.mark.parametrize("kind", ["fact", "", "Objective-Measurement", None, ["objective-measurement"], 1])
def test_an_evidence_kind_is_one_of_the_closed_list(kind: Any) -> None:
    """Anything else is no assertion."""
    fields = msgspec.to_builtins(entry("a")) | {"evidence_kind": kind}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, AssertionEntry)


REQUIRED = [
    "id",
    "subject",
    "predicate",
    "value",
    "evidence_kind",
    "evidence_id",
    "evidence_digest",
    "observed_at",
    "privacy",
    "tenant",
    "user",
    "recorder",
]


@pytest.mark.requirement("W2")
@pytest.mark.parametrize("kind", ["objective-measurement", "explicit-user-feedback", "model-suggestion"])
@pytest.mark.parametrize("field", REQUIRED)
def test_each_required_field_is_required_of_every_kind(kind: str, field: str) -> None:
    """Without it there is no assertion, whatever the evidence."""
    fields = msgspec.to_builtins(entry("a", kind=kind))
    assert msgspec.convert(fields, AssertionEntry) == entry("a", kind=kind)
    del fields[field]
    with pytest.raises(msgspec.ValidationError, match=f"missing required field `{field}`"):
        msgspec.convert(fields, AssertionEntry)
