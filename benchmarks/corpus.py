"""Codex rollouts in bulk, deterministic: equal arguments give equal bytes.

What is imitated was counted in real rollouts: short events are about 5 % of the
bytes and tool outputs nearly all the rest, most of them 4 to 16 KiB with a few larger; about a quarter of the lines,
with more than half of the bytes, hold a character beyond Latin-1 (rules, ticks, dashes, emoji). Half of the files are
of each history mode. `reviewed_share` is the share of all bytes on lines that tell of reviewed commands.
"""

import random
from collections.abc import Iterator

from timeline.simulated_host import LEGACY, PAGINATED, CodexRollout, stepping_clock

START_MS = 1_790_000_000_000
FILE_BYTES = 8 << 20
_SIZES = (300, 900, 2_500, 5_000, 8_000, 12_000, 16_000, 30_000, 60_000, 200_000)
_WEIGHTS = (80, 80, 100, 140, 180, 180, 140, 70, 25, 2)
"""Sizes of outputs in characters, and how often each occurs: 11,000 on average, most bytes in 4 to 16 KiB."""

_PROMPTS_OF_A_LINE = 3
"""Of 292 prompts counted, in 30 MB, 103 were one line that can be quoted: one in so many."""

_WORDS = "parser index token buffer cache widget handler session config value result loader queue".split()
_CODE = (
    'def {a}_{b}({a}: int, *, {b}: str = "{b}") -> None:\n',
    '        return self._{a}.get("{b}", {n})\n',
    "src/{a}/{b}.py:{n}:    if {a} is None and {b} > {n}:\n",
    "+    const {a} = await load('{b}', {{ retries: {n} }});\n",
    "-    {a}.{b}({n})\n",
    "\t{a} := new{b}({n})\n",
    "drwxr-xr-x  2 user user {n:>6} Aug 20 10:00 {a}_{b}\n",
    "{n:>6}\t{a} {b} {a}\n",
    "    # {a} before {b}: the {b} of {n} entries must stay sorted by {a}\n",
)
_BEYOND = (
    "    # {a} \u2192 {b}: {n} entries\n",
    "- \u2018{a}\u2019 \u2014 the {b} of {n}\u2026\n",
    "\u2502 {a:<12} \u2502 {b} \u2713\n",
)
_SEARCHES = (
    "rg -n {a} src",
    "sed -n '1,200p' src/{a}.py",
    "git diff -- src/{a}",
    "ls -la src",
    "cat docs/{a}.md",
)

Json = dict[str, object]
_TOKENS: Json = {
    "type": "token_count",
    "info": {
        "total_token_usage": {"input_tokens": 10_412, "output_tokens": 512},
        "model_context_window": 258_400,
    },
    "rate_limits": {"primary": {"used_percent": 3.0, "window_minutes": 300}, "secondary": None},
}
_REASONING: Json = {
    "type": "reasoning",
    "summary": [],
    "content": None,
    "encrypted_content": "gAAAAABo" + "Qk1uZ2x" * 60,
}


def write_corpus(total_bytes: int, reviewed_share: float) -> Iterator[tuple[str, bytes]]:
    """Rollouts as path below the host's home and bytes, together at least ``total_bytes``."""
    chance = random.Random(int(reviewed_share * 100))
    pool = _text_lines(chance)
    made = number = 0
    while made < total_bytes:
        rollout = CodexRollout(
            clock=stepping_clock(START_MS + number * 3_600_000),
            seed=number,
            cwd="/w/project",
            history_mode=(LEGACY, PAGINATED)[number % 2],
            instructions_bytes=12_000,
        )
        _Session(rollout, chance, pool).fill(min(FILE_BYTES, total_bytes - made), reviewed_share)
        data = rollout.to_bytes()
        yield rollout.relative_path, data
        made += len(data)
        number += 1


class _Session:
    """One rollout being filled with turns; its project has one or two runners, and a suite that grows slowly."""

    def __init__(self, rollout: CodexRollout, chance: random.Random, pool: list[str]) -> None:
        self._rollout = rollout
        self._chance = chance
        self._pool = pool
        self._runners = chance.sample(RUNS, 2)
        self._tests = chance.randint(10, 400)
        self._counted = 0

    def fill(self, size: int, reviewed_share: float) -> None:
        """Write turns until the rollout has ``size`` bytes, keeping to the share."""
        written = self._new_bytes()
        reviewed = turns = 0
        while written < size:
            self._rollout.start_turn()
            more = "\nand say what you changed" if turns % _PROMPTS_OF_A_LINE else ""
            self._rollout.prompt(f"go on with the {self._word()}{more}")
            turns += 1
            for _ in range(self._chance.randint(2, 9)):
                runs = reviewed < reviewed_share * written
                (self._run if runs else self._look)()
                added = self._new_bytes()
                written += added
                reviewed += added if runs else 0
                self._rollout.write("response_item", _REASONING)
                self._rollout.write("event_msg", _TOKENS)
            self._rollout.end_turn(f"The {self._word()} is done \u2014 see `{self._word()}`.")
            written += self._new_bytes()

    def _new_bytes(self) -> int:
        lines = self._rollout.lines
        added = sum(len(line) + 1 for line in lines[self._counted :])
        self._counted = len(lines)
        return added

    def _word(self) -> str:
        return self._chance.choice(_WORDS)

    def _text(self) -> str:
        size = self._chance.choices(_SIZES, _WEIGHTS)[0]
        start = self._chance.randrange(len(self._pool) // 2)
        return "".join(self._pool[start : start + max(1, size // 40)])

    def _look(self) -> None:
        """Call a command that proves nothing."""
        command = self._chance.choice(_SEARCHES).format(a=self._word())
        self._rollout.command(command, self._text(), 0)

    def _run(self) -> None:
        """Call a reviewed runner; half of the runs fail."""
        command, fine, broken = self._chance.choice(self._runners)
        failed = self._chance.choice((0, 0, 1, 3))
        self._tests += self._chance.randrange(10) == 0
        closing = (broken if failed else fine).format(p=self._tests - failed, f=failed, t=self._tests)
        self._rollout.command(command, self._text() + closing, 1 if failed else 0)


RUNS: tuple[tuple[str, str, str], ...] = (
    (
        "python -m pytest -q tests",
        "{p} passed in 0.41s\n",
        (
            "=========================== short test summary info ============================\n"
            "FAILED tests/test_index.py::test_order - AssertionError\n{f} failed, {p} passed in 0.52s\n"
        ),
    ),
    (
        "cargo test",
        (
            "running {p} tests\n\ntest result: ok. {p} passed; 0 failed; 0 ignored; 0 measured; "
            "0 filtered out; finished in 0.10s\n\n"
        ),
        (
            "running {t} tests\n\ntest result: FAILED. {p} passed; {f} failed; 0 ignored; 0 measured; 0 filtered out; "
            "finished in 0.10s\n\n"
            "error: test failed, to rerun pass `--lib`\n"
        ),
    ),
    (
        "go test ./...",
        "ok  \texample.com/a\t0.010s\nok  \texample.com/b\t0.020s\n",
        "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/a\t0.010s\nok  \texample.com/b\t0.020s\nFAIL\n",
    ),
    (
        "npx vitest run",
        "\n Test Files  1 passed (1)\n      Tests  {p} passed ({p})\n   Start at  10:00:00\n   Duration  1.20s\n\n",
        (
            "\n Test Files  1 failed (1)\n      Tests  {f} failed | {p} passed ({t})\n   Start at  10:00:00\n"
            "   Duration  1.20s\n\n"
        ),
    ),
    (
        "npx jest",
        (
            "\nTest Suites: 1 passed, 1 total\nTests:       {p} passed, {p} total\nSnapshots:   0 total\n"
            "Time:        1.2 s\nRan all test suites.\n"
        ),
        (
            "\nTest Suites: 1 failed, 1 total\nTests:       {f} failed, {p} passed, {t} total\nSnapshots:   0 total\n"
            "Time:        1.2 s\nRan all test suites.\n"
        ),
    ),
    (
        "python -m unittest",
        "----------------------------------------------------------------------\nRan {p} tests in 0.010s\n\nOK\n",
        (
            "----------------------------------------------------------------------\nRan {t} tests in 0.010s\n\n"
            "FAILED (failures={f})\n"
        ),
    ),
)
"""Reviewed commands, with what they print at the end where all passes and where ``f`` of ``t`` fail."""


def _text_lines(chance: random.Random) -> list[str]:
    """Lines as tools print them: code, diffs, listings, now and then one with a character beyond Latin-1."""
    made = []
    for _ in range(6_000):
        kinds = _BEYOND if chance.random() < 0.004 else _CODE
        made.append(
            chance.choice(kinds).format(
                a=chance.choice(_WORDS), b=chance.choice(_WORDS), n=chance.randrange(9_999)
            )
        )
    return made
