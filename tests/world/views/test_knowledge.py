from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.errors import MalformedError
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
    entry,
    names,
    reader,
    recorded,
)
from timeline.world.assertion import Evidence, Scope, make_entry
from timeline.world.context import format_context, world_context
from timeline.world.errors import AssertionInvalidError, WorldError
from timeline.world.kinds import check_knowledge
from timeline.world.knowledge import Knowledge, format_knowledge, structured_knowledge

DIGEST = Digest.of(b"evidence")
KINDS = ["fact", "user-preference", "decision", "task-state", "error-lesson"]


def statuses(knowledge: Knowledge) -> dict[str, tuple[str, str]]:
    """Status and reason of all that is shown, by short name."""
    return {
        item.assertion.id.removeprefix("assertion:"): (item.status, item.reason)
        for item in (*knowledge.current, *knowledge.history)
    }


@pytest.mark.requirement("W20", "W23")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("evidence", [MEASURED, CONFIRMED, SUGGESTED, QUOTED])
@pytest.mark.parametrize("reason", [None, " \t", "since it is simpler"])
def test_a_kind_asks_for_its_evidence_and_its_reason(kind: str, evidence: str, reason: str | None) -> None:
    """Preferences and decisions are the user's to settle or stay suggestions, and a decision says why."""
    bare = msgspec.structs.replace(entry("a", kind=evidence), knowledge=kind, reason=reason)
    is_the_users = kind in {"user-preference", "decision"}
    rests = not is_the_users or evidence in {CONFIRMED, SUGGESTED}
    is_reasoned = kind != "decision" or reason == "since it is simpler"
    if rests and is_reasoned:
        check_knowledge(bare)
        return
    with pytest.raises(AssertionInvalidError, match=r"field (knowledgeKind|reason): "):
        check_knowledge(bare)


@pytest.mark.requirement("W23")
@pytest.mark.parametrize(
    ("knowledge", "evidence", "reason", "field"),
    [
        ("decision", CONFIRMED, None, "reason"),
        ("decision", CONFIRMED, "", "reason"),
        ("decision", CONFIRMED, "x" * 501, "reason"),
        ("decision", MEASURED, "why", "knowledgeKind"),
        ("user-preference", MEASURED, None, "knowledgeKind"),
    ],
)
def test_the_rules_hold_where_an_assertion_is_made(
    knowledge: Any, evidence: Any, reason: str | None, field: str
) -> None:
    """A decision without a bounded rationale, or a preference that was measured, is not recorded."""
    given: dict[str, Any] = {
        "id": "assertion:a",
        "recorder": "capture" if evidence == MEASURED else "owner",
        "subject": "project:main",
        "predicate": "storage.choice",
        "value": "sqlite",
        "evidence": Evidence(evidence, "evidence:a", DIGEST, T0),
        "scope": Scope("home", "ada", PROJECT),
    }
    with pytest.raises(AssertionInvalidError, match=f"field {field}"):
        make_entry(**given, knowledge=knowledge, reason=reason)
    assert make_entry(**given, knowledge="fact", reason="x" * 500).knowledge == "fact"


@pytest.mark.requirement("W20")
@pytest.mark.parametrize("kind", ["", "Fact", "opinion", "task", 1])
def test_there_are_five_kinds(kind: Any) -> None:
    """Any other is no kind, and none at all is fine."""
    fields = msgspec.to_builtins(entry("a"))
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields | {"knowledge": kind}, AssertionEntry)
    assert msgspec.convert(fields, AssertionEntry).knowledge is None


@pytest.mark.requirement("W24")
def test_each_item_has_one_status_and_its_reason() -> None:
    """Confirmed, assumption, contradictory or superseded, and why."""
    given = recorded(
        entry("sure", subject="build:1", knowledge="fact"),
        entry("idea", subject="build:1", knowledge="fact", kind=SUGGESTED, at=T0 + 1),
        entry("quote", subject="build:1", knowledge="fact", kind=QUOTED, at=T0 + 2),
        entry("left", "green", subject="build:2", knowledge="fact"),
        entry("right", "red", subject="build:2", knowledge="fact", kind=CONFIRMED),
        entry("old", subject="build:3", knowledge="error-lesson", expires_at=NOW),
        entry("gone", subject="build:4", knowledge="task-state", expires_at=NOW),
        entry("new", "red", subject="build:4", knowledge="task-state", at=T0 + 9, supersedes=["gone"]),
        entry("idle", subject="build:5", knowledge="fact", kind=SUGGESTED, expires_at=NOW),
    )
    knowledge = structured_knowledge(given, reader(), NOW, include_history=True)
    assert statuses(knowledge) == {
        "sure": ("confirmed", "established-evidence"),
        "idea": ("assumption", "model-suggestion"),
        "quote": ("assumption", "uninterpreted-user-message"),
        "left": ("contradictory", "active-conflict"),
        "right": ("contradictory", "active-conflict"),
        "old": ("superseded", "expired"),
        "gone": ("superseded", "replaced"),
        "new": ("confirmed", "established-evidence"),
        "idle": ("superseded", "expired"),
    }
    assert format_knowledge(knowledge)["counts"] == {
        "confirmed": 2,
        "assumption": 2,
        "contradictory": 2,
        "superseded": 3,
    }
    assert names(item.assertion for item in knowledge.current) == [
        "new",
        "quote",
        "idea",
        "left",
        "right",
        "sure",
    ]
    assert names(item.assertion for item in knowledge.history) == ["gone", "idle", "old"]


@pytest.mark.requirement("W24")
def test_repeating_a_suggestion_confirms_nothing() -> None:
    """Twenty equal ones are twenty assumptions, beside an equal fact too."""
    given = recorded(
        *(entry(f"idea{number:02}", knowledge="fact", kind=SUGGESTED) for number in range(20)),
        entry("fact", knowledge="fact"),
    )
    found = statuses(structured_knowledge(given, reader(), NOW))
    assert found.pop("fact") == ("confirmed", "established-evidence")
    assert set(found.values()) == {("assumption", "model-suggestion")}


@pytest.mark.requirement("W25")
def test_what_is_contradictory_is_no_fact() -> None:
    """A rival without a kind disputes a typed item all the same."""
    given = recorded(entry("typed", "green", knowledge="fact"), entry("plain", "red"))
    assert statuses(structured_knowledge(given, reader(), NOW)) == {
        "typed": ("contradictory", "active-conflict")
    }
    assert world_context(given, reader(), NOW).facts == ()


@pytest.mark.requirement("W9", "W26", "W28")
def test_history_is_shown_only_when_it_is_asked_for() -> None:
    """Current view and counts are the same; what is not shown is counted as omitted."""
    given = recorded(
        entry("a", "1", knowledge="fact"),
        entry("b", "2", knowledge="fact", at=T0 + 1),
        entry("c", "3", knowledge="fact", at=T0 + 2, supersedes=["a", "b"]),
        entry("d", "4", knowledge="fact", at=T0 + 3, kind=CONFIRMED, supersedes=["c"]),
    )
    without = structured_knowledge(given, reader(), NOW)
    asked = structured_knowledge(given, reader(), NOW, include_history=True)
    assert names(item.assertion for item in without.current) == ["d"]
    assert (without.current, without.counts) == (asked.current, asked.counts)
    assert without.history == ()
    assert format_knowledge(without)["omitted"] == {"current": 0, "history": 3}
    assert format_knowledge(asked)["omitted"] == {"current": 0, "history": 0}
    assert {item.assertion.id[-1]: (item.replaced_by, item.supersedes) for item in asked.history} == {
        "a": (("assertion:c",), ()),
        "b": (("assertion:c",), ()),
        "c": (("assertion:d",), ("assertion:a", "assertion:b")),
    }
    (current,) = format_knowledge(asked)["current"]
    assert (current["supersedes"], current["replacedBy"]) == (["assertion:c"], [])


@pytest.mark.requirement("X12", "H-b", "W26")
def test_history_names_no_hidden_assertion() -> None:
    """What a hidden correction has replaced is history, by nobody; what a visible one has replaced is not named."""
    given = recorded(
        entry("seen", "1", privacy="shared", knowledge="fact"),
        entry("mine", "2", at=T0 + 1, knowledge="fact", supersedes=["seen"]),
        entry("next", "3", at=T0 + 2, privacy="shared", knowledge="fact", supersedes=["mine", "seen"]),
        entry("last", "4", at=T0 + 3, knowledge="fact", supersedes=["seen"]),
    )
    group = reader(private=False, group="team")
    text = msgspec.json.encode(
        format_knowledge(structured_knowledge(given, group, NOW, include_history=True))
    ).decode()
    assert "mine" not in text
    assert "last" not in text
    found = structured_knowledge(given, group, NOW, include_history=True)
    assert [(item.assertion.id[-4:], item.replaced_by) for item in found.history] == [
        ("seen", ("assertion:next",))
    ]
    assert found.current[0].supersedes == ("assertion:seen",)
    unnamed = structured_knowledge(given[:2], group, NOW, include_history=True)
    assert [item.replaced_by for item in unnamed.history] == [()]


@pytest.mark.requirement("W21", "W27")
def test_an_assertion_without_a_kind_is_readable_and_never_gets_one() -> None:
    """It stands in the context, and in the typed view neither now nor as history."""
    given = recorded(
        entry("a", "1", recorder="import", kind=MEASURED),
        entry("b", "1"),
        entry("c", "0", at=T0 - 1),
        entry("d", "1", at=T0 + 1, supersedes=["c"]),
        entry("e", "2", kind=SUGGESTED),
        entry("f", "2", expires_at=T0 + 1),
    )
    knowledge = structured_knowledge(given, reader(), NOW, include_history=True)
    assert format_knowledge(knowledge) == {
        "schema": "agentspine.structured-knowledge/v1",
        "current": [],
        "history": [],
        "counts": {"confirmed": 0, "assumption": 0, "contradictory": 0, "superseded": 0},
        "omitted": {"current": 0, "history": 0},
        "authority": "context-only",
    }
    answer = format_context(world_context(given, reader(), NOW))
    assert answer["facts"][0]["assertionIds"] == ["assertion:d", "assertion:a", "assertion:b"]
    with pytest.raises(MalformedError, match="must not be given a kind"):
        entry("a", recorder="import", kind=MEASURED, knowledge="fact")


@pytest.mark.requirement("W27")
def test_a_typed_correction_gives_no_kind_to_what_it_replaces() -> None:
    """The untyped predecessor stays out of the history, though the correction names it."""
    given = recorded(entry("a"), entry("b", at=T0 + 1, knowledge="fact", supersedes=["a"]))
    knowledge = structured_knowledge(given, reader(), NOW, include_history=True)
    assert knowledge.history == ()
    assert knowledge.current[0].supersedes == ("assertion:a",)


@pytest.mark.requirement("W22", "W30", "W61")
def test_a_typed_item_keeps_source_times_and_exact_scope() -> None:
    """With the opaque references of session and message where it has them."""
    given = recorded(
        entry(
            "a",
            {"n": 1},
            subject=TASK,
            predicate="choice.made",
            kind=CONFIRMED,
            knowledge="decision",
            reason="since it is simpler",
            route=HERE,
            session=SESSION,
            message="message:m1",
            expires_at=NOW + 1,
        ),
        entry("b", subject="user:ada", privacy="group", group="team", project=None, knowledge="fact"),
    )
    own = structured_knowledge(given, reader(route=HERE, task=TASK), NOW)
    assert format_knowledge(own)["current"] == [
        {
            "id": "assertion:a",
            "kind": "decision",
            "subjectId": TASK,
            "predicate": "choice.made",
            "value": {"n": 1},
            "status": "confirmed",
            "statusReason": "established-evidence",
            "source": {
                "kind": "explicit-user-feedback",
                "id": "evidence:a",
                "digest": given[0].entry.evidence_digest,
                "sessionRef": SESSION,
                "messageRef": "message:m1",
                "recorder": "owner",
            },
            "observedAt": "2026-09-21T14:13:20.000Z",
            "expiresAt": "2026-09-21T14:30:00.001Z",
            "recordedAt": "2026-09-21T14:13:21.000Z",
            "rationale": "since it is simpler",
            "scope": {
                "projectId": PROJECT,
                "groupId": None,
                "privacy": "private",
                "portalRef": HERE.portal,
                "threadRef": HERE.thread,
            },
            "supersedes": [],
            "replacedBy": [],
            "authority": "context-only",
        }
    ]
    group = structured_knowledge(given, reader(private=False, group="team"), NOW)
    (item,) = format_knowledge(group)["current"]
    assert item["scope"] == {"projectId": None, "groupId": "team", "privacy": "group"}
    assert (item["source"]["sessionRef"], item["source"]["messageRef"]) == (None, None)


@pytest.mark.requirement("W22", "W30")
def test_a_reference_confirms_nothing() -> None:
    """A suggestion with a session and a message behind it is an assumption."""
    given = recorded(
        entry("a", kind=SUGGESTED, knowledge="fact", session=SESSION, message="message:m1"),
    )
    assert statuses(structured_knowledge(given, reader(), NOW)) == {"a": ("assumption", "model-suggestion")}
    for half in ({"session": SESSION}, {"message": "message:m1"}):
        with pytest.raises(MalformedError, match="together"):
            entry("a", knowledge="fact", **half)
    with pytest.raises(MalformedError, match="only knowledge of a kind"):
        entry("a", session=SESSION, message="message:m1")


@pytest.mark.requirement("W24")
@pytest.mark.parametrize(("after_ms", "status"), [(-1, "confirmed"), (0, "superseded"), (1, "superseded")])
def test_an_item_is_superseded_from_the_instant_of_its_expiry(after_ms: int, status: str) -> None:
    """Not a millisecond before."""
    given = recorded(entry("a", knowledge="fact", expires_at=NOW))
    knowledge = structured_knowledge(given, reader(), NOW + after_ms, include_history=True)
    assert statuses(knowledge)["a"][0] == status


@pytest.mark.requirement("W28")
def test_a_bound_cuts_current_and_history_each() -> None:
    """The newest stay; counts are of all, and what does not fit is omitted."""
    given = recorded(
        *(
            entry(f"c{number}", subject=f"build:{number}", at=T0 + number, knowledge="fact")
            for number in range(4)
        ),
        *(entry(f"h{number}", at=T0 + number, expires_at=NOW, knowledge="fact") for number in range(3)),
    )
    knowledge = structured_knowledge(given, reader(), NOW, include_history=True, max_items=2)
    assert names(item.assertion for item in knowledge.current) == ["c3", "c2"]
    assert names(item.assertion for item in knowledge.history) == ["h2", "h1"]
    answer = format_knowledge(knowledge)
    assert answer["omitted"] == {"current": 2, "history": 1}
    assert (answer["counts"]["confirmed"], answer["counts"]["superseded"]) == (4, 3)
    for wrong in (0, 501):
        with pytest.raises(WorldError, match="maxItems"):
            structured_knowledge(given, reader(), NOW, max_items=wrong)


def test_one_subject_may_be_asked_for() -> None:
    """Counts are of that subject alone."""
    given = recorded(
        entry("a", subject="build:1", knowledge="fact"), entry("b", subject="build:2", knowledge="fact")
    )
    knowledge = structured_knowledge(given, reader(), NOW, subject="build:2")
    assert statuses(knowledge).keys() == {"b"}
    assert knowledge.counts.confirmed == 1


def test_the_owner_is_shown_each_typed_item_once() -> None:
    """Though an unbound assertion is compared with each conversation."""
    same = {"subject": TASK, "predicate": "task.next"}
    given = recorded(
        entry("here", "x", **same, knowledge="task-state", route=HERE),
        entry("unbound", "x", **same, knowledge="task-state"),
        entry("plain", "y", **same),
    )
    knowledge = structured_knowledge(given, reader(is_owner=True), NOW)
    assert names(item.assertion for item in knowledge.current) == ["here", "unbound"]
    assert knowledge.counts.contradictory == 2
