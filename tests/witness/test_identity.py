"""A witness's folder: made once, kept together, and never a fresh start."""

import os
from pathlib import Path

import pytest

from sidecars.cosignature import WitnessVerifier
from sidecars.keys import Signer, Verifier
from tests.simulators.witnesses import LOG, ORIGIN, OTHER, Branch, make_folder, working
from timeline.clock import SystemEntropy
from timeline.errors import (
    ConfigError,
    KeyMismatchError,
    StateCorruptError,
    StateError,
    UnsafeFileError,
    UnsupportedStateError,
    UsageError,
)
from timeline.witness.errors import LogKeyError, WitnessExistsError, WitnessLostError, WitnessMissingError
from timeline.witness.identity import FOLDER_VARIABLE, Folder, find_folder, init_witness, open_witness
from timeline.witness.protocol import origin_digest
from timeline.witness.service import LOG_KEYS_MAX, know_log, retire_key
from timeline.witness.store import empty_database, open_store


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Give a witness that has cosigned nothing."""
    return make_folder(tmp_path / "w")


def used(folder: Folder) -> bytes:
    """Let it cosign once; give what it remembers."""
    with working(folder) as witness:
        assert witness.add_checkpoint(Branch.of(3).body(0)).status == 200
        return witness.latest(origin_digest(ORIGIN)).body


def test_a_witness_is_made_once(folder: Folder) -> None:
    """Its files are private, and a second ``init`` changes nothing."""
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    assert set(before) == {"key", "witness.db"}
    assert [path.stat().st_mode & 0o777 for path in (folder.path, folder.key, folder.database)] == [
        0o700,
        0o600,
        0o600,
    ]
    with pytest.raises(WitnessExistsError):
        init_witness(folder, "another/name", SystemEntropy())
    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


def test_names_are_random_unless_given(tmp_path: Path) -> None:
    """Two witnesses never share a name by default; a given one is kept; what is no key name is refused."""
    first, second = (init_witness(Folder(tmp_path / name), None, SystemEntropy()) for name in "ab")
    assert first.name != second.name
    assert first.public_key != second.public_key
    assert WitnessVerifier.parse(str(first)) == first
    assert (
        init_witness(Folder(tmp_path / "c"), "witness.example/c", SystemEntropy()).name == "witness.example/c"
    )
    for name in ("two words", "a+b", "x" * 200, "tab\t"):
        with pytest.raises(UsageError):
            init_witness(Folder(tmp_path / "d"), name, SystemEntropy())
    assert not (tmp_path / "d").exists()


def test_nothing_there_is_said(tmp_path: Path) -> None:
    """No folder, or an empty one."""
    for path in (tmp_path / "absent", tmp_path):
        with pytest.raises(WitnessMissingError):
            open_witness(Folder(path))


def test_a_key_without_its_memory_is_never_used_again(folder: Folder) -> None:
    """Its memory was lost: it would sign from nothing, so neither opening nor ``init`` goes on."""
    used(folder)
    folder.database.unlink()
    for act in (lambda: open_witness(folder), lambda: init_witness(folder, None, SystemEntropy())):
        with pytest.raises(WitnessLostError):
            act()
    assert not folder.database.exists()


def test_a_memory_that_has_cosigned_keeps_its_key(folder: Folder) -> None:
    """Without its key it is lost too, and no new key takes it over; with the key it works again."""
    note, key = used(folder), folder.key.read_bytes()
    folder.key.unlink()
    for act in (lambda: open_witness(folder), lambda: init_witness(folder, None, SystemEntropy())):
        with pytest.raises(WitnessLostError):
            act()
    assert not folder.key.exists()
    folder.key.write_bytes(key)
    folder.key.chmod(0o600)
    assert used_again(folder) == note


def used_again(folder: Folder) -> bytes:
    """Give what it remembers."""
    with working(folder) as witness:
        return witness.latest(origin_digest(ORIGIN)).body


def test_an_interrupted_init_is_completed(folder: Folder) -> None:
    """The memory is written first: where it has cosigned nothing, the next ``init`` gives it a key."""
    folder.key.unlink()
    with pytest.raises(WitnessLostError, match="not"):
        open_witness(folder)
    verifier = init_witness(folder, None, SystemEntropy())
    with working(folder) as witness:
        assert witness.verifier == verifier
        assert witness.add_checkpoint(Branch.of(3).body(0)).status == 200


def test_key_and_memory_of_two_witnesses_do_not_mix(folder: Folder, tmp_path: Path) -> None:
    """The memory names its key."""
    other = make_folder(tmp_path / "other")
    folder.key.write_bytes(other.key.read_bytes())
    with pytest.raises(KeyMismatchError):
        open_witness(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "x",
        lambda text: text.replace("/v1", "/v2"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text[:-2],
        lambda text: text.replace("witness.example/w", "witness example"),
        lambda text: text.replace("witness.example/w", "witness.example/v"),
        lambda _: "",
        lambda _: "\udcff",
    ],
)
def test_a_damaged_key_is_refused(folder: Folder, change: object) -> None:
    """A key file has one spelling."""
    text = change(folder.key.read_text(encoding="utf-8"))  # type: ignore[operator]  # a function
    folder.key.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(KeyMismatchError):
        open_witness(folder)


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


@pytest.mark.parametrize("name", ["key", "witness.db"])
@pytest.mark.parametrize(
    "spoil", [lambda path: path.chmod(0o644), lambda path: os.link(path, f"{path}.2"), _link]
)
def test_files_that_are_not_private_are_refused(folder: Folder, name: str, spoil: object) -> None:
    """Open to others, with a second name, or a link."""
    spoil(folder.path / name)  # type: ignore[operator]  # a function
    with pytest.raises(UnsafeFileError):
        open_witness(folder)


def test_a_folder_that_others_enter_is_refused(folder: Folder) -> None:
    """0700, or nothing is opened."""
    folder.path.chmod(0o755)
    with pytest.raises(UnsafeFileError):
        open_witness(folder)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("PRAGMA application_id = 1", StateCorruptError),
        ("PRAGMA user_version = 2", UnsupportedStateError),
        ("PRAGMA user_version = 0", StateCorruptError),
        ("CREATE TABLE more (x)", StateCorruptError),
        ("CREATE TRIGGER t AFTER UPDATE ON log BEGIN UPDATE log SET size = 0; END", StateCorruptError),
        ("DROP TABLE evidence", StateCorruptError),
        ("DELETE FROM witness", StateCorruptError),
    ],
)
def test_a_changed_database_is_refused(folder: Folder, statement: str, error: type[Exception]) -> None:
    """Other tables, a trigger that lowers sizes, another version."""
    store = open_store(folder.database)
    list(store._rows.query(statement))
    store.close()
    with pytest.raises(error):
        open_witness(folder)


@pytest.mark.parametrize("content", [b"", b"not a database", empty_database("x")[:5000]])
def test_a_damaged_database_is_refused(folder: Folder, content: bytes) -> None:
    """Cut off, or something else."""
    folder.database.write_bytes(content)
    with pytest.raises(StateError):
        open_witness(folder)


def test_the_folder_comes_from_the_option_then_the_environment_then_the_platform(home: Path) -> None:
    """Absolute paths only."""
    assert find_folder({FOLDER_VARIABLE: "/b"}, "/a/../c") == Folder(Path("/c"))
    assert find_folder({FOLDER_VARIABLE: "/b"}, None) == Folder(Path("/b"))
    assert find_folder({}, None).path.is_relative_to(home)
    for environment, given in (({}, "a"), ({}, ""), ({FOLDER_VARIABLE: "b"}, None), ({}, "/a\0")):
        with pytest.raises(ConfigError):
            find_folder(environment, given)


def test_the_memory_is_written_through(folder: Folder) -> None:
    """A commit is on the disk, and not only in the system's memory, before anything is answered."""
    opened = open_witness(folder)
    names = ("synchronous", "journal_mode", "foreign_keys")
    asked = {name: opened.store._query(f"PRAGMA {name}") for name in names}
    opened.store.close()
    assert asked == {"synchronous": [(2,)], "journal_mode": [("wal",)], "foreign_keys": [(1,)]}


# -- known logs ------------------------------------------------------------------------------------------------


def test_a_log_is_added_once_and_keys_are_added_to_it(folder: Folder) -> None:
    """Adding again changes nothing, least of all what was cosigned."""
    note = used(folder)
    store = open_store(folder.database)
    row = know_log(store, str(LOG.verifier), None)
    assert (row.note, row.vkeys) == (note, (str(LOG.verifier),))
    row = know_log(store, str(OTHER.verifier), None)
    assert (row.note, set(row.vkeys)) == (note, {str(LOG.verifier), str(OTHER.verifier)})
    row = retire_key(store, str(LOG.verifier), None)
    assert (row.note, row.vkeys, row.retired) == (note, (str(OTHER.verifier),), (str(LOG.verifier),))
    store.close()


def test_an_origin_may_differ_from_the_key_name(folder: Folder) -> None:
    """As for the Go checksum database: the origin is given, spaces and all."""
    store = open_store(folder.database)
    row = know_log(store, str(LOG.verifier), "go.sum database tree")
    assert row.origin == "go.sum database tree"
    assert [log.origin for log in store.logs()] == ["go.sum database tree", ORIGIN]
    retired = retire_key(store, str(LOG.verifier), "go.sum database tree")
    assert retired.vkeys == ()
    assert [log.vkeys for log in store.logs()] == [(), (str(LOG.verifier),)]
    store.close()


@pytest.mark.parametrize(
    ("vkey", "origin"),
    [
        ("", None),
        ("x", None),
        (str(LOG.verifier) + "=", None),
        (str(LOG.verifier).replace("+", " "), None),
        ("w+cd667b2d+BARsaMiHIzWsUNniOqeDfvqrhqtJOEKl6FfgNaeSKR3D", None),
        (str(LOG.verifier), ""),
        (str(LOG.verifier), "two\nlines"),
        (str(LOG.verifier), "x" * 256),
        (str(LOG.verifier), "\udcff"),
    ],
)
def test_what_is_no_log_is_not_added(folder: Folder, vkey: str, origin: str | None) -> None:
    """A witness's key, a damaged one, an origin that no checkpoint can have; nothing is written."""
    store = open_store(folder.database)
    before = store.logs()
    with pytest.raises(LogKeyError):
        know_log(store, vkey, origin)
    with pytest.raises(LogKeyError):
        retire_key(store, vkey, origin if origin is not None else "absent")
    assert store.logs() == before
    store.close()


def test_two_keys_that_look_the_same_are_not_both_known(folder: Folder) -> None:
    """Name and four bytes are all that a signature line says: with two such keys it would be ambiguous."""
    seen: dict[bytes, Verifier] = {}
    for number in range(400_000):
        verifier = Verifier("n", number.to_bytes(32, "big"))
        first = seen.setdefault(verifier.key_id, verifier)
        if first is not verifier:
            break
    else:
        pytest.fail("no two of so many keys share an id")
    store = open_store(folder.database)
    know_log(store, str(first), ORIGIN)
    with pytest.raises(LogKeyError, match="another key"):
        know_log(store, str(verifier), ORIGIN)
    assert len(know_log(store, str(first), ORIGIN).vkeys) == 2
    store.close()


def test_keys_of_a_log_are_bounded(folder: Folder) -> None:
    """So many signatures are checked for a submission, and no more."""
    store = open_store(folder.database)
    for number in range(LOG_KEYS_MAX - 1):
        know_log(store, str(Signer(ORIGIN, bytes([number]) * 32).verifier), None)
    with pytest.raises(LogKeyError, match="at most"):
        know_log(store, str(OTHER.verifier), None)
    retire_key(store, str(LOG.verifier), None)
    assert len(know_log(store, str(OTHER.verifier), None).vkeys) == LOG_KEYS_MAX
    store.close()
