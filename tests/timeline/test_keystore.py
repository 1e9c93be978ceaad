"""Keys are made once, and a key that is damaged or foreign is a refusal, never a new identity."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from timeline.clock import SystemEntropy
from timeline.errors import (
    KeyMismatchError,
    StateError,
    StateExistsError,
    StateIncompleteError,
    UnsafeFileError,
)
from timeline.keystore import Keystore, begin_keystore, load_keystore, pin_keystore
from timeline.paths import Locations

FILES = ("pins", "keys/owner.key", "keys/log.key", "keys/fingerprint.key")


def locations(folder: Path) -> Locations:
    """Give the four folders below one."""
    return Locations(*(folder / name for name in ("state", "trust", "config", "runtime")))


def create_keystore(where: Locations) -> Keystore:
    """Make a keystore and pin it."""
    begin_keystore(where, SystemEntropy())
    pin_keystore(where)
    return load_keystore(where)


@pytest.fixture
def where(tmp_path: Path) -> Locations:
    """Give folders with a keystore in them."""
    found = locations(tmp_path / "mine")
    create_keystore(found)
    return found


def test_what_was_made_is_what_is_loaded(where: Locations) -> None:
    """Pins, both keys and the fingerprint key come back; owner and log are different keys."""
    one, two = load_keystore(where), load_keystore(where)
    assert one.pins == two.pins
    assert one.fingerprint_key == two.fingerprint_key
    assert one.owner.verifier == one.pins.owner
    assert one.log.verifier == one.pins.log
    assert one.pins.owner.public_key != one.pins.log.public_key
    assert one.pins.log.name == one.pins.origin


def test_two_keystores_share_nothing(tmp_path: Path, where: Locations) -> None:
    """Another machine has another origin and other keys."""
    mine, theirs = load_keystore(where), create_keystore(locations(tmp_path / "theirs"))
    assert mine.pins.origin != theirs.pins.origin
    assert (
        len(
            {
                mine.pins.owner.public_key,
                mine.pins.log.public_key,
                theirs.pins.owner.public_key,
                theirs.pins.log.public_key,
            }
        )
        == 4
    )
    assert mine.fingerprint_key != theirs.fingerprint_key


def test_keys_are_made_once(where: Locations) -> None:
    """A second attempt changes no byte."""
    before = [(where.trust / name).read_bytes() for name in FILES]
    with pytest.raises(StateExistsError):
        begin_keystore(where, SystemEntropy())
    assert [(where.trust / name).read_bytes() for name in FILES] == before


def test_what_was_begun_is_gone_on_with(tmp_path: Path) -> None:
    """Until it is pinned it is no keystore; begun again it is the same one."""
    found = locations(tmp_path / "mine")
    one = begin_keystore(found, SystemEntropy())
    with pytest.raises(StateIncompleteError, match="pins"):
        load_keystore(found)
    assert begin_keystore(found, SystemEntropy()).pins == one.pins
    pin_keystore(found)
    assert load_keystore(found).pins == one.pins
    assert not found.begun.exists()


def test_a_key_without_an_origin_is_kept_and_gets_a_new_one(tmp_path: Path) -> None:
    """Whatever it signed before belongs to another log."""
    found = locations(tmp_path / "mine")
    one = create_keystore(found)
    found.pins.unlink()
    two = create_keystore(found)
    assert two.pins.owner.public_key == one.pins.owner.public_key
    assert two.pins.log.public_key == one.pins.log.public_key
    assert two.fingerprint_key == one.fingerprint_key
    assert two.pins.origin != one.pins.origin


def test_the_representation_shows_no_key(where: Locations) -> None:
    """A keystore in a traceback or a log gives nothing away."""
    keystore = load_keystore(where)
    for path in (where.trust / "keys").iterdir():
        secret = path.read_text(encoding="ascii").split("\n")[1]
        assert secret not in repr(keystore)
        assert secret not in repr(keystore.owner) + repr(keystore.log)
    assert keystore.fingerprint_key.hex() not in repr(keystore)


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(where: Locations, name: str) -> None:
    """Nothing is made anew in its place."""
    (where.trust / name).unlink()
    with pytest.raises(StateIncompleteError, match=Path(name).name):
        load_keystore(where)
    assert not (where.trust / name).exists()


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("name", FILES)
def test_every_byte_of_pins_and_keys_counts(where: Locations, name: str) -> None:
    """Whichever byte is another, the keystore is refused as a key that does not fit."""
    path = where.trust / name
    content = path.read_bytes()
    for place in range(len(content)):
        for other in (content[place] ^ 1, content[place] ^ 0x20, 0xFF):
            path.write_bytes(content[:place] + bytes([other]) + content[place + 1 :])
            with pytest.raises(KeyMismatchError):
                load_keystore(where)
    for other in (b"", content[:-1], content + b"\n", content.replace(b"\n", b"\r\n"), content * 2):
        path.write_bytes(other)
        with pytest.raises(KeyMismatchError):
            load_keystore(where)


@pytest.mark.requirement("T67")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_keystore_does_not_fit(tmp_path: Path, where: Locations, name: str) -> None:
    """Well formed, and foreign."""
    other = locations(tmp_path / "theirs")
    create_keystore(other)
    shutil.copy2(other.trust / name, where.trust / name)
    with pytest.raises(KeyMismatchError):
        load_keystore(where)


def test_owner_and_log_key_cannot_change_places(where: Locations) -> None:
    """Each key is checked against its own pin."""
    keys = where.trust / "keys"
    owner = (keys / "owner.key").read_bytes()
    shutil.copy2(keys / "log.key", keys / "owner.key")
    (keys / "log.key").write_bytes(owner)
    with pytest.raises(KeyMismatchError):
        load_keystore(where)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda trust: (trust / "keys" / "owner.key").chmod(0o640), UnsafeFileError),
        (lambda trust: (trust / "pins").chmod(0o604), UnsafeFileError),
        (lambda trust: (trust / "keys").chmod(0o755), UnsafeFileError),
        (lambda trust: trust.chmod(0o711), UnsafeFileError),
        (shutil.rmtree, StateIncompleteError),
        (lambda trust: shutil.rmtree(trust / "keys"), StateIncompleteError),
    ],
)
def test_keys_that_others_can_reach_are_refused(
    where: Locations, change: Callable[[Path], object], error: type[StateError]
) -> None:
    """The folder counts as much as the file."""
    change(where.trust)
    with pytest.raises(error):
        load_keystore(where)
