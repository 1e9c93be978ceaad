"""A user's words are quoted and never interpreted."""

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from tests.world.feedback.stories import (
    HERE,
    NOW,
    OTHER_SESSION,
    SESSION,
    SOURCE_DIGEST,
    T0,
    TASK,
    THERE,
    Story,
    continuation_entry,
    message,
    reader,
    value_of,
)
from timeline.world.assertion import Assertion
from timeline.world.context import world_context
from timeline.world.feedback import (
    HINTS,
    ROUTE_REQUIRED,
    STALE,
    TARGET_UNRESOLVED,
    TEXT_INVALID,
    active_candidates,
)
from timeline.world.knowledge import structured_knowledge
from timeline.world.task_state import Refused

WORDS = {
    "a quote": 'The client wrote "we are done, ship it" this morning',
    "a hypothetical": "If the tests were green we could release on Friday",
    "a negation": "I did not say that the notes are finished",
    "a completion claim": "All of it is done and verified",
    "German, a correction in other words": "Nein, nenn die Datei bitte bericht.txt",
    "French, a question": "Est-ce que le rapport est prêt ?",
    "Japanese, an instruction": "次はリリースノートを書いてください",
    "Arabic, not now": "لا تفعل ذلك الآن",
    "Russian, a completion claim": "Готово, всё проверено",
}
"""Nine cases, as in the reference: none of them is more than a quote."""


@pytest.mark.requirement("T38", "T62")
@pytest.mark.parametrize("text", WORDS.values(), ids=WORDS)
def test_words_stay_uninterpreted_whatever_they_say(text: str) -> None:
    """The exact words become an assumption, and the continuation stays as it was."""
    story = Story()
    before = story.capsule

    said = story.say(text)

    assert said.value == {
        "schema": "agentspine.timeline-user-feedback/v1",
        "sourceText": text,
        "speakerRole": "user",
        "sourceProvider": "codex",
        "sourceDigest": SOURCE_DIGEST,
        "targetAssertionId": "assertion:start",
        "interpretationStatus": "unresolved",
        "completionVerified": False,
    }
    assert story.capsule == before
    context = world_context(story.assertions, reader(), NOW)
    assert [fact.predicate for fact in context.facts] == ["task.continuation"]
    assert context.conflicts == ()
    assert context.proposals == (said,)
    status = {
        item.assertion.id: item.status
        for item in structured_knowledge(story.assertions, reader(), NOW).current
    }
    assert status[said.id] == "assumption"


@pytest.mark.requirement("T37", "T38", "T41")
def test_a_quote_keeps_its_whole_provenance() -> None:
    """Provider, session, message, both digests, time and target stand in the entry; it replaces nothing."""
    said = message()
    entry = Story().quote(said)

    assert isinstance(entry, AssertionEntry)
    assert entry.predicate == "task.user-feedback"
    assert entry.subject == TASK
    assert entry.recorder == "capture"
    assert entry.evidence_kind == "uninterpreted-user-message"
    assert not entry.is_established
    assert (entry.evidence_id, entry.evidence_digest) == (said.event_id, str(said.digest))
    assert (entry.session, entry.message) == (SESSION, said.event_id)
    assert entry.observed_at == said.observed_at
    assert (entry.privacy, entry.group, entry.knowledge) == ("private", None, "task-state")
    assert (entry.portal, entry.thread) == (HERE.portal, HERE.thread)
    assert entry.supersedes == ()


@pytest.mark.requirement("T37")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "two\nlines",
        "two\rlines",
        "two\u2028lines",
        "tab\there",
        "x" * 2049,
        "ä" * 1025,
        "\ud800",
        "a\u202eb",
    ],
)
def test_what_is_not_one_visible_line_is_not_quoted(text: str) -> None:
    """Nothing that a reader would not see as it is, and nothing longer than 2,048 bytes."""
    assert Story().quote(message(text)) == Refused(TEXT_INVALID)


@pytest.mark.requirement("T37")
@pytest.mark.parametrize("text", ["x", "x" * 2048, "ä" * 1024, " leading and trailing ", '"' * 2048])
def test_the_longest_and_the_shortest_line_are_quoted(text: str) -> None:
    """At the bound itself, with every character as it was typed."""
    assert value_of(Story().quote(message(text)))["sourceText"] == text


@pytest.mark.requirement("T37")
def test_without_a_route_nothing_is_quoted() -> None:
    """A reader without an enrolled session has no route."""
    assert Story().quote(message(), route=None) == Refused(ROUTE_REQUIRED)


@pytest.mark.requirement("T37")
@pytest.mark.parametrize(
    "entries",
    {
        "none": [],
        "of another thread": [continuation_entry("there", T0, route=THERE)],
        "of no route": [continuation_entry("nowhere", T0, route=None)],
        "two that differ": [
            continuation_entry("one", T0),
            continuation_entry("two", T0 + 1, objective="Release version 3"),
        ],
    }.values(),
)
def test_without_one_continuation_nothing_is_quoted(entries: list[AssertionEntry]) -> None:
    """The target is the one continuation of the task on its route."""
    story = Story()
    story.assertions.clear()
    for entry in entries:
        story.record(entry)
    assert story.quote(message()) == Refused(TARGET_UNRESOLVED)


@pytest.mark.requirement("T37")
@pytest.mark.parametrize(("at", "is_taken"), [(T0 - 1, False), (T0, True), (T0 + 1, True)])
def test_a_message_older_than_the_continuation_is_stale(at: int, *, is_taken: bool) -> None:
    """At the very moment of the continuation it is not older."""
    found = Story().quote(message(at=at))
    assert (found != Refused(STALE)) == is_taken


def test_a_completed_task_is_a_target_too() -> None:
    """What the user says afterwards is quoted, so that it is not lost."""
    story = Story(continuation_entry("done", T0, status="completed"))
    assert value_of(story.quote(message()))["targetAssertionId"] == "assertion:done"


@pytest.mark.requirement("T44")
def test_the_same_message_is_quoted_once() -> None:
    """Also after its snapshot was renewed, under another event and digest of the source."""
    story = Story()
    said = story.say()
    again = message(source_digest="ef" * 32, event_id="timeline-event:" + "9" * 32)

    assert story.quote(message()) == said.entry
    assert story.quote(again) == said.entry
    assert len(story.candidates()) == 1


def test_every_part_of_a_message_and_of_its_place_is_in_its_id() -> None:
    """Another line, session, time, thread, project or continuation makes another quote."""
    story = Story()
    moved = Story(continuation_entry("start", T0, route=THERE))
    newer = Story(continuation_entry("other", T0))
    found = [
        story.quote(message()),
        story.quote(message("Something else")),
        story.quote(message(session=OTHER_SESSION)),
        story.quote(message(at=T0 + 61_000, digest=message().digest)),
        moved.quote(message(), route=THERE),
        newer.quote(message()),
    ]
    ids = {entry.id for entry in found if isinstance(entry, AssertionEntry)}
    assert len(ids) == len(found)
    assert all(id_.startswith("assertion:user-feedback-") and len(id_) == 24 + 32 for id_ in ids)


def test_other_words_under_the_same_line_are_not_taken_for_the_same() -> None:
    """A line that is read differently makes another entry under the same id, which the ledger refuses (W7)."""
    story = Story()
    said = story.say()
    found = story.quote(message("Other words", digest=message().digest))
    assert isinstance(found, AssertionEntry)
    assert found.id == said.id
    assert found != said.entry


def test_what_was_imported_under_a_quotes_id_is_none() -> None:
    """It is not given back as the quote, whatever its value is; the ledger refuses the id (W7)."""
    story = Story()
    made = story.quote(message())
    assert isinstance(made, AssertionEntry)
    legacy = msgspec.structs.replace(
        made,
        recorder="import",
        evidence_kind="model-suggestion",
        value='"words"',
        knowledge=None,
        session=None,
        message=None,
    )
    story.record(legacy)
    assert story.quote(message()) == made


@pytest.mark.requirement("T38")
def test_a_newer_continuation_makes_the_quote_history() -> None:
    """It stays recorded and is no candidate any more."""
    story = Story()
    said = story.say()
    assert story.candidates() == [said.id]
    story.record(continuation_entry("next", T0 + 120_000, supersedes=["start"]))
    assert story.candidates() == []
    assert said in story.assertions
    later = story.say(at=T0 + 180_000)
    assert story.candidates() == [later.id]


@pytest.mark.requirement("T43")
def test_only_quotes_of_the_same_person_task_and_route_are_candidates() -> None:
    """Whatever else points to the continuation does not count."""
    story = Story()
    said = story.say()
    start = story.capsule.assertion
    for changes in (
        {"portal": THERE.portal, "thread": THERE.thread},
        {"project": "/srv/other"},
        {"tenant": "work"},
        {"user": "eve"},
        {"subject": "task:other"},
        {"recorder": "import"},
        {"predicate": "task.note"},
    ):
        other = msgspec.structs.replace(said.entry, **changes)
        assert active_candidates([Assertion(9, NOW, other, said.value)], start) == ()


def test_candidates_stand_newest_first() -> None:
    """At one moment by id."""
    story = Story()
    first = story.say("one", T0 + 1000)
    twins = [story.say("two", T0 + 2000), story.say("three", T0 + 2000)]
    assert story.candidates() == [*sorted(twin.id for twin in twins), first.id]


def test_every_reason_has_a_hint() -> None:
    """And each is one of the reference's."""
    assert all(HINTS.values())
    assert len(HINTS) == 9
