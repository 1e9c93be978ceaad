"""What the tools of the world model may be asked: closed, bounded, and part of what a permit covers."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.guard.callers import binding
from tests.guard.test_request import ENTRIES, LEAST
from tests.simulators.worlds import refusal_of
from timeline.guard.request import Request, Tool, bound_input, parse_request

SUGGESTED: dict[str, Any] = {
    **LEAST[Tool.RECORD],
    "value": {"steps": [1, 2.5, "make"], "ready": True},
    "evidenceId": "note:heard",
    "evidenceDigest": "0f" * 32,
    "observedAt": "2026-08-20T10:00:00Z",
    "expiresAt": "2026-08-21T10:00:00.001Z",
    "knowledgeKind": "error-lesson",
    "privacy": "shared",
    "reason": "it was slow",
    "startsAt": "2026-08-20T10:30:00Z",
    "purposes": ["planning", "payroll"],
    "about": "person:kim",
    "derivation": {
        "role": "hypothesis",
        "rule": "rule.guess",
        "alternatives": [["assertion:b", "assertion:a"], ["assertion:c"]],
    },
}
QUESTION: dict[str, Any] = {
    "subjectId": "task:default",
    "predicate": "build.tool",
    "purpose": "planning",
    "at": "2026-08-20T10:00:00.001Z",
    "asOf": "as-of:0",
}
UNIT: dict[str, Any] = {
    "id": "u1",
    "subjectId": "task:default",
    "predicate": "build.tool",
    "value": {"steps": [1, 2.5]},
    "at": "2026-08-20T10:00:00.001Z",
    "asOf": "as-of:0",
}
STATUS: dict[str, Any] = {
    "id": "u2",
    "subjectId": "task:default",
    "predicate": "build.tool",
    "status": "Nothing.",
}
ANSWERED: dict[str, Any] = {"units": [UNIT, STATUS], "purpose": "planning"}
IN_WORDS: dict[str, Any] = {"text": "All tests pass.\nReally.", "purpose": "planning"}
INTERPRETED: dict[str, Any] = {
    **LEAST[Tool.CAPTURE],
    "interpretation": {
        "schema": "agentspine.timeline-user-feedback-interpretation-request/v1",
        "feedbackAssertionId": "assertion:user-feedback-" + "0" * 32,
        "targetAssertionId": "assertion:timeline-" + "0" * 32,
        "kind": "ambiguous",
        "proposedNextStepSummary": None,
        "clarificationQuestion": "Which of the two?",
    },
}
VIEWED: dict[str, Any] = {
    "subjectId": "task:default",
    "includePrivate": True,
    "includeKnowledgeHistory": True,
    "continuationTaskId": "task:default",
    "maxItems": 7,
}
INVALID, GROUP = "timeline-request-invalid", "timeline-group-suppressed"


@pytest.mark.requirement("D7", "T18", "T42", "W2")
@pytest.mark.parametrize(
    ("tool", "asked", "field", "other"),
    [
        *(
            (Tool.RECORD, SUGGESTED, field, other)
            for field, other in {
                "id": "note:two",
                "subjectId": "task:other",
                "predicate": "build.other",
                "value": {"steps": [1, 2.5, "make"], "ready": False},
                "evidenceKind": "objective-measurement",
                "evidenceId": "note:seen",
                "evidenceDigest": "1f" * 32,
                "observedAt": "2026-08-20T10:00:00.001Z",
                "expiresAt": None,
                "knowledgeKind": "fact",
                "privacy": None,
                "reason": "it was slower",
                "startsAt": None,
                "purposes": ["planning"],
                "about": "person:lee",
                "derivation": {"role": "hypothesis", "alternatives": [["assertion:a"]]},
            }.items()
        ),
        *(
            (Tool.RESOLVE, QUESTION, field, other)
            for field, other in {
                "subjectId": "task:other",
                "predicate": "build.other",
                "purpose": None,
                "at": "2026-08-20T10:00:00Z",
                "asOf": "as-of:1",
            }.items()
        ),
        *(
            (Tool.MEDIATE, ANSWERED, "units", [{**UNIT, field: other}, STATUS])
            for field, other in {
                "id": "u3",
                "subjectId": "task:other",
                "predicate": "build.other",
                "value": {"steps": [1]},
                "at": None,
                "asOf": None,
            }.items()
        ),
        (Tool.MEDIATE, ANSWERED, "units", [UNIT]),
        (Tool.MEDIATE, ANSWERED, "units", [STATUS, UNIT]),
        (Tool.MEDIATE, ANSWERED, "units", [UNIT, {**STATUS, "status": "Something."}]),
        (Tool.MEDIATE, ANSWERED, "purpose", "payroll"),
        (Tool.MEDIATE, IN_WORDS, "text", "All tests pass."),
        *(
            (Tool.CONTEXT, VIEWED, field, other)
            for field, other in {
                "subjectId": None,
                "includePrivate": False,
                "includeKnowledgeHistory": None,
                "continuationTaskId": "task:other",
                "maxItems": 8,
            }.items()
        ),
        (Tool.CAPTURE, INTERPRETED, "interpretation", None),
        (
            Tool.CAPTURE,
            INTERPRETED,
            "interpretation",
            {**INTERPRETED["interpretation"], "clarificationQuestion": "Which?"},
        ),
    ],
)
def test_a_permit_covers_every_field(tool: Tool, asked: dict[str, Any], field: str, other: object) -> None:
    """A call that differs in one field is another request than the permitted one."""
    bound = binding()

    def digest(arguments: dict[str, Any]) -> str:
        return parse_request(tool, arguments).digest(bound, "e", "s")

    assert digest(asked) == digest(dict(reversed(asked.items())))
    assert digest({**asked, field: other}) != digest(asked)


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        (Tool.RECORD, SUGGESTED),
        (Tool.CONTEXT, VIEWED),
        (Tool.CAPTURE, INTERPRETED),
        (Tool.RESOLVE, QUESTION),
        (Tool.MEDIATE, ANSWERED),
        (Tool.MEDIATE, IN_WORDS),
    ],
)
def test_what_the_hook_hands_on_is_the_same_request(tool: Tool, asked: dict[str, Any]) -> None:
    """A host that takes changed arguments asks with them; the permit is for both."""
    bound = binding()
    request = parse_request(tool, asked)

    handed = parse_request(tool, bound_input(request, bound, None))

    assert handed.fields() == request.fields()
    assert handed.digest(bound, "e", "s") == request.digest(bound, "e", "s")


def test_a_number_is_the_same_in_every_spelling() -> None:
    """Hosts that write 1.0 as 1 ask the same (RFC 8785)."""
    whole, fraction = ({**SUGGESTED, "value": [number]} for number in (1, 1.0))

    def digest(arguments: dict[str, Any]) -> str:
        return parse_request(Tool.RECORD, arguments).digest(binding(), None, None)

    assert digest(whole) == digest(fraction)


@pytest.mark.requirement("W2", "W3", "W56")
@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        *(({name: None}, INVALID) for name in LEAST[Tool.RECORD]),
        *(({name: ""}, INVALID) for name in ("id", "subjectId", "predicate", "evidenceId", "reason")),
        ({"id": " "}, INVALID),
        ({"id": "x" * 225}, INVALID),
        ({"subjectId": "task:\n"}, INVALID),
        ({"predicate": "p" * 129}, INVALID),
        ({"value": float("nan")}, INVALID),
        ({"value": 2**53}, INVALID),
        ({"value": "x" * 8191}, INVALID),
        ({"value": [[]] * 5000}, INVALID),
        ({"value": "\ud800"}, INVALID),
        ({"evidenceDigest": "0F" * 32}, INVALID),
        ({"evidenceDigest": "0f" * 31}, INVALID),
        ({"observedAt": "2026-08-20T10:00:00"}, INVALID),
        ({"expiresAt": "2026-02-30T10:00:00Z"}, INVALID),
        ({"knowledgeKind": "truth"}, INVALID),
        ({"knowledgeKind": ["fact"]}, INVALID),
        ({"privacy": "public"}, INVALID),
        ({"privacy": "group"}, GROUP),
        ({"reason": "x" * 501}, INVALID),
        ({"supersedes": ["assertion:one"]}, INVALID),
        ({"supersedes": "assertion:one"}, INVALID),
    ],
)
def test_a_suggestion_outside_its_schema_is_refused(
    parse: Callable[[Tool, Any], Request], changes: dict[str, object], reason: str
) -> None:
    """At both entries alike."""
    assert refusal_of(lambda: parse(Tool.RECORD, {**SUGGESTED, **changes})) == reason


def test_an_empty_list_of_replaced_assertions_is_none() -> None:
    """Some hosts write out every list."""
    assert parse_request(Tool.RECORD, {**SUGGESTED, "supersedes": []}) == parse_request(
        Tool.RECORD, SUGGESTED
    )


@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    "changes",
    [
        {"subjectId": 7},
        {"subjectId": ""},
        {"continuationTaskId": ""},
        {"includePrivate": "yes"},
        {"includeKnowledgeHistory": 1},
        {"continuationTaskId": "x" * 225},
        *({"maxItems": size} for size in (0, 501, True, 7.0, "7")),
    ],
)
def test_a_view_outside_its_schema_is_refused(
    parse: Callable[[Tool, Any], Request], changes: dict[str, object]
) -> None:
    """At both entries alike."""
    assert refusal_of(lambda: parse(Tool.CONTEXT, {**VIEWED, **changes})) == INVALID


@pytest.mark.requirement("T18", "T42")
@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    "given",
    [
        "ambiguous",
        [],
        {**INTERPRETED["interpretation"], "completionVerified": True},
        {**INTERPRETED["interpretation"], "sourceText": "it is done"},
        {**INTERPRETED["interpretation"], "clarificationQuestion": "x" * 5000},
        {**INTERPRETED["interpretation"], "clarificationQuestion": float("inf")},
    ],
)
def test_an_interpretation_outside_its_schema_is_refused(
    parse: Callable[[Tool, Any], Request], given: object
) -> None:
    """Closed and bounded, whatever it says; an object of these fields is judged where the message is."""
    assert refusal_of(lambda: parse(Tool.CAPTURE, {**INTERPRETED, "interpretation": given})) == INVALID
    assert parse(Tool.CAPTURE, INTERPRETED).interpretation == INTERPRETED["interpretation"]


@pytest.mark.requirement("D7", "P38", "P46")
@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        *((Tool.RECORD, {**SUGGESTED, "purposes": words}) for words in ("planning", [], [1], ["a"] * 9)),
        *((Tool.RECORD, {**SUGGESTED, "about": about}) for about in ("", 1)),
        *(
            (Tool.RECORD, {**SUGGESTED, "derivation": derivation})
            for derivation in (
                [],
                {},
                {"role": "hypothesis"},
                {"role": "recorded-belief", "alternatives": [["assertion:a"]]},
                {"role": "hypothesis", "alternatives": "assertion:a"},
                {"role": "hypothesis", "alternatives": ["assertion:a"]},
                {"role": "hypothesis", "alternatives": [[]]},
                {"role": "hypothesis", "alternatives": [["assertion:a"]] * 9},
                {"role": "hypothesis", "alternatives": [["assertion:a"] * 17]},
                {"role": "hypothesis", "alternatives": [["assertion:a"]], "policy": 3},
            )
        ),
        *((Tool.RESOLVE, {**QUESTION, field: None}) for field in ("subjectId", "predicate")),
        *((Tool.RESOLVE, {**QUESTION, field: 1}) for field in QUESTION),
        (Tool.RESOLVE, {**QUESTION, "purpose": "x" * 33}),
        (Tool.MEDIATE, {}),
        (Tool.MEDIATE, {**ANSWERED, "text": "both"}),
        *((Tool.MEDIATE, {"text": text}) for text in ("", 1, "\ud800", "x" * (64 * 1024 + 1))),
        *((Tool.MEDIATE, {"units": units}) for units in ([], "u", {}, [1], [UNIT] * 21)),
        *((Tool.MEDIATE, {"units": [{**UNIT, field: 1}]}) for field in UNIT if field != "value"),
        (Tool.MEDIATE, {"units": [{**UNIT, "status": "both"}]}),
        (Tool.MEDIATE, {"units": [{**UNIT, "value": None}]}),
        (Tool.MEDIATE, {"units": [{**UNIT, "value": float("nan")}]}),
        (Tool.MEDIATE, {"units": [{**UNIT, "head": 7}]}),
    ],
)
def test_what_is_no_request_about_answers_is_refused(
    parse: Callable[[Tool, Any], Request], tool: Tool, given: dict[str, Any]
) -> None:
    """In the hook and in the server, with one reason and without a word of it."""
    assert refusal_of(lambda: parse(tool, given)) == INVALID
