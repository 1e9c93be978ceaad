"""What the tests of questions over a real ledger record and ask."""

from typing import Any

import msgspec

from sidecars.assertion import AssertionEntry, DerivationEntry
from sidecars.identity import JSON
from sidecars.leaf import Body
from sidecars.reasoned import EvidencePolicyEntry
from tests.simulators.worlds import World
from tests.world.ledger.ledgers import OBSERVED, PROJECT, SUBJECT, TENANT, entry
from timeline.reasoning_use import AskedUnit, CheckedAnswer, Resolved, mediate_answer, resolve_question
from timeline.world import ledger
from timeline.world.assertion import canonical_text
from timeline.world.scope import Reader

PREDICATE = "test.result"
ME = Reader(TENANT, "dev", PROJECT)
OWNER = Reader(TENANT, "dev", PROJECT, is_owner=True)
NAME = "0f" * 16
EVALUATOR = "tester/1"


def session(number: int) -> str:
    """The reference of a session."""
    return f"session-ref:{number:032x}"


def captured(name: str, value: object = 1, *, seen_in: int = 1, **changes: Any) -> AssertionEntry:
    """What was measured in a session."""
    fields = {
        "knowledge": "task-state",
        "session": session(seen_in),
        "message": f"timeline-event:{name}",
        # What two sessions saw in one and the same millisecond would be a copy of one run.
        "observed_at": OBSERVED - seen_in + 1,
        **changes,
    }
    return entry(name, value=value, **fields)


def said(name: str, value: object = 1, **changes: Any) -> AssertionEntry:
    """The owner's word."""
    return entry(name, value=value, evidence_kind="explicit-user-feedback", **changes)


def suggested(name: str, value: object = 1, **changes: Any) -> AssertionEntry:
    """A model's suggestion."""
    return entry(name, value=value, evidence_kind="model-suggestion", **changes)


def derived(entry: AssertionEntry, role: str, *alternatives: tuple[str, ...]) -> AssertionEntry:
    """The same, derived from others by their names."""
    families = sorted(tuple(sorted(f"assertion:{name}" for name in names)) for names in alternatives)
    derivation = DerivationEntry(
        role=role,  # type: ignore[arg-type]  # a test may try any
        rule="rule.test",
        policy=0,
        evaluator=EVALUATOR,
        alternatives=tuple(families),
    )
    return msgspec.structs.replace(entry, derivation=derivation)


def record(world: World, *entries: AssertionEntry, reader: Reader = OWNER) -> None:
    """Record in one batch."""
    with world.session.writing() as state:
        ledger.record(state, entries, reader=reader)


def commit(world: World, *bodies: Body) -> None:
    """Put leaves into the log as they are."""
    with world.session.writing() as state:
        state.commit(bodies)


def accepting(version: int = 1, *, collapse: bool = True) -> EvidencePolicyEntry:
    """A policy by which the interpretations of these tests may support."""
    return EvidencePolicyEntry(version, 1, {}, collapse=collapse, snapshot=False, evaluators=(EVALUATOR,))


def ask(world: World, reader: Reader = ME, predicate: str = PREDICATE, *, at: int | None = None) -> Resolved:
    """Ask about the subject."""
    with world.session.reading() as state:
        return resolve_question(state, reader, SUBJECT, predicate, at=at)


def standing(world: World, reader: Reader = ME, predicate: str = PREDICATE, *, at: int | None = None) -> str:
    """How that question stands."""
    return ask(world, reader, predicate, at=at).answer.view.standing.value


def unit(name: str, value: JSON = 1, **changes: Any) -> AskedUnit:
    """A claim about the subject."""
    fields = {"subject": SUBJECT, "predicate": PREDICATE, **changes}
    return AskedUnit(id=name, value=canonical_text(value), **fields)


def status(name: str, text: str, predicate: str = PREDICATE) -> AskedUnit:
    """Something that is said about what is recorded."""
    return AskedUnit(id=name, subject=SUBJECT, predicate=predicate, text=text)


def mediate(world: World, *units: AskedUnit, reader: Reader = ME, name: str = NAME) -> CheckedAnswer:
    """Have an answer checked."""
    with world.session.writing() as state:
        return mediate_answer(state, reader, units, name=name)
