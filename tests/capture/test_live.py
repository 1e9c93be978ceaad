"""The tools of the world model through a running daemon: hook, permit, and the server's call, as a host does them."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.capture.test_suggestions import LESSON
from tests.daemon.conftest import RunningDaemon, answered, daemon, world  # noqa: F401  # fixtures
from timeline.daemon.toolbox import Toolbox


class Caller:
    """A host that permits and calls."""

    def __init__(self, running: RunningDaemon) -> None:
        """Connect the session's tool server."""
        self._daemon = running
        self._tools: Toolbox = running.relay()
        self._calls = 0

    def ask(self, tool: str, arguments: Mapping[str, object]) -> Any:
        """The hook before the call, and the call."""
        self._calls += 1
        use = f"call-{self._calls}"
        assert self._daemon.permit(tool, arguments, use) is None
        return answered(self._tools, tool, arguments, self._daemon.meta(use))


@pytest.mark.requirement("T18", "T27", "W40", "W49", "D7")
def test_every_tool_of_the_world_model_answers_through_the_daemon(daemon: RunningDaemon) -> None:  # noqa: F811  # a fixture
    """A result is found, captured once, and told; a suggestion is recorded and stays one."""
    daemon.enroll(follow=False)
    host = Caller(daemon)
    found = host.ask("session_timeline_search", {"query": "pytest failed"})
    asked = {"query": "pytest failed", "eventId": found["events"][0]["id"]}

    first = host.ask("session_timeline_capture", asked)
    again = host.ask("session_timeline_capture", asked)
    suggested = host.ask("record_world_assertion", LESSON)
    view = host.ask("world_context", {"includePrivate": True})
    told = host.ask("session_briefing", {})

    assert (first["status"], again["status"]) == ("captured", "duplicate")
    assert suggested["status"] == "recorded"
    assert [fact["value"]["outcome"] for fact in view["facts"]] == ["fail"]
    assert [one["id"] for one in view["proposals"]] == [suggested["assertion"]["id"]]
    assert (told["counts"]["facts"], told["counts"]["proposals"]) == (1, 1)
    assert [call["status"] for call in daemon.diary("call")][1:] == [
        "captured",
        "duplicate",
        "recorded",
        "available",
        "available",
    ]


@pytest.mark.requirement("T30", "D7")
@pytest.mark.parametrize(
    "tool", ["session_timeline_capture", "record_world_assertion", "world_context", "session_briefing"]
)
def test_a_call_that_no_hook_has_seen_is_refused(daemon: RunningDaemon, tool: str) -> None:  # noqa: F811  # a fixture
    """The server alone opens and writes nothing."""
    daemon.enroll(follow=False)
    arguments = {
        "session_timeline_capture": {"query": "pytest failed", "eventId": "timeline-event:" + "0" * 32},
        "record_world_assertion": LESSON,
    }.get(tool, {})
    with daemon.world.session.reading() as state:
        size = state.belief.size

    answer = answered(daemon.relay(), tool, arguments, daemon.meta("call-1"))

    assert (answer["status"], answer["reason"]) == ("unavailable", "timeline-permit-required")
    with daemon.world.session.reading() as state:
        assert state.belief.size == size
