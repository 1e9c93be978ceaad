"""A shell line is read as a shell would; what could hide another exit code or another text is not understood."""

import shlex
import string
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.objective.shell import AndOr, Group, If, Pipeline, Sequence, Simple, Step, Word
from adapters.objective.shell_reader import MAX_COMMAND_CHARS, MAX_DEPTH, read_text, read_words
from adapters.objective.shell_words import MAX_WORDS

ONE = {
    "pytest -q": ("pytest", "-q"),
    "  pytest\t-q \n": ("pytest", "-q"),
    "pytest 'a b' \"c d\" e\\ f": ("pytest", "a b", "c d", "e f"),
    "pytest ''": ("pytest", ""),
    "pytest -k 'a;b|c&d`e`$(f)#g'": ("pytest", "-k", "a;b|c&d`e`$(f)#g"),
    'pytest -k "a;b|c&d#g\\"h\\$x"': ("pytest", "-k", 'a;b|c&d#g"h$x'),
    "pytest a#b": ("pytest", "a#b"),
    "pytest # -q": ("pytest",),
    "# first\npytest\n# last": ("pytest",),
    "pytest \\\n  -q": ("pytest", "-q"),
    "pytest $TARGET ${TARGET} tests/*.py 't[x]'": ("pytest", "$TARGET", "${TARGET}", "tests/*.py", "t[x]"),
    "pytest ${X:-y}": ("pytest", "${X:-y}"),
    "pytest ends$": ("pytest", "ends$"),
    "pytest 2>&1": ("pytest",),
    "2>&1 pytest": ("pytest",),
    "pytest 1>&2 -q": ("pytest", "-q"),
    "pytest >log 2>>errors.log </dev/null": ("pytest",),
    "pytest &>log": ("pytest",),
    "pytest >& log": ("pytest",),
    "pytest >| log": ("pytest",),
    "pytest 2>&-": ("pytest",),
    "pytest <<< x": ("pytest",),
    "pytest <<EOF\n1 passed in 0.1s\nEOF": ("pytest",),
    "pytest <<-'EOF'\n\t$(x)\n\tEOF\n": ("pytest",),
    "'if' x": ("if", "x"),
    "time pytest": ("pytest",),
    "time -p pytest": ("pytest",),
    "bash -lc 'pytest -q'": ("pytest", "-q"),
    "bash -lc \"bash -c 'pytest -q'\"": ("pytest", "-q"),
    "bash run.sh": ("bash", "run.sh"),
    "'A=b' c": ("A=b", "c"),
}

NOT_UNDERSTOOD = [
    "",
    " ",
    "# only a comment",
    "for i in 1 2; do pytest; done",
    "while true; do pytest; done",
    "until pytest; do sleep 1; done",
    "case x in x) pytest;; esac",
    "pytest() { cat log; }; pytest",
    "function pytest { cat log; }",
    "[[ -f x ]] && pytest",
    "(( x = 1 )); pytest",
    "select x in a; do pytest; done",
    "coproc pytest",
    "repeat 3 pytest",
    "pytest `cat options`",
    'pytest "`cat options`"',
    "pytest <(cat x)",
    "pytest >(cat)",
    "pytest $'a'",
    'pytest $"a"',
    "pytest $((1 + 1))",
    "pytest $[1]",
    "pytest ${X:-$(cat y)}",
    "pytest 3>&1",
    "exec 3>log",
    "pytest 2>&3",
    "pytest <&3",
    "pytest <> x",
    "pytest 2>",
    "pytest |",
    "| pytest",
    "pytest ||",
    "|| pytest",
    "pytest &&",
    "&& pytest",
    "cd x && && pytest",
    "; pytest",
    "pytest ;; x",
    "pytest 'open",
    'pytest "open',
    "pytest \\",
    "pytest\r\ncat x",
    "(pytest",
    "pytest)",
    "{ pytest",
    "{ pytest }",
    "if pytest; then echo y",
    "if pytest; then fi",
    "if; then x; fi",
    "fi",
    "then x",
    "}",
    "(pytest) > log",
    "{ pytest; } &> log",
    "cat <<EOF\nno end",
    "cat <<EOF",
    "cat <<EOF\n$(cat log)\nEOF\npytest",
    "cat <<EOF\n`cat log`\nEOF\npytest",
    "cat <<$END\nx\n$END\npytest",
    "A=(1 2) pytest",
    "$RUNNER -q",
    "'' x",
    "*/pytest",
    "bash -c pytest extra",
    "bash -c 'pytest' > log",
    'bash -c "$TEXT"',
    "bash -o posix -c pytest",
    "bash -c 'for i in 1; do pytest; done'",
    "pytest \0",
    "pytest \u00a0\0",
]  # fmt: skip


def only(command: str | list[str]) -> Simple:
    """Return the one simple command of a line."""
    line = read_text(command) if isinstance(command, str) else read_words(command)
    assert line is not None
    (step,) = line.steps
    assert not step.command.rest
    assert len(step.command.first.parts) == 1
    assert isinstance(step.command.first.parts[0], Simple)
    return step.command.first.parts[0]


@pytest.mark.parametrize(("text", "words"), ONE.items())
def test_a_simple_command_is_read_as_a_shell_reads_it(text: str, words: tuple[str, ...]) -> None:
    """Quotes are removed, redirections and comments taken out, parameters kept as opaque text."""
    assert only(text).texts == words


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_what_leaves_the_grammar_is_not_understood(text: str) -> None:
    """Loops, functions, unknown expansions and unfinished constructs bind nothing."""
    assert read_text(text) is None


def simple(text: str) -> Simple:
    """Return a command of plain words."""
    return Simple(tuple(map(Word, text.split())))


def step(text: str, *, background: bool = False) -> Step:
    """Return a step that is one command of plain words."""
    return Step(AndOr(Pipeline((simple(text),))), background)


def test_lists_pipelines_groups_and_conditions_become_a_tree() -> None:
    """The tree has the precedence of the shell: pipes before ``&&`` and ``||``, these before ``;`` and ``&``."""
    a, b = (Pipeline((simple(name),)) for name in "ab")
    assert read_text("a && b || c | d; e & f") == Sequence(
        (
            Step(AndOr(a, ((True, b), (False, Pipeline((simple("c"), simple("d"))))))),
            step("e", background=True),
            step("f"),
        )
    )
    assert read_text("! a && b") == Sequence((Step(AndOr(Pipeline((simple("a"),), True), ((True, b),))),))
    assert read_text("a &&\n# why\n b ||\n c |\n d") is not None
    group = Group(Sequence((step("a"), step("b"))), subshell=True)
    assert read_text("( a; b\n) 2>&1 | c") == Sequence((Step(AndOr(Pipeline((group, simple("c"))))),))
    assert read_text("{ a; b; } 2>/dev/null") == Sequence(
        (Step(AndOr(Pipeline((Group(group.body, subshell=False),)))),)
    )
    bodies = (Sequence((step("b"),)), Sequence((step("d"),)), Sequence((step("e"),)))
    found = If((Sequence((step("a"),)), Sequence((step("c"),))), bodies)
    assert read_text("if a; then b; elif c\nthen d; else e; fi") == Sequence(
        (Step(AndOr(Pipeline((found,)))),)
    )


def test_assignments_are_taken_from_the_words() -> None:
    """``A=b`` in front is an assignment, bare ones are a command of their own."""
    assert only("A=1 B='2 3' C= pytest Z=4") == Simple(
        (Word("pytest"), Word("Z=4")), (("A", Word("1")), ("B", Word("2 3")), ("C", Word("")))
    )
    assert only("A=b").words == ()


def test_a_substitution_is_kept_with_the_word_that_it_becomes_part_of() -> None:
    """What is inside ``$( … )`` is read too: it runs, and prints into the word."""
    word = only('cd "$(git rev-parse --show-toplevel)"').words[1]
    assert word == Word(
        "$(git rev-parse --show-toplevel)", inner=(Sequence((step("git rev-parse --show-toplevel"),)),)
    )
    assert not word.literal


REDIRECTED = {
    "x": ("", ""),
    "x > a": ("a", ""),
    "x > a 2>&1": ("a", "a"),
    "x 2>&1 > a": ("a", ""),
    "x &> a": ("a", "a"),
    "x >& a": ("a", "a"),
    "x 2> a": ("", "a"),
    "x >/dev/null": ("/dev/null", ""),
    "x >&-": ("/dev/null", ""),
    "x >/dev/stderr": ("", ""),
    "x >/dev/tty": ("", ""),
    "x >/proc/self/fd/2": ("", ""),
    "x > $LOG": ("", ""),
    "x > a*": ("", ""),
    "x < a": ("", ""),
    "x > a >&2": ("", ""),
}


@pytest.mark.parametrize(("text", "places"), REDIRECTED.items())
def test_where_output_goes_follows_the_order_of_redirections(text: str, places: tuple[str, str]) -> None:
    """A device, or a target that only the environment knows, counts as the output: the text may be seen."""
    assert only(text).outputs() == places


def test_an_argument_vector_is_literal_and_its_shell_text_is_not() -> None:
    """Codex gives ``["bash", "-lc", TEXT]``: only TEXT is read by a shell."""
    assert only(["pytest", "a;b", "|", "$X"]).words == tuple(map(Word, ("pytest", "a;b", "|", "$X")))
    assert read_words(["bash", "-lc", "cd x && pytest"]) == read_text("cd x && pytest")
    assert read_words(["bash", "-lc", "for x in y; do z; done"]) is None
    assert read_words([]) is None
    assert read_words([""]) is None


def test_the_bounds_hold() -> None:
    """A longer text, more words or deeper nesting are not understood; exactly the bound is."""
    assert read_text("pytest " + "a" * (MAX_COMMAND_CHARS - 7)) is not None
    assert read_text("pytest " + "a" * (MAX_COMMAND_CHARS - 6)) is None
    assert read_text("x " * MAX_WORDS) is not None
    assert read_text("x " * (MAX_WORDS + 1)) is None
    assert read_words(["x"] * (MAX_WORDS + 1)) is None
    assert read_text("( " * MAX_DEPTH + "x" + ")" * MAX_DEPTH) is not None
    for opening, closing in (("(", ")"), ("{ ", ";}"), ("$(", ")"), ("if x; then ", "; fi")):
        deep = 20 * MAX_DEPTH
        assert read_text("x " + opening * deep + "x" + closing * deep) is None
        assert read_text(opening * deep + "x" + closing * deep) is None
    nested = "x"
    for _ in range(MAX_DEPTH):
        nested = f"bash -c {shlex.quote(nested)}"
        if len(nested) > MAX_COMMAND_CHARS:
            break
    assert read_text(f"bash -c {shlex.quote(nested)}") is None


@given(
    st.lists(st.text(string.printable.replace("\r", "") + "äß\u2028", max_size=12), min_size=1, max_size=8)
)
def test_quoted_words_come_back_unchanged(words: list[str]) -> None:
    """Whatever ``shlex.quote`` writes is read back as the same words."""
    assert only(" ".join(["x", *map(shlex.quote, words)])).texts == ("x", *words)


@given(st.text(st.sampled_from("pytest cd&|;<>()$`'\"\\\n#!{}=2-")) | st.text())
def test_any_text_gives_a_tree_or_none(text: str) -> None:
    """Nothing is raised, and every command has words or assignments."""
    found = read_text(text)
    assert found is None or all(one.words or one.env for one in found.simples())


@given(st.text(st.sampled_from("abc'\"\\ -=2{}#,\t"), max_size=20))
@settings(max_examples=60, deadline=None)
def test_what_is_understood_has_the_words_that_a_real_shell_finds(text: str) -> None:
    """``sh`` itself prints the words of each text that is understood as one plain command."""
    line = read_text("printf '%s\\n' _ " + text)
    if line is None or len(line.steps) > 1:
        return
    found = only("printf '%s\\n' _ " + text)
    if not all(word.literal for word in found.words):
        return
    done = subprocess.run(
        ["sh", "-c", "printf '%s\\n' _ " + text], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout == "".join(f"{word}\n" for word in found.texts[2:])


@pytest.mark.parametrize(
    "text",
    [
        "${" * 5_000,
        "$(" * 5_000,
        "'" * 16_000,
        "\\" * 16_000,
        "<<A " * 4_000,
        "a;" * 8_000,
        "a|" * 8_000,
        "a&&" * 5_000 + "a",
        "${a:-" + "b" * 16_000,
        "if " * 5_000,
        "! " * 8_000 + "a",
        "A=" * 8_000,
        "1" * 16_000 + ">a",
        "#" * 16_000 + "\na",
        "a\n" * 8_000,
    ],
)
def test_hostile_texts_are_read_in_bounded_steps(text: str) -> None:
    """No construct is tried again from the same place, so that length costs no more than length."""
    found = read_text(text)
    assert found is None or len(list(found.simples())) <= MAX_WORDS
