"""How each real host is set up and prompted. A driver configures the host as its user would have, without Timeline.

Nothing here knows Timeline: the commands and hooks come from ``timeline install``.
"""

import json
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tests.hosts.machine import Machine
from tests.hosts.model import PORT
from tests.hosts.rig import Rig
from tests.hosts.turn import Turn


@dataclass(frozen=True, slots=True)
class Commands:
    """The command line of the hook, and the words of the MCP server's command."""

    hook: str
    server: tuple[str, ...]


class Driver(Protocol):
    """One version of one host in one way of working."""

    name: str
    version: str
    host: str
    waits_for_server: bool
    """Whether the first prompt waits for the MCP server, and so for the daemon that its relay starts."""
    bond: str
    """How answers say that a call was bound to its permit."""
    has_agents: bool
    """Whether the model is offered a tool that starts an agent within the session."""
    has_forks: bool
    """Whether one command copies a session and gives the copy a prompt."""
    keeps_hooks: bool
    """Whether a session goes on with the hooks that it began with, since its process does."""

    shows_claims: bool
    """Whether what it prints shows what a hook says to the user at the end of a turn."""

    def program(self, rig: Rig) -> Path:
        """The host's program, as the rig has it.

        Raises:
            RigMissingError: it is not there.
        """

    def configure(self, machine: Machine) -> None:
        """Write what the host needs to talk to the scripted model."""

    def start(self, machine: Machine, turn: str, prompt: str, *, resume: str | None = None) -> Turn:
        """Give the host a prompt in a new session, or in the one of that id; its process, which ends with the turn."""

    def fork(self, machine: Machine, turn: str, prompt: str, session: str) -> Turn:
        """The same in a copy of a session, if :attr:`has_forks`."""

    def transcripts(self, machine: Machine) -> list[Path]:
        """Every transcript of a main agent."""

    def session_of(self, transcript: Path) -> str:
        """The session's id, as the host's hooks say it."""

    def variables(self, machine: Machine) -> dict[str, str]:
        """The host's own variables, which its user has set."""

    def commands(self, machine: Machine) -> Commands:
        """What the host's configuration runs of Timeline's: read back, to be run by others."""

    @property
    def install(self) -> tuple[str, ...]:
        """What follows ``timeline install``."""

    def files(self, machine: Machine) -> tuple[Path, ...]:
        """The files of its configuration that ``timeline install`` changes; the hooks stand in the first."""

    def call_meta(self, transcript: Path) -> dict[str, Any]:
        """What the host sent with its last call of our server, as far as the transcript shows it."""


def spawn(
    machine: Machine, turn: str, command: list[str], variables: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start a host in the project, with its output in files named after the turn."""
    with (machine.logs / f"{turn}.out").open("wb") as out, (machine.logs / f"{turn}.err").open("wb") as err:
        return subprocess.Popen(
            command,
            cwd=machine.project,
            env=machine.environment() | variables,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )


CODEX_CONFIG = """\
model = "{model}"
model_provider = "mock"
model_providers.mock = {{ name = "mock", base_url = "http://127.0.0.1:{port}/v1", env_key = "MOCK_KEY", \
wire_api = "responses" }}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
analytics.enabled = false
feedback.enabled = false
otel.exporter = "none"
features = {{ apps = false, plugins = false, remote_plugin = false, daemon_auto_start = {daemon} }}
projects."{project}".trust_level = "trusted"
"""

DIRECT, CODE_MODE = "gpt-5.5", "gpt-6.2-sol"
"""Names in Codex's bundled catalogue: the model decides whether tools are called directly or from code."""


@dataclass(slots=True)
class Codex:
    """``codex exec``: one process for each turn."""

    name: str
    version: str
    model: str = DIRECT
    flags: tuple[str, ...] = ()
    bond: str = "proved"
    waits_for_server: bool = True
    has_forks: bool = True
    host: str = field(default="codex", init=False)
    keeps_hooks: bool = field(default=False, init=False)
    shows_claims: bool = field(default=False, init=False)

    @property
    def install(self) -> tuple[str, ...]:
        """The hooks are trusted in Codex's own way, unless a flag makes it ask for nothing."""
        return ("codex",) if self.flags else ("codex", "--trust")

    @property
    def has_agents(self) -> bool:
        """Only with the models that work in code."""
        return self.model == CODE_MODE

    def program(self, rig: Rig) -> Path:
        """The binary of the package."""
        return rig.codex(self.version)

    def home(self, machine: Machine) -> Path:
        """Codex's own home, in its default place."""
        return machine.home / ".codex"

    def variables(self, machine: Machine) -> dict[str, str]:
        """The key of the scripted provider; the home is in its default place."""
        return {"MOCK_KEY": "dummy"}

    def configure(self, machine: Machine) -> None:
        """Write ``config.toml``."""
        self.home(machine).mkdir(mode=0o700)
        config = CODEX_CONFIG.format(model=self.model, port=PORT, project=machine.project, daemon="false")
        (self.home(machine) / "config.toml").write_text(config, encoding="utf-8")
        # Commands run in a login shell, which sets the PATH of the system first.
        profile = f'PATH="{machine.environment()["PATH"]}"\n'
        (machine.home / ".bash_profile").write_text(profile, encoding="utf-8")

    def start(self, machine: Machine, turn: str, prompt: str, *, resume: str | None = None) -> Turn:
        """``codex exec [resume ID] PROMPT``."""
        chosen = ["resume", resume] if resume else []
        command = [str(machine.program), "exec", *chosen, prompt, "--json", *self.flags]
        return spawn(machine, turn, command, self.variables(machine))

    def fork(self, machine: Machine, turn: str, prompt: str, session: str) -> Turn:
        """``codex exec fork ID PROMPT``."""
        command = [str(machine.program), "exec", "fork", session, prompt, "--json", *self.flags]
        return spawn(machine, turn, command, self.variables(machine))

    def transcripts(self, machine: Machine) -> list[Path]:
        """Every rollout."""
        return sorted(self.home(machine).glob("sessions/*/*/*/rollout-*.jsonl"))

    def session_of(self, transcript: Path) -> str:
        """The thread id at the end of the name."""
        return transcript.stem[-36:]

    def files(self, machine: Machine) -> tuple[Path, ...]:
        """``hooks.json`` and ``config.toml``."""
        return self.home(machine) / "hooks.json", self.home(machine) / "config.toml"

    def commands(self, machine: Machine) -> Commands:
        """From both."""
        hooks = json.loads((self.home(machine) / "hooks.json").read_bytes())["hooks"]["PreToolUse"]
        config = tomllib.loads((self.home(machine) / "config.toml").read_text(encoding="utf-8"))
        server = config["mcp_servers"]["timeline"]
        return Commands(hooks[-1]["hooks"][-1]["command"], (server["command"], *server["args"]))

    def call_meta(self, transcript: Path) -> dict[str, Any]:
        """The thread, and the call's id, which is that of the last McpToolCall item."""
        thread = self.session_of(transcript)
        lines = map(json.loads, transcript.read_bytes().splitlines())
        items = [
            (line["payload"].get("item") or {}) for line in lines if isinstance(line.get("payload"), dict)
        ]
        calls = [item["id"] for item in items if item.get("type") == "McpToolCall"]
        return {"threadId": thread, "sessionId": thread, **({"callId": calls[-1]} if calls else {})}


@dataclass(slots=True)
class Kimi:
    """``kimi -p``: one process for each turn."""

    name: str
    version: str
    waits_for_server: bool = True
    host: str = field(default="kimi", init=False)
    has_forks: bool = field(default=False, init=False)
    bond: str = field(default="process", init=False)
    has_agents: bool = field(default=True, init=False)
    keeps_hooks: bool = field(default=False, init=False)
    shows_claims: bool = field(default=False, init=False)

    @property
    def install(self) -> tuple[str, ...]:
        """There is nothing to trust."""
        return ("kimi",)

    def program(self, rig: Rig) -> Path:
        """The command that the package installs."""
        return rig.kimi(self.version)

    def home(self, machine: Machine) -> Path:
        """Kimi Code's own home, in its default place."""
        return machine.home / ".kimi-code"

    def variables(self, machine: Machine) -> dict[str, str]:
        """What keeps it from its own services."""
        return {"KIMI_DISABLE_TELEMETRY": "1", "KIMI_DISABLE_CRON": "1"}

    def configure(self, machine: Machine) -> None:
        """Write ``config.toml``."""
        self.home(machine).mkdir(mode=0o700)
        config = (
            'default_model = "mock"\n'
            "telemetry = false\n"
            f'providers.mock = {{ type = "openai", base_url = "http://127.0.0.1:{PORT}/v1", api_key = "dummy" }}\n'
            'models.mock = { provider = "mock", model = "mock-1", max_context_size = 1000000 }\n'
        )
        (self.home(machine) / "config.toml").write_text(config, encoding="utf-8")

    def start(self, machine: Machine, turn: str, prompt: str, *, resume: str | None = None) -> Turn:
        """``kimi [--session ID] -p PROMPT``."""
        chosen = ["--session", resume] if resume else []
        command = [str(machine.program), "--output-format", "stream-json", *chosen, "-p", prompt]
        return spawn(machine, turn, command, self.variables(machine))

    def fork(self, machine: Machine, turn: str, prompt: str, session: str) -> Turn:
        """There is a command that copies, and none that also gives a prompt."""
        raise NotImplementedError

    def transcripts(self, machine: Machine) -> list[Path]:
        """Every wire of a main agent, in no order of time."""
        return sorted(self.home(machine).glob("sessions/*/*/agents/main/wire.jsonl"))

    def session_of(self, transcript: Path) -> str:
        """The folder of the session."""
        return transcript.parents[2].name

    def files(self, machine: Machine) -> tuple[Path, ...]:
        """``config.toml`` and ``mcp.json``."""
        return self.home(machine) / "config.toml", self.home(machine) / "mcp.json"

    def commands(self, machine: Machine) -> Commands:
        """From both."""
        config = tomllib.loads((self.home(machine) / "config.toml").read_text(encoding="utf-8"))
        hook = [hook["command"] for hook in config["hooks"] if hook["event"] == "PreToolUse"][-1]
        server = json.loads((self.home(machine) / "mcp.json").read_bytes())["mcpServers"]["timeline"]
        return Commands(hook, (server["command"], *server["args"]))

    def call_meta(self, transcript: Path) -> dict[str, Any]:
        """Nothing: Kimi Code sends only the tool and its arguments."""
        return {}
