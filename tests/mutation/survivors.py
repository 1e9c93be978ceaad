"""Changes that no test notices, each with the reason why that is so."""

from typing import TypeAlias

Change: TypeAlias = tuple[str, str, str]
"""The function with its module and class; the lines taken out and those put in, each joined by blanks."""

SURVIVORS: dict[Change, str] = {}
