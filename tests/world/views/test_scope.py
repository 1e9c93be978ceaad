import re
from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry
from sidecars.errors import MalformedError
from tests.world.views.made import (
    HERE,
    NOW,
    OTHER_PROJECT,
    PROJECT,
    SUGGESTED,
    TASK,
    THERE,
    entry,
    reader,
    recorded,
)
from timeline.binding import Binding, Route
from timeline.world.assertion import RouteRefs, read_assertion
from timeline.world.context import format_context, world_context
from timeline.world.errors import WorldScopeError
from timeline.world.knowledge import format_knowledge, structured_knowledge
from timeline.world.scope import attached_route, is_visible, reader_of, route_refs, task_subject

OWN: dict[str, Any] = {"route": HERE, "task": TASK}
UNBOUND: dict[str, Any] = {}
GROUP: dict[str, Any] = {"private": False, "group": "team"}
PUBLIC: dict[str, Any] = {"private": False}
OWNER: dict[str, Any] = {"is_owner": True}

ABOUT_TASK: dict[str, Any] = {"subject": TASK, "knowledge": "task-state"}
BOUND: dict[str, Any] = {**ABOUT_TASK, "route": HERE}
PREFERENCE: dict[str, Any] = {
    "subject": "user:ada",
    "knowledge": "user-preference",
    "kind": "explicit-user-feedback",
}
LESSON: dict[str, Any] = {"subject": "project:main", "knowledge": "error-lesson"}
IN_TEAM: dict[str, Any] = {"privacy": "group", "group": "team"}
SHARED: dict[str, Any] = {"privacy": "shared"}

VISIBILITY: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("W58 a private one is its user's", {}, UNBOUND, True),
    ("W58 who does not ask for private ones gets none", {}, PUBLIC, False),
    ("W58 another user's private one", {"user": "bob"}, UNBOUND, False),
    ("W58 another user's private one, asked for by the owner", {"user": "bob"}, OWNER, False),
    ("W58 a shared one is everybody's", {**SHARED, "user": "bob"}, UNBOUND, True),
    ("W58 a shared one without private ones", SHARED, PUBLIC, True),
    ("W58 another tenant's shared one", {**SHARED, "tenant": "work"}, UNBOUND, False),
    ("W58 another tenant's, asked for by the owner", {**SHARED, "tenant": "work"}, OWNER, False),
    ("W58 a group's one outside of a group", IN_TEAM, UNBOUND, False),
    ("W58 a group's one for the owner outside of a group", IN_TEAM, OWNER, False),
    ("W59 a group sees its own", IN_TEAM, GROUP, True),
    ("W59 a group sees its own, whoever recorded it", {**IN_TEAM, "user": "bob"}, GROUP, True),
    ("W59 a group sees what is shared", SHARED, GROUP, True),
    ("W59 a group sees no other group's", {"privacy": "group", "group": "teams"}, GROUP, False),
    ("W59 a group is compared by letter", {"privacy": "group", "group": "Team"}, GROUP, False),
    ("W59 a group sees nothing private", {}, GROUP, False),
    ("W59 a group sees nothing private of the owner", {}, {**GROUP, **OWNER}, False),
    ("W60 of this project", SHARED, {"project": PROJECT}, True),
    ("W60 of another project", {**SHARED, "project": OTHER_PROJECT}, UNBOUND, False),
    ("W60 of a folder in the project", {**SHARED, "project": PROJECT + "/sub"}, UNBOUND, False),
    ("W60 of all projects", {**SHARED, "project": None}, {"project": PROJECT}, True),
    ("W60 of all projects, without a project", {**SHARED, "project": None}, {"project": None}, True),
    ("W60 of a project, without one", SHARED, {"project": None}, False),
    ("W60 of another project, for the owner", {**SHARED, "project": OTHER_PROJECT}, OWNER, False),
    ("W50 on its own route", BOUND, OWN, True),
    ("W50 on another thread of the same portal", BOUND, {**OWN, "route": THERE}, False),
    (
        "W50 on the same thread of another portal",
        BOUND,
        {**OWN, "route": RouteRefs("portal-ref:" + "9" * 32, HERE.thread)},
        False,
    ),
    ("W50 shared is no way around the route", {**BOUND, **SHARED}, {**OWN, "route": THERE}, False),
    ("W51 without a route", BOUND, {"task": TASK}, False),
    ("W51 without a route, shared", {**BOUND, **SHARED}, PUBLIC, False),
    ("W51 what is bound and has no kind", {"subject": TASK, "route": HERE}, {"task": TASK}, False),
    ("W51 a group without the route", {**BOUND, **IN_TEAM}, GROUP, False),
    ("W51 the owner's group without the route", {**BOUND, **IN_TEAM}, {**GROUP, **OWNER}, False),
    ("W51 a group on the route", {**BOUND, **IN_TEAM}, {**GROUP, **OWN}, True),
    ("W51 the owner reads every conversation", BOUND, OWNER, True),
    ("W52 unbound knowledge of a bound task", ABOUT_TASK, OWN, False),
    ("W52 unbound knowledge of the task, shared", {**ABOUT_TASK, **SHARED}, OWN, False),
    ("W52 a suggestion about the task, unbound", {**ABOUT_TASK, "kind": SUGGESTED}, OWN, False),
    ("W52 unbound words about the task without a kind", {"subject": TASK}, OWN, True),
    ("W52 unbound knowledge of another task", {**ABOUT_TASK, "subject": "task:other"}, OWN, True),
    ("W57 unbound knowledge of an unbound task", ABOUT_TASK, {"task": TASK}, True),
    ("W57 unbound knowledge for the owner", ABOUT_TASK, OWNER, True),
    ("W55 a preference here", PREFERENCE, OWN, True),
    ("W55 a preference on another thread", PREFERENCE, {**OWN, "route": THERE}, True),
    ("W55 a preference without a route", PREFERENCE, UNBOUND, True),
    ("W55 a preference keeps its project", {**PREFERENCE, "project": OTHER_PROJECT}, OWN, False),
    ("W55 a preference of all projects", {**PREFERENCE, "project": None}, OWN, True),
    ("W55 a preference stays private", PREFERENCE, {**GROUP, **OWN}, False),
    ("W55 a lesson on another thread", LESSON, {**OWN, "route": THERE}, True),
    ("W55 a lesson of another project", {**LESSON, "project": OTHER_PROJECT}, OWN, False),
    ("W55 a lesson of a group", {**LESSON, **IN_TEAM}, {**GROUP, **OWN}, True),
    ("W55 a lesson of another group", {**LESSON, "privacy": "group", "group": "x"}, GROUP, False),
]


@pytest.mark.requirement("W50", "W51", "W52", "W55", "W57", "W58", "W59", "W60")
@pytest.mark.parametrize(
    ("fields", "who", "is_seen"),
    [case[1:] for case in VISIBILITY],
    ids=[case[0].replace(" ", "-") for case in VISIBILITY],
)
def test_who_sees_what(fields: dict[str, Any], who: dict[str, Any], is_seen: bool) -> None:
    """In the decision itself, and in both views: there it is, or nothing is."""
    made = entry("a", **fields)
    asked = reader(**who)
    assert is_visible(made, asked) == is_seen
    given = recorded(made)
    empty = format_context(world_context((), asked, NOW))
    assert (format_context(world_context(given, asked, NOW)) != empty) == is_seen
    typed = format_knowledge(structured_knowledge(given, asked, NOW))
    assert (typed != format_knowledge(structured_knowledge((), asked, NOW))) == (
        is_seen and made.knowledge is not None
    )


@pytest.mark.requirement("W59")
@pytest.mark.parametrize("is_owner", [False, True])
def test_a_group_may_not_ask_for_private_assertions(is_owner: bool) -> None:
    """The mixture is refused, and not answered with less."""
    with pytest.raises(WorldScopeError, match="never includes private"):
        reader(group="team", private=True, is_owner=is_owner)
    assert reader(group="team", private=False, is_owner=is_owner).group == "team"


@pytest.mark.requirement("W59")
@pytest.mark.parametrize("group", ["", " team", "-team", "te am", "team\n", "x" * 129])
def test_a_group_that_is_none_is_refused(group: str) -> None:
    """By name of the field; its text is not repeated."""
    with pytest.raises(WorldScopeError, match=r"^field groupId: must be 1 to 128"):
        reader(group=group, private=False)


@pytest.mark.requirement("W58")
@pytest.mark.parametrize(
    ("privacy", "group", "is_one"),
    [
        ("private", None, True),
        ("shared", None, True),
        ("group", "team", True),
        ("group", None, False),
        ("private", "team", False),
        ("shared", "team", False),
    ],
)
def test_an_assertion_names_a_group_exactly_if_it_is_a_groups(
    privacy: str, group: str | None, is_one: bool
) -> None:
    """Three kinds of privacy, and no fourth."""
    if is_one:
        assert entry("a", privacy=privacy, group=group).privacy == privacy
    else:
        with pytest.raises(MalformedError, match="group exactly if"):
            entry("a", privacy=privacy, group=group)
    with pytest.raises(msgspec.ValidationError):
        entry("a", privacy="public", group=group)


BINDING = Binding("codex", "session-1", "ada", "home", PROJECT, "release", "ship", Route("desk", "chat-7"))


@pytest.mark.requirement("W47", "W50", "W56")
@pytest.mark.parametrize(
    ("field", "value", "same_portal"),
    [
        ("user", "bob", False),
        ("tenant", "work", False),
        ("route", Route("desk-2", "chat-7"), False),
        ("route", None, False),
        ("project", OTHER_PROJECT, True),
        ("task", "deploy", True),
        ("goal", None, True),
        ("goal", "other", True),
        ("route", Route("desk", "chat-8"), True),
    ],
)
def test_any_part_of_the_route_changes_its_references(field: str, value: Any, same_portal: bool) -> None:
    """Portal, thread, or both, as far as the part belongs to them."""
    refs = route_refs(BINDING)
    changed = route_refs(msgspec.structs.replace(BINDING, **{field: value}))
    assert changed.thread != refs.thread
    assert (changed.portal == refs.portal) == same_portal


@pytest.mark.requirement("W47")
def test_host_and_session_are_no_part_of_the_route() -> None:
    """The next session goes on, on whatever host."""
    other = msgspec.structs.replace(BINDING, host="claude", session="session-2")
    assert route_refs(other) == route_refs(BINDING)


@pytest.mark.requirement("W47")
def test_a_launchers_local_portal_is_not_the_local_route() -> None:
    """A launcher cannot name itself into the conversation that stock hosts have."""
    named = msgspec.structs.replace(BINDING, route=Route("local", "local"))
    local = route_refs(msgspec.structs.replace(BINDING, route=None))
    assert route_refs(named).portal != local.portal
    assert route_refs(named).thread != local.thread


@pytest.mark.requirement("W56")
def test_references_reveal_no_raw_id() -> None:
    """They are a name and 32 hex digits, whatever they are made of, and are not what an argument could spell."""
    refs = route_refs(BINDING)
    assert re.fullmatch(r"portal-ref:[0-9a-f]{32}", refs.portal)
    assert re.fullmatch(r"thread-ref:[0-9a-f]{32}", refs.thread)
    text = refs.portal + refs.thread
    for raw in ("ada", "home", "desk", "chat-7", "release", "ship", "project"):
        assert raw not in text.replace("portal-ref", "").replace("thread-ref", "")
    for wrong in ("portal-ref:desk", "portal-ref:" + "A" * 32, "portal-ref:" + "1" * 33, refs.thread):
        with pytest.raises(msgspec.ValidationError):
            entry("a", **ABOUT_TASK, route=RouteRefs(wrong, refs.thread))
    for half in ({"portal": refs.portal}, {"thread": refs.thread}):
        with pytest.raises(MalformedError, match="together"):
            entry("a", **ABOUT_TASK, **half)


@pytest.mark.requirement("W48", "W55", "W57")
@pytest.mark.parametrize(
    ("subject", "knowledge", "who", "route"),
    [
        (TASK, "task-state", OWN, HERE),
        (TASK, "error-lesson", OWN, HERE),
        (TASK, "decision", {**OWN, "route": THERE}, THERE),
        (TASK, None, OWN, None),
        ("user:ada", "user-preference", OWN, None),
        ("project:main", "error-lesson", OWN, None),
        ("task:other", "task-state", OWN, None),
        (TASK, "task-state", {"task": TASK}, None),
        (TASK, "task-state", OWNER, None),
    ],
)
def test_the_route_is_attached_to_knowledge_of_the_current_task(
    subject: str, knowledge: Any, who: dict[str, Any], route: RouteRefs | None
) -> None:
    """And to nothing else; a host without the pair attaches none."""
    assert attached_route(subject, knowledge, reader(**who)) == route


@pytest.mark.requirement("W49", "W50", "W55")
def test_the_reader_that_a_session_is_sees_what_its_own_binding_has_recorded() -> None:
    """Another session of the same task does too; of another task of the same project it sees the portable part."""
    own = reader_of(BINDING)
    assert (own.tenant, own.user, own.project, own.task) == ("home", "ada", PROJECT, "task:release")
    assert (own.private, own.group, own.is_owner) == (True, None, False)
    state = entry("a", **ABOUT_TASK, route=attached_route(TASK, "task-state", own))
    taste = entry("b", **PREFERENCE, route=attached_route("user:ada", "user-preference", own))
    later = reader_of(msgspec.structs.replace(BINDING, host="claude", session="session-2"))
    other = reader_of(msgspec.structs.replace(BINDING, task="deploy"))
    local = reader_of(msgspec.structs.replace(BINDING, route=None))
    assert [is_visible(state, who) for who in (own, later, other, local)] == [True, True, False, False]
    assert all(is_visible(taste, who) for who in (own, later, other, local))


@pytest.mark.requirement("W53")
@pytest.mark.parametrize("fields", [ABOUT_TASK, BOUND, {}])
def test_reading_binds_nothing_later(fields: dict[str, Any]) -> None:
    """An old record keeps its bytes, and has the route it was recorded with, or none."""
    stored = msgspec.json.encode(entry("a", **fields))
    for who in (OWN, UNBOUND, OWNER):
        found = read_assertion(0, NOW, msgspec.json.decode(stored, type=AssertionEntry))
        answer = format_knowledge(structured_knowledge((found,), reader(**who), NOW))
        assert msgspec.json.encode(found.entry) == stored
        for item in answer["current"]:
            assert ("portalRef" in item["scope"]) == (fields.get("route") is not None)


@pytest.mark.parametrize(
    ("task", "subject"),
    [
        ("release", "task:release"),
        ("task:release", "task:release"),
        ("Release-2.0/rc_1", "task:Release-2.0/rc_1"),
        ("issue:12", "issue:12"),
        ("x" * 128, "task:" + "x" * 128),
    ],
)
def test_a_task_is_known_under_its_own_name(task: str, subject: str) -> None:
    """Where that is a stable id, as it is; else in the namespace of tasks."""
    assert task_subject(task) == subject
    assert entry("a", subject=task_subject(task)).subject == subject


@pytest.mark.parametrize("task", ["ada@home", "Issue:12", "a:b:c"])
def test_a_task_whose_name_is_no_stable_id_gets_one(task: str) -> None:
    """The same for the same name, and another for another."""
    subject = task_subject(task)
    assert entry("a", subject=subject).subject == subject
    assert subject == task_subject(task) != task_subject(task + "x")
    assert re.fullmatch(r"task:[0-9a-f]{32}", subject)
