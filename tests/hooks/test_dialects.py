"""What each host says at its events, and which answers it takes: exact bytes, and no key beyond its own."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.dialects import (
    CLAUDE_PLUGIN_PREFIX,
    CONTEXT_CHARACTERS_MAX,
    DIALECTS,
    HOOK_EVENTS,
    KING_MESSAGE_BYTES_MAX,
    TOOL_PREFIX,
    HookEvent,
    context,
    deny,
    nothing,
    parse_hook,
    rewrite,
    tell_user,
)
from timeline.errors import HookInputError
from timeline.guard.request import Tool
from timeline.hosts import HOSTS
from timeline.limits import HOOK_INPUT_BYTES_MAX

TOOL = "mcp__timeline__session_timeline_search"
SECRET = "text of a person"


def event(**fields: object) -> dict[str, object]:
    """Give an input that every host could have sent."""
    return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/p", **fields}


def parse(host: str, **fields: object) -> HookEvent:
    """Parse such an input."""
    return parse_hook(host, json.dumps(event(**fields)).encode())


# -- what hosts say --------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "codex, prompt": (
        "codex",
        {
            "hook_event_name": "UserPromptSubmit",
            "prompt": SECRET,
            "turn_id": "t",
            "transcript_path": "/x.jsonl",
        },
        {"event": "UserPromptSubmit", "turn": "t", "transcript": "/x.jsonl"},
    ),
    "codex, a transcript that is not there yet": ("codex", {"transcript_path": None}, {"transcript": None}),
    "codex, tool": (
        "codex",
        {"tool_name": TOOL, "tool_input": {"query": "a b"}, "tool_use_id": "exec-1"},
        {"tool": TOOL, "tool_input": {"query": "a b"}, "tool_use": "exec-1", "thread": None},
    ),
    "codex, subagent": ("codex", {"agent_id": "child", "agent_type": "w"}, {"thread": "child"}),
    "codex, fork": ("codex", {"hook_event_name": "SessionStart", "source": "fork"}, {"source": "fork"}),
    "codex, a text in place of arguments": ("codex", {"tool_input": "*** Begin Patch"}, {"tool_input": None}),
    "claude, prompt": (
        "claude",
        {
            "hook_event_name": "UserPromptSubmit",
            "prompt": SECRET,
            "prompt_id": "p",
            "transcript_path": "/x.jsonl",
        },
        {"turn": "p", "transcript": "/x.jsonl"},
    ),
    "claude, tool with fractions": (
        "claude",
        {"tool_use_id": "toolu_1", "tool_response": {"score": 0.25}, "duration_ms": 1.5},
        {"tool_use": "toolu_1"},
    ),
    "kimi, prompt in parts": (
        "kimi",
        {"hook_event_name": "UserPromptSubmit", "prompt": [{"type": "text", "text": SECRET}]},
        {"transcript": None, "turn": None},
    ),
    "kimi, tool": (
        "kimi",
        {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_call_id": "Bash_0", "agent_id": "a"},
        {"tool": "Bash", "tool_use": "Bash_0", "thread": None},
    ),
    "kimi says no path, whatever stands there": (
        "kimi",
        {"transcript_path": "/x.jsonl"},
        {"transcript": None},
    ),
    "king, as its family": ("king", {"tool_call_id": "c"}, {"tool_use": "c"}),
    "king, under the label of Codex": ("king", {"tool_use_id": "c"}, {"tool_use": "c"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_field_of_a_host_is_found(name: str) -> None:
    """By the name that this host gives it; what a person or a tool said is not kept."""
    host, fields, expected = ROWS[name]
    found = parse(host, **fields)
    assert (found.host, found.session, found.cwd) == (host, "s1", "/p")
    assert {field: getattr(found, field) for field in expected} == expected
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("host", "content"),
    [
        ("emacs", b"{}"),
        ("", b"{}"),
        ("codex", b""),
        ("codex", b"[]"),
        ("codex", b"{"),
        ("codex", b"\xff"),
        ("codex", b'{"session_id":"a","session_id":"b","cwd":"/","hook_event_name":"Stop"}'),
        ("codex", b'{"x":NaN}'),
        ("codex", b"[" * 100_000),
        ("codex", json.dumps(event(prompt="x" * HOOK_INPUT_BYTES_MAX)).encode()),
        ("codex", json.dumps(event(session_id="")).encode()),
        ("codex", json.dumps(event(session_id=7)).encode()),
        ("codex", json.dumps(event(session_id="s" * 257)).encode()),
        ("codex", json.dumps(event(session_id="s\x1b[2J")).encode()),
        ("codex", json.dumps(event(tool_name="a\nb")).encode()),
        ("codex", json.dumps(event(cwd=None)).encode()),
        ("codex", json.dumps(event(cwd="/p\0")).encode()),
        ("codex", json.dumps(event(cwd="/p\x1b[2J")).encode()),
        ("codex", json.dumps(event(cwd="/a" * 2049)).encode()),
        ("codex", json.dumps(event(cwd="/" + "\u00e4" * 2048)).encode()),
        ("codex", json.dumps(event(transcript_path="/" + "a" * 4096)).encode()),
        ("codex", json.dumps(event(hook_event_name=["Stop"])).encode()),
        ("codex", json.dumps(event(tool_use_id={})).encode()),
        ("codex", json.dumps(event(transcript_path=1)).encode()),
        ("king", json.dumps(event(tool_use_id="a", tool_call_id="b")).encode()),
    ],
)
def test_what_is_no_event_is_refused(host: str, content: bytes) -> None:
    """With a reason that quotes nothing of it."""
    with pytest.raises(HookInputError) as refused:
        parse_hook(host, content)
    assert refused.value.message.startswith(("the hook", "field"))


@pytest.mark.requirement("T8")
@pytest.mark.parametrize(
    ("fields", "group"),
    [
        ({}, False),
        ({"agent_spine_scope": {"task_id": "t"}, "groupie": 1}, False),
        ({"group": None}, True),
        ({"groupId": "g"}, True),
        ({"GROUP_ID": "g"}, True),
        ({"agent_spine_scope": {"group-ref": "g"}}, True),
    ],
)
def test_a_group_is_noticed_in_any_spelling(fields: dict[str, object], *, group: bool) -> None:
    """At the top and in the nested scope."""
    assert parse("codex", **fields).names_group is group


def test_every_event_that_real_hosts_sent_is_understood(shared: Path) -> None:
    """Of four Codex and Kimi Code versions and more, as a lab recorded them."""
    seen: dict[str, set[str]] = {}
    for path in sorted(shared.glob("samples/live/*/side/hooks.jsonl")):
        host = path.parts[-3].partition("-")[0]
        for line in path.read_bytes().split(b"\n"):
            if not line:
                continue
            given = json.loads(line)["stdin"]
            found = parse_hook(host, json.dumps(given).encode())
            assert (found.session, found.event) == (given["session_id"], given["hook_event_name"])
            assert (found.tool_use is not None) is ("tool_name" in given)
            assert (found.transcript is not None) is (host == "codex")
            assert found.thread == given.get("agent_id")
            seen.setdefault(path.parts[-3], set()).add(found.event)
    if not seen:
        pytest.skip("no recorded hooks beside the checkout")
    for version, events in seen.items():
        # The old, the new and what lies between: a name that one of them does not know would drop all hooks.
        if version in {"kimi-0.10.0", "kimi-0.20.0", "kimi-0.43.1", "kimi-2.1.0", "codex-0.171.0-direct"}:
            assert {wanted.event for wanted in HOOK_EVENTS[version.partition("-")[0]]} <= events


# -- what they are answered ------------------------------------------------------------------------------------

_HEAD = b'{"hookSpecificOutput":{"hookEventName":"PreToolUse",'
DENIED = _HEAD + b'"permissionDecision":"deny","permissionDecisionReason":"no"}}\n'
REWRITTEN = _HEAD + b'"permissionDecision":"allow","updatedInput":{"a":1}}}\n'


@pytest.mark.parametrize("host", HOSTS)
def test_a_refusal_is_one_and_the_same(host: str) -> None:
    """JSON deny, which every host was seen to take; never without a reason, since one then lets the tool run."""
    assert deny(host, "no") == DENIED
    assert json.loads(deny(host, " "))["hookSpecificOutput"]["permissionDecisionReason"]


@pytest.mark.parametrize(
    ("host", "answer"), [("codex", REWRITTEN), ("claude", b""), ("king", b""), ("kimi", b"")]
)
def test_input_is_changed_only_where_the_host_takes_it(host: str, answer: bytes) -> None:
    """Kimi hands the original on without a word; in Claude Code it would answer the user's own question."""
    assert rewrite(host, {"a": 1}) == answer


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PostCompact", "PostToolUse", "Stop"])
def test_text_reaches_the_model_only_where_the_host_takes_it(host: str, name: str) -> None:
    """As additional context, as King's message, or as the plain text of Kimi's prompt hook, a line that is no JSON."""
    answer = context(host, name, '{"a"\n: 1}')
    if host in {"codex", "claude"} and name in {"SessionStart", "UserPromptSubmit"}:
        said = {"hookEventName": name, "additionalContext": '{"a"\n: 1}'}
        assert answer == json.dumps({"hookSpecificOutput": said}, separators=(",", ":")).encode() + b"\n"
    elif host == "king" and name == "UserPromptSubmit":
        said = {"hookEventName": name, "message": '{"a"\n: 1}'}
        assert answer == json.dumps({"hookSpecificOutput": said}, separators=(",", ":")).encode() + b"\n"
    elif host == "kimi" and name == "UserPromptSubmit":
        assert answer == b'Timeline: {"a" : 1}\n'
    else:
        assert answer == b""
    assert context(host, name, " \n") == b""


def test_silence_is_silence() -> None:
    """But for Codex at Stop, which wants JSON."""
    silent = {
        (host, name): nothing(host, name) for host in HOSTS for name in ("PreToolUse", "Stop", "SubagentStop")
    }
    assert {key: answer for key, answer in silent.items() if answer} == {
        ("codex", "Stop"): b"{}\n",
        ("codex", "SubagentStop"): b"{}\n",
    }


KEYS = {
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
}
ALLOWED: dict[str, set[str]] = {
    "codex": KEYS,
    "claude": KEYS,
    "king": KEYS - {"updatedInput", "additionalContext"} | {"message"},
    "kimi": KEYS - {"updatedInput", "additionalContext"},
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=400)
INPUT: Any = st.dictionaries(
    TEXT, st.recursive(st.none() | st.integers(-9, 9) | TEXT, st.lists, max_leaves=4)
)


@given(host=st.sampled_from(sorted(HOSTS)), text=TEXT, given_input=INPUT, data=st.data())
def test_no_answer_has_a_key_that_its_host_does_not_know(
    host: str, text: str, given_input: dict[str, object], data: st.DataObject
) -> None:
    """And each is empty or one line, which the hook can tell from half of one."""
    name = data.draw(st.sampled_from([*(wanted.event for wanted in HOOK_EVENTS[host]), "Stop", "Other"]))
    for answer in (
        nothing(host, name),
        deny(host, text),
        rewrite(host, given_input),
        context(host, name, text),
        tell_user(host, name, text),
    ):
        assert answer.find(b"\n") == len(answer) - 1
        if answer.startswith(b"{"):
            found = json.loads(answer)
            shown = {"systemMessage"} if name == "Stop" and host in {"codex", "claude"} else set()
            assert set(found) <= {"hookSpecificOutput"} | shown
            assert len(found) <= 1
            said = found.get("hookSpecificOutput", {})
            assert set(said) <= ALLOWED[host]
            # Codex takes "allow" only together with a new input.
            assert (said.get("permissionDecision") == "allow") is ("updatedInput" in said)


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("host", HOSTS)
def test_the_user_is_told_where_the_host_has_a_way(host: str) -> None:
    """At Stop alone, and by nothing that a model reads or that keeps it at work."""
    told = tell_user(host, "Stop", " a\nb ")
    assert told == (b'{"systemMessage":"a\\nb"}\n' if host in {"codex", "claude"} else b"")
    for name in ("SubagentStop", "UserPromptSubmit", "PreToolUse"):
        assert tell_user(host, name, "a") == nothing(host, name)
    assert tell_user(host, "Stop", " \n") == nothing(host, "Stop")


@pytest.mark.requirement("P4")
@pytest.mark.parametrize("host", HOSTS)
def test_the_last_message_is_taken_at_stop_where_the_host_gives_it(host: str) -> None:
    """At no other event, and one of another form is none."""
    gives = host in {"codex", "claude"}
    at_stop = {"hook_event_name": "Stop", "last_assistant_message": "All tests pass."}
    assert parse(host, **at_stop).message == ("All tests pass." if gives else None)
    assert parse(host, **at_stop).goes_on is False
    assert parse(host, **at_stop, stop_hook_active=True).goes_on is True
    assert parse(host, **{**at_stop, "hook_event_name": "SubagentStop"}).message is None
    for other in (None, "", 3, ["a"], {}):
        assert parse(host, **{**at_stop, "last_assistant_message": other}).message is None


def test_a_line_for_kimi_says_once_whose_it_is() -> None:
    """Whether or not the text does."""
    assert context("kimi", "UserPromptSubmit", "Timeline recall.\n{}") == b"Timeline recall. {}\n"
    assert context("kimi", "UserPromptSubmit", "{}") == b"Timeline: {}\n"


@pytest.mark.requirement("T50")
def test_a_message_for_king_is_whole_or_not_said() -> None:
    """By its bytes, not its characters."""
    fits = "\u00e4" * (KING_MESSAGE_BYTES_MAX // 2)
    said = json.loads(context("king", "UserPromptSubmit", fits))
    assert said["hookSpecificOutput"]["message"] == fits
    assert context("king", "UserPromptSubmit", fits + "a") == b""


def test_text_for_the_model_is_bounded() -> None:
    """By what Claude Code takes."""
    said = json.loads(context("claude", "SessionStart", "x" * (CONTEXT_CHARACTERS_MAX + 1)))
    assert len(said["hookSpecificOutput"]["additionalContext"]) == CONTEXT_CHARACTERS_MAX


# -- what is installed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
def test_the_hook_is_installed_for_what_is_needed(host: str) -> None:
    """Receipts and permits for every host; permits only for our tools, so that no other tool waits for us."""
    import re

    assert set(DIALECTS) == set(HOSTS)
    wanted = {subscription.event: subscription.matcher for subscription in HOOK_EVENTS[host]}
    assert len(wanted) == len(HOOK_EVENTS[host])
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostCompact", "Stop"} <= set(
        wanted
    )
    assert wanted["Stop"] is None
    assert wanted["UserPromptSubmit"] is None
    matcher = re.compile(wanted["PreToolUse"] or "")
    prefixes = [TOOL_PREFIX, *([CLAUDE_PLUGIN_PREFIX] if host == "claude" else [])]
    assert all(matcher.fullmatch(prefix + tool) for prefix in prefixes for tool in Tool)
    assert not matcher.search("Bash")
    assert not matcher.search("mcp__other__session_timeline_search")


def test_the_letters_of_a_fuller_alphabet_pass() -> None:
    """Names of tools and sessions are taken as they are, bounded only."""
    assert parse("codex", session_id=string.printable.strip()).session == string.printable.strip()
