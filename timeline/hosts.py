"""The hosts whose prompt event is reviewed, one frozen value each: adding a host is adding an entry. Pure.

An entry says where the host keeps its sessions, how a path names a session, and what its UserPromptSubmit event
is made of. What a host calls its other events, and which answers it takes: ``timeline.dialects``.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

NamesSession = Callable[[tuple[str, ...], str], bool]
"""Whether the parts of a path below the sessions folder name this session."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One host.

    ``home_variable`` moves the host's home, else it is ``home_default`` below the user's; ``sessions`` is the folder
    of transcripts in it. ``transcript_field`` is ``None`` where the event does not say the path: then
    ``path_variable`` may, and the home's ``session_index`` does. ``protocol_variable`` may say which protocol the
    transcript must declare. ``turn_field`` tells two prompts apart where the host has one. ``header_names_session``
    is false where only the path does. ``programs`` are the names of its processes, as the system shows them;
    ``variables`` are those that it sets for the commands of its model, and that no person's terminal has.
    ``writer_locks`` is the folder in its home where it locks each thread that it writes: such a host holds transcript
    and lock of every live thread open, and names the thread in each tool call (X1). ``servers_share_session``: it
    starts its MCP servers as its children in its own session of the operating system, and whatever its model runs in
    another one. ``writes_prompt_first``: in some versions a prompt stands in the transcript before its hook is called.
    """

    name: str
    home_variable: str
    home_default: str
    sessions: str
    names_session: NamesSession
    programs: tuple[str, ...]
    variables: tuple[str, ...] = ()
    header_names_session: bool = True
    session_field: str = "session_id"
    cwd_field: str = "cwd"
    transcript_field: str | None = "transcript_path"
    turn_field: str | None = None
    path_variable: str | None = None
    protocol_variable: str | None = None
    session_index: str | None = None
    writer_locks: str | None = None
    servers_share_session: bool = False
    writes_prompt_first: bool = False


def home_folder(host: Host, environment: Mapping[str, str], user_home: Path) -> Path:
    """Where a host keeps its configuration and sessions: what its variable says, else its place in the user's home."""
    moved = environment.get(host.home_variable)
    return Path(moved) if moved else user_home / host.home_default


def _is_rollout(parts: tuple[str, ...], session: str) -> bool:
    """``2026/01/31/rollout-<time>-<session>.jsonl``; compressed ones end in more, and are refused by name later."""
    return bool(parts) and parts[-1].startswith("rollout-") and f"-{session}.jsonl" in parts[-1]


def _is_session_file(parts: tuple[str, ...], session: str) -> bool:
    """``<slug>/<session>.jsonl``: not a subagent's file, which lies deeper and has another name (formats §3.1)."""
    return len(parts) == 2 and parts[1] == f"{session}.jsonl"  # slug and name


MAIN_WIRE: Final = ("agents", "main", "wire.jsonl")
"""Where below the folder of a session King and Kimi Code write its main agent's transcript."""


def _is_wire(parts: tuple[str, ...], session: str) -> bool:
    """``…/<session or session_session>/agents/main/wire.jsonl``: the main agent's, never a subagent's (T71)."""
    folder, rest = parts[: -len(MAIN_WIRE)], parts[-len(MAIN_WIRE) :]
    return rest == MAIN_WIRE and bool(folder) and folder[-1] in {session, f"session_{session}"}


_CODEX: Final = Host(
    name="codex",
    home_variable="CODEX_HOME",
    home_default=".codex",
    sessions="sessions",
    names_session=_is_rollout,
    programs=("codex",),
    variables=(
        "CODEX_CI",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_TOOL_CALL_ID",
    ),
    turn_field="turn_id",
    writer_locks="thread-writer-locks",
    servers_share_session=True,
)
_CLAUDE: Final = Host(
    name="claude",
    home_variable="CLAUDE_CONFIG_DIR",
    home_default=".claude",
    sessions="projects",
    names_session=_is_session_file,
    programs=("claude",),
    variables=("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"),
    turn_field="prompt_id",
)
_KING: Final = Host(
    name="king",
    home_variable="BLUN_HOME",
    home_default=".king",
    sessions="sessions",
    names_session=_is_wire,
    programs=("king", "blun"),
    header_names_session=False,
    transcript_field=None,
    path_variable="AGENTSPINE_KING_TIMELINE_SOURCE",
    protocol_variable="AGENTSPINE_KING_WIRE_PROTOCOL_VERSION",
    session_index="session_index.jsonl",
    writes_prompt_first=True,
)
_KIMI: Final = Host(
    name="kimi",
    home_variable="KIMI_CODE_HOME",
    home_default=".kimi-code",
    sessions="sessions",
    names_session=_is_wire,
    programs=("kimi-code", "kimi"),
    header_names_session=False,
    transcript_field=None,
    session_index="session_index.jsonl",
    writes_prompt_first=True,
)

HOSTS: Final[Mapping[str, Host]] = MappingProxyType(
    {host.name: host for host in (_CODEX, _CLAUDE, _KING, _KIMI)}
)
"""Host name to host. One is usable when ``adapters.registry`` has an adapter of that name."""

EVENTS: Final = frozenset(
    {
        "Interrupt",
        "Notification",
        "PermissionRequest",
        "PermissionResult",
        "PostCompact",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "PreToolUse",
        "SessionEnd",
        "SessionStart",
        "Stop",
        "StopFailure",
        "SubagentStart",
        "SubagentStop",
        "UserPromptSubmit",
    }
)
"""Names of hook events: those that Kimi Code 2.1.0 knows, and all that we have a hook for are among them."""

CAPABILITY_VARIABLE: Final = "AGENTSPINE_TIMELINE_SESSION_CAPABILITY"
"""Where a launcher puts the secret of a session's transport."""

TRANSPORT_SESSION_VARIABLE: Final = "AGENTSPINE_TIMELINE_TRANSPORT_SESSION_ID"
"""Where a launcher puts the session that the secret belongs to."""

MODEL_VARIABLES: Final = frozenset(v for host in HOSTS.values() for v in host.variables)
"""Variables that hosts set for the commands of their models."""

HOST_VARIABLES: Final = MODEL_VARIABLES | {CAPABILITY_VARIABLE, TRANSPORT_SESSION_VARIABLE}
"""Variables of an environment that a host or its launcher made, and that no person's terminal has."""
