"""Throws damaged and made-up transcripts at an adapter: ``python -m tests.fuzz HOST [--minutes N]``.

Hypothesis makes the files: sound ones (the fixtures of the host) with edits of bytes, lines and values, and lines
put together from the words that its fixtures use. What must hold is ``tests.adapters.contract.check_file``: records,
defects or an ``AdapterError``, whatever the bytes. A short run is part of the suite (``tests/adapters/test_fuzz.py``);
this runs round after round, each with another seed, until the time is over, and prints what it did.
"""

import json
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import hypothesis
from hypothesis import strategies as st

from adapters.base import Adapter
from adapters.registry import ADAPTERS
from tests.adapters.contract import check_file

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/transcripts"
ROUND = 500
"""Files in one round."""

MEMORY_MB = 400
"""How much memory the whole process may reach: the files have some hundred kilobytes at most."""

_WORD = re.compile(rb'"([A-Za-z_.:-]{1,40})"')
_NASTY = (
    b"\n", b"\r\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\\ud800", b'"', b"\\",
    b"{", b"}", b"}{", b"[", b"]", b"[" * 600, b"]" * 40, b"NaN", b"1e999", b"-0", b"1.0", b"9" * 400, b"null", b"true",
    b",", b":", b" ", b"{}", b'{"type":', b'""', b"\\n", b"\\u0022", b'"type":"x",', b"Exit code 0\\n", b"exit code: 1",
)  # fmt: skip


class Edit(NamedTuple):
    """One change of a file: what is done, where (counted round the file), how much, and with which bytes."""

    kind: str
    at: int
    size: int
    put: bytes


class Seeds(NamedTuple):
    """What a host's fixtures give: whole files, and the words that stand in them."""

    files: Sequence[bytes]
    words: Sequence[str]


def seeds_of(host: str) -> Seeds:
    """Return the seeds of a host; ``kimi`` writes what ``king`` writes."""
    folder = FIXTURES / ("king" if host == "kimi" else host)
    files = sorted(
        (path.read_bytes() for path in folder.rglob("*.jsonl")), key=lambda data: (len(data), data)
    )
    words = sorted({word.decode() for data in files for word in _WORD.findall(data)})
    return Seeds([data for data in files if len(data) < 64 * 1024], words)


def edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """Return the file after the edits, at most a few times as long as before."""
    for edit in edits:
        lines = data.split(b"\n")
        at, line = edit.at % (len(data) + 1), edit.at % len(lines)
        match edit.kind:
            case "put":
                data = data[:at] + edit.put + data[at + edit.size :]
            case "cut":
                data = data[:at] + data[at + edit.size :]
            case "flip" if data:
                at %= len(data)
                data = data[:at] + bytes([data[at] ^ (1 << edit.size % 8)]) + data[at + 1 :]
            case "swap":
                other = edit.size % len(lines)
                lines[line], lines[other] = lines[other], lines[line]
                data = b"\n".join(lines)
            case "double":
                data = b"\n".join([*lines[: line + 1], *lines[line:]])
            case "drop":
                data = b"\n".join([*lines[:line], *lines[line + 1 :]])
            case "glue":
                data = b"\n".join([*lines[:line], b"".join(lines[line : line + 2]), *lines[line + 2 :]])
            case "value":
                lines[line] = _with_value(lines[line], edit)
                data = b"\n".join(lines)
    return data


def _with_value(line: bytes, edit: Edit) -> bytes:
    """Return the line with one of its quoted strings replaced."""
    found = list(re.finditer(rb'"(?:[^"\\]|\\.)*"', line))
    if not found:
        return line
    chosen = found[edit.size % len(found)]
    return line[: chosen.start()] + edit.put + line[chosen.end() :]


def transcripts(seeds: Seeds) -> st.SearchStrategy[bytes]:
    """Return files: a fixture with edits, or a fixture's beginning with made-up lines behind it."""
    words = st.sampled_from(seeds.words)
    leaves = st.one_of(words, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12))
    values = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=7),
        max_leaves=16,
    )
    made_up = st.dictionaries(words, values, max_size=8).map(
        lambda value: json.dumps(value, separators=(",", ":")).encode()
    )
    put = st.one_of(
        st.sampled_from(_NASTY), st.binary(max_size=24), values.map(lambda v: json.dumps(v).encode())
    )
    edit = st.builds(
        Edit,
        st.sampled_from(["put", "cut", "flip", "swap", "double", "drop", "glue", "value"]),
        st.integers(0, 2**20),
        st.integers(0, 300),
        put,
    )
    files = st.sampled_from(seeds.files)
    changed = st.builds(edited, files, st.lists(edit, min_size=1, max_size=6))
    invented = st.builds(
        lambda data, keep, lines: b"\n".join([*data.split(b"\n")[:keep], *lines, b""]),
        files,
        st.integers(1, 6),
        st.lists(made_up, max_size=6),
    )
    return st.one_of(changed, changed, invented, st.binary(max_size=200))


def fuzz(adapter: Adapter, seeds: Seeds, *, examples: int, seed: int | None) -> tuple[int, int]:
    """Try so many files; return how many were tried and how many of them could be read.

    Raises whatever ``check_file`` raises, for the smallest file that Hypothesis can find.
    """
    tried = readable = 0

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(transcripts(seeds), st.integers(0, 12))
    def one(data: bytes, stop: int) -> None:
        nonlocal tried, readable
        tried += 1
        readable += check_file(adapter, data, stop=stop)

    (hypothesis.seed(seed)(one) if seed is not None else one)()
    return tried, readable


def main(arguments: Sequence[str]) -> int:
    """Run rounds until the time is over; 1 where memory went over its bound. A failure is raised, with its file."""
    host, minutes = arguments[0], 1.0
    if "--minutes" in arguments:
        minutes = float(arguments[arguments.index("--minutes") + 1])
    seeds, end, seed, tried, readable = seeds_of(host), time.monotonic() + 60 * minutes, 0, 0, 0
    began = time.monotonic()
    while time.monotonic() < end:
        seed += 1
        more, read = fuzz(ADAPTERS[host], seeds, examples=ROUND, seed=seed)
        tried, readable = tried + more, readable + read
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{host}: {tried} files in {seed} rounds and {(time.monotonic() - began) / 60:.1f} minutes, "
        f"{readable} of them readable; peak memory {peak:.0f} MB; nothing failed"
    )
    return 0 if peak <= MEMORY_MB else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
