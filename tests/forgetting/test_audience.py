"""A refusal tells nobody of a value that he could not have seen; to those who could, it is not said again."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from sidecars.assertion import AssertionEntry
from sidecars.leaf import Body
from sidecars.reasoned import PersonConsent
from tests.capture.stage import failing, new_stage
from tests.forgetting.lives import forget
from tests.simulators.worlds import World, new_world, refusal_of
from tests.world.ledger.ledgers import PROJECT, TENANT, entry
from timeline.forget_use import Named
from timeline.guard.request import Tool
from timeline.world import ledger
from timeline.world.assertion import RouteRefs
from timeline.world.scope import Reader

PORTAL, THREAD = "portal-ref:" + "0" * 32, "thread-ref:" + "1" * 32
HERE, ELSEWHERE = RouteRefs(PORTAL, THREAD), RouteRefs(PORTAL, "thread-ref:" + "2" * 32)

AUDIENCES: list[dict[str, Any]] = [
    {},
    {"project": None},
    {"privacy": "private"},
    {"privacy": "private", "user": "other"},
    {"privacy": "group", "group": "team"},
    {"portal": PORTAL, "thread": THREAD},
    {"purposes": ("audit",)},
    {"purposes": ("audit", "planning")},
    {"about": "person:ada"},
    {"about": "person:ada", "privacy": "private"},
]
SAYERS = [
    Reader(TENANT, "dev", PROJECT, "task:now", HERE),
    Reader(TENANT, "dev", PROJECT, "task:now", ELSEWHERE),
    Reader(TENANT, "dev", PROJECT, "task:now", HERE, purpose="audit"),
    Reader(
        TENANT,
        "dev",
        PROJECT,
        "task:now",
        HERE,
        consents=(PersonConsent("person:ada", "user:dev", None, granted=True),),
    ),
    Reader(TENANT, "other", PROJECT, "task:now", HERE),
]


@pytest.fixture(scope="module", params=range(len(AUDIENCES)))
def forgotten(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Any]:
    """Give a timeline in which one word to one audience was forgotten, and that word."""
    world = new_world(tmp_path_factory.mktemp("audience"))
    once = said("once", **AUDIENCES[request.param])
    with world.session.writing() as state:
        state.commit([once])
    forget(world, Named(assertions=(once.id,)))
    return world, once


def said(name: str, **changes: Any) -> AssertionEntry:
    """The secret word."""
    return entry(name, evidence_kind="explicit-user-feedback", value="the secret word", **changes)


@pytest.mark.requirement("X12", "M18")
@pytest.mark.parametrize("number", range(len(SAYERS)))
def test_only_who_could_have_seen_it_is_refused(forgotten: tuple[World, Any], number: int) -> None:
    """Whatever it claims to say it to: the answer of everybody else is that of a timeline where it never was."""
    world, once = forgotten
    reader = SAYERS[number]
    for place, audience in enumerate(AUDIENCES):
        again = said(f"again-{number}-{place}", **{**audience, "user": reader.user})
        with world.session.writing() as state:
            outcome = refusal_of(lambda state=state, again=again: check(state, again, reader))  # type: ignore[misc]  # a default
        assert outcome in {None, "forgotten"}
        assert outcome is None or may_see(once, reader)


def check(state: Any, again: AssertionEntry, reader: Reader | None) -> None:
    """What recording asks, without recording."""
    work = ledger.work(state, [again], reader=reader)
    next(work)
    work.close()


def may_see(once: AssertionEntry, reader: Reader) -> bool:
    """The rule in words of its own: whether what was forgotten was visible to who says it again."""
    if once.privacy == "private" and once.user != reader.user:
        return False
    if once.privacy == "group" or (once.portal and reader.route != RouteRefs(PORTAL, THREAD)):
        return False
    if once.purposes and reader.purpose not in once.purposes:
        return False
    return not once.about or bool(reader.consents)


@pytest.mark.requirement("M18")
def test_the_same_word_to_the_same_readers_is_refused(forgotten: tuple[World, Any]) -> None:
    """By the owner, who sees all."""
    world, once = forgotten
    changes = {name: getattr(once, name) for name in ("project", "privacy", "user", "group", "about")}
    route = {name: getattr(once, name) for name in ("portal", "thread", "purposes")}
    with world.session.writing() as state:
        assert refusal_of(lambda: check(state, said("same", **changes, **route), None)) == "forgotten"
        other = entry("more", evidence_kind="explicit-user-feedback", value="another", **changes, **route)
        assert refusal_of(lambda: check(state, other, None)) is None


@pytest.mark.requirement("X12")
def test_two_timelines_that_differ_in_what_was_forgotten_unseen_answer_a_session_alike(
    tmp_path: Path,
) -> None:
    """A session guesses a private value of another user, which the owner has had forgotten, and another one."""
    answers = []
    for guessed in (True, False):
        stage = new_stage(tmp_path / str(guessed))
        agent = stage.session("codex", failing)
        with stage.world.session.reading() as state:
            binding = state.view.sources[-1].enrollment.binding
        once = entry(
            "once",
            evidence_kind="explicit-user-feedback",
            value="the secret word" if guessed else "no such word",
            tenant=binding.tenant,
            user="somebody-else",
            project=binding.project,
            privacy="private",
            subject="service:api",
            predicate="deploy.branch",
        )
        hidden: tuple[Body, ...] = (once,)
        with stage.world.session.writing() as state:
            state.commit(hidden)
        forget(stage.world, Named(assertions=(once.id,)))
        outcomes = []
        for privacy, about in itertools.product(("shared", "private"), (None, "person:ada")):
            arguments = {
                "id": f"note:{privacy}-{'of' if about else 'none'}",
                "subjectId": "service:api",
                "predicate": "deploy.branch",
                "value": "the secret word",
                "evidenceKind": "model-suggestion",
                "privacy": privacy,
                **({"aboutId": about} if about else {}),
            }
            answer = agent.ask(Tool.RECORD, arguments)
            outcomes.append((answer.get("status"), answer.get("reason"), answer.get("blocked")))
        answers.append(outcomes)
    assert answers[0] == answers[1]
    assert answers[0][0] == ("recorded", None, False)
