"""The fixtures of every host: each transcript, what is expected of it, and the records that it gives."""

import tomllib

import pytest

from adapters.registry import ADAPTERS
from tests.adapters.fixtures import FOLDER, HOSTS, cases_of, expectation, golden

NAMES = [(host, name) for host in HOSTS for name in sorted(cases_of(host))]


@pytest.mark.parametrize("host", HOSTS)
def test_the_fixtures_are_what_the_simulator_writes(host: str) -> None:
    """No fixture is cut from anyone's session: each file is made again, byte for byte."""
    folder = FOLDER / host
    made = {f"{name}.jsonl": case.data for name, case in cases_of(host).items()}
    assert {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jsonl")} == made


@pytest.mark.parametrize(("host", "name"), NAMES, ids=map("/".join, NAMES))
def test_a_fixture_gives_what_its_expectation_says(host: str, name: str) -> None:
    """The toml beside a transcript holds its verdict, its defects and its prompts; the JSON its records."""
    case, place = cases_of(host)[name], FOLDER / host / name
    stated = tomllib.loads(place.with_name(f"{place.name}.toml").read_text(encoding="utf-8"))
    assert stated == tomllib.loads(expectation(ADAPTERS[host], case))
    assert ("reason" in stated) is not case.readable
    if case.readable:
        records = place.with_name(f"{place.name}.records.json").read_text(encoding="utf-8")
        assert records == golden(ADAPTERS[host], case.data)
