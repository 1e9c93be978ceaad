"""King and Kimi Code wires: ``king-agent-wire-jsonl/v1``, one format under two host names.

See ``docs/spec/adapter-king.md``. One concept a module: ``header`` (which files), ``types`` (which records),
``envelope`` (one line), ``endings`` (what a result states about the end of a call), ``plain`` (the results whose text
is not wanted), ``calls`` (joining lines to calls), ``ledger`` (open and recent calls), ``state`` and ``records`` (what
each type means), ``check`` (was the file understood), ``reader`` (all of them in file order), ``adapter`` (the way in).
"""

from adapters.king.adapter import KingAdapter

__all__ = ["KingAdapter"]
