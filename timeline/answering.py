"""What a session's tools say about questions and about answers to be checked, as plain values (P4, P36).

Scope and route come from the session's own enrollment, never from an argument. The caller has spent a permit; to have
an answer checked, he holds the writer lock, since a trace of it is kept. Nothing here opens a transcript.
"""

import hashlib
from typing import Final

from sidecars.identity import strict_loads_with_floats
from sidecars.reasoned import UNITS_MAX
from timeline.answers import AUTHORITY, Json, session_ref
from timeline.binding import binding_of
from timeline.claimed import claimed_value, fits, predicates_for
from timeline.clock import format_utc
from timeline.guard.asked_answer import AnswerAsked, QuestionAsked
from timeline.reasoning.declassified import Content, Standing
from timeline.reasoning.extraction import Unit, UnitKind, extract
from timeline.reasoning.roles import Role
from timeline.reasoning_reading import consenting
from timeline.reasoning_use import (
    AskedUnit,
    Checked,
    CheckedAnswer,
    Resolved,
    mediate_answer,
    resolve_question,
)
from timeline.state import State
from timeline.view import EnrolledSource
from timeline.world import ledger
from timeline.world.assertion import canonical_text
from timeline.world.scope import Reader, for_purpose, is_visible, reader_of

ANSWER_SCHEMA: Final = "timeline-world-answer/v1"
MEDIATION_SCHEMA: Final = "timeline-world-mediation/v1"
_NAME_HEX: Final = 32

HINTS: Final = {
    "head": "what this rests on has changed: ask again with world_resolve",
    "time": "the unit speaks of a moment that has not come",
    "view": "nothing that is recorded lets you say this; leave it out, or say what stands under `instead`",
}
"""What can be done about a unit that was held back."""


def reader_for(own: EnrolledSource, purpose: str | None) -> Reader:
    """The reader that a session is, for a purpose."""
    return for_purpose(reader_of(binding_of(own.enrollment.binding)), purpose)


def answer_question(state: State, own: EnrolledSource, asked: QuestionAsked) -> Json:
    """How a question stands for a session, and what it may say about it.

    Raises:
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    reader = reader_for(own, asked.purpose)
    found = resolve_question(state, reader, asked.subject, asked.predicate, at=asked.at)
    current = {} if asked.as_of is None else {"current": asked.as_of == found.as_of}
    return {**resolved_json(found), **current}


def check_answer(state: State, own: EnrolledSource, asked: AnswerAsked, *, tool_use: str) -> Json:
    """Check the units of an answer, or the claims in a text; ``tool_use`` is the digest of the host's id of the call.

    Raises:
        MediationInvalidError: the units are not an answer.
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: the state is not to be believed or written.
    """
    # A host may number its calls anew in each session.
    named = f"{session_ref(own.enrollment)}\0{tool_use}"
    name = hashlib.sha256(named.encode()).hexdigest()[:_NAME_HEX]
    return check_answer_of(state, reader_for(own, asked.purpose), asked, name=name)


def check_answer_of(state: State, reader: Reader, asked: AnswerAsked, *, name: str) -> Json:
    """The same for any reader; ``name`` are 32 hex digits that name this answer and no other.

    Raises:
        MediationInvalidError, WorldStateError, IndexUnverifiedError, StateError, SidecarError: see ``check_answer``.
    """
    if asked.text is not None:
        return check_text(state, reader, asked.text, name=name)
    units = [
        AskedUnit(
            id=unit.id,
            subject=unit.subject,
            predicate=unit.predicate,
            value=None if unit.value is None else canonical_text(unit.value),
            text=unit.status,
            at=unit.at,
            as_of=unit.as_of,
        )
        for unit in asked.units
    ]
    return checked_json(mediate_answer(state, reader, units, name=name))


def check_text(state: State, reader: Reader, text: str, *, name: str) -> Json:
    """Look for claims in a text, and check each against what was captured of the reader's task.

    Raises:
        WorldStateError, IndexUnverifiedError, StateError, SidecarError: the state is not to be believed or written.
    """
    claims = extract(text)
    shown = claims[:UNITS_MAX]
    task = reader.task or "task:default"
    units = [
        unit
        for number, claim in enumerate(shown, 1)
        for unit in _units_of(state, reader, task, number, claim)
    ]
    places = {
        f"claim-{number}": {"kind": claim.kind.value, "start": claim.start, "end": claim.end}
        for number, claim in enumerate(shown, 1)
    }
    if not units:
        return {
            "schema": MEDIATION_SCHEMA,
            "blocked": False,
            "status": "no-claims",
            "reason": None,
            "units": [],
            "text": "",
            "heuristic": True,
            "authority": AUTHORITY,
        }
    answer = mediate_answer(state, reader, units[:UNITS_MAX], name=name)
    left_out = len(claims) - len(shown) + len(units[UNITS_MAX:])
    found = {**checked_json(answer, places), "heuristic": True}
    # A claim that was not looked at is not released: such a text must not go out whole.
    return {**found, "status": "held-back", "claimsOmitted": left_out} if left_out else found


# -- claims ----------------------------------------------------------------------------------------------------


def _units_of(state: State, reader: Reader, task: str, number: int, claim: Unit) -> list[AskedUnit]:
    """One unit for each result that a claim is about; the first bears the claim's own name."""
    seen = consenting(state, reader)
    current = ledger.read_current(state, task, tenant=reader.tenant, project=reader.project)
    captured = {one.entry.predicate for one in current if is_visible(one.entry, seen)}
    units = []
    for place, predicate in enumerate(predicates_for(claim, captured)):
        found = resolve_question(state, reader, task, predicate)
        units.append(
            AskedUnit(
                id=f"claim-{number}" if place == 0 else f"claim-{number}.{place}",
                subject=task,
                predicate=predicate,
                value=_value_for(claim, found),
            )
        )
    return units


def _value_for(claim: Unit, found: Resolved) -> str:
    """The value that is supported, where the claim says that; else the claim itself, which is supported by nothing."""
    if found.answer.view.standing is Standing.SUPPORTED:
        for content in found.answer.view.contents:
            value = content.proposition.value
            # Of a result only a measurement counts here, and no interpretation of one.
            if _is_measured(claim, content) and fits(claim, strict_loads_with_floats(value.encode())):
                return value
    return canonical_text(claimed_value(claim))


def _is_measured(claim: Unit, content: Content) -> bool:
    # A task is completed by a measurement alone: the ledger takes no other continuation that says so.
    is_task = claim.kind is UnitKind.COMPLETED
    return is_task or any(source.role is Role.OBSERVED_EVENT for source in content.sources)


# -- the form --------------------------------------------------------------------------------------------------


def resolved_json(found: Resolved) -> Json:
    """An answer to a question. No time of the asking and nothing of the log stands in it (X12)."""
    answer = found.answer
    is_supported = answer.view.standing is Standing.SUPPORTED
    return {
        "schema": ANSWER_SCHEMA,
        "blocked": False,
        "status": answer.view.standing.value,
        "reason": None,
        "subjectId": found.query.subject,
        "predicate": found.query.predicate,
        "purpose": found.purpose,
        "say": [*answer.status, *answer.contents],
        "contents": [_content_json(one) for one in answer.view.contents] if is_supported else [],
        "asOf": found.as_of,
        "authority": AUTHORITY,
    }


def checked_json(answer: CheckedAnswer, places: dict[str, Json] | None = None) -> Json:
    """A checked answer; ``places`` says of a unit that was found in a text where it stands."""
    units = [
        {**_unit_json(unit), **(places or {}).get(unit.id.partition(".")[0], {})} for unit in answer.units
    ]
    return {
        "schema": MEDIATION_SCHEMA,
        "blocked": False,
        "status": "bounded" if answer.is_bounded else "held-back",
        "reason": None,
        "units": units,
        "omitted": {"units": 0},
        "text": answer.text,
        "traceId": answer.trace,
        "authority": AUTHORITY,
    }


def _content_json(content: Content) -> Json:
    return {
        "value": strict_loads_with_floats(content.proposition.value.encode()),
        "sources": [
            {"assertionId": one.id, "role": one.role.value, "observedAt": format_utc(one.observed_at)}
            for one in content.sources
        ],
    }


def _unit_json(unit: Checked) -> Json:
    found: Json = {"id": unit.id, "disposition": unit.disposition}
    if unit.text is not None:
        return {**found, "text": unit.text}
    return {
        **found,
        "rule": unit.rule,
        "instead": list(unit.instead),
        "hint": HINTS[unit.rule or "view"],
    }
