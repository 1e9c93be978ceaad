"""docs/world.md shows what the commands print: each block is typed again and compared."""

import re
import shlex
from pathlib import Path

import pytest

from tests.world.commands.speaking import Owner

_HEX = re.compile(r"\b[0-9a-f]{32}\b")


def typed(page: str) -> list[tuple[list[str], str]]:
    """The commands of a page, in its order, each with what it prints."""
    found: list[tuple[list[str], str]] = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for command in block.removeprefix("$ ").split("\n$ "):
            line, _, printed = command.partition("\n")
            found.append((shlex.split(line), printed if printed.endswith("\n") else f"{printed}\n"))
    return found


@pytest.mark.requirement("W18", "W26")
def test_the_page_shows_what_the_commands_print(
    owner: Owner, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the digits of ids; a file that it shows is there."""
    monkeypatch.chdir(tmp_path)
    commands = typed((root / "docs" / "world.md").read_text(encoding="utf-8"))
    assert len(commands) == 17
    for (program, *arguments), printed in commands:
        if program == "cat":
            Path(arguments[0]).write_text(printed, encoding="utf-8")
            continue
        assert program == "timeline"
        code, out, err = owner.types(*arguments)
        assert (code, err) == (0, ""), arguments
        assert _HEX.sub("ID", out) == _HEX.sub("ID", printed), arguments
