"""The whole story in one host: prompt, receipt, consent, tests, card, recall; and what is refused.

Every step says what it showed. A step that fails ends the story: what stands after it rests on it.
"""

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts import conversations as talk
from tests.hosts.drivers import Driver
from tests.hosts.forgery import Forger, reason_in
from tests.hosts.machine import FAILING, PASSING, Machine
from tests.hosts.model import Model, answer_in
from tests.hosts.task_story import TaskStory
from tests.hosts.turn import Turn, finish, until

Step = tuple[str, str]
Before = Mapping[Path, bytes | None]
"""What stood in the host's files before the installation."""
_HOOK_SAID = re.compile(r"timeline: ([a-z-]+)")
_HOST_SAID = re.compile(r"must NOT have additional property '\w+'")
"""Kimi Code holds a call against the tool's closed schema itself."""

_MISSES = ("not-found", "index-unverified")
"""The second where the host wrote on while it was searched, as Kimi Code may: then the miss is not complete."""


@dataclass(frozen=True, slots=True)
class Story:
    """One case."""

    machine: Machine
    driver: Driver
    model: Model

    def tell(self) -> Iterator[Step]:
        """Each step and what it showed.

        Raises:
            AssertionError: something is not as it must be.
        """
        self.driver.configure(self.machine)
        before = {path: _content(path) for path in self.driver.files(self.machine)}
        yield "install", self._install()
        yield from self._work()
        (first,) = self.driver.transcripts(self.machine)
        yield "read on", self._read_on(first)
        yield from self._recall()
        (second,) = (path for path in self.driver.transcripts(self.machine) if path != first)
        yield "foreign claim", self._foreign(first, second)
        yield from Forger(self.machine, self.driver, self.model).attempts(first, second)
        yield "no hook: refused", self._without_hooks(first, before)
        yield "still served", self._still_served(first)
        yield "daemon killed", self._killed(first)
        if self.driver.has_forks:
            yield "fork: refused", self._forked(first)
        if self.driver.has_agents:
            yield "agent of it", self._delegated(first)
        yield "standing consent", self._consented()
        yield from TaskStory(self.machine, self.driver, self.model).tell()
        yield "transcript", self._inspect(*self.driver.transcripts(self.machine))
        yield "uninstall", self._uninstall(before)

    def _install(self) -> str:
        self.machine.timeline("init", "--owner-presence", "any")
        self.machine.timeline("install", *self.driver.install, "--yes")
        said = f"timeline install {' '.join(self.driver.install)}"
        if self.driver.waits_for_server:
            return f"{said}; nobody starts the daemon"
        self.machine.timeline("daemon", "start")
        return f"{said}; timeline daemon start"

    def _work(self) -> Iterator[Step]:
        self.model.add(talk.work("work"))
        turn = self.driver.start(self.machine, "work", "Run the tests. [script:work]")
        yield "receipt, enroll", self._enroll(turn)
        finish(turn, self.machine, "work")
        indexed = self.model.answer("work", 3)
        if indexed.get("status") != "indexed":
            raise AssertionError(f"index: {_short(indexed)}")
        yield "index", f"{indexed['events']} event of {indexed['indexedBytes']} bytes"
        answer = self.model.answer("work", 4)
        if answer.get("transport") != self.driver.bond:
            raise AssertionError(f"search: its transport is not {self.driver.bond}: {_short(answer)}")
        yield "search", f"{_one_card(answer)}; transport {self.driver.bond}"

    def _read_on(self, transcript: Path) -> str:
        """What the host wrote last is read without anybody asking: a hook or the watcher says that the file grew."""

        def look() -> int | None:
            (source,) = self._sources()
            is_read = source["state"] == "current" and source["indexedBytes"] == transcript.stat().st_size
            return int(source["generation"]) if is_read else None

        return f"to the end of the file, generation {until('the end of the file', look)}"

    def _recall(self) -> Iterator[Step]:
        self.model.add(talk.recall("recall"))
        (self.machine.project / ".git/enrolled").unlink()
        turn = self.driver.start(self.machine, "recall", "What failed? [script:recall]")
        yield "second session", self._enroll(turn)
        finish(turn, self.machine, "recall")
        own = self.model.answer("recall", 2)
        if own.get("status") not in _MISSES or own.get("events"):
            raise AssertionError(f"search in the new session: {_short(own)}")
        yield "own miss", f"{own['status']}: nothing was run in this session"
        yield "recall", _one_card(self.model.answer("recall", 3))

    def _enroll(self, turn: Turn) -> str:
        """The owner sees the receipt of the running session and consents."""

        def look() -> str | None:
            pending = self.machine.ask("receipt", "--root", ".", "--all").get("receipts", [])
            return str(pending[-1]["receipt"]) if pending else None

        receipt = until("the receipt", look, (turn,))
        command = ("enroll", "--root", ".", "--receipt", receipt, "--confirm-local-timeline", "--follow")
        enrolled = self.machine.ask(*command)
        said = (enrolled["status"], enrolled["mode"], enrolled["host"])
        if said != ("enrolled", "follow", self.driver.host):
            raise AssertionError(f"enroll: {_short(enrolled)}")
        (self.machine.project / ".git/enrolled").touch()
        return f"{enrolled['mode']}, while the agent waits at byte {enrolled['bytes']}"

    def _foreign(self, first: Path, second: Path) -> str:
        """The model claims to be another session, through the host's own call."""
        claims = {"sessionId": self.driver.session_of(second)}
        self.model.add(talk.foreign("claims", claims))
        session = self.driver.session_of(first)
        turn = self.driver.start(self.machine, "claims", "Again. [script:claims]", resume=session)
        finish(turn, self.machine, "claims")
        _one_card(self.model.answer("claims", 1))
        return _refused(self.model.result("claims", 0))

    def _without_hooks(self, first: Path, before: Before) -> str:
        """The host asks our server, and its hooks do not run: a hook alone guards nothing."""
        hooks = self.driver.files(self.machine)[0]
        installed = hooks.read_bytes()
        _put(hooks, before[hooks])
        session = None if self.driver.keeps_hooks else first
        try:
            answer = self._ask("unhooked", talk.call("search", query="pytest failed"), session)
        finally:
            hooks.write_bytes(installed)
        return reason_in(answer)

    def _killed(self, first: Path) -> str:
        """The daemon is killed in the middle of a turn: hook and relay start another, and the session goes on."""
        self.model.add(talk.bereft("bereft"))
        (self.machine.project / ".git/enrolled").unlink()
        session = self.driver.session_of(first)
        turn = self.driver.start(self.machine, "bereft", "Again. [script:bereft]", resume=session)
        until("the waiting agent", lambda: self._is_waiting() or None, (turn,))
        killed = self.machine.ask("daemon", "status")["pid"]
        os.kill(killed, signal.SIGKILL)
        (self.machine.project / ".git/enrolled").touch()
        finish(turn, self.machine, "bereft")
        if self.machine.ask("daemon", "status")["pid"] == killed:
            raise AssertionError("the daemon was not killed")
        return _one_card(self.model.answer("bereft", 3))

    def _is_waiting(self) -> bool:
        """Whether the command that waits for the owner runs."""
        return self.machine.attempt("pgrep", "-f", "wait_for_owner").returncode == 0

    def _forked(self, first: Path) -> str:
        """A copy of the session asks, which the owner has not enrolled."""
        self.model.add({"fork": (talk.call("search", query="pytest failed"), {"say": "Done."})})
        session = self.driver.session_of(first)
        finish(self.driver.fork(self.machine, "fork", "On. [script:fork]", session), self.machine, "fork")
        return _refused(self.model.result("fork", 0))

    def _delegated(self, first: Path) -> str:
        """An agent that the session has started asks."""
        self.model.add(talk.delegated("delegate", "child"))
        session = self.driver.session_of(first)
        turn = self.driver.start(self.machine, "delegate", "Ask. [script:delegate]", resume=session)
        finish(turn, self.machine, "delegate")
        return _one_card(self.model.answer("child", 1))

    def _consented(self) -> str:
        """The owner consents to all later sessions of the host here; the next one is not enrolled by hand."""
        self.machine.timeline("consent", "--provider", self.driver.host, "--follow")
        self.model.add(talk.later("later"))
        (self.machine.project / ".git/enrolled").unlink()
        known = len(self._sources())
        turn = self.driver.start(self.machine, "later", "And now? [script:later]")
        until("the enrollment", lambda: len(self._sources()) > known or None, (turn,))
        (self.machine.project / ".git/enrolled").touch()
        finish(turn, self.machine, "later")
        return _one_card(self.model.answer("later", 4))

    def _sources(self) -> list[Any]:
        listed: list[Any] = json.loads(self.machine.timeline("sources", "--json"))
        return listed

    def _uninstall(self, before: Before) -> str:
        """Every file has its bytes again; what the host itself has written into one stays."""
        self.machine.timeline("uninstall", self.driver.host, "--yes")
        changed = [path.name for path, content in before.items() if _content(path) != content]
        for path in before:
            if b"timeline" in (_content(path) or b""):
                raise AssertionError(f"uninstall: {path.name} still speaks of us")
        return f"byte for byte, but for what the host wrote into {changed}" if changed else "byte for byte"

    def _still_served(self, first: Path) -> str:
        return _one_card(self._ask("last", talk.call("search", query="pytest failed"), first))

    def _ask(self, name: str, step: talk.Step, transcript: Path | None) -> dict[str, Any]:
        """What one tool answers in a turn of a session that is gone on with, or of a new one."""
        # A new session begins with something slow: until the MCP server is up, code mode has no function of ours.
        self.model.add({name: ({"sh": "sleep 0" if transcript else "sleep 3"}, step, {"say": "Done."})})
        session = None if transcript is None else self.driver.session_of(transcript)
        turn = self.driver.start(self.machine, name, f"Again. [script:{name}]", resume=session)
        finish(turn, self.machine, name)
        return self.model.answer(name, 1)

    def _inspect(self, *transcripts: Path) -> str:
        said = []
        for path in transcripts:
            found = self.machine.ask("inspect", str(path), "--host", self.driver.host)
            if found["verdict"] != "understood":
                raise AssertionError(f"inspect: {_short(found)}")
            said.append(sum(found["records"].values()))
        return f"understood, {' and '.join(map(str, said))} records"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _put(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def _one_card(answer: Mapping[str, Any]) -> str:
    """What the only card says, which must be the run of the tests and not the line that was echoed."""
    cards = answer.get("events") or []
    if answer.get("status") != "found" or len(cards) != 1:
        raise AssertionError(f"search: {_short(answer)}")
    card = cards[0]
    said = tuple(card.get(name) for name in ("runner", "outcome", "passed", "failed"))
    if said != ("pytest", "fail", PASSING, FAILING):
        raise AssertionError(f"the card is not the run: {_short(card)}")
    return f"{card['runner']} {card['outcome']}, {PASSING} passed, {FAILING} failed"


def _refused(result: str) -> str:
    """The reason in what the host made of a denial by our hook, or in our server's own answer."""
    if told := _HOOK_SAID.search(result):
        return f"{told[1]} (by the hook)"
    if told := _HOST_SAID.search(result):
        return f"{told[0]} (by the host)"
    return reason_in(answer_in(result))


def _short(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer)[:400]
