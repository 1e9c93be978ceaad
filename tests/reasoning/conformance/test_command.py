"""``timeline conformance`` as it is run: figures, own cases, exit codes (needs no timeline)."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.reasoning.conformance import made
from timeline.cli import HELP_NAMES, timeline
from timeline.cli import conformance as command_module
from timeline.cli.conformance import conformance_command, read_cases
from timeline.cli.exit import ExitCode, exit_code_of
from timeline.cli.presence import is_owner_command
from timeline.reasoning.conformance import CASE_IDS
from timeline.reasoning.errors import CaseInvalidError


def run(*arguments: str) -> tuple[int, str]:
    """Run the command; what it returns, and what it prints."""
    runner = CliRunner()
    with runner.isolation() as (output, *_):
        # A command remembers its help option: it must be the one that the program gives it.
        code = conformance_command.main(list(arguments), standalone_mode=False, help_option_names=HELP_NAMES)
        return int(code), output.getvalue().decode()


@pytest.mark.requirement("P44")
def test_json_has_the_papers_figures() -> None:
    """Rule by rule, as the table prints them."""
    code, printed = run("--json")
    answer = json.loads(printed)
    names = ("rule", "uor", "rc", "coverage", "precision", "recall", "blocked", "qualified", "passed")
    assert code == 0
    assert (answer["schema"], answer["conforms"]) == ("timeline-conformance/v1", True)
    assert [tuple(rule[name] for name in names) for rule in answer["rules"]] == [
        ("flat", "19/19", "19/24", "5/5", "N/A", "0/19", 0, 0, 24),
        ("source-tag", "18/19", "18/23", "5/5", "1/1", "1/19", 1, 0, 23),
        ("typed", "0/19", "0/7", "5/5", "19/19", "19/19", 17, 2, 5),
    ]
    assert [case["id"] for case in answer["cases"]] == list(CASE_IDS)
    assert answer["cases"][8] == {
        "id": "scope_01",
        "track": "scope",
        "kind": "unsafe",
        "condition": "Somebody asks for an intake note that only the clinic may see.",
        "check": "Outside authorized view",
        "roots": ["private_intake"],
        "decision": {"status": "unknown", "flags": ["withheld"]},
        "refused": {},
        "dispositions": {"flat": "passed", "source-tag": "passed", "typed": "blocked"},
        "surface": "projection",
        "expected": {"status": "unknown", "flags": ["withheld"], "disposition": "blocked"},
        "differences": [],
    }
    assert [(one["criterion"], one["refuted"]) for one in answer["falsification"]] == [
        ("extraction-misses", None),
        ("coverage-loss", False),
        ("simpler-rule-as-good", False),
    ]
    assert all(one["bound"] for one in answer["falsification"])
    assert answer["surfaces"] == {"admission": 3, "projection": 2, "mediation": 14}
    assert [case["surface"] for case in answer["cases"][:8]] == [
        "admission",
        "mediation",
        "admission",
        "admission",
        *["mediation"] * 3,
        None,
    ]
    assert answer["authority"] == "context-only"


@pytest.mark.requirement("P44")
def test_tables_have_the_papers_percentages() -> None:
    """Both tables, for a person."""
    code, printed = run()
    rows = [line.split() for line in printed.split("\n")]
    assert code == 0
    assert "flat 19/19 (100.0%) 19/24 (79.2%) 5/5 (100.0%) N/A 0/19 (0.0%) 0 0 24".split() in rows
    assert (
        "source-tag 18/19 (94.7%) 18/23 (78.3%) 5/5 (100.0%) 1/1 (100.0%) 1/19 (5.3%) 1 0 23".split() in rows
    )
    assert "typed 0/19 (0.0%) 0/7 (0.0%) 5/5 (100.0%) 19/19 (100.0%) 19/19 (100.0%) 17 2 5".split() in rows
    assert "rule UOR RC coverage precision recall blocked qualified passed".split() in rows
    assert "poison_01 unsafe - unknown Model-origin candidate blocked".split() in rows
    cities = "city_root_1, city_root_2, city_root_3, city_root_4"
    assert (
        f"conflict_01 unsafe {cities} supported + conflicted Status-only response qualified".split() in rows
    )
    assert [row for row in rows if row[:1] in (["admission"], ["projection"], ["mediation"])] == [
        ["admission", "3"],
        ["projection", "2"],
        ["mediation", "14"],
    ]
    assert any(row[:3] == ["coverage-loss", "not", "refuted"] for row in rows)
    assert any(row[:4] == ["extraction-misses", "not", "measured", "here"] for row in rows)
    assert sum(row[:1] == [case_id] for row in rows for case_id in CASE_IDS) == 24


def test_own_cases_are_run_in_their_place(tmp_path: Path) -> None:
    """One file, or the .json files of a folder in the order of their names."""
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_bytes(made.encode(made.case(id=name)))
    (tmp_path / "notes.txt").write_text("no case", encoding="utf-8")
    code, printed = run("--json", "--cases", str(tmp_path))
    assert code == 0
    assert [case["id"] for case in json.loads(printed)["cases"]] == ["a", "b"]
    assert json.loads(printed)["rules"][2]["coverage"] == "2/2"
    assert json.loads(printed)["rules"][2]["uor"] == "N/A"
    assert json.loads(run("--json", "--cases", str(tmp_path / "b.json"))[1])["cases"][0]["id"] == "b"


def test_a_case_that_comes_out_otherwise_ends_with_one(tmp_path: Path) -> None:
    """The answer says which, and in what."""
    wrong = made.case(expected={"status": "unknown", "disposition": "blocked"})
    (tmp_path / "a.json").write_bytes(made.encode(wrong))
    code, printed = run("--json", "--cases", str(tmp_path))
    assert code == 1
    assert json.loads(printed)["conforms"] is False
    assert json.loads(printed)["cases"][0]["differences"] == ["status", "disposition"]
    code, printed = run("--cases", str(tmp_path))
    assert code == 1
    assert "mine control a supported expected other status, disposition passed".split() in [
        line.split() for line in printed.split("\n")
    ]


def test_a_folder_without_cases_or_with_too_many_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty folder conforms to nothing."""
    with pytest.raises(CaseInvalidError, match=r"a folder of cases must have 1 to 10000 \.json files$"):
        read_cases(tmp_path)
    monkeypatch.setattr(command_module, "CASES_MAX", 1)
    (tmp_path / "a.json").write_bytes(made.encode(made.case()))
    assert len(read_cases(tmp_path)) == 1
    (tmp_path / "b.json").write_bytes(made.encode(made.case(id="b")))
    with pytest.raises(CaseInvalidError, match="must have 1 to 1"):
        read_cases(tmp_path)


def test_a_file_that_is_none_is_refused_by_its_name(tmp_path: Path) -> None:
    """Missing, or no case."""
    with pytest.raises(CaseInvalidError, match=r"nowhere\.json: cannot be read"):
        read_cases(tmp_path / "nowhere.json")
    (tmp_path / "a.json").write_bytes(b"{")
    with pytest.raises(CaseInvalidError, match=r"a\.json: the document must be JSON"):
        read_cases(tmp_path / "a.json")
    assert exit_code_of(CaseInvalidError("x")) is ExitCode.USAGE


def test_it_is_an_open_command_of_the_program() -> None:
    """Agents and build servers may run it: it reads no timeline."""
    assert not is_owner_command("conformance")
    found = timeline.get_command(click.Context(timeline), "conformance")
    assert found is not None
    assert "docs/spec/conformance.md" in (found.help or "")
    assert "timeline conformance --cases my-cases/" in (found.help or "")
