"""What a guarded call is bound to, and whether a call comes over it: decisions over what was seen. Pure.

Stock hosts set no variable that ties a tool call to a session, and one host process may serve many sessions. What
they do show is the process that asks and its nearest host process (pid and start, which name exactly one process).
Codex also names thread and call in every tool call, and its process holds transcript and writer lock of each live
thread open. King, Kimi Code and Claude Code name nothing: there the process is all, and answers say so.

A launcher may give a session a capability instead; then that rules, and its digest alone is kept.

Ancestry is no proof that a hook is one: a command that the model runs with full access has the same chain. What a
permit opens is therefore checked against the enrolled transcript as well, and the threat model says what is left.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

import msgspec

from sidecars.identity import canonical_bytes
from timeline.guard.errors import CapabilityError, TransportError, TransportUnprovenError
from timeline.hosts import CAPABILITY_VARIABLE, HOSTS, TRANSPORT_SESSION_VARIABLE
from timeline.processes import Process

CROSS_PROVIDER_VARIABLE: Final = "AGENTSPINE_TIMELINE_CROSS_PROVIDER"
"""``1`` in the environment of hook or relay is the owner's switch for sessions of other hosts (T26)."""

_CAPABILITY: Final = re.compile(r"astc_[A-Za-z0-9_-]{43}", re.ASCII)
_NAME: Final = re.compile(r"[!-~]{1,256}", re.ASCII)
_TURN: Final = "x-codex-turn-metadata"
_ROLLOUT: Final = "rollout-"


class HostProcess(msgspec.Struct, frozen=True):
    """The process of a host that a peer descends from."""

    host: str
    process: Process

    @property
    def identity(self) -> tuple[str, int, int]:
        """What names exactly this process of this host."""
        return (self.host, self.process.pid, self.process.started)


class Capability(msgspec.Struct, frozen=True):
    """A launcher's capability: its digest, never the secret, and the session that it was made for."""

    digest: str
    session: str


class Caller(msgspec.Struct, frozen=True):
    """What was seen of the process that asks.

    ``open_files`` are those of its host's process. ``switched`` says that its environment holds the owner's switch for
    other hosts.
    """

    process: HostProcess | None = None
    open_files: tuple[str, ...] = ()
    capability: Capability | None = None
    switched: bool = False


class CallNames(msgspec.Struct, frozen=True):
    """What a host says in a tool call about whose it is: agent thread, session, and the tool use."""

    thread: str | None = None
    session: str | None = None
    call: str | None = None


class Call(msgspec.Struct, frozen=True):
    """One tool call as it arrived: the host that the relay was started for, what was seen, and what was said."""

    host: str
    caller: Caller
    names: CallNames = CallNames()


class Transport(msgspec.Struct, frozen=True):
    """What a permit is bound to. ``thread`` is the session itself, or an agent of it.

    ``pid`` and ``started`` are those of the host's process, ``rollout`` the thread's transcript that it holds open and
    ``locked`` whether it holds the writer lock too; none of them where a ``capability`` rules.
    """

    host: str
    session: str
    thread: str
    pid: int | None = None
    started: int | None = None
    rollout: str | None = None
    locked: bool = False
    capability: str | None = None

    @property
    def digest(self) -> str:
        """What names this transport where none of its parts may stand, SHA-256 in hex."""
        return hashlib.sha256(
            canonical_bytes({"schema": "timeline-transport/v1", **msgspec.to_builtins(self)})
        ).hexdigest()


class HeldThread(msgspec.Struct, frozen=True):
    """A thread that a host's process has open: transcript, the host's home, and whether the writer lock is held too."""

    rollout: str
    home: str
    locked: bool


class Bond(StrEnum):
    """How a call was found to be over a permit's transport; stands in every answer."""

    PROVED = "proved"
    """The host names thread and tool use, and its process holds that thread's transcript and writer lock."""
    PROCESS = "process"
    """Weaker: the same host process, and no more than that or the thread."""
    CAPABILITY = "capability"
    """A launcher's capability, the same on both sides."""


class Misfit(StrEnum):
    """Why a call is not over a permit's transport."""

    OTHER = "other"
    """It has nothing to do with this permit, as far as it shows."""
    NAMED = "named"
    """It names the very tool use that was permitted, and does not come over its transport."""


# -- what was seen ---------------------------------------------------------------------------------------------


def nearest_host(chain: Sequence[Process]) -> HostProcess | None:
    """The nearest ancestor that is a host's process, by its names; the first of ``chain`` is the peer itself.

    Never one further up: a host that runs in the background hangs below whichever terminal started it first.
    """
    for process in chain[1:]:
        if host := host_of(process):
            return HostProcess(host, process)
    return None


def host_of(process: Process) -> str | None:
    """The host whose program a process runs, by its name or its executable's."""
    names = {process.name, PurePosixPath(process.program or "").name}
    return next((host.name for host in HOSTS.values() if not names.isdisjoint(host.programs)), None)


def parse_capability(environment: Mapping[str, str]) -> Capability | None:
    """The capability that a launcher has put into the environment of a hook or relay; ``None`` without one.

    Raises:
        CapabilityError: not of its form, or the session is missing.
    """
    secret, session = (environment.get(name) for name in (CAPABILITY_VARIABLE, TRANSPORT_SESSION_VARIABLE))
    if secret is None and session is None:
        return None
    if secret is None or session is None or not _CAPABILITY.fullmatch(secret) or not _NAME.fullmatch(session):
        message = (
            f"{CAPABILITY_VARIABLE} and {TRANSPORT_SESSION_VARIABLE}: both must be set and of their form"
        )
        raise CapabilityError(message)
    return Capability(hashlib.sha256(f"timeline capability\0{secret}".encode()).hexdigest(), session)


def is_switched(environment: Mapping[str, str]) -> bool:
    """Whether an environment holds the owner's switch for sessions of other hosts, exactly ``1`` (T26)."""
    return environment.get(CROSS_PROVIDER_VARIABLE) == "1"


def parse_call_names(host: str, meta: Mapping[str, object] | None) -> CallNames:
    """What the ``_meta`` of a tool call says. Of hosts that are not known to name their calls, nothing is taken.

    Raises:
        TransportError: a name is not of its form, or two of them contradict each other.
    """
    if meta is None or host not in HOSTS or HOSTS[host].writer_locks is None:
        return CallNames()
    turn = meta.get(_TURN)
    told = turn if isinstance(turn, Mapping) else {}
    return CallNames(
        thread=_agreed("threadId", meta.get("threadId"), told.get("thread_id")),
        session=_agreed("sessionId", meta.get("sessionId"), told.get("session_id")),
        call=_agreed("callId", meta.get("callId")),
    )


def _agreed(name: str, *values: object) -> str | None:
    """The one value that is given, however often."""
    told = [value for value in values if value is not None]
    given = {value for value in told if isinstance(value, str) and _NAME.fullmatch(value)}
    if len(given) > 1 or not all(isinstance(value, str) and value in given for value in told):
        message = f"_meta field {name}: must be one name"
        raise TransportError(message)
    return next(iter(given), None)


def held_thread(host: str, thread: str, open_files: Sequence[str]) -> HeldThread | None:
    """The thread as a host's process has it open; ``None`` where it does not, or has two files of that name.

    The transcript is ``<home>/<sessions>/…/rollout-…-<thread>.jsonl``, and the lock must lie in the same home.
    """
    known = HOSTS[host]
    suffix, middle = f"-{thread}.jsonl", f"/{known.sessions}/"
    found = {
        path
        for path in open_files
        if path.endswith(suffix) and path.rpartition("/")[2].startswith(_ROLLOUT) and middle in path
    }
    if len(found) != 1 or not thread or "/" in thread:
        return None
    (rollout,) = found
    home = rollout.rpartition(middle)[0]
    return HeldThread(rollout, home, f"{home}/{known.writer_locks}/{thread}.lock" in open_files)


# -- binding and attributing -----------------------------------------------------------------------------------


def bind_transport(host: str, session: str, thread: str, caller: Caller) -> Transport:
    """What a permit is bound to that a hook asks for.

    Raises:
        CapabilityError: the capability is another session's.
        TransportError: the hook does not descend from a process of this host.
        TransportUnprovenError: that process does not hold the session, or the agent's thread.
    """
    if caller.capability is not None:
        if caller.capability.session != session:
            message = "the capability is not that of the session"
            raise CapabilityError(message)
        return Transport(host, session, thread, capability=caller.capability.digest)
    if caller.process is None or caller.process.host != host:
        message = f"the hook does not descend from a process of {host}"
        raise TransportError(message)
    process = caller.process.process
    if HOSTS[host].writer_locks is None:
        return Transport(host, session, thread, process.pid, process.started)
    held = held_thread(host, thread, caller.open_files)
    # An agent's thread lives beside its session's, in the same process and home.
    whole = held if thread == session else held_thread(host, session, caller.open_files)
    if held is None or whole is None or held.home != whole.home:
        message = f"the process of {host} does not hold the session open"
        raise TransportUnprovenError(message)
    locked = held.locked and whole.locked
    return Transport(host, session, thread, process.pid, process.started, held.rollout, locked)


def tool_use_digest(tool_use: str) -> str:
    """What is kept of a host's id of a tool use, SHA-256 in hex."""
    return hashlib.sha256(f"timeline tool use\0{tool_use}".encode()).hexdigest()


def attribute_call(transport: Transport, tool_use: str, call: Call) -> Bond | Misfit:
    """Whether a call comes over the transport of a permit; ``tool_use`` is the digest of the permitted tool use."""
    names = call.names
    named = names.call is not None and tool_use_digest(names.call) == tool_use
    misfit = Misfit.NAMED if named else Misfit.OTHER
    said = (
        call.host == transport.host
        and names.thread in {None, transport.thread}
        and names.session in {None, transport.session}
        and (named or names.call is None)
    )
    if not said:
        return misfit  # whatever else fits: the host itself says that it is another call
    capability = call.caller.capability
    if transport.capability is not None or capability is not None:
        fits = capability == Capability(transport.capability or "", transport.session)
        return Bond.CAPABILITY if fits else misfit
    process = call.caller.process
    if process is None or process.identity != (transport.host, transport.pid, transport.started):
        return misfit
    if HOSTS[call.host].writer_locks is None:
        return Bond.PROCESS
    if names.thread is None:
        return misfit
    held = held_thread(call.host, names.thread, call.caller.open_files)
    if held is None or held.rollout != transport.rollout:
        return misfit
    return Bond.PROVED if named and held.locked and transport.locked else Bond.PROCESS
