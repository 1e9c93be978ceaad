"""What only looks like a test run gives nothing, on every host: the same spoofs written by each host's simulator.

A result needs the call that ran the runner. Whatever printed a summary otherwise (a printer, a file, another tool,
another agent, a card of this program that was recalled into the conversation) gives no objective result.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import pytest

from adapters.base import Adapter
from adapters.objective import Objective, decide_objective
from adapters.record import ToolResult
from adapters.registry import ADAPTERS
from tests.adapters.contract import read
from tests.simulators import claude, hosts, king
from tests.simulators.hosts import LEGACY, PAGINATED, pytest_output

SUMMARY = pytest_output(12)
CARD = (
    '{"cards":[{"runner":"pytest","outcome":"pass","passed":12,"failed":0,"binding":"direct"}]}\n' + SUMMARY
)


class _Session(Protocol):
    def to_bytes(self) -> bytes: ...


class Host(NamedTuple):
    """How one host's simulator writes what the spoofs need."""

    name: str
    begin: Callable[[], _Session]
    run: Callable[[_Session, str, str, int], object]
    tool: Callable[[_Session, str, str], object]


def _codex(mode: str) -> Callable[[], hosts.CodexRollout]:
    def begin() -> hosts.CodexRollout:
        rollout = hosts.new_rollout(mode)
        rollout.start_turn()
        rollout.prompt("test it")
        return rollout

    return begin


def _codex_tool(rollout: hosts.CodexRollout, name: str, text: str) -> None:
    rollout.output(rollout.call(name, {"cmd": "pytest -q", "command": "pytest -q"}), text)


def _claude() -> claude.ClaudeSession:
    session = claude.new_session()
    session.prompt("test it")
    return session


def _claude_tool(session: claude.ClaudeSession, name: str, text: str) -> None:
    call_id = session.call(name, {"command": "pytest -q", "prompt": "pytest -q"})
    session.result(call_id, [{"type": "text", "text": text}], False, [{"type": "text", "text": text}])


def _king() -> king.Wire:
    wire = king.Wire()
    wire.prompt("test it")
    return wire


def _king_tool(wire: king.Wire, name: str, text: str) -> None:
    wire.result(wire.call(name, {"command": "pytest -q"}), text)


HOSTS = {
    "codex-legacy": Host("codex", _codex(LEGACY), lambda s, *run: s.command(*run), _codex_tool),
    "codex-paginated": Host("codex", _codex(PAGINATED), lambda s, *run: s.command(*run), _codex_tool),
    "claude": Host("claude", _claude, lambda s, *run: s.command(*run), _claude_tool),
    "king": Host("king", _king, lambda s, *run: s.command(*run), _king_tool),
}


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest) -> Host:
    """Give each host in turn."""
    return HOSTS[request.param]


def results(host: Host, session: _Session) -> list[Objective]:
    """Return the objective results of a session, inherited ones not counted."""
    adapter: Adapter = ADAPTERS[host.name]
    found = [
        decide_objective(record)
        for record in read(adapter, session.to_bytes())[0]
        if isinstance(record, ToolResult)
    ]
    return [one for one in found if one is not None]


def test_the_simulated_run_itself_is_a_result(host: Host) -> None:
    """Without this the tests below would pass for an adapter that reads nothing."""
    session = host.begin()
    host.run(session, "pytest -q", SUMMARY, 0)
    (found,) = results(host, session)
    assert (found.runner, found.passed, found.outcome) == ("pytest", 12, "pass")


PRINTERS = (
    "cat old.log",
    "tail -f build.log",
    "head -50 README.md",
    "echo '12 passed in 0.52s'",
    "printf '%s\\n' '=== 12 passed in 0.52s ==='",
    "git log -p -1",
    "git show HEAD:pytest.log",
    "rg -n 'passed in' .",
    "sed -n '1,20p' pytest.log",
    "cat <<'EOF'\n=== 12 passed in 0.52s ===\npytest -q\nEOF",
    "python - <<'EOF'\nprint('12 passed in 0.52s')  # pytest\nEOF",
    "python -c \"print('pytest: 12 passed in 0.52s')\"",
    "curl -s http://localhost/pytest",
    "less pytest.txt",
    "awk '{print}' pytest.log",
    "# pytest -q",
    "true # pytest -q",
    "alias pytest='echo 12 passed in 0.52s'",
    "ls pytest",
    "man pytest",
    "which pytest && cat log",
    "pytest --version",
    "pip install pytest",
    "docker run x pytest",
    "ssh box pytest -q",
    "watch pytest -q",
    "grep -r pytest .",
)


@pytest.mark.requirement("T73", "X3")
@pytest.mark.parametrize("command", PRINTERS)
@pytest.mark.parametrize("code", [0, 1])
def test_a_summary_that_was_only_printed_is_no_result(host: Host, command: str, code: int) -> None:
    """Printers, files, histories, here documents, comments, other machines: no card, whatever the exit code."""
    session = host.begin()
    host.run(session, command, SUMMARY, code)
    assert not results(host, session)


@pytest.mark.requirement("T73", "X3")
@pytest.mark.parametrize(
    "tool", ["mcp__tests__run", "Task", "Agent", "Read", "spawn_agent", "wait", "WebFetch", "js"]
)
@pytest.mark.parametrize("text", [SUMMARY, CARD, f"Exit code 0\n{SUMMARY}"])
def test_what_another_tool_says_is_no_result(host: Host, tool: str, text: str) -> None:
    """An MCP tool, a subagent's report, a file that was read, a card that was recalled: words, and no run."""
    session = host.begin()
    host.tool(session, tool, text)
    assert not results(host, session)


HEADERS = (
    "Exit code 0\n",
    "Exit code: 0\nWall time: 1 seconds\nOutput:\n",
    "Chunk ID: a1\nWall time: 1.0 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n",
    "Command failed with exit code: 0.\n",
    '{"output":"","metadata":{"exit_code":0,"duration_seconds":1}}\n',
    '"exit_code":0,"status":"completed"\n',
)


@pytest.mark.requirement("T73", "X3")
@pytest.mark.parametrize("header", HEADERS)
def test_a_header_imitated_inside_the_output_changes_nothing(host: Host, header: str) -> None:
    """A failed run whose output begins with, holds or ends in what another host writes for success stays failed."""
    for text in (
        header + pytest_output(11, 1),
        pytest_output(11, 1, filler=header),
        pytest_output(11, 1) + header,
    ):
        session = host.begin()
        host.run(session, "pytest -q", text, 1)
        assert all(found.outcome != "pass" for found in results(host, session)), text


@pytest.mark.requirement("T73")
def test_a_card_inside_a_transcript_is_text(host: Host) -> None:
    """What this program answered an agent stands in the transcript again: it proves nothing there."""
    session = host.begin()
    host.run(session, "timeline search pytest passed --json", CARD, 0)
    host.run(session, "timeline show timeline-event:" + "0" * 32, CARD, 0)
    assert not results(host, session)
