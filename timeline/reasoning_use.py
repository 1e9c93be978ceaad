"""Asking what may be said, and having an answer checked before it is given: for a session and for the owner (P4, P36).

What a reader gets is made of what that reader may see and nothing else (X12): a view, sentences, and a token that
stands for both. By the token a later call notices that something has changed; it says nothing of the log's head.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from sidecars.identity import canonical_bytes
from sidecars.leaf import Kind
from sidecars.reasoned import MediationTraceEntry, TracedUnit
from timeline.reasoning.declassified import View
from timeline.reasoning.errors import MediationInvalidError
from timeline.reasoning.graph import Head
from timeline.reasoning.mediation import ContentUnit, StatusUnit, Unit
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.rendering import render_set
from timeline.reasoning.trace import SALT_BYTES, Seal, digest_output, make_trace
from timeline.reasoning.world import Answer, MediatedAnswer, ReaderView, World
from timeline.reasoning_reading import consenting, head_of, read_graph, read_policy
from timeline.registered import read_register
from timeline.state import State
from timeline.world import ledger
from timeline.world.scope import Reader

AS_OF_PREFIX: Final = "as-of:"
_AS_OF_HEX: Final = 32
_SALT_PERSON: Final = b"timeline/trace/1"
"""Domain of a trace's salt: the same key can never be used to mean another thing."""


class Resolved(msgspec.Struct, frozen=True):
    """What a reader is told about a question at a moment (UTC milliseconds); ``as_of`` is the token of the answer."""

    query: Query
    purpose: str | None
    answer: Answer
    as_of: str


class AskedUnit(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an answer as its writer gives it.

    ``value`` is the RFC 8785 text of what is asserted; where it is ``None``, ``text`` is said about what is recorded.
    ``at`` is the moment that it says it speaks of (UTC milliseconds), ``as_of`` the token of the answer it rests on.
    """

    id: str
    subject: str
    predicate: str
    value: str | None = None
    text: str | None = None
    at: int | None = None
    as_of: str | None = None


class Checked(msgspec.Struct, frozen=True):
    """What became of a unit: its text if it was released; else the rule that held it back, and what may be said."""

    id: str
    disposition: Literal["passed", "qualified", "blocked"]
    text: str | None
    rule: Literal["head", "time", "view"] | None = None
    instead: tuple[str, ...] = ()


class CheckedAnswer(msgspec.Struct, frozen=True):
    """A mediated answer for its reader, its units in their order; ``trace`` names what was kept of it."""

    units: tuple[Checked, ...]
    trace: str

    @property
    def is_bounded(self) -> bool:
        """Whether every unit was released, so that the answer may go out whole (P41)."""
        return all(unit.disposition != "blocked" for unit in self.units)

    @property
    def text(self) -> str:
        """What may be said: the sentences of the units that were released."""
        return "\n".join(unit.text for unit in self.units if unit.text is not None)


def resolve_question(
    state: State, reader: Reader, subject: str, predicate: str, *, at: int | None = None
) -> Resolved:
    """What ``reader`` may be told about a predicate of a subject, now or at a moment that its words name then.

    Raises:
        WorldStateError: the ledger holds what breaks the rules (W65).
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    reader = consenting(state, reader)
    view = _view(state, reader, [(subject, predicate)])
    query = Query(subject, predicate, ledger.now_ms(state) if at is None else at)
    answer = view.resolve(query, at)
    return Resolved(query, reader.purpose, answer, as_of_token(query, reader.purpose, answer.view))


def mediate_answer(state: State, reader: Reader, units: Sequence[AskedUnit], *, name: str) -> CheckedAnswer:
    """Check an answer unit by unit and keep the trace of it as a leaf; the caller holds the writer lock.

    Raises:
        MediationInvalidError: the units are not an answer, or an answer of this name was checked before.
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: see ``resolve_question``.
    """
    answer, trace = check_units(state, reader, units, name=name)
    if state.view.register.count and read_register(state, Kind.MEDIATION_TRACE, trace.id):
        # Two traces of one name would have one salt, and show which of their contents are equal.
        message = "an answer of this call was checked already"
        raise MediationInvalidError(message)
    state.commit([trace])
    return answer


def check_units(
    state: State, reader: Reader, units: Sequence[AskedUnit], *, name: str
) -> tuple[CheckedAnswer, MediationTraceEntry]:
    """Check an answer unit by unit: what its reader gets, and the trace that is to be kept before he does.

    ``name`` are 32 hex digits that name this answer and no other. A unit whose token is not that of the answer as it
    is now rests on something that has changed since, and is held back for that (P37).

    Raises:
        MediationInvalidError: the units are not an answer.
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: see ``resolve_question``.
    """
    reader = consenting(state, reader)
    view = _view(state, reader, [(unit.subject, unit.predicate) for unit in units])
    now, here, trace, salt = ledger.now_ms(state), head_of(state), f"trace:{name}", _salt_of(state, name)
    asked = {unit.id: _unit_of(unit, now) for unit in units}
    if not asked or len(asked) != len(units):
        message = "units: there must be some, each with an id of its own"
        raise MediationInvalidError(message)
    moved = {unit.id for unit in units if _has_moved(view, reader, unit, now)}
    found: dict[str, Checked] = {}
    bindings: dict[str, TracedUnit] = {}
    # What has moved on was written from an older head. Which one that was its reader was never told.
    for emission, names in (
        (here, [name for name in asked if name not in moved]),
        (Head(here.size + 1, here.root), [name for name in asked if name in moved]),
    ):
        if names:
            some = [asked[name] for name in names]
            mediated = view.mediate(some, here, emission, emitted_at=now, trace_id=trace, salt=salt)
            found |= _checked(mediated.answer, asked)
            bindings |= {one.unit: one for one in mediated.trace.units}
            policy = mediated.trace.policy
    answer = CheckedAnswer(tuple(found[unit.id] for unit in units), trace)
    texts = [unit.text for unit in answer.units if unit.text is not None]
    kept = tuple(bindings[unit.id] for unit in units)
    output = digest_output(texts, Seal(salt))
    return answer, make_trace(trace, kept, (here, here), now, policy, output)


def as_of_token(query: Query, purpose: str | None, view: View) -> str:
    """What stands for an answer: another one has another token, whatever else has changed in the log."""
    content = {
        "schema": "timeline-as-of/v1",
        "subject": query.subject,
        "predicate": query.predicate,
        "modality": query.modality,
        "purpose": purpose,
        "view": msgspec.to_builtins(view, order="deterministic"),
    }
    return AS_OF_PREFIX + hashlib.sha256(canonical_bytes(content)).hexdigest()[:_AS_OF_HEX]


# -- the parts -------------------------------------------------------------------------------------------------


def _view(state: State, reader: Reader, questions: Sequence[tuple[str, str]]) -> ReaderView:
    world = World(read_graph(state, reader, questions), read_policy(state))
    return world.view(reader.name, reader.purpose, reader.task)


def _has_moved(view: ReaderView, reader: Reader, unit: AskedUnit, now: int) -> bool:
    if unit.as_of is None:
        return False
    # The token may be of the answer as it is now, or of that about the moment of which the unit speaks.
    queries = [Query(unit.subject, unit.predicate, at) for at in (now, unit.at) if at is not None]
    return unit.as_of not in {
        as_of_token(query, reader.purpose, view.resolve(query).view) for query in queries
    }


def _unit_of(unit: AskedUnit, now: int) -> Unit:
    query = Query(unit.subject, unit.predicate, now if unit.at is None else unit.at)
    if unit.value is not None:
        proposition = Proposition(unit.subject, unit.predicate, unit.value)
        return ContentUnit(unit.id, query, proposition, unit.at)
    return StatusUnit(unit.id, query, unit.text or "", unit.at)


def _checked(answer: MediatedAnswer, asked: Mapping[str, Unit]) -> dict[str, Checked]:
    found = {one.unit: Checked(one.unit, one.disposition.value, one.text) for one in answer.released}
    for held in answer.diagnostics:
        unit = asked[held.unit]
        instead = () if held.view is None else render_set(held.view, unit.query, unit.as_of)
        found[held.unit] = Checked(held.unit, "blocked", None, held.rule, instead)
    return found


def _salt_of(state: State, name: str) -> bytes:
    """The salt of a trace, which is kept nowhere: only who has the timeline's own key can make it again."""
    return hashlib.blake2b(
        name.encode(), key=state.keystore.fingerprint_key, person=_SALT_PERSON, digest_size=SALT_BYTES
    ).digest()
