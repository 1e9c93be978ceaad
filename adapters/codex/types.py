"""The record types of Codex rollouts that were reviewed, by name; every other type is ``Unknown``.

Reviewed means: someone looked at what it carries and decided whether it is read. The version is the first one
known to write it; "source" marks types seen only in the host's code. Reviewed-and-not-read is a decision too.
"""

from typing import Final

RECORD_TYPES: Final = frozenset(
    {
        "session_meta",  # 0.40; repeated by the desktop application with the same id
        "turn_context",  # 0.40
        "compacted",  # after 0.40: a summary of the past and whole copied items, never evidence
        "world_state",  # 0.144
        "token_usage_record",  # 0.149
        "inter_agent_communication",  # 0.146
        "inter_agent_communication_metadata",  # 0.146
        "retained_context",  # source
        "security_risk_score",  # source
        "realtime_item",  # source
    }
)
"""Values of ``type`` that stand for themselves."""

RESPONSE_ITEMS: Final = frozenset(
    {
        "message",  # 0.40: prompt copies and injected texts under role user, answers
        "reasoning",  # 0.40
        "function_call",  # 0.40
        "function_call_output",  # 0.40
        "local_shell_call",  # 0.40
        "custom_tool_call",  # 0.5x: apply_patch; 0.147: code mode
        "custom_tool_call_output",
        "web_search_call",  # 0.5x
        "image_generation_call",  # 0.12x
        "ghost_snapshot",  # 0.5x to 0.12x
        "tool_search_call",  # 0.13x
        "tool_search_output",
        "compaction",  # 0.12x: encrypted
        "compaction_summary",
        "context_compaction",
        "compaction_trigger",
        "agent_message",  # 0.146: between agents
        "additional_tools",  # 0.166: declarations of tools as an input item
        "other",
    }
)
"""Payload types below ``response_item``."""

EVENTS: Final = frozenset(
    {
        "user_message",  # legacy only: the human prompt
        "agent_message",  # legacy only
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "token_count",
        "task_started",  # 0.9x; absent before
        "task_complete",
        "turn_aborted",
        "thread_rolled_back",
        "thread_name_updated",
        "thread_settings_applied",  # 0.146
        "thread_goal_updated",
        "undo_completed",
        "context_compacted",
        "entered_review_mode",
        "exited_review_mode",
        "item_completed",  # plans before 0.144, all kinds since
        "exec_command_end",  # source; in 0.146 inventories
        "patch_apply_end",
        "mcp_tool_call_end",
        "web_search_end",
        "image_generation_end",
        "view_image_tool_call",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "guardian_assessment",
        "error",
        "sub_agent_activity",
        "injected_message",  # source
        "collab_agent_spawn_end",
        "collab_agent_interaction_end",
        "collab_waiting_end",
        "collab_close_end",
        "collab_resume_end",
    }
)
"""Payload types below ``event_msg``."""

ITEMS: Final = frozenset(
    {
        "UserMessage",  # 0.144: the human prompt in paginated history
        "CommandExecution",  # 0.144: what ran, with its exit code
        "AgentMessage",
        "Reasoning",
        "Plan",
        "Extension",
        "McpToolCall",
        "FileChange",
        "ContextCompaction",  # 0.166
        "CollabAgentToolCall",  # 0.166
        "SubAgentActivity",  # 0.166
        "WebSearch",  # source
        "ImageView",  # source
        "ImageGeneration",  # source
        "EnteredReviewMode",  # source
        "ExitedReviewMode",  # source
        "HookPrompt",  # source
    }
)
"""Kinds of item below ``event_msg/item_completed``."""

LOCAL_SHELL: Final = "local_shell"

TOOL_OF_ITEM: Final = {
    b'"tool_search_call"': "tool_search",
    b'"web_search_call"': "web_search",
    b'"image_generation_call"': "image_generation",
    b'"local_shell_call"': LOCAL_SHELL,
}
"""Calls whose tool is named by the type of the record, as it stands in the file."""
