"""What goes with what is forgotten, what stays and why: lineage, and the rule for items of several sources."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry, DerivationEntry
from sidecars.graded import ClaimsEntry
from sidecars.leaf import Body
from sidecars.reasoned import ConflictInscription, EvidenceRevocation
from tests.capture.stage import captured, failing, new_stage, passing, typing
from tests.forgetting.lives import forget, found_in
from tests.guard.agents import Agent, enroll
from tests.sidecars.test_graded import CLAIM, CLAIMS, CREDIBILITY, VERDICT
from tests.simulators.worlds import World, new_world, refusal_of, verdict_of
from tests.world.ledger.ledgers import SUBJECT, about, entry, names, record
from timeline import forget_use, service
from timeline.forget_use import Named, Planned
from timeline.forgetting.intake import check_works, is_suppressed
from timeline.forgetting.plan import Rule
from timeline.forgetting.suppression import Forgotten
from timeline.guard.request import Tool


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path / "world")


def said(name: str, **changes: Any) -> AssertionEntry:
    """The owner's word."""
    return entry(name, evidence_kind="explicit-user-feedback", **changes)


def derived(name: str, *alternatives: str, **changes: Any) -> AssertionEntry:
    """A model's interpretation; each alternative is names of assertions with a space between them."""
    families = sorted(tuple(sorted(f"assertion:{one}" for one in family.split())) for family in alternatives)
    derivation = DerivationEntry("memory-interpretation", "model.reads", 0, "model/1", tuple(families))
    return entry(name, evidence_kind="model-suggestion", derivation=derivation, **changes)


def commit(world: World, *bodies: Body) -> None:
    """Record as it is."""
    with world.session.writing() as state:
        state.commit(bodies)


def plan(world: World, *assertions: str, rule: Rule = "redact") -> Planned:
    """The plan of forgetting these."""
    named = Named(assertions=tuple(f"assertion:{name}" for name in assertions))
    return forget_use.plan_forgetting(world.session, named, rule)


def why(planned: Planned) -> dict[str, str]:
    """By the name of each assertion that would be erased, why."""
    return {
        one.what.split()[0].removeprefix("assertion:"): one.why
        for one in planned.targets
        if one.kind == "assertion"
    }


@pytest.mark.requirement("M12", "M22")
def test_what_would_come_back_goes_along(world: World) -> None:
    """A correction that goes takes what it had replaced with it, transitively; what has replaced it stays."""
    record(world, said("a", value="one"))
    record(world, said("b", value="two", supersedes=["a"], observed_at=entry("x").observed_at + 1))
    record(world, said("c", value="three", supersedes=["b"], observed_at=entry("x").observed_at + 2))
    planned = plan(world, "b")
    assert why(planned) == {"a": "would-come-back", "b": "named"}
    forget_use.apply_plan(world.session, planned.digest, confirmed=True)
    assert names(about(world)) == ["c"]
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("M22", "P50", "P35")
def test_what_rests_on_it_alone_goes_along(world: World) -> None:
    """Through any number of steps; what rests on something else stays."""
    commit(world, said("a"), said("z"))
    commit(world, derived("b", "a"), derived("y", "z"))
    commit(world, derived("c", "b"), derived("d", "b z"))
    planned = plan(world, "a")
    assert why(planned) == {"a": "named", "b": "derived", "c": "derived", "d": "derived"}
    forget_use.apply_plan(world.session, planned.digest, confirmed=True)
    assert names(about(world)) == ["z", "y"]


@pytest.mark.requirement("M15", "P50")
@pytest.mark.parametrize("rule", ["keep", "recompute", "redact"])
def test_what_rests_on_several_goes_by_the_rule(world: World, rule: Rule) -> None:
    """It stays and is reported, is made anew from what is left, or goes."""
    commit(world, said("a"), said("z"))
    commit(world, derived("m", "a", "z", value="kept so"))
    planned = plan(world, "a", rule=rule)
    expected = {"keep": {}, "recompute": {"m": "made-anew"}, "redact": {"m": "mixed"}}[rule]
    assert why(planned) == {"a": "named", **expected}
    assert [one.why for one in planned.retained] == (["mixed-source"] if rule == "keep" else [])
    applied = forget_use.apply_plan(world.session, planned.digest, confirmed=True)
    assert applied.report.retained_count == (1 if rule == "keep" else 0)
    left = {one.entry.id: one for one in about(world)}
    assert "assertion:a" not in left
    if rule == "keep":
        assert set(left) == {"assertion:z", "assertion:m"}
    elif rule == "redact":
        assert set(left) == {"assertion:z"}
    else:
        (anew,) = (one for name, one in left.items() if name.startswith("assertion:anew-"))
        assert anew.entry.derivation is not None
        assert anew.entry.derivation.alternatives == (("assertion:z",),)
        assert anew.value == "kept so"
        assert set(left) == {"assertion:z", anew.id}
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("M22", "P35")
def test_what_was_said_about_it_goes_along(world: World) -> None:
    """A revocation of it, and a conflict that it is one side of."""
    commit(world, said("a"), said("z"))
    commit(
        world,
        EvidenceRevocation("assertion:a", "the machine was broken"),
        ConflictInscription(("assertion:a", "assertion:z"), "both cannot be"),
        EvidenceRevocation("assertion:z", "this one as well"),
    )
    planned = plan(world, "a")
    assert [one.kind for one in planned.targets] == ["assertion", "evidence-revocation", "conflict"]
    forget_use.apply_plan(world.session, planned.digest, confirmed=True)
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("M22", "M10")
def test_with_a_source_goes_what_was_captured_from_it(tmp_path: Path) -> None:
    """Results and quotes of that session, under whatever evidence; those of another stay."""
    stage = new_stage(tmp_path)
    stage.start(stage.session("king", failing))
    one, other = stage.session("codex", failing, number=1), stage.session("claude", passing, number=2)
    captured(one)
    captured(one, "user message")
    kept = captured(other, "pytest passed")["captured"]["assertionId"]
    planned = forget_use.plan_forgetting(stage.world.session, Named(source=one.ref), "redact")
    kinds = [(target.kind, target.why) for target in planned.targets]
    assert kinds == [
        ("enrollment", "named"),
        ("sidecar", "of-the-source"),
        ("assertion", "captured"),
        ("assertion", "captured"),
    ]
    forget_use.apply_plan(stage.world.session, planned.digest, confirmed=True)
    assert kept in {assertion.id for assertion in stage.assertions(other)}
    listed = service.list_sources(stage.world.session, stage.world.root)
    assert one.ref not in {status.source.enrollment.source.ref for status in listed}


@pytest.mark.requirement("M22", "M15")
def test_a_task_that_goes_on_from_a_forgotten_session_is_mixed(tmp_path: Path) -> None:
    """The newer continuation has taken over the words of the older one: it goes, unless the owner keeps it."""
    stage = new_stage(tmp_path)
    stage.start(stage.session("king", failing))
    one = stage.session("codex", typing("Correction: next step: look at the lexer"), number=1)
    assert captured(one, "user correction")["status"] == "captured"
    later = stage.session("codex", typing("Correction: next step: something else"), number=2)
    assert captured(later, "user correction")["status"] == "captured"
    planned = forget_use.plan_forgetting(stage.world.session, Named(source=one.ref), "redact")
    reasons = [target.why for target in planned.targets if target.kind == "assertion"]
    assert sorted(reasons) == ["captured", "mixed", "would-come-back"]
    kept = forget_use.plan_forgetting(stage.world.session, Named(source=one.ref), "keep")
    assert [one.why for one in kept.retained] == ["mixed-source"]


@pytest.mark.requirement("M7", "M4")
def test_what_has_no_recorded_lineage_stays_and_is_told(tmp_path: Path) -> None:
    """A suggestion without a kind of knowledge names no session: nobody can say that it came from this one."""
    stage = new_stage(tmp_path)
    agent = stage.session("codex", failing)
    suggest(agent, "plain")
    suggest(agent, "lesson", knowledgeKind="error-lesson")
    planned = forget_use.plan_forgetting(stage.world.session, Named(source=agent.ref), "redact")
    assert [one.why for one in planned.retained] == ["lineage-unknown"]
    assert [one.why for one in planned.targets if one.kind == "assertion"] == ["captured"]


def suggest(agent: Agent, name: str, **more: Any) -> None:
    """A model suggests something."""
    agent.ask(
        Tool.RECORD,
        {
            "id": f"note:{name}",
            "subjectId": "service:api",
            "predicate": "deploy.branch",
            "value": name,
            "evidenceKind": "model-suggestion",
            **more,
        },
    )


@pytest.mark.requirement("M12")
def test_a_subject_is_forgotten_with_all_that_is_held_about_it(world: World) -> None:
    """Other subjects stay; about the same one, other things may be said again."""
    commit(world, said("a", value="one"), said("b", value="two"), said("z", subject="suite:other"))
    forget(world, Named(subject=SUBJECT))
    assert names(about(world)) == []
    assert names(about(world, "suite:other")) == ["z"]
    assert refusal_of(lambda: record(world, said("c", value="one"))) == "forgotten"
    assert refusal_of(lambda: record(world, said("a", value="three"))) == "forgotten"
    record(world, said("d", value="three"))
    assert names(about(world)) == ["d"]


@pytest.mark.requirement("M22", "M15")
def test_a_work_is_forgotten_with_what_was_computed_and_decided_from_it(world: World) -> None:
    """Its claims, the verdict that chose one of them, and each computation that has read it; other works stay."""
    other = msgspec.structs.replace(CLAIM, id="claim:other", subject="person:bo")
    verdict = msgspec.structs.replace(VERDICT, chosen=(CLAIM.id,), supersedes=())
    commit(world, CLAIMS, ClaimsEntry("work:other", "conversation", "person:bo", (other,)))
    before = _size(world)
    commit(world, msgspec.structs.replace(CREDIBILITY, inputs=before, previous=None), verdict)
    commit(world, msgspec.structs.replace(CREDIBILITY, run="run:older", inputs=1, previous=None))
    planned = forget_use.plan_forgetting(world.session, Named(work="work:letters"), "redact")
    assert [(one.kind, one.why) for one in planned.targets] == [
        ("claims", "named"),
        ("credibility", "mixed"),
        ("verdict", "derived"),
    ]
    forget_use.apply_plan(world.session, planned.digest, confirmed=True)
    assert verdict_of(world, deep=True) == ("ok", frozenset())
    with world.session.reading() as state:
        assert is_suppressed(state, Forgotten.WORK, "work:letters")
        assert is_suppressed(state, Forgotten.CLAIM, CLAIM.id)
        assert not is_suppressed(state, Forgotten.WORK, "work:other")
        again = msgspec.structs.replace(CLAIMS, work="work:again")
        assert refusal_of(lambda: check_works(state, [CLAIMS])) == "forgotten"
        assert refusal_of(lambda: check_works(state, [again])) == "forgotten"
        check_works(state, [ClaimsEntry("work:other", "conversation", "person:bo", (other,))])


def _size(world: World) -> int:
    with world.session.reading() as state:
        return state.belief.size


@pytest.mark.requirement("P2", "P35", "P50")
def test_a_dangling_dependency_is_known_to_be_erased(world: World) -> None:
    """By a signed erasure, and by no other way: an id that never was is not."""
    commit(world, said("a"), said("z"))
    commit(world, derived("m", "a", "z"))
    forget(world, Named(assertions=("assertion:a",)), "keep")
    assert names(about(world)) == ["z", "m"]
    with world.session.reading() as state:
        assert is_suppressed(state, Forgotten.ASSERTION, "assertion:a")
        assert not is_suppressed(state, Forgotten.ASSERTION, "assertion:never")


@pytest.mark.requirement("M22", "X11")
@pytest.mark.parametrize("ends", ["follows", "revoked", "renewed"])
def test_every_enrollment_of_a_session_goes(tmp_path: Path, ends: str) -> None:
    """With its growth, its proofs, what has replaced it and what took it back; another session stays as it is."""
    stage = new_stage(tmp_path)
    agent = stage.session("codex", failing, follow=True)
    other = stage.session("claude", passing, number=1, follow=True)
    stage.grow(agent, lambda one: [failing(one), passing(one)])
    service.index(stage.world.session, stage.world.root)
    if ends == "revoked":
        service.revoke(stage.world.session, agent.ref)
    elif ends == "renewed":
        enroll(stage.world, agent.written, turn="turn-again")
        service.index(stage.world.session, stage.world.root)
    with stage.world.session.reading() as state:
        kept = [source for source in state.view.sources if source.enrollment.source.ref == other.ref]
    planned = forget_use.plan_forgetting(stage.world.session, Named(source=agent.ref), "redact")
    kinds = {target.kind for target in planned.targets}
    assert kinds >= {"enrollment", "sidecar", "extension", "prefix-proof"}
    assert ("revocation" in kinds) == (ends == "revoked")
    forget_use.apply_plan(stage.world.session, planned.digest, confirmed=True)
    words = [str(agent.written.path).encode(), agent.session.encode(), agent.ref.encode()]
    assert found_in(stage.world, words) == set()
    with stage.world.session.reading() as state:
        assert list(state.view.sources) == kept
    assert verdict_of(stage.world, deep=True) == ("ok", frozenset())
    assert captured(other, "pytest passed")["status"] == "captured"
