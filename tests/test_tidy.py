"""The executable style guide: each test reads the sources and lists what breaks one rule of CONTRIBUTING.md."""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("timeline", "adapters", "sidecars")
OUTSIDE = (*PACKAGES, "tests", "benchmarks", "docs", "plugins")

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 500

BANNED_WORDS = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}

PRINTERS = ("timeline/cli/", "timeline/demo")
"""Where text may be written for a person to read."""

TOP_LEVEL_HANDLERS: frozenset[str] = frozenset(
    {
        "timeline/cli/__init__.py",
        # One hook, job or host's session must not end those of the others in the daemon.
        "timeline/daemon/desk.py",
        "timeline/daemon/program.py",
        "timeline/daemon/worker.py",
        "timeline/mcp_server/serving.py",
        "timeline/mcp_server/session.py",
    }
)
"""Where the last handler of a process stands, or of a thread of the daemon: nothing else may catch everything."""

CLOCK = "timeline/clock.py"
FILES = ("timeline/files.py", "sidecars/store.py")

BANNED_CALLS: dict[str, tuple[tuple[str, ...], str]] = {
    "print": (PRINTERS, "return a value; timeline/cli shows it"),
    "open": (FILES, "timeline.files, or sidecars.store for sidecars"),
    "io.open": (FILES, "timeline.files, or sidecars.store for sidecars"),
    "os.open": (
        (
            *FILES,
            "timeline/source.py",
            "timeline/store.py",
            "timeline/diary.py",
            "timeline/forgetting/journal.py",
            "timeline/launch.py",
            "timeline/lock.py",
            "timeline/processes.py",
            "timeline/terminal.py",
        ),
        "timeline.files, or timeline.source for transcripts",
    ),
    "os.fdopen": (FILES, "timeline.files"),
    # The demonstration plays the host and the agent: their files are not private files of ours.
    "*.read_text": ((*FILES, "timeline/demo.py"), "timeline.files"),
    "*.read_bytes": ((*FILES, "timeline/demo.py"), "timeline.files"),
    "*.write_text": ((*FILES, "timeline/demo.py"), "timeline.files"),
    "*.write_bytes": ((*FILES, "timeline/demo.py"), "timeline.files"),
    "datetime.now": ((CLOCK,), "take a Clock"),
    "datetime.utcnow": ((CLOCK,), "take a Clock"),
    "datetime.today": ((CLOCK,), "take a Clock"),
    "date.today": ((CLOCK,), "take a Clock"),
    "time.time": ((CLOCK,), "take a Clock"),
    "time.time_ns": ((CLOCK,), "take a Clock"),
    "time.monotonic": ((CLOCK,), "take a Clock"),
    "time.monotonic_ns": ((CLOCK,), "take a Clock"),
    "time.sleep": ((CLOCK,), "wait for an event, with a bound"),
    "os.urandom": ((CLOCK,), "take an Entropy"),
    "uuid.uuid4": ((CLOCK,), "take an Entropy"),
    # A simulator is seeded: the same seed writes the same transcript.
    "random.*": (("timeline/simulated_host.py",), "take an Entropy"),
    "secrets.*": ((), "take an Entropy"),
    "*.splitlines": ((), "split bytes on 0x0A: adapters.lines"),
}
"""What may be called only in the named modules, and what to use instead. `*` stands for any object or name."""

UNIMPORTED: frozenset[str] = frozenset({"sidecars.proof", "timeline.hooks"})
"""Modules that nothing here imports: for third parties (offline proofs of one leaf), or run by hosts by their path."""


def python_files(*folders: str) -> list[Path]:
    """Give the Python files of the folders, in a fixed order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name_of(path: Path) -> str:
    """Give the path as it is named in messages and in the lists above."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a file once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_of(path: Path) -> str:
    """Give the dotted name under which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give every function, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def text_files() -> list[Path]:
    """Give every file of the checkout that a person wrote."""
    skipped = {".git", ".venv", ".corpus", "__pycache__", "dist", "build", ".hypothesis"}
    return sorted(
        path
        for path in ROOT.rglob("*")
        if path.is_file()
        and not any(part in skipped or part.endswith("_cache") for part in path.relative_to(ROOT).parts)
        and not path.is_symlink()
    )


# -- sizes and names -------------------------------------------------------------------------------------------


def test_functions_fit_a_screen() -> None:
    """A function holds at most sixty lines, its docstring included."""
    long = [
        f"{name_of(path)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for path in python_files(*OUTSIDE)
        for node in functions(tree_of(path))
        if node.end_lineno is not None and node.end_lineno - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == [], "\n".join(long)


def test_modules_hold_one_thing() -> None:
    """A module holds at most five hundred lines."""
    sizes = {name_of(path): path.read_bytes().count(b"\n") for path in python_files(*OUTSIDE)}
    assert {name: size for name, size in sizes.items() if size > MODULE_LINES_MAX} == {}


def test_names_say_what_a_thing_is() -> None:
    """No module and no class is named for being of use somehow."""
    found = []
    for path in python_files(*OUTSIDE):
        words = set(path.stem.lower().split("_")) | {folder.lower() for folder in path.parent.parts}
        found += [f"{name_of(path)}: {word}" for word in words & BANNED_WORDS]
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                words = {word.lower() for word in re.findall(r"[A-Z][a-z0-9]*", node.name)}
                found += [f"{name_of(path)}:{node.lineno} {node.name}" for _ in words & BANNED_WORDS]
    assert found == [], "\n".join(found)


# -- effects in their places -----------------------------------------------------------------------------------


def called_name(call: ast.Call) -> str:
    """Give `f`, or `object.method` with `*` where the object is not a plain name."""
    match call.func:
        case ast.Name(id=name):
            return name
        case (
            ast.Attribute(value=ast.Name(id=owner), attr=name)
            | ast.Attribute(value=ast.Attribute(attr=owner), attr=name)
        ):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return f"*.{name}"
    return ""


def banned_calls(tree: ast.AST, file: str) -> list[str]:
    """List the calls of a file that belong elsewhere, each with what to use instead."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = called_name(node)
        owner, _, attribute = name.rpartition(".")
        for spelling in {name, f"{owner}.*", f"*.{attribute}"} if owner else {name}:
            allowed, instead = BANNED_CALLS.get(spelling, (("",), ""))
            if not file.startswith(allowed or ("\0",)):
                found.append(f"{file}:{node.lineno} {name}: {instead}")
    return found


def test_effects_stand_in_their_modules() -> None:
    """Printing, files, time and randomness are reached through the one module that holds each."""
    found = [call for path in python_files(*PACKAGES) for call in banned_calls(tree_of(path), name_of(path))]
    assert found == [], "\n".join(found)


def test_banned_calls_are_not_imported_by_name() -> None:
    """`from time import time` would hide a call from the rule above."""
    modules = {"time", "random", "secrets", "os", "uuid", "io"}
    banned = {name.rpartition(".")[2] for name in BANNED_CALLS if name.partition(".")[0] in modules}
    found = [
        f"{name_of(path)}:{node.lineno} from {node.module} import {alias.name}"
        for path in python_files(*PACKAGES)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.module in modules
        for alias in node.names
        if alias.name in banned or node.module in ("random", "secrets")
    ]
    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("print(1)", 1),
        ("time.time()", 1),
        ("datetime.now(UTC)", 1),
        ("datetime.datetime.now()", 1),
        ("random.choice(x)", 1),
        ("secrets.token_hex()", 1),
        ("text.splitlines()", 1),
        ("f(x).splitlines()", 1),
        ("(a / b).read_bytes()", 1),
        ("clock.now_ms()", 0),
        ("lines.split(b'\\n')", 0),
    ],
)
def test_the_rule_finds_each_spelling(code: str, count: int) -> None:
    """The scan above is itself a thing that can be wrong."""
    assert len(banned_calls(ast.parse(code), "adapters/lines.py")) == count


def test_only_the_last_handler_catches_everything() -> None:
    """A broad `except` hides faults; it raises again after cleaning up, or stands at the top of a process."""
    found = []
    for path in python_files(*PACKAGES):
        if name_of(path) in TOP_LEVEL_HANDLERS:
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler):
                caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
                names = [None if c is None else ast.unparse(c) for c in caught]
                again = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                if {None, "Exception", "BaseException"} & set(names) and not again:
                    found.append(f"{name_of(path)}:{node.lineno}")
    assert found == [], "\n".join(found)


# -- suppressions ----------------------------------------------------------------------------------------------

SUPPRESSION = re.compile(r"#\s*(type:\s*ignore|noqa|pragma)\b")
EXPLAINED = re.compile(
    r"#\s*(?:type:\s*ignore\[[a-z-]+(?:,\s*[a-z-]+)*\]|noqa:\s*[A-Z]+[0-9]+(?:,\s*[A-Z]+[0-9]+)*)"
    r"\s*[^\w\s]{1,2}\s*(?P<reason>\w.*)"
)


def unexplained(source: str) -> list[int]:
    """List the lines whose suppression has no code or no reason."""
    return [
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
        and SUPPRESSION.search(token.string)
        and not ((match := EXPLAINED.search(token.string)) and len(match["reason"]) >= 8)
    ]


def test_each_suppression_has_code_and_reason() -> None:
    """A silenced checker says which rule is silenced, and why."""
    found = {name_of(path): unexplained(path.read_text(encoding="utf-8")) for path in python_files(*OUTSIDE)}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("comment", "fine"),
    [
        ("x = 1  # type: ignore[misc]  # the stub lacks it", True),
        ("x = 1  # noqa: S603 - fixed arguments", True),
        ("x = 1  # type: ignore[misc]", False),
        ("x = 1  # type: ignore", False),
        ("x = 1  # noqa", False),
        ("x = 1  # noqa: S603", False),
        ("x = '# noqa'", True),
    ],
)
def test_a_suppression_without_code_or_reason_is_found(comment: str, *, fine: bool) -> None:
    """Each half is required, and a string is no comment."""
    assert (unexplained(comment + "\n") == []) is fine


# -- dead things -----------------------------------------------------------------------------------------------


def imported_modules(path: Path) -> set[str]:
    """Give every module a file imports; `from a import b` may mean `a.b`."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def test_every_module_is_used() -> None:
    """A module is imported by the program, is an entry point, or is named as a third party's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = {target.partition(":")[0] for target in project["scripts"].values()}
    files = python_files(*PACKAGES)
    used = {name for path in files for name in imported_modules(path)} | entries | UNIMPORTED
    unused = [
        module_of(path)
        for path in files
        if path.name not in ("__init__.py", "__main__.py") and module_of(path) not in used
    ]
    assert unused == [], "\n".join(unused)


def test_every_fixture_folder_is_read_by_a_test() -> None:
    """A folder below fixtures/ whose name no test speaks is dead weight."""
    tests = "\n".join(path.read_text(encoding="utf-8") for path in python_files("tests"))
    folders = {path.parent for path in (ROOT / "fixtures").rglob("*") if path.is_file()}
    tops = {folder.relative_to(ROOT / "fixtures" / "transcripts").parts[0] for folder in folders}
    assert [name for name in sorted(tops) if f'"{name}"' not in tests] == []


# -- what must not be in the repository ------------------------------------------------------------------------

# Written in pieces, so that this file does not find itself.
FOREIGN = {
    "a path of some machine": re.compile(
        "/(?:wo" + "rk|ro" + r"ot)/|/ho" + r"me/[a-z]|/Use" + r"rs/[A-Za-z]"
    ),
    "a package index": re.compile(
        "py" + r"pi\.(?:org|python)|files\.python" + r"hosted|registry\.np" + "mjs"
    ),
    "a mail address": re.compile(r"[\w.+-]+@(?!example\.|users\.noreply)[\w-]+\.(?:com|net|org|io|dev|de)\b"),
    "a private key": re.compile("-----BE" + "GIN [A-Z ]*PRIVATE KEY"),
    "a token": re.compile(
        "gh" + r"[pousr]_[A-Za-z0-9]{30,}|github_" + r"pat_\w{20,}|gl" + r"pat-[\w-]{20,}|xo"
        r"x[abpr]-[\w-]{20,}|AK" + r"IA[0-9A-Z]{16}|\bs" + r"k-[A-Za-z0-9_-]{24,}|np" + r"m_[A-Za-z0-9]{30,}"
        r"|\bey" + r"J[\w-]{12,}\.ey" + r"J[\w-]{12,}\."
    ),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_nothing_personal_is_in_the_repository(what: str) -> None:
    """Sources, documents and fixtures hold no machine's path, index host, address or secret."""
    found = []
    for path in text_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for match in FOREIGN[what].finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{name_of(path)}:{line}")
    assert found == [], "\n".join(found)
