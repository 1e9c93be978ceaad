"""A case file: its closed schema, errors that name file and field, and what it becomes."""

import json
import pkgutil
from typing import Any

import msgspec
import pytest

from tests.reasoning.conformance import made
from timeline.reasoning.case import CASE_BYTES_MAX, flip_case, parse_case
from timeline.reasoning.conformance import CASE_IDS, Rule, case_content, load_suite, run_case, run_cases
from timeline.reasoning.errors import CaseInvalidError
from timeline.reasoning.fixture import (
    access_of,
    admit_records,
    emission_of,
    policy_of,
    query_of,
    unit_of,
)
from timeline.reasoning.graph import Access, Derivation, Head, Marker, Scope
from timeline.reasoning.mediation import ContentUnit, Emission
from timeline.reasoning.metrics import Disposition
from timeline.reasoning.policy import Policy
from timeline.reasoning.promotion import vertex_version
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.roles import OriginClass, Role

CLAIM = {"id": "c", "role": "memory-interpretation", "rule": "r", "alternatives": [["a"]], "observed_at": 6}


def refusal(content: bytes) -> str:
    """The message with which a file is refused."""
    with pytest.raises(CaseInvalidError) as caught:
        parse_case(content, "mine.json")
    assert caught.value.reason == "conformance-case-invalid"
    return str(caught.value)


def test_the_small_case_is_one() -> None:
    """What the tests below change."""
    result = run_case(made.parse())
    assert (result.status, result.flags, result.differences, result.refused) == ("supported", (), (), {})
    assert result.dispositions == dict.fromkeys(Rule, Disposition.PASSED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "other/v1"}, "mine.json: Invalid enum value 'other/v1' - at `$.schema`"),
        ({"colour": 1}, "mine.json: Object contains unknown field `colour`"),
        ({"kind": "maybe"}, "mine.json: Invalid enum value 'maybe' - at `$.kind`"),
        ({"id": ""}, "- at `$.id`"),
        ({"condition": ""}, "- at `$.condition`"),
        ({"policy": {"roots": 0}}, "- at `$.policy.roots`"),
        ({"policy": {"roots": 65}}, "- at `$.policy.roots`"),
        ({"policy": {"roots": 1, "version": 1}}, "unknown field `version` - at `$.policy`"),
        ({"query": {"subject": "s", "predicate": "p", "at": -1}}, "- at `$.query.at`"),
        ({"query": {"subject": "s", "predicate": "p"}}, "missing required field `at` - at `$.query`"),
        ({"evidence": [made.record("a", colour=1)]}, "unknown field `colour` - at `$.evidence[0]`"),
        ({"evidence": [made.record("a", role="king")]}, "- at `$.evidence[0].role`"),
        ({"evidence": [made.record("a", scope={"people": []})]}, "- at `$.evidence[0].scope`"),
        ({"evidence": [made.record("a", alternatives=[["b"]])]}, "- at `$.evidence[0]`"),
        ({"claims": [{**CLAIM, "alternatives": []}]}, "- at `$.claims[0].alternatives`"),
        ({"claims": [{**CLAIM, "alternatives": [[]]}]}, "- at `$.claims[0].alternatives[0]`"),
        ({"claims": [{**CLAIM, "origin": "model-prior"}]}, "- at `$.claims[0]`"),
        ({"expected": {"status": "false", "disposition": "passed"}}, "- at `$.expected.status`"),
        ({"flip": {"at": "candidate", "value": 1, "disposition": "passed"}}, "- at `$.flip.at`"),
        (
            {"heads": {"prompt": {"size": -1, "root": "r"}, "emission": {"size": 1, "root": "r"}}},
            "- at `$.heads.prompt.size`",
        ),
        ({"claims": [{**CLAIM, "id": "a"}]}, "mine.json: claims: id a: must be given once"),
        (
            {"evidence": [made.record("a"), made.record("a")]},
            "mine.json: evidence: id a: must be given once",
        ),
        (
            {"claims": [{**CLAIM, "alternatives": [["a"], ["c"]]}]},
            "mine.json: claims: c: c: must be the id of a record before it",
        ),
        (
            {"claims": [{**CLAIM, "supersedes": ["z"]}]},
            "mine.json: claims: c: z: must be the id of a record before it",
        ),
        (
            {"evidence": [made.record("a", supersedes=["a"])]},
            "mine.json: evidence: a: a: must be the id of a record before it",
        ),
        ({"revoked": ["z"]}, "mine.json: revoked: z: must be an id or a root of the case"),
        ({"inscribed": [["a", "z"]]}, "mine.json: inscribed: must be pairs of two ids of the case"),
        ({"inscribed": [["a", "a"]]}, "mine.json: inscribed: must be pairs of two ids of the case"),
        ({"inscribed": [["z", "a"]]}, "mine.json: inscribed: must be pairs of two ids of the case"),
    ],
)
def test_what_is_no_case_is_refused_by_file_and_field(change: dict[str, Any], message: str) -> None:
    """Each rule with its own place in the message."""
    found = refusal(made.encode(made.case(**change)))
    assert found.startswith("mine.json: ")
    assert message in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "mine.json: the document must be JSON (RFC 8259)"),
        (b'{"a":1,"a":2}', "mine.json: a JSON object must not have duplicate keys"),
        (b"[]", "mine.json: Expected `object`, got `array`"),
        (made.encode(made.case(candidate={"value": 0.5})), "mine.json: a number must be an integer"),
        (b" " * (CASE_BYTES_MAX + 1), f"mine.json: must be at most {CASE_BYTES_MAX} bytes"),
    ],
)
def test_what_is_no_json_for_us_is_refused(content: bytes, message: str) -> None:
    """Fractions and duplicate keys have no one meaning."""
    assert refusal(content) == message


def test_a_file_of_the_largest_size_is_read() -> None:
    """The bound itself is within."""
    content = made.encode(made.case())
    assert parse_case(content + b" " * (CASE_BYTES_MAX - len(content)), "mine.json").id == "mine"


@pytest.mark.parametrize("at", ["/nowhere/value", "/evidence/7", "/evidence/x", "/id/0", "/evidence/7/id"])
def test_a_flip_that_leads_nowhere_is_refused(at: str) -> None:
    """A pointer into the void would flip nothing and pass for a test."""
    content = made.encode(made.case(flip={"at": at, "value": 1, "disposition": "blocked"}))
    with pytest.raises(CaseInvalidError, match=r"^mine\.json: flip\.at: must lead to a place in the case$"):
        flip_case(content, "mine.json")


def test_a_flipped_case_expects_what_the_flip_says() -> None:
    """The value changes, the rest stays; and what is then no case is refused."""
    flipped = flip_case(made.encode(made.case()), "mine.json")
    assert (flipped.candidate.value, flipped.expected.disposition) == ("Rome", Disposition.BLOCKED)
    assert (
        msgspec.structs.replace(flipped, candidate=made.parse().candidate, expected=made.parse().expected)
        == made.parse()
    )
    broken = made.case(flip={"at": "/kind", "value": "maybe", "disposition": "blocked"})
    with pytest.raises(CaseInvalidError, match=r"^mine\.json: Invalid enum value 'maybe'"):
        flip_case(made.encode(broken), "mine.json")
    in_list = made.case(flip={"at": "/evidence/0/id", "value": "b", "disposition": "passed"})
    assert flip_case(made.encode(in_list), "mine.json").evidence[0].id == "b"
    whole = made.case(flip={"at": "/evidence/0", "value": made.record("b"), "disposition": "blocked"})
    assert flip_case(made.encode(whole), "mine.json").evidence[0].id == "b"


def test_query_reader_policy_candidate_and_heads_become_what_they_are_called() -> None:
    """Every field in its place."""
    case = made.parse(
        policy={"roots": 2, "required": {"city": 3}, "collapse": False, "snapshot": True},
        query={"subject": "s", "predicate": "p", "at": 10, "modality": "possible"},
        reader={"principal": "x", "purpose": "y", "task": "z"},
        candidate={"value": {"b": [1], "a": "ä"}, "as_of": 9},
        heads={"prompt": {"size": 3, "root": "r3"}, "emission": {"size": 4, "root": "r4"}},
    )
    assert policy_of(case) == Policy(version=1, roots=2, required={"city": 3}, collapse=False, snapshot=True)
    assert access_of(case) == Access("x", "y", "z")
    query = Query("s", "p", 10, "possible")
    assert query_of(case) == query
    assert unit_of(case) == ContentUnit(
        "candidate", query, Proposition("s", "p", '{"a":"ä","b":[1]}', "possible"), 9
    )
    assert emission_of(case) == Emission(Head(3, "r3"), Head(4, "r4"), 10)
    heads = {**json.loads(made.encode(made.case()))["heads"], "emitted_at": 11}
    assert emission_of(made.parse(heads=heads)).at == 11
    assert emission_of(made.parse(heads={**heads, "emitted_at": 0})).at == 0


def test_records_become_vertices_and_markers() -> None:
    """Evidence with its origin, a claim by promotion, what is unavailable as a marker that commits to it."""
    scope = {"principals": ["p"], "purposes": ["q"], "tasks": ["t"]}
    case = made.parse(
        evidence=[
            made.record("a", says=made.says("Berlin"), root="s", start=1, end=2, scope=scope),
            made.record("gone", unavailable="lost"),
        ],
        claims=[
            {
                **CLAIM,
                "alternatives": [["a"], ["a", "gone"]],
                "scope": scope,
                "start": 3,
                "end": 4,
                "supersedes": ["a"],
            }
        ],
        revoked=["s", "gone"],
        inscribed=[["c", "a"]],
    )
    admitted = admit_records(case)
    graph = admitted.graph
    assert admitted.refused == {}
    assert graph.head == Head(3, "r3")
    assert graph.superseded == {"a"}
    assert graph.revoked == {"s", "gone"}
    assert graph.inscribed == {("a", "c")}
    root, claim = graph.vertices["a"], graph.vertices["c"]
    assert set(graph.vertices) == {"a", "c"}
    assert (root.role, root.root, root.start, root.end, root.observed_at) == (
        Role.ATTRIBUTED_REPORT,
        "s",
        1,
        2,
        5,
    )
    assert root.proposition == Proposition("user:ada", "city", '"Berlin"')
    assert root.scope == claim.scope == Scope(frozenset({"p"}), frozenset({"q"}), frozenset({"t"}))
    assert root.origin is not None
    assert (root.origin.origin, root.origin.checked) == (
        OriginClass.ATTRIBUTED_REPORT,
        frozenset(made.ORIGIN),
    )
    assert root.version == vertex_version(root)
    assert (claim.proposition, claim.start, claim.end, claim.observed_at) == (None, 3, 4, 6)
    assert isinstance(claim.derivation, Derivation)
    assert (claim.derivation.rule, claim.derivation.policy, claim.derivation.evaluator) == (
        "r",
        1,
        "evaluator:case",
    )
    assert claim.derivation.alternatives == (frozenset({"a"}), frozenset({"a", "gone"}))
    available = admit_records(made.parse(evidence=[made.record("gone")])).graph.vertices["gone"]
    assert graph.markers == {"gone": Marker("gone", "lost", available.version)}


def test_what_no_graph_takes_is_left_out_and_named() -> None:
    """A root that nobody has checked, and a claim that rests on it; the case goes on without them."""
    case = made.parse(
        evidence=[
            made.record("a", says=made.says("Berlin"), unchecked=["author"]),
            made.record("gone", unchecked=["author"], unavailable="lost"),
        ],
        claims=[CLAIM],
    )
    admitted = admit_records(case)
    assert admitted.refused == {
        "a": "origin-not-checked",
        "gone": "origin-not-checked",
        "c": "vertex-unknown",
    }
    assert (admitted.graph.vertices, admitted.graph.markers) == ({}, {})
    result = run_case(case)
    assert result.refused == admitted.refused
    assert result.differences == ("status", "disposition")


def test_what_was_not_admitted_replaces_nothing() -> None:
    """Nor is it revoked or contradicted: a record that no graph takes has no effect at all."""
    case = made.parse(
        evidence=[
            made.record("a", says=made.says("Berlin")),
            made.record("b", says=made.says("Rome"), unchecked=["author"], root="s", supersedes=["a"]),
        ],
        claims=[{**CLAIM, "alternatives": [["b"]], "supersedes": ["a", "b"]}],
        revoked=["s", "b"],
        inscribed=[["a", "b"], ["c", "a"]],
    )
    graph = admit_records(case).graph
    assert set(graph.vertices) == {"a"}
    assert (len(graph.superseded), len(graph.revoked), len(graph.inscribed)) == (0, 0, 0)
    assert run_case(case).differences == ()


def test_every_difference_is_named() -> None:
    """Status, flags and disposition, each by itself."""
    expected = {"status": "supported", "disposition": "passed", "flags": ["stale", "conflicted"]}
    assert run_case(made.parse(expected=expected)).differences == ("flags",)
    expected = {"status": "unknown", "disposition": "passed"}
    assert run_case(made.parse(expected=expected)).differences == ("status",)
    expected = {"status": "supported", "disposition": "qualified"}
    assert run_case(made.parse(expected=expected)).differences == ("disposition",)
    rome = made.record("b", says=made.says("Rome"))
    hidden = made.record("h", says=made.says("Rome"), scope={"tasks": []})
    both = made.parse(
        evidence=[made.record("a", says=made.says("Berlin")), rome, hidden],
        expected={"status": "supported", "disposition": "qualified", "flags": ["withheld", "conflicted"]},
    )
    result = run_case(both)
    assert (result.flags, result.differences) == (("conflicted", "withheld"), ())
    assert not run_cases([made.parse(expected=expected)]).conforms
    assert run_cases([both, made.parse(id="other")]).conforms


def test_an_id_names_one_case() -> None:
    """Two of one id are refused, though they may be equal."""
    with pytest.raises(CaseInvalidError, match=r"^case mine: id: must be given to one case$"):
        run_cases([made.parse(), made.parse()])


@pytest.mark.requirement("P37")
def test_a_case_may_permit_an_older_head() -> None:
    """Snapshot permission and a named moment: qualified."""
    case = made.parse(
        policy={"roots": 1, "snapshot": True},
        candidate={"value": "Berlin", "as_of": 10},
        heads={"prompt": {"size": 3, "root": "r3"}, "emission": {"size": 4, "root": "r4"}, "emitted_at": 20},
    )
    assert run_case(case).dispositions[Rule.TYPED] is Disposition.QUALIFIED


@pytest.mark.requirement("P51")
@pytest.mark.parametrize(
    ("cases", "lost", "simpler"),
    [
        ([], None, None),
        # Only controls: nothing can be let through, so there is nothing to compare.
        ([made.case()], False, None),
        # Only an unsafe one: nothing can be lost.
        ([made.case(kind="unsafe", candidate={"value": "Rome"})], None, None),
        ([made.case(), made.case(id="b", kind="unsafe", candidate={"value": "Rome"})], False, False),
        # A control is blocked, and the flat rule lets nothing unsafe through that typed does not.
        ([made.case(candidate={"value": "Rome"}), made.case(id="b", kind="unsafe")], True, True),
        # A control is blocked, but the simpler rules let more through: no proof that they are as good.
        (
            [
                made.case(candidate={"value": "Rome"}),
                made.case(id="b", kind="unsafe", candidate={"value": "Rome"}),
            ],
            True,
            False,
        ),
        # A source tag is as good where what is unsafe has none.
        ([made.case(), made.case(id="b", kind="unsafe", evidence=[])], False, True),
    ],
)
def test_conditions_of_failure(cases: list[dict[str, Any]], lost: bool | None, simpler: bool | None) -> None:
    """Each is refuted, not refuted, or without anything to judge by."""
    report = run_cases([parse_case(made.encode(one), "mine.json") for one in cases])
    found = {one.name: one.refuted for one in report.criteria}
    assert found == {"extraction-misses": None, "coverage-loss": lost, "simpler-rule-as-good": simpler}
    assert all(one.bound for one in report.criteria)


@pytest.mark.parametrize("case_id", CASE_IDS)
def test_packaged_cases_are_named_by_their_ids(case_id: str) -> None:
    """File, id and place in the list agree."""
    assert parse_case(case_content(case_id), case_id).id == case_id


def test_a_case_that_is_not_packaged_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is misuse, and no error for a user; a packaged file that is no case is named like any other."""
    monkeypatch.setattr(pkgutil, "get_data", lambda *_: None)
    with pytest.raises(
        RuntimeError, match=r"^the package holds no timeline/reasoning/cases/poison_01\.json$"
    ):
        load_suite()
    monkeypatch.setattr(pkgutil, "get_data", lambda *_: b"{")
    with pytest.raises(CaseInvalidError, match=r"^poison_01\.json: the document must be JSON"):
        load_suite()


def test_what_is_no_case_is_not_flipped() -> None:
    """It is refused by its file's name, before anything is changed in it."""
    for content, rule in ((b"{", "the document must be JSON"), (b"{}", "Object missing required field")):
        with pytest.raises(CaseInvalidError, match=rf"^mine\.json: {rule}"):
            flip_case(content, "mine.json")
