"""The search in raw bytes: every encoding, every alignment, every place where a database cuts a value in two."""

import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.forgetting.errors import ValueGivenError
from timeline.forgetting.scan import Searched, search_files

VALUES = st.text(st.characters(exclude_categories=["Cs"]), min_size=16, max_size=40)


def found(folder: Path, content: bytes, value: str, name: str = "file") -> Searched:
    """What is found of a value in one file."""
    file = folder / name
    file.write_bytes(content)
    return search_files([file], [value.encode()])


@pytest.mark.requirement("X11")
@given(value=VALUES, before=st.binary(max_size=5), behind=st.binary(max_size=5))
def test_every_encoding_is_found(
    tmp_path_factory: pytest.TempPathFactory, value: str, before: bytes, behind: bytes
) -> None:
    """Whatever stands before it and behind it."""
    folder = tmp_path_factory.mktemp("scan")
    text = value.encode()
    inner, plain = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    forms = {
        "utf-8": text,
        "json": inner.encode(),
        "plain json": plain.encode(),
        "slashes": inner.replace("/", "\\/").encode(),
        "json in json": json.dumps(json.dumps(value))[1:-1].encode(),
        "plain json in json": json.dumps(json.dumps(value, ensure_ascii=False), ensure_ascii=False)[
            1:-1
        ].encode(),
        "units": "".join(
            f"\\u{int.from_bytes(value.encode('utf-16-be')[at : at + 2], 'big'):04x}"
            for at in range(0, len(value.encode("utf-16-be")), 2)
        ).encode(),
        "utf-16-le": value.encode("utf-16-le"),
        "utf-16-be": value.encode("utf-16-be"),
        "hex": text.hex().encode(),
        "HEX": text.hex().upper().encode(),
        "base64": base64.b64encode(before + text + behind),
        "base64url": base64.urlsafe_b64encode(before + text + behind),
        "base64 of json": base64.b64encode(before + plain.encode() + behind),
    }
    missed = [name for name, form in forms.items() if not found(folder, before + form + behind, value).hits]
    assert missed == []
    assert not found(folder, before + text[:-2] + behind, value + "#").hits


@pytest.mark.requirement("X11")
@pytest.mark.parametrize("pad", range(3900, 4180, 7))
def test_what_a_database_cuts_in_two_is_found(tmp_path: Path, pad: int) -> None:
    """Wherever in a page it begins, in the file and in its write-ahead log."""
    value = "canary-0123456789-abcdefghij-klmnop"
    file = tmp_path / "state.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as one:
        one.execute("PRAGMA journal_mode = WAL")
        one.execute("CREATE TABLE t (a BLOB)")
        one.execute("INSERT INTO t VALUES (?)", (b"x" * (pad + 4096) + value.encode() + b"y" * 9000,))
        log = file.with_name("state.db-wal")
        assert search_files([log], [value.encode()]).hits
        one.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert search_files([file], [value.encode()]).hits


def test_a_common_beginning_is_no_half(tmp_path: Path) -> None:
    """Two paths share their folders; what is there of the other one says nothing of the first."""
    path = "/srv/somebody/project/sessions/0123456789.jsonl"
    content = b"x" * 300 + b"/srv/somebody/project/sessions/9999.jsonl" + b"y" * 300
    assert not found(tmp_path, content, path, "state.db").hits
    assert found(tmp_path, content + path.encode(), path, "state.db").hits


def test_over_the_border_of_two_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is read in pieces."""
    monkeypatch.setattr("timeline.forgetting.scan._READ_BYTES", 64)
    value = "canary-0123456789"
    for pad in range(40, 70):
        (hit,) = found(tmp_path, b"x" * pad + value.encode() + b"y" * 99, value).hits
        assert (hit.offset, hit.whole, hit.encoding) == (pad, True, "utf-8")


@pytest.mark.parametrize("value", [b"", b"short", bytes(65_537)])
def test_a_value_that_says_little_is_refused(tmp_path: Path, value: bytes) -> None:
    """It would be found by chance, or is no value."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ValueGivenError):
        search_files([tmp_path / "file"], [value])
