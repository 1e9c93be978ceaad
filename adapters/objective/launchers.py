"""Programs that start another program, and package scripts: what stands in front of a runner.

A launcher is removed only together with options that are known here; an unknown option stops the reading, since
it could take the next word as its value or do something else.
"""

import re

import msgspec

from adapters.objective.recogniser import LazyPattern, Start, Started
from adapters.objective.shell import base_name

Words = tuple[str, ...]

MAX_LAUNCHERS = 8
"""How many launchers may stand in front of a program; real command lines have at most three."""

_PYTHON = LazyPattern(r"(?:python|pypy)(?:[23](?:\.[0-9]{1,2})?)?")
_PYTHON_FLAGS = LazyPattern(r"-[bBdEIOPqsSuvx]+")
_PYTHON_VALUE_FLAGS = frozenset({"-W", "-X"})
_TEST_SCRIPT = LazyPattern(
    r"(?:[\w.-]{1,60}[:_-])?(?:tests?|check|ci|unit|e2e|spec|coverage)(?:[:_.-][\w:.-]{1,60})?"
)
_CHECK_SCRIPT = LazyPattern(
    r"(?:[\w.-]{1,60}[:_-])?(?:lint|typecheck|type-check|types|tsc|build|compile|check|verify|mypy|ruff|eslint"
    r"|clippy|vet)(?:[:_.-][\w:.-]{1,60})?"
)
_QUIET_SCRIPT = LazyPattern(
    r"(?:[\w.-]{1,60}[:_-])?(?:fmt|format|prettier|clean|install|setup|deps|sync|generate|codegen|bootstrap)"
    r"(?:[:_.-][\w:.-]{1,60})?"
)
_NO_END = LazyPattern(r"(?:.*[:_.-])?(?:watch|dev|ui|serve|debug)(?:[:_.-].*)?")
_DURATION = LazyPattern(r"[0-9]{1,9}(?:\.[0-9]{1,9})?[smhd]?")
_BARE_TEST = LazyPattern(r"t|tst|test(?:[:_-][\w:.-]{1,60})?")
_SUFFIX = re.compile(r"@[\w.^~-]{1,40}$")
_ASSIGNMENT = LazyPattern(r"(?s:[A-Za-z_][A-Za-z0-9_]*=.*)")
_MAKE_NEVER = frozenset(
    "-n --just-print --dry-run --recon -q --question -p --print-data-base -t --touch -h --help -v --version".split()
)


class Launcher(msgspec.Struct, frozen=True):
    """A program whose remaining words, after ``verbs`` and known options, are another command.

    ``verbs`` are the accepted first arguments (``()`` for none); ``flags`` stand alone, ``value_flags`` take the
    next word. Options are accepted before and after the verb.
    """

    program: str
    verbs: tuple[Words, ...]
    flags: frozenset[str] = frozenset()
    value_flags: frozenset[str] = frozenset()

    def rest(self, words: Words) -> Words | None:
        """Return the launched words, or ``None`` where this is not such a launch."""
        at = self.after_options(words, 1)
        verb = next((verb for verb in self.verbs if words[at : at + len(verb)] == verb), None)
        if verb is None:
            return None
        at = self.after_options(words, at + len(verb))
        if words[at : at + 1] == ("--",):
            at += 1
        return words[at:] or None

    def after_options(self, words: Words, at: int) -> int:
        """Return the index of the first word from ``at`` on that is no known option."""
        while at < len(words):
            if words[at] in self.value_flags:
                at += 2
            elif words[at] in self.flags or words[at].partition("=")[0] in self.value_flags:
                at += 1
            else:
                break
        return at


def _launcher(program: str, verbs: str, flags: str = "", value_flags: str = "") -> Launcher:
    split_verbs = tuple(tuple(verb.split()) for verb in verbs.split("|"))
    return Launcher(program, split_verbs, frozenset(flags.split()), frozenset(value_flags.split()))


_PNPM_FLAGS = "-r --recursive -s --silent --workspace-root -w --if-present --stream"
_PNPM_VALUES = "--filter -F -C --dir --reporter --loglevel --workspace-concurrency"
_NPM_FLAGS = (
    "-s --silent --yes -y --no-install --no -q --quiet --if-present -ws --workspaces --include-workspace-root"
)
_NPM_VALUES = "-w --workspace --prefix -p --package --loglevel"
_YARN_VALUES = "--cwd workspace"
# "yarn workspace NAME …" reads like an option with a value.
_COVERAGE_VALUES = "--source --omit --include --rcfile --context --data-file --concurrency --source-pkgs"

LAUNCHERS: tuple[Launcher, ...] = (
    _launcher("env", ""),
    _launcher("command", ""),
    _launcher("exec", ""),
    _launcher("nice", "", value_flags="-n"),
    _launcher("ionice", "", "-t", "-c -n"),
    _launcher("time", "", "-p"),
    _launcher("timeout", "", "--foreground --preserve-status -v --verbose", "-k --kill-after -s --signal"),
    _launcher("gtimeout", "", "--foreground --preserve-status -v --verbose", "-k --kill-after -s --signal"),
    _launcher("stdbuf", "", "-oL -o0 -eL -e0 -iL -i0", "-o -e -i"),
    _launcher("xvfb-run", "", "-a --auto-servernum", "-s --server-args -n --server-num"),
    _launcher("dbus-run-session", ""),
    _launcher("cross-env", ""),
    _launcher("c8", "", "--all --check-coverage", "-r --reporter --include --exclude --src"),
    _launcher("nyc", "", "--all --silent --check-coverage", "-r --reporter --include --exclude"),
    _launcher("bundle", "exec", "--keep-file-descriptors", "--gemfile"),
    _launcher("php", "", "", "-d -c"),
    _launcher("ruby", "-S", "", "-I -r"),
    _launcher(
        "uv",
        "run",
        "--frozen --locked --no-sync --quiet -q --all-extras --all-groups --isolated --offline --active --dev"
        " --no-dev --exact --no-project --all-packages --no-progress --no-cache -n -v --verbose",
        "--with --with-editable --with-requirements --python -p --extra --group --only-group --no-group --project"
        " --directory --env-file --package --color --cache-dir",
    ),
    _launcher("poetry", "run", "-q --quiet -n --no-interaction", "-C --directory -P --project"),
    _launcher("pdm", "run", "-q -v -s --site-packages", "-p --project"),
    _launcher("hatch", "run", "-q -v", "-e --env"),
    _launcher("pipenv", "run"),
    _launcher("rye", "run"),
    _launcher("pixi", "run", "--frozen --locked -q", "-e --environment --manifest-path"),
    _launcher("npx", "", _NPM_FLAGS, _NPM_VALUES),
    _launcher("npm", "exec|x", _NPM_FLAGS, _NPM_VALUES),
    _launcher("pnpm", "exec|dlx|", _PNPM_FLAGS, _PNPM_VALUES),
    _launcher("yarn", "exec|dlx|run|", "-s --silent", _YARN_VALUES),
    _launcher("bunx", "", "--bun -y"),
    _launcher("bun", "x|run|", "--bun -y --silent", "--cwd"),
    _launcher(
        "node",
        "",
        "--experimental-vm-modules --no-warnings --enable-source-maps --trace-warnings --expose-gc",
        "--max-old-space-size --import --require -r --loader",
    ),
    _launcher("tsx", ""),
    _launcher("coverage", "run", "--branch -p --parallel-mode -a --append", _COVERAGE_VALUES),
)
"""Programs that run the words after them."""

_MAKE_FLAGS = "-s -k -B -w --silent --no-print-directory --keep-going"
_NAMED_SCRIPTS: tuple[Launcher, ...] = (
    _launcher("npm", "run|run-script", _NPM_FLAGS, _NPM_VALUES),
    _launcher("pnpm", "run", _PNPM_FLAGS, _PNPM_VALUES),
    _launcher("yarn", "run", "-s --silent", _YARN_VALUES),
    _launcher("bun", "run", "--silent --bun", "--cwd --filter"),
    _launcher("mise", "run|r", "-q --quiet -y --yes", "-C --cd -E --env -j --jobs"),
    _launcher("just", "", "-q --quiet", "-f --justfile -d --working-directory"),
    _launcher("make", "", _MAKE_FLAGS, "-C -f -j --directory --file"),
    _launcher("gmake", "", _MAKE_FLAGS, "-C -f -j --directory --file"),
    _launcher("ninja", "", "-v --verbose", "-C -j -k"),
    _launcher("rake", "", "-q -s --silent --quiet", "-f --rakefile"),
    _launcher("composer", "run|run-script|", "-q --quiet --no-interaction -n", "-d --working-dir"),
    _launcher("task", "", "-s --silent", "-t --taskfile -d --dir"),
)
_SEVERAL = frozenset({"make", "gmake", "just", "ninja", "rake", "task"})
"""Programs whose remaining words are each a script."""
_JOBS = LazyPattern(r"-j[0-9]{1,4}")

_BARE_SCRIPTS: tuple[Launcher, ...] = (
    _launcher("npm", "", _NPM_FLAGS, _NPM_VALUES),
    _launcher("pnpm", "", _PNPM_FLAGS, _PNPM_VALUES),
    _launcher("yarn", "", "-s --silent", _YARN_VALUES),
)
"""Package managers that run a script without ``run``; only names that begin with ``test`` are no command of theirs."""

SCRIPT_PROGRAMS = tuple(dict.fromkeys(runner.program for runner in (*_NAMED_SCRIPTS, *_BARE_SCRIPTS)))
"""Programs that start scripts of the project."""

_INTERPRETERS = frozenset({"bash", "bun", "dash", "deno", "ksh", "node", "perl", "ruby", "sh", "tsx", "zsh"})
"""Programs that run a file of the project when their first argument is one."""


def started_by(words: Words) -> tuple[Started, ...]:
    """Return what the words start, from the outermost program to the innermost; empty where nothing is known.

    Each launcher is also a program of its own: the caller looks for a runner among all of them.
    """
    found: list[Started] = []
    for _ in range(MAX_LAUNCHERS):
        if not words or words[0].startswith(("@", "-")):
            break
        name = _SUFFIX.sub("", base_name(words[0]))
        words = (name, *words[1:])
        found.append(Started(Start.PROGRAM, name, words[1:]))
        if _PYTHON.fullmatch(name):
            found.extend(_started_by_python(words))
            break
        if name in _INTERPRETERS and len(words) > 1 and not words[1].startswith("-"):
            found.append(Started(Start.FILE, base_name(words[1]), words[2:]))
        words = _launched(words) or ()
    return tuple(found)


def _launched(words: Words) -> Words | None:
    """Return the command behind the launcher ``words[0]``, ``None`` where that is no launcher."""
    for launcher in LAUNCHERS:
        if launcher.program == words[0] and (rest := launcher.rest(words)):
            return _after_launch(words[0], rest)
    return None


def _after_launch(program: str, rest: Words) -> Words | None:
    """Return what runs, from the words after a launcher and its options."""
    if program in {"env", "cross-env"}:
        while rest and _ASSIGNMENT.fullmatch(rest[0]):
            rest = rest[1:]
    elif program in {"timeout", "gtimeout"}:
        return rest[1:] if _DURATION.fullmatch(rest[0]) else None
    elif (program == "uv" and rest[0] in {"-m", "--module"}) or (program == "coverage" and rest[0] == "-m"):
        return ("python", "-m", *rest[1:])
    return rest


def _started_by_python(words: Words) -> tuple[Started, ...]:
    """Return ``-m MODULE …`` or ``FILE …`` of a Python interpreter; nothing for any other use."""
    at = 1
    while at < len(words):
        if words[at] == "-m":
            return _started_by_module(words[at + 1 :])
        if words[at] in _PYTHON_VALUE_FLAGS:
            at += 2
        elif _PYTHON_FLAGS.fullmatch(words[at]) or words[at][:2] in _PYTHON_VALUE_FLAGS:
            at += 1
        else:
            break
    if at >= len(words) or words[at].startswith("-"):
        return ()
    return (Started(Start.FILE, base_name(words[at]), words[at + 1 :]),)


def _started_by_module(words: Words) -> tuple[Started, ...]:
    """Return the module, and for ``coverage`` what it runs."""
    if not words:
        return ()
    found = Started(Start.MODULE, words[0], words[1:])
    launched = _launched(words) if words[0] == "coverage" else None
    return (found, *started_by(launched)) if launched else (found,)


def project_scripts(words: Words) -> tuple[str, ...]:
    """Return the names of the project's scripts that the words run; only ``make`` and its like run several."""
    words = (base_name(words[0]), *words[1:])
    if words[0] in _SEVERAL and _MAKE_NEVER.intersection(words):
        return ()
    for runner in _NAMED_SCRIPTS:
        if words[0] == runner.program and (rest := runner.rest(words)):
            if words[0] in _SEVERAL:
                rest = tuple(word for word in rest if "=" not in word and not _JOBS.fullmatch(word))
                return () if any(word.startswith("-") for word in rest) else rest
            return rest[:1]
    for runner in _BARE_SCRIPTS:
        if words[0] == runner.program and (rest := runner.rest(words)) and _BARE_TEST.fullmatch(rest[0]):
            return rest[:1]
    return ()


def tests_something(script: str) -> bool:
    """Say whether a script's name promises tests and an end, as ``test``, ``test:unit``, ``check`` do."""
    return script in {"t", "tst"} or (_TEST_SCRIPT.fullmatch(script) is not None and not _never_ends(script))


def checks_something(script: str) -> bool:
    """Say whether a script's name promises a verdict of a build, type checker or linter."""
    return _CHECK_SCRIPT.fullmatch(script) is not None and not _never_ends(script)


def is_quiet(script: str) -> bool:
    """Say whether a script's name promises work that reports no tests, as ``format`` and ``clean`` do."""
    return _QUIET_SCRIPT.fullmatch(script) is not None and not _never_ends(script)


def _never_ends(script: str) -> bool:
    return _NO_END.fullmatch(script) is not None
