"""What it costs to compute every credibility from 100,000 claims, against reading those claims once.

Reading is what any reader of the log has to do: verify each leaf's signature, parse it, and take its claims by id.
"""

import random
import time

from benchmarks.log import digest_text
from benchmarks.measure import Figure, alternate, ratio
from sidecars.graded import CLAIMS_MAX, Claim, ClaimsEntry, ClaimSource
from sidecars.keys import Signer
from sidecars.leaf import Leaf, open_leaf, seal_leaf
from timeline.grading.claims import Claimed, read_claims
from timeline.grading.recompute import recompute

_CLAIMS = 100_000
_QUICK_CLAIMS = 10_000
_ROUNDS = 3
_GATE = 10.0
_AS_OF = 1_790_000_000_000
_ORIGIN = "agent-timeline/" + "0a" * 16
_OWNER = Signer(f"{_ORIGIN}/owner", b"o" * 32)


def figures(*, quick: bool) -> list[Figure]:
    """The ratio, and the seconds of the computation, which are only reported."""
    envelopes = _leaves(_QUICK_CLAIMS if quick else _CLAIMS)
    claims = _read(envelopes)
    computed, read = alternate(
        _ROUNDS, lambda: _seconds_computing(claims), lambda: _seconds_reading(envelopes)
    )
    detail = f"{len(claims)} claims in {len(envelopes)} leaves"
    return [
        Figure("recompute / reading the claims once", ratio(computed, read), "x", _GATE, detail),
        Figure("recompute", min(computed), "s", None, "reported"),
    ]


def _seconds_computing(claims: tuple[Claimed, ...]) -> float:
    began = time.perf_counter()
    recompute(claims, (), _AS_OF)
    return time.perf_counter() - began


def _seconds_reading(envelopes: list[bytes]) -> float:
    began = time.perf_counter()
    _read(envelopes)
    return time.perf_counter() - began


def _read(envelopes: list[bytes]) -> tuple[Claimed, ...]:
    bodies = [open_leaf(envelope, _OWNER.verifier, None).body for envelope in envelopes]
    return read_claims(body for body in bodies if isinstance(body, ClaimsEntry))


def _leaves(count: int) -> list[bytes]:
    """Claims of 2,000 entities on a third as many questions: most are shared or contested, three in ten twice told."""
    chance = random.Random(7)
    claims = [_claim(chance, number, count) for number in range(count)]
    pages = [tuple(claims[start : start + CLAIMS_MAX]) for start in range(0, count, CLAIMS_MAX)]
    return [
        seal_leaf(
            Leaf(
                origin=_ORIGIN,
                index=0,
                root=digest_text(0),
                batch_start=0,
                batch_size=1,
                at=_AS_OF,
                body=ClaimsEntry(f"work:{number}", "conversation", "person:0", page),
            ),
            _OWNER,
        )
        for number, page in enumerate(pages)
    ]


def _claim(chance: random.Random, number: int, count: int) -> Claim:
    told = 1 if chance.random() < 0.7 else 2
    return Claim(
        id=f"claim:{number}",
        subject=f"thing:{chance.randrange(count // 3)}",
        key="born",
        domain=chance.choice(("chemistry", "history", "_global")),
        value=str(chance.randrange(3)),
        intent="asserted",
        mutability=chance.choice(("immutable", "slow_changing", "stateful")),
        said_at=_AS_OF - chance.randrange(2 * 365) * 86_400_000,
        sources=tuple(_source(chance) for _ in range(told)),
    )


def _source(chance: random.Random) -> ClaimSource:
    return ClaimSource(
        entity=f"person:{chance.randrange(2_000)}",
        source_type="secondhand",
        hops=chance.randrange(1, 3),
        root=f"root:{chance.randrange(5_000)}",
        session=f"session:{chance.randrange(5_000)}" if chance.random() < 0.5 else None,
    )
