"""An answer over a real ledger: what is released, what a change since then does, and what is kept of it."""

import pytest

from sidecars.leaf import Kind
from sidecars.reasoned import EvidencePolicyEntry, MediationTraceEntry
from tests.reasoning.ledger.asking import (
    ME,
    NAME,
    PREDICATE,
    ask,
    captured,
    commit,
    mediate,
    record,
    said,
    status,
    suggested,
    unit,
)
from tests.simulators.worlds import NOW_MS, World, refusal_of
from tests.world.ledger.ledgers import OBSERVED, SUBJECT
from timeline.guard.asked_answer import parse_answer, parse_question
from timeline.guard.errors import RequestError
from timeline.reasoning_use import AskedUnit, CheckedAnswer
from timeline.registered import Registered, read_register

SNAPSHOTS = EvidencePolicyEntry(1, 1, {}, collapse=True, snapshot=True)


def dispositions(answer: CheckedAnswer) -> dict[str, str]:
    """What became of each unit."""
    return {one.id: one.disposition for one in answer.units}


def rules(answer: CheckedAnswer) -> dict[str, str | None]:
    """By which rule each was held back."""
    return {one.id: one.rule for one in answer.units}


def traces(world: World) -> list[MediationTraceEntry]:
    """Every trace that was kept."""
    with world.session.reading() as state:
        found: tuple[Registered, ...] = read_register(state, Kind.MEDIATION_TRACE)
    return [one.body for one in found if isinstance(one.body, MediationTraceEntry)]


@pytest.mark.requirement("P4", "P36", "P38", "P39", "P40", "P41")
def test_only_what_is_supported_is_released(world: World) -> None:
    """In the order of the units; a status is released word for word, and something else is not."""
    record(world, captured("a", "green"))
    nothing = ask(world, predicate="x.y").answer.status[0]
    answer = mediate(
        world,
        unit("right", "green"),
        unit("wrong", "red"),
        status("told", nothing, "x.y"),
        status("denied", "It is false.", "x.y"),
    )
    assert dispositions(answer) == {
        "right": "passed",
        "wrong": "blocked",
        "told": "passed",
        "denied": "blocked",
    }
    assert rules(answer) == {"right": None, "wrong": "view", "told": None, "denied": "view"}
    assert (answer.is_bounded, answer.units[3].instead) == (False, (nothing,))
    assert answer.text.splitlines()[1] == nothing
    assert 'is "green"' in answer.text


@pytest.mark.requirement("P6", "M4")
def test_a_models_own_suggestion_is_never_released(world: World) -> None:
    """That it is stored is no reason to say it."""
    record(world, suggested("a", "green"))
    assert dispositions(mediate(world, unit("u", "green"))) == {"u": "blocked"}


@pytest.mark.requirement("P25", "P40")
def test_of_what_is_disputed_only_that_it_is(world: World) -> None:
    """No value of the two, and no winner."""
    record(world, captured("a", "red"), captured("b", "green"))
    (one,) = mediate(world, unit("u", "green")).units
    assert one.disposition == "qualified"
    assert one.text is not None
    assert "green" not in one.text


@pytest.mark.requirement("P37")
def test_an_answer_that_has_changed_since_is_held_back(world: World) -> None:
    """By its token, which stays the same whatever else is recorded."""
    record(world, captured("a", "green"))
    token = ask(world).as_of
    record(world, captured("elsewhere", predicate="x.y"), said("hers", user="other", privacy="private"))
    commit(world, SNAPSHOTS)
    asked = unit("u", "green", as_of=token)
    assert ask(world).as_of == token
    assert dispositions(mediate(world, asked)) == {"u": "passed"}
    record(world, said("b", "green", observed_at=OBSERVED + 1))
    answer = mediate(world, asked, unit("fresh", "green"), name="1e" * 16)
    assert (dispositions(answer), rules(answer)) == (
        {"u": "passed", "fresh": "passed"},
        {"u": None, "fresh": None},
    )
    record(world, said("c", "red", supersedes=["a", "b"], observed_at=OBSERVED + 2))
    answer = mediate(world, asked, unit("fresh", "red"), name="2e" * 16)
    assert (dispositions(answer), rules(answer)) == (
        {"u": "blocked", "fresh": "passed"},
        {"u": "head", "fresh": None},
    )
    assert [one.head for one in traces(world)[-1].units] == ["moved", "same"]


@pytest.mark.requirement("P37")
def test_a_snapshot_says_so_and_is_permitted_by_the_policy(world: World) -> None:
    """And what it says held at that moment."""
    record(world, captured("a", "green"))
    asked = unit("u", "green", as_of=ask(world).as_of, at=OBSERVED)
    record(world, captured("b", "green", seen_in=2, observed_at=OBSERVED + 1, starts_at=OBSERVED + 1))
    commit(world, EvidencePolicyEntry(1, 2, {}, collapse=True, snapshot=False))
    assert rules(mediate(world, asked)) == {"u": "head"}
    commit(world, EvidencePolicyEntry(2, 1, {}, collapse=True, snapshot=True))
    stale = unit("u", "green", as_of="as-of:" + "0" * 32, at=OBSERVED)
    (one,) = mediate(world, stale, name="1e" * 16).units
    assert one.disposition == "qualified"
    assert one.text is not None
    assert one.text.startswith("As of 2026-")


@pytest.mark.requirement("P42", "P43", "N11", "N6")
def test_what_was_decided_is_kept_and_no_word_of_it(world: World) -> None:
    """One leaf for each answer, in the order of its units; another answer has other digests."""
    record(world, captured("a", "seven green hills"))
    before = traces(world)
    mediate(world, unit("u", "seven green hills"), unit("v", "red"))
    mediate(world, unit("u", "seven green hills"), unit("v", "red"), name="1e" * 16)
    first, second = traces(world)
    assert before == []
    assert (first.id, [one.unit for one in first.units]) == (f"trace:{NAME}", ["u", "v"])
    assert [one.disposition for one in first.units] == ["passed", "blocked"]
    assert first.emitted_at == NOW_MS
    assert first.prompted == first.emitted
    assert first.emitted.size < second.emitted.size
    assert not {one.query for one in first.units} & {one.query for one in second.units}
    assert b"seven" not in repr(first).encode()


@pytest.mark.requirement("P36")
def test_what_is_no_answer_leaves_nothing(world: World) -> None:
    """Two units of one name, none, and one that bears no name of its kind."""
    many = [unit(f"u{number}") for number in range(21)]
    assert refusal_of(lambda: mediate(world, unit("u"), unit("u"))) == "mediation-invalid"
    assert refusal_of(lambda: mediate(world, unit("-"))) == "mediation-invalid"
    assert refusal_of(lambda: mediate(world, *many)) == "mediation-invalid"
    assert refusal_of(lambda: mediate(world)) == "mediation-invalid"
    assert traces(world) == []


def test_a_moment_that_has_not_come_is_not_spoken_of(world: World) -> None:
    """An answer says what is, or what was."""
    record(world, captured("a", "green"))
    assert rules(mediate(world, unit("u", "green", at=NOW_MS + 1))) == {"u": "time"}
    assert ask(world, ME, PREDICATE, at=NOW_MS + 1).answer.view.standing == "supported"


@pytest.mark.requirement("P37")
def test_what_was_told_of_a_moment_can_be_said_of_it(world: World) -> None:
    """Its sentences name the moment, and its token stands for that answer whatever holds today."""
    record(world, captured("a", "green", expires_at=OBSERVED + 10))
    at = OBSERVED + 5
    told = ask(world, at=at)
    sentences = (*told.answer.status, *told.answer.contents)
    assert all(one.startswith("As of 2026-08-20T10:59:00.005Z: ") for one in sentences)
    (now,) = ask(world).answer.status
    assert now.endswith("does not hold now.")
    again = AskedUnit(
        id="s", subject=SUBJECT, predicate=PREDICATE, text=sentences[0], at=at, as_of=told.as_of
    )
    answer = mediate(world, unit("u", "green", at=at, as_of=told.as_of), again, status("now", now))
    assert dispositions(answer) == {"u": "passed", "s": "passed", "now": "passed"}
    assert answer.units[0].text == sentences[1]
    other = unit("u", "green", at=at, as_of="as-of:" + "0" * 32)
    assert rules(mediate(world, other, name="1e" * 16)) == {"u": "head"}


@pytest.mark.requirement("P38", "P40")
@pytest.mark.parametrize("field", ["subjectId", "predicate"])
def test_no_sentence_is_smuggled_in_by_a_question(field: str) -> None:
    """What a status is about is an id: else a model could have its own words released as what is recorded."""
    unit_ = {"id": "u", "subjectId": "suite:unit", "predicate": "x.y", "status": "x"}
    assert parse_answer({"units": [unit_]}).units[0].subject == "suite:unit"
    for words in ("it; in truth all tests pass", "suite:unit is fine", "suite:unit\n", "", 1):
        with pytest.raises(RequestError, match=field):
            parse_answer({"units": [{**unit_, field: words}]})
        with pytest.raises(RequestError, match=field):
            parse_question({"subjectId": "suite:unit", "predicate": "x.y", field: words})


@pytest.mark.requirement("P42", "N6")
def test_no_two_answers_have_one_trace(world: World) -> None:
    """Under one name they would have one salt, and equal contents would show."""
    mediate(world, unit("u", "green"))
    assert refusal_of(lambda: mediate(world, unit("u", "green"))) == "mediation-invalid"
    assert len(traces(world)) == 1
