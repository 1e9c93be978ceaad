"""What is special to reading Claude Code: joining blocks, background commands, repeats, copies, the self-check."""

import pytest

from adapters.base import CURSOR_BYTES, Outcomes, Verdict, decode_cursor, encode_cursor
from adapters.claude import ClaudeAdapter, records
from adapters.claude.ledger import MAX_OPEN, MAX_RECENT
from adapters.errors import CursorError, DefectKind
from adapters.lines import Block, CitedLine, Line, LineSplitter
from adapters.record import CallStatus, Defect, HumanStatement, LineRole, ToolResult
from tests.adapters.claude_cases import cases
from tests.adapters.contract import read
from tests.simulators.claude import (
    VERSIONS,
    ClaudeSession,
    branch,
    new_session,
    result_block,
    use,
    uuids_of,
    work_session,
)
from tests.simulators.hosts import pytest_output

CLAUDE = ClaudeAdapter()
READABLE = {name: case.data for name, case in cases().items() if case.readable}
GOOD_REPORT = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}


def results(session: ClaudeSession, adapter: ClaudeAdapter = CLAUDE) -> list[ToolResult]:
    """Return the tool results of a session."""
    return [record for record in read(adapter, session.to_bytes())[0] if isinstance(record, ToolResult)]


def started(version: str = "2.1.49") -> ClaudeSession:
    """Return a session with its first prompt."""
    session = new_session(version)
    session.prompt("test it")
    return session


# ---------------------------------------------------------------------------------------- calls, results and bounds


def test_the_cursor_is_bounded_in_the_worst_session() -> None:
    """Any number of calls with the longest ids, names and types: the stored cursor keeps its bound."""
    session = started()
    for number in range(300):
        call_id, task = f"{number:0128d}", f"t{number}"
        session.answer(use(call_id, "Bash", {"command": f"pytest {number}"}))
        session.answer(use(call_id, "Bash", {"command": f"pytest {number} again"}))
        session.result(call_id, "", False, {**GOOD_REPORT, "backgroundTaskId": task})
        session.result(call_id, f"Exit code {number}\n", True, "Error")
        session.look(task, "", None)
        session.look(task, "", number)
        session.answer(use(f"x{number:0127d}", f"tool_{number}" + "x" * 120, {}))
        session.side(f"unknown_{number}" + "y" * 40)
        session.prompt(f"{number}")
    for kinds in (records.SYSTEM, records.PROGRESS, records.ATTACHMENTS):
        for kind in kinds:
            session.record("system", {"subtype": kind})
            session.record("progress", {"data": {"type": kind}})
            session.record("attachment", {"attachment": {"type": kind}})
    for kind in records.RECORD_TYPES - {"user", "assistant"}:
        session.side(kind)
    ids = [session.call("Bash", {"command": "pytest " + "a" * number}) for number in range(MAX_OPEN)]
    for call_id in ids:
        for code in range(6):
            session.result(call_id, f"Exit code {code}\n", True, "Error")
    reader = CLAUDE.reader(CLAUDE.read_header(session.to_bytes()))
    longest = 0
    for line in LineSplitter().feed(session.to_bytes()):
        reader.feed(line)
        longest = max(longest, len(encode_cursor(reader.cursor())))
    assert CURSOR_BYTES // 2 < longest <= CURSOR_BYTES


def test_more_parallel_calls_than_are_kept_settle_the_oldest() -> None:
    """When the table is full the oldest ended call is settled; calls one after the other lose no result."""
    session = started()
    commands = [f"pytest -q tests/{number}" for number in range(3 * MAX_OPEN)]
    for command in commands:
        session.command(command, pytest_output(1))
    assert [result.command for result in results(session)] == commands


def test_calls_that_wait_too_long_are_given_up() -> None:
    """Results of more calls than are remembered become orphans: counted, never paired by guess."""
    session = started()
    ids = [session.call("Bash", {"command": "ls"}) for _ in range(MAX_RECENT + 10)]
    for call_id in ids:
        session.result(call_id, "a\n", False, GOOD_REPORT)
    tallies = read(CLAUDE, session.to_bytes())[1].tallies
    assert (tallies.calls_without_result, tallies.results_without_call) == (10, 10)
    assert tallies.outcomes.success == MAX_RECENT + 10


def test_a_call_waits_while_its_subagent_makes_many() -> None:
    """In early sessions a subagent's calls stand between a call and its result: the answered ones make room."""
    session = started("1.0.98")
    task = session.call("Task", {"prompt": "p"})
    for number in range(2 * MAX_RECENT):
        session.command(f"ls {number}", "a\n")
    session.result(task, "done", None, {"content": []})
    tallies = read(CLAUDE, session.to_bytes())[1].tallies
    assert (tallies.calls_without_result, tallies.results_without_call) == (0, 0)


def test_blocks_of_one_line_are_told_apart_by_their_part() -> None:
    """Several calls in a line and several results in another: each result names the two blocks that are its own."""
    session = started()
    ids = [session.new_call_id() for _ in range(3)]
    session.answer(*(use(call_id, "Bash", {"command": f"pytest -q {n}"}) for n, call_id in enumerate(ids)))
    blocks = [
        result_block(call_id, f"Exit code {n + 1}\n", True, early=False) for n, call_id in enumerate(ids)
    ]
    session.record("user", {"message": {"role": "user", "content": [*reversed(blocks)]}})
    found = results(session)
    assert [(r.call_id, r.exit_code) for r in found] == [(call_id, n + 1) for n, call_id in enumerate(ids)]
    assert [[ref.part for ref in r.lines] for r in found] == [[0, 2], [1, 1], [2, 0]]


def test_a_report_that_several_results_share_proves_no_success() -> None:
    """``toolUseResult`` says of one result that it ran in the foreground; of two it cannot say which."""
    session = started()
    first, second = session.new_call_id(), session.new_call_id()
    session.answer(*(use(call_id, "Bash", {"command": "pytest -q"}) for call_id in (first, second)))
    blocks = [result_block(call_id, pytest_output(1), False, early=False) for call_id in (first, second)]
    session.record("user", {"message": {"role": "user", "content": blocks}}, toolUseResult=GOOD_REPORT)
    assert [(r.status, r.error_flag) for r in results(session)] == [(CallStatus.UNKNOWN, False)] * 2


def test_a_line_that_tells_of_a_call_twice_is_a_defect() -> None:
    """Two blocks of one line with one id: no pair could be told from the other."""
    session = started()
    session.answer(*(use("same", "Bash", {"command": f"pytest {n}"}) for n in range(2)))
    blocks = [result_block("same", f"Exit code {n}\n", True, early=False) for n in range(2)]
    session.record("user", {"message": {"role": "user", "content": blocks}})
    records_, reader = read(CLAUDE, session.to_bytes())
    assert [r.kind for r in records_ if isinstance(r, Defect)] == [DefectKind.SHAPE] * 2
    assert not reader.tallies.tool_calls
    assert reader.tallies.outcomes == Outcomes()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_command_in_the_background_ends_where_a_look_saw_it(version: str) -> None:
    """The start proves nothing; the look that states a code ends it, and the result names both."""
    session = started(version)
    session.start("pytest -q", "t1")
    session.look("t1", "", None)
    session.prompt("still there?")
    session.command("pytest -q other", pytest_output(1))
    look = session.look("t1", pytest_output(3, 1), 1)
    other, result = sorted(results(session), key=lambda r: r.command or "", reverse=True)
    assert other.command == "pytest -q other"
    assert (result.call_id, result.command, result.exit_code) == (look, "pytest -q", 1)
    assert (result.status, result.conflict) == (CallStatus.FAILED, False)
    assert [ref.role for ref in result.lines] == [LineRole.CALL, LineRole.OUTPUT] * 2
    # BashOutput shows only what is new since the last look.
    assert result.output.truncated is (version in {"1.0.98", "2.0.76"})


def test_a_command_in_the_background_that_nobody_saw_end_is_running() -> None:
    """No look, a look that saw it run, a look at another task: it runs for all that is known."""
    session = started()
    session.start("pytest -q", "t1")
    session.look("t1", pytest_output(3), None)
    session.look("t2", pytest_output(3), 0)
    (result,) = results(session)
    assert (result.status, result.exit_code, len(result.lines)) == (CallStatus.RUNNING, None, 2)


@pytest.mark.parametrize(
    "change", [{"task_type": "local_agent"}, {"exitCode": 0.0}, {"exitCode": "0"}, {"status": "?"}]
)
def test_only_a_stated_end_of_a_command_ends_it(change: dict[str, object]) -> None:
    """Another kind of task, a code that is no integer, a status that nobody reviewed: no end."""
    session = started()
    session.start("pytest -q", "t1")
    call_id = session.call("TaskOutput", {"task_id": "t1"})
    task = {
        "task_id": "t1",
        "task_type": "local_bash",
        "status": "completed",
        "output": "",
        "exitCode": 0,
    } | change
    session.result(call_id, "", None, {"retrieval_status": "success", "task": task})
    (result,) = results(session)
    assert (result.status, result.exit_code, len(result.lines)) == (CallStatus.RUNNING, None, 2)


def test_only_the_blocks_of_one_command_derive_a_result() -> None:
    """A look at another task, a look without its result, two looks: not what a reader would have joined."""
    session = started()
    for task in ("t1", "t2"):
        session.start("pytest -q", task)
    first, second = len(session.lines), len(session.lines) + 2
    session.look("t1", "", 0)
    session.look("t2", "", 0)
    session.look("t1", "", 0)
    data, header = session.to_bytes(), CLAUDE.read_header(session.to_bytes())
    places = [Line(line.offset, line.raw) for line in LineSplitter().feed(data) if isinstance(line, Line)]
    cited = [CitedLine(*place) for place in places]
    start = cited[first - 4 : first - 2]
    own, other, again = (cited[at : at + 2] for at in (first, second, second + 2))
    assert CLAUDE.derive(header, [*start, *own]) is not None
    assert CLAUDE.derive(header, [*start, *other]) is None
    assert CLAUDE.derive(header, [*start, *own, *other]) is None
    assert CLAUDE.derive(header, [*start, *own, *again]) is None
    assert CLAUDE.derive(header, [*start, own[1]]) is None
    assert CLAUDE.derive(header, own) is None
    assert CLAUDE.derive(header, [line._replace(part=1) for line in start]) is None


def test_two_results_that_disagree_are_a_conflict() -> None:
    """The second one of the same turn counts: never the pleasant one of two."""
    session = started()
    call_id = session.call("Bash", {"command": "pytest -q"})
    session.result(call_id, pytest_output(3), False, GOOD_REPORT)
    session.result(call_id, f"Exit code 1\n{pytest_output(2, 1)}", True, "Error")
    (result,) = results(session)
    assert result.conflict
    assert read(CLAUDE, session.to_bytes())[1].tallies.outcomes == Outcomes(unknown=2)


def test_a_call_told_again_otherwise_is_a_conflict() -> None:
    """One id, two commands: nobody can say which one ran."""
    session = started()
    for command in ("pytest -q", "pytest -q other"):
        session.answer(use("same", "Bash", {"command": command}))
    session.result("same", pytest_output(3), False, GOOD_REPORT)
    (result,) = results(session)
    assert (result.conflict, len(result.lines)) == (True, 3)


def test_a_session_written_twice_counts_its_runs_once() -> None:
    """Hosts append whole histories again: the same call and the same prompt are repeats, not new ones."""
    once = work_session()
    lines = list(once.lines)
    data = b"".join(line + b"\n" for line in lines * 3)
    records_, reader = read(CLAUDE, data)
    first = [record for record in read(CLAUDE, once.to_bytes())[0] if isinstance(record, ToolResult)]
    assert [r for r in records_ if isinstance(r, ToolResult)] == first
    assert reader.tallies.prompts == 2
    assert reader.tallies.anomalies["repeated-line"] >= 2


# ------------------------------------------------------------------------------------------------- whose history


@pytest.mark.parametrize("version", VERSIONS)
def test_a_marked_copy_is_inherited(version: str) -> None:
    """``forkedFrom`` on a record makes it the other session's; what follows without it is own."""
    child = branch(work_session(version))
    child.prompt("and now the child")
    child.command("pytest -q", pytest_output(7))
    found = results(child)
    assert [result.inherited for result in found] == [True] * (len(found) - 1) + [False]
    _, reader = read(CLAUDE, child.to_bytes())
    assert (reader.tallies.inherited_prompts, reader.tallies.prompts) == (2, 1)
    assert reader.tallies.outcomes == Outcomes(success=1)


def test_an_unmarked_copy_is_known_by_the_uuids_of_its_original() -> None:
    """Older forks change nothing but the session id: who knows the original's uuids knows the copy."""
    parent = work_session("1.0.98")
    child = branch(parent, marked=False)
    child.command("pytest -q", pytest_output(7))
    assert not any(result.inherited for result in results(child))
    found = results(child, ClaudeAdapter(uuids_of(parent)))
    assert [result.inherited for result in found] == [True] * (len(found) - 1) + [False]


def test_another_sessions_records_yield_nothing_here() -> None:
    """Two terminals in one file: the other's results are marked, its prompts are counted, the mixture is noted."""
    session = started()
    own, session.session_id = session.session_id, session.new_uuid()
    session.command("pytest -q", pytest_output(1))
    session.prompt("from over there")
    session.session_id = own
    session.command("pytest -q", pytest_output(2))
    assert [result.inherited for result in results(session)] == [True, False]
    tallies = read(CLAUDE, session.to_bytes())[1].tallies
    assert (tallies.prompts, tallies.anomalies["another-session"]) == (2, 3)
    assert tallies.inherited_outcomes == Outcomes(success=1)


def test_a_subagents_file_is_its_own_source() -> None:
    """``sessionId`` is the parent's, ``agentId`` the file's; its task is no statement, its runs are results."""
    session = new_session()
    session.agent, session.sidechain = "a1b2c3", True
    session.prompt("do this")
    session.command("pytest -q", pytest_output(3))
    header = CLAUDE.read_header(session.to_bytes())
    assert (header.session_id, header.parent_id, header.is_subagent) == ("a1b2c3", session.session_id, True)
    records_, reader = read(CLAUDE, session.to_bytes())
    assert not [r for r in records_ if isinstance(r, HumanStatement)]
    assert [r.inherited for r in records_ if isinstance(r, ToolResult)] == [False]
    assert reader.self_check().verdict is Verdict.UNDERSTOOD


def test_nested_messages_are_counted_and_never_read() -> None:
    """What ``agent_progress`` carries of a subagent is told again in the subagent's own file."""
    session = started()
    call_id = session.call("Bash", {"command": "pytest -q"})
    block = result_block(call_id, pytest_output(9), False, early=False)
    inner = {"type": "user", "message": {"role": "user", "content": [block, block]}}
    session.record("progress", {"data": {"message": inner, "type": "agent_progress"}})
    records_, reader = read(CLAUDE, session.to_bytes())
    assert not [r for r in records_ if isinstance(r, ToolResult)]
    assert reader.tallies.evidence == {records.NESTED: 2}
    assert reader.tallies.calls_without_result == 1


# --------------------------------------------------------------------------------------------------------- self-check


def test_answers_without_prompts_were_not_understood() -> None:
    """An agent that answers though nothing was said to it: the prompts stand where this reader does not look."""
    session = new_session()
    session.say("done")
    understanding = read(CLAUDE, session.to_bytes())[1].self_check()
    assert (understanding.verdict, understanding.reasons) == (Verdict.NOT, ("answers-without-prompts",))


def test_a_session_that_goes_on_from_a_summary_is_understood() -> None:
    """A summary stands for what was said before: no statement, and no failure of understanding."""
    session = new_session()
    session.compact()
    session.say("go on")
    _, reader = read(CLAUDE, session.to_bytes())
    assert (reader.tallies.prompts, reader.self_check().verdict) == (0, Verdict.UNDERSTOOD)


def test_results_without_calls_were_not_understood() -> None:
    """When most results belong to no call, the key that joins them has moved."""
    session = started()
    for number in range(3):
        session.result(f"c{number}", "a\n", False, GOOD_REPORT)
    assert read(CLAUDE, session.to_bytes())[1].self_check().reasons == ("results-without-calls",)


def test_calls_that_never_have_results_were_not_understood() -> None:
    """One call may be interrupted; eight without a single result are a format that this reader does not know."""
    session = started()
    for number in range(8):
        assert read(CLAUDE, session.to_bytes())[1].self_check().verdict is Verdict.UNDERSTOOD, number
        session.call("Bash", {"command": "ls"})
    assert read(CLAUDE, session.to_bytes())[1].self_check().reasons == ("calls-without-results",)


def test_what_is_fed_before_resume_is_our_own_mistake() -> None:
    """Reading on without the open lines would lose a result: that is misuse, not input."""
    session = started()
    session.call("Bash", {"command": "pytest"})
    header = CLAUDE.read_header(session.to_bytes())
    reader = CLAUDE.reader(header)
    for line in LineSplitter().feed(session.to_bytes()):
        reader.feed(line)
    second = CLAUDE.reader(header, reader.cursor())
    with pytest.raises(RuntimeError):
        second.feed(Line(reader.cursor().offset, b""))
    with pytest.raises(RuntimeError):
        second.feed_block(Block(reader.cursor().offset, b"\n"))


def test_a_cursor_with_broken_digests_is_refused() -> None:
    """What is remembered of earlier calls is part of the stored form, and checked as such."""
    session = started()
    header = CLAUDE.read_header(session.to_bytes())
    reader = CLAUDE.reader(header)
    for line in LineSplitter().feed(session.to_bytes()):
        reader.feed(line)
    text = encode_cursor(reader.cursor())
    broken = decode_cursor(text.replace('"recent":[["!', '"recent":[["!*'))
    with pytest.raises(CursorError):
        CLAUDE.reader(header, broken)
