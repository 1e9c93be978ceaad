"""Whole answers: order, ids, revision, and what is kept of each unit (P36 to P42)."""

import hashlib

import msgspec
import pytest

from sidecars.identity import JSON, canonical_bytes
from sidecars.reasoned import UNITS_MAX
from tests.reasoning.mediation import told
from timeline.reasoning.errors import MediationInvalidError
from timeline.reasoning.graph import Derivation, Graph, Marker, Scope, Vertex
from timeline.reasoning.mediation import ContentUnit, Diagnostic, Emission, Mediation, Unit, mediate
from timeline.reasoning.metrics import Disposition
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.rendering import render_set
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import Role
from timeline.reasoning.trace import Seal
from timeline.reasoning.view import ask

BERLIN = told.report("a", told.city("Berlin"))
GRAPH = told.graph(BERLIN)
OTHER = Query("user:ada", "pet", told.AT)
NOTHING = "There is no recorded evidence about pet of user:ada."


def run(
    *units: Unit,
    emission: Emission = told.SAME,
    graph: Graph = GRAPH,
    policy: Policy = told.STRICT,
    salt: bytes = told.SALT,
) -> Mediation:
    """Mediate units for Ada."""
    return mediate(units, emission, graph=graph, access=told.ADA, policy=policy, salt=salt)


@pytest.mark.requirement("P36", "P38", "P41")
def test_units_come_out_in_their_order_and_each_exactly_once() -> None:
    """Content and status of one sentence are two units; what fails is held back and the rest keeps its order."""
    units: list[Unit] = [
        told.states(NOTHING, "z", query=OTHER),
        told.says("Rome", "y"),
        told.says("Berlin", "x"),
        told.states("I know it.", "w"),
    ]
    found = run(*units)
    assert [one.unit for one in found.bindings] == ["z", "y", "x", "w"]
    assert [(one.unit, one.disposition) for one in found.released] == [
        ("z", Disposition.PASSED),
        ("x", Disposition.PASSED),
    ]
    view = ask(GRAPH, told.QUERY, told.ADA, told.STRICT)
    assert found.diagnostics == (Diagnostic("y", "view", view), Diagnostic("w", "view", view))
    assert [one.disposition for one in found.bindings] == ["passed", "blocked", "passed", "blocked"]
    assert [one.type for one in found.bindings] == ["status", "content", "content", "status"]


@pytest.mark.requirement("P38")
@pytest.mark.parametrize(
    ("units", "rule"),
    [
        ([], f"units: must be 1 to {UNITS_MAX}"),
        ([told.says("Berlin", f"u{n}") for n in range(UNITS_MAX + 1)], f"units: must be 1 to {UNITS_MAX}"),
        (
            [told.says("Berlin"), told.states("x")],
            "unit 1: id: must be another than that of any unit before it",
        ),
        ([told.says("Berlin"), told.says("Berlin", "")], "unit 1: id: must be 1 to 64 of"),
        ([told.says("Berlin", "a" * 65)], "unit 0: id: must be 1 to 64 of"),
        ([told.says("Berlin", "-a")], "unit 0: id: must be 1 to 64 of"),
        ([told.says("Berlin", "a\n")], "unit 0: id: must be 1 to 64 of"),
    ],
)
def test_what_is_no_list_of_units_is_refused(units: list[Unit], rule: str) -> None:
    """None, too many, an id twice even across types, or one that no trace takes."""
    with pytest.raises(MediationInvalidError) as caught:
        run(*units)
    assert str(caught.value).startswith(rule)
    assert caught.value.reason == "mediation-invalid"


def test_as_many_units_as_are_allowed_are_mediated() -> None:
    """The bound itself is within."""
    assert len(run(*(told.says("Berlin", f"u{n}") for n in range(UNITS_MAX))).released) == UNITS_MAX
    assert run(told.says("Berlin", "a" * 64)).released[0].unit == "a" * 64


@pytest.mark.requirement("P37")
def test_the_graph_is_that_of_the_prompts_head() -> None:
    """What was resolved at another head says nothing about this prompt."""
    with pytest.raises(MediationInvalidError, match=r"^prompt: must be the head that is resolved at$"):
        run(told.says("Berlin"), graph=told.graph(BERLIN, head=told.NEWER))


@pytest.mark.requirement("P37")
def test_a_head_race_holds_everything_back_until_it_is_asked_again() -> None:
    """Between prompt and emission the user moved; re-projection to the new head tells what holds there."""
    units: list[Unit] = [told.says("Berlin"), told.states(NOTHING, "u2", query=OTHER)]
    raced = run(*units, emission=told.MOVED)
    assert raced.released == ()
    assert raced.diagnostics == (Diagnostic("u1", "head"), Diagnostic("u2", "head"))
    assert [one.head for one in raced.bindings] == ["moved", "moved"]
    newer = told.graph(
        BERLIN, told.report("b", told.city("Rome")), superseded=frozenset({"a"}), head=told.NEWER
    )
    again = run(*units, emission=Emission(told.NEWER, told.NEWER, told.AT), graph=newer)
    assert [one.unit for one in again.released] == ["u2"]
    assert [one.rule for one in again.diagnostics] == ["view"]


@pytest.mark.requirement("P37")
def test_with_permission_an_older_head_is_spoken_of_by_its_moment() -> None:
    """Only the unit that names the moment; it is qualified, and its binding says why."""
    found = run(
        told.says("Berlin", as_of=told.AT),
        told.says("Berlin", "u2"),
        emission=told.MOVED,
        policy=told.SNAPSHOT,
    )
    assert [(one.unit, one.disposition) for one in found.released] == [("u1", Disposition.QUALIFIED)]
    assert found.released[0].text.startswith("As of 2026-06-01T12:00:00.000Z: city of user:ada")
    assert [(one.disposition, one.head) for one in found.bindings] == [
        ("qualified", "snapshot"),
        ("blocked", "moved"),
    ]


@pytest.mark.requirement("P36")
def test_a_revision_is_decided_anew() -> None:
    """That a unit was blocked, or that one with its id has passed, opens no door for what is written instead."""
    blocked = run(told.says("Rome"))
    (diagnostic,) = blocked.diagnostics
    assert diagnostic.view is not None
    suggested = render_set(diagnostic.view, told.QUERY)[0]
    assert run(told.states(suggested)).released[0].text == suggested
    assert run(told.states(suggested + " It is Rome.")).released == ()
    passed = run(told.says("Berlin"))
    assert passed.released
    gone = told.graph(BERLIN, superseded=frozenset({"a"}))
    assert run(told.says("Berlin"), graph=gone).released == ()


@pytest.mark.requirement("P7", "P32")
@pytest.mark.parametrize("value", ["false", "null", '"none"', '"not Berlin"'])
def test_that_nothing_is_recorded_supports_no_denial(value: str) -> None:
    """Neither for what is unknown nor for another value than the one recorded; and other questions go on as before."""
    denied = Proposition("user:ada", "pet", value)
    found = run(ContentUnit("u1", OTHER, denied), told.says("Berlin", "u2"))
    assert [one.unit for one in found.released] == ["u2"]
    assert [(one.unit, one.rule) for one in found.diagnostics] == [("u1", "view")]
    assert (
        run(
            msgspec.structs.replace(told.says("Berlin"), proposition=Proposition("user:ada", "city", value))
        ).released
        == ()
    )


@pytest.mark.requirement("P38", "P40")
def test_two_that_disagree_are_told_as_a_disagreement() -> None:
    """The candidate becomes a status, and its binding stays that of the content that was asked for."""
    graph = told.graph(BERLIN, told.report("b", told.city("Rome")))
    found = run(told.says("Rome"), graph=graph)
    assert [(one.disposition, one.text) for one in found.released] == [
        (Disposition.QUALIFIED, "The records about city of user:ada disagree.")
    ]
    assert (found.bindings[0].type, found.bindings[0].disposition) == ("content", "qualified")
    assert found.diagnostics == ()


@pytest.mark.requirement("P29", "P42")
def test_a_binding_has_the_salted_digest_of_everything_that_was_decided_on() -> None:
    """Each can be made again by who has the salt, and by nobody else."""
    unit = told.says("Berlin")
    (binding,) = run(unit).bindings
    decision = resolve(GRAPH, told.QUERY, told.ADA, told.STRICT, salt=told.SALT)
    seal = Seal(told.SALT)
    asked: JSON = {"subject": "user:ada", "predicate": "city", "at": told.AT, "modality": "asserted"}
    said: JSON = {"subject": "user:ada", "predicate": "city", "value": '"Berlin"', "modality": "asserted"}
    support: JSON = [["a", "version-of-a"]]
    witness = msgspec.to_builtins(decision.witness, order="deterministic")
    whole: JSON = {"type": "content", "id": "u1", "query": asked, "proposition": said, "as_of": None}
    assert (binding.unit, binding.head) == ("u1", "same")
    assert binding.digest == seal.digest("digest", "u1", whole)
    assert binding.query == seal.digest("query", "u1", asked)
    assert binding.support == seal.digest("support", "u1", support)
    assert binding.witness == seal.digest("witness", "u1", witness)
    assert binding.decision == seal.digest(
        "decision", "u1", {"status": "supported", "flags": [], "support": support}
    )
    (others,) = run(unit, salt=bytes(32)).bindings
    for field in ("digest", "query", "decision", "support", "witness"):
        assert getattr(others, field) != getattr(binding, field)
        assert getattr(binding, field) != _unsalted(unit)


def _unsalted(unit: Unit) -> str:
    return hashlib.sha256(canonical_bytes(msgspec.to_builtins(unit))).hexdigest()


@pytest.mark.requirement("P42")
def test_flags_and_withheld_material_are_bound_too() -> None:
    """The log's binding differs where the reader is told the same: it is for auditors."""
    hidden = told.report("b", told.city("Rome"), scope=told.HIDDEN)
    (plain,), (more,) = (
        run(told.says("Berlin"), graph=told.graph(*some)).bindings for some in ([BERLIN], [BERLIN, hidden])
    )
    assert plain.decision != more.decision
    assert plain.witness != more.witness
    assert (plain.digest, plain.support, plain.disposition) == (more.digest, more.support, more.disposition)
    stale = told.graph(
        told.report("c", told.city("Oslo"), end=told.AT, scope=told.HIDDEN),
        told.report("d", told.city("Oslo"), end=told.AT),
    )
    (binding,) = run(told.says("Oslo"), graph=stale).bindings
    content: JSON = {"status": "unknown", "flags": ["stale", "withheld"], "support": []}
    assert binding.decision == Seal(told.SALT).digest("decision", "u1", content)


@pytest.mark.requirement("P42")
def test_equal_units_are_not_seen_to_be_equal() -> None:
    """Two units about the same question share no digest."""
    first, second = run(told.says("Berlin"), told.says("Berlin", "u2")).bindings
    fields = ("digest", "query", "decision", "support", "witness")
    assert not {getattr(first, name) for name in fields} & {getattr(second, name) for name in fields}


@pytest.mark.requirement("P42")
def test_a_witness_is_bound_in_its_one_order_and_under_the_answers_salt() -> None:
    """Sets have no order of their own, and what is withheld is committed to with the salt of this answer."""
    many = Scope(principals=frozenset(f"user:{number}" for number in range(20)))
    graph = told.graph(BERLIN, told.report("b", told.city("Rome"), scope=many))
    decision = resolve(graph, told.QUERY, told.ADA, told.STRICT, salt=told.SALT)
    assert decision.witness is not None
    witness = msgspec.to_builtins(decision.witness, order="deterministic")
    assert witness["scope"]["principals"] == sorted(witness["scope"]["principals"])
    (binding,) = run(told.says("Berlin"), graph=graph).bindings
    assert binding.witness == Seal(told.SALT).digest("witness", "u1", witness)


@pytest.mark.requirement("P31", "P40", "N3")
@pytest.mark.parametrize(("policy", "word"), [(told.STRICT, "There is no"), (told.OPEN, "What was")])
def test_the_policy_decides_what_is_told_of_the_unavailable(policy: Policy, word: str) -> None:
    """By the same view in an answer to a question and in the gate."""
    gone = Vertex(
        "c",
        "v",
        Role.MEMORY_INTERPRETATION,
        told.city("Oslo"),
        5,
        derivation=Derivation("rule", 1, "evaluator", (frozenset({"m"}),)),
    )
    graph = Graph(told.HEAD, {"c": gone}, {"m": Marker("m", "erased", "commitment")})
    (text,) = render_set(ask(graph, told.QUERY, told.ADA, policy), told.QUERY)
    assert text.startswith(word)
    assert [one.text for one in run(told.states(text), graph=graph, policy=policy).released] == [text]
    (diagnostic,) = run(told.says("Oslo"), graph=graph, policy=policy).diagnostics
    assert diagnostic.view == ask(graph, told.QUERY, told.ADA, policy)
