"""Install and uninstall are each other's inverse for any document that a parser takes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.install.documents import PROGRAM, setup_of
from timeline.install.difference import difference
from timeline.install.errors import HostFileSyntaxError
from timeline.install.json_text import cut, locate, parse, put
from timeline.install.places import Form
from timeline.install.record import make_record, make_step, undo
from timeline.install.toml_text import parse as parse_toml

KEYS = st.text(max_size=6) | st.sampled_from(["hooks", "mcpServers", "PreToolUse", "timeline x"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(st.just({"command": "beep"}), max_size=2)}), max_size=2
)
ROOTS = st.fixed_dictionaries(
    {},
    optional={
        "a": VALUES,
        "hooks": st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "PostToolUse"]), GROUPS, max_size=3),
        "mcpServers": st.dictionaries(st.sampled_from(["x", "y"]), st.just({"command": "c"}), max_size=2),
        "z": VALUES,
    },
)
SPELLINGS = st.sampled_from(
    [
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 3, "ensure_ascii": False},
        {},
        {"separators": (",", ":")},
        {"separators": (" ,\n\n ", "\n :  ")},
    ]
)


def form_of(host: str, number: int) -> Form:
    """One file's form of a host."""
    return setup_of(Path("/x"), host, program=PROGRAM).files[number].form


@given(ROOTS, SPELLINGS, st.booleans(), st.sampled_from([("codex", 1), ("claude", 0)]))
def test_json_is_as_it_was(
    document: dict[str, Any], spelling: dict[str, Any], crlf: bool, where: tuple[str, int]
) -> None:
    """Any document, in any hand: our part is added, found, and spliced out again."""
    text = json.dumps(document, **spelling)
    text = text.replace("\n", "\r\n") if crlf and "indent" in spelling else text
    form = form_of(*where)
    after = form.add(text)
    assert json.loads(after) != document
    assert form.add(after) == after
    back = form.remove(after, kept=form.empties(text))
    assert json.loads(back) == document
    record = make_record(Path("/x"), text.encode(), after.encode(), folders=(), kept=())
    assert undo(record, after.encode()) == text.encode()
    if all(document.get(key) != {} for key in ("hooks", "mcpServers")) and "[]" not in text and document:
        assert back == text


TOML_LINES = st.sampled_from(
    [
        "a = 1",
        "'b c' = \"x # y\"  # why",
        "c.d = [1, # one\n  2,\n]",
        "# ü",
        "",
        "   ",
        'e = """\n[[hooks]]\n"""',
        "f = { g = {}, h = [ ] }",
        "t = 1979-05-27T07:32:00Z",
    ]
)
TOML_TABLES = st.sampled_from(
    [
        "[t]",
        "[ u . 'v w' ] # x",
        '[mcp_servers.db]\ncommand = "db"\nargs = ["[", "]"]',
        "[mcp_servers.db.env]\nA = 'b'",
        "[[list]]\nk = 1\n[[list]]",
        '[[hooks]]\nevent = "Stop"\ncommand = "beep"',
    ]
)


@given(
    st.lists(TOML_LINES, max_size=4, unique=True),
    st.lists(
        st.tuples(TOML_TABLES, st.lists(TOML_LINES, max_size=2, unique=True)),
        max_size=4,
        unique_by=lambda table: table[0],
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([("codex", 0), ("kimi", 1)]),
)
def test_toml_is_as_it_was(
    top: list[str], tables: list[tuple[str, list[str]]], newline: str, where: tuple[str, int]
) -> None:
    """Any document: our part is added, found, and spliced out again, comments and empty lines left."""
    lines = [*top, *(line for table, below in tables for line in (table, *below))]
    text = newline.join("\n".join(lines).split("\n")) + newline if lines else ""
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    if where[0] == "codex" and not isinstance(before.get("hooks", []), list):
        return
    form = form_of(*where)
    after = form.add(text)
    assert form.add(after) == after
    assert form.remove(after, kept=form.empties(text)) == text


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=30), st.binary(max_size=30))
def test_a_step_leads_back(before: bytes, after: bytes, head: bytes, tail: bytes) -> None:
    """Whatever was replaced by whatever, the earlier bytes come back, and nothing else passes for ours."""
    old, new = head + before + tail, head + after + tail
    record = make_record(Path("/x"), old, new, folders=(), kept=())
    assert undo(record, new) == old
    if new != old:
        assert undo(record, old) is None
    assert len(make_step(old, new).middle) <= 4 * len(before) / 3 + 4


@given(st.text(alphabet='{}[]",:\\ab1 \n', max_size=30))
def test_json_that_a_parser_refuses_is_refused(text: str) -> None:
    """This reader takes nothing that the standard library does not take."""
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(HostFileSyntaxError):
            parse(text)
        return
    with_duplicates = text.count('"') > 3
    try:
        parse(text)
    except HostFileSyntaxError:
        assert with_duplicates, expected


@given(st.text(alphabet="[]=\"'#.,{}\nab1", max_size=40), st.sampled_from([("codex", 0), ("kimi", 1)]))
def test_any_toml_is_changed_rightly_or_refused(text: str, where: tuple[str, int]) -> None:
    """Where this reader is lost the file is refused; a wrong splice never gets through."""
    form = form_of(*where)
    try:
        after = form.add(text)
    except HostFileSyntaxError:
        return
    before, now = parse_toml(text), parse_toml(after)
    for key in ("mcp_servers", "hooks"):
        now.pop(key, None)
        before.pop(key, None)
    assert now == before


def test_places_are_found_in_nested_json() -> None:
    """A value is found by its path, replaced and cut, whatever stands around it."""
    text = '{ "a" : [ 1, {"b\\"": "]"} ], "c": {} }'
    start, end = locate(text, ("a", 1, 'b"'))
    assert text[start:end] == '"]"'
    assert put(text, ("a", 0), "x") == '{ "a" : [ "x", {"b\\"": "]"} ], "c": {} }'
    assert cut(text, ("a", 0)) == '{ "a" : [ {"b\\"": "]"} ], "c": {} }'
    assert cut(text, ("c",)) == '{ "a" : [ 1, {"b\\"": "]"} ] }'
    with pytest.raises(HostFileSyntaxError):
        cut(text, ("d",))
    with pytest.raises(HostFileSyntaxError):
        put(text, ("c", 0), 1)


def test_a_difference_shows_where_a_long_line_changes() -> None:
    """A document on one line is cut around the change; line numbers count from the beginning of the file."""
    old = b'{"a":"' + b"x" * 5000 + b'"}'
    new = old[:-1] + b',"here":1}'
    lines = difference("f", old, new)
    assert any("here" in line for line in lines)
    assert all(len(line) < 500 for line in lines)
    many = b"".join(b"%d\n" % i for i in range(1000))
    assert "@@ -998,3 +998,4 @@" in difference("f", many, many + b"new\n")
    assert difference("f", many, many) == []
    assert difference("f", None, b"a\n")[:2] == ["--- /dev/null", "+++ f"]
