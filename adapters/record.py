"""What a transcript line means: the raw records every host's format is mapped to.

Raw text lives here and only here, in memory. What is stored is an ``Event`` of the ``sidecars`` package, a
different type on purpose: if raw and redacted shared a type, one day raw text would be stored (ADR 0003).
"""

from enum import StrEnum

import msgspec

from adapters.errors import DefectKind

__all__ = [
    "CallStatus",
    "Defect",
    "DefectKind",
    "HumanStatement",
    "Ignored",
    "LineRef",
    "LineRole",
    "OutputText",
    "Record",
    "Statement",
    "ToolResult",
    "Unknown",
]


class LineRole(StrEnum):
    """What a line contributes to a tool result."""

    CALL = "call"
    OUTPUT = "output"
    ITEM = "item"


class CallStatus(StrEnum):
    """What the host says about the end of a call; absence of a statement is ``UNKNOWN``, never success."""

    COMPLETED = "completed"
    FAILED = "failed"
    RUNNING = "running"
    CANCELLED = "cancelled"
    DENIED = "denied"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"


class LineRef(msgspec.Struct, frozen=True):
    """One exact line: where it is and what its bytes are.

    ``offset`` and ``length`` count bytes; ``length`` excludes the ``0x0A`` and includes a ``0x0D`` before it.
    ``sha256`` is the digest of exactly those bytes. ``part`` counts the content blocks of the line from 0 and says
    which one tells of the call; 0 where a line of this host tells of one call at most.
    """

    role: LineRole
    offset: int
    length: int
    sha256: bytes
    part: int = 0


class OutputText(msgspec.Struct, frozen=True):
    """The bounded part of a tool's output that may be looked at: its beginning and its end.

    ``tail`` has at most ``adapters.decode.OUTPUT_WINDOW`` characters and ``head`` at most ``HEAD_WINDOW``, both of
    whole lines; ``whole`` says that ``tail`` is the complete body, and then ``head`` is the same.
    ``truncated`` says that the *host* shortened the output, so that numbers in it may be partial.
    """

    head: str
    tail: str
    whole: bool
    truncated: bool


class ToolResult(msgspec.Struct, frozen=True):
    """One finished (or abandoned) tool call, joined from the lines that tell about it. Raw, in memory only.

    ``call_id`` is that of the call whose output (or report) told the end: of a command that was polled, the poll's.
    ``at_ms`` is UTC milliseconds since the epoch of the line that ended the call, ``None`` where that line
    has no exact time. ``exit_code`` comes from an anchored carrier or is ``None``; ``error_flag`` is the host's
    own flag or ``None``. ``conflict`` says that two carriers disagree about this call. ``inherited`` marks
    history copied from another thread: it never yields evidence for this one.
    """

    lines: tuple[LineRef, ...]
    at_ms: int | None
    call_id: str
    tool: str
    command: str | None
    exit_code: int | None
    error_flag: bool | None
    status: CallStatus
    conflict: bool
    inherited: bool
    output: OutputText


class HumanStatement(msgspec.Struct, frozen=True):
    """Something the person typed, at this line. The text is neither read nor kept here."""

    offset: int
    length: int
    at_ms: int | None
    inherited: bool


class Statement(msgspec.Struct, frozen=True):
    """What the person typed at one line, as one text. Raw, in memory only.

    ``text`` is exactly what was typed where the host keeps it as one text; several texts of one prompt are joined by a
    newline, so that they never pass for one line. It is empty for a prompt of pictures alone. ``at_ms`` is that of
    the line's ``HumanStatement``.
    """

    text: str
    at_ms: int | None


class Defect(msgspec.Struct, frozen=True):
    """A line that was not understood: where it is and which rule it broke, never what it said."""

    offset: int
    length: int
    kind: DefectKind


class Unknown(msgspec.Struct, frozen=True):
    """A well-formed record of a type that was never reviewed; makes the source ``partly-understood``."""

    offset: int
    length: int
    type: str


class Ignored(msgspec.Struct, frozen=True):
    """A reviewed record that carries no evidence."""

    offset: int
    length: int
    type: str


Record = ToolResult | HumanStatement | Defect | Unknown | Ignored
