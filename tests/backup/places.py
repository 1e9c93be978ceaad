"""Empty places where a backup comes back, and archives as somebody else might write them."""

import hashlib
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sidecars.digest import Digest
from sidecars.envelope import parse_envelope
from sidecars.keys import Signer
from sidecars.lineage import Restoration
from tests.simulators.worlds import World, contents, refusal_of
from timeline.manifest import PAYLOAD_TYPE, Manifest
from timeline.restore import restore
from timeline.staging import Given
from timeline.state import open_local

DECLARED = Given(unverified=True)
"""The owner says that nothing was committed after the backup."""


@dataclass(frozen=True, slots=True)
class Backed:
    """A backup, and the timeline that it was made of."""

    world: World
    file: Path

    def place(self, folder: Path) -> World:
        """Give an empty place for it, on the same machine and with the same clock."""
        return place_for(self.world, folder)

    def manifest(self) -> Manifest:
        """Give its manifest, verified by nobody."""
        return manifest_of(self.file)


def place_for(world: World, folder: Path) -> World:
    """Give an empty place whose host and clock are those of another world."""
    folder.mkdir(mode=0o700, parents=True)
    return World(folder, world.home, world.clock)


def stands_in(world: World) -> list[str]:
    """List what stands at a place, the lock file apart: it says nothing."""
    folder = world.folder
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_relative_to(folder / "home") and not path.is_relative_to(folder / "runtime")
    )


def manifest_of(file: Path) -> Manifest:
    """Give the manifest of a backup, verified by nobody."""
    import msgspec

    return msgspec.json.decode(parse_envelope(members_of(file)[0][1]).payload, type=Manifest)


def members_of(file: Path) -> list[tuple[str, bytes]]:
    """Give names and bytes of an archive, read by the standard library."""
    with tarfile.open(file) as archive:
        return [(m.name, archive.extractfile(m).read()) for m in archive]  # type: ignore[union-attr]  # files only


def as_tar(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Give an archive as the standard library writes it, with whatever headers it is given."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    # What the standard library adds: zeros up to its record size.
    return buffer.getvalue().rstrip(b"\0") + bytes(-len(buffer.getvalue().rstrip(b"\0")) % 512 + 1024)


def entry(name: str, content: bytes, **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    """Give one member of an archive; ``changes`` are fields of its header."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o600
    for field, value in changes.items():
        setattr(info, field, value)
    return info, content


def signed_again(file: Path, signer: Signer, members: list[tuple[str, bytes]], **fields: object) -> bytes:
    """Give the archive of these files with a manifest that ``signer`` signs: what the owner himself could forge."""
    import msgspec

    from sidecars.envelope import seal

    found = msgspec.to_builtins(manifest_of(file))
    found["members"] = [
        {"name": name, "size": len(content), "digest": str(Digest(hashlib.sha256(content).digest()))}
        for name, content in members
    ]
    found.update(fields)
    envelope = seal(PAYLOAD_TYPE, msgspec.json.encode(found, order="sorted"), [signer])
    return as_tar([entry("manifest", envelope), *(entry(name, content) for name, content in members)])


def untouched(world: World) -> dict[str, bytes]:
    """Give every file of a timeline's four folders, but for locks."""
    found = contents(world.folder)
    return {name: content for name, content in found.items() if not name.startswith(("home/", "runtime/"))}


def put_away(world: World, *parts: str) -> None:
    """Move folders of a timeline away, as their owner does who wants a backup in their place."""
    for part in parts:
        (world.folder / part).rename(world.folder / f"{part}.away")


def reason_of(world: World, file: Path, given: Given = Given()) -> str | None:  # noqa: B008  (a frozen value)
    """Give the reason why a backup is refused there, after checking that nothing was left or moved."""
    before = untouched(world)
    reason = refusal_of(lambda: restore(world.session, file, given))
    assert reason is None or untouched(world) == before
    return reason


def restoration_of(world: World) -> tuple[int, Restoration] | None:
    """Give the newest leaf by which a log says that it was put back."""
    with open_local(world.locations, world.session.ports) as state:
        found = state.view.restorations
    return (found[-1].leaf, found[-1].restoration) if found else None
