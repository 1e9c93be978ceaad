"""What the owner says about evidence, and the trace of an answer, as leaves."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecars.assertion import AssertionEntry, DerivationEntry, check_assertion
from sidecars.errors import MalformedError, UnknownKeyError
from sidecars.kind import Role
from sidecars.leaf import Body, format_leaf, open_leaf, parse_leaf, seal_leaf
from sidecars.reasoned import (
    REASONED,
    REQUIRED_MAX,
    ROOTS_MAX,
    UNITS_MAX,
    ConflictInscription,
    EvidencePolicyEntry,
    EvidenceRevocation,
    MediationTraceEntry,
    PersonConsent,
    TracedHead,
    TracedUnit,
)
from tests.sidecars.samples import AT, LOG, OWNER, digest_text
from tests.sidecars.test_leaf import make_leaf
from tests.world.ledger.examples import CONFIRMED, MEASURED

POLICY = EvidencePolicyEntry(1, 2, {"deploy.branch": 1, "a.b": 3}, collapse=True, snapshot=False)
REVOKED = EvidenceRevocation("session-ref:" + "0" * 32, "measured on the wrong machine")
CONFLICT = ConflictInscription(("assertion:a", "assertion:b"), "a release needs a green main")
CONSENT = PersonConsent("person:kim", "user:ada", "planning", granted=True)
HEAD = TracedHead(7, digest_text("root"))
UNIT = TracedUnit(
    "u1",
    digest_text("unit"),
    "content",
    digest_text("query"),
    digest_text("decision"),
    digest_text("support"),
    digest_text("witness"),
    "passed",
    "same",
)
TRACE = MediationTraceEntry(
    "trace:" + "0f" * 16, (UNIT,), HEAD, HEAD, AT, digest_text("policy"), digest_text("output")
)
BODIES: tuple[Body, ...] = (
    POLICY,
    msgspec.structs.replace(POLICY, evaluators=("model:claude-code", "model:codex")),
    REVOKED,
    CONFLICT,
    CONSENT,
    PersonConsent("person:kim", None, None, granted=False),
    TRACE,
)
BELIEF = DerivationEntry("recorded-belief", "rule.stance", 3, "owner", (("assertion:a", "assertion:b"),))
SUGGESTED = msgspec.structs.replace(MEASURED, recorder="model", evidence_kind="model-suggestion")


def changed(body: Any, **fields: Any) -> Any:
    """Give one like it."""
    return msgspec.structs.replace(body, **fields)


@pytest.mark.requirement("P3", "P42", "P49")
@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_each_comes_back_unchanged_under_its_key(body: Body) -> None:
    """And under no other: a log key changes no policy, and an owner's word is no trace."""
    leaf = make_leaf(body)
    assert parse_leaf(format_leaf(leaf), leaf.kind) == leaf
    is_trace = isinstance(body, MediationTraceEntry)
    assert leaf.signed_by is (Role.LOG if is_trace else Role.OWNER)
    right, wrong = (LOG, OWNER) if is_trace else (OWNER, LOG)
    assert open_leaf(seal_leaf(leaf, right), OWNER.verifier, LOG.verifier) == leaf
    with pytest.raises(UnknownKeyError):
        open_leaf(seal_leaf(leaf, wrong), OWNER.verifier, LOG.verifier)


def test_each_says_by_what_it_is_found() -> None:
    """The register stores one row for each."""
    found = [body.abouts for body in (POLICY, REVOKED, CONFLICT, CONSENT, TRACE)]
    assert found == [
        ("version:1",),
        (REVOKED.revoked,),
        ("assertion:a", "assertion:b"),
        ("person:kim",),
        (TRACE.id,),
    ]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (POLICY, {"version": 0}),
        (POLICY, {"roots": 0}),
        (POLICY, {"roots": ROOTS_MAX + 1}),
        (POLICY, {"required": {"a.b": 0}}),
        (POLICY, {"required": {"A.b": 1}}),
        (POLICY, {"required": {"a.b": 2}}),
        (POLICY, {"required": {f"a{number}": 1 for number in range(REQUIRED_MAX + 1)}}),
        (POLICY, {"evaluators": ("model:b", "model:a")}),
        (POLICY, {"evaluators": ("model:a", "model:a")}),
        (POLICY, {"evaluators": ("a model",)}),
        (POLICY, {"evaluators": tuple(f"model:{number:02}" for number in range(17))}),
        (REVOKED, {"revoked": "anything"}),
        (REVOKED, {"reason": ""}),
        (CONFLICT, {"assertions": ("assertion:b", "assertion:a")}),
        (CONFLICT, {"assertions": ("assertion:a", "assertion:a")}),
        (CONFLICT, {"assertions": ("assertion:a", "assertion:b", "assertion:c")}),
        (CONSENT, {"reader": "ada"}),
        (CONSENT, {"purpose": "All things"}),
        (CONSENT, {"person": "kim"}),
        (TRACE, {"id": "trace:1"}),
        (TRACE, {"units": ()}),
        (TRACE, {"units": (UNIT, UNIT)}),
        (TRACE, {"units": tuple(changed(UNIT, unit=f"u{number}") for number in range(UNITS_MAX + 1))}),
        (TRACE, {"units": (changed(UNIT, disposition="said"),)}),
    ],
)
def test_what_is_not_of_its_form_is_refused(body: Any, fields: dict[str, Any]) -> None:
    """Also where a key has signed it."""
    leaf = make_leaf(changed(body, **fields))
    with pytest.raises(MalformedError):
        parse_leaf(msgspec.json.encode(leaf, order="sorted"), leaf.kind)


def test_the_examples_of_the_page_are_of_this_form(root: Path) -> None:
    """Each in the spelling that is signed."""
    page = (root / "docs" / "spec" / "reasoned-leaves.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    examples = block.splitlines()
    kinds = set()
    for text, form in zip(examples, REASONED, strict=True):
        body = msgspec.json.decode(text, type=form)
        kinds.add(parse_leaf(format_leaf(make_leaf(body)), make_leaf(body).kind).kind)
        assert msgspec.json.encode(body, order="sorted").decode() == text
    assert kinds == set(REASONED.values())


# -- the newer fields of an assertion --------------------------------------------------------------------------


def test_an_assertion_without_them_is_what_it_was() -> None:
    """Byte for byte: what an older program has signed is still the one spelling of what it says."""
    for body in (MEASURED, CONFIRMED):
        payload = format_leaf(make_leaf(body))
        assert not any(name in payload for name in (b"starts_at", b"purposes", b'"about"', b"derivation"))


@pytest.mark.requirement("P8", "P9", "P33")
@pytest.mark.parametrize(
    "fields",
    [
        {"starts_at": AT, "expires_at": AT + 1},
        {"purposes": ("payroll", "planning")},
        {"about": "person:kim"},
    ],
)
def test_uses_are_part_of_what_is_signed(fields: dict[str, Any]) -> None:
    """And come back as they were."""
    leaf = make_leaf(changed(MEASURED, **fields))
    assert parse_leaf(format_leaf(leaf), leaf.kind) == leaf
    assert open_leaf(seal_leaf(leaf, LOG), OWNER.verifier, LOG.verifier) == leaf


MAY_DERIVE = {
    ("owner", "recorded-belief"),
    ("capture", "deterministic-derivation"),
    ("model", "memory-interpretation"),
    ("model", "probabilistic-interpretation"),
    ("model", "hypothesis"),
}


@pytest.mark.requirement("P14", "P15", "P46", "M4")
@pytest.mark.parametrize("body", [MEASURED, CONFIRMED, SUGGESTED, changed(CONFIRMED, recorder="import")])
@pytest.mark.parametrize(
    "role",
    [
        "deterministic-derivation",
        "memory-interpretation",
        "recorded-belief",
        "probabilistic-interpretation",
        "hypothesis",
    ],
)
def test_each_recorder_derives_as_its_own_roles(body: AssertionEntry, role: str) -> None:
    """A model's interpretation is no belief of the owner's, and nothing derived is an observation."""
    derived = changed(body, supersedes=(), derivation=changed(BELIEF, role=role))
    if (body.recorder, role) in MAY_DERIVE:
        check_assertion(derived)
        leaf = make_leaf(derived)
        assert parse_leaf(format_leaf(leaf), leaf.kind) == leaf
    else:
        with pytest.raises(MalformedError, match="of a role that its recorder may state"):
            check_assertion(derived)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"purposes": ("planning", "payroll")}, "sorted and unique"),
        ({"purposes": ("planning", "planning")}, "sorted and unique"),
        ({"starts_at": AT, "expires_at": AT}, "after it has started"),
        (
            {"derivation": changed(BELIEF, alternatives=(("assertion:b", "assertion:a"),))},
            "sorted and unique",
        ),
        (
            {"derivation": changed(BELIEF, alternatives=(("assertion:b",), ("assertion:a",)))},
            "sorted and unique",
        ),
        ({"derivation": changed(BELIEF, alternatives=((CONFIRMED.id,),))}, "from itself"),
    ],
)
def test_uses_that_do_not_fit_are_refused(fields: dict[str, Any], rule: str) -> None:
    """By the rule that is broken."""
    with pytest.raises(MalformedError, match=rule):
        check_assertion(changed(CONFIRMED, supersedes=(), **fields))


def test_a_quoted_message_follows_from_nothing() -> None:
    """Somebody typed it; what it means is another assertion."""
    quoted = changed(MEASURED, evidence_kind="uninterpreted-user-message")
    derivation = changed(BELIEF, role="deterministic-derivation")
    with pytest.raises(MalformedError, match="derived from anything"):
        check_assertion(changed(quoted, derivation=derivation))


@pytest.mark.parametrize(
    "alternatives",
    [
        (),
        ((),),
        tuple((f"assertion:a{number}",) for number in range(9)),
        (tuple(f"assertion:a{number:02d}" for number in range(17)),),
        (("anything",),),
    ],
)
def test_a_derivation_is_bounded(alternatives: Any) -> None:
    """At most eight alternatives of sixteen ids."""
    body = changed(CONFIRMED, supersedes=(), derivation=changed(BELIEF, alternatives=alternatives))
    leaf = make_leaf(body)
    with pytest.raises(MalformedError):
        parse_leaf(msgspec.json.encode(leaf, order="sorted"), leaf.kind)
