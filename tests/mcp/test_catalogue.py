"""What a host is told of the tools."""

import json

import pytest

from tests.mcp.desks import Host
from timeline.guard.request import WRITING, Tool
from timeline.mcp_server.catalogue import NAMES, TOOLS, OfferedTool

LIST_BYTES_MAX = 4 * 1024
LATER_BYTES_MAX = 1024
"""The first four tools together, and each that was added later."""

FIRST = 4

SCOPE = {
    *(
        "root",
        "sessionId",
        "host",
        "entityId",
        "userId",
        "tenantId",
        "projectId",
        "taskId",
        "goalId",
        "goalStepId",
    ),
    *("portalRef", "threadRef", "enrollmentDigest", "timelineVisibility", "groupId"),
}


@pytest.fixture
def listed(host: Host) -> list[dict[str, object]]:
    """Give the tools as they come over the wire."""
    host.ask(1, "tools/list")
    tools = host.read()["result"]["tools"]
    assert isinstance(tools, list)
    return tools


def test_the_tools_have_the_names_of_the_reference(listed: list[dict[str, object]]) -> None:
    """Hosts whose prompts know these names go on working."""
    names = [f"session_timeline_{name}" for name in ("index", "search", "capture")]
    later = ["record_world_assertion", "world_context", "session_briefing", "world_resolve", "world_mediate"]
    assert [tool["name"] for tool in listed] == [*names, "timeline_status", *later]
    assert {tool.name for tool in TOOLS} == NAMES


def test_the_guard_knows_the_same_tools() -> None:
    """A tool that is listed and not guarded, or the other way round, is a mistake."""
    assert {str(tool) for tool in Tool} == NAMES


def test_the_list_is_small(listed: list[dict[str, object]]) -> None:
    """A model pays for the list in every session."""
    assert len(json.dumps({"tools": listed[:FIRST]}).encode()) < LIST_BYTES_MAX
    for tool in listed[FIRST:]:
        assert len(json.dumps(tool).encode()) <= LATER_BYTES_MAX, tool["name"]


def test_every_schema_is_closed_and_asks_for_no_scope(listed: list[dict[str, object]]) -> None:
    """A model cannot say whose session it means."""
    for tool in listed:
        schema = tool["inputSchema"]
        assert isinstance(schema, dict)
        assert schema["additionalProperties"] is False
        assert not SCOPE & schema["properties"].keys()
        # Some models' interfaces refuse a schema with one of these at its top.
        assert not {"anyOf", "oneOf", "allOf"} & schema.keys()


def test_only_what_changes_nothing_outside_is_called_read_only(listed: list[dict[str, object]]) -> None:
    """Codex asks its user before a tool that is neither read-only nor harmless."""
    hints = {tool["name"]: tool["annotations"] for tool in listed}
    harmless = {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    for name, given in hints.items():
        assert given == {**harmless, "readOnlyHint": name not in WRITING}


def test_a_tool_without_required_arguments_does_not_speak_of_them() -> None:
    """An empty `required` is refused by JSON Schema's fourth draft, which some hosts check against."""
    assert "required" not in OfferedTool(name="a", title="A", description="b").input_schema
