"""What holds of grades whatever is claimed (requirements G, M5, M6, M7)."""

import inspect
import os
import pkgutil
import random
import subprocess
import sys
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import timeline.grading
from sidecars.graded import ClaimSource, CredentialEntry
from tests.grading.examples import AS_OF, DAY, claimed, credential, rows_of, said_of, source
from timeline.grading.claims import Claimed, group_by_question
from timeline.grading.distance import retell
from timeline.grading.fixpoint import score_again
from timeline.grading.grade import Rows, ValueGrade, grade_question
from timeline.grading.recompute import recompute

PEOPLE = ["ada", "bob", "eve"]
SOURCES = st.builds(
    lambda name, root, session, hops, verification: source(
        name, root=root, session=session, hops=hops, verification=verification
    ),
    st.sampled_from(PEOPLE),
    st.sampled_from(["root:ada", "root:bob", "root:eve", None]),
    st.sampled_from(["session:1", "session:2", None]),
    st.integers(1, 2),
    st.sampled_from([None, 0, 700_000]),
)
CLAIMS = st.lists(
    st.builds(
        lambda sources, **changes: (sources, changes),
        st.lists(SOURCES, min_size=1, max_size=3, unique=True),
        value=st.sampled_from(["1", "2"]),
        subject=st.sampled_from(["person:bob", "person:eve"]),
        domain=st.sampled_from(["history", "law", "_global"]),
        intent=st.sampled_from(["asserted", "asserted", "asserted", "speculative", "fictional"]),
        mutability=st.sampled_from(["immutable", "immutable", "slow_changing", "stateful"]),
        said_at=st.integers(0, 400).map(lambda days: AS_OF - days * DAY),
        valid_from=st.sampled_from([None, None, 10]),
        work_class=st.sampled_from(["conversation", "paper", "fiction"]),
    ),
    max_size=8,
).map(
    lambda drawn: [
        claimed(str(number), *sources, **changes) for number, (sources, changes) in enumerate(drawn)
    ]
)
PAPERS: tuple[CredentialEntry, ...] = (credential("ada"), credential("bob", quality=0, domain="law"))


def values_of(claims: Sequence[Claimed], rows: Rows) -> dict[tuple[str, str], tuple[ValueGrade, ...]]:
    """Give what each question's values weigh, without the names of the claims."""
    return {
        question: tuple(
            msgspec.structs.replace(value, claims=()) for value in grade_question(members, rows).values
        )
        for question, members in group_by_question(claims).items()
    }


@pytest.mark.requirement("G13")
@given(CLAIMS, st.randoms(use_true_random=False))
def test_the_order_of_claims_changes_no_byte(claims: list[Claimed], order: random.Random) -> None:
    """Neither of a run nor of a grade, in both versions."""
    run = recompute(claims, PAPERS, AS_OF)
    shuffled = list(claims)
    order.shuffle(shuffled)
    again = recompute(shuffled, PAPERS[::-1], AS_OF)
    assert msgspec.json.encode(again) == msgspec.json.encode(run)
    assert score_again(again, shuffled) == score_again(run, claims)
    for question, members in group_by_question(shuffled).items():
        other = group_by_question(claims)[question]
        assert grade_question(members, rows_of(run)) == grade_question(other, rows_of(run))


@pytest.mark.requirement("G13")
def test_another_process_computes_the_same_bytes() -> None:
    """Whatever the hashes of texts are there."""
    program = (
        "import msgspec, tests.grading.examples as e\n"
        "from timeline.grading.recompute import recompute\n"
        "from timeline.grading.fixpoint import score_again\n"
        "claims = [e.says(f'p{n}', str(n % 3), subject=f'thing:{n % 7}') for n in range(60)]\n"
        "run = recompute(claims, [e.credential('p1')], e.AS_OF)\n"
        "print(msgspec.json.encode([run, score_again(run, claims)]).decode())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert len(printed.pop()) > 1_000


def copy_of(one: Claimed, number: int, hops: int) -> Claimed:
    """Give a copy of a claim's first source by somebody new, in a new session, from the same root, and later."""
    name = f"copy{number}-{one.claim.id[6:]}"
    old = one.claim.sources[0]
    copied = msgspec.structs.replace(
        old, entity=f"person:{name}", session=f"session:{name}", hops=old.hops + hops
    )
    return said_of(one, id=f"claim:{name}", sources=(copied,), said_at=AS_OF)


@pytest.mark.requirement("G21", "M5", "M7")
@given(CLAIMS, st.integers(1, 4), st.integers(0, 1), st.data())
def test_copies_from_the_same_root_change_nothing(
    claims: list[Claimed], count: int, hops: int, data: st.DataObject
) -> None:
    """Nobody's score, and the weight of no value, whether they are told as copies or as if they were none."""
    run = recompute(claims, PAPERS, AS_OF)
    chosen = data.draw(st.lists(st.sampled_from(claims), max_size=3)) if claims else []
    copies = [copy_of(one, number, hops) for number in range(count) for one in chosen]
    unique = list({one.claim.id: one for one in copies}.values())
    after = rows_of(recompute([*claims, *unique], PAPERS, AS_OF))
    assert {place: row for place, row in after.items() if "copy" not in place[0]} == rows_of(run)
    retold = [one for one in unique if hops]
    assert values_of([*claims, *retold], rows_of(run)) == values_of(claims, rows_of(run))


@pytest.mark.requirement("M5", "M6", "M7")
@given(CLAIMS, st.integers(1, 4))
def test_recalling_and_storing_again_leaves_everything_as_it_was(claims: list[Claimed], cycles: int) -> None:
    """An agent that stores all that it recalls, again and again, makes nothing truer, nor itself."""
    run = recompute(claims, PAPERS, AS_OF)
    before = values_of(claims, rows_of(run))
    known = list(claims)
    for cycle in range(cycles):
        known += [
            said_of(
                one,
                id=f"claim:c{cycle}-{one.claim.id[6:]}",
                said_at=AS_OF,
                sources=tuple({retell(old, "agent:me", f"session:{cycle}") for old in one.claim.sources}),
            )
            for one in known
        ]
        again = recompute(known, PAPERS, AS_OF)
        assert rows_of(again) == rows_of(run)
        assert values_of(known, rows_of(again)) == before


@pytest.mark.requirement("G12", "G21")
@given(CLAIMS, st.sampled_from(["1", "2"]))
def test_independent_agreement_never_lowers_anything_of_a_value(claims: list[Claimed], value: str) -> None:
    """Neither the scores of who says it, nor its weight; the scores of who says otherwise never rise."""
    run = rows_of(recompute(claims, PAPERS, AS_OF))
    fresh = claimed("fresh", source("fresh", session="session:fresh"), value=value, mutability="stateful")
    after = rows_of(recompute([*claims, fresh], PAPERS, AS_OF))
    said = {
        agreeing: {
            one.entity
            for member in claims
            if member.question == fresh.question and (member.claim.value == value) is agreeing
            for one in member.claim.sources
        }
        for agreeing in (True, False)
    }
    for place, old in run.items():
        if place[0] not in said[False]:
            assert after[place].score >= old.score
        if place[0] not in said[True]:
            assert after[place].score <= old.score
    asserted = [
        one for one in claims if one.claim.value == value and one.question == fresh.question and one.counts
    ]
    if asserted:
        weights = [
            next(v for v in grade_question(members, run).values if v.value == value).weight
            for members in (group_by_question(asserted)[fresh.question], [*asserted, fresh])
        ]
        if any(old.root for one in asserted for old in one.claim.sources):
            assert weights[1] >= weights[0]


@pytest.mark.requirement("G3", "G4", "G25")
@given(CLAIMS, st.sampled_from(["fictional", "disclaimed", "hypothetical", "speculative"]))
def test_stories_denials_suppositions_and_guesses_change_no_score(claims: list[Claimed], intent: str) -> None:
    """However many there are, and however strict a class they claim; a guess may harden a question, and no more."""
    run = recompute(claims, PAPERS, AS_OF)
    others = [
        said_of(one, id=f"claim:x{one.claim.id[6:]}", intent=intent, value="2")
        for one in claims
        if intent != "speculative" or one.claim.mutability == "stateful"
    ]
    assert recompute([*claims, *others], PAPERS, AS_OF).rows == run.rows
    novels = [
        said_of(one, id=f"claim:n{one.claim.id[6:]}", value="2")._replace(work_class="fiction")
        for one in claims
    ]
    assert recompute([*claims, *novels], PAPERS, AS_OF).rows == run.rows


@pytest.mark.requirement("G7")
def test_there_is_no_way_to_set_a_score() -> None:
    """No function of the package takes one, and no body that the owner signs has one."""
    names: dict[str, set[str]] = {}
    for found in pkgutil.iter_modules(timeline.grading.__path__):
        module = __import__(f"timeline.grading.{found.name}", fromlist=["x"])
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__:
                names[name] = set(inspect.signature(function).parameters)
    assert len(names) > 30
    assert {name for name, parameters in names.items() if {"score", "credibility"} & parameters} == set()
    assert [name for name in names if name.startswith(("set_", "edit_", "assign_"))] == []
    fields = {field.name for field in msgspec.structs.fields(ClaimSource)}
    assert fields == {"entity", "source_type", "hops", "session", "verification", "root"}
