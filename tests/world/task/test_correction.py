"""The strict correction of a next step: which message is one, and what it changes."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world.task.situations import agreed
from tests.world.task.story import (
    ADA,
    ORIGIN,
    OTHER_ROUTE,
    ROUTE,
    SECOND,
    T0,
    TASK,
    Story,
    continuation,
    corrected,
    entry,
    measured,
    scope_of,
    verified,
)
from timeline.world.advancing import advance
from timeline.world.continuation import format_continuation, parse_continuation
from timeline.world.correction import correct, parse_correction
from timeline.world.scope import Reader
from timeline.world.task_state import Refused, Repeated, Replacement

LINES: tuple[tuple[str, str, str | None], ...] = (
    # what it is, the message, the next step that it sets
    ("English", "Correction: next step: run suite 5", "run suite 5"),
    ("German", "Korrektur: nächster Schritt: Suite 5 starten", "Suite 5 starten"),
    ("German, decomposed", "Korrektur: na\u0308chster Schritt: Suite 5", "Suite 5"),
    ("small letters", "correction: next step: run suite 5", "run suite 5"),
    ("capitals", "CORRECTION: NEXT STEP: run suite 5", "run suite 5"),
    ("German capitals", "KORREKTUR: NÄCHSTER SCHRITT: Suite 5", "Suite 5"),
    ("German capitals, decomposed", "KORREKTUR: NA\u0308CHSTER SCHRITT: Suite 5", "Suite 5"),
    ("no space after the first colon", "Correction:next step: run", "run"),
    ("much space after the first colon", "Correction:    next step: run", "run"),
    ("a tab", "Correction:\tnext step: run", None),
    ("a tab in the step", "Correction: next step: run\tsuite 5", None),
    ("no space after the second colon", "Correction: next step:run", "run"),
    ("folded space", "Correction: next step:   run  \u2003 suite\u00a05  ", "run suite 5"),
    ("other letters", "Correction: next step: prüfe 検査 — a\u0308", "prüfe 検査 — a\u0308"),
    ("one character", "Correction: next step: x", "x"),
    ("500 characters", "Correction: next step: " + "x" * 500, "x" * 500),
    ("500 characters after folding", "Correction: next step: " + "x " * 249 + "  xx", "x " * 249 + "xx"),
    ("a colon in the step", "Correction: next step: fix: the parser", "fix: the parser"),
    ("code that names a variable", "Correction: next step: rename count to total", "rename count to total"),
    # not of the form (T61)
    ("501 characters", "Correction: next step: " + "x" * 501, None),
    ("nothing", "Correction: next step:", None),
    ("only space", "Correction: next step: \t ", None),
    ("an empty message", "", None),
    ("space before", " Correction: next step: run", None),
    ("a line before", "Thanks.\nCorrection: next step: run", None),
    ("a line after", "Correction: next step: run\nand more", None),
    ("a line end after", "Correction: next step: run\n", None),
    ("a carriage return", "Correction: next step: run\rand more", None),
    ("a vertical tab", "Correction: next step: run\x0band more", None),
    ("a form feed", "Correction: next step: run\x0cand more", None),
    ("a file separator", "Correction: next step: run\x1cand more", None),
    ("a next line", "Correction: next step: run\x85and more", None),
    ("a line separator", "Correction: next step: run\u2028and more", None),
    ("a paragraph separator", "Correction: next step: run\u2029and more", None),
    ("a line between the words", "Correction:\nnext step: run", None),
    ("a null", "Correction: next step: run\x00", None),
    ("an escape sequence", "Correction: next step: \x1b[31mrun", None),
    ("reversed text", "Correction: next step: \u202erun", None),
    ("hidden text", "Correction: next step: run\u200bit", None),
    ("a tag character", "Correction: next step: run\U000e0041", None),
    ("a lone surrogate", "Correction: next step: run\ud800", None),
    ("two spaces in the words", "Correction: next  step: run", None),
    ("a space before the colon", "Correction : next step: run", None),
    ("no second colon", "Correction: next step run", None),
    ("a word for the other", "Korrektur: next step: run", None),
    ("without the umlaut", "Korrektur: nachster Schritt: Suite 5", None),
    ("the umlaut in two letters", "Korrektur: naechster Schritt: Suite 5", None),
    ("a Kelvin sign", "\u212aorrektur: nächster Schritt: Suite 5", None),
    ("a long s", "Correction: next \u017ftep: run", None),
    ("a Cyrillic letter", "С\u006frrection: next step: run", None),
    ("another language", "Correction : étape suivante : lancer", None),
    # of the form, but not safe (T61)
    ("a token", "Correction: next step: use ghp_" + "a1B2c3D4" * 5, None),
    ("a key", "Correction: next step: set AKIA" + "ABCDEFGHIJKLMNOP", None),
    ("a permission", "Correction: next step: permissions: all", None),
    ("a permission, run together", "Correction: next step: toolAccess=full", None),
    ("a payment", "Correction: next step: payment = 100", None),
    # what people and models write otherwise (T62)
    ("a quote", '"Correction: next step: run suite 5" is what you would write', None),
    ("a quoted line", "> Correction: next step: run suite 5", None),
    ("a listed line", "- Correction: next step: run suite 5", None),
    ("code", "`Correction: next step: run suite 5`", None),
    ("a hypothesis", "If it fails again, then Correction: next step: run suite 5", None),
    ("a hypothesis in German", "Falls es fehlschlägt: Korrektur: nächster Schritt: Suite 5", None),
    ("a negation", "No correction: next step: stays", None),
    ("a negation in German", "Keine Korrektur: nächster Schritt: bleibt", None),
    ("a claim of completion", "The next step is done.", None),
    ("a claim in German", "Der nächste Schritt ist fertig.", None),
    ("an ordinary wish", "Please run suite 5 next.", None),
    ("talk about corrections", "Correction of the next step: run suite 5", None),
)


@pytest.mark.requirement("T59", "T61", "T62")
@pytest.mark.parametrize(("text", "summary"), [pytest.param(t, s, id=name) for name, t, s in LINES])
def test_the_grammar_alone_says_what_a_correction_is(text: str, summary: str | None) -> None:
    """A message is one whole line with the fixed beginning, or it is no correction."""
    assert parse_correction(text) == summary


@pytest.mark.requirement("T59", "T62")
@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_may_stand_before_the_words(before: str, after: str) -> None:
    """Whatever is put before them makes it no correction, unless it makes the same words."""
    text = f"{before}Correction: next step: run{after}"

    found = parse_correction(text)

    if before and not before.lower().startswith(("correction:", "korrektur:")):
        assert found is None
    if found is not None:
        assert found.isprintable()
        assert found == " ".join(found.split())
        assert 1 <= len(found) <= 500


def state_with(**fields: Any) -> Story:
    """A task with questions and a verified step, under way."""
    story = Story()
    story.record(
        entry(
            value=continuation(
                status="blocked",
                lastVerifiedStep=verified(),
                openQuestions=[{"id": "question:a", "question": "Which tag?"}],
            ),
            **fields,
        )
    )
    story.at(10)
    return story


@pytest.mark.requirement("T60", "W26")
def test_a_correction_changes_the_next_step_and_nothing_else() -> None:
    """Objective, status, verified step and questions are those from before."""
    story = state_with(expires_at=T0 + 500 * SECOND)
    before = parse_continuation(story.state().continuations.usable[0].value)
    correction = corrected("Run suite 5", at=story.now)

    decided = correct(story.state(), correction)
    made = story.replace(decided)

    after = parse_continuation(made.value)
    assert after == msgspec.structs.replace(before, next_step=after.next_step)
    assert after.next_step is not None
    assert after.next_step.summary == "Run suite 5"
    assert after.next_step.id.startswith("step:user-correction-")
    assert len(after.next_step.id.removeprefix("step:user-correction-")) == 24
    entry_made = made.entry
    assert (entry_made.recorder, entry_made.evidence_kind) == ("capture", "explicit-user-feedback")
    assert (entry_made.evidence_id, entry_made.evidence_digest, entry_made.observed_at) == (
        correction.evidence_id,
        str(correction.evidence_digest),
        story.now,
    )
    assert (entry_made.session, entry_made.message) == (correction.origin.session, correction.origin.message)
    assert (entry_made.portal, entry_made.thread, entry_made.privacy) == (
        ROUTE.portal,
        ROUTE.thread,
        "private",
    )
    assert entry_made.expires_at == T0 + 500 * SECOND
    assert entry_made.supersedes == ("assertion:one",)
    assert entry_made.id.startswith("assertion:timeline-correction-")


@pytest.mark.requirement("T60")
def test_a_correction_replaces_all_that_is_in_force() -> None:
    """Several continuations that say the same are replaced together, under compare-and-set."""
    story = Story()
    for name in ("one", "two", "three"):
        story.record(entry(name))
    story.record(entry("suggestion", continuation(status="paused"), kind="model-suggestion"))
    story.at(10)

    decided = correct(story.state(), corrected("Run suite 5", at=story.now))

    assert isinstance(decided, Replacement)
    assert decided.entry.supersedes == ("assertion:one", "assertion:three", "assertion:two")
    assert decided.expect_active == {decided.entry.id: frozenset(decided.entry.supersedes)}
    made = story.replace(decided)
    assert story.state().continuations.ids == (made.id,)
    assert [one.id for one in story.standing().proposals] == ["assertion:suggestion"]


@pytest.mark.requirement("T60")
def test_one_correction_counts_once() -> None:
    """Captured again, it is told what it has led to, also after something newer."""
    story = state_with()
    correction = corrected("Run suite 5", at=story.now)
    made = story.replace(correct(story.state(), correction))

    assert correct(story.state(), correction) == Repeated(made)
    story.at(20)
    story.replace(correct(story.state(), corrected("Run suite 6", 901, at=story.now)))
    assert correct(story.state(), correction) == Repeated(made)


@pytest.mark.requirement("T57", "T60")
def test_the_same_words_are_a_new_step() -> None:
    """Also a correction to what was said before ends the agreement about it."""
    story = agreed()
    story.replace(correct(story.state(), corrected("Run suite 4", at=story.now)))

    assert advance(story.state(), measured(at=story.now)) == Refused("timeline-outcome-contract-superseded")


def nothing_begun() -> Story:
    """Nobody has said anything."""
    return Story()


def only_suggested() -> Story:
    """A model has suggested a continuation, twice."""
    story = Story()
    story.record(entry("one", kind="model-suggestion"))
    story.record(entry("two", kind="model-suggestion"))
    return story


def expired() -> Story:
    """The continuation ends at the moment of the correction."""
    story = state_with(expires_at=T0 + 10 * SECOND)
    story.at(10)
    return story


def shared() -> Story:
    """The continuation is one that others read."""
    return state_with(scope=scope_of(privacy="shared"))


def foreign_thread() -> Story:
    """The continuation belongs to another conversation."""
    return state_with(scope=scope_of(route=OTHER_ROUTE))


def unbound() -> Story:
    """The continuation belongs to no conversation."""
    return state_with(scope=scope_of(route=None))


def disputed() -> Story:
    """Two continuations differ."""
    story = state_with()
    story.record(entry("two"))
    return story


def done() -> Story:
    """The task is completed."""
    story = agreed(status="completed", next_step=None)
    story.replace(advance(story.state(), measured(at=story.now)))
    return story


REFUSED: tuple[tuple[Callable[[], Story], str], ...] = (
    (nothing_begun, "timeline-correction-continuation-missing"),
    (only_suggested, "timeline-correction-continuation-missing"),
    (expired, "timeline-correction-continuation-missing"),
    (shared, "timeline-correction-continuation-missing"),
    (foreign_thread, "timeline-correction-continuation-missing"),
    (unbound, "timeline-correction-continuation-missing"),
    (disputed, "timeline-correction-continuation-conflicted"),
    (done, "timeline-correction-task-completed"),
)


@pytest.mark.requirement("T60", "T61")
@pytest.mark.parametrize(("told", "reason"), [pytest.param(*row, id=row[0].__name__) for row in REFUSED])
def test_a_correction_of_no_such_continuation_is_refused(told: Callable[[], Story], reason: str) -> None:
    """Each refusal has its reason, and the state stays as it is."""
    story = told()
    before = story.state()

    assert correct(story.state(), corrected("Run suite 5", at=T0 + 200 * SECOND)) == Refused(reason)
    assert story.state() == before


@pytest.mark.requirement("T61")
@pytest.mark.parametrize(("after_ms", "is_stale"), [(-1, True), (0, False), (1, False)])
def test_a_correction_is_no_older_than_what_it_corrects(after_ms: int, is_stale: bool) -> None:
    """At the same millisecond it is not older; and it must not be older than any of those that it replaces."""
    for names in (("one",), ("one", "two")):
        story = Story()
        for seconds, name in zip((5, 0), names, strict=False):
            story.record(entry(name, at=T0 + seconds * SECOND))

        decided = correct(story.state(), corrected("Run suite 5", at=T0 + 5 * SECOND + after_ms))

        assert (decided == Refused("timeline-correction-stale")) is is_stale


@pytest.mark.requirement("T61")
def test_who_has_no_route_or_is_a_group_corrects_nothing() -> None:
    """A correction belongs to a conversation, and never to one that others read."""
    story = state_with()
    others = {
        "timeline-correction-route-required": (msgspec.structs.replace(ADA, route=None),),
        "timeline-correction-continuation-missing": (
            msgspec.structs.replace(ADA, route=OTHER_ROUTE),
            msgspec.structs.replace(ADA, user="bob"),
            msgspec.structs.replace(ADA, tenant="work"),
            msgspec.structs.replace(ADA, project="/srv/other"),
            Reader("home", "ada", ADA.project, task=TASK, route=ROUTE, private=False, group="team"),
        ),
    }

    for reason, readers in others.items():
        for reader in readers:
            assert correct(story.state(reader), corrected("Run suite 5", at=story.now)) == Refused(reason)


@pytest.mark.requirement("T60", "T61")
def test_a_correction_of_another_conversation_is_another_one() -> None:
    """The same line has one id on each route, and leaves the other conversation alone."""
    story = state_with()
    story.record(entry("there", scope=scope_of(route=OTHER_ROUTE), origin=ORIGIN))
    there = msgspec.structs.replace(ADA, route=OTHER_ROUTE)
    correction = corrected("Run suite 5", at=story.now)
    before = story.state(there)

    made = story.replace(correct(story.state(), correction))

    assert story.state(there) == before
    other = correct(story.state(there), correction)
    assert isinstance(other, Replacement)
    assert other.entry.id != made.id
    assert format_continuation(other.continuation)["status"] == "active"
