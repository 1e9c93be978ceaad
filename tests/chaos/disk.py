"""A full disk below each of the folders in turn, while an agent works: nothing breaks, and all goes on afterwards.

Each folder lies on a small file system of its own, which a file fills to the last byte while the daemon runs, and
which is emptied again. Until then hooks stay silent and quick, and tools answer with a reason or with what can still
be answered; afterwards everything works without anybody starting anything. Needs root on Linux, to mount.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.chaos.agents import Agent, Host, ToolError, enrolled_agent, real_session
from tests.chaos.census import await_members, complaints, holders
from tests.chaos.promises import Promises
from tests.chaos.rounds import environment
from tests.simulators.worlds import World, new_world
from timeline import launch, service

SIZE_KIB: Final = 4096
PLACES: Final = (("state",), ("trust",), ("runtime",), ("state", "trust", "runtime"))
HOOK_SECONDS_MAX: Final = 1.0
"""A hook has 0.15 s; the rest is for a busy machine on which its process has to be started."""

_FILLER: Final = "filler"


@dataclass
class Findings:
    """What clients got while nothing could be written, by place."""

    answers: dict[str, Counter[str]] = field(default_factory=dict)
    slowest_hook: float = 0.0
    failures: list[str] = field(default_factory=list)


def reason_to_skip() -> str:
    """Why it cannot be tried here; empty where it can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "mounting a small file system needs root on Linux"
    if shutil.which("mount") is None:
        return "there is no mount"
    return ""


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """Let a folder lie on a file system of its own while the block runs.

    Raises:
        OSError: it cannot be mounted.
    """
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    options = f"size={SIZE_KIB}k,mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "timeline-chaos", place], check=False, capture_output=True
    )
    if done.returncode:
        message = f"mount: {done.stderr.decode(errors='replace')[:200]}"
        raise OSError(message)
    try:
        yield
    finally:
        subprocess.run(["umount", place], check=True)


def fill(folder: Path) -> None:
    """Leave not a byte."""
    with (folder / _FILLER).open("ab", buffering=0) as file:
        for size in (64 * 1024, 4096, 512, 1):
            with suppress(OSError):
                while file.write(b"\0" * size):
                    pass


def explore(folder: Path, places: tuple[tuple[str, ...], ...] = PLACES, rounds: int = 6) -> Findings:
    """Fill and empty each place while an agent works."""
    findings = Findings()
    for names in places:
        where = "+".join(names)
        base = folder / where.replace("+", "-")
        base.mkdir(parents=True)
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(small_disk(base / name))
            world = new_world(base)
            stack.enter_context(environment(world))
            found = _explore(world, names, rounds, findings)
            findings.failures += [f"{where}: {failure}" for failure in found]
    shutil.rmtree(folder)
    return findings


def _explore(world: World, names: tuple[str, ...], rounds: int, findings: Findings) -> list[str]:
    host = Host.start(world)
    agent = enrolled_agent(world, host)
    runtime, promises, failures = world.locations.runtime, Promises(), []
    answers = findings.answers.setdefault("+".join(names), Counter())
    try:
        agent.start_relay()
        failures += _works(agent, promises)
        daemon = holders(world.locations.daemon_lock)
        for number in range(rounds):
            for name in names:
                fill(getattr(world.locations, name))
            is_killed = number == rounds - 1
            if is_killed:  # one that begins where nothing can be written
                for pid in holders(world.locations.daemon_lock):
                    os.kill(pid, signal.SIGKILL)
            failures += _meets_full_disk(agent, answers, findings)
            for name in names:
                (getattr(world.locations, name) / _FILLER).unlink()
            failures += _works(agent, promises)
            failures += promises.look(world)
            if not is_killed and holders(world.locations.daemon_lock) != daemon:
                failures.append("the daemon is another one")
        failures += await_members(runtime, {"daemon": 1, "relay": 1, "host": 2})
        failures += complaints(world.locations)
    except (OSError, ValueError, AssertionError, ToolError) as error:
        failures.append(f"{type(error).__name__}: {error}")
    finally:
        agent.close()
        host.close()
        launch.stop(runtime)
    failures += [f"left running: {left}" for left in await_members(runtime, {})]
    report = service.verify_timeline(real_session(world), deep=True)
    if report.verdict != "ok":
        failures.append(f"verify: {report.verdict}")
    return failures


def _meets_full_disk(agent: Agent, answers: Counter[str], findings: Findings) -> Iterator[str]:
    """Everything that an agent does; no hook says a word but a refusal of its tool, and each tool gives a reason."""
    for name in ("UserPromptSubmit", "PostToolUse", "SessionStart", "Stop"):
        agent.write_turn()
        began = time.monotonic()
        said = agent.hook(agent.event(name, prompt="go on"))
        findings.slowest_hook = max(findings.slowest_hook, time.monotonic() - began)
        is_silent = said in {b"", b"{}\n"}  # Codex wants an object after Stop
        answers[f"hook {name}: {'silent' if is_silent else 'spoke'}"] += 1
        if not is_silent and name != "SessionStart":  # which may say what is enrolled
            yield f"hook {name} said {said[:120]!r}"
    for tool, arguments in (
        ("session_timeline_search", agent.newest_run),
        ("session_timeline_index", {}),
        ("timeline_status", {}),
    ):
        try:
            said, answer = agent.use(tool, arguments)
        except ToolError as error:
            answers[f"{tool}: error, {error}"] += 1
            continue
        answers[f"{tool}: {answer.get('reason') or answer['status']}"] += 1
        if answer.get("reason") == "internal-error":
            yield f"{tool}: {answer}; hook {said[:100]!r}"
    if findings.slowest_hook > HOOK_SECONDS_MAX:
        yield f"a hook took {findings.slowest_hook:.2f} s"


def _works(agent: Agent, promises: Promises) -> Iterator[str]:
    """With space everything is answered, the newest run included; a hook may miss its deadline now and then."""
    agent.write_turn()
    for tool, arguments, wanted in (
        ("session_timeline_index", {}, "indexed"),
        ("session_timeline_search", agent.newest_run, "found"),
        ("timeline_status", {}, "enrolled"),
    ):
        reason = ""
        for _ in range(8):
            try:
                said, answer = agent.use(tool, arguments)
            except ToolError as error:
                reason = str(error)
                continue
            reason = f"{answer.get('status')} {answer.get('reason')}, hook {said[:120]!r}"
            if answer.get("status") == wanted:
                promises.hear(agent.thread, answer)
                break
        else:
            yield f"with space, {tool}: {reason}"
    yield from promises.broken(agent.thread, answer)


def format_findings(findings: Findings) -> str:
    """What was answered where nothing could be written."""
    lines = [f"slowest hook {findings.slowest_hook * 1000:.0f} ms"]
    for where, answers in findings.answers.items():
        lines.append(f"full: {where}")
        lines += [f"  {count:>4}  {answer}" for answer, count in sorted(answers.items())]
    return "\n".join(lines)
