"""The injection strings of AgentDojo, read from its files without running any of its code.

An injection is a goal of one of its injection tasks in the words of one of its attacks. So are the goals alone, the
attacks that have no goal, and the harmless defaults that its environments have where an injection would stand.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

PLACEHOLDERS: Final = {"user": "Emma Johnson", "model": "GPT-4"}
"""What its attacks call the user and the model."""

_DEFAULT: Final = re.compile(r'^\s+default: ("(?:[^"\\]|\\.)*")\s*$', re.MULTILINE)


class Injection(msgspec.Struct, frozen=True):
    """One string: the task it is from, the attack whose words it has, and its text."""

    task: str
    attack: str
    text: str

    @property
    def line(self) -> str:
        """The text in one line, as a user message has to be."""
        return " ".join(self.text.split())


def read_injections(package: Path) -> tuple[Injection, ...]:
    """Every string of the installed package at ``package``, each once."""
    goals = {
        f"{path.parent.parent.name}/{path.parent.name}/{name}": goal
        for path in sorted(package.glob("default_suites/*/*/injection_tasks.py"))
        for name, goal in _goals(path)
    }
    attacks = {
        name: template
        for path in sorted(package.glob("attacks/*.py"))
        for name, template in _templates(ast.parse(path.read_text(encoding="utf-8")))
    }
    found = [Injection(task, "goal alone", goal) for task, goal in goals.items()]
    found += [
        Injection(task, attack, _filled(template, goal))
        for task, goal in goals.items()
        for attack, template in attacks.items()
    ]
    found += [
        Injection(path.parent.name, "default", json.loads(match[1]))
        for path in sorted(package.glob("data/suites/*/injection_vectors.yaml"))
        for match in _DEFAULT.finditer(path.read_text(encoding="utf-8"))
    ]
    once = {injection.text: injection for injection in found if injection.text.strip()}
    return tuple(once.values())


def _filled(template: str, goal: str) -> str:
    text = template.replace("{goal}", goal)
    for name, word in PLACEHOLDERS.items():
        text = text.replace(f"{{{name}}}", word)
    return text


def _templates(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The strings with a place for a goal or a user, by the class of the attack; docstrings are none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            documented = ast.get_docstring(node, clean=False)
            for part in ast.walk(node):
                text = part.value if isinstance(part, ast.Constant) else None
                if isinstance(text, str) and text != documented and ("{goal}" in text or "{user}" in text):
                    yield node.name, text


def _goals(path: Path) -> Iterator[tuple[str, str]]:
    """The ``GOAL`` of every class, its f-strings filled with the constants of the class and the module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = dict(_constants(tree.body, {}))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            known = {**module, **dict(_constants(node.body, module))}
            if "GOAL" in known:
                yield node.name, known["GOAL"]
            elif any("GOAL" in ast.unparse(part) for part in node.body if isinstance(part, ast.Assign)):
                raise ValueError(f"{path.name}: {node.name}: the goal is not made of constants")


def _constants(body: list[ast.stmt], outer: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    known = dict(outer)
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = _text(node.value, known)
            if isinstance(target, ast.Name) and text is not None:
                known[target.id] = text
                yield target.id, text


def _text(node: ast.expr, known: Mapping[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str() | int() | float() as value):
            return str(value)
        case ast.Name(id=name):
            return known.get(name)
        case ast.JoinedStr(values=values):
            parts = [_text(value, known) for value in values]
            return None if None in parts else "".join(part for part in parts if part is not None)
        case ast.FormattedValue(value=value):
            return _text(value, known)
    return None
