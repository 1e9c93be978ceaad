"""The documents say what the program does: compared with the commands, errors, dependencies and folders."""

import importlib
import importlib.util
import inspect
import re
import tomllib
from collections import Counter
from enum import IntEnum
from pathlib import Path
from types import ModuleType

import click
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROSE = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

GLOSSARY = (
    "transcript, host, adapter, source, record, event, card, defect, sidecar, envelope, binding, route, scope, "
    "enrollment, receipt, permit, transport capability, capture, log, generation, leaf, tree size, root, head, "
    "checkpoint, note, signature line, key name, key id, origin, witness, cosignature, monitor, anchor, "
    "inclusion proof, consistency proof, rollback, freeze, equivocation, assurance level, assertion, "
    "evidence kind, proposed, established, fact, conflict, proposal, stale, confirmed, assumption, "
    "contradictory, superseded, supersedes, resolution, decision, verdict, grade, independent, valid time, "
    "recorded time, mediator, outcome, redaction, projection, cursor, continuation, decision witness, report"
).split(", ")

# Generated from code, or a licence: not prose of ours.
GENERATED = {DOCS / "cli.md", DOCS / "errors.md"}


def load(script: str) -> ModuleType:
    """Import one of the scripts in docs/ by its path."""
    spec = importlib.util.spec_from_file_location(f"docs_{script}", DOCS / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def require(module: str) -> ModuleType:
    """Import a module of the program; skip while its file does not exist, fail when it exists and is broken."""
    place = ROOT.joinpath(*module.split("."))
    if not (place / "__init__.py").is_file() and not place.with_suffix(".py").is_file():
        pytest.skip(f"{module} is not written yet")
    return importlib.import_module(module)


def commands() -> list[tuple[click.Command, click.Context]]:
    """Give every command of every program with its context."""
    require("timeline.cli")
    generate = load("generate_cli")
    return [
        found
        for name, root in generate.find_programs().items()
        for found in generate.walk(root, generate.open_context(root, name))
    ]


def code_blocks(text: str) -> list[str]:
    """Give the lines inside fenced blocks."""
    return [
        line
        for block in re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for line in block.split("\n")
    ]


# -- commands --------------------------------------------------------------------------------------------------


def test_cli_page_is_what_the_commands_say() -> None:
    """docs/cli.md is the real help text; `make fix` writes it again."""
    require("timeline.cli")
    generate = load("generate_cli")
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == generate.render()


def test_every_command_and_option_explains_itself() -> None:
    """No command and no option is without help."""
    silent = []
    for command, context in commands():
        if not command.help:
            silent.append(context.command_path)
        options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
        silent += [f"{context.command_path} {option.opts[0]}" for option in options if not option.help]
    assert silent == []


def test_every_command_and_option_is_in_the_page() -> None:
    """The page names each command as a heading and each option in its text."""
    found = commands()
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    missing = []
    for command, context in found:
        section = page.partition(f"## {context.command_path}\n")[2].partition("\n## ")[0]
        options = [p.opts[0] for p in command.params if isinstance(p, click.Option) and not p.hidden]
        missing += [f"{context.command_path} {name}" for name in ("Usage:", *options) if name not in section]
    assert missing == []


# -- errors ----------------------------------------------------------------------------------------------------

ERROR_MODULES = ("timeline.errors", "adapters.errors", "sidecars.errors")


def test_errors_page_is_what_the_classes_say() -> None:
    """docs/errors.md lists every reason code of the three packages; `make fix` writes it again."""
    for module in ERROR_MODULES:
        require(module)
    assert (DOCS / "errors.md").read_text(encoding="utf-8") == load("generate_errors").render()


@pytest.mark.parametrize("package", ["timeline", "adapters", "sidecars"])
def test_every_error_class_has_a_reason_of_its_own(package: str) -> None:
    """A reason code is kebab-case, stands on one class of its package only, and is explained."""
    require(f"{package}.errors")
    classes = load("generate_errors").error_classes(package)
    reasons = Counter(str(vars(error).get("reason")) for error in classes)
    assert [
        reason
        for reason, count in reasons.items()
        if count > 1 or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|[a-z]+", reason)
    ] == []
    assert [error.__name__ for error in classes if not inspect.cleandoc(error.__doc__ or "")] == []


def test_every_exit_code_is_documented() -> None:
    """The exit codes in docs/errors.md are those of the program's `ExitCode`, no more and no fewer."""
    require("timeline.cli")
    generate = load("generate_errors")
    generate.import_all("timeline")
    enums = {
        enum
        for enum in IntEnum.__subclasses__()
        if enum.__name__ == "ExitCode" and enum.__module__.startswith("timeline.")
    }
    assert len(enums) == 1, "timeline.cli needs one IntEnum named ExitCode"
    assert {int(code) for code in enums.pop()} == set(generate.EXIT_CODES)


# -- dependencies, glossary, decisions -------------------------------------------------------------------------


def table_names(page: str) -> list[str]:
    """Give the first cell of every table row, without backquotes."""
    rows = re.findall(r"^\| ([^|]+?) \|", page, re.MULTILINE)
    return [row.strip("`* ") for row in rows]


def test_every_dependency_has_a_reason() -> None:
    """docs/dependencies.md and pyproject.toml name the same distributions."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = data["project"]
    wanted = [*project["dependencies"], *data["build-system"]["requires"]]
    wanted += [need for extra in project["optional-dependencies"].values() for need in extra]
    names = {re.match(r"[A-Za-z0-9._-]+", need)[0].lower() for need in wanted}  # type: ignore[index]  # a name comes first
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    assert set(table_names(page)) - {"distribution"} == names


def test_glossary_settles_each_word_once() -> None:
    """Every word that the code and documents use in a fixed sense has one row."""
    words = Counter(table_names((DOCS / "glossary.md").read_text(encoding="utf-8")))
    assert [word for word in GLOSSARY if word not in words] == []
    assert [word for word, count in words.items() if count > 1 and word != "word"] == []


def test_decisions_are_numbered_and_complete() -> None:
    """Each decision record has the template's four parts, and no number is missing or used twice."""
    records = sorted((DOCS / "adr").glob("[0-9]*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    parts = ["## Context", "## Options", "## Decision", "## What it costs"]
    for record in records:
        headings = re.findall(r"^## .*$", record.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings == parts, record.name


# -- prose -----------------------------------------------------------------------------------------------------


def test_every_command_in_the_readme_exists() -> None:
    """What the README tells a newcomer to type is a make target or a command."""
    lines = [
        line.removeprefix("$ ") for line in code_blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    ]
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    used = {line.split()[1] for line in lines if line.startswith("make ")}
    assert {"demo", "test"} <= used
    assert used - targets == set()
    typed = {line for line in lines if line.startswith("timeline ")}
    if typed:
        known = {context.command_path for _, context in commands()}
        assert [line for line in typed if " ".join(line.split()[:2]) not in known] == []


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    """A relative link names a file that exists."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", text)
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "page",
    [page for page in PROSE if page not in GENERATED],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_prose_has_one_sentence_a_line(page: Path) -> None:
    """A line ends where its sentence ends, so that a change shows as the sentence it changes."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "code", text)
    text = re.sub(r"^ *[0-9]+\. ", "", text, flags=re.MULTILINE)
    lines = [line for line in text.split("\n") if not line.startswith("|")]
    assert [line for line in lines if re.search(r"[a-z0-9)*_][.!?] +[A-Z]", line)] == []


def _named_in(source: str) -> list[list[str]]:
    """The words behind `timeline` of each command that a text of the program names."""
    joined = re.sub(r'"\s*\n\s*f?"', "", source)
    return [found.split() for found in re.findall(r"`timeline ([a-z][a-z -]*[a-z])", joined)]


def test_every_command_that_the_program_names_is_one() -> None:
    """A hint that names a command which does not exist leaves its reader nowhere."""
    paths = {tuple(context.command_path.split()[1:]) for _, context in commands()}
    groups = {path[:-1] for path in paths if len(path) > 1}
    wrong = []
    for file in (ROOT / "timeline").rglob("*.py"):
        for words in _named_in(file.read_text(encoding="utf-8")):
            command = tuple(words[:1])
            if command in groups and len(words) > 1:
                command = tuple(words[:2])
            if command not in paths:
                wrong.append(f"{file.relative_to(ROOT)}: timeline {' '.join(words)}")
    assert wrong == []
