"""Programs that start another program, and package scripts: what stands in front of a runner.

A launcher is removed only together with options that are known here; an unknown option stops the reading, since
it could take the next word as its value or do something else.
"""

import re

import msgspec

from adapters.objective.command import base_name
from adapters.objective.recogniser import Start, Started

Words = tuple[str, ...]

MAX_LAUNCHERS = 8
"""How many launchers may stand in front of a program; real command lines have at most three."""

_PYTHON = re.compile(r"(?:python|pypy)(?:[23](?:\.[0-9]{1,2})?)?")
_PYTHON_FLAGS = re.compile(r"-[bBdEIOPqsSuvx]+")
_PYTHON_VALUE_FLAGS = frozenset({"-W", "-X"})
_TEST_SCRIPT = re.compile(
    r"(?:[\w.-]{1,60}[:_-])?(?:tests?|check|ci|unit|e2e|spec|coverage)(?:[:_.-][\w:.-]{1,60})?"
)
_BARE_TEST = re.compile(r"t|tst|test(?:[:_-][\w:.-]{1,60})?")
_SUFFIX = re.compile(r"@[\w.^~-]{1,40}$")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
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

LAUNCHERS: tuple[Launcher, ...] = (
    _launcher("env", ""),
    _launcher("command", ""),
    _launcher("exec", ""),
    _launcher("nice", "", value_flags="-n"),
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
)
"""Programs that run the words after them."""

_NAMED_SCRIPTS: tuple[Launcher, ...] = (
    _launcher("npm", "run|run-script", _NPM_FLAGS, _NPM_VALUES),
    _launcher("pnpm", "run", _PNPM_FLAGS, _PNPM_VALUES),
    _launcher("yarn", "run", "-s --silent", _YARN_VALUES),
    _launcher("bun", "run", "--silent --bun", "--cwd --filter"),
    _launcher("mise", "run|r", "-q --quiet -y --yes", "-C --cd -E --env -j --jobs"),
    _launcher("just", "", "-q --quiet", "-f --justfile -d --working-directory"),
    _launcher(
        "make", "", "-s -k -B -w --silent --no-print-directory --keep-going", "-C -f -j --directory --file"
    ),
)
_BARE_SCRIPTS: tuple[Launcher, ...] = (
    _launcher("npm", "", _NPM_FLAGS, _NPM_VALUES),
    _launcher("pnpm", "", _PNPM_FLAGS, _PNPM_VALUES),
    _launcher("yarn", "", "-s --silent", _YARN_VALUES),
)
"""Package managers that run a script without ``run``; only names that begin with ``test`` are no command of theirs."""

_INTERPRETERS = frozenset({"bash", "bun", "dash", "deno", "ksh", "node", "perl", "ruby", "sh", "zsh"})
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
            if words[0] == "env":
                while rest and _ASSIGNMENT.fullmatch(rest[0]):
                    rest = rest[1:]
            elif words[0] == "uv" and rest[0] in {"-m", "--module"}:
                rest = ("python", "-m", *rest[1:])
            return rest
    return None


def _started_by_python(words: Words) -> tuple[Started, ...]:
    """Return ``-m MODULE …`` or ``FILE …`` of a Python interpreter; nothing for any other use."""
    at = 1
    while at < len(words):
        if words[at] == "-m":
            return (Started(Start.MODULE, words[at + 1], words[at + 2 :]),) if at + 1 < len(words) else ()
        if words[at] in _PYTHON_VALUE_FLAGS:
            at += 2
        elif _PYTHON_FLAGS.fullmatch(words[at]) or words[at][:2] in _PYTHON_VALUE_FLAGS:
            at += 1
        else:
            break
    if at >= len(words) or words[at].startswith("-"):
        return ()
    return (Started(Start.FILE, base_name(words[at]), words[at + 1 :]),)


def project_script(words: Words) -> str | None:
    """Return the name of the project's script that the words run, or ``None``."""
    words = (base_name(words[0]), *words[1:])
    if words[0] == "make" and _MAKE_NEVER.intersection(words):
        return None
    for runner in _NAMED_SCRIPTS:
        if words[0] == runner.program and (rest := runner.rest(words)):
            if words[0] == "make":
                rest = tuple(word for word in rest if "=" not in word)
            if rest:
                return rest[0]
    for runner in _BARE_SCRIPTS:
        if words[0] == runner.program and (rest := runner.rest(words)) and _BARE_TEST.fullmatch(rest[0]):
            return rest[0]
    return None


def tests_something(script: str) -> bool:
    """Say whether a script's name promises tests, as ``test``, ``test:unit``, ``check``, ``unit-tests`` do."""
    return script in {"t", "tst"} or _TEST_SCRIPT.fullmatch(script) is not None
