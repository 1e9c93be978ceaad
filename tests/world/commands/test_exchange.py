"""``timeline world export|import``: nothing is lost on the way out, and what comes in stays legacy."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.world.commands.speaking import PREDICATE, SUBJECT, Owner


@pytest.fixture
def written(owner: Owner, tmp_path: Path) -> Path:
    """Give a file with three assertions of the owner, of which one replaces another."""
    first = owner.records("main")
    owner.says("world", "correct", first, "--text", "next", "--yes")
    owner.says("world", "record", "user:me", "editor.tabs", "--value", "4", "--everywhere")
    file = tmp_path / "world-model.json"
    assert owner.types("world", "export", str(file))[0] == 0
    return file


def _read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.requirement("W66")
def test_an_export_holds_all_that_was_said(owner: Owner, written: Path) -> None:
    """Replaced ones too; it is printed where no file is named, and written over nothing."""
    found = _read(written)
    assert found["schema"] == "agentspine.world-model/v1"
    assert [one["value"] for one in found["assertions"]] == ["main", "next", 4]
    assert found["assertions"][1]["supersedes"] == [found["assertions"][0]["id"]]
    code, out, _ = owner.types("world", "export")
    assert (code, json.loads(out)) == (0, found)
    assert owner.types("world", "export", str(written))[0] == 2
    code, out, _ = owner.types("world", "export", "--format", "prov-json")
    assert (code, set(json.loads(out))) == (0, {"prefix", "entity", "bundle"})


@pytest.mark.requirement("W27", "W6")
def test_an_import_is_legacy_and_the_same_again_is_nothing_new(owner: Owner, written: Path) -> None:
    """Ids that are ours already are another assertion's; under new ids they are recorded once."""
    found = _read(written)
    for one in found["assertions"]:
        one["id"] = one["id"].replace("assertion:", "legacy:")
        one["supersedes"] = [name.replace("assertion:", "legacy:") for name in one["supersedes"]]
    written.write_text(json.dumps(found), encoding="utf-8")

    planned = owner.says("world", "import", str(written), "--dry-run")
    assert len(planned["wouldRecord"]) == 3
    imported = owner.says("world", "import", str(written))
    assert (len(imported["recorded"]), imported["duplicates"], imported["leftOut"]) == (3, [], [])
    again = owner.says("world", "import", str(written))
    assert (again["recorded"], len(again["duplicates"])) == ([], 3)

    shown = owner.says("world", "show", imported["recorded"][1])["assertion"]
    assert (shown["recorder"], shown["legacy"]) == ("import", True)
    assert owner.run("verify", "--deep")[0] == 0


def test_what_is_left_out_is_named(owner: Owner, written: Path) -> None:
    """Each with its reason; the others are recorded, and the exit code says that it was done in part."""
    found = _read(written)
    found["assertions"][2] |= {"id": "legacy:one", "projectId": "elsewhere"}
    written.write_text(json.dumps(found), encoding="utf-8")
    code, out, _ = owner.types("world", "import", str(written), "--json")
    said = json.loads(out)
    assert code == 3
    reasons = {one["reason"] for one in said["leftOut"]}
    assert reasons == {"world-assertion-id-reused", "world-scope-invalid"}
    code, out, _ = owner.types("world", "import", str(written), "--project-id", "elsewhere", "--json")
    assert json.loads(out)["recorded"] == ["legacy:one"]


@pytest.mark.usefixtures("_terminal")
def test_a_no_records_nothing(owner: Owner, written: Path) -> None:
    """The plan is shown before the question."""
    before = owner.stage.leaves()
    code, out, _ = owner.types("world", "import", str(written), given=b"n\n")
    assert code != 0
    assert "3 records can be imported" in out
    assert owner.stage.leaves() == before


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema":"other","assertions":[]}'])
def test_another_file_is_refused(owner: Owner, tmp_path: Path, content: bytes) -> None:
    """Before anything is asked or written."""
    file = tmp_path / "other.json"
    file.write_bytes(content)
    assert owner.refused("world", "import", str(file)) == "world-assertion-invalid"
    assert owner.refused("world", "import", str(tmp_path / "none.json")) == "usage"


def test_a_conflict_of_an_import_stays_one(owner: Owner, written: Path) -> None:
    """What another system holds does not overrule what the owner has said, nor the other way round."""
    found = _read(written)
    found["assertions"] = [
        {**found["assertions"][0], "id": "legacy:main", "subjectId": SUBJECT, "predicate": PREDICATE}
    ]
    written.write_text(json.dumps(found), encoding="utf-8")
    owner.says("world", "import", str(written))
    (conflict,) = owner.says("world", "conflicts")["conflicts"]
    assert conflict["subjectId"] == SUBJECT
