"""Every host's own prompt event: where its transcript must lie, how its path names the session, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.registry import ADAPTERS
from tests.simulators.worlds import World, refusal_of
from timeline import service
from timeline.guard.receipt import parse_prompt_event
from timeline.guard.transcript import locate_transcript
from timeline.hosts import HOSTS, Host

SESSION = "01a22a7f-ace7-75e3-95ae-7922d7fa3d2f"
PLACES = {
    "codex": f".codex/sessions/2026/11/30/rollout-2026-11-30T03-29-00-{SESSION}.jsonl",
    "claude": f".claude/projects/-w-demo/{SESSION}.jsonl",
    "king": f".king/sessions/2026/11/30/session_{SESSION}/agents/main/wire.jsonl",
    "kimi": f".kimi-code/sessions/wd_demo_0123456789ab/{SESSION}/agents/main/wire.jsonl",
}
OTHER_PLACES = {
    "codex": [".codex/sessions/rollout-x-other.jsonl", f".codex/archived_sessions/rollout-x-{SESSION}.jsonl"],
    "claude": [
        f".claude/projects/-w-demo/{SESSION}/subagents/agent-1.jsonl",
        f".claude/projects/{SESSION}.jsonl",
        f".claude/projects/-w-demo/x{SESSION}.jsonl",
        f".claude/{SESSION}.jsonl",
    ],
    "king": [
        f".king/sessions/x_{SESSION}/agents/main/wire.jsonl",
        f".king/session_{SESSION}/agents/main/wire.jsonl",
        ".king/sessions/agents/main/wire.jsonl",
    ],
    "kimi": [
        f".kimi-code/sessions/wd/{SESSION}-2/agents/main/wire.jsonl",
        ".kimi-code/sessions/agents/main/wire.jsonl",
    ],
}
DENIED = {"transcript-session-mismatch", "transcript-outside-host-sessions", "transcript-unnamed"}


@pytest.fixture(params=sorted(HOSTS))
def host(request: pytest.FixtureRequest, home: Path) -> Host:
    """Give each host, with its sessions folder below the user's home."""
    found = HOSTS[request.param]
    (home / found.home_default / found.sessions).mkdir(parents=True)
    return found


def event_of(host: Host, path: Path, **changes: Any) -> bytes:
    """What the host gives its hook; Kimi Code's prompt is a list, and its session stands in no path of the event."""
    prompt: Any = "go on" if host.transcript_field else [{"type": "text", "text": "go on"}]
    event = {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "cwd": "/w/demo", "prompt": prompt}
    if host.transcript_field is not None:
        event[host.transcript_field] = str(path)
    return json.dumps({**event, **changes}).encode()


def written(host: Host, home: Path, place: str) -> Path:
    """Put a file at a place below the home, and list it as the host would."""
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}\n")
    if host.session_index is not None:
        listed(host, home, {"sessionId": SESSION, "sessionDir": str(path.parents[2]), "workDir": "/w/demo"})
    return path


def listed(host: Host, home: Path, entry: object) -> None:
    """Append one line to the host's index of sessions."""
    with (home / host.home_default / str(host.session_index)).open("a", encoding="utf-8") as index:
        index.write(json.dumps(entry) + "\n")


def located(host: Host, event: bytes, environment: Mapping[str, str]) -> str:
    """Parse the event and locate its transcript."""
    return locate_transcript(host, parse_prompt_event(event, host), environment)


@pytest.mark.requirement("T5", "T70", "T71")
def test_each_host_has_its_own_place(host: Host, home: Path) -> None:
    """Below the host's sessions folder, under the session's name, by the host's own event."""
    path = written(host, home, PLACES[host.name])
    assert located(host, event_of(host, path), {"HOME": str(home)}) == str(path.resolve())


@pytest.mark.requirement("T7", "T71")
def test_another_place_is_refused(host: Host, home: Path) -> None:
    """Another session's file, a subagent's, one outside the sessions folder: never a path."""
    for place in OTHER_PLACES[host.name]:
        path = written(host, home, place)
        refused = refusal_of(lambda path=path: located(host, event_of(host, path), {"HOME": str(home)}))
        assert refused in DENIED, place


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("name", ["king", "kimi"])
@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (("wd", SESSION, "agents", "main", "wire.jsonl"), True),
        (("2026", "09", f"session_{SESSION}", "agents", "main", "wire.jsonl"), True),
        ((SESSION, "agents", "agent-0", "wire.jsonl"), False),
        ((SESSION, "agents", "main", "wire.jsonl.old"), False),
        ((SESSION, "main", "wire.jsonl"), False),
        (("agents", "main", "wire.jsonl"), False),
        ((), False),
    ],
)
def test_only_the_main_agents_wire_names_the_session(name: str, parts: tuple[str, ...], named: bool) -> None:
    """A subagent's file, a left-over, a file without a session above it: not the session's."""
    assert HOSTS[name].names_session(parts, SESSION) is named


@pytest.mark.requirement("T8", "T70")
def test_the_home_comes_from_the_environment(host: Host, home: Path, tmp_path: Path) -> None:
    """The variable moves it; where it names another home, or there is no home at all, the file lies outside."""
    path = written(host, home, PLACES[host.name])
    event = event_of(host, path)
    moved = {host.home_variable: str(home / host.home_default), "HOME": "/nonexistent"}
    assert located(host, event, moved) == str(path.resolve())
    for elsewhere in ({host.home_variable: str(tmp_path / "x")}, {}, {"HOME": "."}):
        assert refusal_of(lambda env=elsewhere: located(host, event, env)) in DENIED


@pytest.mark.requirement("T8")
def test_a_linked_sessions_folder_is_refused(host: Host, home: Path, tmp_path: Path) -> None:
    """What lies behind a link is not below the host's folder."""
    path = written(host, home, PLACES[host.name])
    event = event_of(host, path)
    sessions = home / host.home_default / host.sessions
    sessions.rename(tmp_path / "moved")
    sessions.symlink_to(tmp_path / "moved")
    assert refusal_of(lambda: located(host, event, {"HOME": str(home)})) in DENIED


@pytest.mark.requirement("T8")
def test_a_field_that_is_missing_or_no_text_is_refused(host: Host, home: Path) -> None:
    """Each field that the host's entry names is needed, as a text."""
    path = written(host, home, PLACES[host.name])
    for name in filter(None, (host.session_field, host.cwd_field, host.transcript_field)):
        for value in (None, "", 7, ["a"], {"a": 1}):
            event = event_of(host, path, **{name: value})
            refused = refusal_of(lambda event=event: parse_prompt_event(event, host))
            assert refused == "host-receipt-event-not-supported"


# -- hosts that keep an index of their sessions ----------------------------------------------------------------


@pytest.fixture(params=[name for name, host in sorted(HOSTS.items()) if host.session_index])
def indexing(request: pytest.FixtureRequest, home: Path) -> Host:
    """Give each host whose event says no path."""
    found = HOSTS[request.param]
    (home / found.home_default / found.sessions).mkdir(parents=True)
    return found


@pytest.mark.requirement("T71")
def test_the_last_line_of_the_session_counts(indexing: Host, home: Path) -> None:
    """A session that was moved is listed again; other sessions, broken lines and half a line are passed over."""
    host = indexing
    index = home / host.home_default / str(host.session_index)
    old = written(host, home, f"{host.home_default}/sessions/old/{SESSION}/agents/main/wire.jsonl")
    new = written(host, home, f"{host.home_default}/sessions/new/{SESSION}/agents/main/wire.jsonl")
    listed(host, home, {"sessionId": "other", "sessionDir": str(old.parents[2])})
    listed(host, home, {"sessionId": "other", "workDir": f"/w/{SESSION}", "sessionDir": "/w"})
    with index.open("a", encoding="utf-8") as more:
        more.write(f'{{"sessionId":"{SESSION}",\n[1,2,"{SESSION}"]\n')
        more.write(f'{{"sessionId":"{SESSION}","sessionDir":"{old.parents[2]}"}}')
    assert located(host, event_of(host, new), {"HOME": str(home)}) == str(new.resolve())


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("folder", [7, None, "", "relative", "/etc", "/a\0b", "../../x"])
def test_an_index_cannot_lead_elsewhere(indexing: Host, home: Path, folder: object) -> None:
    """What the index says passes the same checks as a path in an event."""
    listed(indexing, home, {"sessionId": SESSION, "sessionDir": folder})
    event = event_of(indexing, home)
    refused = refusal_of(lambda: located(indexing, event, {"HOME": str(home)}))
    assert refused in DENIED | {"transcript-path-unsupported"}


@pytest.mark.requirement("T71")
def test_a_session_that_is_not_listed_has_no_transcript(indexing: Host, home: Path) -> None:
    """No index, an index without it, or a folder in its place: refused with the remedy."""
    event = event_of(indexing, home)
    environment = {"HOME": str(home)}
    assert refusal_of(lambda: located(indexing, event, environment)) == "transcript-unnamed"
    listed(indexing, home, {"sessionId": "other", "sessionDir": "/w"})
    assert refusal_of(lambda: located(indexing, event, environment)) == "transcript-unnamed"


@pytest.mark.requirement("T71")
def test_a_long_index_is_read_from_its_end(indexing: Host, home: Path) -> None:
    """However many sessions came before; only the end is looked at."""
    filler = json.dumps({"sessionId": "other", "sessionDir": "/w/" + "x" * 1000}) + "\n"
    index = home / indexing.home_default / str(indexing.session_index)
    index.write_text(filler * 1200, encoding="utf-8")
    path = written(indexing, home, PLACES[indexing.name])
    assert located(indexing, event_of(indexing, path), {"HOME": str(home)}) == str(path.resolve())
    with index.open("a", encoding="utf-8") as more:
        more.write(filler * 1200)
    refused = refusal_of(lambda: located(indexing, event_of(indexing, path), {"HOME": str(home)}))
    assert refused == "transcript-unnamed"


@pytest.mark.requirement("T71")
def test_a_launcher_may_name_kings_transcript(home: Path) -> None:
    """The variable of the reference's launcher rules over the index, and passes the same checks."""
    king = HOSTS["king"]
    path = written(king, home, PLACES["king"])
    (home / ".king" / str(king.session_index)).unlink()
    environment = {"HOME": str(home), "AGENTSPINE_KING_TIMELINE_SOURCE": str(path)}
    assert located(king, event_of(king, path), environment) == str(path.resolve())
    environment["AGENTSPINE_KING_TIMELINE_SOURCE"] = "/etc/passwd"
    assert refusal_of(lambda: located(king, event_of(king, path), environment)) in DENIED


@given(content=st.binary(max_size=300))
def test_any_bytes_are_an_index(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever stands in the index, the answer is a place or a refusal."""
    kimi, home = HOSTS["kimi"], tmp_path_factory.mktemp("home")
    (home / ".kimi-code" / "sessions").mkdir(parents=True)
    (home / ".kimi-code" / "session_index.jsonl").write_bytes(content + SESSION.encode() + content + b"\n")
    assert refusal_of(lambda: located(kimi, event_of(kimi, home), {"HOME": str(home)})) is not None


# -- through the hook ------------------------------------------------------------------------------------------


@pytest.mark.requirement("T5", "T6")
@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_each_host_with_an_adapter_gives_a_receipt(world: World, name: str) -> None:
    """One prompt, one receipt, bound to the host and the session; the same prompt again gives the same one."""
    host = HOSTS[name]
    (world.home / host.home_default / host.sessions).mkdir(parents=True, exist_ok=True)
    path = written(host, world.home, PLACES[name])
    session = service.Session(world.locations, world.session.ports, {"HOME": str(world.home)})
    event = event_of(host, path, cwd=world.root)
    receipt = service.receive_prompt(session, name, event)
    assert (receipt.binding.host, receipt.binding.session) == (name, SESSION)
    assert receipt.source.path == str(path.resolve())
    assert service.receive_prompt(session, name, event) == receipt


@pytest.mark.requirement("T5")
def test_every_adapter_has_a_host_and_a_host_without_one_is_denied(world: World) -> None:
    """An entry alone reads nothing."""
    assert set(ADAPTERS) <= set(HOSTS)
    for name in set(HOSTS) - set(ADAPTERS):
        host = HOSTS[name]
        (world.home / host.home_default / host.sessions).mkdir(parents=True, exist_ok=True)
        event = event_of(host, written(host, world.home, PLACES[name]), cwd=world.root)
        session = service.Session(world.locations, world.session.ports, {"HOME": str(world.home)})
        refused = refusal_of(lambda s=session, n=name, e=event: service.receive_prompt(s, n, e))
        assert refused == "host-receipt-event-not-supported"
