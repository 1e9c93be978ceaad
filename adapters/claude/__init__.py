"""Claude Code sessions: ``claude-code-jsonl/v1``, versions 1.0 to 2.1. See ``docs/spec/adapter-claude.md``.

One concept a module: ``header`` (which files), ``types`` (which records), ``envelope`` (a line's two outer levels),
``carriers`` (where a tool's end stands), ``calls`` (joining content blocks to calls), ``origin`` (own or copied
history), ``people`` (what a person said), ``ledger`` (open and recent calls), ``state`` and ``records`` (what each
type means), ``check`` (was the file understood), ``reader`` (all of them in file order), ``adapter`` (the way in).
"""

from adapters.claude.adapter import ClaudeAdapter

__all__ = ["ClaudeAdapter"]
