"""Whether the transcript itself shows the prompt that a hook has reported: the host's own word against a forged one.

A hook can be called by anybody who runs as the user. What the host writes behind the place where its file ended at
the prompt is another matter: only the adapter says what a person typed there, by the host's own marks, and neither a
tool's output that quotes a prompt nor a text that the host puts before the model is that (formats §7.8). A copy of an
older conversation shows older times. A host that writes the prompt first, and calls its hook then, is allowed seconds.

Nor may a hook say of a session that it works elsewhere than its host has written: the folder there must be of the
project that the receipt names. King and Kimi Code write none into their transcripts; there the hook's word is all.

What it cannot tell: whether a process with the user's rights has written into the transcript.
"""

from collections.abc import Callable, Iterator
from typing import Final

from adapters.base import Adapter, Header
from adapters.errors import HeaderIncompleteError, NoSessionError
from adapters.lines import Block, LineSplitter
from adapters.record import HumanStatement
from timeline.errors import TranscriptMissingError
from timeline.events import read_header
from timeline.guard.enrollment import check_covered
from timeline.guard.receipt import Receipt
from timeline.hosts import HOSTS
from timeline.limits import INDEX_BYTES_MAX, KIB, READ_BYTES
from timeline.source import OpenSource, check_grown, open_source, take_snapshot

PROMPT_EARLY_MS: Final = 60_000
"""How much older than its receipt a prompt may be, in milliseconds: hosts stamp it before they call their hooks, and
wait up to a minute for them."""

PROMPT_JUST_MS: Final = 2_000
"""The same where the host wrote the prompt before it called its hook: Kimi Code 0.20.0 had done so 40 ms before."""

PROMPT_BACK_BYTES: Final = 64 * KIB
"""How far before the end of the file such a prompt is looked for; the longest that is typed by hand is shorter."""


def shows_new_prompt(receipt: Receipt, adapter: Adapter, project_of: Callable[[str], str]) -> bool:
    """Whether a person's prompt stands behind what the file held when the receipt was issued.

    ``project_of`` gives the project that a folder belongs to.

    Reads the header and at most 16 MiB behind that place, keeps nothing, and waits for nothing: a file that is not
    there yet, or has not grown yet, shows none.

    Raises:
        ReceiptChangedError: another file stands at the path.
        SourceError: the file cannot be read, or changed otherwise than by growing.
        AdapterError: it is not of the host's format.
    """
    try:
        now = take_snapshot(receipt.source.path, rule=check_grown)
    except TranscriptMissingError:
        return False
    check_covered(receipt, now)
    begin = receipt.source.size or 0
    if not now.size:
        return False
    with open_source(now, check_grown) as opened:
        try:
            header = read_header(adapter, opened)
        except (HeaderIncompleteError, NoSessionError):  # the host has only begun to write it
            return False
        if not _is_of_session(header, receipt) or not _is_of_project(header, receipt, project_of):
            return False
        behind = _statements(adapter, header, opened, begin, now.size)
        if any(is_new_prompt(statement, receipt.issued_at - PROMPT_EARLY_MS) for statement in behind):
            return True
        if not HOSTS[receipt.binding.host].writes_prompt_first:
            return False
        before = _statements(adapter, header, opened, max(0, begin - PROMPT_BACK_BYTES), begin)
        return any(is_new_prompt(statement, receipt.issued_at - PROMPT_JUST_MS) for statement in before)


def is_new_prompt(statement: HumanStatement, since_ms: int) -> bool:
    """Whether a person said something in this session no earlier than ``since_ms`` (UTC milliseconds). Pure.

    Without an exact time it is not known to be new: a host that resumes a session may copy what was said before.
    """
    return not statement.inherited and statement.at_ms is not None and statement.at_ms >= since_ms


def _is_of_session(header: Header, receipt: Receipt) -> bool:
    """Whether the file says the session of the receipt, where the host writes it there, and is no subagent's."""
    named = HOSTS[receipt.binding.host].header_names_session
    return not header.is_subagent and (not named or header.session_id == receipt.binding.session)


def _is_of_project(header: Header, receipt: Receipt, project_of: Callable[[str], str]) -> bool:
    """Whether the folder that the file names, if its host writes one there, is of the receipt's project."""
    return header.cwd is None or project_of(header.cwd) == receipt.binding.project


def _statements(
    adapter: Adapter, header: Header, opened: OpenSource, begin: int, size: int
) -> Iterator[HumanStatement]:
    """What people said in the lines from ``begin`` on, of which the first is whole."""
    reader = adapter.reader(header)
    skipping = begin > 0 and opened.read(begin - 1, 1) != b"\n"
    splitter = LineSplitter(begin)
    for position in range(begin, min(size, begin + INDEX_BYTES_MAX), READ_BYTES):
        piece = opened.read(position, min(READ_BYTES, size - position))
        if skipping:
            found = piece.find(b"\n") + 1
            if not found:
                continue
            skipping, splitter = False, LineSplitter(position + found)
            piece = piece[found:]
        for part in splitter.feed_blocks(piece):
            records = reader.feed_block(part) if isinstance(part, Block) else reader.feed(part)
            yield from (record for record in records if isinstance(record, HumanStatement))
