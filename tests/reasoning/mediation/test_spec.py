"""docs/spec/mediation.md: its example is run, and its tables are what the code does."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from tests.reasoning.mediation import told
from timeline.reasoning.declassified import Standing, View
from timeline.reasoning.graph import Head, Scope
from timeline.reasoning.mediation import ContentUnit, StatusUnit
from timeline.reasoning.proposition import Proposition
from timeline.reasoning.rendering import render_set
from timeline.reasoning.world import World

PAGE = (Path(__file__).parents[3] / "docs" / "spec" / "mediation.md").read_text(encoding="utf-8")


def block(name: str) -> bytes:
    """The text of one fenced block."""
    found = re.search(rf"```{name}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None, name
    return found[1].encode()


@pytest.mark.requirement("P36", "P38", "P48")
def test_the_example_of_the_specification() -> None:
    """Its units, over its records, give its answer; and after the head has moved all three are held back."""
    cat = Proposition("user:ada", "pet", '"cat"')
    graph = told.graph(
        told.report("claim:berlin", told.city("Berlin")),
        told.report("claim:cat", cat, scope=Scope(principals=frozenset({"user:ben"}))),
    )
    units = msgspec.json.decode(block("units"), type=list[ContentUnit | StatusUnit])
    view = World(graph, told.STRICT).view("user:ada")
    for emission in (told.HEAD, Head(121, told.HEAD.root)):
        answer = view.mediate(
            units, told.HEAD, emission, emitted_at=told.AT, trace_id=told.TRACE, salt=told.SALT
        ).answer
        if emission == told.HEAD:
            assert json.loads(msgspec.json.encode(answer)) == json.loads(block("answer"))
        else:
            assert [(one.unit, one.rule) for one in answer.diagnostics] == [
                (unit.id, "head") for unit in units
            ]


@pytest.mark.requirement("P40")
@pytest.mark.parametrize("standing", Standing)
def test_the_sentences_of_the_page_are_the_render_sets(standing: Standing) -> None:
    """Each view's row, with its places filled."""
    found = re.search(rf"^\| `{standing}` \| (There|The|What)(.*) \|$", PAGE, re.MULTILINE)
    assert found is not None
    sentence = (found[1] + found[2]).replace("*predicate*", "city").replace("*subject*", "user:ada")
    assert render_set(View(standing), told.QUERY) == (sentence,)
