"""Where the end of a tool call stands, by generation of Codex (formats §1.8), and what each carrier says.

- Text headers count only at the very start of an output and only line for line as Codex writes them; the body is
  never searched, since anything can be printed there.
- ``shell`` outputs are JSON inside the string; the object must be whole and of its exact shape.
- Structured reports (``CommandExecution``, ``exec_command_end``) state an integer or nothing.
- Code mode (``Script completed``) and a start in the background state nothing about an end.

Outputs are looked at escaped and bounded; see ``adapters.decode``.
"""

import re
from typing import Final, NamedTuple

from adapters.decode import (
    Fields,
    Raw,
    content_of,
    fields_of,
    int_of,
    text_of,
    whole_text,
)
from adapters.errors import TranscriptSyntaxError
from adapters.excerpt import NO_OUTPUT, Excerpt, excerpt_of
from adapters.record import CallStatus

HEADER_BYTES: Final = 512
"""How far into an output its header may reach, in escaped bytes; the longest seen takes 140."""

SHELL_JSON_BYTES: Final = 1024 * 1024
"""Largest ``shell`` output that is unwrapped, in bytes. Codex cut these outputs at 10 KiB when it wrote them."""

EXIT_CODES: Final = range(-(2**31), 2**32)
"""What a system can report as an exit code: signed 32 bits on Unix, unsigned 32 bits on Windows."""


_HEADER_LINE = re.compile(
    rb"(?:"
    rb"Chunk ID: [0-9A-Za-z]{1,32}"
    rb"|Wall time: [0-9]{1,9}(?:\.[0-9]{1,9})? seconds"
    rb"|Process exited with code (?P<exited>-?[0-9]{1,10})"
    rb"|Process running with session ID (?P<session>[0-9]{1,12})"
    rb"|Exit code: (?P<code>-?[0-9]{1,10})"
    rb"|Original token count: [0-9]{1,12}"
    rb"|Total output lines: [0-9]{1,12}"
    rb")\\n"
)
_USUAL_HEADER = re.compile(
    rb"Chunk ID: [0-9A-Za-z]{1,32}\\nWall time: [0-9]{1,9}(?:\.[0-9]{1,9})? seconds\\n"
    rb"Process exited with code (-?[0-9]{1,10})\\nOriginal token count: [0-9]{1,12}\\nOutput:\\n"
)
"""The header of nine outputs in ten, read at once; the others line by line, with equal results."""

_OUTPUT_LINE: Final = rb"Output:\n"
SHELL_START: Final = rb"{\"output\":\""
_SHELL_END = re.compile(
    rb'\\",\\"metadata\\":\{\\"exit_code\\":(-?[0-9]{1,10}),'
    rb'\\"duration_seconds\\":[0-9]{1,9}(?:\.[0-9]{1,9})?\}\}\Z'
)
_ITEM_END = re.compile(
    rb'[,{]"exit_code":(-?[0-9]{1,10})(?:,"duration":\{"secs":[0-9]{1,19},"nanos":[0-9]{1,9}\})?\}'
    rb'(?:,"(?:started|completed)_at_ms":[0-9]{1,16}){0,2}\}\Z'
)
_SANDBOX = re.compile(
    rb"failed in sandbox [A-Za-z]{1,32} with execution error: [^\\]{0,200}?exit code: (-?[0-9]{1,10})[,\\]"
)
_CUT = re.compile(rb"\xe2\x80\xa6[0-9]{1,12} (?:chars|characters|tokens|lines|bytes) truncated\xe2\x80\xa6")
_CUT_END: Final = b" truncated\xe2\x80\xa6"
_OLD_CUT = re.compile(rb"\[\.\.\. omitted [0-9]{1,12} of [0-9]{1,12} lines \.\.\.\]")
_NOTICES: Final = (
    (b"aborted by user", CallStatus.CANCELLED),
    (b"patch rejected by user", CallStatus.DENIED),
    (b"exec command rejected by user", CallStatus.DENIED),
    (b"Command blocked by PreToolUse hook", CallStatus.DENIED),
    (b"Tool call blocked by ", CallStatus.DENIED),
    (b"command timed out after ", CallStatus.TIMEOUT),
    (b"apply_patch verification failed", CallStatus.FAILED),
    (b"error: Failed to find expected lines", CallStatus.FAILED),
    (b"failed in sandbox ", CallStatus.FAILED),
    (b"tool call error: ", CallStatus.FAILED),
    (b"write_stdin failed: ", CallStatus.FAILED),
)
"""Whole-output notices of the host: how an output begins that no command printed.

A command could print the same words, but then Codex puts its header in front of them.
"""

ABORTED_IN_BODY: Final = b"aborted by user"
"""What stands behind ``Wall time`` where a user interrupts a command that ran (0.142)."""


class Ending(NamedTuple):
    """What one carrier states about the end of a call. ``anchored`` says that it stood in a carrier's own place.

    ``body`` is where the tool's own output begins, in escaped bytes of the content that was looked at. ``session`` is
    the number under which a command goes on that has not ended yet.
    """

    exit_code: int | None = None
    status: CallStatus = CallStatus.UNKNOWN
    error_flag: bool | None = None
    anchored: bool = False
    body: int = 0
    session: int | None = None


NOTHING_STATED: Final = Ending()


def ended_with(exit_code: int, body: int = 0) -> Ending:
    """Return the ending of a command that reported ``exit_code``."""
    status = CallStatus.COMPLETED if exit_code == 0 else CallStatus.FAILED
    return Ending(exit_code, status, anchored=True, body=body)


def exit_code_of(raw: Raw | None) -> int | None:
    """Return an exit code written as an integer within ``EXIT_CODES``; ``0.0``, ``"0"`` and ``true`` are none.

    Raises: ``TranscriptSyntaxError`` for a number that no double can hold.
    """
    code = int_of(raw)
    return code if code is not None and code in EXIT_CODES else None


def read_head(content: bytes) -> Ending:
    """Return what the beginning (and, for ``shell``, the very end) of an output's escaped ``content`` states."""
    usual = _USUAL_HEADER.match(content)
    if usual is not None and int(usual[1]) in EXIT_CODES:
        return ended_with(int(usual[1]), usual.end())
    position, codes, sessions, seen = 0, [], [], False
    head = content[:HEADER_BYTES]
    while match := _HEADER_LINE.match(head, position):
        position, seen = match.end(), True
        code = match["exited"] or match["code"]
        if code is not None:
            codes.append(int(code))
        if match["session"] is not None:
            sessions.append(int(match["session"]))
    if seen and head.startswith(_OUTPUT_LINE, position):
        return _header_states(codes, sessions, position + len(_OUTPUT_LINE))
    if seen:
        aborted = head.startswith(ABORTED_IN_BODY, position) and not codes
        return Ending(status=CallStatus.CANCELLED, anchored=True) if aborted else NOTHING_STATED
    if content.startswith(SHELL_START):
        end = _SHELL_END.search(content, max(len(content) - 128, 0))
        return ended_with(int(end[1])) if end and int(end[1]) in EXIT_CODES else NOTHING_STATED
    return _notice(head)


def _header_states(codes: list[int], sessions: list[int], body: int) -> Ending:
    if sessions and not codes:
        session = sessions[0] if len(sessions) == 1 else None
        return Ending(status=CallStatus.RUNNING, anchored=True, body=body, session=session)
    if len(codes) == 1 and not sessions and codes[0] in EXIT_CODES:
        return ended_with(codes[0], body)
    return Ending(anchored=True, body=body)


def _notice(head: bytes) -> Ending:
    for words, status in _NOTICES:
        if head.startswith(words):
            sandbox = _SANDBOX.match(head)
            code = int(sandbox[1]) if sandbox and int(sandbox[1]) in EXIT_CODES else None
            return Ending(code, status, anchored=True)
    return NOTHING_STATED


def read_output(raw: Raw | None) -> tuple[Ending, Excerpt]:
    """Return what a ``function_call_output``'s ``output`` states, with the bounded text of the body.

    A string, a list of one text, or the oldest object form; anything else states nothing.
    """
    content, error_flag = _content(raw)
    if content is None:
        return Ending(error_flag=error_flag), NO_OUTPUT
    ending = read_head(content)
    if content.startswith(SHELL_START):
        return _shell_json(content)
    if error_flag is not None:
        ending = ending._replace(error_flag=error_flag)
    return ending, excerpt(content[ending.body :])


def _content(raw: Raw | None) -> tuple[bytes | None, bool | None]:
    """Return the escaped text of an output, and the error flag of the oldest form."""
    first = memoryview(raw)[0] if raw is not None and len(raw) else 0
    if first == ord("["):
        return single_text(raw), None
    if first == ord("{") and raw is not None:
        fields = fields_of(raw)
        success = {b"true": True, b"false": False}.get(bytes(fields.get("success", b"")))
        return content_of(fields.get("content")), None if success is None else not success
    return content_of(raw), None


_LIST_OF_ONE = re.compile(rb'\[\{"type":"(?:input_text|output_text|text)","text":"')


def single_text(raw: Raw | None) -> bytes | None:
    """Return the escaped text of a list that holds one text and nothing else, in the shape Codex writes."""
    plain = bytes(raw) if raw is not None else b""
    start = _LIST_OF_ONE.match(plain)
    if start is None or not plain.endswith(b'"}]'):
        return None
    item = plain[1:-1]
    try:
        fields = fields_of(item)
    except TranscriptSyntaxError:
        return None
    return content_of(fields.get("text")) if len(fields) == 2 else None


def _shell_json(content: bytes) -> tuple[Ending, Excerpt]:
    """Unwrap ``{"output":…,"metadata":{"exit_code":…,"duration_seconds":…}}``, whole and strictly."""
    if len(content) > SHELL_JSON_BYTES:
        return NOTHING_STATED, NO_OUTPUT
    try:
        fields = fields_of(whole_text(content).encode())
        metadata = fields_of(fields["metadata"])
        code = exit_code_of(metadata.get("exit_code"))
    except (TranscriptSyntaxError, KeyError):
        return NOTHING_STATED, NO_OUTPUT
    inner = content_of(fields.get("output"))
    if inner is None or fields.keys() != {"output", "metadata"}:
        return NOTHING_STATED, NO_OUTPUT
    ending = ended_with(code) if code is not None else NOTHING_STATED
    return ending, excerpt_of(
        inner, truncated=_OLD_CUT.search(inner) is not None or _CUT.search(inner) is not None
    )


def excerpt(content: bytes) -> Excerpt:
    """Return the bounded part of a tool's own output, given as escaped ``content``."""
    # Finding a word is many times as fast as a pattern, and nearly no output holds this one.
    return excerpt_of(content, truncated=_CUT_END in content and _CUT.search(content) is not None)


def read_execution(fields: Fields) -> tuple[Ending, Excerpt]:
    """Return what a ``CommandExecution`` item or an ``exec_command_end`` states, with its output."""
    code = exit_code_of(fields.get("exit_code"))
    status = text_of(fields.get("status"))
    output = content_of(fields.get("aggregated_output")) or content_of(fields.get("stdout"))
    text = excerpt(output) if output is not None else NO_OUTPUT
    if code == -1:
        # No process ends with -1: the host writes it for a command that was interrupted (hosts §2.2).
        return Ending(code, CallStatus.CANCELLED, anchored=True), text
    if status == "declined":
        return Ending(code, CallStatus.DENIED, anchored=True), text
    if code is None:
        return Ending(anchored=True), text
    if code == 0 and status == "failed":
        # The host contradicts itself; both statements are kept, and the decision says conflict.
        return Ending(code, CallStatus.FAILED, anchored=True), text
    return ended_with(code), text


def read_item_end(payload_end: bytes) -> Ending | None:
    """Return what the last bytes of a raw ``item_completed`` with a ``CommandExecution`` state, if they do."""
    end = _ITEM_END.search(payload_end)
    if end is None or int(end[1]) not in EXIT_CODES or end[1] == b"-1":
        return None
    return ended_with(int(end[1]))
