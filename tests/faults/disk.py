"""What a disk may hold after a crash, by what POSIX promises and not by what one file system does.

Bytes of a file are sure to be there once the file was synced, a name once its folder was. Of everything that was
not, any part may have arrived, in any order: a write whole, torn at a sector or in half, as zeros, or not at all; a
name made, changed or removed, or not. One rename is one change; one sector is not torn. The memory that processes
share through SQLite's ``-shm`` file is no part of the disk.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from tests.faults.calls import Call, Kind

SECTOR_BYTES: Final = 512
ROOT: Final = 0
"""The number of the folder that is watched; it stands already."""

Tree = Mapping[str, bytes | None]
"""Contents by path, ``None`` for a folder."""


class Arrival(StrEnum):
    """How much of an effect arrived; names arrive whole."""

    WHOLE = "whole"
    HALF = "first half"
    FIRST = "first sector"
    LAST = "all but the first sector"
    ZEROS = "length only"


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes at an offset of a file."""

    target: int
    offset: int
    data: bytes

    def apply(self, old: bytes, arrival: Arrival) -> bytes:
        """The file with what arrived."""
        data, offset = self.data, self.offset
        match arrival:
            case Arrival.HALF:
                data = data[: len(data) // 2]
            case Arrival.FIRST:
                data = data[:SECTOR_BYTES]
            case Arrival.LAST:
                data, offset = data[SECTOR_BYTES:], offset + SECTOR_BYTES
            case Arrival.ZEROS:
                data = bytes(len(data))
        if not data:
            return old
        return old[:offset].ljust(offset, b"\0") + data + old[offset + len(data) :]


@dataclass(frozen=True, slots=True)
class Size:
    """A new length of a file."""

    target: int
    size: int

    def apply(self, old: bytes, _arrival: Arrival) -> bytes:
        """The file, cut or filled with zeros."""
        return old[: self.size].ljust(self.size, b"\0")


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a folder that lead elsewhere, or nowhere (``None``), from one moment on."""

    target: int
    entries: tuple[tuple[str, int | None], ...]


Effect = Write | Size | Names


@dataclass(frozen=True, slots=True)
class Sync:
    """All earlier effects on a file or folder are sure from here on."""

    target: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A word between the calls: what had been promised to the caller by then."""

    text: str


@dataclass(frozen=True, slots=True)
class History:
    """What was done to the disk, in order; ``folders`` are the numbers that name folders, the others name files."""

    steps: tuple[Effect | Sync | Mark, ...]
    folders: frozenset[int]


class Choice(NamedTuple):
    """Which of the effects that are not sure arrived, by their place among these, and how much of each."""

    name: str
    arrivals: tuple[tuple[int, Arrival], ...]


# -- from calls to effects -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Gives each file a number of its own: an inode's number is used again once its file is gone."""

    numbers: dict[int, int]
    folders: set[int] = field(default_factory=lambda: {ROOT})
    count: int = ROOT

    def made(self, inode: int, *, folder: bool) -> int:
        self.count += 1
        self.numbers[inode] = self.count
        if folder:
            self.folders.add(self.count)
        return self.count

    def steps(self, call: Call) -> Iterator[Effect | Sync | Mark]:
        match call.kind:
            case Kind.MARK:
                yield Mark(call.path)
            case Kind.OPEN | Kind.CREATE if call.emptied:
                yield Size(self.numbers[call.inode], 0)
            case Kind.WRITE if call.data:
                yield Write(self.numbers[call.inode], call.offset, call.data)
            case Kind.TRUNCATE:
                yield Size(self.numbers[call.inode], call.length)
            case Kind.SYNC:
                yield Sync(self.numbers[call.inode])
            case Kind.OTHER:
                message = f"{call.path}: a call that this disk does not model"
                raise NotImplementedError(message)
            case Kind.MAP if call.offset:
                message = f"{call.path}: mapped for writing, which goes past the record"
                raise NotImplementedError(message)
            case _:
                yield from self.names(call)

    def names(self, call: Call) -> Iterator[Names]:
        name = call.path.rpartition("/")[2]
        match call.kind:
            case Kind.CREATE | Kind.MKDIR if call.made or call.kind is Kind.MKDIR:
                number = self.made(call.inode, folder=call.kind is Kind.MKDIR)
                yield Names(self.numbers[call.folder], ((name, number),))
            case Kind.UNLINK:
                yield Names(self.numbers[call.folder], ((name, None),))
            case Kind.RENAME:
                if call.folder != call.folder_new:
                    message = f"{call.path}: renamed to another folder, which this disk does not model"
                    raise NotImplementedError(message)
                new = call.path_new.rpartition("/")[2]
                yield Names(self.numbers[call.folder], ((name, None), (new, self.numbers[call.inode])))


def read_history(calls: Iterable[Call], root_inode: int, *, is_kept: Callable[[str], bool]) -> History:
    """The effects of a record that begins with an empty folder; paths that are not ``is_kept`` are left out.

    Raises:
        NotImplementedError: something was done that this disk does not model.
    """
    reader = _Reader({root_inode: ROOT})
    steps: list[Effect | Sync | Mark] = []
    for call in calls:
        if call.kind is Kind.MARK or (call.done and is_kept(call.path)):
            steps += reader.steps(call)
    return History(tuple(steps), frozenset(reader.folders))


# -- from effects to what a crash leaves ------------------------------------------------------------------------


@dataclass(slots=True)
class Disk:
    """What is sure, and what is not, after the steps so far."""

    folders: frozenset[int]
    files: dict[int, bytes] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)
    pending: list[Effect] = field(default_factory=list)

    def take(self, step: Effect | Sync | Mark) -> None:
        """Go on by one step."""
        match step:
            case Mark():
                pass
            case Sync(target):
                for effect in self.pending:
                    if effect.target == target:
                        _apply(effect, Arrival.WHOLE, self.files, self.names)
                self.pending = [effect for effect in self.pending if effect.target != target]
            case _:
                self.pending.append(step)

    def after(self, choice: Choice) -> dict[str, bytes | None]:
        """What a crash leaves if of all that is not sure just this arrived."""
        files, names = self._left(choice)
        return dict(self._walk(ROOT, "", files, names))

    def nameless(self, choice: Choice) -> list[bytes]:
        """The bytes that lie on the disk then and belong to no file any more: no command finds them, a thief may."""
        files, names = self._left(choice)
        named = {number for held in names.values() for number in held.values()}
        return [content for number, content in files.items() if number not in named]

    def live(self) -> dict[str, bytes | None]:
        """What processes see that go on."""
        return self.after(all_arrived(self.pending))

    def _left(self, choice: Choice) -> tuple[dict[int, bytes], dict[int, dict[str, int]]]:
        files, names = dict(self.files), {number: dict(held) for number, held in self.names.items()}
        for place, arrival in choice.arrivals:
            _apply(self.pending[place], arrival, files, names)
        return files, names

    def _walk(
        self, number: int, path: str, files: Mapping[int, bytes], names: Mapping[int, Mapping[str, int]]
    ) -> Iterator[tuple[str, bytes | None]]:
        for name, held in names.get(number, {}).items():
            place = f"{path}/{name}" if path else name
            if held in self.folders:
                yield place, None
                yield from self._walk(held, place, files, names)
            else:
                yield place, files.get(held, b"")


def _apply(
    effect: Effect, arrival: Arrival, files: dict[int, bytes], names: dict[int, dict[str, int]]
) -> None:
    match effect:
        case Names(target, entries):
            folder = names.setdefault(target, {})
            for name, number in entries:
                if number is None:
                    folder.pop(name, None)
                else:
                    folder[name] = number
        case _:
            files[effect.target] = effect.apply(files.get(effect.target, b""), arrival)


def all_arrived(pending: Sequence[Effect]) -> Choice:
    """Nothing was lost."""
    return Choice("all arrived", tuple((place, Arrival.WHOLE) for place in range(len(pending))))


def choices(pending: Sequence[Effect], chance: random.Random, *, samples: int) -> Iterator[Choice]:
    """Every systematic loss, then ``samples`` by chance.

    None arrived, all arrived, each one lost, each one alone, each write torn in each way; and by chance any set,
    torn by chance.
    """
    whole = all_arrived(pending).arrivals
    yield Choice("none arrived", ())
    if not pending:
        return
    yield Choice("all arrived", whole)
    for place, effect in enumerate(pending):
        rest = whole[:place] + whole[place + 1 :]
        if len(pending) > 1:
            yield Choice(f"all but {place}", rest)
            yield Choice(f"only {place}", (whole[place],))
        for arrival in torn_arrivals(effect):
            yield Choice(f"{place} torn, {arrival}", (*whole[:place], (place, arrival), *whole[place + 1 :]))
    for number in range(samples):
        yield Choice(f"by chance {number}", tuple(_by_chance(pending, chance)))


def torn_arrivals(effect: Effect) -> tuple[Arrival, ...]:
    """The ways in which an effect may arrive in part."""
    if not isinstance(effect, Write):
        return ()
    if len(effect.data) <= SECTOR_BYTES:
        return (Arrival.HALF, Arrival.ZEROS)
    return (Arrival.HALF, Arrival.FIRST, Arrival.LAST, Arrival.ZEROS)


def _by_chance(pending: Sequence[Effect], chance: random.Random) -> Iterator[tuple[int, Arrival]]:
    share = chance.random()
    for place, effect in enumerate(pending):
        if chance.random() < share:
            torn = torn_arrivals(effect)
            yield place, chance.choice(torn) if torn and chance.random() < 0.2 else Arrival.WHOLE
