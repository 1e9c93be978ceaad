"""Writes transcripts as hosts do, and as crashes, editors and forks leave them.

``CodexRollout`` of ``timeline.simulated_host`` writes the sound ones. Here are the unsound ones (each function
takes and returns bytes, so that damages combine), forks, and the large corpus of the benchmarks. Deterministic:
equal arguments give equal bytes.
"""

import random
from collections.abc import Iterator

from timeline.simulated_host import LEGACY, PAGINATED, CodexRollout, stepping_clock

__all__ = [
    "CORPUS_START_MS",
    "LEGACY",
    "PAGINATED",
    "CodexRollout",
    "codex_corpus",
    "fork",
    "new_rollout",
    "pytest_output",
    "stepping_clock",
    "work_session",
]

CORPUS_START_MS = 1_787_220_000_000
"""2026-08-20T10:00:00Z."""

_WORDS = "alpha beta gamma delta lib main test value index token build cache store field merge".split()


def new_rollout(mode: str = LEGACY, *, seed: int = 0, start_ms: int = CORPUS_START_MS) -> CodexRollout:
    """Return a fresh rollout on a stepping clock."""
    return CodexRollout(clock=stepping_clock(start_ms), seed=seed, history_mode=mode)


def pytest_output(passed: int, failed: int = 0, *, filler: str = "") -> str:
    """Return what ``pytest`` prints at its end, after ``filler`` (whole lines)."""
    counts = ", ".join(f"{count} {word}" for count, word in ((failed, "failed"), (passed, "passed")) if count)
    line = f" {counts} in 0.52s "
    return f"{filler}{line:=^80}\n"


def work_session(mode: str = LEGACY, *, seed: int = 0) -> CodexRollout:
    """Return a session that fails a test run, fixes it, passes, and once prints an old log."""
    rollout = new_rollout(mode, seed=seed)
    rollout.inject("<environment_context>\n  <cwd>/w/project</cwd>\n</environment_context>")
    rollout.start_turn()
    rollout.prompt("make the tests pass")
    rollout.command("ls", "a.py\ntest_a.py\n", 0)
    rollout.command("pytest -q", pytest_output(11, 1), 1)
    rollout.patch("*** Begin Patch\n*** Update File: a.py\n*** End Patch")
    rollout.command("python -m pytest -q", pytest_output(12), 0)
    rollout.command("cat old.log", pytest_output(99), 0)
    rollout.end_turn("twelve tests pass")
    rollout.write_session_meta()
    rollout.start_turn()
    rollout.prompt("once more")
    rollout.background_command("pytest -q tests/slow", "collecting ...\n", 501)
    rollout.shell(["bash", "-lc", "pytest -q"], pytest_output(12), 0)
    rollout.abort_turn()
    return rollout


def fork(parent: CodexRollout, *, seed: int = 1, restamped: bool = True) -> CodexRollout:
    """Return a child whose file begins with the parent's whole history, as a legacy fork leaves it."""
    child = CodexRollout(clock=parent.clock, seed=seed, history_mode=parent.history_mode)
    if restamped:
        parent_lines, stamp = parent.lines, child.lines[0][:40]
        child.lines += [stamp + line[40:] if line[13:14] == b'"' else line for line in parent_lines]
    else:
        child.lines += parent.lines
    return child


# ----------------------------------------------------------------------------------------------------------- damage


def torn(data: bytes, keep: int) -> bytes:
    """Return what a crash leaves: the last ``keep`` bytes of the last record are missing."""
    return data[: len(data) - keep]


def glued(data: bytes, line: int, cut: int) -> bytes:
    """Return the file where record ``line`` lost its last ``cut`` bytes and its newline to a crash."""
    lines = data.split(b"\n")
    lines[line : line + 2] = [lines[line][: len(lines[line]) - cut] + lines[line + 1]]
    return b"\n".join(lines)


def with_nul_run(data: bytes, line: int, length: int) -> bytes:
    """Return the file with a run of NUL bytes in front of record ``line``, as a lost write leaves it."""
    lines = data.split(b"\n")
    lines[line] = b"\0" * length + lines[line]
    return b"\n".join(lines)


def with_crlf(data: bytes) -> bytes:
    """Return the file as an editor with other line ends saves it."""
    return data.replace(b"\n", b"\r\n")


def with_bom(data: bytes) -> bytes:
    """Return the file as an editor with a byte order mark saves it."""
    return b"\xef\xbb\xbf" + data


def with_line(data: bytes, line: int, raw: bytes) -> bytes:
    """Return the file with the physical line ``raw`` before record ``line``."""
    lines = data.split(b"\n")
    lines.insert(line, raw)
    return b"\n".join(lines)


# ----------------------------------------------------------------------------------------------------------- corpus


def codex_corpus(
    total_bytes: int,
    *,
    reviewed_share: float,
    seed: int = 0,
    file_bytes: int = 8 * 1024 * 1024,
    mode: str = LEGACY,
) -> Iterator[tuple[str, bytes]]:
    """Yield rollouts as path and bytes, together at least ``total_bytes``.

    ``reviewed_share`` is the share of all bytes that are outputs of reviewed commands. Sizes of outputs follow what
    was measured in real sessions: most below 4 KiB, most *bytes* in outputs of 4 to 64 KiB, a few larger.
    """
    chance = random.Random(seed)
    lines = _output_lines(chance)
    made, number = 0, 0
    while made < total_bytes:
        rollout = new_rollout(
            mode, seed=seed * 100_003 + number, start_ms=CORPUS_START_MS + number * 3_600_000
        )
        _fill(rollout, min(file_bytes, total_bytes - made), reviewed_share, chance, lines)
        data = rollout.to_bytes()
        yield rollout.relative_path, data
        made += len(data)
        number += 1


def _fill(
    rollout: CodexRollout, size: int, reviewed_share: float, chance: random.Random, lines: list[str]
) -> None:
    written = reviewed = 0
    counted = 0
    while written < size:
        rollout.start_turn()
        rollout.prompt("go on with " + chance.choice(_WORDS))
        for _ in range(chance.randint(2, 9)):
            text = _output(chance, lines)
            if reviewed < reviewed_share * (written + sum(map(len, rollout.lines[counted:]))):
                failed = chance.choice((0, 0, 1, 3))
                before = len(rollout.lines)
                rollout.command(
                    "pytest -q tests", pytest_output(100, failed, filler=text), 1 if failed else 0
                )
                reviewed += sum(map(len, rollout.lines[before:]))
            else:
                rollout.command(chance.choice(("rg -n value src", "sed -n 1,200p a.py", "git diff")), text, 0)
            rollout.write("event_msg", _TOKEN_COUNT)
            rollout.write("response_item", _REASONING)
        rollout.end_turn("done with " + chance.choice(_WORDS))
        written += sum(map(len, rollout.lines[counted:]))
        counted = len(rollout.lines)


def _output(chance: random.Random, lines: list[str]) -> str:
    size = chance.choice((200, 800, 2_000, 6_000, 12_000, 24_000, 60_000))
    start = chance.randrange(len(lines) // 2)
    count = max(1, size // 36)
    return "".join(lines[start : start + count])


def _output_lines(chance: random.Random) -> list[str]:
    """Return lines as tools print them: code, quotes, escapes, now and then a character beyond ASCII."""
    kinds = (
        '    "{a}": {n}, // {b}\n',
        "{a}/{b}.py:{n}:    return {a}[{n}]\n",
        "\x1b[32m+\x1b[0m {a} = {b}({n})\t# {a}\n",
        "{n:>6} {a} {b} {a} {b}\n",
    )
    made = [
        chance.choice(kinds).format(
            a=chance.choice(_WORDS), b=chance.choice(_WORDS), n=chance.randrange(9999)
        )
        for _ in range(4_000)
    ]
    return [line.replace("alpha", "älpha") if chance.random() < 0.01 else line for line in made]


_TOKEN_COUNT: dict[str, object] = {
    "type": "token_count",
    "info": {"total_token_usage": {"input_tokens": 10, "output_tokens": 5}, "model_context_window": 258_400},
    "rate_limits": {"primary": {"used_percent": 3.0, "window_minutes": 300}, "secondary": None},
}
_REASONING: dict[str, object] = {
    "type": "reasoning",
    "summary": [],
    "content": None,
    "encrypted_content": "gAAAA" + "Qk1uZ2x" * 90,
}
