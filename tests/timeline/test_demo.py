"""The demonstration runs to its end, keeps what it promises to keep, and is what the README shows."""

import re
from pathlib import Path

import pytest

from timeline import service
from timeline.demo import run_demo
from timeline.paths import Locations
from timeline.terms import parse_query

README = Path(__file__).resolve().parents[2] / "README.md"

VARYING = (
    r"\d{4}-\d\d-\d\dT[\d:.]+Z",  # times
    r"\b[0-9a-f]{32}\b",  # ids
    r"[\w-]{8}…",  # the beginning of a plan's digest
    r"\d+ (?:min|s) ago",
    r"\d+ bytes",
)


def settled(text: str) -> list[str]:
    """The lines of an output, without what differs from run to run."""
    for pattern in VARYING:
        text = re.sub(pattern, "…", text)
    return text.strip().split("\n")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Run the demonstration once; it fails by itself where a step does not do what it says."""
    lines: list[str] = []
    folder = tmp_path_factory.mktemp("told") / "demo"
    run_demo(folder, lines.append)
    return folder, lines


def test_the_readme_shows_what_the_demonstration_prints(told: tuple[Path, list[str]]) -> None:
    """Nothing in the README is an output that the program has never given."""
    blocks = re.findall(
        r"^```text\n(.*?)^```", README.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    (shown,) = (block for block in blocks if block.startswith("== "))
    printed = "\n".join(line for line in told[1] if not line.startswith("kept: "))
    assert settled(shown) == settled(printed)


def test_a_kept_demonstration_can_be_asked(told: tuple[Path, list[str]]) -> None:
    """What was not forgotten is found, and the log of it verifies."""
    folder = told[0]
    locations = Locations(folder / "state", folder / "trust", folder / "config", folder / "runtime")
    session = service.Session(locations, environment={"HOME": str(folder / "home")})
    query = parse_query(("pytest", "passed"))
    answer, view = service.find(session, str(folder / "home" / "project"), query=query)
    assert [card.event.passed for card in answer.cards] == [2]
    assert len(view.erased) == 1
    assert service.verify_timeline(session, deep=True).ok


def test_the_forgotten_name_is_in_no_kept_file(told: tuple[Path, list[str]]) -> None:
    """Also not in what the demonstration leaves behind beside the timeline's own folders."""
    name = b"14 Birch Lane"
    files = [path for path in told[0].rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if name in path.read_bytes()] == []
