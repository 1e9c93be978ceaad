"""A user with a timeline and a home for hosts, and a daemon that says what the test lets it have seen."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.programs import Run
from tests.simulators.worlds import NOW_MS, World
from timeline.activity import Activity
from timeline.clock import format_utc
from timeline.daemon_status import DaemonStatus
from timeline.doctor.checks import examine
from timeline.doctor.facts import ProbeFact
from timeline.doctor.findings import Finding, Level
from timeline.doctor.gather import gather
from timeline.guard.request import Tool
from timeline.reach import DaemonAwayError

STARTED_MS = NOW_MS - 600_000
"""Ten minutes before the world's present: when the daemon started."""


@dataclass
class Daemon:
    """Answers as a daemon does; ``activity`` is what it has seen."""

    activity: Activity = field(default_factory=Activity)
    state: str = "ready"
    reason: str | None = None
    raw: bytes | None = None

    def ask(self, _runtime: Path, question: bytes) -> bytes:
        """The answer to one question."""
        assert json.loads(question) == {"ask": "status"}
        status = DaemonStatus(
            version="0.1.0",
            pid=7,
            started_at=format_utc(STARTED_MS),
            state=self.state,
            reason=self.reason,
            activity=self.activity.report(NOW_MS),
        )
        return msgspec.json.encode(status) if self.raw is None else self.raw


def no_daemon(_runtime: Path, _question: bytes) -> bytes:
    """No daemon listens."""
    raise DaemonAwayError("no daemon listens")


@dataclass
class Stage:
    """The user. ``run`` runs a command of the program, ``daemon`` is ``None`` where none runs."""

    world: World
    run: Run
    daemon: Daemon | None = None
    probe: Callable[..., ProbeFact] = lambda _words, _variables: ProbeFact(tuple(Tool))

    @property
    def home(self) -> Path:
        """The user's home, with those of the hosts in it."""
        return self.world.home

    def look(self) -> tuple[Finding, ...]:
        """Everything that the doctor finds."""
        session = msgspec.structs.replace(
            self.world.session, environment={"HOME": str(self.home), "PATH": str(self.home / "bin")}
        )
        ask = no_daemon if self.daemon is None else self.daemon.ask
        return examine(gather(session, self.world.root, ask, self.probe))

    def codes(self, *, about: str | None = None) -> set[str]:
        """The codes of everything that asks for something to be done."""
        return {
            finding.code
            for finding in self.look()
            if finding.level in {Level.WARNING, Level.ERROR} and about in {None, finding.about}
        }

    def finding(self, code: str) -> Finding:
        """The one finding of a code."""
        found = [finding for finding in self.look() if finding.code == code]
        assert len(found) == 1, (code, self.look())
        return found[0]

    def install(self, host: str) -> None:
        """What the mending command of most findings does."""
        code, out, err = self.run("install", host, "--yes")
        assert code == 0, (out, err)

    def trust(self) -> None:
        """What Codex writes when its user has trusted every hook with /hooks."""
        file = self.home / ".codex" / "hooks.json"
        hooks = json.loads(file.read_text(encoding="utf-8"))["hooks"]
        lines = []
        for event, groups in hooks.items():
            snake = "".join("_" * (i > 0) + c.lower() if c.isupper() else c for i, c in enumerate(event))
            for number, _ in enumerate(groups):
                lines += [f'[hooks.state."{file}:{snake}:{number}:0"]', f'trusted_hash = "sha256:{"0" * 64}"']
        with (self.home / ".codex" / "config.toml").open("a", encoding="utf-8") as config:
            config.write("\n".join(["", *lines, ""]))

    def change(self, path: Path, change: Callable[[Any], None]) -> None:
        """Edit a host's JSON file as its user would."""
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")
