"""The only way out: what one reader is told, and that nothing of what is hidden changes a byte of it (P4, X12)."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reasoning import random_graphs, states
from tests.reasoning.mediation import told
from timeline.reasoning.declassified import Standing
from timeline.reasoning.errors import MediationInvalidError
from timeline.reasoning.graph import Derivation, Graph, Head, Scope, Vertex
from timeline.reasoning.mediation import ContentUnit, StatusUnit
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.rendering import render_set
from timeline.reasoning.roles import Role
from timeline.reasoning.world import Answer, Mediated, ReaderView, World

BERLIN = told.report("a", told.city("Berlin"), told.AT)
WORLD = World(told.graph(BERLIN), told.STRICT)


def mediate(view: ReaderView, *units: ContentUnit | StatusUnit) -> Mediated:
    """Mediate where nothing has moved."""
    return view.mediate(units, told.HEAD, told.HEAD, emitted_at=told.AT, trace_id=told.TRACE, salt=told.SALT)


@pytest.mark.requirement("P4", "P40")
def test_a_reader_is_told_the_view_and_the_sentences_for_it() -> None:
    """Content with its attribution where something is supported."""
    answer = WORLD.view("user:ada").resolve(told.QUERY)
    assert answer.view.standing is Standing.SUPPORTED
    assert answer.status == ("There is recorded evidence about city of user:ada.",)
    assert answer.contents == (
        'city of user:ada is "Berlin" (recorded: attributed-report a, 2026-06-01T12:00:00.000Z).',
    )


@pytest.mark.requirement("P40")
def test_sentences_name_the_moment_as_of_which_they_are_said() -> None:
    """Those that assert something, and those that tell only how it stands."""
    answer = WORLD.view("user:ada").resolve(told.QUERY, as_of=told.AT)
    for sentence in answer.status + answer.contents:
        assert sentence.startswith("As of 2026-06-01T12:00:00.000Z: ")


@pytest.mark.requirement("P40")
def test_of_a_conflict_nothing_is_asserted() -> None:
    """The view has what disagrees, and no sentence says that one of it is so."""
    world = World(told.graph(BERLIN, told.report("b", told.city("Rome"))), told.STRICT)
    answer = world.view("user:ada").resolve(told.QUERY)
    assert [one.proposition for one in answer.view.contents] == [told.city("Rome"), told.city("Berlin")]
    assert (answer.status, answer.contents) == (("The records about city of user:ada disagree.",), ())


@pytest.mark.requirement("P4")
def test_principal_purpose_and_task_each_decide() -> None:
    """Whoever names no purpose or task sees what is for all."""
    scope = Scope(frozenset({"user:ada"}), frozenset({"help"}), frozenset({"task:1"}))
    world = World(told.graph(told.report("a", told.city("Berlin"), scope=scope)), told.STRICT)
    told_to = {
        access: world.view(*access).resolve(told.QUERY).view.standing is Standing.SUPPORTED
        for access in [
            ("user:ada", "help", "task:1"),
            ("user:ben", "help", "task:1"),
            ("user:ada", "else", "task:1"),
            ("user:ada", "help", "task:2"),
            ("user:ada", "help"),
            ("user:ada",),
        ]
    }
    assert list(told_to.values()) == [True, False, False, False, False, False]


@pytest.mark.requirement("P41")
def test_an_answer_is_bounded_if_every_unit_passed() -> None:
    """One that is held back makes it no whole answer."""
    view = WORLD.view("user:ada")
    assert mediate(view, told.says("Berlin")).answer.is_bounded
    mixed = mediate(view, told.says("Berlin"), told.says("Rome", "u2")).answer
    assert not mixed.is_bounded
    assert [one.unit for one in mixed.released] == ["u1"]


def test_the_answer_is_for_this_reader() -> None:
    """What Ada may say, Ben may not."""
    world = World(told.graph(told.report("a", told.city("Berlin"), scope=told.HIDDEN)), told.STRICT)
    assert mediate(world.view("user:ben"), told.says("Berlin")).answer.released
    assert not mediate(world.view("user:ada"), told.says("Berlin")).answer.released


# -- non-interference ------------------------------------------------------------------------------------------

QUESTIONS = (
    states.QUERY,
    Query("agent", states.UNRELATED, states.AT),
    Query("agent", "unheard-of", states.AT),
)
VALUES = ('"tea"', '"coffee"', '"canary"')


@st.composite
def hidden_vertices(draw: st.DrawFn, graph: Graph) -> list[Vertex]:
    """Some vertices that Anna may not see, resting on anything, some of them about what she asks."""
    found: list[Vertex] = []
    for number in range(draw(st.integers(1, 4))):
        name = f"hidden-canary-{number}"
        said = Proposition(
            "agent", draw(st.sampled_from(("prefers", states.UNRELATED))), draw(st.sampled_from(VALUES))
        )
        scope = draw(st.sampled_from(random_graphs.HIDDEN))
        observed_at = draw(st.integers(0, 9))
        ends = draw(st.sampled_from(random_graphs.CURRENT + random_graphs.NOT_CURRENT))
        before: list[str] = [*graph.vertices, *graph.markers, *(one.id for one in found)]
        if draw(st.booleans()):
            way = st.frozensets(st.sampled_from(before), min_size=1, max_size=2)
            ways = draw(st.lists(way, min_size=1, max_size=2))
            derivation = Derivation("rule", 1, "evaluator", tuple(ways))
            vertex = Vertex(
                name, "v", Role.MEMORY_INTERPRETATION, said, observed_at, *ends, scope, derivation=derivation
            )
        else:
            vertex = Vertex(
                name, "v", Role.ATTRIBUTED_REPORT, said, observed_at, *ends, scope, origin=states.GOOD_REPORT
            )
        found.append(vertex)
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Graph, Graph, Policy]:
    """Two graphs that differ only in what Anna may not see, and which replaces nothing that she sees."""
    sample = draw(random_graphs.samples()).graph
    hidden = draw(hidden_vertices(sample))
    more = random_graphs.with_vertices(sample, *hidden)
    names = [one.id for one in hidden]
    pair = sorted((draw(st.sampled_from(names)), draw(st.sampled_from(list(sample.vertices)))))
    more = msgspec.structs.replace(
        more,
        head=Head(more.head.size + len(names), "C" * 42 + "A"),
        superseded=more.superseded | draw(st.frozensets(st.sampled_from(names))),
        revoked=more.revoked | draw(st.frozensets(st.sampled_from(names))),
        inscribed=more.inscribed | {(pair[0], pair[1])},
    )
    policy = Policy(
        version=1, roots=draw(st.integers(1, 2)), collapse=draw(st.booleans()), snapshot=draw(st.booleans())
    )
    return sample, more, policy


def everything(graph: Graph, policy: Policy) -> list[bytes]:
    """All that Anna can get: answers, mediated answers, and refusals."""
    view = World(graph, policy).view(states.WHO, states.WHY, states.WHAT)
    newer = Head(graph.head.size + 1, "D" * 42 + "A")
    answers: list[Answer] = [view.resolve(query) for query in QUESTIONS]
    units: list[ContentUnit | StatusUnit] = [
        ContentUnit(f"c{number}.{place}", query, Proposition("agent", query.predicate, value))
        for number, query in enumerate(QUESTIONS)
        for place, value in enumerate(VALUES)
    ]
    units += [
        StatusUnit(f"s{number}", query, render_set(answer.view, query)[0])
        for number, (query, answer) in enumerate(zip(QUESTIONS, answers, strict=True))
    ]
    found = [msgspec.json.encode(answer) for answer in answers]
    for emission in (graph.head, newer):
        mediated = view.mediate(
            units, graph.head, emission, emitted_at=states.AT, trace_id=told.TRACE, salt=told.SALT
        )
        found.append(msgspec.json.encode(mediated.answer))
    for wrong in ([], [units[0], units[0]]):
        with pytest.raises(MediationInvalidError) as caught:
            view.mediate(
                wrong, graph.head, graph.head, emitted_at=states.AT, trace_id=told.TRACE, salt=told.SALT
            )
        found.append(str(caught.value).encode())
    with pytest.raises(MediationInvalidError) as caught:
        view.mediate(units, newer, newer, emitted_at=states.AT, trace_id=told.TRACE, salt=told.SALT)
    return [*found, str(caught.value).encode()]


@pytest.mark.requirement("X12", "P31", "P48")
@given(both=worlds())
@settings(max_examples=100, deadline=None)
def test_what_a_reader_may_not_see_changes_no_byte(both: tuple[Graph, Graph, Policy]) -> None:
    """Answers, released texts, diagnostics and refusals are equal, and none has a name of a hidden thing or a head."""
    sample, more, policy = both
    found = everything(more, policy)
    assert found == everything(sample, policy)
    for content in found:
        assert b"hidden-canary" not in content
        assert more.head.root.encode() not in content
        assert b"witness" not in content


@pytest.mark.requirement("P19", "P30", "P48")
def test_a_hidden_correction_takes_the_visible_value_away_and_looks_like_nothing() -> None:
    """The reader cannot tell it from never having been recorded."""
    hidden = told.report("b", told.city("Rome"), scope=told.HIDDEN)
    corrected = World(told.graph(BERLIN, hidden, superseded=frozenset({"a"})), told.STRICT).view("user:ada")
    empty = World(told.graph(), told.STRICT).view("user:ada")
    assert corrected.resolve(told.QUERY) == empty.resolve(told.QUERY)
    for unit in (told.says("Berlin"), told.says("Rome")):
        assert mediate(corrected, unit).answer == mediate(empty, unit).answer


def public_names(thing: object) -> list[str]:
    """The names that anybody may use; those of a mutation tool are not ASCII."""
    return [name for name in dir(thing) if name.isascii() and not name.startswith("_")]


@pytest.mark.requirement("P4", "P20", "P29", "N15")
def test_neither_world_nor_view_shows_what_it_has() -> None:
    """No public name gives a graph, a decision or a witness, and no representation prints one."""
    view = WORLD.view("user:ada")
    assert public_names(WORLD) == ["view"]
    assert public_names(view) == ["mediate", "resolve"]
    assert "Berlin" not in repr(WORLD) + repr(view)
    assert set(Answer.__struct_fields__) == {"view", "status", "contents"}
