"""Every code of tlog-witness, in the order of its checks, and that a refusal moves nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecars.cosignature import open_cosignatures
from sidecars.encoding import to_base64
from sidecars.merkle import EMPTY_ROOT
from sidecars.note import Note, NoteSignature, format_note, open_note, parse_note, sign_note
from tests.simulators.witnesses import (
    LOG,
    ORIGIN,
    OTHER,
    Branch,
    HandClock,
    make_folder,
    working,
)
from timeline.witness.protocol import SIZE_TYPE, TEXT_TYPE, Status, format_submission, origin_digest
from timeline.witness.service import Answer, Witness, know_log, retire_key
from timeline.witness.store import WitnessStore, open_store


@dataclass
class Desk:
    """A witness that has cosigned size 5 of a log of 12 leaves."""

    witness: Witness
    store: WitnessStore
    log: Branch
    clock: HandClock

    def give(self, body: bytes) -> Answer:
        """Submit."""
        return self.witness.add_checkpoint(body)

    def stored(self) -> bytes | None:
        """Give the cosigned note that the witness remembers."""
        row = self.store.find_log(origin_digest(ORIGIN))
        assert row is not None
        return row.note


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """Give a witness at size 5."""
    clock = HandClock()
    folder = make_folder(tmp_path / "witness")
    log = Branch.of(12)
    store = open_store(folder.database)
    with working(folder, clock) as witness:
        assert witness.add_checkpoint(log.body(0, 5)).status == 200
        yield Desk(witness, store, log, clock)
    store.close()


def with_line(note: bytes, line: NoteSignature) -> bytes:
    """Give a note with one more signature line."""
    parsed = parse_note(note)
    return format_note(Note(parsed.text, (*parsed.signatures, line)))


def respelled(body: bytes) -> bytes:
    """Give a body whose last signature has the same bytes in another spelling of base64."""
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    assert body.endswith(b"=\n")
    return body[:-3] + alphabet[(at := alphabet.index(body[-3])) + 1 : at + 2] + b"=\n"


FORK = Branch.of(12).fork(3, "other", 9)
BAD = NoteSignature(LOG.ref, bytes(64))
UNKNOWN_ORIGIN = Branch(Branch.of(12).leaves, LOG, "log.example/unknown")

ROWS: dict[str, tuple[Callable[[Branch], bytes], int, str]] = {
    "malformed": (lambda _: b"old 5\nxx\n\nno note\n", 400, ""),
    "malformed before unknown": (lambda _: UNKNOWN_ORIGIN.body(5, 7).replace(b"old 5", b"old 05"), 400, ""),
    "unknown origin": (lambda _: UNKNOWN_ORIGIN.body(5, 7), 404, "unknown log"),
    "unknown before signature": (
        lambda _: format_submission(5, (), UNKNOWN_ORIGIN.note(7, OTHER)),
        404,
        "unknown log",
    ),
    "strange key": (lambda log: format_submission(5, log.proof(5, 7), log.note(7, OTHER)), 403, "known key"),
    "known key, bad signature": (
        lambda log: format_submission(5, log.proof(5, 7), with_line(log.note(7, OTHER), BAD)),
        403,
        "invalid signature",
    ),
    "a good and a bad line of one key": (
        lambda log: format_submission(5, log.proof(5, 7), with_line(log.note(7), BAD)),
        403,
        "invalid signature",
    ),
    "another spelling of a good signature": (lambda log: respelled(log.body(5, 7)), 403, "invalid signature"),
    "unknown before spelling": (lambda _: respelled(UNKNOWN_ORIGIN.body(5, 7)), 404, "unknown log"),
    "signature before sizes": (lambda log: format_submission(9, (), log.note(7, OTHER)), 403, ""),
    "old above new": (lambda log: format_submission(8, (), log.note(7)), 400, "old size"),
    "old above new, before conflict": (lambda log: format_submission(13, (), log.note(12)), 400, "old size"),
    "other size": (lambda log: log.body(4, 7), 409, "5\n"),
    "other size, from nothing": (lambda log: log.body(0, 7), 409, "5\n"),
    "rolled back": (lambda log: log.body(3, 4), 409, "5\n"),
    "rolled back to the same size of another": (lambda log: log.body(4, 4), 409, "5\n"),
    "conflict before proof": (lambda log: format_submission(4, (), log.note(7)), 409, "5\n"),
    "no proof": (lambda log: format_submission(5, (), log.note(7)), 422, "consistency proof"),
    "wrong proof": (
        lambda log: format_submission(5, tuple(reversed(log.proof(5, 7))), log.note(7)),
        422,
        "consistency proof",
    ),
    "proof of another size": (
        lambda log: format_submission(5, log.proof(6, 7), log.note(7)),
        422,
        "consistency",
    ),
    "proof with one hash too many": (
        lambda log: format_submission(5, (*log.proof(5, 7), bytes(32)), log.note(7)),
        422,
        "consistency proof",
    ),
    "another history": (lambda _: FORK.body(5, 7), 422, "consistency proof"),
    "same size, other root": (lambda _: FORK.body(5, 5), 422, "consistency proof"),
    "same size with a proof": (
        lambda log: format_submission(5, (bytes(32),), log.note(5)),
        422,
        "consistency",
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_refusal_has_its_code_and_moves_nothing(desk: Desk, name: str) -> None:
    """Code, body and type of the answer; what is remembered stays, and the honest next submission is signed."""
    make, status, said = ROWS[name]
    before = desk.stored()
    answer = desk.give(make(desk.log))
    assert (answer.status, said in answer.body.decode()) == (status, True), answer.body
    assert answer.content_type == (SIZE_TYPE if status == 409 else TEXT_TYPE)
    if status == 409:
        assert answer.body == b"5\n"
    assert desk.stored() == before
    assert desk.give(desk.log.body(5, 12)).status == 200


@pytest.mark.parametrize(("old", "size"), [(5, 6), (5, 12), (5, 5)])
def test_what_continues_is_cosigned_and_remembered(desk: Desk, old: int, size: int) -> None:
    """200: a line that makes the checkpoint a cosigned one; the same size with the same root is signed again."""
    desk.clock.at_ms += 60_000
    answer = desk.give(desk.log.body(old, size))
    assert (answer.status, answer.content_type) == (200, TEXT_TYPE)
    note = desk.log.note(size)
    (found,) = open_cosignatures(note + answer.body, [desk.witness.verifier])
    assert found.at == desk.clock.seconds
    assert desk.stored() == note + answer.body


def test_the_latest_checkpoint_is_what_was_cosigned(desk: Desk) -> None:
    """Monitoring: the log's own line and the cosignature, 404 for what was not cosigned."""
    latest = desk.witness.latest(origin_digest(ORIGIN))
    assert (latest.status, latest.body) == (200, desk.stored())
    assert desk.witness.latest(bytes(32)).status == 404
    know_log(desk.store, str(LOG.verifier), "log.example/quiet")
    assert desk.witness.latest(origin_digest("log.example/quiet")).status == 404


def test_lines_by_strangers_are_not_kept(desk: Desk) -> None:
    """Nobody can store bytes here by adding signature lines to a log's checkpoint."""
    note = with_line(desk.log.note(7), NoteSignature(OTHER.ref, b"spam" * 100))
    answer = desk.give(format_submission(5, desk.log.proof(5, 7), note))
    assert answer.status == 200
    assert desk.stored() == desk.log.note(7) + answer.body


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Witness]:
    """Give a witness that has cosigned nothing."""
    with working(make_folder(tmp_path / "empty")) as witness:
        yield witness


def _sized_zero(root: bytes) -> bytes:
    return sign_note(f"{ORIGIN}\n0\n{to_base64(root)}\n", [LOG])


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (lambda log: log.body(0, 5), 200),
        (lambda _: format_submission(0, (), _sized_zero(EMPTY_ROOT)), 200),
        (lambda _: format_submission(0, (), _sized_zero(bytes(32))), 422),
        (lambda _: format_submission(0, (bytes(32),), _sized_zero(EMPTY_ROOT)), 422),
        (lambda log: format_submission(0, (bytes(32),), log.note(5)), 422),
        (lambda log: log.body(3, 5), 409),
        (lambda log: log.body(5, 5), 409),
    ],
    ids=[
        "first",
        "empty",
        "empty, wrong root",
        "empty, proof",
        "first, proof",
        "old not 0",
        "old = new not 0",
    ],
)
def test_the_first_checkpoint_of_a_log(empty: Witness, make: Callable[[Branch], bytes], status: int) -> None:
    """Nothing is trusted on first use but what starts from 0: another old size is a conflict with 0."""
    answer = empty.add_checkpoint(make(Branch.of(12)))
    assert answer.status == status
    assert status != 409 or answer.body == b"0\n"


def test_the_empty_tree_may_be_cosigned_and_continued(empty: Witness) -> None:
    """A log that begins asks with size 0, and goes on from there."""
    log = Branch.of(3)
    for old, size in ((0, 0), (0, 0), (0, 3), (3, 3)):
        assert empty.add_checkpoint(log.body(old, size)).status == 200
    assert empty.add_checkpoint(log.body(0, 0)).body == b"3\n"


def test_extension_lines_are_cosigned_with_the_rest(empty: Witness) -> None:
    """C2SP: they are part of the message; nothing depends on them."""
    note = sign_note(f"{ORIGIN}\n3\n{to_base64(Branch.of(3).root())}\nan extension\n", [LOG])
    answer = empty.add_checkpoint(format_submission(0, (), note))
    assert answer.status == 200
    assert len(open_cosignatures(note + answer.body, [empty.verifier])) == 1


def test_a_new_key_is_believed_and_a_retired_one_no_longer(desk: Desk) -> None:
    """A rotation: both keys, then one; what was cosigned stays, and without a key nothing is believed."""
    know_log(desk.store, str(OTHER.verifier), ORIGIN)
    note = sign_note(parse_note(desk.log.note(7)).text, [LOG, OTHER])
    assert desk.give(format_submission(5, desk.log.proof(5, 7), note)).status == 200
    assert open_note(desk.stored() or b"", [LOG.verifier, OTHER.verifier]).keys == (LOG.ref, OTHER.ref)
    retire_key(desk.store, str(LOG.verifier), ORIGIN)
    assert desk.give(desk.log.body(7, 8)).status == 403
    assert desk.give(format_submission(7, desk.log.proof(7, 8), desk.log.note(8, OTHER))).status == 200
    retire_key(desk.store, str(OTHER.verifier), ORIGIN)
    assert desk.give(format_submission(8, (), desk.log.note(8, OTHER))).status == 403
    know_log(desk.store, str(LOG.verifier), ORIGIN)
    assert desk.give(desk.log.body(0, 1)).body == b"8\n"


def test_a_contradiction_is_kept_as_proof_and_bounded(desk: Desk) -> None:
    """Two roots of one size, both signed by the log; a wrong proof or another size proves nothing and is not kept."""
    for name in ROWS:
        desk.give(ROWS[name][0](desk.log))
    (found,) = desk.store.evidence()
    assert (found.origin, found.ours, found.theirs) == (ORIGIN, desk.stored(), FORK.note(5))
    for number in range(20):
        desk.give(desk.log.fork(3, f"fork {number}", 2).body(4, 5))
    assert len(desk.store.evidence()) == 8
    assert found in desk.store.evidence()


@pytest.mark.parametrize(("back", "status", "at"), [(5, 200, 0), (6, 503, None), (3600, 503, None)])
def test_a_clock_that_goes_back_states_no_earlier_time(
    desk: Desk, back: int, status: int, at: int | None
) -> None:
    """A small correction repeats the last time; more is refused, and nothing is signed until it is set right."""
    start = desk.clock.seconds
    desk.clock.at_ms -= back * 1000
    answer = desk.give(desk.log.body(5, 7))
    assert answer.status == status
    if at is not None:
        (found,) = open_cosignatures(desk.log.note(7) + answer.body, [desk.witness.verifier])
        assert found.at == start + at
        return
    assert answer.reason == "clock-went-back"
    desk.clock.at_ms = start * 1000
    assert desk.give(desk.log.body(5, 7)).status == Status.COSIGNED
