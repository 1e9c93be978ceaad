"""The oracle itself: complete, without contradictions, one with itself, and of nobody's making but its own."""

import ast
import sys
from collections import Counter
from pathlib import Path

from tests.reasoning.oracle import pairs, table

HERE = Path(__file__).parent / "oracle"


def test_it_imports_nothing_but_the_standard_library() -> None:
    """Code shared with the resolver would share its mistakes."""
    for path in HERE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        imported |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in imported} <= set(sys.stdlib_module_names), path.name


def test_each_state_has_exactly_one_row_and_each_row_a_state() -> None:
    """A table with a hole or two answers decides nothing."""
    seen = Counter[table.State]()
    used = Counter[table.Outcome]()
    for state in table.all_states():
        seen[state] += 1
        outcomes = table.matching(state)
        assert len(outcomes) == 1, state
        used[outcomes[0]] += 1
    assert len(seen) == table.STATES == 41_472
    assert set(used) == {row.outcome for row in table.ROWS}


def test_a_claim_beside_nothing_is_the_claim_alone() -> None:
    """The two formulations agree where they speak of the same thing."""
    nothing = pairs.Claim("attributed-report", "absent", seen=True, time="within", roots=2, gone=False)
    for one in pairs.CLAIMS:
        alone = table.expected(
            table.State(
                one.role,
                one.time,
                one.roots,
                admitted=one.place != "absent",
                principal=one.seen,
                purpose=True,
                task=True,
                superseded=one.place == "superseded",
                revoked=one.place == "revoked",
                unavailable=one.gone,
                head_equal=True,
                snapshot=False,
            )
        )
        beside = pairs.expected(pairs.Pair(one, nothing, "different", shared=False))
        assert (beside.status, beside.flags, bool(beside.support), beside.empty_witness, beside.view) == (
            alone.status,
            alone.flags,
            alone.in_support,
            alone.empty_witness,
            alone.view,
        ), one
        assert beside.dispositions == (alone.disposition, "blocked"), one


def test_who_was_first_decides_nothing_but_which_of_two_equals_is_named() -> None:
    """Turning a pair about turns the answer about."""
    for pair in pairs.all_pairs():
        if pair.relation in {"equal", "different"}:
            turned = pairs.expected(pairs.Pair(pair.second, pair.first, pair.relation, pair.shared))
            straight = pairs.expected(pair)
            assert (turned.status, turned.flags, turned.view, turned.empty_witness, len(turned.support)) == (
                straight.status,
                straight.flags,
                straight.view,
                straight.empty_witness,
                len(straight.support),
            ), pair
            assert turned.dispositions == straight.dispositions[::-1], pair


def test_the_reduced_set_has_no_claim_twice_and_every_outcome() -> None:
    """What is never asked is never tested."""
    assert len(set(pairs.CLAIMS)) == len(pairs.CLAIMS)
    outcomes = {(outcome.status, outcome.flags) for outcome in map(pairs.expected, pairs.all_pairs())}
    assert outcomes == {
        (status, frozenset({*flags, *withheld}))
        for status, flags in (
            ("Supported", ()),
            ("Unknown", ()),
            ("Unknown", ("Stale",)),
            ("Unavailable", ()),
            ("Unavailable", ("Stale",)),
        )
        for withheld in ((), ("Withheld",))
    } | {("Supported", frozenset({"Conflicted"}))}
