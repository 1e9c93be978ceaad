"""The refusals of the readers, and the kinds of line that are counted and skipped.

- A wrong header, an unknown format, a changed source refuse the *file*: an ``AdapterError`` with a ``reason``.
- A bad line under a known header is no error: it becomes a ``Defect`` with one of the kinds below (ADR 0001).
- A message names host, offset, field and rule. It never holds text of a transcript.
"""

from enum import StrEnum
from typing import ClassVar


class DefectKind(StrEnum):
    """Why a line was counted and skipped."""

    BLANK = "blank"
    BYTE_ORDER_MARK = "byte-order-mark"
    DEPTH = "nesting-too-deep"
    DUPLICATE_KEY = "duplicate-key"
    GLUED = "glued-records"
    NOT_JSON = "not-json"
    NOT_OBJECT = "not-an-object"
    NO_TYPE = "no-type"
    NUL = "nul-bytes"
    NUMBER = "number-out-of-range"
    SHAPE = "unexpected-shape"
    SURROGATE = "lone-surrogate"
    TOO_LONG = "line-too-long"
    UTF8 = "invalid-utf-8"


class AdapterError(Exception):
    """The root of everything this package raises about input.

    ``rule`` says which rule was broken, in our words; ``host`` whose format it is; ``offset`` counts bytes from
    the start of the file.
    """

    reason: ClassVar[str] = "adapter-error"
    hint: ClassVar[str | None] = None

    def __init__(self, rule: str, *, host: str | None = None, offset: int | None = None) -> None:
        self.rule = rule
        self.host = host
        self.offset = offset
        where = "".join(
            part
            for part in (
                f"{host}: " if host is not None else "",
                f"offset {offset}: " if offset is not None else "",
            )
        )
        super().__init__(f"{where}{rule}")


class HeaderError(AdapterError):
    """The beginning of the file is not the header of this format."""

    reason = "header"
    hint = "this file is not a transcript of that host, or its beginning is damaged"


class WrongHostError(HeaderError):
    """The file was written by another host that we know."""

    reason = "wrong-host"
    hint = "name the host that wrote this file"


class HeaderTooLargeError(HeaderError):
    """The header line is longer than the bound on headers."""

    reason = "header-too-large"
    hint = "a header of this size was never seen; if it is genuine, report it with its size"


class HeaderIncompleteError(HeaderError):
    """The file ends inside its header line: the host has not finished writing it."""

    reason = "header-incomplete"
    hint = "try again when the host has written its first line"


class UnsupportedFormatError(AdapterError):
    """The file is of this host, in a form that this program does not read."""

    reason = "unsupported-format"
    hint = "a newer version of this program may read it"


class CompressedError(UnsupportedFormatError):
    """The host has compressed the transcript."""

    reason = "compressed"
    hint = "open the session in its host once, which restores the plain file, or decompress a copy yourself"


class UnknownHistoryModeError(UnsupportedFormatError):
    """The header names a history mode that was never reviewed; nothing is guessed about the lines."""

    reason = "unknown-history-mode"


class UnknownProtocolError(UnsupportedFormatError):
    """The header names a protocol that was never reviewed, and none that the owner maps to a reviewed one."""

    reason = "unknown-protocol"
    hint = (
        "if it writes the records of a reviewed one: timeline formats accept king protocol/DECLARED:REVIEWED"
    )


class KimiCliError(UnsupportedFormatError):
    """A wire or context of the Python kimi-cli, which shares protocol numbers with Kimi Code and nothing else."""

    reason = "python-kimi-cli"
    hint = "this file is of the Python kimi-cli (~/.kimi), another program; Kimi Code and King are read"


class NoSessionError(HeaderError):
    """No line of the file's beginning names the session that it belongs to."""

    reason = "no-session"
    hint = "a file of titles and summaries only has nothing to read; if it is a session, it has not begun yet"


class PromptHistoryError(UnsupportedFormatError):
    """The list of prompts typed in all sessions, which the host keeps beside them."""

    reason = "prompt-history"
    hint = "history.jsonl is no session; name a file below projects/"


class HostSettingsError(UnsupportedFormatError):
    """A settings file of the host."""

    reason = "host-settings"
    hint = "settings are no session; name a file below projects/"


class WorkflowJournalError(UnsupportedFormatError):
    """The journal of a workflow: which agents started, and what they said at their end."""

    reason = "workflow-journal"
    hint = "a journal proves nothing; name the session, or the agent's own file beside the journal"


class StreamOutputError(UnsupportedFormatError):
    """The output of a run with ``--output-format stream-json``: another grammar than the session's file."""

    reason = "stream-output"
    hint = "the run has also written a session file below projects/; name that one"


class TranscriptSyntaxError(AdapterError):
    """A line that must be understood is not; ``kind`` says which rule it breaks."""

    reason = "transcript-syntax"

    def __init__(
        self, rule: str, kind: DefectKind, *, host: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(f"{rule} ({kind.value})", host=host, offset=offset)
        self.kind = kind


class TranscriptChangedError(AdapterError):
    """Bytes already referred to are different now."""

    reason = "transcript-changed"
    hint = "the host or someone else has rewritten this transcript; enroll it again"


class CursorError(AdapterError):
    """A stored reading position is not one of this format, or not of this file."""

    reason = "cursor"
    hint = "read the source from its beginning"
