"""What a shell line is, once it is read: commands, how they are joined, and where their output goes.

Values only. ``adapters.objective.shell_reader`` makes them from a text; ``adapters.objective.claims`` says what they
mean for an exit code.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

NULL_DEVICE: Final = "/dev/null"
_DEVICES: Final = ("/dev/", "/proc/")


class Word(msgspec.Struct, frozen=True):
    """One word, quotes removed. ``parameters`` are the names that the shell expands in it, in order.

    ``globbed`` says that it may become other words (a pattern or braces), ``inner`` are its command substitutions:
    what they print is part of the word and not of the output.
    """

    text: str
    parameters: tuple[str, ...] = ()
    globbed: bool = False
    inner: tuple["Sequence", ...] = ()

    @property
    def literal(self) -> bool:
        """Whether the word is its text, whatever the environment is."""
        return not (self.parameters or self.globbed or self.inner)


class Direction(StrEnum):
    """What a redirection does."""

    WRITE = "write"
    APPEND = "append"
    DUPLICATE = "duplicate"
    CLOSE = "close"
    INPUT = "input"


class Redirection(msgspec.Struct, frozen=True):
    """One redirection. ``descriptors`` are those that change; ``source`` is the one duplicated, ``target`` a file."""

    direction: Direction
    descriptors: tuple[int, ...]
    target: Word | None = None
    source: int | None = None


class Simple(msgspec.Struct, frozen=True):
    """A simple command: ``words`` (empty for bare assignments), ``env`` assignments, and its redirections."""

    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...] = ()
    redirections: tuple[Redirection, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as texts."""
        return tuple(word.text for word in self.words)

    def outputs(self) -> tuple[str, str]:
        """Return where standard output and standard error go: ``""`` for the output, else a file's name.

        A device other than the null device, and a target that only the environment knows, count as the output:
        the text may be seen.
        """
        places = {1: "", 2: ""}
        for one in self.redirections:
            place = ""
            if one.direction is Direction.CLOSE:
                place = NULL_DEVICE
            elif one.source is not None:
                place = places.get(one.source, "")
            elif one.target is not None and one.direction is not Direction.INPUT:
                text = one.target.text
                hidden = text == NULL_DEVICE or not text.startswith(_DEVICES)
                place = text if one.target.literal and hidden else ""
            for descriptor in one.descriptors:
                if descriptor in places:
                    places[descriptor] = place
        return places[1], places[2]

    def fresh_file(self) -> str | None:
        """Return the file that standard output replaces, where it is one and nothing else can be in it."""
        place = self.outputs()[0]
        written = any(
            one.direction is Direction.WRITE and one.target is not None and one.target.text == place
            for one in self.redirections
        )
        return place if place not in {"", NULL_DEVICE} and written else None


class Group(msgspec.Struct, frozen=True):
    """``( … )``, ``sh -c TEXT`` (both a shell of their own) or ``{ …; }``. Its output goes where the line's goes."""

    body: "Sequence"
    subshell: bool


class If(msgspec.Struct, frozen=True):
    """``if … then … elif … else … fi``: conditions, and the bodies of which at most one runs."""

    conditions: tuple["Sequence", ...]
    bodies: tuple["Sequence", ...]


class Pipeline(msgspec.Struct, frozen=True):
    """Commands joined by ``|``, at least one; ``negated`` by a leading ``!``."""

    parts: tuple["Simple | Group | If", ...]
    negated: bool = False


class AndOr(msgspec.Struct, frozen=True):
    """Pipelines joined by ``&&`` (``True``) or ``||`` (``False``), read from the left."""

    first: Pipeline
    rest: tuple[tuple[bool, Pipeline], ...] = ()


class Step(msgspec.Struct, frozen=True):
    """One element of a sequence, and whether it is put into the background."""

    command: AndOr
    background: bool = False


class Sequence(msgspec.Struct, frozen=True):
    """What ``;``, ``&`` and newlines separate; at least one element."""

    steps: tuple[Step, ...]

    def simples(self) -> Iterator[Simple]:
        """Yield every simple command in it, in the order of the text, substitutions left out."""
        for step in self.steps:
            for pipeline in (step.command.first, *(part for _, part in step.command.rest)):
                for part in pipeline.parts:
                    match part:
                        case Simple():
                            yield part
                        case Group():
                            yield from part.body.simples()
                        case If():
                            for sequence in (*part.conditions, *part.bodies):
                                yield from sequence.simples()


def base_name(program: str) -> str:
    """Return the last component of a program's path, a Windows ``.exe``, ``.cmd`` or ``.bat`` ending removed."""
    name = program.replace("\\", "/").rsplit("/", 1)[-1]
    return name.removesuffix(".exe").removesuffix(".cmd").removesuffix(".bat")
