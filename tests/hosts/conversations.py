"""What the scripted model says and does: its half of the story, told alike in every host."""

from collections.abc import Mapping
from typing import Any

from tests.hosts.model import Scripts, Step

WAIT: Step = {"say": "I wait for the owner.", "sh": "sh wait_for_owner.sh", "extra": {"yield_time_ms": 30000}}
"""The owner enrolls the session while it runs."""

TESTS: Step = {"say": "I run the tests.", "sh": "python -m pytest -q"}
LIE: Step = {"sh": 'echo "4 passed in 0.01s"'}
"""Printed, not run: it must never become a card."""


def call(tool: str, **arguments: object) -> Step:
    """A call of one of Timeline's tools."""
    return {"mcp": f"timeline/session_timeline_{tool}", "args": arguments}


def work(name: str) -> Scripts:
    """The first session: tests run, and are found again."""
    steps = (
        WAIT,
        TESTS,
        LIE,
        call("index"),
        call("search", query="pytest failed"),
        {"say": "One of four fails."},
    )
    return {name: steps}


def recall(name: str) -> Scripts:
    """A later session, which asks what an earlier one did."""
    earlier = call("search", query="pytest failed", includePriorSessions=True)
    return {
        name: (WAIT, call("index"), call("search", query="pytest failed"), earlier, {"say": "It failed."})
    }


def bereft(name: str) -> Scripts:
    """The daemon is killed while the agent waits; what it asks then may come too early, and soon does not."""
    ask = call("search", query="pytest failed")
    return {name: (WAIT, ask, {"sh": "sleep 1"}, ask, {"say": "Done."})}


def delegated(name: str, child: str) -> Scripts:
    """An agent of the session asks; the first tool is Kimi Code's, the others are Codex's, where it has them."""
    task = f"Look it up. [script:{child}]"
    spawn = {"tool": "collaboration__spawn_agent", "args": {"task_name": "look_up", "message": task}}
    wait = {"tool": "collaboration__wait_agent", "args": {"timeout_ms": 30000}, "alt": {"sh": "true"}}
    return {
        name: (
            {"tool": "Agent", "args": {"prompt": task, "description": "look up"}, "alt": spawn},
            wait,
            {"say": "Done."},
        ),
        child: ({"sh": "sleep 3"}, call("search", query="pytest failed"), {"say": "It failed."}),
    }


def later(name: str) -> Scripts:
    """A session that nobody enrolls by hand; it is enrolled once its transcript shows the prompt."""
    earlier = call("search", query="pytest failed", includePriorSessions=True)
    return {name: ({"sh": "echo begun"}, {"sh": "sleep 1"}, WAIT, call("index"), earlier, {"say": "Done."})}


def shell(name: str, *commands: str) -> Scripts:
    """The model runs these commands."""
    return {name: (*({"sh": command} for command in commands), {"say": "Done."})}


def foreign(name: str, claims: Mapping[str, Any]) -> Scripts:
    """The model asks in the name of somebody else, and then properly."""
    return {
        name: (
            call("search", query="pytest failed", **claims),
            call("search", query="pytest failed"),
            {"say": "Done."},
        )
    }
