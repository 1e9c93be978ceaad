"""Unreviewed record types through the whole program: met, shown, accepted under the owner key, taken back, refused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecars.envelope import parse_envelope
from sidecars.leaf import SIGNED_BY, FormatPolicy, Kind, Role, parse_leaf
from tests.simulators.hosts import CodexRollout
from tests.simulators.worlds import World, refusal_of, rollout_of
from tests.timeline.cases import Case, enroll_rollout
from timeline import answers, formats, service
from timeline.search import Status
from timeline.state import open_for_writing
from timeline.status import SourceStatus

NEW = "event_msg/new_thing"


def with_new_type(world: World, *, seed: int = 0, type_name: str = "new_thing") -> Case:
    """One enrolled session that holds a record of a type that was never reviewed."""
    rollout: CodexRollout = rollout_of(world, seed=seed)
    rollout.write("event_msg", {"type": type_name, "text": "MARKER"})
    return enroll_rollout(world, rollout)


@pytest.fixture
def partly(world: World) -> Case:
    """Give a session with an unreviewed type, indexed."""
    case = with_new_type(world)
    case.index()
    return case


def strict(world: World) -> None:
    """Let the owner want strict formats."""
    path = world.locations.settings
    path.write_text("strict_formats = true\n" + path.read_text(encoding="utf-8"), encoding="utf-8")


def status_of(case: Case) -> SourceStatus:
    """The one source as `timeline sources` knows it."""
    (status,) = service.list_sources(case.session, case.world.root)
    return status


@contextmanager
def unchanged(world: World) -> Iterator[None]:
    """Check that nothing is recorded within the block."""
    before = service.verify_timeline(world.session, deep=False).root
    yield
    assert service.verify_timeline(world.session, deep=False).root == before


def test_a_source_with_an_unreviewed_type_is_partly_understood(partly: Case) -> None:
    """Its cards, its misses and its listing say so, and the type is named."""
    answer = partly.terms("pytest", "passed")
    found = answers.search_answer(answer, partly.view, at_ms=None, query=None)
    assert found["status"] == "partly-understood"
    assert {card["understanding"] for card in found["events"]} == {"partly-understood"}
    assert partly.terms("cargo", "failed").status is Status.PARTLY_UNDERSTOOD
    (met,) = formats.list_types(partly.session)
    assert (met.host, met.type, met.accepted, met.sources) == ("codex", NEW, False, (partly.ref,))


@pytest.mark.requirement("T72")
def test_acceptance_counts_at_once_and_can_be_taken_back(partly: Case) -> None:
    """The sidecar stays as it was signed: the source is judged anew at each use."""
    before = {path.name for path in partly.world.locations.sidecars.iterdir()}
    status = formats.accept_type(partly.session, "codex", NEW)
    assert status.accepted
    assert status.sources == (partly.ref,)
    said = answers.source_answer(status_of(partly))
    assert (said["understanding"], said["accepted"]) == ("understood", [NEW])
    assert not partly.terms("pytest", "passed").cards[0].partly_understood
    assert partly.terms("cargo", "failed").status is Status.NOT_FOUND
    assert {path.name for path in partly.world.locations.sidecars.iterdir()} == before

    taken_back = formats.revoke_type(partly.session, "codex", NEW)
    assert not taken_back.accepted
    assert [decision.policy.accepted for decision in taken_back.decisions] == [True, False]
    assert answers.source_answer(status_of(partly))["understanding"] == "partly-understood"
    assert partly.terms("pytest", "passed").cards[0].partly_understood
    assert service.verify_timeline(partly.session, deep=True).ok


def test_what_is_indexed_later_counts_too_and_says_why(world: World) -> None:
    """The report of indexing names the types that the owner's word stands for."""
    formats.accept_type(world.session, "codex", NEW)
    result = with_new_type(world).index()
    said = answers.index_answer(result)
    assert (said["understanding"], said["accepted"], said["unknownTypes"]) == ("understood", [NEW], [NEW])


def test_another_type_or_a_defect_is_not_covered(world: World) -> None:
    """Acceptance is of one type of one host, and never of lines that were not read."""
    formats.accept_type(world.session, "codex", NEW)
    assert with_new_type(world, type_name="newer_thing").index().understanding == "partly-understood"
    rollout = rollout_of(world, seed=1)
    rollout.write("event_msg", {"type": "new_thing"})
    rollout.lines.append(b"{broken")
    assert enroll_rollout(world, rollout).index().understanding == "partly-understood"


def test_a_decision_is_the_owners(partly: Case) -> None:
    """It is a leaf of its own kind, which the owner key signs; the log key cannot."""
    assert SIGNED_BY[Kind.FORMAT_POLICY] is Role.OWNER
    formats.accept_type(partly.session, "codex", NEW)
    with partly.state() as state:
        *_, (_, _, envelope) = state.store.leaves()
    body = parse_leaf(parse_envelope(envelope).payload, Kind.FORMAT_POLICY).body
    assert body == FormatPolicy(host="codex", type=NEW, accepted=True)


@pytest.mark.parametrize(
    ("host", "name", "reason"),
    [
        ("gemini", NEW, "format-name-invalid"),
        ("codex", "", "format-name-invalid"),
        ("codex", "two words", "format-name-invalid"),
        ("codex", "x" * 65, "format-name-invalid"),
        ("codex", "new\n", "format-name-invalid"),
        ("codex", "other", "format-name-invalid"),
    ],
)
def test_what_cannot_be_accepted_is_refused(world: World, host: str, name: str, reason: str) -> None:
    """An unknown host, what is no name, and the name that stands for every other; nothing is recorded."""
    with unchanged(world):
        for decide in (formats.accept_type, formats.revoke_type, formats.show_type):
            assert refusal_of(lambda decide=decide: decide(world.session, host, name)) == reason


def test_a_decision_that_changes_nothing_is_refused(world: World) -> None:
    """Twice accepted or never accepted: no leaf."""
    with unchanged(world):
        refused = refusal_of(lambda: formats.revoke_type(world.session, "codex", NEW))
        assert refused == "format-decision-unchanged"
    formats.accept_type(world.session, "codex", NEW)
    with unchanged(world):
        refused = refusal_of(lambda: formats.accept_type(world.session, "codex", NEW))
        assert refused == "format-decision-unchanged"


@pytest.mark.parametrize("name", [NEW, "other"])
def test_a_log_with_a_decision_that_changes_nothing_is_not_believed(world: World, name: str) -> None:
    """The rule holds for whoever writes the leaf, and nothing of the batch is written."""
    if name == NEW:
        formats.accept_type(world.session, "codex", NEW)
    with unchanged(world), open_for_writing(world.locations, world.session.ports) as state:
        body = FormatPolicy(host="codex", type=name, accepted=True)
        assert refusal_of(lambda: state.commit([body])) == "log-refused"


# -- strict ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T72")
def test_strict_formats_refuse_the_file(world: World) -> None:
    """Nothing of it is committed, and the refusal names the type and the remedy."""
    strict(world)
    case = with_new_type(world)
    with unchanged(world):
        (result,) = service.index(case.session, world.root)
    assert isinstance(result, tuple)
    assert result[1].reason == "format-not-strict"  # type: ignore[attr-defined]  # one of ours
    assert NEW in str(result[1])
    assert "MARKER" not in json.dumps(answers.refused_source(result[0], "", str(result[1]), ""))


@pytest.mark.requirement("T72")
def test_strict_formats_refuse_a_line_that_was_not_understood(world: World) -> None:
    """As the reference does."""
    strict(world)
    rollout = rollout_of(world)
    rollout.lines.append(b"{broken")
    assert refusal_of(enroll_rollout(world, rollout).index) == "format-not-strict"


def test_strict_formats_take_what_the_owner_accepted(world: World) -> None:
    """And every file that is understood."""
    strict(world)
    case = with_new_type(world)
    formats.accept_type(world.session, "codex", NEW)
    assert case.index().understanding == "understood"
    assert case.terms("pytest", "passed").status is Status.FOUND


def test_strict_formats_answer_nothing_from_what_was_indexed_before(partly: Case) -> None:
    """No card is given, and the answer says why; taking the strictness back brings them again."""
    settings = partly.world.locations.settings
    lenient = settings.read_bytes()
    strict(partly.world)
    answer = partly.terms("pytest", "passed")
    assert (answer.status, answer.reason, answer.cards) == (Status.UNAVAILABLE, "format-not-strict", ())
    assert partly.terms("cargo", "failed").status is Status.PARTLY_UNDERSTOOD
    settings.write_bytes(lenient)
    assert partly.terms("pytest", "passed").status is Status.FOUND


@pytest.mark.parametrize("value", ["1", '"true"', "[]"])
def test_strict_formats_are_true_or_false(world: World, value: str) -> None:
    """Anything else is no configuration."""
    path: Path = world.locations.settings
    path.write_text(f"strict_formats = {value}\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    case_root = world.root
    assert refusal_of(lambda: service.index(world.session, case_root)) == "config-invalid"
