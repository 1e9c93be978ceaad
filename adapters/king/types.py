"""The record types of King and Kimi Code wires that were reviewed, by name; every other type is ``Unknown``.

Reviewed means: someone looked at what it carries and decided whether it is read. The version is the first one of
Kimi Code known to write it; "source" marks types seen only in lists of the host's own. The protocol number does not
tell which types occur: hosts add types without raising it (formats §4.2).
"""

from typing import Final

LOOP_EVENT: Final = "context.append_loop_event"
"""The record that carries what the agent did; its ``event`` has a type of its own."""

_OF_0_12_1: Final = frozenset(
    {
        "metadata",  # the header; again with ``resumed`` where another version of the application goes on
        "forked",  # all before it is a copy of another session
        "turn.prompt",
        "turn.steer",
        "turn.cancel",
        "config.update",
        "permission.set_mode",
        "permission.record_approval_result",
        "full_compaction.begin",
        "full_compaction.cancel",
        "full_compaction.complete",
        "micro_compaction.apply",
        "plan_mode.enter",
        "plan_mode.cancel",
        "plan_mode.exit",
        "swarm_mode.enter",
        "swarm_mode.exit",
        "tools.register_user_tool",
        "tools.unregister_user_tool",
        "tools.set_active_tools",
        "tools.update_store",
        "usage.record",
        "context.append_message",  # the human's statements, and what the harness says in the same place
        "context.clear",
        "context.apply_compaction",  # a summary of the past, never evidence
        "context.undo",  # takes turns out of the context; what ran has still run
        "goal.create",
        "goal.update",
        "goal.clear",
    }
)
"""With ``LOOP_EVENT`` the 30 types that King is known to accept (reference-system §2.5)."""

_LATER: Final = frozenset(
    {
        "llm.request",  # 0.2x
        "llm.tools_snapshot",  # 0.2x
        "mcp.tools_discovered",  # 0.43.1
        "profile.bind",  # 0.43.1
        "runtime.set_binding",  # 0.43.1
        "turn.ended",  # 0.38
        "turn.step.interrupted",  # 0.43.1
        "task.started",  # 0.38
        "task.terminated",  # 0.38: a background task's end, with its exit code
        "task.waitDelivered",  # 0.43.1
        "token_counting.measured",  # 0.38
        "token_counting.rebased",  # 0.38
        "token_counting.truncated",  # 0.38
        "token_counting.turn_recorded",  # 0.43.1
        "staleGuard.recorded",  # 0.38
        "staleGuard.cleared",  # 0.38
        "interaction.request",  # source
        "interaction.resolved",  # source
        "interruptionReminder.recorded",  # source
        "cron.add",  # source
        "cron.delete",  # source
        "cron.cursor",  # source
        "plan.revision",  # source
        "plugin.session_start",  # 0.43.1
        "prompt.accepted",  # source
        "prompt.completed",  # 0.43.1
        "prompt.aborted",  # 0.43.1
        "agent.message.appended",  # 0.43.1: every message once more, the human's included
        "agent.turn.started",  # 0.43.1
        "agent.turn.ended",  # 0.43.1
        "file_history.tracked",  # 0.43.1
        "file_history.checkpoint",  # 0.43.1
        "subagent.spawned",  # 2.1.0
        "subagent.started",  # 2.1.0
        "subagent.completed",  # 2.1.0
    }
)
"""Types that newer versions added under the same protocols."""

RECORD_TYPES: Final = _OF_0_12_1 | _LATER
"""Values of ``type`` that stand for themselves."""

LOOP_EVENTS: Final = frozenset({"step.begin", "step.end", "content.part", "tool.call", "tool.result"})
"""Types of the ``event`` of a ``LOOP_EVENT``."""

HUMAN: Final = "user"
"""The kind of origin of what the person typed; every other kind is the harness, known or not."""

OTHER_ORIGINS: Final = frozenset(
    {
        "skill_activation",
        "injection",
        "compaction_summary",
        "system_trigger",
        "background_task",
        "cron_job",
        "cron_missed",
        "hook_result",
        "retry",
        "shell_command",
        "task",
    }
)
"""Kinds of origin that were reviewed and are not the human."""

SHELL: Final = "Bash"
"""The tool that runs a shell line; no other runs a command (formats §4.3)."""
