"""The way in: ``ClaudeAdapter`` offers what ``adapters.base.Adapter`` asks for."""

from collections.abc import Container, Sequence

from adapters.base import Cursor, Header, statement_at
from adapters.claude.calls import MAX_CALL_LINES, Told, are_one_call, join, told_by
from adapters.claude.envelope import record_of
from adapters.claude.header import FORMAT, HOST, read_header
from adapters.claude.origin import NOWHERE
from adapters.claude.reader import Reader
from adapters.claude.said import text_at
from adapters.errors import TranscriptSyntaxError
from adapters.lines import CitedLine, Place
from adapters.objective.reviewed import ReviewedCommands
from adapters.record import Statement, ToolResult


class ClaudeAdapter:
    """Reads sessions of Claude Code; see ``adapters.base.Adapter``.

    ``elsewhere`` are the uuids of records that files of *other* sessions hold, where the caller knows them: records
    with one of these are copies, which an older fork or resume marks by nothing else.
    """

    def __init__(self, elsewhere: Container[str] = NOWHERE) -> None:
        self._elsewhere = elsewhere

    @property
    def host(self) -> str:
        """See ``adapters.base.Adapter``."""
        return HOST

    @property
    def format(self) -> str:
        """See ``adapters.base.Adapter``."""
        return FORMAT

    def read_header(self, first_bytes: bytes) -> Header:
        """See ``adapters.base.Adapter``."""
        return read_header(first_bytes)

    def reader(self, header: Header, cursor: Cursor | None = None) -> Reader:
        """See ``adapters.base.Adapter``."""
        return Reader(header, cursor, self._elsewhere)

    def derive(
        self, header: Header, lines: Sequence[CitedLine], *, inherited: bool = False
    ) -> ToolResult | None:
        """See ``adapters.base.Adapter``."""
        del header  # a session's lines say the same in every version
        told: list[Told] = []
        for offset, raw, part in lines[: MAX_CALL_LINES + 1]:
            try:
                one = told_by(record_of(raw), part, Place(offset, raw, 0, len(raw)))
            except TranscriptSyntaxError:
                return None
            if one is None or (told and offset <= told[-1].ref.offset):
                return None
            told.append(one)
        if not 0 < len(told) <= MAX_CALL_LINES or told[0].command not in ReviewedCommands():
            return None
        return join(told, inherited=inherited) if are_one_call(told) else None

    def read_statement(self, header: Header, line: CitedLine, *, inherited: bool = False) -> Statement | None:
        """See ``adapters.base.Adapter``."""
        return None if inherited else statement_at(self, header, line)

    def text_of_statement(self, header: Header, raw: bytes) -> str:
        """See ``adapters.base.Adapter``."""
        del header  # a session's lines say the same in every version
        return text_at(raw)
