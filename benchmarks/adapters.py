"""Reading with each adapter in a child process, against plain JSON decoding of the same lines.

What is measured is the adapter alone: framing, strict checks, counting, joining calls and results. No decision, no
signature and no store. One line in ten bytes tells of a reviewed command (`docs/adr/0012-indexing-speed.md`).
"""

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from adapters.base import HEADER_BYTES
from adapters.lines import Block, LineSplitter
from adapters.registry import ADAPTERS
from benchmarks.corpus import write_corpus
from benchmarks.measure import Figure, alternate, own_peak_mb, python, ratio, run
from tests.simulators.claude import claude_corpus
from tests.simulators.king import wire_corpus

HERE = Path(__file__).parent / ".corpus"
_SHARE = 0.1
_BYTES = 96 << 20
_QUICK_BYTES = 16 << 20
_ROUNDS = 5
_PIECE = 256 << 10
_MEMORY_MB = 100.0
_GATES = {"codex": 1.5, "claude": 1.5, "king": 1.9}
"""A third above what was measured; 0.5 was asked for and is below what checking every byte costs (ADR 0012)."""


def figures(*, quick: bool) -> list[Figure]:
    """Processor time against decoding, and peak memory, for each adapter."""
    found = []
    for host, gate in _GATES.items():
        files = [str(path) for path in _corpus(host, _QUICK_BYTES if quick else _BYTES)]
        found += _of_host(host, files, gate, 3 if quick else _ROUNDS)
    return found


def _of_host(host: str, files: list[str], gate: float, rounds: int) -> list[Figure]:
    size = sum(Path(name).stat().st_size for name in files)
    peaks: list[float] = []

    def read() -> float:
        cost = run(python("benchmarks.adapters", "read", host, *files))
        peaks.append(float(cost.output))
        return cost.cpu

    def decode() -> float:
        return run(python("benchmarks.adapters", "decode", *files)).cpu

    ours, decoding = alternate(rounds, read, decode)
    rate = f"{size / 1e6 / statistics.median(ours):.0f} MB a second of processor time, {size / 1e6:.0f} MB"
    return [
        Figure(f"read {host}: CPU / json.loads of every line", ratio(ours, decoding), "x", gate, rate),
        Figure(f"read {host}: peak memory", max(peaks), "MB", _MEMORY_MB),
    ]


def _corpus(host: str, total_bytes: int) -> list[Path]:
    """The files of a corpus, made once."""
    folder = HERE / f"read-{host}-{total_bytes >> 20}"
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(_sessions(host, total_bytes)):
            (folder / f"{number:03d}.jsonl").write_bytes(content)
        (folder / "done").touch()
    return sorted(folder.glob("*.jsonl"))


def _sessions(host: str, total_bytes: int) -> Iterator[bytes]:
    if host == "codex":
        yield from (content for _, content in write_corpus(total_bytes, _SHARE))
    elif host == "claude":
        yield from (content for _, content in claude_corpus(total_bytes, reviewed_share=_SHARE))
    else:
        yield b"".join(wire_corpus(total_bytes, reviewed_share=_SHARE))


def _read(host: str, files: list[str]) -> None:
    adapter = ADAPTERS[host]
    buffer = memoryview(bytearray(_PIECE))
    for name in files:
        with Path(name).open("rb", buffering=0) as file:
            reader = adapter.reader(adapter.read_header(file.read(HEADER_BYTES)))
            file.seek(0)
            splitter = LineSplitter()
            while size := file.readinto(buffer):
                for piece in splitter.feed_blocks(buffer[:size]):
                    if isinstance(piece, Block):
                        reader.feed_block(piece)
                    else:
                        reader.feed(piece)
            reader.finish()
            if reader.tallies.defects or not reader.tallies.tool_calls:
                raise RuntimeError("a corpus is sound and has calls")


def _decode(files: list[str]) -> None:
    for name in files:
        with Path(name).open("rb") as file:
            for line in file:
                json.loads(line)


if __name__ == "__main__":
    if sys.argv[1] == "decode":
        _decode(sys.argv[2:])
    else:
        _read(sys.argv[2], sys.argv[3:])
        print(own_peak_mb())
