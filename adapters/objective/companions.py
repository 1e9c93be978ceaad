"""What may stand beside a run in one command line: programs whose output can hold no summary.

A list of programs that print is never complete (ADR 0010), so this is the list of those that do not: silent ones,
tools that report in their own words, and printers of a literal text that holds no mark. Everything else in a command
line makes the whole line not understood.
"""

from typing import Final

from adapters.objective.launchers import checks_something, is_quiet, project_scripts, tests_something
from adapters.objective.recogniser import LazyPattern
from adapters.objective.shell import NULL_DEVICE, Simple, Word, base_name

_SILENT: Final = frozenset(
    ": [ cd chmod cp export exit false kill killall mkdir mv pkill popd pushd rm rmdir sleep test touch true"
    " ulimit umask unset wait".split()
)
"""Commands that print nothing of their own choice when they succeed."""

_TOOLS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(verbs.split())
    for name, verbs in {
        "apt-get": "install update",
        "black": "*",
        "bun": "install i add ci",
        "bundle": "install",
        "cargo": "fmt clean doc fetch update build check clippy",
        "cmake": "*",
        "composer": "install update dump-autoload",
        "coverage": "report html xml combine erase",
        "dotnet": "build restore clean format",
        "eslint": "*",
        "flake8": "*",
        "git": "add am apply checkout commit fetch merge mv pull push rebase reset restore rm stash status switch",
        "gofmt": "*",
        "prettier": "*",
        "go": "mod fmt generate install clean get build vet",
        "golangci-lint": "run",
        "isort": "*",
        "mypy": "*",
        "ninja": "*",
        "npm": "ci i install rebuild",
        "pip": "install",
        "pip3": "install",
        "pnpm": "i install rebuild",
        "poetry": "install lock",
        "pylint": "*",
        "pyright": "*",
        "ruff": "check format",
        "staticcheck": "*",
        "tsc": "*",
        "uv": "sync lock venv pip",
        "venv": "*",
        "yarn": "install",
    }.items()
}
"""Tools that report in their own words, with the subcommands of which that is known (``*`` for all)."""

_WRITERS: Final = {
    "prettier": frozenset({"--check", "-c", "--write", "-w", "-l"}),
    "gofmt": frozenset({"-l", "-w"}),
    "rustfmt": frozenset({"-l"}),
}
"""Formatters that print the formatted text unless they are told one of these."""

_SHOWS: Final = LazyPattern(
    r"--diff|--show-source|--help|-h|--print-config|--format.*|--msg-template.*|-E|-P"
)
"""Options with which a tool prints the contents of files, or a text of the caller's choice."""

_GIT_SHOWS: Final = LazyPattern(r"-[pv]+|--patch.*|--verbose|--pretty.*|show|list")
_RUNS_TESTS: Final = frozenset({"test", "check"})
"""Words that make a build tool run tests."""

_VERSIONS: Final = frozenset(
    {"bun", "cargo", "go", "java", "node", "npm", "php", "pnpm", "python", "python3", "ruby"}
)

_LINES = (LazyPattern(r"-[0-9]{1,9}|-n\+?[0-9]{1,9}|--lines=\+?[0-9]{1,9}|-q"), LazyPattern(r"-n|--lines"))
_FILTER_FLAGS: Final = {
    "cat": (LazyPattern(r"-u"), None),
    "head": _LINES,
    "tail": _LINES,
    "grep": (
        LazyPattern(
            r"-[EFGPivwxaI]+|--(?:color|colour)(?:=[a-z]+)?|--line-buffered|-[ABCm][0-9]{1,9}|-[EFPivwx]*e.+"
        ),
        LazyPattern(r"-[ABCm]|-[EFPivwx]*e"),
    ),
}
"""Filters that pass whole lines on as they are: options that stand alone, and those that take the next word.

``tail -c``, ``grep -o``, ``cut``, ``sed`` and ``awk`` can make a clean summary out of a failing one, and are not
among them.
"""
_GREPS: Final = frozenset({"egrep", "fgrep", "grep", "rg"})
_COUNT = LazyPattern(r"\+?[0-9]{1,9}")
_PATTERN = LazyPattern(r"-[EFPivwx]*e(.*)")
_NUMBER_PARAMETERS: Final = frozenset({"?", "!", "$", "#", "PIPESTATUS"})


def is_filter(simple: Simple) -> bool:
    """Say whether this part of a pipeline passes lines on as they are, to the output, and reads nothing else."""
    return _given_files(simple) == () or _is_tee(simple)


def cuts(simple: Simple) -> bool:
    """Say whether a filter leaves lines out."""
    return base_name(simple.texts[0]) not in {"cat", "tee"}


def read_again(simple: Simple) -> tuple[str, ...]:
    """Return the files whose lines this command prints, as they are; empty where it does anything else."""
    return _given_files(simple) or ()


def _only_prints(simple: Simple) -> bool:
    return (
        bool(simple.words)
        and not simple.env
        and simple.outputs()[0] == ""
        and all(one.target is None or one.target.text == NULL_DEVICE for one in simple.redirections)
    )


def _is_tee(simple: Simple) -> bool:
    if not _only_prints(simple) or base_name(simple.texts[0]) != "tee":
        return False
    names = [word for word in simple.words[1:] if word.text not in {"-a", "--append", "-i"}]
    return all(word.literal and not word.text.startswith(("-", "/dev/", "/proc/")) for word in names)


def _given_files(simple: Simple) -> tuple[str, ...] | None:
    """Return the files that a filter reads, ``()`` for its standard input, ``None`` where it is no filter."""
    if not _only_prints(simple):
        return None
    name = base_name(simple.texts[0])
    flags = _FILTER_FLAGS.get("grep" if name in _GREPS else name)
    if flags is None or not all(word.literal for word in simple.words):
        return None
    alone, with_value = flags
    needs_pattern = name in _GREPS
    files: list[str] = []
    words = list(simple.texts[1:])
    while words:
        word = words.pop(0)
        is_pattern = needs_pattern and _PATTERN.fullmatch(word) is not None
        if with_value is not None and with_value.fullmatch(word):
            if not words or not (is_pattern or _COUNT.fullmatch(words[0])):
                return None
            words.pop(0)
        elif not alone.fullmatch(word):
            if word.startswith("-"):
                return None
            is_pattern = needs_pattern
            if not is_pattern:
                files.append(word)
        needs_pattern = needs_pattern and not is_pattern
    return None if needs_pattern else tuple(files)


def printed_text(simple: Simple, numbers: frozenset[str]) -> str | None:
    """Return the literal text that ``echo`` or ``printf`` prints, ``None`` where that is not known.

    ``numbers`` are the parameters that hold a number, such as an exit code.
    """
    if not simple.words:
        return None
    name = base_name(simple.texts[0])
    if name == "printf" and simple.texts[1:2] and simple.texts[1].startswith("-"):
        return None
    if name not in {"echo", "printf"} or any(not _is_text(word, numbers) for word in simple.words):
        return None
    text = " ".join(simple.texts[1:]).replace("\\n", "\n")
    if "\\" in text or (name == "printf" and "%" in text):
        return None
    return text


def _is_text(word: Word, numbers: frozenset[str]) -> bool:
    return not word.globbed and not word.inner and (_NUMBER_PARAMETERS | numbers).issuperset(word.parameters)


def is_silent(simple: Simple) -> bool:
    """Say whether nothing of what this command prints can be a summary."""
    if not simple.words:
        return _one_line(simple)
    if simple.outputs()[0]:
        # What it prints goes to a file; its own complaints about a file name stay, on one line.
        return _one_line(simple) and base_name(simple.texts[0]) in {"cat", "echo", "printf", *_SILENT}
    texts = simple.texts
    name = base_name(texts[0])
    if name == "git":
        shown = any(_GIT_SHOWS.fullmatch(text) for text in texts)
        return not shown and (_one_line(simple) or texts[1:2] == ("commit",)) and _is_tool(name, texts)
    if not _one_line(simple):
        return False
    if name in _SILENT:
        return True
    if name in {"source", "."}:
        return len(texts) == 2 and base_name(texts[1]) == "activate"
    if name in {"pwd", "date"}:
        return len(texts) == 1
    if name in _VERSIONS and len(texts) == 2:
        return texts[1] in {"--version", "-v", "-V", "version"}
    if name in _WRITERS and _WRITERS[name].isdisjoint(texts):
        return False
    return _is_tool(name, texts) or _is_quiet_script(texts)


def _is_tool(name: str, texts: tuple[str, ...]) -> bool:
    if name in {"npx", "bunx"} and len(texts) > 1:
        return is_silent(Simple(tuple(map(Word, texts[1:]))))
    if (
        name in {"uv", "poetry", "pdm", "pnpm", "yarn"}
        and texts[1:2] in {("run",), ("exec",)}
        and len(texts) > 2
    ):
        return is_silent(Simple(tuple(map(Word, texts[2:]))))
    if name in {"python", "python3"} and texts[1:2] == ("-m",) and len(texts) > 2:
        return is_silent(Simple(tuple(map(Word, texts[2:]))))
    verbs = _TOOLS.get(name)
    if verbs is None or any(_SHOWS.fullmatch(text) for text in texts):
        return False
    if name in {"cmake", "ninja"} and not _RUNS_TESTS.isdisjoint(texts):
        return False
    return "*" in verbs or texts[1:2] == () or texts[1] in verbs


def _is_quiet_script(texts: tuple[str, ...]) -> bool:
    scripts = project_scripts(texts)
    return bool(scripts) and all(
        is_quiet(one) or checks_something(one) or tests_something(one) for one in scripts
    )


def _one_line(simple: Simple) -> bool:
    return not any("\n" in word.text for word in (*simple.words, *(value for _, value in simple.env)))


def is_harmless_inside(simple: Simple) -> bool:
    """Say whether a command in ``$( … )`` gives one line, and prints nothing else."""
    if any(
        one.source == 2 or (one.target is not None and one.target.text != NULL_DEVICE)
        for one in simple.redirections
    ):
        return False
    if not simple.words or not _one_line(simple) or not all(word.literal for word in simple.words):
        return False
    return base_name(simple.texts[0]) in _ONE_LINERS or simple.texts[:2] == ("git", "rev-parse")


_ONE_LINERS: Final = frozenset(
    "basename dirname hostname mktemp nproc pwd readlink realpath uname which whoami".split()
)
