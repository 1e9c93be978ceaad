"""One simple command is read as a shell would; everything that could hide another exit code is not understood."""

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective.command import (
    MAX_COMMAND_CHARS,
    MAX_SHELL_DEPTH,
    MAX_WORDS,
    Command,
    parse_argv,
    parse_command,
)

READ = {
    "pytest -q": ("pytest", "-q"),
    "  pytest\t-q \n": ("pytest", "-q"),
    "pytest 'a b' \"c d\" e\\ f": ("pytest", "a b", "c d", "e f"),
    "pytest ''": ("pytest", ""),
    "pytest -k 'a;b|c&d`e`$(f)#g'": ("pytest", "-k", "a;b|c&d`e`$(f)#g"),
    'pytest -k "a;b|c&d#g\\"h\\$x"': ("pytest", "-k", 'a;b|c&d#g"h$x'),
    "pytest a#b": ("pytest", "a#b"),
    "pytest \\\n  -q": ("pytest", "-q"),
    "pytest $TARGET ${TARGET} tests/*.py 't[x]'": ("pytest", "$TARGET", "${TARGET}", "tests/*.py", "t[x]"),
    "pytest 'ends$'": ("pytest", "ends$"),
    "pytest ends$": ("pytest", "ends$"),
    "pytest 2>&1": ("pytest",),
    "2>&1 pytest": ("pytest",),
    "pytest 1>&2 -q": ("pytest", "-q"),
    "pytest 2>/dev/null": ("pytest",),
    "pytest 2>> errors.log": ("pytest",),
    "pytest </dev/null": ("pytest",),
    "'if' x": ("if", "x"),
    "bash -lc 'pytest -q'": ("pytest", "-q"),
    "/bin/sh -e -c 'pytest -q'": ("pytest", "-q"),
    "bash -lc \"bash -c 'pytest -q'\"": ("pytest", "-q"),
    "bash run.sh": ("bash", "run.sh"),
    "'A=b' c": ("A=b", "c"),
}

NOT_UNDERSTOOD = [
    "",
    " ",
    "pytest | tail -3",
    "pytest |& tail",
    "pytest; echo done",
    "pytest || true",
    "pytest & wait",
    "pytest &",
    "! pytest",
    "(pytest)",
    "{ pytest; }",
    "{ pytest",
    "pytest $(cat options)",
    "pytest `cat options`",
    'pytest "$(cat options)"',
    'pytest "`cat options`"',
    "pytest <(cat x)",
    "pytest >(cat)",
    "pytest ${X:-y}",
    "pytest $'a'",
    "pytest <<EOF\n1 passed in 0.1s\nEOF",
    "pytest <<< x",
    "pytest > log",
    "pytest >> log",
    "pytest >/dev/null",
    "pytest &> log",
    "pytest >& log",
    "pytest 1> log",
    "pytest 3>&1",
    "pytest 2>&-",
    "pytest 2>",
    "pytest 2> $LOG",
    "pytest >| log",
    "pytest < tests.txt",
    "# pytest -q\ncat build/last.log",
    "pytest # -q",
    "pytest\ncat build/last.log",
    "pytest\r\ncat x",
    "pytest 'open",
    'pytest "open',
    "pytest \\",
    "pytest &&",
    "&& pytest",
    "cd x && && pytest",
    "if true; then pytest; fi",
    "time pytest",
    "for x in a; do pytest; done",
    "$RUNNER -q",
    "py* -q",
    "A=b",
    "'' -q",
    "pytest \0",
    "cd x && pytest | tail",
    "bash -lc 'pytest | tail'",
    "bash -lc 'pytest' name",
    "bash -c",
]


@pytest.mark.parametrize(("text", "words"), READ.items())
def test_a_simple_command_is_read_as_the_shell_reads_it(text: str, words: tuple[str, ...]) -> None:
    """POSIX XCU 2.2: quotes are removed, parameters stay as text, harmless redirections are no words."""
    found = parse_command(text)
    assert found is not None
    assert found.words == words


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_whatever_may_hide_the_exit_code_or_the_output_is_not_understood(text: str) -> None:
    """X3: lists, pipes, substitutions, groups, comments, several lines, hidden output give no command."""
    assert parse_command(text) is None


def test_assignments_and_earlier_commands_are_kept_apart() -> None:
    """Leading assignments are the environment; what ``&&`` put before is the condition."""
    assert parse_command("cd 'a b' && X=1 Y='2 3' pytest Z=4") == Command(
        ("pytest", "Z=4"), (("X", "1"), ("Y", "2 3")), (Command(("cd", "a b")),)
    )


def test_a_shell_inside_keeps_what_stood_before_it() -> None:
    """``cd x && A=1 bash -c 'cd y && pytest'`` needs both changes of folder."""
    assert parse_command("cd x && A=1 bash -c 'cd y && B=2 pytest'") == Command(
        ("pytest",), (("A", "1"), ("B", "2")), (Command(("cd", "x")), Command(("cd", "y")))
    )


def test_an_argument_vector_is_literal_and_its_shell_text_is_not() -> None:
    """Codex gives ``["bash", "-lc", TEXT]``: only TEXT is read by a shell."""
    assert parse_argv(["pytest", "a;b", "|"]) == Command(("pytest", "a;b", "|"))
    assert parse_argv(["bash", "-lc", "cd x && pytest"]) == Command(("pytest",), (), (Command(("cd", "x")),))
    assert parse_argv(["bash", "-lc", "pytest | tail"]) is None
    assert parse_argv([]) is None


def test_the_bounds_hold() -> None:
    """A longer text, more words or deeper shells are not understood; exactly the bound is."""
    assert parse_command("pytest " + "a" * (MAX_COMMAND_CHARS - 7)) is not None
    assert parse_command("pytest " + "a" * (MAX_COMMAND_CHARS - 6)) is None
    assert parse_command("x " * MAX_WORDS) is not None
    assert parse_command("x " * (MAX_WORDS + 1)) is None
    assert parse_argv(["x"] * (MAX_WORDS + 1)) is None
    nested = "pytest"
    for _ in range(MAX_SHELL_DEPTH):
        nested = f"bash -c {shlex.quote(nested)}"
    assert parse_command(nested) == Command(("pytest",))
    assert parse_command(f"bash -c {shlex.quote(nested)}") is None


@given(
    st.lists(st.text(string.printable.replace("\r", "") + "äß\u2028", max_size=12), min_size=1, max_size=8)
)
def test_quoted_words_come_back_unchanged(words: list[str]) -> None:
    """Whatever ``shlex.quote`` writes is read back as the same words."""
    assert parse_command(" ".join(["x", *map(shlex.quote, words)])) == Command(("x", *words))


@given(st.text(st.sampled_from("pytest cd&|;<>()$`'\"\\\n#!{}=2-")) | st.text())
def test_any_text_gives_a_command_or_none(text: str) -> None:
    """Nothing is raised, and a command always has a program."""
    found = parse_command(text)
    assert found is None or found.words[0]


@given(st.text(st.sampled_from("abc'\"\\ &$-=2"), max_size=30))
def test_what_is_understood_agrees_with_an_independent_reader(text: str) -> None:
    """Where a text is one command without parameters, the words are those of ``shlex``."""
    found = parse_command(text)
    if found is None or found.before or found.env or "$" in text or "\\" in text:
        return
    assert list(found.words) == shlex.split(text)
