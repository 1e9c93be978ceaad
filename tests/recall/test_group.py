"""Group commit: what several followed sources have waiting becomes one batch, and each is read as it would be alone."""

import json
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from sidecars.digest import Digest
from tests.e2e.test_crash import History, assert_recovers
from tests.simulators.anchored import make_witness
from tests.simulators.crash_child import act_and_die_at
from tests.simulators.growth import Growing, follow, truncate
from tests.simulators.witnesses import HandClock, serving, socket_path
from tests.simulators.worlds import (
    World,
    answers_of,
    checkpoint_of,
    event_ids,
    leaves_of,
    new_world,
    verdict_of,
    with_probe,
)
from timeline import service
from timeline.anchoring import add_anchor
from timeline.errors import StateUnwritableError
from timeline.extending import Due, extend_together
from timeline.external import External
from timeline.index import IndexResult
from timeline.limits import MIB
from timeline.tlog import Step

SOURCES = 20
FIVE = 5


@dataclass(frozen=True)
class Grown:
    """A timeline whose followed sessions have all grown since they were indexed."""

    world: World
    growing: tuple[Growing, ...]
    ids: tuple[str, ...]

    def due(self, count: int = SOURCES, proof_bytes: int = 0) -> list[Due]:
        """The first ``count`` of them, to be read on."""
        return [Due(self.world.root, key, proof_bytes) for key in self.ids[:count]]

    def copy(self, folder: Path) -> "Grown":
        """The same timeline once more; the transcripts are shared."""
        return Grown(self.world.copy(folder), self.growing, self.ids)

    def read(self, count: int = SOURCES, proof_bytes: int = 0) -> tuple[Counter[Step], list[IndexResult]]:
        """Read them on together: how often each step of a commit was taken, and what was read; none is refused."""
        steps: Counter[Step] = Counter()
        session = with_probe(self.world.session, lambda step: steps.update([step]))
        found = extend_together(session, self.due(count, proof_bytes))
        results = [result for result in found if isinstance(result, IndexResult)]
        assert len(results) == len(found), found
        return steps, results


def grow(folder: Path, count: int) -> Grown:
    """Enroll ``count`` sessions in the middle of their work, index them, and let their hosts write on.

    What each had committed ends with a result that may still be told more about, so that it has a sidecar to give up.
    """
    world = new_world(folder)
    growing = []
    for seed in range(count):
        session = follow(world, first=0, seed=seed)
        result = session.whole.index(b"12 passed", session.whole.index(b"1 failed"))
        session.write_up_to(session.whole.index(b"\n", result) + 1)
        growing.append(session)
    assert not any(isinstance(found, tuple) for found in service.index(world.session, world.root))
    for session in growing:
        session.write(len(session.whole))
    ids = tuple(session.status().source.enrollment.enrollment_id for session in growing)
    return Grown(world, tuple(growing), ids)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    """Give 20 sessions that have grown; tests work on copies."""
    return grow(tmp_path_factory.mktemp("grown") / "world", SOURCES)


@pytest.fixture
def grown(base: Grown, tmp_path: Path) -> Grown:
    """Give a copy of them."""
    return base.copy(tmp_path / "world")


def batches_of(world: World) -> list[list[dict[str, Any]]]:
    """The bodies that each commit has added."""
    leaves = [json.loads(envelope.partition(b"\n\n")[2]) for _, _, envelope in leaves_of(world)]
    found = groupby(leaves, key=itemgetter("batch_start"))
    return [[leaf["body"] for leaf in batch] for _, batch in found]


def told(world: World) -> dict[str, list[dict[str, Any]]]:
    """What the log says of each source, in order; sidecars by their place, since their digests hold a nonce."""
    found: dict[str, list[dict[str, Any]]] = {}
    place: dict[str, int] = {}
    for body in (body for batch in batches_of(world) for body in batch if "enrollment_id" in body):
        if body["kind"] == "sidecar":
            place[body.pop("digest")] = body["segment"]
            body["evicts"] = [place[digest] for digest in body["evicts"]]
        found.setdefault(body["enrollment_id"], []).append(body)
    return found


# -- how many commits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 5, 20])
def test_what_several_have_waiting_is_one_commit(grown: Grown, count: int) -> None:
    """However many are due: one transaction, one head, one anchor; and each is read to its end."""
    before = len(batches_of(grown.world))

    steps, results = grown.read(count)

    assert steps == dict.fromkeys(Step, 1)
    assert all(result.complete for result in results)
    assert [result.source.enrollment.enrollment_id for result in results] == list(grown.ids[:count])
    (batch,) = batches_of(grown.world)[before:]
    assert Counter(body["kind"] for body in batch) == {"extension": count, "sidecar": count}
    assert verdict_of(grown.world, deep=True) == ("ok", frozenset())


def test_the_proof_of_all_is_one_commit_more(grown: Grown) -> None:
    """It is of the generation that the first one adds."""
    steps, results = grown.read(proof_bytes=MIB)

    assert (steps[Step.HEAD], steps[Step.ANCHOR]) == (2, 2)
    assert all(result.source.is_prefix_proven for result in results)
    assert verdict_of(grown.world, deep=True) == ("ok", frozenset())


def test_where_nothing_has_grown_nothing_is_committed(grown: Grown) -> None:
    """Not even an empty batch."""
    grown.read(proof_bytes=MIB)

    assert grown.read(proof_bytes=MIB)[0] == {}
    assert extend_together(grown.world.session, []) == ()


def test_a_witness_is_asked_once(base: Grown, tmp_path: Path) -> None:
    """Not once a source: beside the question at the opening there is one about the batch."""
    grown = base.copy(tmp_path / "world")
    witness = make_witness(grown.world, tmp_path / "witness")
    clock = HandClock(grown.world.clock.at_ms)
    with socket_path() as socket, serving(witness, clock=clock, at=socket) as served:
        add_anchor(grown.world.session, "witness", f"unix:{socket}", key=str(served.key))
        before = len(served.answers)
        steps, _ = grown.read()
        assert steps[Step.HEAD] == 1
        assert len(served.answers) - before <= 2


# -- one is what it would be alone -----------------------------------------------------------------------------


def test_a_group_says_what_each_would_have_said_alone(grown: Grown, tmp_path: Path) -> None:
    """Of each source the same leaves in the same order, the same events, and the same answers."""
    alone = grown.copy(tmp_path / "alone")
    for key in alone.ids:
        (result,) = service.index(alone.world.session, alone.world.root, source_ref=key)
        assert isinstance(result, IndexResult)

    grown.read(proof_bytes=16 * MIB)

    assert told(grown.world) == told(alone.world)
    assert event_ids(grown.world) == event_ids(alone.world)
    assert len(event_ids(grown.world)) == 4 * SOURCES
    assert answers_of(grown.world) == answers_of(alone.world)
    assert len(batches_of(alone.world)) - len(batches_of(grown.world)) == 2 * SOURCES - 2


def test_an_extension_stands_before_its_sidecar(grown: Grown) -> None:
    """The leaves of one source follow each other within the batch."""
    grown.read(FIVE)

    batch = batches_of(grown.world)[-1]
    assert [(body["kind"], body["enrollment_id"]) for body in batch] == [
        (kind, key) for key in grown.ids[:FIVE] for kind in ("extension", "sidecar")
    ]


# -- one that is refused ---------------------------------------------------------------------------------------


def test_a_refused_member_does_not_stop_the_others(tmp_path: Path) -> None:
    """What was found of it is recorded in the very batch of the others."""
    grown = grow(tmp_path / "world", FIVE)
    truncate(grown.growing[1].path, 100)
    before = len(batches_of(grown.world))

    found = extend_together(grown.world.session, grown.due())

    assert getattr(found[1], "reason", None) == "transcript-truncated"
    assert [isinstance(result, IndexResult) for result in found] == [True, False, True, True, True]
    (batch,) = batches_of(grown.world)[before:]
    assert Counter(body["kind"] for body in batch) == {"extension": 4, "sidecar": 4, "invalidation": 1}
    assert verdict_of(grown.world)[0] == "ok"


def test_a_lost_sidecar_refuses_its_own_source_only(grown: Grown) -> None:
    """It is a fault of the state, and still no reason to leave the others unread."""
    lost = Digest.parse(grown.growing[2].status().source.kept[0].digest)
    (grown.world.locations.sidecars / f"sha256-{lost.hex()}").unlink()

    found = extend_together(grown.world.session, grown.due(FIVE))

    assert [isinstance(result, IndexResult) for result in found] == [True, True, False, True, True]
    assert found[2].reason == "store-file-missing"  # type: ignore[union-attr]  # a refusal has one


def test_what_is_not_enrolled_any_more_is_no_part_of_the_group(grown: Grown) -> None:
    """The owner took it back between the mark and the reading."""
    service.revoke(grown.world.session, grown.ids[0])

    found = extend_together(grown.world.session, grown.due(FIVE))

    assert getattr(found[0], "reason", None) == "private-enrollment-unavailable"
    assert all(isinstance(result, IndexResult) for result in found[1:])


# -- bounds ----------------------------------------------------------------------------------------------------


def test_a_group_is_split_where_a_batch_would_be_too_large(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No batch is larger than the log allows, no source's part is torn, and no sidecar file is lost in between."""
    monkeypatch.setattr("timeline.committing.BATCH_SIZE_MAX", 7)
    before = len(batches_of(grown.world))

    steps, results = grown.read()

    sizes = [len(batch) for batch in batches_of(grown.world)[before:]]
    assert sizes == [6] * 6 + [4]
    assert steps[Step.HEAD] == 7
    assert all(result.complete for result in results)
    assert verdict_of(grown.world, deep=True) == ("ok", frozenset())


def test_a_group_is_split_where_the_anchors_leave_less_room(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that each commit may ask for more room, as single ones would."""
    monkeypatch.setattr(External, "has_room", lambda _self, count: count <= 4)
    before = len(batches_of(grown.world))

    grown.read(FIVE)

    assert [len(batch) for batch in batches_of(grown.world)[before:]] == [4, 4, 2]


# -- all or none -----------------------------------------------------------------------------------------------


def test_a_commit_that_fails_fails_for_all_and_the_next_one_reads_them(grown: Grown) -> None:
    """Nothing of it is in the log, and no sidecar file of it stays."""
    before = leaves_of(grown.world)

    def refuse(step: Step) -> None:
        if step is Step.DATABASE:
            raise StateUnwritableError("the disk is full")

    with pytest.raises(StateUnwritableError):
        extend_together(with_probe(grown.world.session, refuse), grown.due())
    assert leaves_of(grown.world) == before

    _, results = grown.read()
    assert all(result.complete for result in results)
    listed = service.list_sources(grown.world.session, grown.world.root)
    kept = sum(len(status.source.kept) for status in listed)
    assert len(list(grown.world.locations.sidecars.iterdir())) == kept


@pytest.mark.requirement("T66", "T67")
@pytest.mark.parametrize("step", list(Step))
def test_a_crash_leaves_the_old_state_or_the_new_one_for_all(grown: Grown, step: Step) -> None:
    """Killed at any step: no source is further than another, and the next reading brings all to the same end."""
    history, before = History(), event_ids(grown.world)
    history.look(grown.world)
    size = checkpoint_of(grown.world.locations.head)[0]

    assert act_and_die_at(grown.world, step, lambda session: extend_together(session, grown.due()))

    assert_recovers(grown.world, history)
    is_new = step in {Step.HEAD, Step.ANCHOR, Step.DONE}
    assert checkpoint_of(grown.world.locations.head)[0] == size + (2 * SOURCES if is_new else 0)
    assert (event_ids(grown.world) == before) is not is_new
    grown.read()
    history.look(grown.world)
    assert len(event_ids(grown.world)) == 4 * SOURCES
    assert verdict_of(grown.world, deep=True) == ("ok", frozenset())
