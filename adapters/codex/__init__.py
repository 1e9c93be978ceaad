"""Codex CLI rollouts: ``codex-rollout-jsonl/v1``, legacy and paginated history. See ``docs/spec/adapter-codex.md``.

One concept a module: ``header`` (which files), ``types`` (which records), ``envelope`` (a line's two outer levels),
``carriers`` (where a tool's end stands), ``calls`` (joining lines to calls), ``origin`` (own or copied history),
``ledger`` (open and recent calls), ``state`` and ``records`` (what each type means), ``check`` (was the file
understood), ``reader`` (all of them in file order), ``adapter`` (the way in).
"""

from adapters.codex.adapter import CodexAdapter

__all__ = ["CodexAdapter"]
