"""A subject is forgotten wherever it is spoken of, and nothing of it comes back with an older backup."""

import shutil
from pathlib import Path

import msgspec
import pytest

from sidecars.graded import Anomaly, Claim, ClaimsEntry, ClaimSource
from sidecars.leaf import Body
from sidecars.reasoned import PersonConsent
from tests.forgetting.lives import forget, found_in
from tests.forgetting.test_coming_back import put_away
from tests.forgetting.test_lineage import commit, derived, said
from tests.sidecars.test_graded import CLAIM, CLAIMS, CREDENTIAL, CREDIBILITY, VERDICT
from tests.simulators.worlds import World, new_world, refusal_of, verdict_of
from tests.world.ledger.ledgers import about
from timeline import forget_use
from timeline.backup import back_up
from timeline.forget_use import Named
from timeline.forgetting.intake import check_works, is_suppressed
from timeline.forgetting.suppression import Forgotten
from timeline.restore import restore
from timeline.staging import Given

NAME = "person:canary-0f1e2d3c4b5a69788796"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path / "world")


def of_source(name: str, entity: str) -> Claim:
    """A claim about somebody else that somebody makes."""
    source = ClaimSource(entity=entity, source_type="secondhand", hops=1)
    return msgspec.structs.replace(CLAIM, id=name, subject="person:bo", sources=(source,))


def everywhere() -> tuple[Body, ...]:
    """Somebody in every place of a leaf that can name him."""
    row = msgspec.structs.replace(CREDIBILITY.rows[0], entity=NAME)
    anomaly = Anomaly(kind="sudden-drop", about=NAME, domain="history", count=1)
    claim = msgspec.structs.replace(CLAIM, id="claim:about", subject=NAME)
    run = msgspec.structs.replace(CREDIBILITY, inputs=1, previous=None, anomalies=(), anomalies_found=0)
    return (
        said("said", subject=NAME),
        said("manager", subject="project:x", value={"manager": NAME}),
        said("spoken", subject="project:y", about=NAME),
        PersonConsent(NAME, None, None, granted=True),
        msgspec.structs.replace(CREDENTIAL, entity=NAME),
        msgspec.structs.replace(VERDICT, subject=NAME, chosen=(), supersedes=()),
        ClaimsEntry("work:one", "conversation", "person:bo", (claim, of_source("claim:rest", "person:bo"))),
        ClaimsEntry("work:two", "conversation", "person:bo", (of_source("claim:by", NAME),)),
        ClaimsEntry("work:three", "conversation", NAME, (of_source("claim:author", "person:bo"),)),
        msgspec.structs.replace(run, run="run:rows", rows=(row,)),
        msgspec.structs.replace(run, run="run:odd", anomalies=(anomaly,), anomalies_found=1),
    )


@pytest.mark.requirement("X11", "M22")
def test_no_leaf_names_a_forgotten_subject(world: World) -> None:
    """In whatever field: in values, of sources, authors, anomalies, consents, credentials and verdicts."""
    commit(world, *everywhere())
    commit(world, said("kept", subject="project:x", value={"manager": "person:bo"}))
    applied = forget(world, Named(subject=NAME))
    assert found_in(world, [NAME.encode()]) == set()
    assert sum(one.count for one in applied.report.changed) == len(everywhere())
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("M15", "M14")
def test_what_only_speaks_of_a_subject_is_kept_and_told_by_the_rule(world: World) -> None:
    """It rests on other things too."""
    commit(world, *everywhere())
    planned = forget_use.plan_forgetting(world.session, Named(subject=NAME), "keep")
    kept = {one.what.split()[0] for one in planned.retained if one.kind == "assertion"}
    assert kept == {"assertion:manager"}
    assert {one.why for one in planned.retained} == {"mixed-source"}
    assert len(planned.targets) + len(planned.retained) == len(everywhere())


@pytest.mark.requirement("M18", "X11")
def test_what_has_no_id_of_its_own_does_not_come_back_with_a_backup(world: World, tmp_path: Path) -> None:
    """Consents, credentials, verdicts and computations are known by the hashes of their leaves."""
    commit(world, *everywhere())
    file = tmp_path / "before.tar"
    back_up(world.session, file)
    forget(world, Named(subject=NAME))
    trust = put_away(world)
    restored = restore(world.session, file, Given(unverified=True, forgotten=trust))
    assert restored is not None
    assert restored.forgotten is not None
    shutil.rmtree(world.folder / "state.away")
    assert found_in(world, [NAME.encode()]) == set()
    assert verdict_of(world, deep=True) == ("ok", frozenset())


@pytest.mark.requirement("M18", "G25")
def test_other_claims_of_the_same_leaf_may_come_again(world: World) -> None:
    """Those that speak of the subject may not, and the work itself was not forgotten."""
    commit(world, *everywhere())
    forget(world, Named(subject=NAME))
    rest = ClaimsEntry("work:one", "conversation", "person:bo", (of_source("claim:rest", "person:bo"),))
    spoken = ClaimsEntry(
        "work:one", "conversation", "person:bo", (msgspec.structs.replace(CLAIM, id="claim:about"),)
    )
    author = ClaimsEntry("work:other", "conversation", "person:bo", (of_source("claim:author", "person:bo"),))
    with world.session.reading() as state:
        check_works(state, [rest])
        assert refusal_of(lambda: check_works(state, [spoken])) == "forgotten"
        assert refusal_of(lambda: check_works(state, [author])) == "forgotten"
        assert not is_suppressed(state, Forgotten.WORK, "work:one")


@pytest.mark.requirement("M22", "G27")
def test_a_verdict_without_a_choice_goes_with_the_last_claim_that_it_was_about(world: World) -> None:
    """While another work claims something about the same question, it rests on that one too."""
    verdict = msgspec.structs.replace(VERDICT, subject=CLAIM.subject, key=CLAIM.key, chosen=(), supersedes=())
    commit(world, CLAIMS, verdict)
    planned = forget_use.plan_forgetting(world.session, Named(work=CLAIMS.work), "keep")
    assert [(one.kind, one.why) for one in planned.targets] == [("claims", "named"), ("verdict", "derived")]
    other = msgspec.structs.replace(CLAIM, id="claim:other")
    commit(world, ClaimsEntry("work:other", "conversation", "person:bo", (other,)))
    planned = forget_use.plan_forgetting(world.session, Named(work=CLAIMS.work), "keep")
    assert [(one.kind, one.why) for one in planned.retained] == [("verdict", "mixed-source")]


@pytest.mark.requirement("X11", "M15", "P50")
def test_nothing_is_made_anew_that_speaks_of_what_goes(world: World) -> None:
    """A derivation that has another leg to stand on is recorded anew only if its words name nobody that goes."""
    commit(world, said("a"), said("z"), said("about", subject=NAME))
    commit(
        world,
        derived("named", "about", "z", value={"who": NAME}),
        derived("quoted", "a", "z", value={"from": "assertion:a"}),
        derived("free", "about", "a", "z", value={"who": "somebody"}),
    )
    forget(world, Named(subject=NAME), "recompute")
    assert found_in(world, [NAME.encode()]) == set()
    forget(world, Named(assertions=("assertion:a",)), "recompute")
    left = {one.value["who"] for one in about(world) if isinstance(one.value, dict) and "who" in one.value}
    assert left == {"somebody"}
    assert not any(isinstance(one.value, dict) and "from" in one.value for one in about(world))


@pytest.mark.requirement("M15", "G13")
def test_a_computation_goes_with_all_its_parts(world: World) -> None:
    """Without one of them the others are no run, whatever the rule says about them."""
    row = msgspec.structs.replace(CREDIBILITY.rows[0], entity=NAME)
    run = msgspec.structs.replace(
        CREDIBILITY, inputs=1, previous=None, parts=2, anomalies=(), anomalies_found=0
    )
    commit(world, msgspec.structs.replace(run, rows=(row,)), msgspec.structs.replace(run, part=2))
    planned = forget_use.plan_forgetting(world.session, Named(subject=NAME), "keep")
    assert [one.why for one in planned.targets] == ["named", "derived"]
    assert forget_use.apply_plan(world.session, planned.digest, confirmed=True).is_complete


@pytest.mark.requirement("M17")
def test_of_a_short_value_it_is_said_what_was_not_looked_for(world: World) -> None:
    """Its halves say nothing, so that one cut in two is not found."""
    commit(world, said("a", value="eightbyt"))
    applied = forget(world, Named(assertions=("assertion:a",)))
    short = forget_use.verify_plan(world.session, applied.plan, [b"eightbyt"])
    assert short.ok
    assert any("less than 16 bytes" in text for text in short.not_checked)
    long = forget_use.verify_plan(world.session, applied.plan, [b"sixteen bytes ok"])
    assert not any("less than" in text for text in long.not_checked)
