"""The file of a backup: whoever changes a byte of it, or writes one of his own, puts nothing in place."""

import os
import random
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecars.digest import Digest
from sidecars.keys import Signer
from tests.backup.places import (
    DECLARED,
    Backed,
    as_tar,
    entry,
    members_of,
    signed_again,
    stands_in,
)
from tests.simulators.worlds import refusal_of
from timeline.archive import archive_bytes
from timeline.keystore import load_keystore
from timeline.manifest import KEYS, SIDECARS
from timeline.restore import restore

Members = list[tuple[str, bytes]]


def refused(backed: Backed, folder: Path, content: bytes) -> str | None:
    """Try to restore these bytes, and give the reason of the refusal; nothing may be left of the attempt."""
    folder.mkdir()
    file, world = folder / "offered.tar", backed.place(folder / "place")
    file.write_bytes(content)
    reason = refusal_of(lambda: restore(world.session, file, DECLARED))
    assert reason is None or stands_in(world) == []
    return reason


def log_key(backed: Backed) -> Signer:
    """Give the key that signs the manifest: whoever has it is the owner, or has stolen it."""
    return load_keystore(backed.world.locations).log


# -- the spelling ----------------------------------------------------------------------------------------------


def test_any_tar_program_reads_a_backup(backed: Backed) -> None:
    """The standard library and, where there is one, the system's tar list the same files."""
    names = [name for name, _ in members_of(backed.file)]
    assert names[:2] == ["manifest", "trust/pins"]
    assert names[2:] == sorted(names[2:])
    assert names[1:] == [member.name for member in backed.manifest().members]
    program = shutil.which("tar")
    if program is not None:
        listed = subprocess.run([program, "tf", backed.file], capture_output=True, check=True)
        assert listed.stdout.decode().split() == names
        assert listed.stderr == b""


def test_the_length_is_known_from_the_manifest(backed: Backed) -> None:
    """Nothing is unpacked of an archive that is longer or shorter."""
    envelope = members_of(backed.file)[0][1]
    assert archive_bytes(len(envelope), backed.manifest().members) == backed.file.stat().st_size


def test_a_rebuilt_archive_is_the_same_bytes(backed: Backed) -> None:
    """So what the tests below build differs in what they change, and in nothing else."""
    members = members_of(backed.file)
    assert as_tar([entry(*member) for member in members]) == backed.file.read_bytes()
    assert signed_again(backed.file, log_key(backed), members[1:]) == backed.file.read_bytes()


# -- damage ----------------------------------------------------------------------------------------------------


def test_a_flipped_bit_is_refused_wherever_it_is(backed: Backed, tmp_path: Path) -> None:
    """In a header, a name, a signature, content, padding and the end; the places are drawn, all kinds among them."""
    content = backed.file.read_bytes()
    drawn = random.Random(backed.manifest().origin)
    places = {0, 100, 124, 156, 257, 511, 512, 600, len(content) - 1, len(content) - 1024}
    places |= {drawn.randrange(len(content)) for _ in range(120)}
    for number, place in enumerate(sorted(places)):
        changed = bytearray(content)
        changed[place] ^= 1 << drawn.randrange(8)
        assert refused(backed, tmp_path / str(number), bytes(changed)) is not None, place


def test_a_cut_or_lengthened_archive_is_refused(backed: Backed, tmp_path: Path) -> None:
    """At every border of a file, and anywhere between."""
    content = backed.file.read_bytes()
    drawn = random.Random(backed.manifest().origin)
    borders = {0, 1, 511, 512, len(content) - 1, len(content) - 512, len(content) - 1024}
    for number, length in enumerate(sorted(borders | {drawn.randrange(len(content)) for _ in range(25)})):
        assert refused(backed, tmp_path / str(number), content[:length]) == "backup-invalid", length
    for number, more in enumerate((b"\0", bytes(512), bytes(9216), b"x")):
        assert refused(backed, tmp_path / f"more-{number}", content + more) == "backup-invalid"


def test_nothing_is_unpacked_of_a_wrong_length(
    backed: Backed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end is looked at first: a disk is not filled by what is refused then."""
    written: list[Path] = []
    monkeypatch.setattr("timeline.staging.create_private", written.append)
    assert refused(backed, tmp_path / "try", backed.file.read_bytes() + bytes(512)) == "backup-invalid"
    assert written == []


# -- attacks ---------------------------------------------------------------------------------------------------


def with_link(kind: bytes, target: str) -> Callable[[Members], bytes]:
    """Put a link (or a device) in place of the head."""

    def build(members: Members) -> bytes:
        return as_tar(
            entry(name, b"", type=kind, linkname=target, size=0)
            if name == "state/head"
            else entry(name, content)
            for name, content in members
        )

    return build


def renamed(name: str) -> Callable[[Members], bytes]:
    """Give the head another name, in the archive alone."""

    def build(members: Members) -> bytes:
        return as_tar(entry(name if old == "state/head" else old, content) for old, content in members)

    return build


def added(name: str) -> Callable[[Members], bytes]:
    """Add a file that the manifest does not name."""
    return lambda members: as_tar([*(entry(*member) for member in members), entry(name, b"x")])


def twice(members: Members) -> bytes:
    """Hold the head twice."""
    return as_tar(entry(*m) for member in members for m in [member] * (1 + (member[0] == "state/head")))


def dropped(members: Members) -> bytes:
    """Leave the head out."""
    return as_tar(entry(*member) for member in members if member[0] != "state/head")


def swapped(members: Members) -> bytes:
    """Hold the last two files in the other order."""
    return as_tar(entry(*member) for member in [*members[:-2], members[-1], members[-2]])


def with_field(**changes: object) -> Callable[[Members], bytes]:
    """Change fields of one header."""

    def build(members: Members) -> bytes:
        return as_tar(
            entry(name, content, **(changes if name == "state/head" else {})) for name, content in members
        )

    return build


def compressed(members: Members) -> bytes:
    """Compress the whole: nothing of it would be bounded before it is unpacked."""
    import gzip

    return gzip.compress(as_tar(entry(*member) for member in members))


def with_extended_header(members: Members) -> bytes:
    """Put a pax header before the first file, which gives it another name."""
    import io

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in members:
            info, _ = entry(name, content)
            info.pax_headers = {"path": "../../outside"} if name == "manifest" else {}
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


ATTACKS: dict[str, Callable[[Members], bytes]] = {
    "symbolic link": with_link(tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": with_link(tarfile.LNKTYPE, "trust/pins"),
    "device": with_link(tarfile.CHRTYPE, ""),
    "pipe": with_link(tarfile.FIFOTYPE, ""),
    "folder": with_link(tarfile.DIRTYPE, ""),
    "sparse file": with_link(tarfile.GNUTYPE_SPARSE, ""),
    "absolute name": renamed("/tmp/head"),
    "name of a parent": renamed("state/../../head"),
    "name with a dot": renamed("./state/head"),
    "other name": renamed("state/tail"),
    "file added": added("state/more"),
    "parent added": added("../more"),
    "file twice": twice,
    "file dropped": dropped,
    "files swapped": swapped,
    "mode": with_field(mode=0o777),
    "owner": with_field(uid=0o1000, uname="somebody"),
    "time": with_field(mtime=1),
    "compressed": compressed,
    "extended header": with_extended_header,
    "empty": lambda _members: b"",
    "no archive": lambda _members: b"not an archive\n" * 100,
    "manifest alone": lambda members: as_tar([entry(*members[0])]),
    "pins first": lambda members: as_tar(entry(*m) for m in [members[1], members[0], *members[2:]]),
    "no manifest": lambda members: as_tar(entry(*m) for m in members[1:]),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_another_archive_than_the_manifest_spells_is_refused(
    backed: Backed, tmp_path: Path, attack: str
) -> None:
    """Whoever has no key can reorder, rename, link, add and drop: nothing of it is interpreted."""
    content = ATTACKS[attack](members_of(backed.file))
    assert refused(backed, tmp_path / "try", content) == "backup-invalid"


def replaced(name: str, change: Callable[[bytes], bytes]) -> Callable[[Members], Members]:
    """Change the bytes of one file."""
    return lambda members: [(n, change(content) if n == name else content) for n, content in members]


def moved(old: str, new: str) -> Callable[[Members], Members]:
    """Rename a file, and sort again."""
    return lambda members: sorted(
        [(new if n == old else n, content) for n, content in members],
        key=lambda m: (m[0] != "trust/pins", m[0]),
    )


FORGERIES: dict[str, Callable[[Members], Members]] = {
    "absolute name": moved("config/config.toml", "/tmp/config.toml"),
    "parent": moved("config/config.toml", "config/../../config.toml"),
    "hidden parent": moved("config/config.toml", "trust/anchors/.."),
    "foreign name": moved("config/config.toml", "config/hooks.py"),
    "key that is not one of ours": moved("config/config.toml", "trust/keys/log.next.key"),
    "backslash": moved("config/config.toml", "config\\config.toml"),
    "sidecar under another digest": lambda members: [
        (SIDECARS + "sha256-" + "0" * 64 if name.startswith(SIDECARS) else name, content)
        for name, content in members
    ],
    "one key missing": lambda members: [m for m in members if m[0] != KEYS[0]],
    "no head": lambda members: [m for m in members if m[0] != "state/head"],
    "no pin": lambda members: [m for m in members if m[0] != "config/anchors"],
    "a file twice": lambda members: [
        m for member in members for m in [member] * (1 + (member[0] == KEYS[2]))
    ],
    "not in order": lambda members: [members[0], *reversed(members[1:])],
    "pins too large": replaced("trust/pins", lambda content: content + b"x" * 5000),
    "configuration too large": replaced("config/config.toml", lambda _: b"#" * (64 * 1024 + 1)),
    "head too large": replaced("state/head", lambda _: b"x" * (64 * 1024 + 1)),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_signature_does_not_make_a_bad_name_good(backed: Backed, tmp_path: Path, forgery: str) -> None:
    """A backup of somebody else is signed, with the keys that it brings along."""
    members = FORGERIES[forgery](members_of(backed.file)[1:])
    content = signed_again(backed.file, log_key(backed), members)
    assert refused(backed, tmp_path / "try", content) == "backup-invalid"


@pytest.mark.parametrize(
    ("forgery", "reason"),
    [
        (moved("state/state.db", "state/state.db"), None),
        (replaced("state/state.db", lambda content: content[:-4096]), "state-corrupt"),
        (replaced("state/head", lambda content: content[:-5]), "malformed"),
        (replaced("trust/anchor", lambda _: b""), "malformed"),
        (replaced("config/anchors", lambda _: b"no pin"), "anchor-pin-invalid"),
        (replaced("trust/keys/log.key", lambda content: content.replace(b"v1", b"v2")), "key-mismatch"),
        (replaced("trust/pins", lambda content: content + b"\n"), "key-mismatch"),
    ],
)
def test_a_signature_does_not_make_a_bad_state_good(
    backed: Backed, tmp_path: Path, forgery: Callable[[Members], Members], reason: str | None
) -> None:
    """What is unpacked is opened by the code that opens every timeline, before it stands anywhere."""
    content = signed_again(backed.file, log_key(backed), forgery(members_of(backed.file)[1:]))
    assert refused(backed, tmp_path / "try", content) == reason


def test_a_missing_sidecar_is_refused(backed: Backed, tmp_path: Path) -> None:
    """The log needs it, and the manifest, signed by whoever has the key, leaves it out."""
    members = [m for m in members_of(backed.file)[1:] if not m[0].startswith(SIDECARS)]
    content = signed_again(backed.file, log_key(backed), members)
    assert refused(backed, tmp_path / "try", content) == "store-file-missing"


@pytest.mark.parametrize(
    "fields",
    [
        {"size": 3},
        {"size": 5},
        {"root": str(Digest(bytes(32)))},
        {"origin": "agent-timeline/" + "0" * 32},
        {"at": -1},
        {"schema": "timeline-backup/v2"},
        {"more": 1},
    ],
)
def test_a_manifest_that_states_another_log_is_refused(
    backed: Backed, tmp_path: Path, fields: dict[str, object]
) -> None:
    """Origin, size and root are those of the log that lies in the backup; every field is known."""
    content = signed_again(backed.file, log_key(backed), members_of(backed.file)[1:], **fields)
    assert refused(backed, tmp_path / "try", content) in {"backup-invalid", "malformed"}


def test_a_manifest_that_another_key_signed_is_refused(backed: Backed, tmp_path: Path) -> None:
    """The pins in the backup name its log key; the owner's and a stranger's sign no manifest."""
    members = members_of(backed.file)[1:]
    keystore = load_keystore(backed.world.locations)
    for number, signer in enumerate((keystore.owner, Signer(keystore.pins.origin, bytes(32)))):
        content = signed_again(backed.file, signer, members)
        assert refused(backed, tmp_path / str(number), content) == "unknown-key"


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_what_is_no_file_is_refused(backed: Backed, tmp_path: Path, kind: str) -> None:
    """And a pipe does not hold anybody up."""
    file, world = tmp_path / "offered", backed.place(tmp_path / "place")
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    assert refusal_of(lambda: restore(world.session, file, DECLARED)) == "backup-file-unusable"
    assert stands_in(world) == []
