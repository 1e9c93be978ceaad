"""Our part of a host's JSON file: hook groups by event, or one MCP server. Pure.

What the text must mean afterwards is worked out on parsed values, apart from the splice; where the two differ, nothing
is changed.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Final

import msgspec

from timeline.install.command import find_server, is_hook
from timeline.install.errors import HostFileSyntaxError, HostNameTakenError
from timeline.install.json_text import Json, Path, cut, parse, put

_HOOKS: Final = "hooks"
_BARE: Final = "{}\n"


class JsonHooks(msgspec.Struct, frozen=True):
    """``{"hooks": {Event: [group, …]}}``: one group of ours at the end of each event that we hear."""

    host: str
    groups: Mapping[str, Json]

    def add(self, text: str) -> str:
        """The text with our groups, each where one of ours stood, else last.

        Raises:
            HostFileSyntaxError: not strict JSON, or another shape than the host's.
        """
        text = text if text.strip() else _BARE
        before = _document(text)
        keepers = {path[1]: path for path in reversed(self._ours(before)) if _is_whole(before, path)}
        surplus = [
            path for path in self._ours(before) if path[1] not in self.groups or keepers.get(path[1]) != path
        ]
        after = _cut(text, surplus, kept=self.empties(text))
        for event, group in self.groups.items():
            document = parse(after)
            ours = next((path for path in self._ours(document) if path[1] == event), None)
            groups = _at(document, (_HOOKS, event), [])
            last = len(groups) if isinstance(groups, list) else 0
            place = last if ours is None else ours[2]
            if ours is None or not _says_the_same(_at(document, ours[:3]), group):
                after = put(after, (_HOOKS, event, place), group)
        _check(after, self._expected(before, self.groups))
        return after

    def remove(self, text: str, *, kept: tuple[Path, ...]) -> str:
        """The text without anything of ours; what gets empty goes too, but for the ``kept`` paths.

        Raises:
            HostFileSyntaxError: see ``add``.
        """
        if not text.strip():
            return text
        before = _document(text)
        after = _cut(text, self._ours(before), kept=kept)
        _check(after, self._expected(before, {}))
        return after

    def empties(self, text: str) -> tuple[Path, ...]:
        """The containers on our way that are there and empty: removing ours must leave them."""
        hooks = _document(text).get(_HOOKS) if text.strip() else None
        if hooks == {}:
            return ((_HOOKS,),)
        return tuple((_HOOKS, event) for event, groups in (hooks or {}).items() if groups == [])

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the document."""
        return not text.strip() or _document(text) == {}

    def commands(self, text: str) -> tuple[str, ...]:
        """The commands of ours that stand in the text."""
        document = _document(text) if text.strip() else {}
        return tuple(_at(document, path)["command"] for path in self._ours(document))

    def _ours(self, document: Json) -> list[Path]:
        """The paths of our entries, each ``("hooks", event, group, "hooks", entry)``."""
        return [
            (_HOOKS, event, i, _HOOKS, j)
            for event, groups in _at(document, (_HOOKS,), {}).items()
            for i, group in enumerate(groups if isinstance(groups, list) else ())
            for j, entry in enumerate(_entries(group))
            if self._is_ours(entry)
        ]

    def _is_ours(self, entry: Json) -> bool:
        return isinstance(entry, dict) and is_hook(entry.get("command"), self.host)

    def _expected(self, before: Json, wanted: Mapping[str, Json]) -> Json:
        """What the document must mean afterwards, worked out on values."""
        document = deepcopy(before)
        missing = dict(wanted)
        for event, groups in _at(document, (_HOOKS,), {}).items():
            left = []
            for group in groups if isinstance(groups, list) else ():
                others = [entry for entry in _entries(group) if not self._is_ours(entry)]
                if len(others) == len(_entries(group)):
                    left.append(group)
                elif len(_entries(group)) == 1 and event in missing:
                    ours = missing.pop(event)
                    left.append(group if _says_the_same(group, ours) else ours)
                elif others:
                    left.append({**group, _HOOKS: others})
            if isinstance(groups, list):
                document[_HOOKS][event] = left
        for event, group in missing.items():
            document.setdefault(_HOOKS, {}).setdefault(event, []).append(group)
        return _plain(document)


class JsonServer(msgspec.Struct, frozen=True):
    """``{"mcpServers": {name: entry}}``: one server of ours."""

    host: str
    name: str
    entry: Mapping[str, Json]
    key: str = "mcpServers"

    def add(self, text: str) -> str:
        """The text with our server, where one of ours stood, else last.

        Raises:
            HostFileSyntaxError: not strict JSON, or another shape than the host's.
            HostNameTakenError: another server has the name.
        """
        text = text if text.strip() else _BARE
        before = _document(text)
        found = self._found(before)
        if found is not None and all(found.get(key) == _plain(value) for key, value in self.entry.items()):
            return text
        after = put(text, (self.key, self.name), dict(self.entry))
        expected = deepcopy(before)
        expected.setdefault(self.key, {})[self.name] = dict(self.entry)
        _check(after, _plain(expected))
        return after

    def remove(self, text: str, *, kept: tuple[Path, ...]) -> str:
        """The text without our server; another one of the name stays.

        Raises:
            HostFileSyntaxError: see ``add``.
        """
        if not text.strip():
            return text
        before = _document(text)
        try:
            found = self._found(before)
        except HostNameTakenError:
            return text
        if found is None:
            return text
        after = cut(text, (self.key, self.name))
        if not parse(after)[self.key] and (self.key,) not in kept:
            after = cut(after, (self.key,))
        expected = deepcopy(before)
        del expected[self.key][self.name]
        _check(after, expected)
        return after

    def empties(self, text: str) -> tuple[Path, ...]:
        """Whether the table of servers is there and empty."""
        document = _document(text) if text.strip() else {}
        return ((self.key,),) if document.get(self.key) == {} else ()

    def is_bare(self, text: str) -> bool:
        """Whether nothing is left in the document."""
        return not text.strip() or _document(text) == {}

    def commands(self, text: str) -> tuple[str, ...]:
        """The command of ours that stands in the text."""
        try:
            found = self._found(_document(text) if text.strip() else {})
        except HostNameTakenError:
            return ()
        return () if found is None else (" ".join([found["command"], *found["args"]]),)

    def _found(self, document: Json) -> Json:
        servers = _at(document, (self.key,), {})
        if not isinstance(servers, dict):
            message = f"{self.key}: must be an object"
            raise HostFileSyntaxError(message)
        return find_server(servers, self.name, self.host)


def _document(text: str) -> Json:
    document = parse(text)
    if not isinstance(document, dict):
        message = "the document: must be an object"
        raise HostFileSyntaxError(message)
    hooks = document.get(_HOOKS, {})
    if not isinstance(hooks, dict):
        message = "hooks: must be an object"
        raise HostFileSyntaxError(message)
    return document


def _at(document: Json, path: Path, absent: Json = None) -> Json:
    for key in path:
        holds = key in document if isinstance(document, dict) else False
        if isinstance(document, list) and isinstance(key, int):
            holds = key < len(document)
        if not holds:
            return absent
        document = document[key]
    return document


def _entries(group: Json) -> list[Json]:
    entries = group.get(_HOOKS) if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def _cut(text: str, paths: Sequence[Path], *, kept: tuple[Path, ...]) -> str:
    """Without the entries at these paths, from the end on; what gets empty goes too, but for ``kept``."""
    for path in reversed(paths):
        text = cut(text, path[:3] if _is_whole(parse(text), path) else path)
        for above in (path[:2], path[:1]):
            if _at(parse(text), above) in ([], {}) and above not in kept:
                text = cut(text, above)
    return text


def _is_whole(document: Json, path: Path) -> bool:
    """Whether our entry is the only one of its group."""
    return len(_at(document, path[:4], [])) == 1


def _says_the_same(found: Json, group: Json) -> bool:
    """Whether a group runs our command for the same tools; a timeout that the user has changed stays."""
    if not isinstance(found, dict) or found.get("matcher") != group.get("matcher"):
        return False
    entries = found.get(_HOOKS)
    ours = group[_HOOKS][0]["command"]
    return isinstance(entries, list) and [e.get("command") for e in entries if isinstance(e, dict)] == [ours]


def _plain(value: Json) -> Json:
    """A value as ``parse`` gives it back."""
    return parse(_spell(value))


def _spell(value: Json) -> str:
    if isinstance(value, tuple):
        return str(value[1])
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{json.dumps(k)}:{_spell(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(_spell(item) for item in value)}]"
    return json.dumps(value)


def _check(text: str, expected: Json) -> None:
    """Refuse a splice that changed more than our part; what became empty by our leaving went too.

    Raises:
        HostFileSyntaxError: it did.
    """
    if _without_empty(parse(text)) != _without_empty(expected):
        message = "the document: written in a way that cannot be changed safely"
        raise HostFileSyntaxError(message)


def _without_empty(document: Json) -> Json:
    cleaned = dict(document)
    for key in (_HOOKS, "mcpServers"):
        if isinstance(cleaned.get(key), dict):
            cleaned[key] = {name: value for name, value in cleaned[key].items() if value not in ([], {})}
            if not cleaned[key]:
                del cleaned[key]
    return cleaned
