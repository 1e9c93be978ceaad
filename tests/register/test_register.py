"""The register is the one that the log adds up to, or nothing is answered from it; the next writer makes it anew."""

import sqlite3
from contextlib import closing

import pytest

from sidecars.kind import Kind
from sidecars.reasoned import EvidenceRevocation
from tests.register.words import BO, KIM
from tests.simulators.worlds import World, refusal_of, verdict_of
from timeline.errors import IndexUnverifiedError
from timeline.evidence_use import set_person_consent
from timeline.live import Live
from timeline.registered import Registered, newest_leaf, read_register
from timeline.service import Session
from timeline.world.errors import EvidenceUnchangedError

FIRST = 4
"""The leaf of the first one in the register: behind the first key, the policy and two assertions."""


def change(world: World, statement: str) -> None:
    """Change the database by hand, as whoever can write it might."""
    with closing(sqlite3.connect(world.locations.database)) as database, database:
        assert database.execute(statement).rowcount > 0


def read(world: World, kind: Kind = Kind.EVIDENCE_REVOCATION, about: str | None = None) -> list[Registered]:
    """The leaves of a kind."""
    with world.session.reading() as state:
        return list(read_register(state, kind, about))


def test_each_leaf_is_found_by_kind_and_by_what_it_is_about(world: World) -> None:
    """In the log's order, and by nothing else."""
    assert [one.leaf for one in read(world)] == [FIRST, FIRST + 1]
    (one,) = read(world, about="assertion:b")
    assert (one.leaf, one.body) == (FIRST + 1, EvidenceRevocation("assertion:b", "wrong as well"))
    (consent,) = read(world, Kind.PERSON_CONSENT, "person:kim")
    assert consent.body == KIM
    assert read(world, Kind.VERDICT) == []
    assert read(world, about="assertion:none") == []
    with world.session.reading() as state:
        assert newest_leaf(state, Kind.EVIDENCE_REVOCATION) == FIRST + 1
        assert newest_leaf(state, Kind.EVIDENCE_REVOCATION, Kind.PERSON_CONSENT) == FIRST + 2
        assert newest_leaf(state, Kind.VERDICT) == -1


ALTERED = {
    "kind": f"UPDATE register SET kind = 'verdict' WHERE leaf = {FIRST}",
    "about": f"UPDATE register SET about = 'assertion:c' WHERE leaf = {FIRST}",
    "leaf": f"UPDATE register SET leaf = 1 WHERE leaf = {FIRST}",
    "hash": f"UPDATE register SET hash = zeroblob(32) WHERE leaf = {FIRST}",
    "missing": f"DELETE FROM register WHERE leaf = {FIRST}",
    "all missing": "DELETE FROM register",
    "extra": f"INSERT INTO register SELECT kind, 'assertion:c', leaf, hash FROM register WHERE leaf = {FIRST}",
    "of another leaf": "INSERT INTO register SELECT kind, about, 1, hash FROM register WHERE kind = 'person-consent'",
    "two exchanged": (
        f"UPDATE register SET about = CASE leaf WHEN {FIRST} THEN 'assertion:b' ELSE 'assertion:a' END "
        "WHERE kind = 'evidence-revocation'"
    ),
}


@pytest.mark.parametrize("statement", ALTERED.values(), ids=ALTERED.keys())
def test_an_altered_row_is_refused_and_made_anew(world: World, statement: str) -> None:
    """By every reader, also of another kind, and by `verify`; the next command that writes mends it."""
    before = read(world)
    change(world, statement)
    for kind in (Kind.EVIDENCE_REVOCATION, Kind.PERSON_CONSENT, Kind.VERDICT):
        assert refusal_of(lambda kind=kind: read(world, kind)) == "index-unverified"  # type: ignore[misc]  # bound now
    assert verdict_of(world) == ("refused", frozenset({"index-unverified"}))
    with pytest.raises(
        EvidenceUnchangedError
    ):  # what it says is no news, and the register is mended all the same
        set_person_consent(world.session, KIM)
    assert read(world) == before
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def test_a_row_behind_the_end_is_swept_by_the_next_leaf(world: World) -> None:
    """It is nobody's: no reader sees it, and the leaf that comes there is not taken for it."""
    before = read(world)
    change(
        world,
        "INSERT INTO register SELECT kind, 'assertion:later', 7, hash FROM register WHERE about = 'assertion:a'",
    )
    assert read(world) == before
    assert verdict_of(world) == ("ok", frozenset())
    set_person_consent(world.session, BO)
    assert read(world) == before
    assert read(world, about="assertion:later") == []
    assert [one.leaf for one in read(world, Kind.PERSON_CONSENT)] == [FIRST + 2, FIRST + 3]
    assert verdict_of(world, deep=True) == ("ok", frozenset())


def test_a_leaf_that_is_no_longer_there_is_refused(world: World) -> None:
    """Its row is right, and its envelope was changed while the timeline was open: what was counted is not given."""
    with world.session.reading() as state:
        read_register(state, Kind.EVIDENCE_REVOCATION)
        change(world, f"UPDATE leaf SET salt = zeroblob(32) WHERE idx = {FIRST}")
        assert refusal_of(lambda: read_register(state, Kind.EVIDENCE_REVOCATION)) == "digest-mismatch"


def test_an_open_timeline_sees_an_alteration(world: World) -> None:
    """It was found to be right, and another process has written since."""
    live = Live()
    session = Session(world.locations, world.session.ports, world.session.environment, live)
    with session.reading() as state:
        assert len(read_register(state, Kind.EVIDENCE_REVOCATION)) == 2
        change(world, ALTERED["missing"])
        with pytest.raises(IndexUnverifiedError):
            read_register(state, Kind.EVIDENCE_REVOCATION)
    live.close()


def test_a_commit_keeps_it_accounted_for(world: World) -> None:
    """What is written with its leaf needs no second look at the whole table."""
    with world.session.writing() as state:
        read_register(state, Kind.EVIDENCE_REVOCATION)
        state.commit([EvidenceRevocation("assertion:c", "wrong")])
        assert state.register.is_accounted(state.view.register)
        assert [one.leaf for one in read_register(state, Kind.EVIDENCE_REVOCATION)] == [
            FIRST,
            FIRST + 1,
            FIRST + 3,
        ]
