"""A tool result with one line to change per test."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from adapters.record import CallStatus, LineRef, LineRole, OutputText, ToolResult

MakeResult = Callable[..., ToolResult]


@pytest.fixture(scope="session")
def make_result() -> MakeResult:
    """Give a maker of a finished, paired call: ``make(command, output, exit_code, **fields)``."""

    def make(
        command: str | None, output: str | OutputText, exit_code: int | None = 0, **fields: Any
    ) -> ToolResult:
        text = OutputText(output, output, whole=True, truncated=False) if isinstance(output, str) else output
        result = ToolResult(
            lines=(LineRef(LineRole.CALL, 0, 10, bytes(32)), LineRef(LineRole.OUTPUT, 11, 10, bytes(32))),
            at_ms=1_900_000_000_000,
            call_id="call_1",
            tool="exec_command",
            command=command,
            exit_code=exit_code,
            error_flag=None,
            status=CallStatus.COMPLETED if exit_code == 0 else CallStatus.UNKNOWN,
            conflict=False,
            inherited=False,
            output=text,
        )
        return msgspec.structs.replace(result, **fields)

    return make
