"""Where the end of a tool call stands, and what it says (formats §3.4).

- ``Exit code N`` counts only as the first line of a result with ``is_error: true``; no body is ever searched.
- A success has no number: ``is_error: false`` of a shell command that ran in the foreground, was not interrupted and
  whose code the host did not interpret. A field of ``toolUseResult`` that nobody reviewed leaves it unproved.
- ``is_error`` absent, ``null`` or a text states nothing.
- A command in the background has ended when a later look at it (``TaskOutput``, ``BashOutput``) states an integer.

Outputs are looked at escaped and bounded; see ``adapters.decode``.
"""

import re
from typing import Final, NamedTuple

from adapters.claude.envelope import is_object
from adapters.decode import (
    Fields,
    Raw,
    bool_of,
    content_of,
    fields_of,
    int_of,
    text_of,
)
from adapters.excerpt import NO_OUTPUT, Excerpt, excerpt_of
from adapters.parts import blocks_of, is_list
from adapters.record import CallStatus

EXIT_CODES: Final = range(-(2**31), 2**32)
"""What a system can report as an exit code: signed 32 bits on Unix, unsigned 32 bits on Windows."""

TASK_OUTPUT_CHARS: Final = 30_000
"""From this length on, in escaped bytes, a background command's output may have been cut by the host."""

SHELL_RESULT: Final = frozenset(
    {
        "stdout",
        "stderr",
        "interrupted",
        "isImage",
        "noOutputExpected",
        "persistedOutputPath",
        "persistedOutputSize",
        "rawOutputPath",
        "gitOperation",
        "structuredContent",
        "dangerouslyDisableSandbox",
    }
)
"""Fields of a shell command's ``toolUseResult`` that do not change what ``is_error: false`` means."""

_EXIT_CODE = re.compile(rb"Exit code (-?[0-9]{1,10})(?:\\n|\Z)")
_CUT = re.compile(rb"\.\.\. \[[0-9]{1,12} (?:lines|characters) truncated\] \.\.\.")
_PERSISTED: Final = b"<persisted-output>\\n"
_TASK_CUT: Final = b"[Truncated. Full output: "
_NOTICES: Final = (
    (b"The user doesn't want to ", CallStatus.DENIED),
    (b"Permission to use ", CallStatus.DENIED),
    (b"Claude requested permissions to ", CallStatus.DENIED),
    (b"PreToolUse:", CallStatus.DENIED),
    (b"<tool_use_error>Sibling tool call errored", CallStatus.CANCELLED),
    (b"<tool_use_error>Cancelled: ", CallStatus.CANCELLED),
    (b"Sibling tool call errored", CallStatus.CANCELLED),
    (b"[Request interrupted by user", CallStatus.CANCELLED),
)
"""How a result with ``is_error: true`` begins that no command printed. A failed command could print the same words
where the host writes no ``Exit code`` line (before 2.0); what is lost then is a failure, and nothing is proved."""

_TASK_STATUS: Final = {
    "completed": CallStatus.COMPLETED,
    "failed": CallStatus.FAILED,
    "killed": CallStatus.CANCELLED,
    "running": CallStatus.RUNNING,
}


class Ending(NamedTuple):
    """What a result states about the end of a call.

    ``body`` is where the tool's own output begins, in escaped bytes. ``task`` is the command in the background that
    was started, or that this result reports of.
    """

    exit_code: int | None = None
    status: CallStatus = CallStatus.UNKNOWN
    error_flag: bool | None = None
    body: int = 0
    task: str | None = None


NOTHING_STATED: Final = Ending()
SUCCEEDED: Final = Ending(status=CallStatus.COMPLETED, error_flag=False)


def read_failure(head: bytes) -> Ending:
    """Return what a result with ``is_error: true`` states, by the beginning of its escaped text."""
    code = _EXIT_CODE.match(head)
    if code is not None and int(code[1]) in EXIT_CODES:
        return Ending(int(code[1]), CallStatus.FAILED, error_flag=True, body=code.end())
    for words, status in _NOTICES:
        if head.startswith(words):
            return Ending(status=status, error_flag=True)
    return Ending(status=CallStatus.FAILED, error_flag=True)


def read_end(block: Fields, stated: Fields | None) -> Ending:
    """Return what a ``tool_result`` block states.

    ``stated`` are the fields of its ``toolUseResult``, where that is an object and this result's alone.
    Raises: ``TranscriptSyntaxError``.
    """
    is_error = bool_of(block.get("is_error"))
    if is_error:
        return read_failure(text_content(block.get("content")) or b"")
    if stated is not None and ("task" in stated or "shellId" in stated):
        return _read_task(stated)
    if is_error is None:
        return NOTHING_STATED
    return NOTHING_PROVED if stated is None else _read_success(stated)


NOTHING_PROVED: Final = Ending(error_flag=False)
"""The host flags no error, and says nothing that would make this the end of a command."""


def _read_success(stated: Fields) -> Ending:
    interrupted = bool_of(stated.get("interrupted"))
    if interrupted:
        return Ending(status=CallStatus.CANCELLED)
    if "backgroundTaskId" in stated:
        return Ending(status=CallStatus.RUNNING, task=text_of(stated["backgroundTaskId"]))
    if "returnCodeInterpretation" in stated:
        return NOTHING_STATED
    if interrupted is None or not SHELL_RESULT.issuperset(stated):
        return NOTHING_PROVED
    return SUCCEEDED


def _read_task(stated: Fields) -> Ending:
    """Return what a look at a command in the background states; of another kind of task it is nothing."""
    task = task_of(stated)
    if task is None:
        return NOTHING_STATED
    name = text_of(task.get("task_id") or task.get("shellId"))
    status = _TASK_STATUS.get(text_of(task.get("status")) or "", CallStatus.UNKNOWN)
    code = int_of(task.get("exitCode"))
    if code is not None and code not in EXIT_CODES:
        code = None
    if status is CallStatus.COMPLETED and code != 0:
        status = CallStatus.UNKNOWN if code is None else CallStatus.FAILED
    if status is CallStatus.RUNNING and code is not None:
        return Ending(task=name)
    return Ending(code, status, task=name)


def task_of(stated: Fields) -> Fields | None:
    """Return the fields that tell of a command in the background. Raises: ``TranscriptSyntaxError``."""
    if "task" not in stated:
        return stated
    raw = stated["task"]
    if not is_object(raw):
        return None
    task = fields_of(raw)
    return task if text_of(task.get("task_type")) == "local_bash" else None


def read_text(block: Fields, ending: Ending, stated: Fields | None) -> Excerpt:
    """Return the bounded text of a result; see ``read_end``. Raises: ``TranscriptSyntaxError``."""
    if stated is not None and ending.task is not None and ending.status is not CallStatus.RUNNING:
        return _task_text(stated)
    content = text_content(block.get("content"))
    if content is None:
        return NO_OUTPUT
    cut = (
        (stated is not None and "persistedOutputPath" in stated)
        or content.startswith(_PERSISTED)
        or (b" truncated] " in content and _CUT.search(content) is not None)
    )
    return excerpt_of(content[ending.body :], truncated=cut)


def _task_text(stated: Fields) -> Excerpt:
    """Return the output of a command in the background. ``BashOutput`` shows only what is new since the last look."""
    task = task_of(stated) or {}
    if "shellId" in task:
        content = content_of(task.get("stdout"))
        return NO_OUTPUT if content is None else excerpt_of(content, truncated=True)
    content = content_of(task.get("output"))
    if content is None:
        return NO_OUTPUT
    cut = len(content) >= TASK_OUTPUT_CHARS or content.startswith(_TASK_CUT)
    return excerpt_of(content, truncated=cut)


def text_content(raw: Raw | None) -> bytes | None:
    """Return the escaped text of a result: a text, or a list that holds one text and nothing else.

    Raises: ``TranscriptSyntaxError``.
    """
    return _single_text(raw) if is_list(raw) else content_of(raw)


def _single_text(raw: Raw | None) -> bytes | None:
    blocks = blocks_of(raw)
    if blocks is None or len(blocks) != 1 or bytes(blocks[0].get("type", b"")) != b'"text"':
        return None
    return content_of(blocks[0].get("text"))
