"""A binding is complete or does not exist, and two of them are equal only in every field."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.binding import Binding, Route
from timeline.errors import ScopeError

FIELDS: dict[str, Any] = {
    "host": "codex",
    "session": "s-1",
    "user": "me",
    "tenant": "local",
    "project": "/p",
    "task": "default",
    "goal": "g",
    "route": Route("portal", "thread"),
}


@pytest.mark.requirement("T8")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host", ""),
        ("host", "gemini"),
        ("host", "Codex"),
        ("session", ""),
        ("user", ""),
        ("tenant", ""),
        ("task", ""),
        ("goal", ""),
        ("session", "a b"),
        ("user", "a\n"),
        ("task", "ä"),
        ("tenant", "x" * 129),
        ("task", "-x"),
        ("goal", "../x"),
        ("route", Route("", "thread")),
        ("route", Route("portal", "")),
        ("route", Route("po rtal", "thread")),
        ("project", ""),
        ("project", "p"),
        ("project", "./p"),
        ("project", "/p\nq"),
        ("project", "/p\0"),
        ("project", "/" + "p" * 4096),
    ],
)
def test_a_field_that_is_missing_or_of_another_form_makes_no_binding(field: str, value: object) -> None:
    """Half a route, a missing scope or an unreviewed host binds nothing."""
    with pytest.raises(ScopeError) as refused:
        Binding(**{**FIELDS, field: value})
    assert refused.value.reason == "missing-or-unknown-session-scope"


@pytest.mark.requirement("T7", "T4")
@pytest.mark.parametrize("field", [name for name in FIELDS if name not in {"host", "session"}])
def test_another_value_in_any_field_is_another_scope(field: str) -> None:
    """Recall crosses neither user, tenant, project, task, goal nor route."""
    mine = Binding(**FIELDS)
    other = {"project": "/q", "route": Route("portal", "other")}.get(field, "other")
    theirs = Binding(**{**FIELDS, field: other})
    assert theirs != mine
    assert theirs.scope() != mine.scope()
    if field in {"goal", "route"}:
        assert Binding(**{**FIELDS, field: None}).scope() != mine.scope()


def test_sessions_of_one_task_share_a_scope() -> None:
    """Host and session are not part of it."""
    assert Binding(**{**FIELDS, "session": "s-2"}).scope() == Binding(**FIELDS).scope()


@given(st.text(max_size=130))
def test_any_text_is_an_identifier_or_a_scope_error(text: str) -> None:
    """An accepted identifier is ASCII without spaces, and at most 128 long."""
    try:
        binding = msgspec.structs.replace(Binding(**FIELDS), task=text)
        binding.__post_init__()
    except ScopeError:
        return
    assert text.isascii()
    assert 1 <= len(text) <= 128
    assert not any(character.isspace() for character in text)
