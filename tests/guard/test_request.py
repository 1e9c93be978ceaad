"""A tool's request: its bounds, what it may claim, what never gets through, and what its digest covers."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.guard.callers import MAIN, binding
from tests.simulators.worlds import refusal_of
from timeline.binding import Binding, Route
from timeline.guard.request import (
    FIELDS,
    Request,
    Tool,
    bound_input,
    check_claims,
    enrollment_digest,
    parse_request,
    parse_tool_input,
    tool_named,
    with_project,
)

EVENT = "timeline-event:" + "0f" * 16
ENROLLMENT = "timeline-enrollment:" + "a" * 32
ENTRIES: tuple[Callable[[Tool, Any], Request], ...] = (parse_request, parse_tool_input)
LEAST: dict[Tool, dict[str, object]] = {
    Tool.INDEX: {},
    Tool.SEARCH: {"query": "pytest failed"},
    Tool.CAPTURE: {"query": "pytest failed", "eventId": EVENT},
    Tool.STATUS: {},
    Tool.RECORD: {
        "id": "note:one",
        "subjectId": "task:default",
        "predicate": "build.tool",
        "value": "make",
        "evidenceKind": "model-suggestion",
    },
    Tool.CONTEXT: {},
    Tool.BRIEFING: {},
    Tool.RESOLVE: {"subjectId": "task:default", "predicate": "build.tool"},
    Tool.MEDIATE: {
        "units": [{"id": "u1", "subjectId": "task:default", "predicate": "build.tool", "value": "make"}]
    },
}
WHOLE = binding(goal="goal-1", route=Route("portal-1", "thread-1"))
CLAIMS = {
    "root": "/srv/demo",
    "sessionId": MAIN,
    "host": "codex",
    "entityId": None,
    "userId": "ann",
    "tenantId": "local",
    "projectId": "/srv/demo",
    "taskId": "default",
    "goalId": "goal-1",
    "goalStepId": None,
    "portalRef": "portal-1",
    "threadRef": "thread-1",
    "timelineVisibility": "private-verified",
    "enrollmentDigest": enrollment_digest(ENROLLMENT),
}
SNAKE = {name: "".join("_" + c.lower() if c.isupper() else c for c in name) for name in CLAIMS}


# -- names -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("tool", Tool)
def test_our_tools_are_known_by_their_server(tool: Tool) -> None:
    """The server and the plugin's server; the same name of another server is not ours."""
    assert tool_named(f"mcp__timeline__{tool}") is tool
    assert tool_named(f"mcp__plugin_timeline_timeline__{tool}") is tool
    assert tool_named(f"mcp__plugin-timeline_timeline__{tool}") is tool
    for other in ("", "mcp__other__", "mcp__timeline2__", "mcp__mcp__timeline__", "mcp__timeline__x_"):
        assert tool_named(f"{other}{tool}") is None
    assert tool_named("Bash") is None
    assert tool_named("mcp__timeline__session_timeline_delete") is None


# -- bounds ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T16", "T19")
@pytest.mark.parametrize("size", [65_536, 1_000_000, 16_777_216])
def test_index_takes_a_byte_budget(size: int) -> None:
    """Within its bounds as given, and 4 MiB without."""
    assert parse_request(Tool.INDEX, {"maxBytes": size}).max_bytes == size
    assert parse_request(Tool.INDEX, {}).max_bytes == 4_194_304


@pytest.mark.requirement("T16", "T19")
@pytest.mark.parametrize("size", [65_535, 16_777_217, 0, -1, True, "65536", 65_536.0, [65_536]])
def test_another_budget_is_refused(size: object) -> None:
    """Outside the bounds, or no integer."""
    assert refusal_of(lambda: parse_request(Tool.INDEX, {"maxBytes": size})) == "timeline-request-invalid"


@pytest.mark.requirement("T17", "T20")
def test_search_takes_a_time_or_terms_and_two_switches() -> None:
    """As the reference names them; what is not given has its default."""
    full = parse_request(
        Tool.SEARCH,
        {
            "at": "2026-08-20T10:00:00Z",
            "query": "pytest failed",
            "windowSeconds": 900,
            "includePriorSessions": True,
            "includePriorProviders": True,
        },
    )
    least = parse_request(Tool.SEARCH, {"at": "2026-08-20T10:00:00.001Z"})

    assert (full.at_ms, full.window_seconds) == (1_787_220_000_000, 900)
    assert full.query is not None
    assert [term.text for term in full.query.terms] == ["pytest", "fail"]
    assert (full.prior_sessions, full.prior_providers) == (True, True)
    assert (least.at_ms, least.query, least.window_seconds) == (1_787_220_000_001, None, 0)
    assert (least.prior_sessions, least.prior_providers) == (False, False)


@pytest.mark.requirement("T17", "T20", "T26")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"query": None}, "timeline-request-invalid"),
        ({"query": "ab"}, "timeline-request-invalid"),
        ({"query": "pytest failed" + " " * 500}, "timeline-request-invalid"),
        ({"query": 7}, "timeline-request-invalid"),
        ({"query": "pytest\nfailed"}, "timeline-request-invalid"),
        ({"query": "pytest"}, "query-invalid"),
        ({"query": "pytest failed passed"}, "query-invalid"),
        ({"query": "zzzzzzzz qqqqqqqq"}, "query-invalid"),
        ({"at": "2026-08-20T10:00:00"}, "timeline-request-invalid"),
        ({"at": "2026-08-20T12:00:00+02:00"}, "timeline-request-invalid"),
        ({"at": "2026-08-20"}, "timeline-request-invalid"),
        ({"at": "2026-02-30T10:00:00Z"}, "timeline-request-invalid"),
        ({"at": 1_787_220_000_000}, "timeline-request-invalid"),
        ({"windowSeconds": 901}, "timeline-request-invalid"),
        ({"windowSeconds": -1}, "timeline-request-invalid"),
        ({"windowSeconds": True}, "timeline-request-invalid"),
        ({"includePriorSessions": 1}, "timeline-request-invalid"),
        ({"includePriorProviders": True}, "timeline-request-invalid"),
        ({"includePriorSessions": False, "includePriorProviders": True}, "timeline-request-invalid"),
    ],
)
def test_another_search_is_refused(changes: dict[str, object], reason: str) -> None:
    """At both entries alike."""
    for parse in ENTRIES:
        asked = {"query": "pytest failed", **changes}
        assert refusal_of(lambda parse=parse, asked=asked: parse(Tool.SEARCH, asked)) == reason


@pytest.mark.parametrize("event", [None, "", "timeline-event:", EVENT[:-1], EVENT + "0", EVENT.upper(), 7])
def test_capture_needs_an_event(event: object) -> None:
    """By the id of a card, and by nothing else."""
    arguments = {"query": "pytest failed", "eventId": event}

    assert parse_request(Tool.CAPTURE, LEAST[Tool.CAPTURE]).event_id == EVENT
    assert refusal_of(lambda: parse_request(Tool.CAPTURE, arguments)) in {
        "timeline-request-invalid",
        "query-invalid",
    }
    assert refusal_of(lambda: parse_request(Tool.CAPTURE, {"eventId": EVENT})) == "timeline-request-invalid"


# -- what is no part of the request ----------------------------------------------------------------------------


@pytest.mark.requirement("T8", "T30")
@pytest.mark.parametrize("tool", Tool)
@pytest.mark.parametrize(
    "name", ["sourceText", "evidenceKind", "subjectId", "maxbytes", "path", "receipt", "transcript_path"]
)
def test_an_unknown_field_is_dropped_by_the_hook_and_refused_by_the_server(tool: Tool, name: str) -> None:
    """The hook hands on what is asked for; the server's schema is closed, flat and nested."""
    if name in FIELDS[tool]:
        return
    arguments = {**LEAST[tool], name: "x"}
    nested = {**LEAST[tool], "agent_spine_scope": {name: "x"}}

    plain = parse_request(tool, LEAST[tool])
    assert parse_tool_input(tool, arguments) == plain
    assert parse_tool_input(tool, nested) == plain
    assert refusal_of(lambda: parse_request(tool, arguments)) == "timeline-request-invalid"
    assert refusal_of(lambda: parse_request(tool, nested)) == "timeline-request-invalid"


@pytest.mark.requirement("T8", "T30")
@pytest.mark.parametrize("tool", Tool)
@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    "name", ["group", "groupId", "group_id", "GROUPID", "group-id", "groups", "groupRef"]
)
@pytest.mark.parametrize("value", ["g1", "", 0, False, [], {}])
def test_a_group_is_refused_whatever_it_is(tool: Tool, parse: Any, name: str, value: object) -> None:
    """Flat or nested, at both entries, in any spelling; only null is no group."""
    for arguments in ({**LEAST[tool], name: value}, {**LEAST[tool], "agent_spine_scope": {name: value}}):
        assert refusal_of(lambda a=arguments: parse(tool, a)) == "timeline-group-suppressed"
    for arguments in ({**LEAST[tool], name: None}, {**LEAST[tool], "agent_spine_scope": {name: None}}):
        assert parse(tool, arguments) == parse_request(tool, LEAST[tool])


@pytest.mark.requirement("T8", "T30")
@pytest.mark.parametrize("tool", Tool)
@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize(
    "name", ["accessProof", "invocationPermit", "transportDigest", "access_proof", "TransportDigest"]
)
def test_a_smuggled_proof_is_refused(tool: Tool, parse: Any, name: str) -> None:
    """Flat or nested, also as null: nobody puts it there by accident."""
    for value in ("x", None):
        for arguments in ({**LEAST[tool], name: value}, {**LEAST[tool], "agent_spine_scope": {name: value}}):
            assert refusal_of(lambda a=arguments: parse(tool, a)) == "timeline-proof-smuggled"


# -- scope -----------------------------------------------------------------------------------------------------


def claimed(name: str, value: object, *, nested: bool = False) -> Request:
    """A search that claims one scope field."""
    claim = {"agent_spine_scope": {name: value}} if nested else {name: value}
    return parse_request(Tool.SEARCH, {**LEAST[Tool.SEARCH], **claim})


@pytest.mark.requirement("T7", "T8", "T12")
@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("nested", [False, True])
def test_a_claim_must_be_equal_to_the_binding(name: str, *, nested: bool) -> None:
    """Each field, camel or snake, flat or nested: equal passes, anything else is refused."""
    for spelling in (name, SNAKE[name]):
        check_claims(claimed(spelling, CLAIMS[name], nested=nested), WHOLE, ENROLLMENT)
        for other in ("foreign", None):
            if other == CLAIMS[name]:
                continue
            refused = refusal_of(
                lambda s=spelling, o=other: check_claims(claimed(s, o, nested=nested), WHOLE, ENROLLMENT)
            )
            assert refused == "timeline-scope-mismatch", (spelling, other)


@pytest.mark.requirement("T7")
@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("sessionId", {"session": "other"}),
        ("host", {"host": "kimi"}),
        ("userId", {"user": "bob"}),
        ("tenantId", {"tenant": "foreign"}),
        ("root", {"project": "/srv/other"}),
        ("projectId", {"project": "/srv/other"}),
        ("taskId", {"task": "release"}),
        ("goalId", {"goal": "goal-2"}),
        ("goalId", {"goal": None}),
        ("portalRef", {"route": Route("portal-2", "thread-1")}),
        ("threadRef", {"route": Route("portal-1", "thread-2")}),
        ("threadRef", {"route": None}),
    ],
)
def test_a_claim_of_one_session_is_none_of_another(claim: str, change: dict[str, Any]) -> None:
    """The same claim under a binding that differs in that field."""
    other = msgspec.structs.replace(WHOLE, **change)

    refused = refusal_of(lambda: check_claims(claimed(claim, CLAIMS[claim]), other, ENROLLMENT))

    assert refused == "timeline-scope-mismatch"


def test_another_enrollment_has_another_digest() -> None:
    """What was handed on under one consent is no claim under the next."""
    request = claimed("enrollmentDigest", enrollment_digest(ENROLLMENT))

    for other in (ENROLLMENT[:-1] + "b", None):
        assert refusal_of(lambda o=other: check_claims(request, WHOLE, o)) == "timeline-scope-mismatch"


@pytest.mark.requirement("T8")
@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("value", [7, "", [], {"a": 1}, True, "x" * 5000])
def test_a_claim_that_is_no_text_is_refused(name: str, value: object) -> None:
    """Of another type, empty, or beyond any name."""
    assert refusal_of(lambda: claimed(name, value)) == "timeline-scope-invalid"


@pytest.mark.requirement("T8")
@pytest.mark.parametrize("name", [name for name in CLAIMS if name not in {"root", "host"}])
def test_two_spellings_that_differ_are_a_conflict(name: str) -> None:
    """Whichever is right; the same value twice is one claim."""
    same = {**LEAST[Tool.SEARCH], name: "a", SNAKE[name]: "a"}
    assert parse_request(Tool.SEARCH, same).claims == {name: "a"}
    for second in (
        {SNAKE[name]: "b"},
        {"agent_spine_scope": {name: "b"}},
        {"agent_spine_scope": {name: None}},
    ):
        asked = {**LEAST[Tool.SEARCH], name: "a", **second}
        for parse in ENTRIES:
            refused = refusal_of(lambda p=parse, a=asked: p(Tool.SEARCH, a))
            assert refused == "timeline-scope-conflict"


@pytest.mark.parametrize("parse", ENTRIES)
@pytest.mark.parametrize("value", ["x", 7, [], True])
def test_a_scope_that_is_no_object_is_refused(parse: Any, value: object) -> None:
    """It would be read by somebody some day."""
    asked = {**LEAST[Tool.SEARCH], "agent_spine_scope": value}

    assert refusal_of(lambda: parse(Tool.SEARCH, asked)) == "timeline-scope-invalid"


def test_a_root_becomes_its_project() -> None:
    """A folder inside the project is the project; a relative path is nobody's."""
    inside = with_project(claimed("root", "/srv/demo/src"), lambda root: root.removesuffix("/src"))

    check_claims(inside, WHOLE, ENROLLMENT)
    for root in ("src", "./", "/srv/demo\n"):
        refused = refusal_of(lambda r=root: with_project(claimed("root", r), lambda _: "/srv/demo"))
        assert refused == "timeline-scope-invalid"


# -- the digest ------------------------------------------------------------------------------------------------


def digest(
    request: Request, bound: Binding = WHOLE, enrollment: str = ENROLLMENT, source: str = "source:1"
) -> str:
    """The request's digest under a whole binding."""
    return request.digest(bound, enrollment, source)


@pytest.mark.requirement("T15", "T7")
def test_the_digest_covers_tool_binding_enrollment_source_and_request() -> None:
    """Whatever is another call has another digest."""
    base: dict[str, object] = {"at": "2026-08-20T10:00:00Z", "query": "pytest failed"}
    search = parse_request(Tool.SEARCH, base)
    requests = [
        search,
        *(
            parse_request(Tool.SEARCH, {**base, **change})
            for change in (
                {"at": "2026-08-20T10:00:00.001Z"},
                {"at": None},
                {"query": "pytest passed"},
                {"query": None},
                {"windowSeconds": 1},
                {"includePriorSessions": True},
                {"includePriorSessions": True, "includePriorProviders": True},
            )
        ),
        parse_request(Tool.CAPTURE, {**base, "eventId": EVENT}),
        parse_request(Tool.CAPTURE, {**base, "eventId": EVENT.replace("f", "e")}),
        parse_request(Tool.INDEX, {}),
        parse_request(Tool.INDEX, {"maxBytes": 65_536}),
        parse_request(Tool.STATUS, {}),
    ]
    changed = [
        msgspec.structs.replace(WHOLE, **change)
        for change in (
            {"host": "kimi"},
            {"session": "other"},
            {"user": "bob"},
            {"tenant": "foreign"},
            {"project": "/srv/other"},
            {"task": "release"},
            {"goal": None},
            {"route": None},
            {"route": Route("portal-2", "thread-1")},
            {"route": Route("portal-1", "thread-2")},
        )
    ]

    found = [digest(request) for request in requests]
    found += [digest(search, bound) for bound in changed]
    found += [digest(search, enrollment="timeline-enrollment:b"), digest(search, source="source:2")]

    assert len(set(found)) == len(found) == len(requests) + len(changed) + 2


def test_the_digest_is_the_same_with_and_without_what_the_hook_hands_on() -> None:
    """A host that takes the changed arguments and one that does not ask the same."""
    for tool, arguments in LEAST.items():
        asked = parse_tool_input(tool, {**arguments, "sourceText": "x"})
        handed = bound_input(asked, WHOLE, ENROLLMENT)
        again = parse_request(tool, handed)
        check_claims(again, WHOLE, ENROLLMENT)
        assert set(handed) <= FIELDS[tool] | {"sessionId", "enrollmentDigest"}
        assert digest(again) == digest(asked) == digest(parse_request(tool, arguments))


@given(
    at=st.none() | st.integers(0, 4_102_444_800_000),
    window=st.integers(0, 900),
    words=st.sampled_from(["pytest failed", "pytest passed", "11 12", "cargo timeout"]),
    prior=st.booleans(),
)
def test_what_the_hook_hands_on_is_read_back(at: int | None, window: int, words: str, *, prior: bool) -> None:
    """Every request, with its time to the millisecond."""
    from timeline.clock import format_utc

    arguments = {"query": words, "windowSeconds": window, "includePriorSessions": prior}
    if at is not None:
        arguments["at"] = format_utc(at)
    asked = parse_request(Tool.SEARCH, arguments)

    again = parse_request(Tool.SEARCH, bound_input(asked, WHOLE, None))

    assert again.fields() == asked.fields()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    [
        *(*CLAIMS, *SNAKE.values(), "agent_spine_scope"),
        *sorted(name for fields in FIELDS.values() for name in fields),
    ]
)


@given(tool=st.sampled_from(Tool), arguments=st.dictionaries(_NAMES | st.text(max_size=8), _JSON, max_size=5))
def test_any_arguments_are_a_request_or_refused(tool: Tool, arguments: dict[str, Any]) -> None:
    """Nothing a model writes is an error of another kind; what is taken has a digest."""
    for parse in ENTRIES:
        found: list[Request] = []
        refused = refusal_of(lambda p=parse, f=found: f.append(p(tool, arguments)))
        assert refused is not None or len(digest(found[0])) == 64
