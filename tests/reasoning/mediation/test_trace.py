"""What is kept of a mediated answer, as the leaf has it (P42)."""

import hashlib

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.identity import canonical_bytes
from sidecars.reasoned import MediationTraceEntry, TracedHead, TracedUnit, check_reasoned
from tests.reasoning.mediation import told
from timeline.reasoning.trace import Seal, digest_output, make_trace
from timeline.reasoning.world import World

WORLD = World(told.graph(told.report("a", told.city("Berlin"))), told.SNAPSHOT)


@pytest.mark.requirement("P42")
def test_a_digest_is_salted_and_bound_to_its_place() -> None:
    """SHA-256 of the salt and the canonical [field, id, content]; another salt, field, id or content is another."""
    seal = Seal(told.SALT)
    raw = hashlib.sha256(told.SALT + canonical_bytes(["query", "u1", {"b": 1, "a": 2}])).digest()
    assert seal.digest("query", "u1", {"a": 2, "b": 1}) == str(Digest(raw))
    found = {
        seal.digest("query", "u1", 1),
        seal.digest("other", "u1", 1),
        seal.digest("query", "u2", 1),
        seal.digest("query", "u1", 2),
        Seal(bytes(32)).digest("query", "u1", 1),
    }
    assert len(found) == 5


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_salt_has_its_length(size: int) -> None:
    """A short one could be guessed."""
    with pytest.raises(RuntimeError, match=r"^a trace's salt must be 32 bytes$"):
        Seal(bytes(size))


@pytest.mark.requirement("P42")
def test_a_trace_has_both_heads_the_moment_and_the_policy() -> None:
    """Each in its place."""
    unit = TracedUnit("u1", "a", "content", "b", "c", "d", "e", "passed", "same")
    trace = make_trace(told.TRACE, (unit,), (told.HEAD, told.NEWER), 7, "policy", "output")
    assert trace == MediationTraceEntry(
        id=told.TRACE,
        units=(unit,),
        prompted=TracedHead(120, told.HEAD.root),
        emitted=TracedHead(121, told.NEWER.root),
        emitted_at=7,
        policy="policy",
        output="output",
    )


@pytest.mark.requirement("P42")
def test_the_output_is_bound_in_its_order() -> None:
    """Two texts in another order, or run together, are another output."""
    seal = Seal(told.SALT)
    digests = {digest_output(texts, seal) for texts in (["a", "b"], ["b", "a"], ["ab"], [])}
    assert len(digests) == 4
    assert digest_output(("a", "b"), seal) == seal.digest("output", "", ["a", "b"])


@pytest.mark.requirement("P42")
def test_a_mediated_answer_has_a_trace_that_the_leaf_takes() -> None:
    """It is read back from its own bytes by the leaf's strict schema, and holds no word of the answer."""
    units = [told.says("Berlin", as_of=told.AT), told.says("Rome", "u2", as_of=told.AT)]
    mediated = WORLD.view("user:ada").mediate(
        units, told.HEAD, told.NEWER, emitted_at=told.AT, trace_id=told.TRACE, salt=told.SALT
    )
    trace = mediated.trace
    content = msgspec.json.encode(trace)
    again = msgspec.json.decode(content, type=MediationTraceEntry)
    check_reasoned(again)
    assert again == trace
    assert [(one.unit, one.disposition, one.head) for one in trace.units] == [
        ("u1", "qualified", "snapshot"),
        ("u2", "blocked", "snapshot"),
    ]
    assert (trace.id, trace.emitted_at, trace.policy) == (told.TRACE, told.AT, told.SNAPSHOT.digest)
    assert (trace.prompted.size, trace.emitted.size) == (120, 121)
    assert trace.output == digest_output([one.text for one in mediated.answer.released], Seal(told.SALT))
    for word in (b"Berlin", b"Rome", b"city", b"ada", told.SALT.hex().encode()):
        assert word not in content
