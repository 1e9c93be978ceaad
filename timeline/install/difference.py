"""A change as a unified diff, for a person to look at before it is made. Pure."""

import difflib
import re
from typing import Final

_HUNK: Final = re.compile(r"([-+])(\d+)(?=[, ])")
_CONTEXT: Final = 3
_WIDTH: Final = 400
_LEAD: Final = 60


def difference(path: str, before: bytes | None, after: bytes | None) -> list[str]:
    """The lines of the diff; a long line is cut around the first place where it differs."""
    old, new = _lines(before), _lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    # Only the middle is compared line by line: a host's file may have a hundred thousand of them.
    first = max(0, start - _CONTEXT)
    last = max(0, end - _CONTEXT)
    found = list(
        difflib.unified_diff(
            old[first : len(old) - last],
            new[first : len(new) - last],
            path if before is not None else "/dev/null",
            path if after is not None else "/dev/null",
            n=_CONTEXT,
            lineterm="",
        )
    )
    return _cut([_moved(line, first) for line in found])


def _lines(content: bytes | None) -> list[str]:
    if content is None:
        return []
    lines = content.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}  (no newline at the end)"]


def _moved(line: str, count: int) -> str:
    """A hunk's header with the lines counted that were left out before."""
    if not line.startswith("@@"):
        return line
    return _HUNK.sub(lambda found: f"{found[1]}{int(found[2]) + count}", line)


def _cut(lines: list[str]) -> list[str]:
    removed = next((line[1:] for line in lines[2:] if line.startswith("-")), "")
    added = next((line[1:] for line in lines[2:] if line.startswith("+")), "")
    begin = max(0, _common(removed, added) - _LEAD) if removed and added else 0
    return [_window(line, begin) for line in lines]


def _window(line: str, begin: int) -> str:
    if len(line) <= _WIDTH:
        return line
    head = "…" if begin else ""
    return f"{line[0]}{head}{line[1 + begin : 1 + begin + _WIDTH]}…"


def _common(one: "list[str] | str", other: "list[str] | str") -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
