"""The second half of the demonstration: what may be said of a captured run, a false claim caught, a name forgotten.

Nothing is played here: the capture reads the transcript again, the claims are compared with what was captured, and
the forgotten value is looked for in the bytes of every file, before and after.
"""

from typing import Final

import msgspec

from sidecars.proven import verify_bundle
from timeline import dialects, service
from timeline.answering import check_answer_of
from timeline.answers import Json
from timeline.capturing import Asked, capture
from timeline.demo_stage import Stage, must_refuse, require
from timeline.dialects import HookEvent
from timeline.forget_use import Named, apply_plan, plan_forgetting, verify_plan
from timeline.forgetting.scan import owned_files, search_files
from timeline.guard.asked_answer import parse_answer
from timeline.guard.request import Tool, parse_request
from timeline.prove import Proof, prove_event
from timeline.reasoning_use import resolve_question
from timeline.stop_telling import claims_at_stop, told_at_stop
from timeline.terms import parse_query
from timeline.world_use import OwnerStatement, record_statement
from timeline.world_view import Standpoint, standpoint

_TRUE: Final = "All 2 tests pass."
_FALSE: Final = "All 214 tests pass."
_SUBJECT: Final = "customer:17"
_PREDICATE: Final = "site.contact"
_NAME: Final = "Kim Roe, 14 Birch Lane, Springfield"


def tell_world(stage: Stage, source_ref: str) -> None:
    """Tell it of the source that is enrolled and indexed; the passing run of it is captured.

    Raises:
        DemoError: a step did not do what it says.
        TimelineError, SidecarError, AdapterError: a step was refused that must not be.
    """
    where = standpoint(stage.session, str(stage.project))
    event_id = _capture(stage, source_ref)
    _ask(stage, where)
    _stop(stage, source_ref)
    _mediate(stage, where)
    said = _record_name(stage, where)
    proof = prove_event(stage.session, str(stage.project), event_id)
    _forget(stage, where, said)
    _prove(stage, event_id, proof)


# -- what may be said ------------------------------------------------------------------------------------------


def _capture(stage: Stage, source_ref: str) -> str:
    """The agent captures the passing run, as its tool does once its permit is spent; the event's id."""
    stage.step("the agent captures the passing run (session_timeline_capture)")
    query = "pytest passed"
    answer, _ = service.find(stage.session, str(stage.project), query=parse_query(query.split()))
    event_id = answer.cards[0].event.id
    request = parse_request(Tool.CAPTURE, {"query": query, "eventId": event_id})
    with stage.session.writing() as state:
        (source,) = (one for one in state.view.active if one.enrollment.source.ref == source_ref)
        captured = capture(state, Asked(source, source, request, strict_formats=False))["captured"]
    require(captured["status"] == "confirmed", "a result that was read again is a measurement")
    stage.tell(f"{captured['predicate']} of {captured['subjectId']}: {captured['source']['kind']}")
    stage.proved("what was captured was read again in the transcript, and the log keeps it as a measurement")
    return event_id


def _ask(stage: Stage, where: Standpoint) -> None:
    subject, predicate = where.task.task or "", "task.timeline-result.pytest"
    stage.step(f"timeline world ask {subject} {predicate}")
    with stage.session.reading() as state:
        answer = resolve_question(state, where.task, subject, predicate).answer
        unknown = resolve_question(state, where.task, subject, "task.timeline-result.cargo").answer
    require(answer.view.standing == "supported", "one measurement supports the claim")
    require(unknown.view.standing == "unrecorded", "nothing was captured of another runner")
    for text in (*answer.status, *answer.contents):
        stage.tell(f"may be said: {text}")
    for text in unknown.status:
        stage.tell(f"of another runner: {text}")
    stage.proved("what is supported is said with its source, and what is not recorded is not made up")


def _stop(stage: Stage, source_ref: str) -> None:
    """What the hook shows the user when the agent ends with a claim that is not so."""
    stage.step(f'the agent stops and says "{_FALSE}" (the Stop hook)')
    with stage.session.reading() as state:
        (source,) = (one for one in state.view.active if one.enrollment.source.ref == source_ref)
        session = source.enrollment.binding.session
    event = HookEvent(
        host="codex", event=dialects.STOP, session=session, cwd=str(stage.project), message=_FALSE
    )
    told: Json = msgspec.json.decode(told_at_stop(stage.session, event, claims_at_stop(event)))
    require("contradicted" in told["systemMessage"], "the newest run contradicts the message")
    for line in told["systemMessage"].split("\n"):
        stage.tell(line)
    stage.proved("the user is told what the captured runs say; the agent's words are not kept")


def _mediate(stage: Stage, where: Standpoint) -> None:
    stage.step("timeline world mediate -, of the same claim and of a true one")
    found = []
    for text in (_FALSE, _TRUE):
        name = stage.session.ports.entropy.bytes(16).hex()
        with stage.session.writing() as state:
            answer = check_answer_of(state, where.task, parse_answer({"text": text}), name=name)
        (unit,) = answer["units"]
        found.append(unit["disposition"])
        stage.tell(f"{unit['disposition']:8}  {text}")
    require(found == ["blocked", "passed"], "only the true claim is released")
    stage.proved("only what a captured result says is released; of each answer the log keeps digests")


# -- forgetting ------------------------------------------------------------------------------------------------


def _record_name(stage: Stage, where: Standpoint) -> OwnerStatement:
    stage.step(f'timeline world record {_SUBJECT} {_PREDICATE} --text "…"')
    said = OwnerStatement(subject=_SUBJECT, predicate=_PREDICATE, value=_NAME)
    record_statement(stage.session, where, said)
    count = _files_with_the_name(stage)
    require(count > 0, "the name stands in a file before it is forgotten")
    stage.tell(f"a customer's name and address; files of Timeline in which they stand: {count}")
    return said


def _forget(stage: Stage, where: Standpoint, said: OwnerStatement) -> None:
    stage.step(f"timeline forget plan --subject {_SUBJECT}")
    planned = plan_forgetting(stage.session, Named(subject=_SUBJECT), "redact")
    for target in planned.targets:
        stage.tell(f"would be erased: leaf {target.leaf}, {target.kind} about {_SUBJECT}")
    stage.tell(f"not covered: {', '.join(planned.plan.not_covered)}")

    stage.step(f"timeline forget apply --plan {planned.digest[:8]}… --confirmed")
    applied = apply_plan(stage.session, planned.digest, confirmed=True)
    require(applied.is_complete, "the plan was carried out whole")
    stage.tell(f"what came of it is signed: leaf {applied.leaf}")

    stage.step(f"timeline forget verify --plan {planned.digest[:8]}… --value-file -")
    verified = verify_plan(stage.session, planned.digest, [_NAME.encode()])
    require(verified.ok and _files_with_the_name(stage) == 0, "the name is in no file any more")
    for check in verified.checks:
        if check.name in {"leaves", "raw-bytes"}:
            stage.tell(f"{check.name}: {check.detail}")
    reason = must_refuse(lambda: record_statement(stage.session, where, said))
    require(reason == "forgotten", "the name is not taken in again")
    stage.proved("the name is gone from every file, and refused when it comes again")


def _prove(stage: Stage, event_id: str, before: Proof) -> None:
    stage.step("timeline verify-proof, of the passing run: made before the forgetting, and after it")
    after = prove_event(stage.session, str(stage.project), event_id)
    for when, proof in (("before", before), ("after", after)):
        proven = verify_bundle(proof.content, proof.keys)
        require(proven.event == before.proven.event, "both proofs show the same run")
        stage.tell(f"{when}: leaf {proven.leaf_index} of {proven.checkpoint.size}, verified")
    stage.proved("an erased leaf keeps its hash, so that every other proof holds")


def _files_with_the_name(stage: Stage) -> int:
    """In how many files of ours the name stands, in whatever encoding."""
    searched = search_files(owned_files(stage.session.locations), [_NAME.encode()])
    require(not searched.unread, "every file can be read")
    return len({hit.file for hit in searched.hits})
