"""Install and uninstall are each other's inverse for any document that a parser takes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.install.documents import PROGRAM, setup_of
from timeline.install.command import is_hook
from timeline.install.difference import difference
from timeline.install.errors import HostFileSyntaxError
from timeline.install.json_form import JsonHooks, JsonServer
from timeline.install.json_text import cut, locate, parse, put
from timeline.install.places import Form
from timeline.install.record import make_record, make_step, undo
from timeline.install.toml_text import parse as parse_toml
from timeline.install.toml_text import statements

KEYS = st.text(max_size=6) | st.sampled_from(["hooks", "mcpServers", "PreToolUse", "timeline x"])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
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


@pytest.mark.parametrize("where", [("codex", 0), ("codex", 1), ("claude", 0), ("kimi", 1)])
def test_new_lines_end_as_the_others_do(where: tuple[str, int]) -> None:
    """A file with CRLF gets no other ending."""
    name = setup_of(Path("/x"), where[0]).files[where[1]].path.suffix
    text = '{\r\n  "a": 1\r\n}\r\n' if name == ".json" else "a = 1\r\n"
    after = form_of(*where).add(text)
    assert after.count("\n") == after.count("\r\n") > text.count("\n")


def test_a_wrong_splice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the text means afterwards is compared with what it must mean, and a difference ends the change."""
    monkeypatch.setattr("timeline.install.json_form.put", lambda text, _path, _value: '{"lost": 1}')
    monkeypatch.setattr("timeline.install.json_form.cut", lambda text, _path: "{}")
    monkeypatch.setattr("timeline.install.toml_form._with_block", lambda text, _lines: "lost = 1\n")
    monkeypatch.setattr("timeline.install.toml_form._drop", lambda text, _path, **_: "")
    for host, number in (("codex", 0), ("codex", 1), ("claude", 0), ("kimi", 1)):
        form = form_of(host, number)
        text = '{"a": 1}' if isinstance(form, JsonHooks | JsonServer) else "a = 1\n"
        with pytest.raises(HostFileSyntaxError):
            form.add(text)
    monkeypatch.undo()
    for host, number in (("codex", 0), ("codex", 1), ("claude", 0), ("kimi", 1)):
        form = form_of(host, number)
        is_json = isinstance(form, JsonHooks | JsonServer)
        after = form.add('{"a": 1}' if is_json else "a = 1\n")
        with monkeypatch.context() as patch:
            patch.setattr("timeline.install.json_form.cut", lambda text, _path: "{}")
            patch.setattr("timeline.install.toml_form._drop", lambda text, _path, **_: "")
            with pytest.raises((HostFileSyntaxError, KeyError)):
                form.remove(after, kept=())


@pytest.mark.parametrize("text", ['a = "1" b = 2\n', "[a] b\n", "= 1\n", "a = [1\n", "a =\n"])
def test_a_reader_that_is_lost_says_so(text: str) -> None:
    """No place is guessed in text that is no TOML."""
    with pytest.raises(HostFileSyntaxError, match="line 1"):
        list(statements(text))


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/usr/bin/python3 -I -S -E -B /a/timeline/hooks.py codex /run/x", True),
        ("TIMELINE_STATE_DIR='/a b' /p -I -S -E -B '/a b/timeline/hooks.py' codex /run/x", True),
        ("/p -I -S -E -B /a/other/hooks.py codex /run/x", False),
        ("/p -I -S -E -B /a/timeline/hooks.py kimi /run/x", False),
        ("/p -I -S -E -B /a/timeline/hooks.py codex /run/x; rm x", False),
        ("/p -I -S -B /a/timeline/hooks.py codex /run/x", False),
        ("OTHER=1 /p -I -S -E -B /a/timeline/hooks.py codex /run/x", False),
        ("/p -I -S -E -B /a/timeline/hooks.py codex '/run", False),
        ("", False),
        (None, False),
    ],
)
def test_ours_is_told_by_the_whole_command(command: object, ours: bool) -> None:
    """A hook that only resembles ours is somebody else's."""
    assert is_hook(command, "codex") is ours
