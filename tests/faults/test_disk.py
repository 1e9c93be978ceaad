"""The disk of the simulator: what is sure, and what a crash may take."""

import random
from collections.abc import Sequence

import pytest

from tests.faults.calls import Call, Kind, role_of
from tests.faults.disk import (
    ROOT,
    Arrival,
    Choice,
    Disk,
    Effect,
    Names,
    Size,
    Sync,
    Tree,
    Write,
    choices,
    read_history,
)
from tests.faults.injection import WAYS, choose, points_of

FILE, FOLDER = 1, 2


def all_states(steps: Sequence[Effect | Sync], folders: frozenset[int] = frozenset((ROOT,))) -> list[Tree]:
    """Give every different disk that a crash may leave."""
    disk = Disk(folders)
    for step in steps:
        disk.take(step)
    found: list[Tree] = []
    for choice in choices(disk.pending, random.Random(0), samples=30):
        tree = disk.after(choice)
        found += [tree] if tree not in found else []
    return found


def test_what_was_synced_with_its_name_is_there() -> None:
    """File synced, folder synced: one state."""
    steps = [Names(ROOT, (("a", FILE),)), Write(FILE, 0, b"new"), Sync(FILE), Sync(ROOT)]
    assert all_states(steps) == [{"a": b"new"}]


def test_a_synced_file_may_lose_its_name() -> None:
    """A file's sync says nothing about its folder."""
    steps = [Names(ROOT, (("a", FILE),)), Write(FILE, 0, b"new"), Sync(FILE)]
    assert {} in all_states(steps)


def test_a_synced_name_may_lead_to_nothing_or_to_a_part() -> None:
    """A folder's sync says nothing about its files: lost, half, zeros."""
    found = all_states([Names(ROOT, (("a", FILE),)), Write(FILE, 0, b"12345678"), Sync(ROOT)])
    assert {"a": b""} in found
    assert {"a": b"1234"} in found
    assert {"a": bytes(8)} in found


def test_later_writes_may_arrive_without_earlier_ones() -> None:
    """What lies between is a hole."""
    steps = [Names(ROOT, (("a", FILE),)), Sync(ROOT), Write(FILE, 0, b"one"), Write(FILE, 3, b"two")]
    assert {"a": b"\0\0\0two"} in all_states(steps)
    assert {"a": b"one"} in all_states(steps)


def test_a_write_is_torn_at_its_sectors() -> None:
    """The first sector alone, or all but it."""
    data = b"a" * 512 + b"b" * 512
    found = all_states([Names(ROOT, (("f", FILE),)), Sync(ROOT), Write(FILE, 0, data)])
    assert {"f": b"a" * 512} in found
    assert {"f": bytes(512) + b"b" * 512} in found


def test_a_rename_is_one_change() -> None:
    """The old name or the new one, never both and never none."""
    steps = [Names(ROOT, (("a", FILE),)), Sync(ROOT), Names(ROOT, (("a", None), ("b", FILE)))]
    assert {frozenset(tree) for tree in all_states(steps)} == {frozenset("a"), frozenset("b")}


def test_a_folder_that_lost_its_name_takes_its_files_along() -> None:
    """Syncing what lies in it does not help."""
    steps = [Names(ROOT, (("d", FOLDER),)), Names(FOLDER, (("a", FILE),)), Sync(FILE), Sync(FOLDER)]
    found = all_states(steps, frozenset((ROOT, FOLDER)))
    assert {} in found
    assert {"d": None, "d/a": b""} in found


def test_a_cut_is_an_effect_like_any_other() -> None:
    """Before its sync the file may have either length."""
    steps = [Names(ROOT, (("a", FILE),)), Write(FILE, 0, b"long"), Sync(FILE), Sync(ROOT), Size(FILE, 1)]
    assert all_states(steps) == [{"a": b"long"}, {"a": b"l"}]


def test_chance_finds_what_no_single_loss_shows() -> None:
    """Two of three writes, and one of them torn."""
    pending: list[Effect] = [Write(FILE, number * 4, b"abcd") for number in range(6)]
    found = list(choices(pending, random.Random(1), samples=200))
    sizes = {len(choice.arrivals) for choice in found if choice.name.startswith("by chance")}
    assert sizes == set(range(7))
    assert any(
        arrival is not Arrival.WHOLE
        for choice in found
        if "chance" in choice.name
        for _, arrival in choice.arrivals
    )
    assert Choice("none arrived", ()) in found


# -- from calls ------------------------------------------------------------------------------------------------


def call(kind: Kind, path: str, **values: object) -> Call:
    """Give a call that was done, with the fields that matter."""
    fields = {
        "path_new": "",
        "result": 0,
        "error": 0,
        "injected": False,
        "mode": 0,
        "inode": 0,
        "folder": 1,
        "folder_new": 0,
        "offset": 0,
        "length": 0,
        "data": b"",
    }
    return Call(kind, path, **{**fields, **values})


def live(calls: Sequence[Call]) -> Tree:
    """Give what processes see after the calls."""
    history = read_history(calls, 1, is_kept=lambda _: True)
    disk = Disk(history.folders)
    for step in history.steps:
        disk.take(step)
    return disk.live()


def test_a_number_that_is_used_again_is_another_file() -> None:
    """The kernel gives a removed file's inode to the next one."""
    made = {"inode": 7, "offset": 1}
    calls = [
        call(Kind.CREATE, "a", **made),
        call(Kind.WRITE, "a", inode=7, data=b"old"),
        call(Kind.UNLINK, "a", inode=7),
        call(Kind.CREATE, "b", **made),
    ]
    assert live(calls) == {"b": b""}


def test_what_failed_did_nothing() -> None:
    """A refused call has no effect."""
    calls = [call(Kind.CREATE, "a", inode=7, offset=1), call(Kind.UNLINK, "a", inode=7, result=-1)]
    assert live(calls) == {"a": b""}


@pytest.mark.parametrize(
    "strange",
    [
        call(Kind.OTHER, "a"),
        call(Kind.RENAME, "a", path_new="d/a", folder=1, folder_new=2),
        call(Kind.MAP, "a", offset=1),
    ],
    ids=["link", "rename to another folder", "mapped for writing"],
)
def test_what_the_disk_does_not_model_is_refused(strange: Call) -> None:
    """Rather than guessed."""
    with pytest.raises(NotImplementedError):
        live([strange])


# -- fault points ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("state/state.db-wal", "state.db-wal"),
        ("state/head", "head"),
        ("state/head.4711.tmp", "head being written"),
        ("trust/keys/log.key", "key"),
        ("trust/keys/log.key.1.tmp", "key being written"),
        ("state/sidecars/sha256-00", "sidecar"),
        ("state/sidecars/tmp-00", "sidecar being written"),
        ("state/sidecars", "folder sidecars"),
        ("state", "folder state"),
        ("", "folder above"),
    ],
)
def test_a_kind_of_file_does_not_depend_on_chance(path: str, role: str) -> None:
    """Digests and process numbers are no part of it."""
    assert role_of(path) == role


def test_fault_points_count_calls_of_one_kind_about_one_kind_of_file() -> None:
    """The ordinal begins again for each pair."""
    calls = [call(Kind.SYNC, "state/head"), call(Kind.SYNC, "trust/anchor"), call(Kind.SYNC, "state/head")]
    assert [(point.role, point.ordinal) for point in points_of("x", calls)] == [
        ("head", 1),
        ("anchor", 1),
        ("head", 2),
    ]


def test_a_sample_has_each_kind_of_call_about_each_kind_of_file() -> None:
    """And each choice is the number of a call that its way of failing counts."""
    calls = [
        call(kind, path) for kind in (Kind.WRITE, Kind.STAT, Kind.SYNC) for path in ("head", "anchor")
    ] * 3
    chosen = choose(calls, random.Random(0))
    met = [[c for c in calls if c.kind in way.kinds][at - 1] for way, at in chosen]
    assert {(c.kind, c.role) for c in met} == {(c.kind, c.role) for c in calls}
    assert {way for way, _ in chosen} <= set(WAYS)
