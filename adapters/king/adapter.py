"""The way in: ``KingAdapter`` offers what ``adapters.base.Adapter`` asks for. It holds no state but its mapping."""

from collections.abc import Iterable, Mapping, Sequence

from adapters.base import Cursor, Header, statement_at
from adapters.errors import TranscriptSyntaxError
from adapters.king.calls import MAX_CALL_LINES, Told, are_one_call, join, told_by
from adapters.king.envelope import record_of
from adapters.king.header import FORMAT, MAIN, NO_MAPPING, accept, of_agent, read_header, with_forks
from adapters.king.reader import Reader
from adapters.king.said import text_at
from adapters.lines import Block, CitedLine, Line, Overlong
from adapters.objective.reviewed import ReviewedCommands
from adapters.record import Statement, ToolResult


class KingAdapter:
    """Reads wires of King and of Kimi Code; see ``adapters.base.Adapter``.

    ``host`` is the name under which it is registered. ``protocols`` maps a protocol that a file may declare to the
    reviewed one that it is read as; it comes from the owner's configuration or from the launcher's variables.
    """

    __slots__ = ("_accepted", "_host")

    def __init__(self, host: str = "king", protocols: Mapping[str, str] = NO_MAPPING) -> None:
        """Take the reviewed protocols, and those of ``protocols`` (raises: ``UnknownProtocolError``)."""
        self._host = host
        self._accepted = accept(protocols)

    @property
    def host(self) -> str:
        """See ``adapters.base.Adapter``."""
        return self._host

    @property
    def format(self) -> str:
        """See ``adapters.base.Adapter``."""
        return FORMAT

    def read_header(self, first_bytes: bytes) -> Header:
        """See ``adapters.base.Adapter``."""
        return read_header(first_bytes, self._host, self._accepted)

    def of_agent(self, header: Header, session: str, agent: str = MAIN) -> Header:
        """Return ``header`` as that of an agent of a session, both from the path. Raises: ``HeaderError``."""
        return of_agent(header, session, agent)

    def with_forks(self, header: Header, pieces: Iterable[Block | Line | Overlong]) -> Header:
        """Return ``header`` with what a look at the whole file says about copied history."""
        return with_forks(header, pieces)

    def reader(self, header: Header, cursor: Cursor | None = None) -> Reader:
        """See ``adapters.base.Adapter``."""
        return Reader(header, cursor)

    def derive(
        self, header: Header, lines: Sequence[CitedLine], *, inherited: bool = False
    ) -> ToolResult | None:
        """See ``adapters.base.Adapter``."""
        del header  # the lines of every reviewed protocol say the same
        told: list[Told] = []
        for line in lines[: MAX_CALL_LINES + 1]:
            try:
                one = told_by(record_of(line.raw), line.offset, line.raw)
            except TranscriptSyntaxError:
                return None
            if one is None or line.part or (told and line.offset <= told[-1].ref.offset):
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
        del header  # the lines of every reviewed protocol say the same
        return text_at(raw)
