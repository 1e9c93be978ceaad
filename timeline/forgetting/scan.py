"""The search for a value in raw bytes: in every encoding in which something of ours could hold it (X11).

A database may cut a value in two, where it goes on in another page. So in its files both halves are searched too, and
one counts where the value breaks off just as SQLite cuts it: before the number of the next page, at the end of a page,
or behind the pointer at its beginning. What was searched for is neither shown nor kept.
"""

import base64
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from timeline.errors import StateError
from timeline.files import is_there, open_regular
from timeline.forgetting.errors import ValueGivenError
from timeline.paths import Locations
from timeline.workspaces import left_over

VALUE_BYTES_MIN: Final = 8
"""Of anything shorter a find says little: it stands in many files by chance."""

VALUE_BYTES_MAX: Final = 64 * 1024

HALVED_FROM: Final = 16
"""A value of so many bytes is searched by its halves as well: eight bytes do not stand somewhere by chance."""

_READ_BYTES: Final = 4 * 1024 * 1024


class Needle(msgspec.Struct, frozen=True):
    """One form in which a value may lie somewhere. ``half`` is 0 for all of it, else which half is looked for."""

    encoding: str
    content: bytes
    half: int = 0

    @property
    def sought(self) -> bytes:
        """The bytes that are looked for."""
        middle = len(self.content) // 2
        return (self.content, self.content[:middle], self.content[middle:])[self.half]

    def __repr__(self) -> str:  # type: ignore[explicit-override]  # typing.override needs Python 3.12
        """No content."""
        return f"Needle({self.encoding})"


class Hit(msgspec.Struct, frozen=True):
    """Where a value was found: the file, the first byte, the encoding, and whether all of it or a half.

    ``number`` counts the values that were given, from 0.
    """

    file: str
    offset: int
    encoding: str
    whole: bool
    number: int = 0


class Searched(msgspec.Struct, frozen=True):
    """What was searched and found: files, bytes in all, and files that could not be read."""

    files: int
    size: int
    hits: tuple[Hit, ...]
    unread: tuple[str, ...]


# -- pure ------------------------------------------------------------------------------------------------------


def check_value(value: bytes) -> None:
    """Return only if a value can be searched for.

    Raises:
        ValueGivenError: it is too short or too long.
    """
    if not VALUE_BYTES_MIN <= len(value) <= VALUE_BYTES_MAX:
        message = f"value: {len(value)} bytes, must be {VALUE_BYTES_MIN} to {VALUE_BYTES_MAX}"
        raise ValueGivenError(message)


def needles_of(value: bytes, *, halves: bool = False) -> tuple[Needle, ...]:
    """Every form in which files of ours could hold ``value``, each once; with ``halves`` the halves of each too."""
    whole = tuple({form.content: form for form in reversed(list(_forms(value)))}.values())
    if not halves:
        return whole
    return (
        *whole,
        *(
            Needle(form.encoding, form.content, half)
            for form in whole
            for half in (1, 2)
            if len(form.content) >= HALVED_FROM
        ),
    )


def _forms(value: bytes) -> Iterator[Needle]:
    yield Needle("utf-8", value)
    texts = [value]
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None:
        for number, escaped in enumerate(_escaped(text)):
            if escaped not in texts:
                texts.append(escaped)
                yield Needle("json" if number < _ONCE else "json-in-json", escaped)
        yield Needle("utf-16-le", text.encode("utf-16-le", "surrogatepass"))
        yield Needle("utf-16-be", text.encode("utf-16-be", "surrogatepass"))
    for content in texts:
        yield Needle("hex", content.hex().encode())
        yield Needle("hex", content.hex().upper().encode())
        for shift in range(3):
            encoded = _base64(content, shift)
            yield Needle("base64", encoded)
            yield Needle("base64url", encoded.translate(_URL))


_ONCE: Final = 6
"""So many spellings of one text in JSON are tried; behind them come those of JSON in JSON."""

_URL: Final = bytes.maketrans(b"+/", b"-_")


def _escaped(text: str) -> list[bytes]:
    """How JSON may spell a text, and how JSON that holds JSON may."""
    once = _spellings(text)
    return [*once, *(again for spelled in once[:2] for again in _spellings(spelled.decode()))]


def _spellings(text: str) -> list[bytes]:
    plain = json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    lower = json.dumps(text)[1:-1].encode()
    every = "".join(f"\\u{unit:04x}" for unit in _units(text)).encode()
    upper = b"\\u".join(
        part[:4].upper() + part[4:] if number else part for number, part in enumerate(lower.split(b"\\u"))
    )
    return [plain, lower, upper, plain.replace(b"/", b"\\/"), lower.replace(b"/", b"\\/"), every]


def _units(text: str) -> Iterator[int]:
    encoded = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(encoded), 2):
        yield int.from_bytes(encoded[at : at + 2], "big")


def _base64(content: bytes, shift: int) -> bytes:
    """The characters that ``content`` has in base64 wherever ``shift`` bytes stand before it, and whatever follows."""
    encoded = base64.b64encode(bytes(shift) + content)
    first = (0, 2, 3)[shift]
    return encoded[first : (shift + len(content)) * 8 // 6]


# -- files -----------------------------------------------------------------------------------------------------


def owned_files(locations: Locations) -> tuple[Path, ...]:
    """Every file below the folders that a forgetting covers, whatever its name: what a crash left is among them.

    Left out are the owner's own configuration, the record of installations, and the transcripts, which lie elsewhere.
    """
    left_out = {locations.settings, locations.installed}
    found: dict[Path, None] = {}
    every = (locations, *left_over(locations))
    for folder in (folder for one in every for folder in (one.state, one.trust, one.config, one.runtime)):
        for path in _below(folder):
            if not any(path == one or one in path.parents for one in left_out):
                found[path] = None
    return tuple(found)


def _below(folder: Path) -> Iterator[Path]:
    if not is_there(folder):
        return
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                yield path


def search_files(files: Sequence[Path], values: Sequence[bytes]) -> Searched:
    """Search the raw bytes of files for values in every encoding. Reads only.

    A half is told only of a file that holds no whole one of the same value.

    Raises:
        ValueGivenError: a value is too short or too long.
    """
    for value in values:
        check_value(value)
    whole = [(number, needle) for number, value in enumerate(values) for needle in needles_of(value)]
    halved = [
        (number, needle) for number, value in enumerate(values) for needle in needles_of(value, halves=True)
    ]
    size, hits, unread = 0, [], []
    for path in files:
        try:
            read, found = _search_file(path, halved if _is_database(path) else whole)
        except StateError:
            unread.append(str(path))
            continue
        size += read
        all_of = {hit.number for hit in found if hit.whole}
        hits += [hit for hit in found if hit.whole or hit.number not in all_of]
    return Searched(len(files) - len(unread), size, tuple(hits), tuple(unread))


def _is_database(path: Path) -> bool:
    return any(path.name.endswith(suffix) for suffix in (".db", ".db-wal", ".db-journal"))


def _search_file(path: Path, needles: Sequence[tuple[int, Needle]]) -> tuple[int, list[Hit]]:
    sought = [(number, needle, needle.sought) for number, needle in needles]
    longest = max((len(content) for _, _, content in sought), default=1)
    found: dict[tuple[int, str, bool], Hit] = {}
    halves: list[tuple[int, Needle, int]] = []
    start, kept = 0, b""
    with open_regular(path) as file:
        while piece := file.read(_READ_BYTES):
            window, base = kept + piece, start - len(kept)
            for number, needle, content in sought:
                for at in _places(window, content, all_of_them=needle.half > 0):
                    if needle.half:
                        halves.append((number, needle, base + at))
                    else:
                        hit = Hit(str(path), base + at, needle.encoding, whole=True, number=number)
                        found.setdefault((number, needle.encoding, True), hit)
            start += len(piece)
            kept = window[-(longest - 1) :] if longest > 1 else b""
        for number, needle, offset in halves:
            if _is_cut(file, needle, offset):
                hit = Hit(str(path), offset, needle.encoding, whole=False, number=number)
                found.setdefault((number, needle.encoding, False), hit)
    return start, sorted(found.values(), key=lambda hit: (hit.number, hit.offset))


def _places(window: bytes, content: bytes, *, all_of_them: bool) -> Iterator[int]:
    at = window.find(content)
    while at >= 0:
        yield at
        at = window.find(content, at + 1) if all_of_them else -1


def _is_cut(file: BinaryIO, needle: Needle, offset: int) -> bool:
    """Whether the half at ``offset`` breaks off as where SQLite goes on in another page."""
    middle = len(needle.content) // 2
    if needle.half == 1:
        file.seek(offset)
        around = file.read(len(needle.content) + _POINTER_BYTES)
        same = _common(around, needle.content)
        page = int.from_bytes(around[same : same + _POINTER_BYTES], "big")
        return same < len(needle.content) and (
            0 < page < _PAGES_MAX
            or any(
                (offset + same - head - front) % step == _PAGE_BYTES % step for head, step, front in _LAYOUTS
            )
        )
    begin = max(0, offset - middle)
    file.seek(begin)
    before = file.read(offset - begin)[::-1]
    first = offset - _common(before, needle.content[:middle][::-1])
    return any((first - head - front) % step == _POINTER_BYTES for head, step, front in _LAYOUTS)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common from the beginning."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


_PAGE_BYTES: Final = 4096
"""Of every database that this program makes."""

_PAGES_MAX: Final = 1 << 24
"""Far above the pages of any database here, and far below what four bytes of text make as a number."""

_POINTER_BYTES: Final = 4
_LAYOUTS: Final = ((0, _PAGE_BYTES, 0), (32, _PAGE_BYTES + 24, 24), (512, _PAGE_BYTES + 8, 4))
"""How pages lie in a database, in its write-ahead log and in a rollback journal: bytes before the first, bytes from one
to the next, and bytes before a page's own."""
