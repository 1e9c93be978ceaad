"""Our part of a host's TOML file: one MCP server, or hooks. Pure.

A block of ours goes to the end of the file; where the host's table is written inline, which a block cannot extend, the
splice goes inside. The text is parsed before and after, and must differ by our part alone.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Final

import msgspec

from timeline.install.command import find_server, is_hook
from timeline.install.errors import HostFileSyntaxError, HostNameTakenError
from timeline.install.toml_text import (
    Path,
    Statement,
    Toml,
    children,
    cut_child,
    format_value,
    insert_child,
    parse,
    statements,
)

_SERVERS: Final = "mcp_servers"
_HOOKS: Final = "hooks"


class TomlServer(msgspec.Struct, frozen=True):
    """``[mcp_servers.<name>]``: one server of ours."""

    host: str
    name: str
    entry: Mapping[str, Toml]

    def add(self, text: str) -> str:
        """The text with our server; of one that stands there only the command is brought up to date.

        Raises:
            HostFileSyntaxError: not TOML, or another shape than the host's.
            HostNameTakenError: another server has the name.
        """
        before = parse(text)
        found = self._found(before)
        wanted = {**(found or self.entry), **{key: self.entry[key] for key in ("command", "args")}}
        if found == wanted:
            return text
        if found is not None:
            after = text
            for key in ("command", "args"):
                after = _replace(after, (*self._path, key), self.entry[key])
        else:
            after = self._append(text)
        expected = deepcopy(before)
        expected.setdefault(_SERVERS, {})[self.name] = wanted
        _check(after, expected)
        return after

    def remove(self, text: str, *, kept: tuple[Path, ...]) -> str:  # noqa: ARG002  # tables of others stay anyway
        """The text without our server and what the host keeps about it; another one of the name stays.

        Raises:
            HostFileSyntaxError: see ``add``.
        """
        before = parse(text)
        try:
            found = self._found(before)
        except HostNameTakenError:
            return text
        if found is None:
            return text
        after = _drop(text, self._path, marker=marker_of(self.host))
        expected = deepcopy(before)
        del expected[_SERVERS][self.name]
        if not expected[_SERVERS] and _SERVERS not in parse(after):
            del expected[_SERVERS]
        _check(after, expected)
        return after

    def empties(self, text: str) -> tuple[Path, ...]:
        """Whether the table of servers is there and empty."""
        return ((_SERVERS,),) if parse(text).get(_SERVERS) == {} else ()

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the document."""
        return not text.strip()

    def commands(self, text: str) -> tuple[str, ...]:
        """The command of ours that stands in the text."""
        try:
            found = self._found(parse(text))
        except HostNameTakenError:
            return ()
        return () if found is None else (" ".join([found["command"], *found["args"]]),)

    @property
    def _path(self) -> Path:
        return (_SERVERS, self.name)

    def _found(self, document: Toml) -> Toml:
        servers = document.get(_SERVERS, {})
        if not isinstance(servers, dict):
            message = f"{_SERVERS}: must be a table"
            raise HostFileSyntaxError(message)
        return find_server(servers, self.name, self.host)

    def _append(self, text: str) -> str:
        inline = next(
            (s for s in statements(text) if s.path == (_SERVERS,) and s.value_start is not None), None
        )
        if inline is not None and inline.value_start is not None:
            added = f"{self.name} = {format_value(dict(self.entry))}"
            return insert_child(text, inline.value_start, added)
        lines = [f"{key} = {format_value(value)}" for key, value in self.entry.items()]
        return _with_block(text, [marker_of(self.host), f"[{_SERVERS}.{self.name}]", *lines])


class TomlHooks(msgspec.Struct, frozen=True):
    """``[[hooks]]`` with an event each, as Kimi Code and King take them."""

    host: str
    hooks: Sequence[Mapping[str, Toml]]

    def add(self, text: str) -> str:
        """The text with our hooks: what stands there and is the same stays, everything else of ours is written anew.

        Raises:
            HostFileSyntaxError: not TOML, or another shape than the host's.
        """
        before = parse(text)
        found = self._list(before)
        same = [hook for hook in self.hooks if any(_says_the_same(old, hook) for old in found)]
        stale, seen = [], list[Toml]()
        for index, old in enumerate(found):
            hook = next((hook for hook in same if _says_the_same(old, hook) and hook not in seen), None)
            if hook is not None:
                seen.append(hook)
            elif self._is_ours(old):
                stale.append(index)
        missing = [hook for hook in self.hooks if hook not in seen]
        if not stale and not missing:
            return text
        after = self._append(self._cut(text, stale), missing)
        left = [old for index, old in enumerate(found) if index not in stale]
        _check(after, {**before, _HOOKS: [*left, *map(dict, missing)]})
        return after

    def remove(self, text: str, *, kept: tuple[Path, ...]) -> str:  # noqa: ARG002  # tables of others stay anyway
        """The text without our hooks.

        Raises:
            HostFileSyntaxError: see ``add``.
        """
        before = parse(text)
        found = self._list(before)
        ours = [index for index, hook in enumerate(found) if self._is_ours(hook)]
        if not ours:
            return text
        after = self._cut(text, ours)
        left = [hook for hook in found if not self._is_ours(hook)]
        expected = {**before, _HOOKS: left}
        if not left and _HOOKS not in parse(after):
            del expected[_HOOKS]
        _check(after, expected)
        return after

    def empties(self, text: str) -> tuple[Path, ...]:
        """Whether the list of hooks is there and empty."""
        return ((_HOOKS,),) if parse(text).get(_HOOKS) == [] else ()

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the document."""
        return not text.strip()

    def commands(self, text: str) -> tuple[str, ...]:
        """The commands of ours that stand in the text."""
        return tuple(hook["command"] for hook in self._list(parse(text)) if self._is_ours(hook))

    def _is_ours(self, hook: Toml) -> bool:
        return isinstance(hook, dict) and is_hook(hook.get("command"), self.host)

    def _list(self, document: Toml) -> list[Toml]:
        found = document.get(_HOOKS, [])
        if not isinstance(found, list):
            message = f"{_HOOKS}: must be an array of tables"
            raise HostFileSyntaxError(message)
        return found

    def _inline(self, text: str) -> int | None:
        """Where the value of ``hooks = […]`` begins, if it is written so."""
        return next(
            (s.value_start for s in statements(text) if s.path == (_HOOKS,) and s.element is None), None
        )

    def _append(self, text: str, hooks: Sequence[Mapping[str, Toml]]) -> str:
        if not hooks:
            return text
        inline = self._inline(text)
        if inline is not None:
            for hook in hooks:
                text = insert_child(text, inline, format_value(dict(hook)))
            return text
        lines = [marker_of(self.host)]
        for hook in hooks:
            lines += ["[[hooks]]", *(f"{key} = {format_value(value)}" for key, value in hook.items())]
        return _with_block(text, lines)

    def _cut(self, text: str, indexes: Sequence[int]) -> str:
        inline = self._inline(text)
        for index in reversed(indexes):
            if inline is not None:
                text = cut_child(text, inline, index)
            else:
                text = _drop(text, (_HOOKS,), marker=marker_of(self.host), element=index)
        return text


def marker_of(host: str) -> str:
    """The comment before a block of ours; it travels with the block where a host writes the file again."""
    return f"# Timeline: `timeline uninstall {host}` takes this out."


def _says_the_same(found: Toml, hook: Mapping[str, Toml]) -> bool:
    """Whether a hook runs our command for the same event and tools; a timeout that the user has changed stays."""
    return isinstance(found, dict) and all(
        found.get(key) == hook.get(key) for key in ("event", "command", "matcher")
    )


def _with_block(text: str, lines: Sequence[str]) -> str:
    """The text with lines of their own at its end, after one empty line."""
    newline = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    joint = "" if not text or text.endswith("\n") else newline
    return text + joint + (newline if text else "") + newline.join(lines) + newline


def _replace(text: str, path: Path, value: Toml) -> str:
    """The text with another value at ``path``, however its tables are written.

    Raises:
        HostFileSyntaxError: no value stands there.
    """
    for statement in statements(text):
        start, end, rest = statement.value_start, statement.value_end, path[len(statement.path) :]
        if start is None or end is None or path[: len(statement.path)] != statement.path:
            continue
        while rest:
            held = next((c for c in children(text, start) if rest[: len(c.path)] == c.path), None)
            if held is None:
                break
            start, end, rest = held.start, held.end, rest[len(held.path) :]
        if not rest:
            return text[:start] + format_value(value) + text[end:]
    message = f"{'.'.join(path)}: written in a way that is not edited here"
    raise HostFileSyntaxError(message)


def _drop(text: str, path: Path, *, marker: str, element: int | None = None) -> str:
    """The text without the table at ``path`` and all below it, or without one element of an array of tables.

    Comments of others between our lines stay; our own marker goes with the empty line before it.
    """
    doomed: list[Statement] = []
    inside = False
    for statement in statements(text):
        if statement.value_start is None:
            below = statement.path[: len(path)] == path
            inside = below and (statement.element == element or (len(statement.path) > len(path) and inside))
        if inside if element is not None else statement.path[: len(path)] == path:
            doomed.append(statement)
    for statement in statements(text) if not doomed else ():
        start = statement.value_start
        if start is not None and path[: len(statement.path)] == statement.path:
            rest = path[len(statement.path) :]
            held = children(text, start)
            index = next((i for i, child in enumerate(held) if child.path == rest), None)
            if index is not None:
                return cut_child(text, start, index)
    for statement in reversed(doomed):
        text = text[: _with_marker(text, statement.start, marker)] + text[statement.end :]
    return text


def _with_marker(text: str, start: int, marker: str) -> int:
    """Where to cut so that our marker goes too, if it stands right before, and the empty line before that."""
    above = text.rfind("\n", 0, start - 1) + 1 if start else 0
    if text[above:start].strip() != marker:
        return start
    blank = text.rfind("\n", 0, above - 1) + 1 if above else 0
    return blank if above and not text[blank:above].strip() else above


def _check(text: str, expected: Toml) -> None:
    """Refuse a splice that changed more than our part.

    Raises:
        HostFileSyntaxError: it did.
    """
    if parse(text) != expected:
        message = "the document: written in a way that cannot be changed safely"
        raise HostFileSyntaxError(message)
