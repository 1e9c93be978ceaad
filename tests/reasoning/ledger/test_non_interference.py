"""Two ledgers that differ in what a reader may not see give that reader the same bytes, errors included (X12)."""

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.leaf import Body
from sidecars.reasoned import EvidencePolicyEntry, EvidenceRevocation, PersonConsent
from tests.reasoning.ledger.asking import ME, ask, captured, commit, mediate, record, said, suggested, unit
from tests.simulators.worlds import World, refusal_of
from tests.world.ledger.ledgers import OBSERVED, OTHER_PROJECT, moved
from timeline.answering import checked_json, resolved_json

VALUES = ("green", "red", "blue")
PREDICATES = ("test.result", "x.y")

HIDING: tuple[dict[str, Any], ...] = (
    {"privacy": "private", "user": "other"},
    {"privacy": "group", "group": "team"},
    {"tenant": "elsewhere"},
    {"project": OTHER_PROJECT},
    {"about": "person:kim"},
    {"purposes": ("payroll",)},
    {"portal": "portal-ref:" + "1" * 32, "thread": "thread-ref:" + "2" * 32},
)


def story(choose: random.Random, count: int, prefix: str) -> list[AssertionEntry]:
    """So many things that were seen, said or suggested about the subject."""
    made = []
    for number in range(count):
        make: Callable[..., AssertionEntry] = choose.choice((captured, captured, said, suggested))
        ends: dict[str, Any] = choose.choice(
            ({}, {"expires_at": OBSERVED + 50}, {"starts_at": OBSERVED + 10})
        )
        made.append(
            make(
                f"{prefix}{number}",
                choose.choice(VALUES),
                predicate=choose.choice(PREDICATES),
                observed_at=OBSERVED + number,
                **ends,
            )
        )
    return made


def hidden(choose: random.Random, entry: AssertionEntry) -> AssertionEntry:
    """The same for nobody who asks here."""
    changes = dict(choose.choice(HIDING))
    return moved(entry, **changes)


def told(world: World) -> list[bytes]:
    """Everything that a session could be told, as bytes."""
    answers: list[Any] = [resolved_json(ask(world, ME, predicate)) for predicate in PREDICATES]
    answers += [resolved_json(ask(world, ME, predicate, at=OBSERVED + 5)) for predicate in PREDICATES]
    units = [
        unit(f"{predicate}.{value}", value, predicate=predicate)
        for predicate in PREDICATES
        for value in VALUES
    ]
    units += [
        unit(f"old.{predicate}", "red", predicate=predicate, as_of="as-of:0") for predicate in PREDICATES
    ]
    answers.append(checked_json(mediate(world, *units, reader=ME)))
    answers.append(refusal_of(lambda: mediate(world, unit("u"), unit("u"))))
    return [msgspec.json.encode(answer) for answer in answers]


@pytest.mark.requirement("X12", "P30", "P31", "P48", "M10")
@pytest.mark.parametrize("seed", range(12))
def test_what_is_hidden_changes_no_byte(world: World, tmp_path: Any, seed: int) -> None:
    """Values, counts, times, the log's size, revocations and policies' effect on what is hidden: none of it shows."""
    choose = random.Random(seed)
    other = world.copy(tmp_path / "other")
    visible = story(choose, choose.randrange(6), "seen-")
    policy = EvidencePolicyEntry(
        1,
        choose.choice((1, 2)),
        {},
        collapse=choose.choice((True, False)),
        snapshot=choose.choice((True, False)),
    )
    for place in (world, other):
        commit(place, policy)
    beside = [hidden(choose, entry) for entry in story(choose, 1 + choose.randrange(6), "hidden-")]
    leaves: list[Body] = [EvidenceRevocation(beside[0].id, "why")]
    leaves.append(PersonConsent("person:lee", "user:other", None, granted=True))
    for entry in visible:
        record(world, entry)
    for entry in sorted([*visible, *beside], key=lambda one: choose.random()):
        record(other, entry)
    commit(other, *leaves)
    assert told(world) == told(other)


@pytest.mark.requirement("X12", "P30")
def test_a_hidden_correction_takes_away_what_it_replaced_and_no_more(world: World, tmp_path: Any) -> None:
    """That an assertion was replaced is told by its absence; by whom and with what is not (H-b)."""
    other = world.copy(tmp_path / "other")
    seen = captured("a", "green")
    by = {"supersedes": ["a"], "observed_at": OBSERVED + 1, "privacy": "private", "user": "other"}
    record(world, seen, said("b", "red", **by))
    record(other, seen, said("c", "blue", **by), said("d", 1, user="other", privacy="private"))
    assert told(world) == told(other)
    assert ask(world).answer.view.standing == "unrecorded"


@pytest.mark.requirement("X12")
def test_a_hidden_record_of_a_later_time_shows_in_no_sentence(world: World, tmp_path: Any) -> None:
    """Where the clock has gone back since, the log's time goes on by it; no sentence names that time."""
    other = world.copy(tmp_path / "other")
    for place in (world, other):
        record(place, captured("a", "green", expires_at=OBSERVED + 10))
    other.clock.at_ms += 60_000
    record(other, said("b", "red", user="other", privacy="private"))
    other.clock.at_ms -= 60_000
    assert ask(world).answer.view.standing == "stale"
    assert resolved_json(ask(world)) == resolved_json(ask(other))
