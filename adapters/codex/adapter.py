"""The way in: ``CodexAdapter`` offers what ``adapters.base.Adapter`` asks for. It holds no state."""

from collections.abc import Sequence

from adapters.base import Cursor, Header, statement_at
from adapters.codex.bare import BARE, bare_envelope_of
from adapters.codex.calls import MAX_CALL_LINES, Told, are_one_call, join, told_by
from adapters.codex.envelope import envelope_of
from adapters.codex.header import FORMAT, HOST, read_header
from adapters.codex.reader import Reader
from adapters.codex.said import bare_text_at, text_at
from adapters.errors import TranscriptSyntaxError
from adapters.lines import CitedLine
from adapters.objective.reviewed import ReviewedCommands
from adapters.record import Statement, ToolResult


class CodexAdapter:
    """Reads rollouts of the Codex CLI and its desktop and editor forms; see ``adapters.base.Adapter``."""

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
        return Reader(header, cursor)

    def derive(
        self, header: Header, lines: Sequence[CitedLine], *, inherited: bool = False
    ) -> ToolResult | None:
        """See ``adapters.base.Adapter``."""
        envelope = bare_envelope_of if header.history_mode == BARE else envelope_of
        told: list[Told] = []
        for offset, raw, _part in lines[: MAX_CALL_LINES + 1]:
            try:
                one = told_by(envelope(raw), offset, raw)
            except TranscriptSyntaxError:
                return None
            if one is None or (told and offset <= told[-1].ref.offset):
                return None
            told.append(one)
        if not 0 < len(told) <= MAX_CALL_LINES or not _is_call(told):
            return None
        return join(told, inherited=inherited)

    def read_statement(self, header: Header, line: CitedLine, *, inherited: bool = False) -> Statement | None:
        """See ``adapters.base.Adapter``."""
        return None if inherited else statement_at(self, header, line)

    def text_of_statement(self, header: Header, raw: bytes) -> str:
        """See ``adapters.base.Adapter``."""
        return (bare_text_at if header.history_mode == BARE else text_at)(raw)


def _is_call(told: Sequence[Told]) -> bool:
    """Say whether the lines are those of one call of a reviewed command."""
    return told[0].command in ReviewedCommands() and are_one_call(told)
