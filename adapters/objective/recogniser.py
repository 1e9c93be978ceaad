"""What a recogniser is: how a runner's command looks, and how its closing summary is read.

A recogniser is one value of ``Recogniser``, one module of ``adapters.objective.runners`` and one entry of its
table. It says what the text *states*; whether that is believed is decided in ``adapters.objective.outcome``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

MAX_LINE_CHARS = 1_000
"""Longest line that can be a summary: real ones are under 200 characters; bounds every pattern's work."""

_ANSI = re.compile(r"\x1b\[[0-9;:?]{0,32}[A-Za-z]")


class Outcome(StrEnum):
    """How a run ended, as far as it is proved; everything unproved is ``UNKNOWN``."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    TIMEOUT = "timeout"
    BLOCKED = "blocked"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class Kind(StrEnum):
    """What was run."""

    TEST_RUN = "test-run"
    MEASUREMENT = "measurement"


class Flag(StrEnum):
    """Why a result is uncertain, or that the host shortened what was read."""

    MASKED = "masked"
    INCONSISTENT = "inconsistent"
    TRUNCATED = "truncated"
    PARTIAL = "partial"
    CONFLICT = "conflict"


class Start(StrEnum):
    """How a program is started: by its name, as a Python module, or as a file that an interpreter is given."""

    PROGRAM = "program"
    MODULE = "module"
    FILE = "file"


class Started(msgspec.Struct, frozen=True):
    """One program start: ``name`` is a base name (or a module's dotted name), ``arguments`` come after it."""

    start: Start
    name: str
    arguments: tuple[str, ...]


class LazyPattern:
    """A pattern that is compiled at its first use.

    Compiling every runner's patterns costs a short command more than its work; it mostly needs one runner's.
    """

    fullmatch: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Callable[[str], re.Match[str] | None]:
        """Called only while the methods are not set yet."""
        if name not in {"fullmatch", "match", "search"}:
            raise AttributeError(name)
        compiled = re.compile(self._text)
        self.fullmatch, self.match, self.search = compiled.fullmatch, compiled.match, compiled.search
        return getattr(compiled, name)  # type: ignore[no-any-return]  # one of the three


class CommandForm(msgspec.Struct, frozen=True):
    """How the start of a runner looks: its name, its subcommand, and what rules it out.

    ``programs`` and ``modules`` are exact names; ``name_parts`` accepts any start whose name holds one of them.
    ``subcommands`` must come first, after options, where those in ``value_options`` take the next word.
    ``never`` are the options with which nothing is run (the part before ``=`` is compared, anywhere in the
    arguments); ``never_first`` are first arguments that do something else. ``options_variable`` names the
    environment variable from which the runner reads more options.
    """

    programs: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    name_parts: tuple[str, ...] = ()
    subcommands: frozenset[str] = frozenset()
    value_options: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    never_first: frozenset[str] = frozenset()
    options_variable: str | None = None

    def names(self, started: Started) -> bool:
        """Say whether the name is this runner's."""
        if any(part in started.name.lower() for part in self.name_parts):
            return True
        match started.start:
            case Start.PROGRAM:
                return started.name in self.programs
            case Start.MODULE:
                return started.name in self.modules
            case Start.FILE:
                return False

    def runs(self, started: Started) -> bool:
        """Say whether this start runs something and reports it."""
        if not self.names(started) or self.rules_out(started.arguments):
            return False
        first = first_argument(started.arguments, self.value_options)
        if self.subcommands:
            return first in self.subcommands
        return first not in self.never_first

    def rules_out(self, arguments: Sequence[str]) -> bool:
        """Say whether an option makes the runner do something else than run."""
        return any(argument.partition("=")[0] in self.never for argument in arguments)


def first_argument(arguments: Sequence[str], value_options: frozenset[str]) -> str | None:
    """Return the first word that is neither an option nor the value of one in ``value_options``."""
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument.startswith(("-", "+")):
            skip = argument in value_options
        else:
            return argument
    return None


class Summary(msgspec.Struct, frozen=True):
    """What a runner's closing lines state. ``None`` means that the runner does not print that number.

    ``last_line`` is the index of the last line that belongs to the summary. ``broken`` counts what failed outside
    tests (a file that did not load). ``sound`` is false where the statement contradicts itself, ``whole`` where a
    part of it is visibly missing. ``says_ok`` is the runner's own word, where it has one.
    """

    last_line: int
    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    total: int | None = None
    packages_ok: int | None = None
    packages_failed: int | None = None
    duration_ms: int | None = None
    label: str | None = None
    broken: int = 0
    says_ok: bool | None = None
    sound: bool = True
    whole: bool = True

    def counts(self) -> tuple[object, ...]:
        """Return what must be equal for two summaries to state the same."""
        numbers = (self.passed, self.failed, self.errors, self.skipped, self.total, self.broken)
        return (*numbers, self.packages_ok, self.packages_failed, self.label, self.says_ok, self.sound)


class Recogniser(msgspec.Struct, frozen=True):
    """One reviewed runner.

    ``read`` returns every summary found in the lines, in order; a runner that prints one per part (``sums``) adds
    them up itself and returns at most one, which needs the whole output. ``exit_codes`` gives codes a meaning
    without a summary, and ``interrupted`` are codes with which a clean summary is of an unfinished run. For an
    exit code that is in neither, 0 is success and everything else is failure.
    """

    runner: str
    form: CommandForm
    read: Callable[[Sequence[str]], tuple[Summary, ...]]
    kind: Kind = Kind.TEST_RUN
    sums: bool = False
    exit_codes: Mapping[int, Outcome] = msgspec.field(default_factory=dict)
    interrupted: frozenset[int] = frozenset()


def summary_lines(text: str) -> list[str]:
    """Return the lines of ``text`` without colour codes, carriage returns and trailing blanks.

    Lines are split at ``0x0A`` only. A line that is too long to be a summary is emptied, so that indexes stay.
    """
    lines = text.split("\n")
    if len(text) > MAX_LINE_CHARS and max(map(len, lines)) > MAX_LINE_CHARS:
        text = "\n".join("" if len(raw) > MAX_LINE_CHARS else raw for raw in lines)
        lines = text.split("\n")
    if "\x1b" in text:  # once over the whole: a colour code holds no newline
        text = _ANSI.sub("", text)
        lines = text.split("\n")
    return [line.rstrip(" \t\r") for line in lines]


def milliseconds(seconds: str) -> int:
    """Return ``seconds`` (decimal digits and at most one point) in whole milliseconds, rounded down."""
    whole, _, fraction = seconds.partition(".")
    return int(whole or "0") * 1_000 + int((fraction + "000")[:3])
