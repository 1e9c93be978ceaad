"""``assertion``: what a leaf of this kind may say, whatever its value means."""

from typing import Any, get_args

import msgspec
import pytest

from sidecars.assertion import (
    ESTABLISHED,
    SUPERSEDES_MAX,
    VALUE_BYTES_MAX,
    AssertionEntry,
    EvidenceKind,
    Recorder,
    check_assertion,
)
from sidecars.errors import MalformedError
from sidecars.leaf import Leaf, format_leaf, parse_leaf
from tests.sidecars.samples import AT, ORIGIN, digest_text
from tests.world.ledger.examples import CONFIRMED, MEASURED

ROUTE = {"portal": "portal-ref:" + "1" * 32, "thread": "thread-ref:" + "2" * 32}
FROM = {"session": "session-ref:" + "3" * 32, "message": "timeline-event:1"}
SUGGESTED: dict[str, Any] = {"recorder": "model", "evidence_kind": "model-suggestion"}
MAY_STATE = {
    ("owner", "explicit-user-feedback"),
    ("capture", "objective-measurement"),
    ("capture", "explicit-user-feedback"),
    ("capture", "uninterpreted-user-message"),
    ("model", "model-suggestion"),
    ("import", "objective-measurement"),
    ("import", "explicit-user-feedback"),
    ("import", "model-suggestion"),
}


def changed(body: AssertionEntry, **fields: Any) -> AssertionEntry:
    """Give one like it."""
    return msgspec.structs.replace(body, **fields)


@pytest.mark.requirement("W3", "W4")
@pytest.mark.parametrize("recorder", get_args(Recorder))
@pytest.mark.parametrize("kind", get_args(EvidenceKind))
def test_each_recorder_states_its_own_evidence_and_no_other(recorder: Recorder, kind: EvidenceKind) -> None:
    """A model's call suggests and nothing else; nobody but a capture quotes."""
    body = changed(MEASURED, recorder=recorder, evidence_kind=kind)
    if (recorder, kind) in MAY_STATE:
        check_assertion(body)
    else:
        with pytest.raises(MalformedError, match="of a kind that its recorder may state"):
            check_assertion(body)
    assert body.is_established is (kind in ESTABLISHED)
    assert body.is_owners is (recorder in {"owner", "import"})


@pytest.mark.parametrize(
    "fields",
    [
        {**ROUTE},
        {"knowledge": "task-state", **FROM},
        {"privacy": "group", "group": "team"},
        {"project": None},
        {"expires_at": MEASURED.observed_at + 1},
        {"value": '"' + "x" * (VALUE_BYTES_MAX - 2) + '"'},
        {"supersedes": tuple(f"assertion:old-{number:02d}" for number in range(SUPERSEDES_MAX))},
        {"reason": "x" * 500},
        {"recorder": "import"},
    ],
)
def test_fields_that_fit_each_other_are_taken(fields: dict[str, Any]) -> None:
    """Each bound is inside."""
    body = changed(MEASURED, **fields)
    check_assertion(body)
    assert parse_leaf(format_leaf(leaf_of(body)), leaf_of(body).kind) == leaf_of(body)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"value": '"' + "ü" * (VALUE_BYTES_MAX // 2) + '"'}, "at most 8192 bytes"),
        ({"portal": ROUTE["portal"]}, "portal and thread"),
        ({"thread": ROUTE["thread"]}, "portal and thread"),
        ({"privacy": "group"}, "name a group exactly"),
        ({"group": "team"}, "name a group exactly"),
        ({"knowledge": "fact", "session": FROM["session"]}, "session and message"),
        ({"knowledge": "fact", "message": FROM["message"]}, "session and message"),
        ({**FROM}, "only knowledge of a kind"),
        ({"recorder": "import", "knowledge": "fact"}, "not be given a kind"),
        ({"expires_at": MEASURED.observed_at}, "expire after"),
        ({**SUGGESTED, "supersedes": ("assertion:old",)}, "only an established"),
        ({"supersedes": ("assertion:b", "assertion:a")}, "sorted, unique"),
        ({"supersedes": ("assertion:a", "assertion:a")}, "sorted, unique"),
        ({"supersedes": (MEASURED.id,)}, "another's"),
    ],
)
def test_fields_that_do_not_fit_each_other_are_refused(fields: dict[str, Any], rule: str) -> None:
    """By the rule that is broken, and also where a key has signed it."""
    body = changed(MEASURED, **fields)
    with pytest.raises(MalformedError, match=rule):
        check_assertion(body)
    with pytest.raises(MalformedError, match=rule):
        parse_leaf(msgspec.json.encode(leaf_of(body), order="sorted"), leaf_of(body).kind)


@pytest.mark.parametrize(
    "fields",
    [
        {"id": "no-namespace"},
        {"id": "assertion:" + "x" * 192},
        {"subject": "Suite:unit"},
        {"predicate": "Test.outcome"},
        {"predicate": "x" * 129},
        {"value": ""},
        {"tenant": "-local"},
        {"observed_at": -1},
        {"portal": "portal-ref:1", "thread": ROUTE["thread"]},
        {"supersedes": tuple(f"assertion:old-{number:02d}" for number in range(SUPERSEDES_MAX + 1))},
        {"reason": ""},
        {"reason": "x" * 501},
        {"recorder": "daemon"},
        {"knowledge": "opinion"},
    ],
)
def test_a_field_out_of_its_form_is_refused(fields: dict[str, Any]) -> None:
    """The schema is closed, and each field has a form."""
    leaf = leaf_of(changed(MEASURED, **fields))
    with pytest.raises(MalformedError):
        parse_leaf(msgspec.json.encode(leaf, order="sorted"), leaf.kind)


def leaf_of(body: AssertionEntry) -> Leaf:
    """Give the leaf at index 0 that states it."""
    return Leaf(
        origin=ORIGIN, index=0, root=digest_text("root"), batch_start=0, batch_size=1, at=AT, body=body
    )


def test_the_examples_are_of_this_form() -> None:
    """The two of docs/spec/world.md, which the ledger's tests use."""
    for body in (MEASURED, CONFIRMED):
        check_assertion(body)
