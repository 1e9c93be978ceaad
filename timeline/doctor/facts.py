"""What was found when it was looked at. Values only; what they mean is decided in ``checks`` and ``host_checks``."""

from enum import StrEnum

import msgspec

from timeline.daemon_status import DaemonFound


class Trouble(StrEnum):
    """Why a path is not as it has to be."""

    ABSENT = "absent"
    KIND = "kind"
    """Another kind of thing, or a link."""

    OWNER = "owner"
    OPEN = "open"
    """Others may read or write it."""

    LINKS = "links"
    """It has a second name."""


class PathFact(msgspec.Struct, frozen=True):
    """A folder (``mode`` 700), file or socket (600) that has to be private; ``role`` says what it is for."""

    role: str
    path: str
    mode: str
    trouble: Trouble | None = None


class RefusedCheck(msgspec.Struct, frozen=True):
    """One check of ``timeline verify`` that failed."""

    name: str
    reason: str
    detail: str
    hint: str


class AnchorFact(msgspec.Struct, frozen=True):
    """What one external anchor said."""

    name: str
    confirms: bool
    detail: str


class StateFacts(msgspec.Struct, frozen=True):
    """The timeline: ``verdict`` of a shallow verification, its level, and what it refused.

    ``unfinished`` are digests of plans of forgetting that were begun and are not done; ``pages_due`` says whether files
    or pages may still hold what was erased; ``forgetting`` is why nobody can tell what was forgotten.
    """

    verdict: str
    level: str
    size: int
    refused: tuple[RefusedCheck, ...] = ()
    anchors: tuple[AnchorFact, ...] = ()
    simulated_host: bool = False
    unfinished: tuple[str, ...] = ()
    pages_due: bool = False
    forgetting: RefusedCheck | None = None


class SourceFact(msgspec.Struct, frozen=True):
    """One active enrollment. ``state`` is as in ``timeline.status``; ``unreviewed`` are record types."""

    ref: str
    enrollment: str
    host: str
    session: str
    project: str
    state: str
    reason: str | None
    understood: bool | None
    unreviewed: tuple[str, ...] = ()


class CommandFact(msgspec.Struct, frozen=True):
    """A command of ours in a host's configuration. ``missing`` and ``unsafe`` are paths that it names.

    ``unsafe``: another user, or everybody, can write what it runs. ``here`` says whether it runs this installation,
    ``runtime_here`` whether it asks the daemon of this runtime folder.
    """

    missing: tuple[str, ...] = ()
    unsafe: tuple[str, ...] = ()
    here: bool = True
    runtime_here: bool = True


class HookFact(msgspec.Struct, frozen=True):
    """One hook of ours. ``trusted`` is ``None`` where the host asks for no trust."""

    event: str
    file: str
    command: CommandFact
    trusted: bool | None = None


class ServerFact(msgspec.Struct, frozen=True):
    """The MCP server in a host's configuration; ``ours`` is false where another program has its name."""

    file: str
    ours: bool
    command: CommandFact = CommandFact()


class ProbeFact(msgspec.Struct, frozen=True):
    """What the MCP server did when it was spoken to: its tools, or a reason code."""

    tools: tuple[str, ...] = ()
    reason: str | None = None


class HostFact(msgspec.Struct, frozen=True, kw_only=True):
    """One host that is here. ``program`` is its path where it lies on PATH.

    ``unreadable`` are files that are no configuration, each with the rule that it breaks; ``unknown_events`` are the
    hook events that this host would not know, each with its file. ``newest_ms`` is when a transcript was last written.
    """

    name: str
    home: str
    program: str | None
    hooks: tuple[HookFact, ...] = ()
    server: ServerFact | None = None
    unreadable: tuple[tuple[str, str], ...] = ()
    unknown_events: tuple[tuple[str, str], ...] = ()
    newest_ms: int | None = None
    probe: ProbeFact | None = None


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found. ``state`` is ``None`` where there is no timeline at all.

    ``config_problem`` is why the configuration cannot be used; ``lock_held`` whether another process kept the writer
    lock for as long as was waited, with its process id where the system tells.
    """

    now_ms: int
    paths: tuple[PathFact, ...]
    trust_is_apart: bool
    state: StateFacts | None
    config_problem: tuple[str, str] | None
    lock_held: bool
    lock_holder: int | None
    daemon: DaemonFound
    hosts: tuple[HostFact, ...]
    sources: tuple[SourceFact, ...]
