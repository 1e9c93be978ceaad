"""Whether the transcript itself shows the prompt that a hook has reported, host by host."""

import pytest

from adapters.record import HumanStatement
from adapters.registry import ADAPTERS
from tests.consent.prompting import KINDS, Desk, report, resumed_claude
from tests.simulators.worlds import World, refusal_of
from timeline.guard.prompted import PROMPT_EARLY_MS, is_new_prompt, shows_new_prompt
from timeline.guard.receipt import Receipt
from timeline.hosts import HOSTS
from timeline.project import project_of


def shown(desk: Desk, receipt: Receipt) -> bool:
    """Say whether the transcript shows the prompt of a receipt, once the host has written what it has."""
    desk.write()
    return shows_new_prompt(receipt, ADAPTERS[desk.kind.host], project_of)


def began(desk: Desk) -> None:
    """Let a session have a past: a prompt, and work."""
    desk.talk.prompt("make the tests pass")
    desk.talk.work()
    desk.write()


@pytest.mark.requirement("T6")
def test_a_prompt_that_a_person_types_is_shown_once_it_is_written(desk: Desk) -> None:
    """Not before: the hook comes first, and what was typed earlier is not the new prompt."""
    began(desk)
    desk.at(0)
    receipt = report(desk)
    assert not shown(desk, receipt)
    desk.talk.prompt("once more")
    assert shown(desk, receipt)


@pytest.mark.requirement("T6")
def test_the_prompt_of_a_moment_ago_is_not_the_new_one(desk: Desk) -> None:
    """What stood in the file when the hook was called spends nothing, however young it is."""
    desk.at(-10_000)
    began(desk)
    desk.at(0)
    receipt = report(desk)
    assert not shown(desk, receipt)
    desk.talk.work()
    assert not shown(desk, receipt)
    desk.talk.prompt("once more")
    assert shown(desk, receipt)


@pytest.mark.requirement("T6")
def test_a_prompt_that_was_written_just_before_its_hook_counts_only_where_hosts_do_so(desk: Desk) -> None:
    """Kimi Code 0.20.0 writes first and calls its hooks then; what is older than that is another prompt."""
    began(desk)
    desk.at(-500)
    desk.talk.prompt("once more")
    desk.write()
    desk.at(0)
    assert shown(desk, report(desk)) == HOSTS[desk.kind.host].writes_prompt_first


@pytest.mark.requirement("T6")
def test_a_prompt_is_found_behind_other_records(desk: Desk) -> None:
    """The host may write about the turn first, and the agent may have worked since."""
    began(desk)
    desk.at(0)
    receipt = report(desk)
    desk.talk.inject("the host says something")
    desk.talk.prompt("once more")
    desk.talk.work()
    assert shown(desk, receipt)


@pytest.mark.requirement("T6", "T62")
def test_injected_text_is_no_prompt(desk: Desk) -> None:
    """What a host, a hook or a skill puts before the model in the person's place was not typed."""
    began(desk)
    desk.at(0)
    receipt = report(desk)
    desk.talk.inject("please read everything")
    desk.talk.work()
    assert not shown(desk, receipt)


@pytest.mark.requirement("T6", "T62")
def test_a_tool_that_prints_a_prompt_is_no_prompt(desk: Desk) -> None:
    """The very line of a prompt, printed by a command: on its own, and among others."""
    began(desk)
    desk.at(0)
    receipt = report(desk)
    desk.talk.work(desk.talk.raw_prompt() + "\n")
    desk.talk.work("noise\n" + desk.talk.raw_prompt() + "\n" + desk.talk.raw_prompt())
    assert not shown(desk, receipt)


@pytest.mark.requirement("T6")
def test_a_file_that_is_not_created_yet_shows_nothing_and_then_the_prompt(desk: Desk) -> None:
    """Hosts create it with the first item: its beginning alone is no prompt either."""
    desk.at(0)
    receipt = report(desk)
    adapter = ADAPTERS[desk.kind.host]
    assert receipt.source.size is None
    assert not shows_new_prompt(receipt, adapter, project_of)
    desk.path.write_bytes(b"")
    assert not shows_new_prompt(receipt, adapter, project_of)
    desk.path.write_bytes(desk.talk.to_bytes()[:40])
    assert not shows_new_prompt(receipt, adapter, project_of)
    assert not shown(desk, receipt)
    desk.talk.prompt("begin")
    assert shown(desk, receipt)


@pytest.mark.requirement("T6")
def test_a_file_that_is_created_with_old_prompts_shows_no_new_one(desk: Desk) -> None:
    """A session that is resumed in another file brings its past along; what counts is when it was said."""
    desk.talk.prompt("make the tests pass")
    desk.talk.work()
    desk.at(0)
    receipt = report(desk)
    assert not shown(desk, receipt)
    desk.talk.prompt("go on")
    assert shown(desk, receipt)


@pytest.mark.requirement("T6")
def test_an_unmarked_copy_of_an_older_session_shows_no_new_prompt(world: World) -> None:
    """Claude Code copied history under the new session's id for years; nothing but the times tells."""
    desk = Desk(world, KINDS["claude 2.1.49"])
    began(desk)
    resumed_claude(desk)
    desk.at(0)
    receipt = report(desk)
    assert not shown(desk, receipt)
    desk.talk.prompt("go on")
    assert shown(desk, receipt)


@pytest.mark.parametrize(
    ("early_ms", "new"), [(PROMPT_EARLY_MS - 2_000, True), (PROMPT_EARLY_MS + 2_000, False)]
)
def test_a_prompt_may_be_stamped_before_the_hook_is_called(codex: Desk, early_ms: int, new: bool) -> None:
    """A host stamps what was typed, and then waits for its hooks, for a minute at most."""
    began(codex)
    codex.at(0)
    receipt = report(codex)
    codex.clock.set(receipt.issued_at - early_ms)
    codex.talk.prompt("once more")
    assert shown(codex, receipt) == new


@pytest.mark.parametrize(
    ("at_ms", "inherited", "new"),
    [(1_000, False, True), (999, False, False), (None, False, False), (2_000, True, False)],
)
def test_what_is_copied_or_has_no_time_is_not_new(at_ms: int | None, inherited: bool, new: bool) -> None:
    """Without an exact time nobody knows whether it is a copy."""
    assert is_new_prompt(HumanStatement(0, 10, at_ms, inherited), 1_000) == new


@pytest.mark.requirement("T6")
@pytest.mark.parametrize("name", ["codex legacy", "codex paginated", "claude 2.1.49", "claude 2.1.220"])
@pytest.mark.parametrize(("folder", "is_shown"), [("project/below", True), ("other", False)])
def test_a_session_that_works_elsewhere_shows_none(
    world: World, name: str, folder: str, *, is_shown: bool
) -> None:
    """A hook says where the session works, and a forged one says it wrongly; the host has written it as well."""
    (world.home / "project" / ".git").mkdir()
    desk = Desk(world, KINDS[name], str(world.home / folder))
    began(desk)
    desk.at(0)
    receipt = report(desk)
    desk.talk.prompt("once more")
    assert shown(desk, receipt) == is_shown


def test_an_unfinished_prompt_is_waited_for(codex: Desk) -> None:
    """Half a line shows nothing."""
    began(codex)
    codex.at(0)
    receipt = report(codex)
    codex.talk.prompt("once more")
    whole = codex.talk.to_bytes()
    adapter = ADAPTERS["codex"]
    with codex.path.open("ab") as file:
        file.write(whole[receipt.source.size : -5])
        file.flush()
        assert not shows_new_prompt(receipt, adapter, project_of)
        file.write(whole[-5:])
    assert shows_new_prompt(receipt, adapter, project_of)


def test_the_rest_of_a_line_is_not_read_as_a_line(codex: Desk) -> None:
    """Where the receipt was issued inside a line, reading begins behind it: its rest may look like a record."""
    began(codex)
    codex.at(0)
    raw = codex.talk.raw_prompt().encode()
    with codex.path.open("ab") as file:
        file.write(b'{"half": "of a line"')
    receipt = report(codex)
    with codex.path.open("ab") as file:
        file.write(raw + b"\n")
    assert not shows_new_prompt(receipt, ADAPTERS["codex"], project_of)
    with codex.path.open("ab") as file:
        file.write(raw + b"\n")
    assert shows_new_prompt(receipt, ADAPTERS["codex"], project_of)


def test_another_file_at_the_path_is_refused(codex: Desk) -> None:
    """What shows a prompt must be the file of the receipt."""
    began(codex)
    codex.at(0)
    receipt = report(codex)
    codex.talk.prompt("once more")
    copy = codex.path.with_suffix(".new")
    copy.write_bytes(codex.talk.to_bytes())
    copy.replace(codex.path)
    adapter = ADAPTERS["codex"]
    assert refusal_of(lambda: shows_new_prompt(receipt, adapter, project_of)) == "transcript-snapshot-changed"


@pytest.mark.parametrize("name", ["codex legacy", "claude 2.1.49"])
def test_a_file_of_another_session_shows_nothing(world: World, name: str) -> None:
    """Where the host writes the session into the file, it must be that of the receipt."""
    desk = Desk(world, KINDS[name])
    desk.at(0)
    receipt = report(desk)
    talk = desk.talk
    talk.prompt("once more")
    foreign = talk.to_bytes().replace(talk.session.encode(), talk.session[::-1].encode())
    desk.path.write_bytes(foreign)
    assert not shows_new_prompt(receipt, ADAPTERS[desk.kind.host], project_of)
    desk.path.write_bytes(talk.to_bytes())
    assert shows_new_prompt(receipt, ADAPTERS[desk.kind.host], project_of)
