"""What the answers of several anchors mean together, and which level may be claimed: tables over values."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.cosignature import WitnessSigner
from sidecars.leaf import AnchorEntry, AnchorPolicy
from timeline.anchors import locality
from timeline.anchors.errors import StaleError
from timeline.anchors.port import Answer, Standing
from timeline.anchors.rules import AnchorReport, Confirmation, Memory, Verdict, decide
from timeline.assurance import AnchorStatus, Holder, decide_level, find_level
from timeline.errors import StateError

NOW = 1_790_000_000
SIZE = 100
FRESH = 3600
MAX = 10


def entry(name: str, kind: str = "file", address: str = "/elsewhere/anchor") -> AnchorEntry:
    """Give an anchor."""
    key = str(WitnessSigner("w.example/w", name.encode().ljust(32)).verifier) if kind == "witness" else None
    return AnchorEntry(name, kind, address, key)  # type: ignore[arg-type]  # as in leaves


def policy(count: int, quorum: int) -> AnchorPolicy:
    """Give a policy over so many anchors."""
    return AnchorPolicy(
        anchors=tuple(entry(f"a{number}") for number in range(count)),
        quorum=quorum,
        freshness_seconds=FRESH,
        deadline_ms=1000,
        unwitnessed_max=MAX,
    )


CONFIRMED = (Answer(Standing.CONFIRMED, size=SIZE, at=NOW), Memory(SIZE, NOW))
SILENT = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE, NOW - 10))
BEHIND = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE - MAX, NOW - 10))
TOO_FAR = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE - MAX - 1, NOW - 10))
OLD = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE, NOW - FRESH - 1))
FUTURE = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE, NOW + 301))
NEVER = (Answer(Standing.UNAVAILABLE, reason="unreachable"), None)
UNKNOWN = (Answer(Standing.REFUSED, reason="unknown-log"), None)
FORGOT = (Answer(Standing.REGRESSED, size=3), Memory(SIZE, NOW))
LIES = (Answer(Standing.MISBEHAVED, reason="bad-cosignature"), Memory(SIZE, NOW))
AHEAD = (Answer(Standing.AHEAD, size=SIZE + 1), Memory(SIZE, NOW))
FORK = (Answer(Standing.FORKED, size=SIZE), Memory(SIZE, NOW))
KNEW_MORE = (Answer(Standing.UNAVAILABLE, reason="unreachable"), Memory(SIZE + 1, NOW - FRESH - 99))

Said = tuple[Answer | None, Memory | None]


def judged(quorum: int, *said: Said) -> str:
    """Give the verdict, or the reason of the refusal."""
    rules = policy(len(said), quorum)
    reports = [AnchorReport(found, *one) for found, one in zip(rules.anchors, said, strict=True)]
    found = decide(rules, reports, size=SIZE, now_ms=NOW * 1000)
    return found.reason if isinstance(found, StateError) else str(found.verdict)


@pytest.mark.requirement("X5")
@pytest.mark.parametrize(
    ("quorum", "said", "expected"),
    [
        (1, (CONFIRMED,), "confirmed"),
        (1, (SILENT,), "remembered"),
        (2, (CONFIRMED, SILENT), "remembered"),
        (1, (BEHIND,), "unwitnessed"),
        (1, (TOO_FAR,), "unwitnessed-refused"),
        (1, (OLD,), "stale-unverified"),
        (1, (FUTURE,), "stale-unverified"),
        (1, (NEVER,), "stale-unverified"),
        (1, (UNKNOWN,), "stale-unverified"),
        (1, (FORGOT,), "external-anchor-distrusted"),
        (1, (LIES,), "external-anchor-distrusted"),
        (1, (AHEAD,), "external-anchor-ahead"),
        (1, (FORK,), "external-anchor-forked"),
        (1, (KNEW_MORE,), "external-anchor-ahead"),
        (1, (CONFIRMED, FORGOT), "confirmed"),
        (2, (CONFIRMED, FORGOT), "external-anchor-distrusted"),
        (2, (CONFIRMED, CONFIRMED, LIES), "confirmed"),
        (2, (CONFIRMED, NEVER), "stale-unverified"),
        (2, (CONFIRMED, BEHIND), "unwitnessed"),
        (2, (CONFIRMED, BEHIND, TOO_FAR), "unwitnessed"),
        (2, (CONFIRMED, TOO_FAR, OLD), "unwitnessed-refused"),
        (3, (CONFIRMED, CONFIRMED, OLD), "stale-unverified"),
        (1, (CONFIRMED, AHEAD), "external-anchor-ahead"),
        (1, (CONFIRMED, CONFIRMED, FORK), "external-anchor-forked"),
        (1, (CONFIRMED, KNEW_MORE), "external-anchor-ahead"),
    ],
)
def test_the_table(quorum: int, said: tuple[Said, ...], expected: str) -> None:
    """Each row in every order of the anchors."""
    wanted = expected.removesuffix("-refused")
    for order in itertools.permutations(said):
        assert judged(quorum, *order) == wanted
    refuses = isinstance(_decided(quorum, said), StateError)
    assert refuses == (expected not in {"confirmed", "remembered", "unwitnessed"})


def _decided(quorum: int, said: tuple[Said, ...]) -> Confirmation | StateError:
    rules = policy(len(said), quorum)
    reports = [AnchorReport(found, *one) for found, one in zip(rules.anchors, said, strict=True)]
    return decide(rules, reports, size=SIZE, now_ms=NOW * 1000)


_standings = st.sampled_from(list(Standing))
_memories = st.none() | st.builds(Memory, st.integers(0, SIZE + 5), st.integers(NOW - 2 * FRESH, NOW + 1000))
_said = st.tuples(
    st.none() | st.builds(lambda s: Answer(s, size=SIZE), _standings),
    _memories,
)


@given(st.lists(_said, min_size=1, max_size=5), st.data())
def test_nothing_is_usable_that_no_quorum_has_confirmed(said: list[Said], data: st.DataObject) -> None:
    """Whatever the anchors answer: usable means a quorum of trusted, fresh memories, none of them beyond this state."""
    quorum = data.draw(st.integers(1, len(said)))
    found = _decided(quorum, tuple(said))
    if isinstance(found, StateError):
        return
    counted = [
        memory.size
        for answer, memory in said
        if memory is not None
        and NOW - FRESH <= memory.at <= NOW + 300
        and (answer is None or answer.standing not in {Standing.REGRESSED, Standing.MISBEHAVED})
    ]
    assert sum(size >= SIZE - MAX for size in counted) >= quorum
    assert all(size <= SIZE for size in counted)
    assert not any(a is not None and a.standing in {Standing.AHEAD, Standing.FORKED} for a, _ in said)
    assert (found.verdict is not Verdict.UNWITNESSED) == (counted.count(SIZE) >= quorum)
    answered = sum(a is not None and a.standing is Standing.CONFIRMED for a, _ in said)
    assert found.verdict is not Verdict.CONFIRMED or answered >= quorum


@pytest.mark.requirement("D8", "X5")
@pytest.mark.parametrize(
    ("confirmed", "quorum", "carried", "expected"),
    [
        ([], 0, False, "L1"),
        ([("file", "/x", Holder.SAME)], 1, False, "L1"),
        ([("witness", "http://127.0.0.1:1", Holder.SAME)], 1, False, "L1"),
        ([("witness", "unix:/x", Holder.OTHER_USER)], 1, False, "L2"),
        ([("postgres", "postgresql://db", Holder.OTHER_MACHINE)], 1, False, "L2"),
        ([("postgres", "postgresql://db", Holder.OTHER_MACHINE)], 1, True, "L3"),
        ([("witness", "https://a", Holder.OTHER_MACHINE)], 1, False, "L4"),
        ([("witness", "https://a", Holder.OTHER_MACHINE)], 2, False, "L4"),
        ([("witness", f"https://{n}", Holder.OTHER_MACHINE) for n in "ab"], 1, False, "L4"),
        ([("witness", f"https://{n}", Holder.OTHER_MACHINE) for n in "ab"], 2, False, "L5"),
        ([("witness", f"https://a/{n}", Holder.OTHER_MACHINE) for n in "ab"], 2, False, "L4"),
        ([("witness", f"https://{n}", Holder.OTHER_MACHINE) for n in ("a", "A.")], 2, False, "L4"),
        (
            [("witness", f"https://{n}", Holder.OTHER_MACHINE) for n in ("192.0.2.1", "[::ffff:192.0.2.1]")],
            2,
            False,
            "L4",
        ),
    ],
)
def test_a_level_is_claimed_only_for_who_holds_it(
    confirmed: list[tuple[str, str, Holder]], quorum: int, *, carried: bool, expected: str
) -> None:
    """Two witnesses of one host are one; a carried anchor and a database are worth what they are."""
    found = [(entry(f"a{n}", kind, address), holder) for n, (kind, address, holder) in enumerate(confirmed)]
    assert decide_level(found, quorum=quorum, trust_is_apart=True, carried=carried) == expected
    if expected == "L1":
        assert decide_level(found, quorum=quorum, trust_is_apart=False, carried=carried) == "L0"


def test_one_key_at_two_hosts_is_one_witness() -> None:
    """Whoever holds the key signs at both, under whatever name."""
    one, other = (entry("w", "witness", f"https://{host}") for host in "ab")
    other_name = WitnessSigner("other.example/w", b"w".ljust(32)).verifier
    for twin in (other, msgspec.structs.replace(other, key=str(other_name))):
        found = [(one, Holder.OTHER_MACHINE), (twin, Holder.OTHER_MACHINE)]
        assert decide_level(found, quorum=2, trust_is_apart=True, carried=False) == "L4"


def test_a_refused_state_claims_nothing_from_those_who_confirmed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One witness of another machine says yes and the quorum is missing: the level stays that of this machine."""
    monkeypatch.setattr(locality, "is_own", lambda _: False)
    rules = msgspec.structs.replace(
        policy(0, 0), anchors=(entry("w", "witness", "https://192.0.2.1"),), quorum=1
    )
    report = AnchorReport(rules.anchors[0], *CONFIRMED)
    found = AnchorStatus(rules, 2, SIZE, (report,), None, None)
    assert find_level(found, trust_is_apart=True, carried=False) == "L4"
    refused = msgspec.structs.replace(found, refused=StaleError("no quorum"))
    assert find_level(refused, trust_is_apart=True, carried=False) == "L1"
