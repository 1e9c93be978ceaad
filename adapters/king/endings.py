"""What a ``tool.result`` states about the end of a call (formats §4.3): no structured code, but a flag and a tail.

- No ``isError`` (or false): the shell line as a whole ended with 0, unless it was started in the background.
- ``isError:true`` and tool ``Bash``: the host writes its own last line behind what the command printed. Only there,
  at the very end, ``Command failed with exit code: N.`` is a code; the notice that the host shortened the output may
  follow. A command can print the same line, but then the host's own comes after it, or ``isError`` is missing.
- ``exitCode``, which King may write and Kimi Code does not, counts if it is an integer; all statements must agree.
- A background start, and a command that was moved there, says that it runs and nothing about its end.

Outputs are looked at escaped and bounded; see ``adapters.decode``.
"""

import re
from typing import Final, NamedTuple

import msgspec

from adapters.decode import (
    Fields,
    Raw,
    bool_of,
    content_of,
    fields_of,
    int_of,
)
from adapters.errors import TranscriptSyntaxError
from adapters.excerpt import NO_OUTPUT, Excerpt, excerpt_of
from adapters.record import CallStatus

EXIT_CODES: Final = range(-(2**31), 2**32)
"""What a system can report as an exit code: signed 32 bits on Unix, unsigned 32 bits on Windows."""

TAIL_BYTES: Final = 8_192
"""How far before the end of an output its anchored tail may begin, in escaped bytes: it may name a path."""

_PARTS = msgspec.json.Decoder(list[Raw])

_RUNS_ON: Final = b"task_id: "
"""How the result of a command begins that runs on in the background; the rest is not its output."""

_SHORTENED: Final = b"[...truncated]"
"""The host's mark where it cut a line or the whole output."""

_SHORTENED_NOTICE: Final = b"Output is truncated to fit in the message."
"""What it then writes at the end."""

_LAST_LINES: Final = (
    b"Command failed with exit code: ",
    b"Command killed by timeout (",
    b"Interrupted by user",
    b"Session closed",
    b"Aborted before command started",
    b"Tool execution was interrupted before its result was recorded.",
)
"""How the host's own last line begins; only the last place of each is looked at."""

_LAST_LINE = re.compile(
    rb"(?:Command failed with exit code: (?P<code>-?[0-9]{1,10}|null)\."
    rb"|(?P<timeout>Command killed by timeout \([0-9]{1,9}(?:\.[0-9]{1,3})?(?:ms|s|m|h)\))"
    rb"|(?P<cancelled>Interrupted by user|Session closed|Aborted before command started)"
    rb"|(?P<unknown>Tool execution was interrupted before its result was recorded\."
    rb" Do not assume the tool completed successfully\.))"
    rb"(?:(?:\\n| )(?:\[\.\.\.truncated\]|Output is truncated to fit in the message\.))?"
    rb"(?:\\n\\n\[Full output saved\]\\ntask_id: [A-Za-z0-9_-]{1,64}\\noutput_path: (?:[^\\]|\\[^n]){1,2048}"
    rb"\\noutput_size_bytes: [0-9]{1,16}\\nnext_step: (?:[^\\]|\\[^n]){1,512})?"
    rb"(?:\\n)?\Z"
)
"""The whole of it, with what may follow."""

_LINE_BREAK = re.compile(rb"(?<!\\)(?:\\\\)*\\n\Z")


class Ending(NamedTuple):
    """What one result states about the end of a call.

    ``body`` is how much of the output's escaped content is the command's own; ``conflict`` says that the result
    contradicts itself. ``flagged`` is the host's ``isError``: false where the field is absent.
    """

    status: CallStatus = CallStatus.UNKNOWN
    exit_code: int | None = None
    flagged: bool | None = None
    conflict: bool = False
    body: int | None = None


NOTHING_STATED: Final = Ending()


class Asked(NamedTuple):
    """What the call says that its result does not: whether a shell ran it, and whether in the background."""

    in_shell: bool
    in_background: bool


class Result(NamedTuple):
    """What a ``result`` object says: its flag, its code, and the two ends of its text.

    ``head`` is ``None`` where there is no output at all, and empty where it is not a single text. ``tail`` begins
    with a byte of its own where it is not the whole text, so that nothing is taken for its beginning. ``marked``
    says that the host cut the output.
    """

    flagged: bool | None
    exit_code: int | None
    head: bytes | None
    tail: bytes
    marked: bool = False


def ending_of(result: Result, asked: Asked | None) -> Ending:
    """Return what ``result`` states, given what the call ``asked``; without its call a success is not proved."""
    if result.flagged:
        return _failure(result, in_shell=asked is not None and asked.in_shell)
    if asked is None or result.flagged is None or result.head is None:
        return NOTHING_STATED
    if asked.in_background or (asked.in_shell and result.head.startswith(_RUNS_ON)):
        return Ending(CallStatus.RUNNING)
    code = result.exit_code
    status = CallStatus.FAILED if code else CallStatus.COMPLETED
    return Ending(status, code, flagged=False, conflict=bool(code))


def _failure(result: Result, *, in_shell: bool) -> Ending:
    """Return the ending that the host marked as an error; only the shell's has a last line of the host's own."""
    code = result.exit_code
    told = _last_line(result.tail)
    if told is None or not (in_shell or (told.start() == 0 and (told["cancelled"] or told["unknown"]))):
        return Ending(CallStatus.FAILED, code, flagged=True, conflict=code == 0)
    body = told.start() - len(result.tail)
    if told["unknown"] is not None:
        return Ending(exit_code=code, conflict=code is not None, body=body)
    if told["code"] is None:
        status = CallStatus.TIMEOUT if told["timeout"] is not None else CallStatus.CANCELLED
        return Ending(status, code, flagged=True, conflict=code == 0, body=body)
    written = int(told["code"]) if told["code"] != b"null" else None
    stated = {value for value in (written, code) if value is not None and value in EXIT_CODES}
    return Ending(
        CallStatus.FAILED,
        code if code is not None else next(iter(stated), None),
        flagged=True,
        conflict=len(stated) > 1 or 0 in stated,
        body=body,
    )


def _last_line(tail: bytes) -> re.Match[bytes] | None:
    """Return the host's own last line if ``tail`` ends with it, and if it is a line."""
    for words in _LAST_LINES:
        start = tail.rfind(words)
        if start < 0 or (start > 0 and not _LINE_BREAK.search(tail, max(start - 64, 0), start)):
            continue
        told = _LAST_LINE.match(tail, start)
        if told is not None:
            return told
    return None


def ends_of(content: bytes) -> tuple[bytes, bytes]:
    """Return ``head`` and ``tail`` of a ``Result`` whose text is the escaped ``content``."""
    tail = content if len(content) <= TAIL_BYTES else b"x" + content[-TAIL_BYTES:]
    return content[: len(_RUNS_ON)], tail


def read_result(fields: Fields) -> tuple[Result, bytes]:
    """Return what the ``result`` of a ``tool.result`` holds, and the escaped content of its text.

    Raises: ``TranscriptSyntaxError``.
    """
    raw = fields.get("isError")
    flagged = False if raw is None else bool_of(raw)
    code = int_of(fields.get("exitCode"))
    content = single_text(fields.get("output"))
    exit_code = code if code is not None and code in EXIT_CODES else None
    marked = bool_of(fields.get("truncated")) is True
    if content is None:
        is_list = bytes(fields.get("output", b""))[:1] == b"["
        return Result(flagged, exit_code, b"" if is_list else None, b""), b""
    return Result(flagged, exit_code, *ends_of(content), marked=marked), content


def single_text(raw: Raw | None) -> bytes | None:
    """Return the escaped text of a string, or of a list that holds one text and nothing else."""
    content = content_of(raw)
    if content is not None or raw is None:
        return content
    try:
        (part,) = _PARTS.decode(raw)
        fields = fields_of(part)
    except (ValueError, msgspec.MsgspecError, TranscriptSyntaxError, RecursionError):
        return None
    return content_of(fields.get("text")) if bytes(fields.get("type", b"")) == b'"text"' else None


def excerpt(content: bytes, ending: Ending, *, marked: bool) -> Excerpt:
    """Return the bounded part of what the command itself printed; ``marked`` says that the host cut it."""
    if ending.status is CallStatus.RUNNING:
        return NO_OUTPUT
    truncated = marked or _SHORTENED in content or _SHORTENED_NOTICE in content[-TAIL_BYTES:]
    own = content[: ending.body] if ending.body is not None else content
    return excerpt_of(own, truncated=truncated)
