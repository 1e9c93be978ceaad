"""A question over a real ledger: what supports it, and what no longer does."""

from typing import Any

import pytest

from sidecars.assertion import AssertionEntry
from sidecars.reasoned import (
    ConflictInscription,
    EvidencePolicyEntry,
    EvidenceRevocation,
    PersonConsent,
)
from tests.reasoning.ledger.asking import (
    EVALUATOR,
    ME,
    OWNER,
    PREDICATE,
    accepting,
    ask,
    captured,
    commit,
    derived,
    mediate,
    record,
    said,
    session,
    standing,
    suggested,
    unit,
)
from tests.simulators.worlds import NOW_MS, World, refusal_of
from tests.world.ledger.ledgers import OBSERVED, OTHER_PROJECT, PROJECT, SUBJECT
from timeline.auditing import audit_question
from timeline.reasoning_graph import marker_of
from timeline.reasoning_reading import read_graph, read_policy
from timeline.world import ledger
from timeline.world.errors import DerivationError, WorldScopeError
from timeline.world.scope import Reader

TWO = EvidencePolicyEntry(1, 2, {}, collapse=True, snapshot=False)
OTHER = Reader(ME.tenant, "other", PROJECT)


@pytest.mark.requirement("P11", "M5", "G21")
def test_two_sessions_corroborate_and_one_twice_does_not(world: World) -> None:
    """One session is one witness, however often it has seen something."""
    commit(world, TWO)
    record(world, captured("a", seen_in=1), captured("b", seen_in=1))
    assert standing(world) == "unrecorded"
    record(world, captured("c", seen_in=2))
    found = ask(world)
    assert found.answer.view.standing == "supported"
    (content,) = found.answer.view.contents
    assert [source.id for source in content.sources] == ["assertion:c", "assertion:a"]


@pytest.mark.requirement("P11", "M3")
def test_the_owner_is_one_root_however_often_he_says_it(world: World) -> None:
    """Two of his statements are one person's; with a session there are two."""
    commit(world, TWO)
    record(world, said("a"), said("b", observed_at=OBSERVED + 1))
    assert standing(world) == "unrecorded"
    record(world, captured("c"))
    assert standing(world) == "supported"


@pytest.mark.requirement("P6", "P12", "M5", "M6")
def test_what_a_model_suggests_never_supports(world: World) -> None:
    """However often it is stored; nor does what another system has recorded."""
    record(world, *(suggested(f"s{number}") for number in range(5)))
    assert standing(world) == "unrecorded"
    record(world, said("i", recorder="import"))
    assert standing(world) == "unrecorded"
    record(world, captured("c"))
    (content,) = ask(world).answer.view.contents
    assert [source.id for source in content.sources] == ["assertion:c"]


@pytest.mark.requirement("P14", "P15", "P18", "M4", "M6")
def test_recall_and_store_in_a_loop_adds_no_root(world: World) -> None:
    """Each round interprets what the last one stored; all of it stands on the one session."""
    commit(world, TWO)
    record(world, captured("0"))
    for number in range(1, 6):
        record(world, derived(suggested(f"{number}"), "memory-interpretation", ("0",)))
    assert standing(world) == "unrecorded"
    record(world, derived(suggested("6"), "hypothesis", ("5",)))
    assert standing(world) == "unrecorded"


@pytest.mark.requirement("P35", "P25")
def test_a_correction_of_the_owners_supersedes(world: World) -> None:
    """Only what replaced it is said from then on."""
    record(world, captured("old", 1))
    record(world, captured("new", 2, seen_in=2, observed_at=OBSERVED + 1))
    assert standing(world) == "conflicted"
    assert ask(world).answer.contents == ()
    record(world, said("right", 3, supersedes=["new", "old"], observed_at=OBSERVED + 2))
    (content,) = ask(world).answer.view.contents
    assert content.proposition.value == "3"


@pytest.mark.requirement("P35")
def test_what_rests_on_something_replaced_is_not_said(world: World) -> None:
    """A summary of a measurement that was corrected since."""
    commit(world, accepting())
    record(world, captured("a", 1))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    assert standing(world, predicate="x.y") == "supported"
    record(world, said("b", 2, supersedes=["a"], observed_at=OBSERVED + 1))
    assert standing(world, predicate="x.y") == "unrecorded"


@pytest.mark.requirement("P34", "P50")
def test_a_revocation_takes_the_ground_away(world: World) -> None:
    """Of one assertion, and of all of a session; another complete ground keeps its support."""
    commit(world, accepting())
    record(world, captured("a"), captured("b", seen_in=2))
    record(world, derived(suggested("both", 5, predicate="x.y"), "memory-interpretation", ("a",), ("b",)))
    record(world, derived(suggested("one", 5, predicate="x.z"), "memory-interpretation", ("a",)))
    commit(world, EvidenceRevocation("assertion:a", "why"))
    assert standing(world) == "supported"
    assert standing(world, predicate="x.y") == "supported"
    assert standing(world, predicate="x.z") == "unrecorded"
    commit(world, EvidenceRevocation(session(2), "why"))
    assert standing(world) == standing(world, predicate="x.y") == "unrecorded"


@pytest.mark.requirement("P35")
def test_an_inscribed_conflict_is_told_of_both(world: World) -> None:
    """Two predicates that nothing else compares; one of them replaced ends it."""
    record(world, captured("a", "green"), captured("b", "done", predicate="release.state"))
    assert standing(world) == standing(world, predicate="release.state") == "supported"
    commit(world, ConflictInscription(("assertion:a", "assertion:b"), "why"))
    assert standing(world) == standing(world, predicate="release.state") == "conflicted"
    record(world, said("c", "red", supersedes=["a"], observed_at=OBSERVED + 1))
    assert standing(world) == standing(world, predicate="release.state") == "supported"


@pytest.mark.requirement("P24", "P33")
def test_time_is_transitive_and_both_ends_count(world: World) -> None:
    """Before it began, after it ended, and for what rests on it."""
    commit(world, accepting())
    record(world, captured("a", starts_at=NOW_MS + 10, expires_at=NOW_MS + 20))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    for at, found in ((9, "stale"), (10, "supported"), (19, "supported"), (20, "stale")):
        assert standing(world, at=NOW_MS + at) == found
        assert standing(world, at=NOW_MS + at, predicate="x.y") == found


def test_what_was_observed_later_says_nothing_of_before(world: World) -> None:
    """Without a beginning of its own it holds from its observation on."""
    record(world, captured("a"))
    assert [standing(world, at=OBSERVED + offset) for offset in (-1, 0)] == ["stale", "supported"]


@pytest.mark.requirement("P3")
def test_policies_are_versioned(world: World) -> None:
    """The newest holds; a log whose versions have a gap is not answered from."""
    record(world, captured("a"))
    with world.session.reading() as state:
        assert read_policy(state).version == 0
    commit(world, TWO)
    assert standing(world) == "unrecorded"
    commit(world, EvidencePolicyEntry(2, 2, {PREDICATE: 1}, collapse=True, snapshot=False))
    assert standing(world) == "supported"
    commit(world, EvidencePolicyEntry(4, 1, {}, collapse=True, snapshot=False))
    assert refusal_of(lambda: ask(world)) == "world-state-invalid"


@pytest.mark.requirement("P30", "P31", "P48", "P21")
def test_what_is_hidden_supports_nothing_and_does_not_show(world: World) -> None:
    """Another's private word, alone and beside one's own."""
    nothing = ask(world)
    record(world, said("hers", user="other", privacy="private"))
    assert ask(world) == nothing
    assert standing(world, OTHER) == "supported"
    record(world, captured("shared"))
    assert standing(world) == "supported"
    record(world, said("two", 2, user="other", privacy="private"))
    assert standing(world) == "supported"


@pytest.mark.requirement("P8", "P33")
def test_a_purpose_bounds_what_is_told(world: World) -> None:
    """A payroll record is not for planning, and not for whoever names no purpose."""
    record(world, captured("a", purposes=("payroll",)))

    def told(purpose: str | None) -> str:
        return standing(world, Reader(ME.tenant, ME.user, PROJECT, purpose=purpose))

    assert [told(purpose) for purpose in ("payroll", "planning", None)] == [
        "supported",
        "unrecorded",
        "unrecorded",
    ]


@pytest.mark.requirement("P49")
def test_what_is_about_a_person_waits_for_that_person(world: World) -> None:
    """Consent and its revocation change what is told, and the owner sees it all along."""
    record(world, captured("a", about="person:kim"))
    told = [(standing(world), standing(world, OWNER))]
    for granted in (True, False):
        commit(world, PersonConsent("person:kim", "user:dev", None, granted))
        told.append((standing(world), standing(world, OWNER)))
    assert told == [
        ("unrecorded", "supported"),
        ("supported", "supported"),
        ("unrecorded", "supported"),
    ]


@pytest.mark.requirement("P26", "P29", "X12")
@pytest.mark.parametrize(
    "reader", [ME, Reader(ME.tenant, "dev", PROJECT, private=False, group="team", is_owner=True)]
)
def test_a_decision_is_for_the_owner_alone(world: World, reader: Reader) -> None:
    """A session and a group get a view, and never what is behind it."""
    with world.session.reading() as state, pytest.raises(WorldScopeError):
        audit_question(state, reader, SUBJECT, PREDICATE)


@pytest.mark.requirement("P33")
def test_another_project_is_another_world(world: World) -> None:
    """What is for all projects is for this one too."""
    record(world, captured("there", project=OTHER_PROJECT))
    assert standing(world) == "unrecorded"
    record(world, captured("everywhere", project=None))
    assert standing(world) == "supported"


# -- what is derived -------------------------------------------------------------------------------------------


@pytest.mark.requirement("P14", "P46", "M4")
def test_an_interpretation_counts_where_its_evaluator_is_accepted(world: World) -> None:
    """By default nobody's does: what a model reads in a result is a suggestion with a better address."""
    record(world, captured("a"))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    assert standing(world, predicate="x.y") == "unrecorded"
    another = EvidencePolicyEntry(1, 1, {}, collapse=True, snapshot=False, evaluators=("tester/2",))
    commit(world, another)
    assert standing(world, predicate="x.y") == "unrecorded"
    commit(world, accepting(2))
    assert standing(world, predicate="x.y") == "supported"


@pytest.mark.requirement("P13", "P46")
def test_a_belief_is_the_owners_stance_on_an_interpretation(world: World) -> None:
    """It keeps what it rests on: revoked there, it is not held any more."""
    record(world, captured("a"))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    record(world, derived(said("belief", predicate="x.z"), "recorded-belief", ("i",)))
    assert standing(world, predicate="x.z") == "supported"
    (content,) = ask(world, predicate="x.z").answer.view.contents
    assert [source.role.value for source in content.sources] == ["recorded-belief"]
    commit(world, EvidenceRevocation(session(1), "why"))
    assert standing(world, predicate="x.z") == "unrecorded"


@pytest.mark.requirement("P15", "P46", "M3")
def test_only_what_the_table_lets_follow_is_taken(world: World) -> None:
    """A belief follows from an interpretation; an interpretation from no suggestion."""
    record(world, captured("a"), suggested("s"))

    def refused(entry: AssertionEntry) -> str | None:
        return refusal_of(lambda: record(world, entry))

    invalid = "world-derivation-invalid"
    assert refused(derived(said("b"), "recorded-belief", ("a",))) == invalid
    assert refused(derived(suggested("i"), "memory-interpretation", ("s",))) == invalid
    assert refused(derived(suggested("i"), "memory-interpretation", ("a",), ("s",))) == invalid
    record(world, derived(suggested("h"), "hypothesis", ("s",)))
    record(world, derived(suggested("p"), "probabilistic-interpretation", ("a", "s")))
    record(world, derived(captured("d", predicate="x.y"), "deterministic-derivation", ("a",)))
    assert standing(world, predicate="x.y") == "supported"


@pytest.mark.requirement("P2", "P21", "X12")
def test_what_is_not_there_and_what_is_hidden_are_refused_alike(world: World) -> None:
    """The words are the same, and nothing is written."""
    record(world, said("hers", user="other", privacy="private"), captured("there", project=OTHER_PROJECT))
    refusals = set()
    for name in ("hers", "there", "nowhere"):
        entry = derived(suggested("i"), "memory-interpretation", (name,))
        with pytest.raises(DerivationError) as refused:
            record(world, entry, reader=ME)
        refusals.add(str(refused.value))
    assert len(refusals) == 1


@pytest.mark.requirement("P33", "P8", "M10")
@pytest.mark.parametrize(
    ("rests_on", "follows"),
    [
        ({"privacy": "private"}, {"privacy": "shared"}),
        ({"purposes": ("payroll",)}, {}),
        ({"purposes": ("payroll",)}, {"purposes": ("payroll", "planning")}),
        ({}, {"project": None}),
        ({"about": "person:kim"}, {}),
        ({"about": "person:kim"}, {"about": "person:lee"}),
        (
            {"portal": "portal-ref:" + "1" * 32, "thread": "thread-ref:" + "2" * 32},
            {},
        ),
    ],
)
def test_what_follows_is_for_no_more_than_what_it_rests_on(
    world: World, rests_on: dict[str, Any], follows: dict[str, Any]
) -> None:
    """The same scope is enough; a wider one launders what it was derived from."""
    record(world, captured("a", **rests_on))
    entry = derived(suggested("i", **follows), "memory-interpretation", ("a",))
    assert refusal_of(lambda: record(world, entry)) == "world-derivation-invalid"
    record(world, derived(suggested("i", **rests_on), "memory-interpretation", ("a",)))


# -- what is gone ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("P2", "P50")
def test_only_an_erasure_leaves_a_marker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of something derived whose ground is gone otherwise nothing is admitted."""
    record(world, captured("a"))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    take_away(monkeypatch, "assertion:a")
    with world.session.reading() as state:
        graph = read_graph(state, ME, [(SUBJECT, "x.y")])
    assert (dict(graph.vertices), dict(graph.markers)) == ({}, {})
    commit(world, accepting(collapse=False))
    assert standing(world, predicate="x.y") == "unrecorded"
    monkeypatch.setattr("timeline.reasoning_reading.is_suppressed", lambda *_: True)
    assert standing(world, predicate="x.y") == "unavailable"
    commit(world, accepting(2))
    assert standing(world, predicate="x.y") == "unrecorded"
    with world.session.reading() as state:
        graph = read_graph(state, ME, [(SUBJECT, "x.y")])
    assert dict(graph.markers) == {"assertion:a": marker_of("assertion:a")}


def take_away(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the ledger find no assertion of this id, as after an erasure."""
    found = ledger._named
    monkeypatch.setattr(ledger, "_named", lambda state, asked: () if asked == name else found(state, asked))


@pytest.mark.requirement("P25", "P35")
def test_a_contradiction_with_what_it_was_derived_from_is_seen_from_both_sides(world: World) -> None:
    """Also where the other side needs a second witness, that the question itself does not lead to."""
    record(world, captured("y", "red"), captured("y2", "red", seen_in=2))
    record(world, derived(suggested("x", "green", predicate="x.y"), "memory-interpretation", ("y",)))
    policy = EvidencePolicyEntry(1, 1, {PREDICATE: 2}, collapse=True, snapshot=False, evaluators=(EVALUATOR,))
    commit(world, policy, ConflictInscription(("assertion:x", "assertion:y"), "one of them"))
    assert [standing(world, predicate=one) for one in (PREDICATE, "x.y")] == ["conflicted"] * 2


@pytest.mark.requirement("P14", "P46")
def test_what_else_is_asked_about_supports_nothing(world: World) -> None:
    """A belief takes up an interpretation for itself: that it is read as well makes nothing else sayable."""
    record(world, captured("a"))
    record(world, derived(suggested("i", predicate="x.y"), "memory-interpretation", ("a",)))
    record(world, derived(said("b", predicate="x.z"), "recorded-belief", ("i",)))
    assert [standing(world, predicate=one) for one in ("x.y", "x.z")] == ["unrecorded", "supported"]
    answer = mediate(world, unit("i", predicate="x.y"), unit("b", predicate="x.z"))
    assert [one.disposition for one in answer.units] == ["blocked", "passed"]


@pytest.mark.requirement("P11", "M5", "X12")
def test_a_copied_session_is_no_second_witness(world: World) -> None:
    """A host copies the moment of each run with it; a run of its own counts, and a hidden copy takes nothing away."""
    commit(world, TWO)
    record(world, captured("a"), captured("copy", seen_in=2, observed_at=OBSERVED))
    assert standing(world) == "unrecorded"
    record(world, captured("own", seen_in=2, observed_at=OBSERVED + 1))
    assert standing(world) == "supported"
    hidden = captured("h", seen_in=0, observed_at=OBSERVED + 1, privacy="private", user="other")
    record(world, hidden, captured("i", seen_in=0, observed_at=OBSERVED, privacy="private", user="other"))
    assert standing(world) == "supported"
    commit(world, EvidenceRevocation(session(2), "not this one"))
    commit(world, EvidencePolicyEntry(2, 1, {}, collapse=True, snapshot=False))
    assert [one.id for one in ask(world).answer.view.contents[0].sources] == ["assertion:a"]
    with world.session.reading() as state:
        gone = read_graph(state, ME, [(SUBJECT, PREDICATE)]).revoked
    assert gone >= {"assertion:copy", "assertion:own"}
    commit(world, EvidenceRevocation(session(1), "nor this"))
    assert standing(world) == "unrecorded"
