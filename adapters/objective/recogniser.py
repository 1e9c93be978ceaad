"""What a recogniser is: how a runner's command looks, and how its closing summary is read.

A recogniser is one value of ``Recogniser``, one module of ``adapters.objective.runners`` and one entry of its
table. It says what the text *states*; whether that is believed is decided in ``adapters.objective.outcome``.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from adapters.objective.text import Text


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
    CHECK = "check"


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
    """How the start of a runner looks: its name, what it must be told, and what rules it out.

    ``programs`` and ``modules`` are exact names; ``name_parts`` accepts any start whose name holds one of them.
    ``subcommands`` must come first, after options, where those in ``value_options`` take the next word; ``then`` must
    follow it in the same way. ``goals`` are words of which one must be among the arguments that are no options, by its
    last part after a colon. ``required`` are options of which one must stand before the first such argument.
    ``never`` are the options with which nothing is run or the run never ends (the part before ``=`` is compared,
    anywhere in the arguments; ``=false`` takes an option back); ``never_first`` are first arguments that do something
    else. ``options_variable`` names the environment variable from which the runner reads more options.
    """

    programs: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    name_parts: tuple[str, ...] = ()
    subcommands: frozenset[str] = frozenset()
    then: frozenset[str] = frozenset()
    goals: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    value_options: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    never_first: frozenset[str] = frozenset()
    options_variable: str | None = None

    def names(self, started: Started) -> bool:
        """Say whether the name is this runner's."""
        match started.start:
            case Start.PROGRAM:
                named = started.name in self.programs
            case Start.MODULE:
                named = started.name in self.modules
            case Start.FILE:
                named = False
        return named or any(part in started.name.lower() for part in self.name_parts)

    def runs(self, started: Started) -> bool:
        """Say whether this start runs something and reports it."""
        if not self.names(started) or self.rules_out(started.arguments):
            return False
        words = plain_arguments(started.arguments, self.value_options)
        if self.subcommands and (not words or words[0] not in self.subcommands):
            return False
        if self.then and (len(words) < 2 or words[1] not in self.then):
            return False
        if self.goals and self.goals.isdisjoint(word.rpartition(":")[2] for word in words):
            return False
        if self.required and self.required.isdisjoint(_before(started.arguments, words[:1])):
            return False
        return not words or words[0] not in self.never_first

    def rules_out(self, arguments: Sequence[str]) -> bool:
        """Say whether an option makes the runner do something else than run and end."""
        return any(
            argument.partition("=")[0] in self.never and not argument.endswith("=false")
            for argument in arguments
        )


def _before(arguments: tuple[str, ...], first: tuple[str, ...]) -> tuple[str, ...]:
    return arguments[: arguments.index(first[0])] if first else arguments


def plain_arguments(arguments: Sequence[str], value_options: frozenset[str]) -> tuple[str, ...]:
    """Return the words that are neither options nor the value of one in ``value_options``."""
    found: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument.startswith(("-", "+")):
            skip = argument in value_options
        else:
            found.append(argument)
    return tuple(found)


class Summary(msgspec.Struct, frozen=True):
    """What a runner's closing lines state. ``None`` means that the runner does not print that number.

    ``last_line`` is where the last line that belongs to the summary begins (``Text``). ``broken`` counts what failed
    outside tests (a file that did not load). ``sound`` is false where the statement contradicts itself, ``whole``
    where a part of it is visibly missing. ``says_ok`` is the runner's own word, where it has one.
    """

    last_line: int
    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None
    warnings: int | None = None
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
        numbers = (
            self.passed,
            self.failed,
            self.errors,
            self.skipped,
            self.warnings,
            self.total,
            self.broken,
        )
        return (*numbers, self.packages_ok, self.packages_failed, self.label, self.says_ok, self.sound)


class Recogniser(msgspec.Struct, frozen=True):
    """One reviewed runner.

    ``marks`` are texts of which every line that ``read`` looks for first holds one: a text without them states nothing
    here. ``starts`` are the first two characters, after blanks, of the line that decides (``0`` for any digit), empty
    where it may begin with anything: a script's output is read by those recognisers only whose start occurs. ``read``
    returns every summary found, in order; a runner that prints one per part (``sums``) adds them up
    itself and returns at most one, which needs the whole output. A summary that other tools could print as well is read
    ``only_direct``, where the command names the runner. ``silent`` runners print nothing when all is well.
    ``exit_codes`` gives codes a meaning without a summary, ``interrupted`` are codes with which a clean summary is of
    an unfinished run, and ``counts_failures`` says that the code is the number of failures. For an exit code that is
    in none of them, 0 is success and everything else is failure.
    """

    runner: str
    form: CommandForm
    marks: tuple[str, ...]
    read: Callable[[Text], tuple[Summary, ...]]
    starts: frozenset[str] = frozenset()
    kind: Kind = Kind.TEST_RUN
    sums: bool = False
    only_direct: bool = False
    silent: bool = False
    exit_codes: Mapping[int, Outcome] = msgspec.field(default_factory=dict)
    interrupted: frozenset[int] = frozenset()
    counts_failures: bool = False


def milliseconds(seconds: str) -> int:
    """Return ``seconds`` (decimal digits and at most one point) in whole milliseconds, rounded down."""
    whole, _, fraction = seconds.partition(".")
    return int(whole or "0") * 1_000 + int((fraction + "000")[:3])
