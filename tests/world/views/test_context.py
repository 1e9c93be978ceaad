from typing import Any

import pytest

from tests.world.views.made import (
    CONFIRMED,
    HERE,
    MEASURED,
    NOW,
    PROJECT,
    QUOTED,
    SESSION,
    SUGGESTED,
    T0,
    TASK,
    THERE,
    entry,
    names,
    reader,
    recorded,
)
from timeline.clock import parse_utc
from timeline.world.context import Context, Counts, format_context, world_context
from timeline.world.errors import WorldError


def seen(context: Context) -> dict[str, Any]:
    """The short names in each collection."""
    return {
        "facts": [names(fact.assertions) for fact in context.facts],
        "conflicts": [names(conflict.assertions) for conflict in context.conflicts],
        "proposals": names(context.proposals),
        "stale": names(context.stale),
    }


NOTHING = {"facts": [], "conflicts": [], "proposals": [], "stale": []}


@pytest.mark.requirement("W10", "W11", "W12", "W13", "W14")
def test_each_assertion_stands_in_its_own_collection() -> None:
    """Facts, conflicts, proposals and stale items are apart, and what was replaced is in none of them."""
    given = recorded(
        entry("fact", subject="build:1"),
        entry("left", "green", subject="build:2"),
        entry("right", "red", subject="build:2", kind=CONFIRMED),
        entry("idea", subject="build:3", kind=SUGGESTED),
        entry("quote", subject="build:3", kind=QUOTED, at=T0 + 1),
        entry("old", subject="build:4", expires_at=NOW),
        entry("gone", "red", subject="build:1", at=T0 - 1),
        entry("again", subject="build:1", at=T0 + 1, supersedes=["gone"]),
    )
    assert seen(world_context(given, reader(), NOW)) == {
        "facts": [["again", "fact"]],
        "conflicts": [["left", "right"]],
        "proposals": ["quote", "idea"],
        "stale": ["old"],
    }


@pytest.mark.requirement("W14", "W17")
@pytest.mark.parametrize("kind", [MEASURED, CONFIRMED, SUGGESTED, QUOTED])
@pytest.mark.parametrize(("after_ms", "is_stale"), [(-1, False), (0, True), (1, True)])
def test_an_assertion_is_stale_from_the_instant_of_its_expiry(
    kind: str, after_ms: int, is_stale: bool
) -> None:
    """A millisecond before it holds; at the very instant it does not, and it is never silently used."""
    given = recorded(entry("a", kind=kind, expires_at=NOW))
    context = world_context(given, reader(), NOW + after_ms)
    assert (names(context.stale) == ["a"]) == is_stale
    assert bool(context.facts or context.proposals) != is_stale


@pytest.mark.requirement("W14")
def test_what_was_replaced_is_history_and_not_stale() -> None:
    """An expired assertion that was replaced is not offered again as stale; the expired replacement is."""
    given = recorded(
        entry("a", expires_at=T0 + 5), entry("b", at=T0 + 1, expires_at=T0 + 5, supersedes=["a"])
    )
    assert seen(world_context(given, reader(), NOW)) == NOTHING | {"stale": ["b"]}


@pytest.mark.requirement("W3", "W4", "W13")
def test_a_suggestion_that_equals_a_fact_stays_a_proposal() -> None:
    """It is no support of the fact either, however often it is repeated."""
    given = recorded(
        entry("fact"),
        *(entry(f"idea{number}", kind=SUGGESTED, at=T0 + number) for number in range(1, 4)),
    )
    context = world_context(given, reader(), NOW)
    assert seen(context) == NOTHING | {"facts": [["fact"]], "proposals": ["idea3", "idea2", "idea1"]}
    assert context.facts[0].evidence_kinds == ("objective-measurement",)
    assert not context.requires_resolution


@pytest.mark.requirement("W3", "W13")
def test_suggestions_alone_are_no_fact_and_no_conflict() -> None:
    """Equal ones do not harden, and different ones dispute nothing."""
    given = recorded(
        entry("a", "green", kind=SUGGESTED),
        entry("b", "green", kind=SUGGESTED),
        entry("c", "red", kind=QUOTED),
    )
    assert seen(world_context(given, reader(), NOW)) == NOTHING | {"proposals": ["a", "b", "c"]}


@pytest.mark.requirement("W12", "W15", "W16")
@pytest.mark.parametrize("supporters", [1, 2, 9])
def test_no_majority_settles_a_conflict(supporters: int) -> None:
    """Nine against one is a conflict, and neither value is a fact."""
    given = recorded(
        *(entry(f"for{number}", "green", at=T0 + number) for number in range(supporters)),
        entry("against", "red", kind=CONFIRMED, at=T0 - 1),
        entry("else", "green", predicate="lint.outcome"),
    )
    context = world_context(given, reader(), NOW)
    assert [names(fact.assertions) for fact in context.facts] == [["else"]]
    (conflict,) = context.conflicts
    assert len(conflict.assertions) == supporters + 1
    assert (conflict.subject, conflict.predicate) == ("build:main", "test.outcome")
    assert context.requires_resolution
    assert format_context(context)["uncertainty"] == {
        "requiresResolution": True,
        "conflicts": 1,
        "proposals": 0,
        "stale": 0,
    }


@pytest.mark.requirement("W12", "W18", "H-i")
@pytest.mark.parametrize(
    ("supersedes", "value", "facts", "conflicts"),
    [
        (["a", "b", "c"], "d", [["d"]], []),
        (["a", "b"], "d", [], [["d", "c"]]),
        (["a", "b"], "c", [["d", "c"]], []),
        (["a"], "d", [], [["d", "b", "c"]]),
        (["a"], "c", [], [["d", "b", "c"]]),
        ([], "a", [], [["d", "a", "b", "c"]]),
    ],
)
def test_only_superseding_every_rival_settles_a_conflict(
    supersedes: list[str], value: str, facts: list[list[str]], conflicts: list[list[str]]
) -> None:
    """Of a conflict between three, a partial resolution leaves what differs in conflict."""
    given = recorded(
        entry("a", "a"),
        entry("b", "b", kind=CONFIRMED),
        entry("c", "c"),
        entry("d", value, at=T0 + 1, kind=CONFIRMED, supersedes=supersedes),
    )
    assert world_context(given[:3], reader(), NOW).requires_resolution
    assert seen(world_context(given, reader(), NOW)) == NOTHING | {"facts": facts, "conflicts": conflicts}


@pytest.mark.requirement("H-g")
@pytest.mark.parametrize(
    ("left", "right", "is_one"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (1e2, 100, True),
        (0.1, 0.10000000000000001, True),
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1.0}, True),
        ("caf\u00e9", "cafe\u0301", False),
        ("A", "a", False),
        (1, "1", False),
        (1, True, False),
        (0, None, False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        ({"a": None}, {}, False),
    ],
)
def test_values_are_compared_as_values(left: Any, right: Any, is_one: bool) -> None:
    """Spelling of numbers and order of keys are nothing; Unicode is taken as it was given."""
    given = recorded(entry("a", left), entry("b", right))
    context = world_context(given, reader(), NOW)
    assert bool(context.facts) == is_one
    assert bool(context.conflicts) != is_one


@pytest.mark.requirement("W11")
def test_a_fact_names_all_that_support_it() -> None:
    """Ids newest first, kinds and recorders once each, and the last of their ends."""
    given = recorded(
        entry("b", expires_at=NOW + 5),
        entry("c", at=T0 + 7, kind=CONFIRMED, expires_at=NOW + 9),
        entry("a"),
    )
    (fact,) = format_context(world_context(given, reader(), NOW))["facts"]
    assert fact == {
        "subjectId": "build:main",
        "predicate": "test.outcome",
        "value": "green",
        "assertionIds": ["assertion:c", "assertion:a", "assertion:b"],
        "evidenceKinds": ["explicit-user-feedback", "objective-measurement"],
        "recorders": ["capture", "owner"],
        "latestObservedAt": "2026-09-21T14:13:20.007Z",
        "expiresAt": None,
        "projectId": PROJECT,
        "groupId": None,
        "privacy": "private",
        "authority": "context-only",
    }
    both = world_context((given[0], given[1]), reader(), NOW)
    assert both.facts[0].expires_at == NOW + 9


@pytest.mark.requirement("W27", "W61")
def test_a_context_at_the_border_says_what_it_is() -> None:
    """Its schema, no revision and no root; every record and the whole are context only; every time has its zone."""
    given = recorded(
        entry("fact", subject="build:1"),
        entry("left", "green", subject="build:2"),
        entry("right", "red", subject="build:2"),
        entry("idea", kind=SUGGESTED),
        entry("old", subject="build:4", expires_at=NOW),
    )
    answer = format_context(world_context(given, reader(), NOW))
    assert " ".join(answer) == "schema facts conflicts proposals stale omitted uncertainty authority note"
    assert answer["schema"] == "agentspine.world-context/v1"
    records = [answer, *answer["facts"], *answer["conflicts"], *answer["proposals"], *answer["stale"]]
    records += answer["conflicts"][0]["assertions"]
    assert [record["authority"] for record in records] == ["context-only"] * 7
    assert parse_utc(answer["stale"][0]["expiresAt"]) == NOW
    assert [one["status"] for one in (*answer["stale"], *answer["proposals"])] == ["established", "proposed"]
    assert "knowledgeKind" not in answer["stale"][0]


@pytest.mark.requirement("W27")
def test_what_was_imported_is_marked() -> None:
    """A fact only where nothing of ours supports it."""
    given = recorded(
        entry("legacy", subject="build:1", recorder="import"),
        entry("left", "green", subject="build:2", recorder="import", kind=CONFIRMED),
        entry("right", "red", subject="build:2"),
        entry("measured", subject="build:3", recorder="import"),
        entry("captured", subject="build:3"),
        entry("confirmed", subject="build:4", recorder="import"),
        entry("ours", subject="build:4", kind=CONFIRMED),
    )
    answer = format_context(world_context(given, reader(), NOW))
    assert [(fact["recorders"], fact.get("legacy")) for fact in answer["facts"]] == [
        (["capture", "import"], None),
        (["import", "owner"], None),
        (["import"], True),
    ]
    assert [one.get("legacy") for one in answer["conflicts"][0]["assertions"]] == [True, None]


@pytest.mark.requirement("W56", "W61")
def test_an_assertion_at_the_border_has_all_its_fields() -> None:
    """Opaque references only where it has them; what it supersedes is not told."""
    given = recorded(
        entry(
            "idea",
            kind=SUGGESTED,
            knowledge="fact",
            subject=TASK,
            route=HERE,
            session=SESSION,
            message="message:m1",
            reason="why not",
        )
    )
    answer = format_context(world_context(given, reader(route=HERE, task=TASK), NOW))
    assert answer["proposals"] == [
        {
            "schema": "agentspine.world-assertion/v1",
            "id": "assertion:idea",
            "subjectId": TASK,
            "predicate": "test.outcome",
            "value": "green",
            "valueDigest": given[0].value_digest,
            "evidenceKind": "model-suggestion",
            "evidenceId": "evidence:idea",
            "evidenceDigest": given[0].entry.evidence_digest,
            "observedAt": "2026-09-21T14:13:20.000Z",
            "expiresAt": None,
            "recordedAt": "2026-09-21T14:13:21.000Z",
            "status": "proposed",
            "recorder": "model",
            "reason": "why not",
            "projectId": PROJECT,
            "groupId": None,
            "privacy": "private",
            "portalRef": HERE.portal,
            "threadRef": HERE.thread,
            "knowledgeKind": "fact",
            "sessionRef": SESSION,
            "messageRef": "message:m1",
            "authority": "context-only",
        }
    ]


@pytest.mark.requirement("W10")
def test_the_typed_view_stands_beside_the_collections() -> None:
    """It is given formatted, and taken as it is."""
    answer = format_context(world_context((), reader(), NOW), knowledge={"schema": "x"})
    assert answer["knowledge"] == {"schema": "x"}
    assert "knowledge" not in format_context(world_context((), reader(), NOW))


def test_each_collection_is_newest_first_and_then_by_id() -> None:
    """Whatever the order of the log."""
    spread = [("c", 1), ("a", 2), ("b", 2), ("d", 3)]
    facts = [entry(f"f{name}", subject=f"build:f{name}", at=T0 + at) for name, at in spread]
    rivals = [
        entry(f"r{name}{value}", value, subject=f"build:r{name}", at=T0 + at)
        for name, at in spread
        for value in ("green", "red")
    ]
    ideas = [entry(f"i{name}", kind=SUGGESTED, at=T0 + at) for name, at in spread]
    ends = [entry(f"s{name}", at=T0 + at, expires_at=T0 + 9) for name, at in spread]
    context = world_context(recorded(*facts, *rivals, *ideas, *ends), reader(), NOW)
    assert seen(context) == {
        "facts": [["fd"], ["fa"], ["fb"], ["fc"]],
        "conflicts": [[f"r{name}green", f"r{name}red"] for name in "dabc"],
        "proposals": ["id", "ia", "ib", "ic"],
        "stale": ["sd", "sa", "sb", "sc"],
    }


def test_a_bound_cuts_each_collection_and_says_so() -> None:
    """The newest stay; what is left out is counted, and the whole uncertainty is told all the same."""
    facts = [entry(f"f{number}", subject=f"build:{number}", at=T0 + number) for number in range(5)]
    rivals = [entry(f"r{n}{value}", value, subject=f"rival:{n}") for n in range(4) for value in ("a", "b")]
    ideas = [entry(f"i{number}", kind=SUGGESTED) for number in range(3)]
    ends = [entry(f"s{number}", expires_at=T0 + 1) for number in range(6)]
    given = recorded(*facts, *rivals, *ideas, *ends)
    context = world_context(given, reader(), NOW, max_items=2, unread=7)
    assert seen(context) == {
        "facts": [["f4"], ["f3"]],
        "conflicts": [["r0a", "r0b"], ["r1a", "r1b"]],
        "proposals": ["i0", "i1"],
        "stale": ["s0", "s1"],
    }
    assert context.found == Counts(5, 4, 3, 6)
    answer = format_context(context)
    assert answer["omitted"] == {"facts": 3, "conflicts": 2, "proposals": 1, "stale": 4, "unread": 7}
    assert answer["uncertainty"] == {"requiresResolution": True, "conflicts": 4, "proposals": 3, "stale": 6}


@pytest.mark.parametrize(
    ("max_items", "is_taken"), [(0, False), (1, True), (500, True), (501, False), (-1, False)]
)
def test_a_bound_is_1_to_500(max_items: int, is_taken: bool) -> None:
    """Any other is refused, by name of the field."""
    if is_taken:
        assert world_context((), reader(), NOW, max_items=max_items).facts == ()
        return
    with pytest.raises(WorldError, match=r"^field maxItems: must be 1 to 500$"):
        world_context((), reader(), NOW, max_items=max_items)


def test_the_default_bound_is_100() -> None:
    """As in the reference's interface."""
    given = recorded(*(entry(f"i{number}", kind=SUGGESTED) for number in range(101)))
    context = world_context(given, reader(), NOW)
    assert (len(context.proposals), context.omitted.proposals) == (100, 1)


def test_one_subject_may_be_asked_for() -> None:
    """The rest leaves no trace in the answer."""
    given = recorded(
        entry("a", subject="build:1"),
        entry("b", subject="build:2"),
        entry("c", "red", subject="build:2"),
        entry("d", subject="build:2", kind=SUGGESTED),
    )
    assert seen(world_context(given, reader(), NOW, subject="build:1")) == NOTHING | {"facts": [["a"]]}
    assert seen(world_context(given, reader(), NOW, subject="build:3")) == NOTHING


@pytest.mark.requirement("W50", "W52", "W54")
def test_the_owner_sees_each_conversation_by_itself() -> None:
    """Two threads of one task do not dispute each other; what is bound to none is compared with both."""
    same = {"subject": TASK, "predicate": "task.next"}
    bound = {**same, "knowledge": "task-state"}
    given = recorded(
        entry("here", "x", **bound, route=HERE),
        entry("there", "y", **bound, route=THERE),
        entry("unbound", "z", **bound),
        entry("plain", "x", **same),
    )
    owner = reader(is_owner=True)
    assert seen(world_context(given, owner, NOW)) == NOTHING | {
        "facts": [["here", "plain"]],
        "conflicts": [["plain", "there"], ["plain", "unbound"]],
    }
    assert seen(world_context(given[:2], owner, NOW))["facts"] == [["here"], ["there"]]
    without_typed = (given[0], given[3])
    assert seen(world_context(without_typed, owner, NOW))["facts"] == [["here", "plain"]]
    assert seen(world_context(given[3:], owner, NOW))["facts"] == [["plain"]]
    assert seen(world_context(given[2:3], owner, NOW))["facts"] == [["unbound"]]
    session = reader(route=HERE, task=TASK)
    (fact,) = format_context(world_context(given, session, NOW))["facts"]
    assert fact["assertionIds"] == ["assertion:here", "assertion:plain"]
    assert (fact["portalRef"], fact["threadRef"]) == (HERE.portal, HERE.thread)
    newer = recorded(given[0].entry, entry("plain", "x", at=T0 + 1, **same))
    (fact,) = format_context(world_context(newer, session, NOW))["facts"]
    assert fact["assertionIds"] == ["assertion:plain", "assertion:here"]
    assert (fact["portalRef"], fact["threadRef"]) == (HERE.portal, HERE.thread)


def test_an_unbound_value_and_a_bound_one_of_the_same_task_dispute_each_other_for_its_session() -> None:
    """Which is what the owner is shown, too."""
    same = {"subject": TASK, "predicate": "task.next"}
    given = recorded(
        entry("here", "x", **same, knowledge="task-state", route=HERE), entry("plain", "y", **same)
    )
    for who in (reader(route=HERE, task=TASK), reader(is_owner=True)):
        assert seen(world_context(given, who, NOW)) == NOTHING | {"conflicts": [["here", "plain"]]}
