"""The record types of Claude Code sessions that were reviewed, by name; every other type is ``Unknown``.

Reviewed means: someone looked at what it carries and decided whether it is read. The host adds types nearly every
month and calls the format internal, so an unknown type is expected and never refuses a file (ADR 0001). The version
is the first one known to write it.
"""

from typing import Final

RECORD_TYPES: Final = frozenset(
    {
        "user",  # 1.0: prompts, and the results of tools
        "assistant",  # 1.0: one line for each finished content block of a message
        "system",  # 1.0: without a subtype; read by nobody
        "summary",  # 1.0: names of older sessions, often at the beginning of another one's file
        "file-history-snapshot",  # 2.0
        "queue-operation",  # 2.0: what was typed while the agent worked, in its waiting line
        "last-prompt",  # 2.1: a copy of a prompt
        "permission-mode",  # 2.1
        "mode",  # 2.1.211
        "ai-title",  # 2.1
        "custom-title",  # 2.1
        "agent-name",  # 2.1
        "pr-link",  # 2.1
        "frame-link",  # 2.1
        "relocated",  # 2.1
        "worktree-state",  # 2.1
        "bridge-session",  # 2.1
        "atis-latch",  # 2.1
        "continued-in",  # 2.1
        "started",  # 2.1: journal of a workflow
        "result",  # 2.1: journal of a workflow: what an agent said, never evidence
    }
)
"""Values of ``type`` that stand for themselves."""

SYSTEM: Final = frozenset(
    {
        "compact_boundary",  # 1.0.9x: the past is a summary from here on; nothing is deleted
        "microcompact_boundary",  # 2.1.14
        "stop_hook_summary",  # 2.1
        "turn_duration",  # 2.1
        "local_command",  # 2.1
        "api_error",  # 2.0
        "session_start",  # 2.1.207
        "api_refusal",  # 2.1.111
        "model_refusal_fallback",  # 2.1.111
        "error",  # 2.1.111
    }
)
"""Values of ``subtype`` below ``system``."""

PROGRESS: Final = frozenset(
    {
        "bash_progress",  # 2.1: output of a command that is still running, told again with its result
        "hook_progress",  # 2.1
        "agent_progress",  # 2.1: whole messages of a subagent, told again in its own file: never evidence
        "mcp_progress",  # 2.1
        "query_update",  # 2.1
        "search_results_received",  # 2.1
        "waiting_for_task",  # 2.1
    }
)
"""Values of ``data.type`` below ``progress``."""

ATTACHMENTS: Final = frozenset(
    {
        "hook_success",  # 2.1.80; the others up to 2.1.220
        "hook_non_blocking_error",
        "hook_blocking_error",
        "hook_additional_context",
        "hook_system_message",
        "queued_command",  # a prompt typed while the agent worked: context of the model, counted as no prompt
        "file",
        "edited_text_file",
        "compact_file_reference",
        "nested_memory",
        "skill_listing",
        "invoked_skills",
        "dynamic_skill",
        "deferred_tools_delta",
        "agent_listing_delta",
        "mcp_instructions_delta",
        "task_reminder",
        "todo_reminder",
        "task_status",
        "command_permissions",
        "date_change",
        "plan_mode",
        "plan_mode_exit",
        "auto_mode",
        "ultra_effort_enter",
        "ultra_effort_exit",
        "read_truncation_notice",
        "budget_usd",
        "total_tokens_reminder",
        "batching_reminder_sent",
        "silent_turn_reminder",
    }
)
"""Values of ``attachment.type`` below ``attachment``."""

BLOCKS: Final = frozenset(
    {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "image",
        "document",
        "fallback",  # 2.1.220: another model took over
    }
)
"""Types of a message's content blocks."""

SHELL: Final = "Bash"
"""The tool that runs a shell command and waits for its end, or starts it in the background."""

POLLS: Final = {"TaskOutput": "task_id", "BashOutput": "bash_id"}
"""Tools that ask a command in the background how it goes (2.1; 1.0 to 2.0), and the argument that names it."""
