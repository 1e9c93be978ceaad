"""A reference file is imported as what it is: legacy records, whose every rule is checked anew."""

import json
from typing import Any

import pytest

from tests.world.export.test_prov import HISTORY, NOW
from timeline.world.assertion import Assertion
from timeline.world.errors import AssertionInvalidError
from timeline.world.export import world_model
from timeline.world.legacy import FILE_BYTES_MAX, Target, read_world_model


def _file() -> dict[str, Any]:
    """The export of a history, under names as another program would have given."""
    text = json.dumps(world_model(HISTORY, "/srv/demo")).replace('"assertion:', '"note:')
    found: dict[str, Any] = json.loads(text)
    return found


def target(now_ms: int, *named: str) -> Target:
    """The project that the export was made for."""
    return Target("local", "ann", "/srv/demo", frozenset(named), now_ms)


def _read(found: object, now_ms: int = NOW + 100) -> Any:
    return read_world_model(json.dumps(found).encode(), target(now_ms))


@pytest.mark.requirement("W27")
def test_records_stay_legacy() -> None:
    """They keep id, value, evidence and times; they get no kind and no route, also where the file names one."""
    found = _file()
    found["assertions"][0] |= {
        "knowledgeKind": "fact",
        "portalRef": "portal-ref:" + "0" * 32,
        "threadRef": "thread-ref:" + "0" * 32,
    }
    records = _read(found)
    assert [record.reason for record in records] == [None] * len(HISTORY)
    for record, assertion in zip(records, HISTORY, strict=True):
        entry = record.entry
        assert (entry.recorder, entry.knowledge, entry.portal) == ("import", None, None)
        for name in (
            "value",
            "evidence_kind",
            "evidence_digest",
            "observed_at",
            "privacy",
        ):
            assert getattr(entry, name) == getattr(assertion.entry, name)


def test_an_export_of_an_import_is_the_same_file() -> None:
    """But for who recorded it and when."""
    imported = [
        Assertion(old.leaf, old.recorded_at, record.entry, old.value)
        for record, old in zip(_read(_file()), HISTORY, strict=True)
    ]
    again = world_model(imported, "/srv/demo")
    for one, other in zip(again["assertions"], _file()["assertions"], strict=True):
        assert {**one, "timeline": None} == {**other, "timeline": None}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("schema", "agentspine.world-assertion/v2", "world-assertion-invalid"),
        ("id", 7, "world-assertion-invalid"),
        ("id", "no-namespace", "world-assertion-invalid"),
        ("evidenceKind", "uninterpreted-user-message", "world-assertion-invalid"),
        ("evidenceKind", ["objective-measurement"], "world-assertion-invalid"),
        ("evidenceDigest", "A" * 64, "world-assertion-invalid"),
        ("observedAt", "2026-11-30", "world-assertion-invalid"),
        ("observedAt", "2027-11-30T00:00:00.000Z", "world-assertion-invalid"),
        ("expiresAt", "2001-01-01T00:00:00.000Z", "world-assertion-invalid"),
        ("valueDigest", "0" * 64, "world-assertion-invalid"),
        ("value", "another", "world-assertion-invalid"),
        ("privacy", "public", "world-assertion-invalid"),
        ("privacy", ["shared"], "world-assertion-invalid"),
        ("groupId", "team", "world-assertion-invalid"),
        ("supersedes", "assertion:number-2", "world-assertion-invalid"),
        ("supersedes", [2], "world-assertion-invalid"),
        ("reason", 7, "world-assertion-invalid"),
        ("predicate", "access.token", "world-authority-shaped"),
        ("projectId", "/srv/other", "world-scope-invalid"),
    ],
)
def test_what_is_wrong_is_left_out_with_its_reason(field: str, value: object, reason: str) -> None:
    """One bad record takes none of the others with it."""
    found = _file()
    found["assertions"][0][field] = value
    records = _read(found)
    assert (records[0].entry, records[0].reason) == (None, reason)
    assert all(record.entry is not None for record in records[1:])


@pytest.mark.parametrize("record", [None, 7, "text", [], {}])
def test_no_record_at_all(record: object) -> None:
    """It is named by its place."""
    found = _file()
    found["assertions"][1] = record
    assert _read(found)[1].id == "record 1"


@pytest.mark.requirement("W65")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema":"agentspine.world-model/v2","assertions":[]}',
        b'{"schema":"agentspine.world-model/v1"}',
        b'{"schema":"agentspine.world-model/v1","assertions":{}}',
        b'{"schema":"agentspine.world-model/v1","assertions":[],"assertions":[]}',
        b'{"schema":"agentspine.world-model/v1","assertions":[NaN]}',
        b"\xff\xfe",
        b" " * (FILE_BYTES_MAX + 1),
    ],
)
def test_another_file_is_refused(content: bytes) -> None:
    """Whole, before anything of it is read."""
    with pytest.raises(AssertionInvalidError):
        read_world_model(content, target(NOW))


@pytest.mark.requirement("W53", "W60")
def test_the_owner_says_which_project_is_meant() -> None:
    """Another system's name of a project becomes ours only where it was named."""
    found = _file()
    found["assertions"][0]["projectId"] = "project-7"
    found["assertions"][1]["projectId"] = None
    content = json.dumps(found).encode()
    assert read_world_model(content, target(NOW + 100))[0].reason == "world-scope-invalid"
    records = read_world_model(content, target(NOW + 100, "project-7"))
    assert [record.entry and record.entry.project for record in records[:2]] == ["/srv/demo", None]


@pytest.mark.requirement("W7", "T32")
def test_no_import_takes_an_id_that_is_made_here() -> None:
    """A capture derives its id; a file that says the same must not stand in its way."""
    found = _file()
    for one in found["assertions"]:
        one["id"] = one["id"].replace("note:", "assertion:timeline-")
        one["supersedes"] = [name.replace("note:", "assertion:timeline-") for name in one["supersedes"]]
    records = _read(found)
    assert [record.id for record in records] == [one["id"] for one in found["assertions"]]
    entries = [record.entry for record in records]
    assert [entry.id for entry in entries] == [f"legacy:timeline-number-{n}" for n in (1, 2, 3, 4)]
    assert entries[1].supersedes == ("legacy:timeline-number-1",)
